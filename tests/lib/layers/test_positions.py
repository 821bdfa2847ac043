"""Each position scheme equals plain loops over its definition and has the property that it is known for."""

import math

import pytest
import torch
from reference.plain_loops import encoding
from support import compare
from support.compare import furthest, random_parameters
from support.helpers import refusals, relative_error

from rtx_lib.layers import SCHEMES, make_positions, relative_shift
from rtx_lib.layers.positions import ALiBi, Learned, Rotary, ShawRelative, Sinusoidal, XLRelative

pytestmark = pytest.mark.usefixtures("double")

BATCH, HEADS, K = 2, 3, 4
# (T, S, offset): no memory, memory, one query, one of each; then an offset that is not S - T.
SIZES = [(5, 5, 0), (4, 9, 5), (1, 7, 6), (1, 1, 0)]
ANY_SIZES = [*SIZES, (7, 9, 1), (3, 2, 4)]
every_size = pytest.mark.parametrize(("size", "seed"), [(size, seed) for seed, size in enumerate(ANY_SIZES)], ids=str)


def draw(*shape, seed=0):
    return compare.draw(*shape, seed=seed).requires_grad_()


def draw_heads(size, seed=0):
    """q and k."""
    return draw(BATCH, HEADS, size[0], K, seed=seed), draw(BATCH, HEADS, size[1], K, seed=seed + 100)


def each_pair(entry, queries, keys):
    """The array (..., T, S) of ``entry(i, j)``."""
    rows = [torch.stack([entry(i, j) for j in range(keys)], dim=-1) for i in range(queries)]
    return torch.stack(rows, dim=-2)


def row_of(i, j, clip):
    return min(max(j - i, -clip), clip) + clip


@every_size
@pytest.mark.parametrize("clip", [1, 2, 5, 20])
def test_shaw_equals_loops(size, seed, clip):
    """The scores, and the term for the values."""
    (queries, keys, offset), (q, k) = size, draw_heads(size, seed)
    module = random_parameters(ShawRelative(K, clip), seed)
    loops = each_pair(lambda i, j: q[:, :, i] @ module.keys[row_of(offset + i, j, clip)] / math.sqrt(K), queries, keys)
    assert furthest(module.score_bias(q, k, offset), loops, [q, module.keys]) < 1e-12
    keys = max(size[:2])
    weights = draw(BATCH, HEADS, queries, keys, seed=seed)

    def output(i):
        terms = [weights[:, :, i, j, None] * module.values[row_of(keys - queries + i, j, clip)] for j in range(keys)]
        return sum(terms)

    loops = torch.stack([output(i) for i in range(queries)], dim=2)
    assert furthest(module.value_bias(weights), loops, [weights, module.values]) < 1e-12


OF_XL = [(causal, size, seed) for causal in (False, True) for seed, size in enumerate(SIZES if causal else ANY_SIZES)]


@pytest.mark.parametrize(("causal", "size", "seed"), OF_XL, ids=str)
def test_xl_equals_loops(causal, size, seed):
    (queries, keys, offset), (q, k), width = size, draw_heads(size, seed), HEADS * K
    module = random_parameters(XLRelative(width, HEADS, causal=causal), seed)

    def entry(i, j):
        r = (module.r_proj_weight @ encoding(offset + i - j, width, "halves")).view(HEADS, K)
        content, place = (q[:, :, i] * r).sum(-1), (module.v * r).sum(-1)
        return (content + (module.u * k[:, :, j]).sum(-1) + place) / math.sqrt(K)

    seen = torch.ones(queries, keys).tril(offset if causal else keys)
    ours = module.score_bias(q, k, offset) * seen
    loops = each_pair(entry, queries, keys) * seen
    assert furthest(ours, loops, [q, k, module.r_proj_weight, module.u, module.v]) < 1e-12


@every_size
def test_rotary_equals_loops(size, seed):
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
    assert furthest(ours, loops, [q, k]) < 1e-12


@every_size
def test_alibi_equals_loops(size, seed):
    (queries, keys, offset), (q, k) = size, draw_heads(size, seed)
    slopes = torch.tensor([2.0**-4, 2.0**-8, 2.0**-2])  # three heads
    loops = each_pair(lambda i, j: -slopes * abs(offset + i - j), queries, keys)
    assert (ALiBi(HEADS).score_bias(q, k, offset) - loops).abs().max() < 1e-12


@pytest.mark.parametrize("layout", ["interleaved", "halves"])
@pytest.mark.parametrize("width", [2, 6, 64])
def test_sinusoidal_shift_is_one_matrix_of_rotations(layout, width):
    module, places = Sinusoidal(width, layout=layout), torch.arange(-50, 2000, 7)
    expected = torch.stack([encoding(p, width, layout) for p in places.tolist()])
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


def test_sinusoidal_any_length_and_dtype():
    x = torch.zeros(2, 3, 8, dtype=torch.float32)
    far = Sinusoidal(8).embed(x, offset=1_000_000)
    expected = torch.stack([encoding(1_000_000 + t, 8, "interleaved") for t in range(3)])
    assert far.dtype == torch.float32 and relative_error(far.double(), expected.expand(2, -1, -1)) < 1e-6


def test_learned_ends_with_its_table():
    module, x = Learned(12, 8), draw(2, 3, 8)
    module.embed(x, 9).sum().backward()
    assert module.weight.grad[:9].eq(0).all() and module.weight.grad[9:].eq(2).all()
    with pytest.raises(ValueError, match="table of 12 positions, got 13"):
        module.embed(x, 10)


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


def test_the_shift_equals_its_definition():
    for rows, columns in [(1, 1), (1, 5), (4, 4), (3, 8), (6, 2)]:
        x = draw(2, rows, columns)
        y = relative_shift(x)
        for i in range(rows):
            for j in range(columns):
                source = j + rows - 1 - i
                if source < columns:
                    assert torch.equal(y[:, i, j], x[:, i, source])


def test_make_positions():
    kinds = [type(None), Sinusoidal, Learned, ShawRelative, XLRelative, Rotary, ALiBi]
    made = [make_positions(scheme, width=12, heads=3, length=7, clip=5, causal=False) for scheme in SCHEMES]
    assert [type(module) for module in made] == kinds
    assert made[2].weight.shape == (7, 12) and made[3].keys.shape == (11, 4) and not made[4].causal


BAD = {
    "width must be a multiple of 2": lambda: Sinusoidal(7),
    "layout must be one of": lambda: Sinusoidal(8, layout="mixed"),
    "x must hold floats, got torch.int64": lambda: Learned(8, 8).embed(torch.zeros(2, 3, 8, dtype=torch.int64)),
    "head_width must be a multiple of 2": lambda: Rotary(5),
    "offset must be S - T = 0 if causal, got 2": lambda: XLRelative(12, 3).score_bias(*2 * [draw(2, 3, 5, 4)], 2),
    "scheme must be one of .*alibi.* got 'sine'": lambda: make_positions("sine", width=12, heads=3),
    "heads must be a divisor of 12, got 8": lambda: make_positions("none", width=12, heads=8),
}


test_bad_arguments = refusals(BAD)
