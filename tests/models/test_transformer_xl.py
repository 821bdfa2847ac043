"""Transformer-XL: the four terms, the model around them, its sizes and starts, and what it refuses."""

import copy
import math

import pytest
import torch
import torch.nn.functional as F
from reference.txl_loops import encoding
from support.compare import draw, ids, in_pieces, random_parameters
from support.helpers import drawn, relative_error
from support.small_txl import KINDS, NORMS, small
from torch import nn

from rtx_lib.diagnostics.attention import record_attention
from rtx_lib.layers import XLRelative, causal_mask, positions
from rtx_lib.layers.adaptive import AdaptiveEmbedding, AdaptiveSoftmax
from rtx_lib.models.transformer_xl import RelativeAttention, TransformerXL

pytestmark = pytest.mark.usefixtures("double")


def attention(seed=1, **options):
    return random_parameters(RelativeAttention(8, 2, **options), seed)


def by_hand(layer, x, memory):
    """Equations (a) to (d), one query, key and head at a time."""
    context = torch.cat([memory, x], 1)
    heads, size = layer.heads, layer.head_width
    q, k, v = (F.linear(z, w) for z, w in zip((x, context, context), layer.in_proj_weight.chunk(3), strict=True))
    y = torch.zeros(*x.shape[:2], heads * size)
    for b in range(len(x)):
        for h in range(heads):
            cut = slice(h * size, (h + 1) * size)
            for i in range(x.shape[1]):
                scores, place = [], memory.shape[1] + i
                for j in range(place + 1):
                    r = (layer.r_proj_weight @ encoding(place - j, layer.width))[cut]
                    terms = [q[b, i, cut] @ k[b, j, cut], q[b, i, cut] @ r, layer.u[h] @ k[b, j, cut], layer.v[h] @ r]
                    scores.append(sum(terms) / math.sqrt(size))
                y[b, i, cut] = torch.stack(scores).softmax(0) @ v[b, : place + 1, cut]
    return y @ layer.out_proj.weight.T


@pytest.mark.parametrize("shape", [(1, 0), (1, 3), (5, 0), (4, 3), (2, 7)], ids=str)
@pytest.mark.parametrize("head_width", [None, 3])
def test_the_four_terms(head_width, shape):
    """Forward and every gradient, by both paths."""
    layer = attention(head_width=head_width)
    x, memory = draw(2, shape[0], 8).requires_grad_(), draw(2, shape[1], 8, seed=2).requires_grad_()
    inputs = {"x": x, "memory": memory, **dict(layer.named_parameters())}

    def found(y):
        return [y, *torch.autograd.grad(y.sin().sum(), list(inputs.values()))]

    expected, fused = found(by_hand(layer, x, memory)), found(layer(x, memory))
    with record_attention(layer) as seen:
        looked_at = found(layer(x, memory))
    assert seen[0][1].shape == (2, 2, shape[0], sum(shape))
    for name, a, b, c in zip(["y", *inputs], expected, fused, looked_at, strict=True):
        if a.numel():
            scale = a.abs().max() or 1
            assert max((b - a).abs().max(), (c - a).abs().max()) / scale < 1e-12, name
    if not shape[1]:
        assert torch.equal(layer(x), fused[0])


def test_the_scheme_of_chapter_six_is_the_same_attention():
    """:class:`XLRelative` is the position term of it, for heads of width D / H."""
    layer, q, k = attention(), draw(2, 2, 3, 4), draw(2, 2, 7, 4, seed=2)
    scheme = XLRelative(8, 2, u=layer.u, v=layer.v)
    scheme.r_proj_weight = layer.r_proj_weight
    scores = q @ k.mT / 2 + scheme.score_bias(q, k, 4)
    layer.in_proj_weight = nn.Parameter(torch.eye(8).repeat(3, 1))
    merge = [z.transpose(1, 2).flatten(2) for z in (q, k)]
    with record_attention(layer) as seen:
        layer(merge[0], merge[1][:, :4])
    own = torch.cat([merge[1][:, :4], merge[0]], 1).unflatten(-1, (2, 4)).transpose(1, 2)
    scores = q @ own.mT / 2 + scheme.score_bias(q, own, 4)
    expected = scores.masked_fill(~causal_mask(3, 7), -math.inf).softmax(-1)
    assert relative_error(seen[0][1], expected) < 1e-12


def wrong_rows(x):
    """The shift that takes row i by i, not by T - 1 - i."""
    return torch.stack([x[..., i, :].roll(-i, -1) for i in range(x.shape[-2])], -2)


def test_a_planted_mistake_is_seen(monkeypatch):
    layer, x, memory = attention(), draw(2, 4, 8), draw(2, 3, 8, seed=2)
    expected = by_hand(layer, x, memory)

    def error(other=layer):
        return relative_error(other(x, memory), expected)

    assert error() < 1e-12
    swapped = copy.deepcopy(layer)
    swapped.u, swapped.v = swapped.v, swapped.u
    assert error(swapped) > 1e-2
    monkeypatch.setattr(positions, "relative_shift", wrong_rows)
    assert error() > 1e-2
    monkeypatch.setattr(positions, "relative_shift", lambda x: x)
    assert error() > 1e-2
    monkeypatch.undo()
    monkeypatch.setattr(math, "sqrt", lambda _: 1.0)
    assert error() > 1e-2


def test_a_mask_of_ones_own():
    layer, x = attention(), draw(2, 4, 8)
    seen = torch.eye(4, dtype=torch.bool)
    y = layer(x, mask=seen)
    values = F.linear(x, layer.in_proj_weight.chunk(3)[2])
    assert relative_error(y, values @ layer.out_proj.weight.T) < 1e-12
    with record_attention(layer):
        assert relative_error(layer(x, mask=seen), y) < 1e-12


def test_a_hook_may_change_the_weights():
    layer, x = attention(), draw(2, 4, 8)
    handle = layer.weights_tap.register_forward_hook(lambda _, args, weights: torch.zeros_like(weights))
    assert not layer(x).any()
    handle.remove()
    assert layer(x).all()


@pytest.mark.parametrize("norm", NORMS)
def test_the_model_is_its_layers_between_its_tables(norm):
    model, x = small(norm=norm, layers=1), ids(2, 5)
    block = model.blocks[0]
    h = model.embedding.weight[x] * math.sqrt(8)
    if norm == "post":
        h = block.norms[0](h + block.attention(h))
        h = block.norms[1](h + block.feed_forward(h))
    else:
        h = h + block.attention(block.norms[0](h))
        h = h + block.feed_forward(block.norms[1](h))
    y = h @ model.embedding.weight.T + model.readout.bias
    assert relative_error(model(x)[0], y) < 1e-12
    assert (model.input_size, model.output_size) == (6, 6)


def test_what_is_shared():
    model = small(layers=3)
    assert model.readout.weight is model.embedding.weight
    assert len({id(block.attention.u) for block in model.blocks}) == 1
    apart = small(layers=3, untied_uv=True, tied=False)
    assert len({id(block.attention.v) for block in apart.blocks}) == 3
    assert apart.readout.weight is not apart.embedding.weight
    count, other = (sum(p.numel() for p in m.parameters()) for m in (model, apart))
    assert other - count == 2 * 2 * 8 + 6 * 8
    twin = copy.deepcopy(model)
    assert twin.blocks[0].attention.u is twin.blocks[2].attention.u is not model.blocks[0].attention.u


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
        model = TransformerXL(vocabulary, vocabulary, vocabulary=vocabulary, memory=512, **options)
    assert sum(parameter.numel() for parameter in model.parameters()) == count


def test_the_first_weights():
    sizes = {"vocabulary": 400, "width": 64, "heads": 4, "layers": 2, "memory": 8}
    model = drawn(0, TransformerXL, 400, 400, cutoffs=(100,), divide=2, **sizes)
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
    r = torch.stack([encoding(distance, 8) for distance in range(8, -1, -1)])
    dropped = seen[0] == 0
    assert seen[0] is seen[1] and 0.2 < dropped[:-1].double().mean() < 0.8
    assert relative_error(seen[0][~dropped], 2 * r[~dropped]) < 1e-12
    model.eval()(ids(2, 9))
    assert relative_error(seen[2], r) < 1e-12


def test_one_step_alone():
    for options in KINDS:
        model, x = small(**options), ids(1, 1)
        y, state = model(x)
        assert y.shape == (1, 1, 6) and state[0].shape == (1, 1, 8)
        assert model(x, state)[1][0].shape == (1, 2, 8)


@pytest.mark.parametrize("options", [{}, {"cutoffs": (2, 4), "divide": 2}, {"tied": False}], ids=str)
def test_the_loss_is_that_of_the_logits(options):
    model, x, target = small(**options), ids(2, 7), ids(2, 7, seed=1)
    h, _ = model.encode(x)
    expected = F.cross_entropy(model(x)[0].mT, target, reduction="none")
    assert relative_error(model.nll(h, target), expected) < 1e-12
    grads = [
        torch.autograd.grad(loss, list(model.parameters()))
        for loss in (model.nll(model.encode(x)[0], target).mean(), expected.mean())
    ]
    assert max(relative_error(a, b) for a, b in zip(*grads, strict=True)) < 1e-10
    with pytest.raises(ValueError, match="target must hold ids from 0 to 5, got 6"):
        model.nll(h, target + 1 - target + 5)
    with pytest.raises(ValueError, match=r"target must have shape \(2, 7\), got \(2, 6\)"):
        model.nll(h, target[:, :6])


def test_looking_at_the_weights_changes_nothing():
    for options in KINDS:
        model, x = small(**options), ids(2, 7)
        state = model(x[:, :3])[1]
        y = model(x[:, 3:], state)[0]
        with record_attention(model) as seen:
            after = model(x[:, 3:], state)[0]
        assert relative_error(after, y) < 1e-12
        assert [name.removesuffix(".inner") for name, _ in seen] == ["blocks.0.attention", "blocks.1.attention"]
        for _, weights in seen:
            assert weights.shape == (2, 2, 4, 7) and relative_error(weights.sum(-1), torch.ones(())) < 1e-12


@pytest.mark.parametrize("norm", NORMS)
def test_less_precision(norm):
    model, x = small(norm=norm), ids(2, 7)
    y = in_pieces(model, x, [4, 3])[0]
    single = small(norm=norm).float()
    assert relative_error(in_pieces(single, x, [4, 3])[0].double(), y) < 1e-4
    with torch.autocast("cpu", torch.bfloat16):
        mixed = in_pieces(single, x, [4, 3])[0]
        with record_attention(single):
            seen = in_pieces(single, x, [4, 3])[0]
        mixed.float().sum().backward()
    assert max(relative_error(mixed.double(), y), relative_error(seen.double(), y)) < 0.1
    assert all(parameter.grad.isfinite().all() for parameter in single.parameters())
    low = small(norm=norm).bfloat16()
    assert relative_error(in_pieces(low, x, [4, 3])[0].double(), y) < 0.2


@pytest.mark.parametrize(
    "options, message",
    [
        ({"heads": 3}, "heads must divide width = 8"),
        ({"width": 7, "heads": 7}, "width must be even"),
        ({"vocabulary": 7, "tied": True}, "tied must be False unless vocabulary = output_size = 6, got True"),
        ({"vocabulary": None, "tied": True}, "tied must be False unless"),
        ({"vocabulary": 7, "cutoffs": (2,)}, "vocabulary must be output_size = 6 with cutoffs, got 7"),
        ({"vocabulary": None, "cutoffs": (2,)}, "vocabulary must be output_size = 6 with cutoffs, got None"),
        ({"cutoffs": (4, 2)}, r"cutoffs must be rising whole numbers from 1 to 5, got \(4, 2\)"),
        ({"cutoffs": (2, 2)}, "cutoffs must be rising"),
        ({"cutoffs": (0, 2)}, "cutoffs must be rising"),
        ({"cutoffs": (2, 6)}, "cutoffs must be rising"),
        ({"cutoffs": (2.5,)}, "cutoffs must be rising"),
        ({"cutoffs": ("a",)}, "cutoffs must be rising"),
        ({"divide": 0}, "divide must be at least 1, got 0"),
        ({"cutoffs": (2, 4), "divide": 3}, "divide must leave embedding_size = 8 some width after 2 divisions, got 3"),
        ({"positions": "absolute"}, "scheme must be one of"),
        ({"positions": "shaw", "untied_uv": True}, r'positions must be "xl" with .* untied_uv, got .shaw'),
        ({"positions": "shaw", "head_width": 3}, 'positions must be "xl" with a head_width or untied_uv'),
        ({"embedding_size": 0}, "embedding_size must be at least 1, got 0"),
    ],
    ids=str,
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        small(**options)


def test_settings_that_change_are_checked_again():
    model = small()
    model.memory = -2
    with pytest.raises(ValueError, match="memory must be a whole number from 0 on, got -2"):
        model(ids(2, 3))
    model.memory, model.same_length = 0, True
    with pytest.raises(ValueError, match="memory must be a whole number from 1 on with same_length, got 0"):
        model(ids(2, 3))


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"x": draw(2, 3)}, r"x must have shape \(B, T, 8\)"),
        ({"memory": draw(1, 4, 8)}, r"memory must have shape \(2, M, 8\), got \(1, 4, 8\)"),
        ({"memory": draw(2, 4, 7)}, r"memory must have shape \(2, M, 8\), got \(2, 4, 7\)"),
        ({"memory": [1]}, "memory must be a tensor"),
        ({"r": draw(3, 8)}, r"r must have shape \(7, 8\), got \(3, 8\)"),
        ({"mask": torch.ones(3, 3) > 0}, r"mask must have shape \(3, 7\), got \(3, 3\)"),
        ({"mask": torch.ones(3, 7)}, r"mask must be a bool tensor, True = may attend, got torch.float\d+"),
    ],
)
def test_bad_arguments_of_the_attention(arguments, message):
    arguments = {n: v.double() if isinstance(v, torch.Tensor) and n != "mask" else v for n, v in arguments.items()}
    arguments = {"x": draw(2, 3, 8), "memory": draw(2, 4, 8)} | arguments
    with pytest.raises(ValueError, match=message):
        attention()(arguments.pop("x"), arguments.pop("memory"), **arguments)


def test_shared_biases_have_to_fit():
    u = nn.Parameter(torch.zeros(2, 4))
    assert attention(u=u).u is u
    with pytest.raises(ValueError, match=r"u must be a parameter of shape \(2, 4\), got \(4, 2\)"):
        attention(u=nn.Parameter(torch.zeros(4, 2)))
    with pytest.raises(ValueError, match=r"v must be a parameter of shape \(2, 4\), got Tensor"):
        attention(v=torch.zeros(2, 4))


def test_printed():
    text = repr(small(cutoffs=(3,)))
    assert "memory=4, same_length=False, clamp=0" in text and "8, 2, head_width=4, attention_dropout=0.0" in text
    assert {type(m) for m in small(cutoffs=(3,)).modules()} >= {AdaptiveEmbedding, AdaptiveSoftmax}
