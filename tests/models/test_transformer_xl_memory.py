"""Transformer-XL's memory: segments against the whole, what it holds, what comes back through it, and sampling."""

import math

import pytest
import torch
from reference.official_txl import our_parameters
from reference.txl_loops import shapes_of, transformer_xl
from support.compare import draw, ids, in_pieces
from support.helpers import relative_error
from support.small_txl import KINDS, NORMS, small

from rtx_lib.diagnostics.attention import record_attention
from rtx_lib.layers import sample
from rtx_lib.models import transformer_xl as module
from rtx_lib.models.transformer_xl import TransformerXL

pytestmark = pytest.mark.usefixtures("double")


@pytest.mark.parametrize("cuts", [[1] * 9, [4, 5], [1, 6, 2], [8, 1]], ids=str)
@pytest.mark.parametrize("options", KINDS, ids=str)
@torch.no_grad()
def test_with_enough_memory_segments_equal_the_whole(options, cuts):
    model, x = small(memory=9, **options), ids(2, 9)
    y, end = model(x)
    joined, state = in_pieces(model, x, cuts)
    assert relative_error(joined, y) < 1e-10
    for a, b in zip(state, end, strict=True):
        assert a.shape == (2, 9, 8) and relative_error(a, b) < 1e-10
    model.memory = 100
    assert relative_error(in_pieces(model, x, cuts)[0], y) < 1e-10


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
@torch.no_grad()
def test_positions_that_are_added_clash_with_those_of_the_memory(positions):
    """They begin at 0 in every segment: a query cannot tell one from the next, and a distance could."""
    first, last = ids(2, 4), ids(2, 4, seed=7)
    for scheme, equal in ((positions, True), ("xl", False)):
        model = small(memory=8, positions=scheme)
        assert relative_error(in_pieces(model, torch.cat([first, last], 1), [4, 4])[0][:, :4], model(first)[0]) == 0
        with record_attention(model) as seen:
            in_pieces(model, torch.cat([first, first, last], 1), [4, 4, 4])
        weights = seen[-2][1]  # of the first layer, in the third segment: (B, H, 4, 12)
        assert torch.allclose(weights[..., :4], weights[..., 4:8]) == equal


@torch.no_grad()
def test_with_less_memory_the_reach_is_layers_times_memory():
    """Every layer looks M positions further back (section 3.2)."""
    memory, layers = 3, 2
    model, x = small(memory=memory, layers=layers), ids(1, 12)
    y = in_pieces(model, x, [1] * 12)[0][:, -1]
    for t in range(12):
        changed = x.clone()
        changed[:, t] = (changed[:, t] + 1) % 6
        differs = not torch.equal(in_pieces(model, changed, [1] * 12)[0][:, -1], y)
        assert differs == (t >= 11 - layers * memory)
    whole = model(x)[0][:, -1]
    assert relative_error(y, whole) > 1e-3, "too little memory is seen"


@pytest.mark.parametrize("memory", [1, 3, 4, 5, 20])
@torch.no_grad()
def test_the_memory_holds_the_last_outputs_of_each_layer(memory):
    model, x = small(memory=memory), ids(2, 11)
    outputs = []
    for block in model.blocks:
        block.register_forward_hook(lambda _, args, y: outputs.append((args[0], y)))
    state, kept = None, [[], [], []]
    for piece in x.split([4, 1, 3, 3], 1):
        outputs.clear()
        _, state = model(piece, state)
        for past, new in zip(kept, [outputs[0][0], outputs[0][1], outputs[1][1]], strict=True):
            past.append(new)
        for part, past in zip(state, kept, strict=True):
            expected = torch.cat(past, 1)[:, -memory:]
            assert torch.equal(part, expected) and part.untyped_storage().nbytes() == part.nbytes
    assert torch.equal(torch.cat(kept[0], 1), model.embedding(x) * math.sqrt(8))


def test_a_memory_off_by_one_is_seen(monkeypatch):
    model, x = small(memory=9), ids(2, 9)
    right = TransformerXL._remember

    def late(self, memory, h):
        return right(self, memory, h)[:, :-1]

    monkeypatch.setattr(TransformerXL, "_remember", late)
    assert relative_error(in_pieces(model, x, [4, 5])[0], model(x)[0]) > 1e-3


@torch.no_grad()
def test_any_memory_in_evaluation():
    model, x = small(memory=2), ids(2, 12)
    y = model(x)[0]
    for memory in (1, 5, 12, 1000):
        model.memory = memory
        joined, state = in_pieces(model, x, [3] * 4)
        assert state[0].shape == (2, min(memory, 12), 8)
        assert (relative_error(joined, y) < 1e-10) == (memory >= 9)
    state = model(x)[1]
    model.memory = 3  # shorter than what it is given: the whole is read once more, and then cut
    _, after = model(x[:, :2], state)
    assert [part.shape for part in after] == [(2, 3, 8)] * 3
    model.memory = 0
    assert model(x[:, :2], state)[1] is None and torch.equal(model(x)[0], y)


@pytest.mark.parametrize("norm", NORMS)
@torch.no_grad()
def test_same_length_counts_the_memory_that_is_set(norm):
    """Not the rows that there are: then the first segments would see less."""
    model, x = small(memory=3, same_length=True, norm=norm), ids(1, 11)
    state = None
    for s, piece in enumerate(x.split([2, 4, 5], 1)):
        past = 0 if state is None else state[0].shape[1]
        with record_attention(model) as seen:
            _, state = model(piece, state)
        for _, weights in seen:
            visible = (weights > 0)[0, 0]
            for i, row in enumerate(visible):
                expected = torch.zeros(past + piece.shape[1], dtype=torch.bool)
                expected[max(0, past + i - 2) : past + i + 1] = True
                assert torch.equal(row, expected), (s, i)
    # So a query of the same surroundings gives the same everywhere in its segment.
    model = small(memory=3, same_length=True, layers=1, norm=norm)
    y = model(x)[0]
    for cuts in ([1] * 11, [3, 4, 4], [2, 9]):
        assert relative_error(in_pieces(model, x, cuts)[0], y) < 1e-10
    model.same_length = False
    assert relative_error(model(x)[0], y) > 1e-3


@torch.no_grad()
def test_clamped_distances():
    model, x = small(memory=20, layers=1), ids(1, 9)
    y = model(x)[0]
    for clamp, equal in ((0, True), (-1, True), (8, True), (7, False), (1, False)):
        model.clamp = clamp
        assert (relative_error(model(x)[0], y) < 1e-12) == equal
    model.clamp = 2
    with record_attention(model) as seen:
        model(x[:, [0, 0, 0, 0, 1]])
    weights = seen[0][1][0, :, -1]
    assert relative_error(weights[:, 0], weights[:, 1]) < 1e-12 and relative_error(weights[:, 3], weights[:, 1]) > 1e-3


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("options", [{}, {"cutoffs": (2, 4), "divide": 2}], ids=str)
def test_all_gradients_with_everything_tied(options, norm):
    """Of a real model, with its shared u, v, tables and projections, against the loops."""
    model = small(memory=4, same_length=True, clamp=5, norm=norm, tied=True, inner=12, **options)
    c = {"heads": 2, "head_width": 4, "layers": 2, "width": 8, "inner": 12, "vocabulary": 6, "embed": 8, "memory": 4}
    c |= {"cutoffs": options.get("cutoffs", ()), "divide": options.get("divide", 1), "ext_len": 0, "quirk": False}
    c |= {"same_length": True, "clamp": 5, "pre": norm == "pre"}
    p, shapes = {}, shapes_of(c)
    for name, shape in shapes.items():
        value = (torch.randn(shape, generator=torch.Generator().manual_seed(len(p))) / 2).requires_grad_()
        if name.startswith("crit.out_layers") and name.endswith("weight"):
            value = p[name.replace("crit.out_layers", "word_emb.emb_layers")]
        if name.startswith("crit.out_projs") and not name.endswith("0"):
            value = p[name.replace("crit.out_projs", "word_emb.emb_projs")]
        p[name] = value
    ours = our_parameters(p, model)
    model.load_state_dict({name: value.detach() for name, value in ours.items()})
    x, target = ids(2, 10), ids(2, 10, seed=4)
    segments = [(a.T, b.T) for a, b in zip(x.split(5, 1), target.split(5, 1), strict=True)]
    _, loss = transformer_xl(p, segments, c)
    h, _ = model.encode(x[:, 5:], model(x[:, :5])[1])
    own = model.nll(h, target[:, 5:]).mean()
    own.backward()
    assert relative_error(own, loss) < 1e-12
    unique = {id(value): value for value in p.values()}
    gradients = dict(zip(unique, torch.autograd.grad(loss, list(unique.values())), strict=True))
    expected = our_parameters({name: gradients[id(value)] for name, value in p.items()}, model)
    found = dict(model.named_parameters())
    assert len(found) < len(ours) and {id(model.get_parameter(name)) for name in ours} == set(map(id, found.values()))
    for name, parameter in found.items():
        assert relative_error(parameter.grad, expected[name]) < 1e-11, name


@pytest.mark.parametrize("norm", NORMS)
def test_no_gradient_reaches_the_memory(norm):
    model, x = small(norm=norm), ids(2, 6)
    embedded = []
    model.dropout.register_forward_hook(lambda _, args, y: embedded.append(y))
    _, state = model(x[:, :3])
    assert all(not part.requires_grad and part.grad_fn is None for part in state)
    given = tuple(part.clone().requires_grad_() for part in state)
    y, after = model(x[:, 3:], given)
    first = embedded[0]
    assert first.shape == (2, 3, 8) and first.requires_grad
    found = torch.autograd.grad(y.sum(), [*given, first], allow_unused=True)
    assert found == (None,) * 4
    assert all(not part.requires_grad for part in after)
    parameters = list(model.parameters())
    expected = torch.autograd.grad(model(x[:, 3:], state)[0].sum(), parameters)
    assert all(map(torch.equal, torch.autograd.grad(model(x[:, 3:], given)[0].sum(), parameters), expected))


def test_a_gradient_through_the_memory_would_be_seen(monkeypatch):
    monkeypatch.setattr(torch.Tensor, "detach", lambda self: self)
    model, x = small(), ids(2, 6)
    _, state = model(x[:, :3])
    assert any(part.requires_grad for part in state)
    y, _ = model(x[:, 3:], state)
    assert torch.autograd.grad(y.sum(), state[:2], allow_unused=True)[0].any()


def test_a_leak_would_be_seen(monkeypatch):
    monkeypatch.setattr(module, "causal_mask", lambda t, s, device=None: torch.ones(t, s, dtype=torch.bool))
    model, x = small(vocabulary=None, tied=False), draw(2, 7, 6).requires_grad_()
    (gradient,) = torch.autograd.grad(model(x)[0][:, 2].sum(), x)
    assert gradient[:, 3:].any(-1).all()


@pytest.mark.parametrize("options", KINDS, ids=str)
@torch.no_grad()
def test_sampling_with_the_memory_as_cache(options):
    """One id at a time, at the logits that one pass over all of them gives."""
    model, prompt = small(memory=50, **options).eval(), ids(2, 4)
    seen = []

    def watched(x, state):
        y, state = model(x, state)
        seen.append((x.shape[1], y[:, -1]))
        return y, state

    result = sample(watched, prompt, 6, generator=torch.Generator().manual_seed(0))
    assert result.shape == (2, 10) and [length for length, _ in seen] == [4, 1, 1, 1, 1, 1]
    whole = model(result[:, :-1])[0][:, 3:]
    assert relative_error(torch.stack([y for _, y in seen], 1), whole) < 1e-10
    again = sample(model, prompt, 6, generator=torch.Generator().manual_seed(0))
    assert torch.equal(again, result)


@torch.no_grad()
def test_sampling_without_memory_reads_everything_again():
    with_memory, without, prompt = small(memory=50), small(memory=0), ids(2, 4)
    results = [sample(m, prompt, 6, generator=torch.Generator().manual_seed(0)) for m in (with_memory, without)]
    assert torch.equal(*results)
