"""BERT: who sees whom, padding, masked words apart from each other, heads and refusals."""

import copy

import pytest
import torch
import torch.nn.functional as F
from support.compare import random_parameters
from support.far_device import assert_equal, run, run_far
from support.helpers import drawn, refusals, relative_error
from torch import nn, tensor

from rtx_lib.diagnostics.attention import record_attention
from rtx_lib.models.bert import BERT, DIRECTIONS, BERTClassifier, visible

pytestmark = pytest.mark.usefixtures("double")

V, T = 9, 7
SIZES = {"width": 8, "heads": 2, "layers": 2, "length": T}
IDS = tensor([[1, 5, 3, 6, 2, 7, 2], [1, 8, 2, 4, 3, 2, 0], [1, 3, 2, 6, 2, 0, 0]])
SEGMENTS = tensor([[0, 0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 1, 0], [0, 0, 0, 1, 1, 0, 0]])
PAIR, LENGTHS = (IDS, SEGMENTS), [7, 6, 5]


def build(**options):
    return random_parameters(drawn(0, BERT, V, **SIZES | options)).eval()


def classifier(output_size=3, **options):
    return random_parameters(BERTClassifier(build(next_sentence=True), output_size, **options)).eval()


def reach(model, x):
    """Whether what the encoder gives at t moves with the word at s, (T, T), by gradients."""
    embedded = []
    hook = model.embedding.register_forward_hook(
        lambda _, args, e: embedded.append(e.detach().requires_grad_()) or embedded[-1]
    )
    h, _ = model(x)
    hook.remove()
    found = [torch.autograd.grad(row.sin().sum(), embedded[0], retain_graph=True)[0][0] for row in h[0]]
    return torch.stack(found).abs().sum(-1)


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("seen", [False, True])
def test_each_position_sees_what_its_direction_says(layers, seen):
    """And all of it; both sides in the paper's model."""
    for direction in DIRECTIONS:
        model = build(layers=layers, direction=direction).encoder
        with record_attention(model) if seen else torch.enable_grad():
            found = reach(model, IDS[:1])
        allowed = visible(direction, T)
        assert not found[~allowed].any() and (found[allowed] > 1e-9).all()
    assert visible("both", 3).all() and torch.equal(visible("left-to-right", 3), torch.ones(3, 3).tril().bool())
    assert torch.equal(visible("right-to-left", 3), torch.ones(3, 3).triu().bool())


@pytest.mark.parametrize("next_sentence", [False, True])
def test_places_are_picked_from_the_whole(next_sentence):
    model, places = build(next_sentence=next_sentence), tensor([[2, 5], [4, 4], [1, 0]])
    whole, state = model(PAIR)
    some, _ = model((*PAIR, places))
    assert state is None and whole.shape == (3, T, V + 2 * next_sentence) and model.output_size == whole.shape[2]
    assert relative_error(some, whole.gather(1, places[..., None].expand(-1, -1, whole.shape[2]))) < 1e-12
    assert torch.equal(model.predict(model.encode(PAIR))[..., :V], whole[..., :V])


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_padding_changes_nothing(direction):
    """What stands behind a text, and how much of it, whatever segment it is said to be of."""
    model = build(direction=direction, next_sentence=True, length=T + 2)
    y = model(PAIR)[0]
    longer = model((F.pad(IDS, (0, 2)), F.pad(SEGMENTS, (0, 2), value=1)))[0]
    masked = model((IDS.clamp(min=4) * (IDS != 0) + 8 * (IDS == 0), SEGMENTS))[0]
    for b, m in enumerate(LENGTHS):
        alone = model((IDS[b : b + 1, :m], SEGMENTS[b : b + 1, :m]))[0]
        assert relative_error(alone, y[b : b + 1, :m]) < 1e-12
        assert relative_error(longer[b, :m], y[b, :m]) < 1e-12
    assert relative_error(masked[1:], y[1:]) > 1e-3
    h, real = model.encode(PAIR), (IDS != 0)[:, None, None]
    assert torch.equal(model.encode(PAIR, mask=real), h)
    filled = model.encode((torch.where(IDS == 0, 8, IDS), SEGMENTS), mask=real)
    for b, m in enumerate(LENGTHS):
        assert relative_error(filled[b, :m], h[b, :m]) < 1e-12
    assert h[2, 5:].isfinite().all() and h[2, 5:].any()  # padded positions are computed all the same


def test_without_segments_all_is_the_first():
    model = build()
    assert torch.equal(model(IDS)[0], model((IDS, torch.zeros_like(IDS)))[0])
    assert relative_error(model(IDS)[0], model(PAIR)[0]) > 1e-3


def test_a_head_takes_over_what_was_trained():
    """The encoder, and the pooler if there is one; where no pooler was trained a new one is drawn."""
    with_pooler, without = build(next_sentence=True), build()
    assert BERTClassifier(with_pooler, 2).pooler is with_pooler.pooler
    for bert in (with_pooler, without):
        model = BERTClassifier(bert, 2)
        assert model.encoder is bert.encoder and model.pooler is not None
        assert BERTClassifier(bert, 2, kind="span").pooler is None is BERTClassifier(bert, 2, kind="token").pooler


def test_how_the_weights_start():
    """Normal ones cut at two deviations: theirs is then 0.88 times as large."""
    model = drawn(0, BERTClassifier, BERT(500, width=64, heads=2, layers=3, length=300, next_sentence=True), 40)
    for name, p in model.state_dict().items():
        if p.ndim == 2:
            assert p.abs().max() <= 0.04
            assert len(p) == 2 or p.std().item() == pytest.approx(0.0176, rel=0.05), name
        else:
            assert torch.equal(p, torch.full_like(p, float("norm" in name and name.endswith("weight")))), name


def test_the_published_size():
    """110 million parameters of the base model, those of the word pieces of its release included."""
    with torch.device("meta"):
        model = BERT(30_522, width=768, heads=12, layers=12, next_sentence=True)
    parts = [model.encoder, model.pooler]
    assert sum(p.numel() for part in parts for p in part.parameters()) == 109_482_240
    assert {m.eps for m in model.modules() if isinstance(m, nn.LayerNorm)} == {1e-12}


def test_dropout_stands_where_it_stood():
    """On the embedded text, on weights, on what is added and in front of a head, not for spans or in the MLP."""
    model = build(dropout=0.5)
    block = model.train().encoder.stack.blocks[0]
    h = torch.randn(2, T, 8)
    assert torch.equal(block.feed_forward(h), copy.deepcopy(block).eval().feed_forward(h))
    assert (block.self_attention.dropout, block.dropout.p, model.encoder.stack.dropout.p) == (0.5, 0.5, 0.5)
    shares = {k: BERTClassifier(model, 2, kind=k, dropout=0.3).dropout.p for k in ("sentence", "token", "span")}
    assert shares == {"sentence": 0.3, "token": 0.3, "span": 0.0}


def test_on_a_device_nothing_is_mixed_and_nothing_waits():
    """With segments, places and every head; the rest is the contract's."""
    model = build(next_sentence=True).float()
    for x in (PAIR, (*PAIR, tensor([[2], [4], [1]]))):
        model.zero_grad()
        assert_equal(run_far(model, x), run(model, x))
    for kind, size in (("sentence", 3), ("token", 3), ("span", 2)):
        head = classifier(size, kind=kind).float()
        assert_equal(run_far(head, PAIR), run(head, PAIR))


EMPTY = IDS.clone()
EMPTY[1] = 0
REFUSED = {
    "x must end within the table of 7 positions, got 14": IDS.repeat(1, 2),
    "x must have a word in each row, got none in row 1": EMPTY,
    "segments must hold ids from 0 to 1, got 2": (IDS, SEGMENTS + 1),
    "places must hold ids from 0 to 6, got 7": (*PAIR, SEGMENTS + 6),
}
test_what_is_no_text_is_refused = refusals(((lambda model, x=x: model(x), said) for said, x in REFUSED.items()), build)
test_heads_that_do_not_fit_are_refused = refusals(
    {
        r"x must have shape \(B, 4, T\), got \(1, 3, 7\)": lambda: classifier(4, kind="choice")(IDS[None]),
        "output_size must be 2 for a span, .* got 3": lambda: classifier(3, kind="span"),
    }
)


def test_a_mean_is_over_the_words_of_the_mask():
    model = BERTClassifier(drawn(0, BERT, 11, width=8, heads=2, layers=1, length=6), 3, kind="mean").eval()
    ids = tensor([[4, 5, 6], [7, 8, 9]])
    mask = tensor([[True, True, False], [True, False, True]])[:, None, None]
    hidden = ids.masked_fill(~mask[:, 0, 0], 3)
    assert torch.equal(model(ids, mask=mask)[0], model(hidden, mask=mask)[0])
    padded = ids.masked_fill(tensor([False, False, True]), 0)
    assert torch.equal(model(padded)[0], model(padded, mask=tensor([True, True, False]))[0])
    with pytest.raises(ValueError, match="mask must show a word in each row, got none in row 1"):
        model(ids, mask=mask & tensor([True, False])[:, None, None, None])
