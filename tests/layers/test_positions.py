"""Each position scheme equals plain loops over its definition and has the property that it is known for."""

import math
from functools import partial

import numpy as np
import pytest
import torch
from support.helpers import FIXTURES, drawn, relative_error

from rtx_lib.layers import (
    SCHEMES,
    ALiBi,
    Learned,
    Rotary,
    ShawRelative,
    Sinusoidal,
    XLRelative,
    make_positions,
    positions,
    relative_shift,
)

pytestmark = pytest.mark.usefixtures("double")

BATCH, HEADS, K = 2, 3, 4
# (T, S, offset): no memory, memory, one query, one of each; then an offset that is not S - T.
SIZES = [(5, 5, 0), (4, 9, 5), (1, 7, 6), (1, 1, 0)]
ANY_SIZES = [*SIZES, (7, 9, 1), (3, 2, 4)]
every_size = pytest.mark.parametrize(("size", "seed"), [(size, seed) for seed, size in enumerate(ANY_SIZES)], ids=str)


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).requires_grad_()


def draw_heads(size, seed=0):
    """q and k."""
    return draw(BATCH, HEADS, size[0], K, seed=seed), draw(BATCH, HEADS, size[1], K, seed=seed + 100)


def enlarge(module, seed=0):
    """The module with parameters that are far from small, so that none can go missing unseen."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(generator=generator)
    return module


def furthest(ours, theirs, inputs):
    """The largest relative error of an array and of the gradients of a loss of it."""

    def outcomes(y):
        coefficients = torch.arange(1.0, y.numel() + 1).view_as(y)
        return y, *torch.autograd.grad((coefficients * y.sin()).sum(), inputs)

    return max(relative_error(a, b) for a, b in zip(outcomes(ours), outcomes(theirs), strict=True))


def each_pair(entry, queries, keys):
    """The array (..., T, S) of ``entry(i, j)``."""
    rows = [torch.stack([entry(i, j) for j in range(keys)], dim=-1) for i in range(queries)]
    return torch.stack(rows, dim=-2)


def sines(position, width, order):
    """The encoding of one position, one number at a time."""
    angles = [position / 10000 ** (2 * i / width) for i in range(width // 2)]
    if order == "halves":
        return torch.tensor([math.sin(a) for a in angles] + [math.cos(a) for a in angles])
    return torch.tensor([f(a) for a in angles for f in (math.sin, math.cos)])


def row_of(i, j, clip):
    return min(max(j - i, -clip), clip) + clip


def shaw_scores(size, seed, clip=2):
    """Furthest error of Shaw's scores from their definition, as of the functions below."""
    (queries, keys, offset), (q, k) = size, draw_heads(size, seed)
    module = enlarge(ShawRelative(K, clip), seed)
    loops = each_pair(lambda i, j: q[:, :, i] @ module.keys[row_of(offset + i, j, clip)] / math.sqrt(K), queries, keys)
    return furthest(module.score_bias(q, k, offset), loops, [q, module.keys])


def shaw_values(size, seed, clip=2):
    queries, keys = size[0], max(size[:2])
    weights, module = draw(BATCH, HEADS, queries, keys, seed=seed), enlarge(ShawRelative(K, clip), seed)

    def output(i):
        terms = [weights[:, :, i, j, None] * module.values[row_of(keys - queries + i, j, clip)] for j in range(keys)]
        return sum(terms)

    loops = torch.stack([output(i) for i in range(queries)], dim=2)
    return furthest(module.value_bias(weights), loops, [weights, module.values])


def xl_scores(size, seed, causal=False):
    (queries, keys, offset), (q, k), width = size, draw_heads(size, seed), HEADS * K
    module = enlarge(XLRelative(width, HEADS, causal=causal), seed)

    def entry(i, j):
        r = (module.r_proj_weight @ sines(offset + i - j, width, "halves")).view(HEADS, K)
        content, place = (q[:, :, i] * r).sum(-1), (module.v * r).sum(-1)
        return (content + (module.u * k[:, :, j]).sum(-1) + place) / math.sqrt(K)

    seen = torch.ones(queries, keys).tril(offset if causal else keys)
    ours = module.score_bias(q, k, offset) * seen
    return furthest(ours, each_pair(entry, queries, keys) * seen, [q, k, module.r_proj_weight, module.u, module.v])


def rotary_turn(size, seed):
    """By complex numbers, one pair at a time."""
    q, k = draw_heads(size, seed)

    def turn(x, start):
        turned = torch.empty_like(x)
        for t in range(x.shape[2]):
            for i in range(K // 2):
                angle = (start + t) / 10000 ** (2 * i / K)
                z = torch.complex(x[:, :, t, 2 * i], x[:, :, t, 2 * i + 1]) * complex(math.cos(angle), math.sin(angle))
                turned[:, :, t, 2 * i], turned[:, :, t, 2 * i + 1] = z.real, z.imag
        return turned

    ours = Rotary(K).rotate(q, k, size[2])
    loops = turn(q, size[2]), turn(k, 0)
    return max(furthest(a, b, [x]) for a, b, x in zip(ours, loops, (q, k), strict=True))


def alibi_scores(size, seed):
    (queries, keys, offset), (q, k) = size, draw_heads(size, seed)
    slopes = torch.tensor([2.0**-4, 2.0**-8, 2.0**-2])  # three heads
    loops = each_pair(lambda i, j: -slopes * abs(offset + i - j), queries, keys)
    return float((ALiBi(HEADS).score_bias(q, k, offset) - loops).abs().max())


@every_size
@pytest.mark.parametrize("clip", [1, 2, 5, 20])
def test_shaw_equals_loops(size, seed, clip):
    assert shaw_scores(size, seed, clip) < 1e-12
    assert shaw_values(size, seed, clip) < 1e-12


@every_size
def test_xl_equals_loops(size, seed):
    assert xl_scores(size, seed) < 1e-12
    if size in SIZES:
        assert xl_scores(size, seed, causal=True) < 1e-12


@every_size
def test_rotary_and_alibi_equal_loops(size, seed):
    assert rotary_turn(size, seed) < 1e-12
    assert alibi_scores(size, seed) < 1e-12


def halves_turned(module, x, start):
    """A rotation of the pairs (i, i + K/2)."""
    angles = positions._angles(torch.arange(start, start + x.shape[-2]), K)
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()], dim=-1)


def swapped(x):
    """The two numbers of each pair the other way round."""
    return x.unflatten(-1, (-1, 2)).flip(-1).flatten(-2)


distances, turn, encode, index = positions._distances, Rotary._turn, Sinusoidal.encode, ShawRelative._index
MISTAKES = {
    "sign of the distance, Shaw's scores": (shaw_scores, positions, "_distances", lambda *a: -distances(*a)),
    "sign of the distance, Shaw's values": (shaw_values, positions, "_distances", lambda *a: -distances(*a)),
    "offset forgotten": (shaw_scores, positions, "_distances", lambda t, s, _, d: distances(t, s, 0, d)),
    "offset forgotten, ALiBi": (alibi_scores, positions, "_distances", lambda t, s, _, d: distances(t, s, 0, d)),
    "clipped early": (shaw_scores, ShawRelative, "_index", lambda m, *a: index(m, *a).clamp(1, 2 * m.clip - 1)),
    "not clipped": (shaw_values, ShawRelative, "_index", lambda m, *a: (m.clip - distances(*a)) % (2 * m.clip + 1)),
    "shift one short": (xl_scores, positions, "relative_shift", lambda x: relative_shift(x).roll(1, dims=-1)),
    "no shift": (xl_scores, positions, "relative_shift", lambda x: x),
    "sines between cosines": (
        xl_scores,
        Sinusoidal,
        "encode",
        lambda m, *a: encode(m, *a).view(-1, 2, HEADS * K // 2).mT.flatten(1),
    ),
    "sign of the distance, Transformer-XL": (xl_scores, Sinusoidal, "encode", lambda m, d, *a: encode(m, -d, *a)),
    "wrong pairs": (rotary_turn, Rotary, "_turn", halves_turned),
    "wrong direction": (rotary_turn, Rotary, "_turn", lambda *a: swapped(turn(a[0], swapped(a[1]), a[2]))),
    "offset forgotten, rotary": (rotary_turn, Rotary, "_turn", lambda m, x, _: turn(m, x, 0)),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_loops_see_a_mistake(monkeypatch, mistake):
    measure, place, name, wrong = MISTAKES[mistake]
    assert measure((4, 9, 5), 0) < 1e-12
    monkeypatch.setattr(place, name, wrong)
    assert measure((4, 9, 5), 0) > 1e-3


@pytest.mark.parametrize("layout", ["interleaved", "halves"])
@pytest.mark.parametrize("width", [2, 6, 64])
def test_sinusoidal_shift_is_one_matrix_of_rotations(layout, width):
    module, places = Sinusoidal(width, layout=layout), torch.arange(-50, 2000, 7)
    expected = torch.stack([sines(p, width, layout) for p in places.tolist()])
    assert relative_error(module.encode(places), expected) < 1e-12
    pairs = torch.arange(width).view(-1, 2) if layout == "interleaved" else torch.arange(width).view(2, -1).T
    for k in (0, 1, -1, 13, 500, 0.5):
        matrix = module.shift_matrix(k)
        assert relative_error(module.encode(places) @ matrix.T, module.encode(places + k)) < 1e-12
        rest = matrix.clone()
        for i, pair in enumerate(pairs):
            angle = torch.tensor(k / 10000 ** (2 * i / width))
            block = torch.stack([angle.cos(), angle.sin(), -angle.sin(), angle.cos()]).view(2, 2)
            assert relative_error(matrix[pair][:, pair], block) < 1e-12
            rest[pair[:, None], pair] = 0
        assert not rest.any()


def test_the_layouts_hold_the_same_values():
    interleaved, halves = (Sinusoidal(10, layout=name).encode(torch.arange(40)) for name in positions.LAYOUTS)
    assert not torch.equal(interleaved, halves)
    assert torch.equal(interleaved.sort(dim=1).values, halves.sort(dim=1).values)
    assert relative_error(interleaved[:-3] @ Sinusoidal(10, layout="halves").shift_matrix(3).T, interleaved[3:]) > 0.1


def test_sinusoidal_any_length_and_dtype():
    x = torch.zeros(2, 3, 8, dtype=torch.float32)
    far = Sinusoidal(8).embed(x, offset=1_000_000)
    expected = torch.stack([sines(1_000_000 + t, 8, "interleaved") for t in range(3)])
    assert far.dtype == torch.float32 and relative_error(far.double(), expected.expand(2, -1, -1)) < 1e-6


@pytest.mark.parametrize("make", [Sinusoidal, partial(Sinusoidal, layout="halves"), partial(Learned, 12)])
def test_embedding_in_pieces(make):
    module, x = make(8), draw(2, 12, 8)
    pieces = torch.cat([module.embed(x[:, a:b], a) for a, b in [(0, 5), (5, 6), (6, 12)]], dim=1)
    assert torch.equal(module.embed(x), pieces)
    assert relative_error(pieces - x, module.embed(torch.zeros_like(x))) < 1e-12


def test_learned_ends_with_its_table():
    module, x = Learned(12, 8), draw(2, 3, 8)
    module.embed(x, 9).sum().backward()
    assert module.weight.grad[:9].eq(0).all() and module.weight.grad[9:].eq(2).all()
    with pytest.raises(ValueError, match="table of 12 positions, got 13"):
        module.embed(x, 10)


@pytest.mark.parametrize("seed", range(3))
def test_rotary_depends_on_the_distance_alone(seed):
    module, content = Rotary(K), draw(BATCH, HEADS, 2, K, seed=seed)
    size = 40
    q, k = (content[:, :, [i]].expand(-1, -1, size, -1) for i in (0, 1))  # the same at every position
    for offset in (0, 3, 1000):
        turned_q, turned_k = module.rotate(q, k, offset)
        assert relative_error(turned_q.norm(dim=-1), q.norm(dim=-1)) < 1e-12
        scores = turned_q @ turned_k.mT
        assert relative_error(scores[..., 1:, 1:], scores[..., :-1, :-1]) < 1e-12
        assert relative_error(scores[..., 0, 0], scores[..., 0, 1]) > 1e-3
    whole = torch.cat([q, q], dim=2)
    assert relative_error(module.rotate(q, k, size)[0], module.rotate(whole, whole, 0)[0][:, :, size:]) < 1e-12


def test_rotary_in_half_precision_far_out():
    q, k = (x.detach() for x in draw_heads((4, 60_000, 59_996)))
    half = Rotary(K).rotate(q.bfloat16(), k.bfloat16(), 59_996)
    exact = Rotary(K).rotate(q.bfloat16().double(), k.bfloat16().double(), 59_996)
    for ours, theirs in zip(half, exact, strict=True):
        assert ours.dtype == torch.bfloat16 and relative_error(ours.double(), theirs) < 2**-8


def published_slopes(heads):
    """The rule of the paper's code, recursive as there."""
    if heads & (heads - 1) == 0:
        return [2 ** (-8 / heads * (h + 1)) for h in range(heads)]
    power = 2 ** math.floor(math.log2(heads))
    return published_slopes(power) + published_slopes(2 * power)[::2][: heads - power]


def test_alibi_slopes():
    assert ALiBi(8).slopes().tolist() == [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]
    for number in range(1, 70):
        expected = torch.tensor(published_slopes(number))
        assert ALiBi(number).slopes().shape == (number,)
        assert relative_error(ALiBi(number).slopes(), expected) < 1e-12


@pytest.mark.parametrize("seed", range(3))
def test_shaw_beyond_the_clip_all_distances_are_alike(seed):
    size, clip = (9, 30, 12), 3
    q, k = draw_heads(size, seed)
    bias = enlarge(ShawRelative(K, clip), seed).score_bias(q, k, size[2])
    for i in range(size[0]):
        before, after = bias[:, :, i, : 12 + i - clip + 1], bias[:, :, i, 12 + i + clip :]
        assert torch.equal(before, before[..., :1].expand_as(before))
        assert torch.equal(after, after[..., :1].expand_as(after))
        assert not torch.equal(bias[:, :, i, 12 + i - clip], bias[:, :, i, 12 + i - clip + 1])


def most_kept(compute):
    """The most numbers in one tensor that is kept for the backward pass."""
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda x: kept.append(x.numel()) or x, lambda x: x):
        compute()
    return max(kept)


def test_shaw_makes_no_vector_for_each_pair():
    size, width = 24, 200
    q, weights, module = draw(1, 1, size, width), draw(1, 1, size, size), ShawRelative(width, 2)
    rows = module._index(size, size, 0, q.device)
    assert most_kept(lambda: torch.einsum("bhtk,tsk->bhts", q, module.keys[rows])) == size * size * width
    assert most_kept(lambda: module.score_bias(q, q, 0)) <= size * width
    assert most_kept(lambda: module.value_bias(weights)) <= size * width


def test_the_shift_equals_its_definition_and_the_reference_values():
    for rows, columns in [(1, 1), (1, 5), (4, 4), (3, 8), (6, 2)]:
        x = draw(2, rows, columns)
        y = relative_shift(x)
        for i in range(rows):
            for j in range(columns):
                source = j + rows - 1 - i
                if source < columns:
                    assert torch.equal(y[:, i, j], x[:, i, source])
    with np.load(FIXTURES / "txl_relshift.npz") as file:
        x, y = (torch.from_numpy(file[name]).permute(2, 3, 0, 1) for name in ("x", "y"))
    assert torch.equal(relative_shift(x), y)


def outputs(module, q, k, x, weights, offset):
    """What the methods give that the scheme has."""
    calls = {"embed": (x, offset), "score_bias": (q, k, offset), "value_bias": (weights,), "rotate": (q, k, offset)}
    given = [getattr(module, name)(*arguments) for name, arguments in calls.items() if hasattr(module, name)]
    assert given
    return [part for result in given for part in (result if isinstance(result, tuple) else (result,))]


@pytest.mark.parametrize("scheme", SCHEMES[1:])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16], ids=str)
def test_dtype_and_device_follow_the_input(scheme, dtype):
    module = make_positions(scheme, width=HEADS * K, heads=HEADS)
    assert not list(module.buffers())
    inputs = [draw(2, HEADS, 4, K), draw(2, HEADS, 9, K), draw(2, 4, HEADS * K), draw(2, HEADS, 4, 9)]
    for device in ("cpu", "meta", *(["cuda"] if torch.cuda.is_available() else [])):
        given = outputs(module.to(device, dtype), *(x.to(device, dtype) for x in inputs), 5)
        assert all(y.dtype == dtype and y.device.type == device for y in given)


def test_make_positions():
    kinds = [type(None), Sinusoidal, Learned, ShawRelative, XLRelative, Rotary, ALiBi]
    made = [make_positions(scheme, width=12, heads=3, length=7, clip=5, causal=False) for scheme in SCHEMES]
    assert [type(module) for module in made] == kinds
    assert made[2].weight.shape == (7, 12) and made[3].keys.shape == (11, 4) and not made[4].causal
    for scheme in ("learned", "shaw", "xl"):
        states = []
        for seed in (3, 3, 4):
            module = drawn(seed, make_positions, scheme, width=12, heads=3)
            states.append(torch.cat([p.detach().flatten() for p in module.parameters()]))
        assert torch.equal(states[0], states[1]) and not torch.equal(states[0], states[2])


BAD = {
    "width must be even": lambda: Sinusoidal(7),
    "width must be at least 1": lambda: Sinusoidal(0),
    "layout must be one of": lambda: Sinusoidal(8, layout="mixed"),
    r"x must have shape \(B, T, 8\), got \(2, 3, 6\)": lambda: Sinusoidal(8).embed(draw(2, 3, 6)),
    "x must hold floats, got torch.int64": lambda: Learned(8, 8).embed(torch.zeros(2, 3, 8, dtype=torch.int64)),
    "offset must be at least 0, got -1": lambda: Learned(8, 8).embed(draw(2, 3, 8), -1),
    "length must be at least 1": lambda: Learned(0, 8),
    "clip must be at least 1, got 0": lambda: ShawRelative(4, 0),
    "head_width must be at least 1": lambda: ShawRelative(0, 3),
    r"q must have shape \(B, H, T, 4\)": lambda: ShawRelative(4, 2).score_bias(*2 * [draw(2, 3, 5, 6)], 0),
    "k must have shape": lambda: ShawRelative(4, 2).score_bias(draw(2, 3, 5, 4), draw(1, 3, 5, 4), 0),
    "weights must have shape": lambda: ShawRelative(4, 2).value_bias(draw(2, 3, 5, 4)),
    "head_width must be even": lambda: Rotary(5),
    "offset must be at least 0": lambda: Rotary(4).rotate(*2 * [draw(2, 3, 5, 4)], -1),
    "heads must be at least 1": lambda: ALiBi(0),
    r"q must have shape \(B, 3, T, K\)": lambda: ALiBi(3).score_bias(*2 * [draw(2, 4, 5, 4)], 0),
    "width must be even, because": lambda: XLRelative(9, 3),
    "heads must divide width = 12, got 5": lambda: XLRelative(12, 5),
    "offset must be S - T = 0 if causal, got 2": lambda: XLRelative(12, 3).score_bias(*2 * [draw(2, 3, 5, 4)], 2),
    "scheme must be one of .*alibi.* got 'sine'": lambda: make_positions("sine", width=12, heads=3),
    "heads must divide width = 12, got 8": lambda: make_positions("none", width=12, heads=8),
    "head_width must be even, .* got 3": lambda: make_positions("rotary", width=12, heads=4),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_arguments(message):
    with pytest.raises(ValueError, match=message):
        BAD[message]()
