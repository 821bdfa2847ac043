"""Transformer-XL: the four terms, the model around them, its sizes and starts, what it refuses, and its memory."""

import pytest
import torch
import torch.nn.functional as F
from reference import txl_loops
from reference.official_txl import our_parameters
from reference.plain_loops import Parameters, encoding
from support.compare import draw, ids, in_pieces, random_parameters, worst
from support.helpers import drawn, relative_error
from support.small_transformers import small_xl as small

from rtx_lib.diagnostics.attention import record_attention
from rtx_lib.layers import sample
from rtx_lib.models.transformer_xl import RelativeAttention, TransformerXL
from rtx_lib.models.transformer_xl_variants import AdaptiveTransformerXL

pytestmark = pytest.mark.usefixtures("double")

NORMS = ("post", "pre")


def attention(seed=1, **options):
    return random_parameters(RelativeAttention(8, 2, **options), seed)


@pytest.mark.parametrize("memory", [0, 3])
@pytest.mark.parametrize("seen", ["all", "some", "few", "keys"])
def test_any_mask_and_keys_behind_the_query(seen, memory):
    """The scores of section 3.3 as they are written, with R of negative distances; zeros for who sees nothing."""
    layer, x, before = attention(), draw(2, 5, 8), draw(2, memory, 8)
    chance = torch.rand(5, 5 + memory, generator=torch.Generator().manual_seed(1))
    mask = {"all": chance > -1, "some": chance > 0.4, "few": chance > 0.9, "keys": chance[0] > 0.3}[seen]
    context = torch.cat([before, x], 1)
    w_q, w_k, w_v = layer.in_proj_weight.unflatten(0, (3, 2, 4)).unbind()
    distances = torch.arange(5)[:, None] + memory - torch.arange(5 + memory)
    waves = layer.encoding.encode(distances.flatten(), x.dtype).view(*distances.shape, 8)
    r = torch.einsum("tsd,hkd->tshk", waves, layer.r_proj_weight.unflatten(0, (2, 4)))
    q, k, v = (torch.einsum("btd,hkd->bthk", z, w) for z, w in ((x, w_q), (context, w_k), (context, w_v)))
    scores = torch.einsum("bthk,bshk->bhts", q + layer.u, k) + torch.einsum("bthk,tshk->bhts", q + layer.v, r)
    weights = (scores / 2).masked_fill(~mask, -torch.inf).softmax(-1).nan_to_num(0)
    expected = torch.einsum("bhts,bshk->bthk", weights, v).flatten(2) @ layer.out_proj.weight.T
    assert relative_error(layer(x, before, mask=mask), expected) < 1e-12
    with record_attention(layer):
        assert relative_error(layer(x, before, mask=mask), expected) < 1e-12
    r = layer.encoding.encode(torch.arange(4 + memory, -1, -1), x.dtype)
    alone = layer(x, before, mask=mask & (distances >= 0))
    assert relative_error(layer(x, before, r=r, mask=mask), alone) < 1e-12


PAPER = {
    "enwik8, 12 layers": (41_055_436, 204, {"width": 512, "heads": 8, "layers": 12, "inner": 2048}),
    "enwik8, 24 layers": (277_231_820, 204, {"width": 1024, "heads": 8, "layers": 24, "inner": 3072}),
    "WikiText-103, 16 layers": (
        151_107_538,
        267_735,
        {"width": 410, "heads": 10, "layers": 16, "inner": 2100, "cutoffs": (20_000, 40_000, 200_000)},
    ),
    "WikiText-103, 18 layers": (
        285_170_506,
        267_735,
        {"width": 1024, "heads": 16, "layers": 18, "inner": 4096, "cutoffs": (20_000, 40_000, 200_000), "divide": 4},
    ),
}


@pytest.mark.parametrize("name", PAPER)
def test_the_papers_models_have_their_size(name):
    count, vocabulary, options = PAPER[name]
    with torch.device("meta"):
        if "cutoffs" in options:
            model = AdaptiveTransformerXL(vocabulary, memory=512, **options)
        else:
            model = TransformerXL(vocabulary, vocabulary, vocabulary=vocabulary, memory=512, **options)
    assert sum(parameter.numel() for parameter in model.parameters()) == count


def test_the_first_weights():
    sizes = {"width": 64, "heads": 4, "layers": 2, "memory": 8}
    model = drawn(0, AdaptiveTransformerXL, 400, cutoffs=(100,), divide=2, **sizes)
    for name, parameter in model.named_parameters():
        if "bias" in name:
            assert not parameter.any()
        elif "norms" in name:
            assert parameter.mean().item() == pytest.approx(1, abs=0.01)
            assert parameter.std().item() == pytest.approx(0.02, rel=0.4)
        else:
            assert parameter.std().item() == pytest.approx(0.01 if "projections" in name else 0.02, rel=0.2), name
    floats = TransformerXL(30, 5, width=64, heads=4, layers=1, memory=3)
    assert floats.embedding.weight.abs().max() > 0.2 and not floats.embedding.bias.any()
    assert floats.readout.weight.std().item() == pytest.approx(0.02, rel=0.2)


def test_where_dropout_acts():
    """With nearly all of it dropped nothing is left but the ways around, as in the authors' code."""
    model, x = small(norm="pre", dropout=1 - 1e-12), ids(2, 5)
    with torch.random.fork_rng():
        h, state = model.encode(x)
    assert not h.any() and not any(part.any() for part in state)
    model = small(norm="pre", attention_dropout=1 - 1e-12)
    h = model.encode(x)[0]
    for block in model.blocks:
        block.attention.out_proj.weight.data.zero_()
    assert torch.equal(model.encode(x)[0], h), "all weights dropped, the attention adds nothing"


def test_all_layers_read_the_same_distances():
    """R, with dropout in training, is drawn once for all layers."""
    model, seen = small(dropout=0.5, memory=9), []
    for block in model.blocks:
        block.register_forward_pre_hook(lambda _, args, options: seen.append(options["r"]), with_kwargs=True)
    with torch.random.fork_rng():
        model(ids(2, 9))
    r = torch.stack([encoding(distance, 8, "halves") for distance in range(8, -1, -1)])
    dropped = seen[0] == 0
    assert seen[0] is seen[1] and 0.2 < dropped[:-1].double().mean() < 0.8
    assert relative_error(seen[0][~dropped], 2 * r[~dropped]) < 1e-12
    model.eval()(ids(2, 9))
    assert relative_error(seen[2], r) < 1e-12


def test_settings_that_change_are_checked_again():
    model = small()
    model.memory = -2
    with pytest.raises(ValueError, match="memory must be at least 0, got -2"):
        model(ids(2, 3))
    model.memory, model.same_length = 0, True
    with pytest.raises(ValueError, match="memory must be at least 1, got 0"):
        model(ids(2, 3))


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"r": torch.zeros(3, 8)}, r"r must have shape \(7, 8\), got \(3, 8\)"),
        ({"mask": torch.ones(3, 3) > 0}, r"mask must be broadcastable to \(3, 7\), got shape \(3, 3\)"),
        ({"mask": torch.ones(3, 7)}, r"mask must be a bool tensor, True = may attend, got torch.float\d+"),
    ],
)
def test_bad_arguments_of_the_attention(arguments, message):
    with pytest.raises(ValueError, match=message):
        attention()(draw(2, 3, 8), draw(2, 4, 8), **arguments)


# ---- the memory


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("options", [{}, {"cutoffs": (2, 4), "divide": 2}], ids=str)
def test_all_gradients_with_everything_tied(options, norm):
    """Of a real model, with its shared u, v, tables and projections, against the loops."""
    model = small(memory=4, same_length=True, clamp=5, norm=norm, tied=True, inner=12, **options)
    c = txl_loops.SIZES | {"vocabulary": 6, "embed": 8, "head_width": 4, "same_length": True, "clamp": 5}
    c |= {"pre": norm == "pre"} | options
    p = Parameters(tied=txl_loops.tying(True, (1, 2), c["divide"]))
    x, target = ids(2, 10), ids(2, 10, seed=4)
    _, loss = txl_loops.transformer_xl(p, [(x.T[cut], target.T[cut]) for cut in (slice(5), slice(5, 10))], c)
    gradients = dict(zip(p, torch.autograd.grad(loss, list(p.values()), materialize_grads=True), strict=True))
    theirs, expected = (
        {**found, **{alias: found[name] for alias, name in p.aliases.items()}} for found in (p, gradients)
    )
    theirs, expected = our_parameters(theirs, model), our_parameters(expected, model)
    model.load_state_dict({name: value.detach() for name, value in theirs.items()})
    h, _ = model.encode(x[:, 5:], model(x[:, :5])[1])
    own = F.cross_entropy(model.readout(h).mT, target[:, 5:])
    own.backward()
    found = dict(model.named_parameters())
    assert len(found) < len(theirs)
    assert (
        worst([own, *(parameter.grad for parameter in found.values())], [loss, *(expected[n] for n in found)]) < 1e-11
    )


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
@torch.no_grad()
def test_positions_that_are_added_clash_with_those_of_the_memory(positions):
    """They begin at 0 in every segment: a query cannot tell one from the next, and a distance could."""
    first, last = ids(2, 4), ids(2, 4, seed=7)
    for options, equal in (({"positions": positions}, True), ({}, False)):
        model = small(memory=8, **options)
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


@torch.no_grad()
def test_sampling_without_memory_reads_everything_again():
    with_memory, without, prompt = small(memory=50), small(memory=0), ids(2, 4)
    results = [sample(m, prompt, 6, generator=torch.Generator().manual_seed(0)) for m in (with_memory, without)]
    assert torch.equal(*results)


def test_the_memory_does_not_keep_the_segment():
    state = small(memory=3)(ids(2, 11))[1]
    assert all(part.shape == (2, 3, 8) and part.untyped_storage().nbytes() == part.nbytes for part in state)


@pytest.mark.parametrize("options", [{}, {"positions": "rotary"}], ids=str)
def test_a_query_sees_no_more_keys_than_the_memory_has(options):
    model = small(memory=3, same_length=True, **options)
    with record_attention(model) as seen:
        in_pieces(model, ids(2, 10), [5, 5])
    for _, weights in seen:
        assert (weights > 0).sum(-1).max() == 3
