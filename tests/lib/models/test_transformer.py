"""The Transformers: a causal one equals a plain GPT; what they see and share, and how they start.

Blocks equal torch's in layers/test_blocks.py, stacks and the whole in tests/reference/test_official.py.
"""

import math

import pytest
import torch
from support.compare import ids, random_parameters, worst
from support.helpers import drawn, relative_error
from support.small_transformers import causal, sentences, translator
from torch import nn

from rtx_lib.layers import SCHEMES
from rtx_lib.models.plain_gpt import PlainGPT
from rtx_lib.models.transformer import CausalTransformer, Encoder, Transformer

pytestmark = pytest.mark.usefixtures("double")

NORMS = ("pre", "post")


def test_equals_a_plain_gpt():
    """Its table is not scaled, so that ours, sqrt(D) times smaller, gives logits that are smaller by as much."""
    theirs = random_parameters(PlainGPT(11, width=8, heads=2, layers=2, length=9))
    ours = CausalTransformer(
        11, 11, vocabulary=11, width=8, heads=2, layers=2, length=9, positions="learned", bias=False, tied=True
    )
    parts = {
        "qkv.weight": "self_attention.in_proj_weight",
        "out.weight": "self_attention.out_proj.weight",
        "up.weight": "feed_forward.linear1.weight",
        "down.weight": "feed_forward.linear2.weight",
        "norm1.weight": "norms.0.weight",
        "norm2.weight": "norms.1.weight",
    }
    names = {f"blocks.{i}.{a}": f"stack.blocks.{i}.{b}" for i in range(2) for a, b in parts.items()}
    names |= {"norm.weight": "stack.norm.weight", "positions.weight": "stack.positions.weight"}
    values = theirs.state_dict()
    table = values.pop("tokens.weight") / math.sqrt(8)
    given = {names[name]: value for name, value in values.items()}
    ours.load_state_dict(given | {"embedding.weight": table, "readout.weight": table})
    x = ids(3, 9, vocabulary=11)
    y, reference = ours(x)[0] * math.sqrt(8), theirs(x)[0]
    assert relative_error(y, reference) < 1e-12
    found = torch.autograd.grad(y.sin().sum(), list(ours.parameters()))
    gradients = dict(zip(dict(ours.named_parameters()), found, strict=True))
    expected = torch.autograd.grad(reference.sin().sum(), list(theirs.parameters()))
    scales = [1 if name in names else math.sqrt(8) for name, _ in theirs.named_parameters()]
    scaled = [scale * gradient for scale, gradient in zip(scales, expected, strict=True)]
    mine = [gradients[names.get(name, "embedding.weight")] for name, _ in theirs.named_parameters()]
    assert worst(mine, scaled) < 1e-12


def test_a_plain_gpt_has_the_size_of_its_recipe_and_shares_the_table():
    model = PlainGPT(65)
    blocks = 4 * (12 * 128 * 128 + 2 * 128) + 128
    assert sum(p.numel() for p in model.parameters()) == blocks + 65 * 128 + 64 * 128
    x = torch.randint(65, (2, 64))
    logits, state = model(x)
    assert logits.shape == (2, 64, 65) and state is None
    model.tokens.weight.data.zero_()
    assert not model(x)[0].any(), "the output weights are the embedding's"
    with pytest.raises(ValueError, match="at most 64 positions, got 65"):
        model(torch.zeros(1, 65, dtype=torch.long))


@pytest.mark.parametrize("positions", SCHEMES)
def test_the_encoder_sees_both_ways_but_not_behind_its_mask(positions):
    model = random_parameters(Encoder(6, 5, width=8, heads=2, layers=1, positions=positions, clip=3))
    x = torch.randn(2, 7, 6, requires_grad=True)
    (gradient,) = torch.autograd.grad(model(x)[0][:, 3].sum(), x)
    assert gradient.any(-1).all()
    mask = (torch.arange(7) < 5)[None, None, None]
    (gradient,) = torch.autograd.grad(model(x, mask=mask)[0][:, 3].sum(), x)
    assert gradient[:, :5].any(-1).all() and not gradient[:, 5:].any()


def test_without_a_readout_the_last_block_comes_out():
    model = Encoder(6, None, vocabulary=6, width=8, heads=2, layers=2)
    assert model(ids(2, 7))[0].shape == (2, 7, 8) and model.output_size == 8
    assert CausalTransformer(6, None, width=8, heads=2, layers=2)(torch.randn(2, 7, 6))[0].shape == (2, 7, 8)


def test_ids_are_scaled_and_a_tied_table_is_one():
    model = CausalTransformer(6, 6, vocabulary=6, width=8, heads=2, layers=1, positions="none", tied=True)
    assert model.readout.weight is model.embedding.weight and model.readout.bias is None
    seen = []
    model.stack.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    x = ids(2, 7)
    model(x)
    assert relative_error(seen[0], model.embedding.weight[x] * math.sqrt(8)) < 1e-12
    untied = sum(p.numel() for p in causal(positions="none", layers=1).parameters())
    assert sum(p.numel() for p in model.parameters()) == untied - 5 * 9


@pytest.mark.parametrize(
    "tied, shared, tables", [(False, False, 3), (True, False, 2), (False, True, 2), (True, True, 1)]
)
def test_what_an_encoder_decoder_shares(tied, shared, tables):
    model = Transformer(7, 7, width=8, heads=2, layers=1, tied=tied, shared=shared)
    weights = [model.encoder.embedding.weight, model.decoder.embedding.weight, model.decoder.readout.weight]
    assert len({id(weight) for weight in weights}) == tables and all(weight.shape == (7, 8) for weight in weights)


@pytest.mark.parametrize("norm", NORMS)
def test_the_base_model_has_the_papers_size(norm):
    """Vaswani et al. (2017), table 3: 65 million. All parameters, with the one table of 37,000 ids counted once."""
    with torch.device("meta"):
        stack = {"width": 512, "heads": 8, "layers": 6}
        model = Transformer(37_000, 37_000, **stack, norm=norm, tied=True, shared=True)
    count = sum(parameter.numel() for parameter in model.parameters())
    attention, feed, norms = 4 * 512 * 513, 512 * 2048 * 2 + 2048 + 512, 2 * 512
    blocks = 6 * (3 * attention + 2 * feed + 5 * norms)
    assert count == 37_000 * 512 + blocks + (2 * norms if norm == "pre" else 0)
    assert 63e6 < count < 65e6


@pytest.mark.parametrize("tied", [True, False])
def test_the_first_tables(tied):
    model = drawn(0, CausalTransformer, 500, 500, vocabulary=500, width=128, heads=4, layers=2, tied=tied)
    x = ids(8, 50, vocabulary=500)
    assert (model.embedding(x) * math.sqrt(128)).var().item() == pytest.approx(1, abs=0.05)
    if tied:  # but for the ids just read, which the residual stream still holds
        logits, own = model(x)[0], nn.functional.one_hot(x, 500).bool()
        assert logits[~own].var().item() == pytest.approx(1, abs=0.1) and logits[own].min() > 3
    else:
        assert model.readout.weight.abs().max() <= math.sqrt(6 / 628) and not model.readout.bias.any()
    floats = CausalTransformer(30, 5, width=128, heads=4, layers=2)
    assert 0.19 < floats.embedding.weight.abs().max() <= math.sqrt(6 / 158) and not floats.embedding.bias.any()


@pytest.mark.parametrize("positions", SCHEMES)
def test_what_an_explicit_mask_hides_may_be_any_id(positions):
    """Anywhere in the sentence."""
    model, x, source = translator(positions=positions), ids(1, 4), ids(1, 5, vocabulary=7, first=1)
    mask, other = torch.tensor([True, False, True, True, False])[None, None, None], source.clone()
    other[:, [1, 4]] = other[:, [1, 4]] % 6 + 1
    logits = [model((None, x), model.encode(s, mask))[0] for s in (source, other)]
    assert relative_error(logits[1], logits[0]) < 1e-12 < 1e-3 < relative_error(logits[0], model((source, x))[0])


def test_a_learned_table_ends():
    model, both = causal(positions="learned", length=5), translator(positions="learned", length=5)
    assert model(ids(2, 5))[0].shape == (2, 5, 5)
    state, of_both = model(ids(2, 3))[1], both((sentences(), ids(2, 4)))[1]
    assert both((None, ids(2, 1)), of_both)[0].shape == (2, 1, 6)
    for run in (
        lambda: model(ids(2, 6)),
        lambda: model(ids(2, 3), state),
        lambda: both((ids(2, 6, first=1), ids(2, 2))),
        lambda: both((sentences(), ids(2, 6))),
        lambda: both((None, ids(2, 2)), of_both),
    ):
        with pytest.raises(ValueError, match="table of 5 positions, got 6"):
            run()


def test_different_vocabularies_cannot_be_shared():
    with pytest.raises(ValueError, match="shared must be False with different vocabularies, got 7 and 6"):
        Transformer(7, 6, shared=True, width=8, heads=2, layers=1)


def test_an_empty_source():
    model, x, empty = translator(), ids(2, 3), sentences()
    empty[1] = 0
    with pytest.raises(ValueError, match="source must have at least one token that is not 0 in each row"):
        model((empty, x))
    with pytest.raises(ValueError, match="at least one token"):
        model.encode(sentences(), torch.zeros(2, 1, 1, 5, dtype=torch.bool))
