"""What a Transformer refuses, and how it says so."""

import pytest
import torch
from support.compare import ids
from support.small_transformers import causal, sentences, translator

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
        (lambda: CausalTransformer(6, 5, vocabulary=6, tied=True, **SMALL), "tied must be False unless .* 5"),
        (lambda: CausalTransformer(6, 6, tied=True, **SMALL), "tied must be False unless"),
        (lambda: Encoder(6, None, vocabulary=6, tied=True, **SMALL), "tied must be False unless"),
        (lambda: CausalTransformer(6, 5, positions="gps", **SMALL), "positions must be one of .*'gps'"),
        (lambda: Decoder(0, **SMALL), "vocabulary must be at least 1, got 0"),
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
