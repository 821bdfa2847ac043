"""What a Transformer refuses, and how it says so."""

import pytest
import torch
from support.small_transformers import causal, ids, reorder, sentences, translator

from rtx_lib.models.transformer import CausalTransformer, Decoder, Encoder, Transformer

pytestmark = pytest.mark.usefixtures("double")

SMALL = {"width": 8, "heads": 2, "layers": 1}


def test_a_learned_table_ends():
    model, both = causal(positions="learned", length=5), translator(positions="learned", length=5)
    assert model(ids(2, 5))[0].shape == (2, 5, 5)
    for run in (
        lambda: model(ids(2, 6)),
        lambda: both((ids(2, 6, first=1), ids(2, 2))),
        lambda: both((sentences(), ids(2, 6))),
    ):
        with pytest.raises(ValueError, match="table of 5 positions, got 6"):
            run()
    state = model(ids(2, 3))[1]
    with pytest.raises(ValueError, match="table of 5 positions, got 6"):
        model(ids(2, 3), state)
    state = both((sentences(), ids(2, 4)))[1]
    assert both((None, ids(2, 1)), state)[0].shape == (2, 1, 6)
    with pytest.raises(ValueError, match="table of 5 positions, got 6"):
        both((None, ids(2, 2)), state)


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
        (lambda: CausalTransformer(6, 5, positions="gps", **SMALL), "positions must be one of .*'gps'"),
        (lambda: CausalTransformer(6, 5, dropout=-1.0, **SMALL), "dropout"),
        (lambda: Decoder(0, **SMALL), "vocabulary must be at least 1, got 0"),
        (lambda: Transformer(0, 6, **SMALL), "source_vocabulary must be at least 1, got 0"),
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
        (torch.zeros(2, 0, 6), "every size at least 1"),
        (torch.zeros(2, 7, 5), "x must have shape"),
    ]:
        with pytest.raises(ValueError, match=message):
            model(x)


def test_source_and_target_of_different_batches():
    model = translator()
    encode, model.encode = model.encode, None  # before any work
    with pytest.raises(ValueError, match="source must have the 3 rows of the target, got 2"):
        model((sentences()[:2], ids(3, 3)))
    model.encode = encode


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
        with pytest.raises(ValueError, match="x must be a tuple of 2 entries"):
            model(bad)
    state = model((source, x))[1]
    memory, mask, caches = state
    for bad, message in [
        (memory, "state must be a tuple of 3 entries, .memory, mask, caches., got Tensor"),
        ((memory, mask), "state must be a tuple of 3 entries, .memory, mask, caches."),
        ((None, mask, caches), "state.0. must be a tensor"),
        (reorder(state, [0]), r"state\[0\] must have shape \(2, S, D\), got \(1, "),
        ((memory, mask, caches[:1]), "cache must be a tuple of 2 entries"),
        ((memory, mask, reorder(caches, [0])), "cache.* must have shape"),
        ((memory, mask[..., 1:], caches), "mask must"),
        ((memory, mask.double(), caches), "mask must"),
        ((memory[..., 1:], mask, None), "memory must"),
    ]:
        with pytest.raises(ValueError, match=message):
            model((None, x), bad)
    with pytest.raises(ValueError, match="source must have the 2 rows of the target, got 3"):
        model((torch.ones(3, 5, dtype=torch.long), x))
    one = causal()
    state = one(x)[1]
    for bad, message in [
        (state[:1], "2 entries"),
        (reorder(state, [0]), "must have shape"),
        ([*state], "got list"),
        (causal(heads=4)(x)[1], r"must have shape \(2, 2, M, 4\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            one(x, bad)
