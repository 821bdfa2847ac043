"""No model looks ahead, a cache changes nothing, and the whole equals models written from torch's own modules."""

import itertools
import math

import pytest
import torch
from helpers import relative_error
from torch import nn

from rtx_lib.diagnostics.attention import record_attention
from rtx_lib.layers import SCHEMES, Sinusoidal, causal_mask, greedy
from rtx_lib.models.plain_gpt import PlainGPT
from rtx_lib.models.transformer import CausalTransformer, Decoder, Encoder, Transformer

pytestmark = pytest.mark.usefixtures("double")

NORMS = ("pre", "post")
# Seed, batch, length, width, heads, layers: every head width is even, as rotation wants it.
SHAPES = [(0, 2, 7, 8, 2, 2), (1, 1, 2, 4, 1, 1), (2, 3, 12, 12, 3, 3)]


def random_parameters(model, seed=1):
    """No bias is 0 and no norm the identity, so that none can go missing unseen; scores are large."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) / 3)
    return model


def ids(*shape, vocabulary=6, first=0, seed=0):
    return torch.randint(first, vocabulary, shape, generator=torch.Generator().manual_seed(seed))


def causal(seed=0, width=8, heads=2, layers=2, **options):
    options = {"vocabulary": 6, "clip": 3, "generator": torch.Generator().manual_seed(seed), **options}
    return random_parameters(CausalTransformer(6, 5, width=width, heads=heads, layers=layers, **options), seed)


def translator(seed=0, width=8, heads=2, layers=2, **options):
    options |= {"width": width, "heads": heads, "layers": layers, "clip": 3}
    return random_parameters(Transformer(7, 6, generator=torch.Generator().manual_seed(seed), **options), seed)


def sentences(batch=2, size=5, seed=0):
    """Source ids whose last row is padded behind its second token."""
    source = ids(batch, size, vocabulary=7, first=1, seed=seed)
    source[-1, 2:] = 0
    return source


def leaks(run, x, change):
    """The steps t whose input changes an output before t; ``run`` maps x (B, T) to y (B, T, ...)."""
    before, found = run(x), []
    for t in range(x.shape[1]):
        after = run(change(x, t))
        assert not torch.equal(after[:, t], before[:, t]), "the step's own output has to change"
        if relative_error(after[:, :t], before[:, :t]) if t else 0.0:
            found.append(t)
    return found


def other_id(x, t):
    changed = x.clone()
    changed[:, t] = (changed[:, t] + 1) % 6
    return changed


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("positions", SCHEMES)
def test_no_position_sees_a_later_one(positions, norm, shape):
    seed, batch, length, width, heads, layers = shape
    sizes = {"width": width, "heads": heads, "layers": layers, "positions": positions, "norm": norm}
    x, source = ids(batch, length, seed=seed), sentences(batch, seed=seed)
    model, both = causal(seed, **sizes), translator(seed, **sizes)
    assert leaks(lambda x: model(x)[0], x, other_id) == []
    assert leaks(lambda x: both((source, x))[0], x, other_id) == []
    with record_attention(model):  # the form that keeps its weights
        assert leaks(lambda x: model(x)[0], x, other_id) == []


@pytest.mark.parametrize("positions", SCHEMES)
def test_floats_do_not_leak_either(positions):
    model, x = causal(vocabulary=None, positions=positions), torch.randn(2, 7, 6)

    def other(x, t):
        changed = x.clone()
        changed[:, t] += 1
        return changed

    assert leaks(lambda x: model(x)[0], x, other) == []
    x.requires_grad_()
    for t in range(7):
        (gradient,) = torch.autograd.grad(model(x)[0][:, t].sum(), x)
        assert not gradient[:, t + 1 :].any() and gradient[:, : t + 1].any(-1).all()


def test_a_mask_that_is_off_by_one_is_seen(monkeypatch):
    model, x = causal(positions="none"), ids(2, 7)
    for block in model.stack.blocks:
        block.causal = False
    assert leaks(lambda x: model(x)[0], x, other_id) == [1, 2, 3, 4, 5, 6]
    seen = causal_mask(7).roll(-1, 0) | causal_mask(7)
    model.stack.register_forward_pre_hook(lambda _, args, options: (args, {"mask": seen}), with_kwargs=True)
    assert leaks(lambda x: model(x)[0], x, other_id)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("positions", SCHEMES)
def test_padding_in_the_source_changes_nothing(positions, norm):
    model, x = translator(positions=positions, norm=norm), ids(1, 4)
    source = ids(1, 5, vocabulary=7, first=1)
    before = model((source, x))[0]
    padded = torch.cat([source, torch.zeros(1, 3, dtype=torch.long)], 1)
    assert relative_error(model((padded, x))[0], before) < 1e-12
    longer = torch.cat([padded, ids(1, 8, vocabulary=7, first=1, seed=2)])
    assert relative_error(model((longer, x.expand(2, 4)))[0][:1], before) < 1e-12
    # Under an explicit mask, what stands behind it may be any id, anywhere in the sentence.
    mask = torch.tensor([True, False, True, True, False])[None, None, None]
    state, other = source.clone(), source.clone()
    other[:, [1, 4]] = other[:, [1, 4]] % 6 + 1
    logits = [model((None, x), model.encode(s, mask))[0] for s in (state, other)]
    assert relative_error(logits[1], logits[0]) < 1e-12 < 1e-3 < relative_error(logits[0], before)


def test_a_source_mask_that_is_ignored_is_seen():
    model, x = translator(), ids(1, 4)
    source = sentences(1)
    state = model.encode(source)
    everything = (state[0], torch.ones_like(state[1]), None)
    assert relative_error(model((None, x), everything)[0], model((source, x))[0]) > 1e-3
    assert relative_error(model((source[:, :2], x))[0], model((source, x))[0]) < 1e-12


def cuts(length, seed):
    """Pieces of random lengths, and single tokens."""
    generator = torch.Generator().manual_seed(seed)
    at = (torch.rand(length - 1, generator=generator) < 0.4).nonzero()[:, 0] + 1
    edges = [0, *at.tolist(), length]
    return [[b - a for a, b in itertools.pairwise(edges)], [1] * length]


def in_pieces(run, x, sizes):
    outputs, state = [], None
    for piece in x.split(sizes, dim=1):
        y, state = run(piece, state)
        outputs.append(y)
    return torch.cat(outputs, 1)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("positions", SCHEMES)
def test_pieces_equal_the_whole(positions, norm):
    for seed in range(3):
        x, source = ids(2, 9, seed=seed), sentences(seed=seed)
        model, both = causal(seed, positions=positions, norm=norm), translator(seed, positions=positions, norm=norm)
        whole, translated = model(x)[0], both((source, x))[0]
        for sizes in cuts(9, seed):
            assert relative_error(in_pieces(model, x, sizes), whole) < 1e-10
            pieces = in_pieces(lambda x, state: both((source if state is None else None, x), state), x, sizes)  # noqa: B023
            assert relative_error(pieces, translated) < 1e-10


def test_gradients_flow_through_the_cache():
    model, x = causal(), ids(2, 9)
    parameters = list(model.parameters())
    gradients = [torch.autograd.grad(y.sin().sum(), parameters) for y in (model(x)[0], in_pieces(model, x, [4, 1, 4]))]
    assert max(relative_error(a, b) for a, b in zip(*gradients, strict=True)) < 1e-10


def reorder(tree, index):
    if isinstance(tree, torch.Tensor):
        return tree[index]
    return None if tree is None else tuple(reorder(branch, index) for branch in tree)


def test_a_state_can_be_reordered_by_the_batch():
    """What beam search does."""
    index, source, x = torch.tensor([1, 1, 0]), sentences(), ids(2, 6)
    for model, first in ((translator(), (source, x[:, :3])), (causal(), x[:, :3])):
        state = model(first)[1]
        rest = x[index, 3:]
        whole = model((source[index], x[index]) if isinstance(first, tuple) else x[index])[0]
        again = model((None, rest) if isinstance(first, tuple) else rest, reorder(state, index))[0]
        assert relative_error(again, whole[:, 3:]) < 1e-10
    start = reorder(translator().encode(source), index)
    assert start[2] is None and start[0].shape == (3, 5, 8) and start[1].shape == (3, 1, 1, 5)


def test_greedy_decoding_with_a_cache_equals_it_without():
    model, source = translator(), sentences()
    ours = greedy(model, source, start=1, end=5, max_length=8)
    x = torch.ones(2, 1, dtype=torch.long)
    for _ in range(ours.shape[1]):
        x = torch.cat([x, model((source, x))[0][:, -1:].argmax(-1)], 1)
    ended = (x[:, 1:] == 5).cumsum(1).cumsum(1) > 1
    assert torch.equal(ours, x[:, 1:].masked_fill(ended, 0))


def test_equals_a_plain_gpt():
    """Its table is not scaled, so that ours, sqrt(D) times smaller, gives logits that are smaller by as much."""
    theirs = random_parameters(PlainGPT(11, width=8, heads=2, layers=2, length=9))
    ours = CausalTransformer(
        11, 11, vocabulary=11, width=8, heads=2, layers=2, length=9, positions="learned", bias=False, tied=True
    )
    parts = {"qkv.weight": "self_attention.in_proj_weight", "out.weight": "self_attention.out_proj.weight",
             "up.weight": "feed_forward.linear1.weight", "down.weight": "feed_forward.linear2.weight",
             "norm1.weight": "norms.0.weight", "norm2.weight": "norms.1.weight"}  # fmt: skip
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
    for (name, _), gradient in zip(
        theirs.named_parameters(), torch.autograd.grad(reference.sin().sum(), list(theirs.parameters())), strict=True
    ):
        scale = math.sqrt(8) if name == "tokens.weight" else 1
        assert relative_error(gradients[names.get(name, "embedding.weight")], gradient * scale) < 1e-12, name


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm", NORMS)
def test_equals_torchs_transformer(norm, activation):
    """Encoder, decoder, masks, embeddings and readout, with all gradients."""
    model = translator(norm=norm, activation=activation, inner=11)
    options = {"batch_first": True, "norm_first": norm == "pre", "activation": activation, "dropout": 0.0}
    last = [nn.LayerNorm(8) if norm == "pre" else None for _ in "ab"]
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(8, 2, 11, **options), 2, last[0], enable_nested_tensor=False
    )
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 11, **options), 2, last[1])
    rules = {"stack.": "", "blocks.": "layers.", "self_attention": "self_attn", "cross_attention": "multihead_attn",
             "feed_forward.": "", "norms.0": "norm1", "norms.1": "norm2", "norms.2": "norm3"}  # fmt: skip

    def rename(name):
        for a, b in rules.items():
            name = name.replace(a, b)
        return name

    theirs = nn.ModuleDict({"encoder": encoder, "decoder": decoder})
    stacks = {name: value for name, value in model.state_dict().items() if ".stack." in name}
    theirs.load_state_dict({rename(name): value for name, value in stacks.items()})
    source, x = sentences(), ids(2, 4)
    tables = [model.encoder.embedding.weight, model.decoder.embedding.weight]
    pe = Sinusoidal(8).encode(torch.arange(9))
    h = encoder(tables[0][source] * 8**0.5 + pe[:5], src_key_padding_mask=source == 0)
    future = torch.ones(4, 4).triu(1).bool()
    h = decoder(tables[1][x] * 8**0.5 + pe[:4], h, tgt_mask=future, memory_key_padding_mask=source == 0)
    reference = model.decoder.readout(h)
    y, _ = model((source, x))
    assert relative_error(y, reference) < 1e-12
    ours = {rename(name): p for name, p in model.named_parameters() if ".stack." in name}
    both = [(tables, tables), ([ours[name] for name, _ in theirs.named_parameters()], list(theirs.parameters()))]
    for mine, other in both:
        gradients = torch.autograd.grad(y.sin().sum(), mine, retain_graph=True)
        expected = torch.autograd.grad(reference.sin().sum(), other, retain_graph=True)
        assert max(relative_error(a, b) for a, b in zip(gradients, expected, strict=True)) < 1e-11


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
    again = CausalTransformer(6, 6, vocabulary=6, width=8, heads=2, layers=1, positions="none", tied=True)
    again.load_state_dict(model.state_dict())
    assert torch.equal(again(x)[0], model(x)[0]) and again.readout.weight is again.embedding.weight


@pytest.mark.parametrize(
    "tied, shared, tables", [(False, False, 3), (True, False, 2), (False, True, 2), (True, True, 1)]
)
def test_what_an_encoder_decoder_shares(tied, shared, tables):
    model = Transformer(7, 7, width=8, heads=2, layers=1, tied=tied, shared=shared)
    weights = [model.source_embedding.weight, model.decoder.embedding.weight, model.decoder.readout.weight]
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
    model = CausalTransformer(
        500, 500, vocabulary=500, width=128, heads=4, layers=2, tied=tied, generator=torch.Generator().manual_seed(0)
    )
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
def test_the_generator_decides_the_weights(positions):
    def make(seed):
        options = {"width": 8, "heads": 2, "layers": 2, "positions": positions}
        return Transformer(7, 6, generator=torch.Generator().manual_seed(seed), **options).state_dict()

    first, second, other = make(0), make(0), make(1)
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not all(torch.equal(first[name], other[name]) for name in first)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("positions", SCHEMES)
def test_looking_at_the_weights_changes_nothing(positions, norm):
    model, source, x = translator(positions=positions, norm=norm), sentences(), ids(2, 4)
    before = model((source, x))[0]
    with record_attention(model) as seen:
        after = model((source, x))[0]
    assert relative_error(after, before) < 1e-12
    shapes = {name: weights.shape for name, weights in seen}
    assert len(seen) == 6 and shapes["encoder.stack.blocks.1.self_attention"] == (2, 2, 5, 5)
    assert shapes["decoder.stack.blocks.0.self_attention"] == (2, 2, 4, 4)
    assert shapes["decoder.stack.blocks.0.cross_attention"] == (2, 2, 4, 5)
    for name, weights in seen:
        assert relative_error(weights.sum(-1), torch.ones(())) < 1e-12
        if not name.startswith("decoder.stack.blocks.0.self") and not name.startswith("decoder.stack.blocks.1.self"):
            assert not weights[1, ..., 2:].any(), "padding is never read"


def test_dropout_acts_in_training_only():
    model, x = causal(dropout=0.3), ids(2, 7)
    assert not torch.equal(model(x)[0], model(x)[0])
    assert torch.equal(model.eval()(x)[0], model(x)[0])


@pytest.mark.parametrize("positions", SCHEMES)
def test_less_precision(positions):
    model, x = causal(positions=positions, layers=1), ids(2, 7)
    y = model(x)[0]
    low = causal(positions=positions, layers=1).bfloat16()(x)[0]
    assert low.dtype == torch.bfloat16 and relative_error(low.double(), y) < 0.1
    single = causal(positions=positions, layers=1).float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        state = single(x[:, :3])[1]
        mixed = single(x[:, 3:], state)[0]
    assert relative_error(mixed.double(), y[:, 3:]) < 0.1


def test_a_learned_table_ends():
    model, both = causal(positions="learned", length=5), translator(positions="learned", length=5)
    assert model(ids(2, 5))[0].shape == (2, 5, 5)
    for run in (lambda: model(ids(2, 6)), lambda: both((ids(2, 6, first=1), ids(2, 2))),
                lambda: both((sentences(), ids(2, 6)))):  # fmt: skip
        with pytest.raises(ValueError, match="table of 5 positions, got 6"):
            run()
    state = model(ids(2, 3))[1]
    with pytest.raises(ValueError, match="table of 5 positions, got 6"):
        model(ids(2, 3), state)
    state = both((sentences(), ids(2, 4)))[1]
    assert both((None, ids(2, 1)), state)[0].shape == (2, 1, 6)
    with pytest.raises(ValueError, match="table of 5 positions, got 6"):
        both((None, ids(2, 2)), state)


SMALL = {"width": 8, "heads": 2, "layers": 1}


@pytest.mark.parametrize(
    "build, message",
    [
        (
            lambda: CausalTransformer(6, 5, width=10, heads=4, layers=1),
            "heads must divide .*10.*4|got 4 heads and width 10",
        ),
        (lambda: CausalTransformer(0, 5, **SMALL), "input_size must be at least 1, got 0"),
        (lambda: CausalTransformer(6, 0, **SMALL), "output_size must be at least 1, got 0"),
        (lambda: CausalTransformer(6, 5, vocabulary=0, **SMALL), "vocabulary must be at least 1, got 0"),
        (lambda: CausalTransformer(6, 5, width=8, heads=2, layers=0), "layers must be at least 1, got 0"),
        (lambda: CausalTransformer(6, 5, vocabulary=6, tied=True, **SMALL), "tied must be False unless .* 5"),
        (lambda: CausalTransformer(6, 6, tied=True, **SMALL), "tied must be False unless"),
        (lambda: Encoder(6, None, vocabulary=6, tied=True, **SMALL), "tied must be False unless"),
        (lambda: CausalTransformer(6, 5, norm="middle", **SMALL), "norm must be one of .*'middle'"),
        (lambda: CausalTransformer(6, 5, activation="sine", **SMALL), "activation must be one of .*'sine'"),
        (lambda: CausalTransformer(6, 5, positions="gps", **SMALL), "must be one of .*'gps'"),
        (lambda: CausalTransformer(6, 5, dropout=-1.0, **SMALL), "dropout"),
        (lambda: Decoder(0, **SMALL), "vocabulary must be at least 1, got 0"),
        (lambda: Transformer(0, 6, **SMALL), "vocabulary must be at least 1, got 0"),
        (
            lambda: Transformer(7, 6, shared=True, **SMALL),
            "shared must be False with different vocabularies, got 7 and 6",
        ),
        (lambda: Transformer(7, 6, width=8, heads=3, layers=1), "heads must divide|got 3 heads"),
    ],
)
def test_bad_arguments(build, message):
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize(
    "x, message",
    [
        (torch.randn(2, 7), r"x must hold ids of shape \(B, T\).* got torch\.float32"),
        (torch.randn(2, 7, 6), r"x must hold ids of shape \(B, T\)"),
        (ids(2, 7, 1), r"x must hold ids .* got torch\.int64 of shape \(2, 7, 1\)"),
        (ids(2, 0), r"x must hold ids .* of shape \(2, 0\)"),
        (ids(0, 2), r"x must hold ids .* of shape \(0, 2\)"),
        (ids(2, 7) > 2, r"x must hold ids .* got torch\.bool"),
        ([1, 2], "x must hold ids .* got list"),
        (torch.tensor([[0, 6]]), "x must hold ids from 0 to 5, got 6"),
        (torch.tensor([[0, -1]]), "x must hold ids from 0 to 5, got -1"),
    ],
)
def test_bad_ids(x, message):
    with pytest.raises(ValueError, match=message):
        causal()(x)
    with pytest.raises(ValueError, match=message.replace("x", "target in", 1)):
        translator()((sentences(), x))
    for of_target, of_source in (("x", "source"), ("0 to 5", "0 to 6"), ("got 6", "got 7")):
        message = message.replace(of_target, of_source, 1)
    with pytest.raises(ValueError, match=message):
        translator()((torch.tensor([[1, 7]]) if "got 7" in message else x, ids(2, 3)))


def test_bad_floats():
    model = causal(vocabulary=None)
    for x, message in [
        (ids(2, 7), r"x must have shape \(B, T, 6\)"),
        (ids(2, 7, 6), r"x must be of torch\.float64"),
        (torch.zeros(2, 0, 6), "x must hold at least one"),
        (torch.zeros(2, 7, 5), "x must have shape"),
    ]:
        with pytest.raises(ValueError, match=message):
            model(x)


def test_an_empty_source():
    model, x = translator(), ids(2, 3)
    empty = sentences()
    empty[1] = 0
    with pytest.raises(ValueError, match="source must have at least one token that is not 0 in each row"):
        model((empty, x))
    with pytest.raises(ValueError, match=r"source must hold ids .* got torch\.int64 of shape \(2, 0\)"):
        model((empty[:, :0], x))
    with pytest.raises(ValueError, match="source must be given where there is no state, got None"):
        model((None, x))
    with pytest.raises(ValueError, match="at least one token"):
        model.encode(sentences(), torch.zeros(2, 1, 1, 5, dtype=torch.bool))
    other = translator(pad=6)
    assert other((empty, x))[0].isfinite().all()
    with pytest.raises(ValueError, match="not 6"):
        other((torch.full((2, 5), 6), x))


def test_bad_pairs_and_states():
    model, x, source = translator(), ids(2, 3), sentences()
    for bad in (source, (source,), (source, x, x)):
        with pytest.raises(ValueError, match="x must be a pair"):
            model(bad)
    state = model((source, x))[1]
    memory, mask, caches = state
    for bad, message in [
        (memory, "state must be .memory, mask, caches., got Tensor"),
        ((memory, mask), "state must be .memory, mask, caches."),
        ((None, mask, caches), "state must be"),
        (reorder(state, [0]), "state must be of the batch 2 of the target, got 1"),
        ((memory, mask, caches[:1]), "cache must be a tuple of 2 entries"),
        ((memory, mask, reorder(caches, [0])), "cache.* must have shape"),
        ((memory, mask[..., 1:], caches), "mask must"),
        ((memory, mask.double(), caches), "mask must"),
        ((memory[..., 1:], mask, None), "memory must"),
    ]:
        with pytest.raises(ValueError, match=message):
            model((None, x), bad)
    with pytest.raises(ValueError, match="batch 2 of the target, got 3"):
        model((torch.ones(3, 5, dtype=torch.long), x))
    one = causal()
    state = one(x)[1]
    for bad, message in [(state[:1], "2 entries"), (reorder(state, [0]), "must have shape"), ([*state], "got list"),
                         (causal(heads=4)(x)[1], r"must have shape \(2, 2, 3, 4\)")]:  # fmt: skip
        with pytest.raises(ValueError, match=message):
            one(x, bad)
