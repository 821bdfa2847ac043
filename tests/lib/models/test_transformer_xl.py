"""Transformer-XL: the attention, the model around it, its sizes and starts, what it refuses, and its memory."""

import pytest
import torch
from reference.plain_loops import encoding
from support.compare import draw, ids, in_pieces, random_parameters
from support.helpers import drawn, relative_error
from support.small_transformers import small_xl as small

from rtx_lib.diagnostics.attention import record_attention
from rtx_lib.models.transformer_xl import RelativeAttention, TransformerXL

pytestmark = pytest.mark.usefixtures("double")


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


def test_what_is_shared():
    model, apart = small(layers=3), small(layers=3, untied_uv=True, tied=False)
    assert model.readout.weight is model.embedding.weight and apart.readout.weight is not apart.embedding.weight
    assert [len({block.attention.u for block in each.blocks}) for each in (model, apart)] == [1, 3]


PAPER = {  # of enwik8
    41_055_436: {"width": 512, "heads": 8, "layers": 12, "inner": 2048},
    277_231_820: {"width": 1024, "heads": 8, "layers": 24, "inner": 3072},
}


@pytest.mark.parametrize("count", PAPER)
def test_the_papers_models_have_their_size(count):
    with torch.device("meta"):
        model = TransformerXL(204, 204, vocabulary=204, memory=512, **PAPER[count])
    assert sum(parameter.numel() for parameter in model.parameters()) == count


def test_the_first_weights():
    sizes = {"width": 64, "heads": 4, "layers": 2, "memory": 8}
    model = drawn(0, TransformerXL, 400, 400, vocabulary=400, **sizes)
    for name, parameter in model.named_parameters():
        if "bias" in name:
            assert not parameter.any()
        elif "norms" in name:
            assert parameter.mean().item() == pytest.approx(1, abs=0.01)
            assert parameter.std().item() == pytest.approx(0.02, rel=0.4)
        else:
            assert parameter.std().item() == pytest.approx(0.02, rel=0.2), name
    floats = TransformerXL(30, 5, width=64, heads=4, layers=1, memory=3)
    assert floats.embedding.weight.abs().max() > 0.2 and not floats.embedding.bias.any()
    assert floats.readout.weight.std().item() == pytest.approx(0.02, rel=0.2)


def test_where_dropout_acts():
    """With nearly all of it dropped nothing is left but the ways around, as in the authors' code."""
    model, x = small(norm="pre", dropout=1 - 1e-12), ids(2, 5)
    with torch.random.fork_rng():
        h, state = model.encode(x)
    assert not h.any() and not any(part.any() for part in state)


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


def test_bad_distances_and_masks():
    for name, value in (("r", torch.zeros(3, 8)), ("mask", torch.ones(3, 3) > 0), ("mask", torch.ones(3, 7))):
        with pytest.raises(ValueError, match=f"^{name} must .*, got"):
            attention()(draw(2, 3, 8), draw(2, 4, 8), **{name: value})


# ---- the memory


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


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_memory_keeps_neither_the_segment_nor_a_way_for_gradients(norm):
    model = small(memory=3, norm=norm)
    state = model(ids(2, 11))[1]
    assert all(part.shape == (2, 3, 8) and part.untyped_storage().nbytes() == part.nbytes for part in state)
    assert not any(part.requires_grad for part in state)
    given = tuple(part.requires_grad_() for part in state)
    assert torch.autograd.grad(model(ids(2, 3), given)[0].sum(), given, allow_unused=True) == (None,) * 3


@pytest.mark.parametrize("options", [{}, {"positions": "rotary"}], ids=str)
def test_a_query_sees_no_more_keys_than_the_memory_has(options):
    model = small(memory=3, same_length=True, **options)
    with record_attention(model) as seen:
        in_pieces(model, ids(2, 10), [5, 5])
    for _, weights in seen:
        assert (weights > 0).sum(-1).max() == 3
