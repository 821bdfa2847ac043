"""The captioner equals its equations word by word, and is told what it says."""

import pytest
import torch
from reference.plain_loops import lstm_step
from support.compare import furthest, random_parameters
from support.helpers import drawn, relative_error

from rtx_lib.layers.decoding import beam_search, greedy
from rtx_lib.models.captioner import WAYS, Captioner

pytestmark = pytest.mark.usefixtures("double")
P, V, H = 12, 7, 5
ways = pytest.mark.parametrize("told", WAYS)


def make(told, seed=0):
    return random_parameters(drawn(seed, Captioner, P, V, told=told, width=4, hidden_size=H, channels=3))


def batch():
    generator = torch.Generator().manual_seed(1)
    return torch.rand(2, P, P, generator=generator), torch.randint(V, (2, 6), generator=generator)


def plain(model, picture, words):
    """The equations for one picture (P, P), word by word."""
    a = model.convolutions(picture[None, None])[0].permute(1, 2, 0).reshape(9, 3) + model.places
    cell = [getattr(model.lstm, f"{name}_l0") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
    h = c = torch.zeros(1, H)

    def read(x):
        return lstm_step(*cell, x[None], h, c)

    if model.told == "attention":
        h, c = torch.tanh(model.first.weight @ (a.sum(0) / 9) + model.first.bias)[None].split(H, dim=1)
    else:
        v = model.vector.weight @ torch.cat(list(a)) + model.vector.bias
    if model.told == "first":
        h, c = read(v)
    logits = []
    for word in words:
        x = model.embedding.weight[word]
        if model.told == "every":
            x = torch.cat([x, v])
        elif model.told == "attention":
            f = model.attention
            e = torch.stack([f.score.weight[0] @ torch.tanh(f.query.weight @ h[0] + f.key.weight @ cell) for cell in a])
            x = torch.cat([x, (e.exp() / e.exp().sum()) @ a])
        h, c = read(x)
        logits.append(model.readout.weight @ h[0] + model.readout.bias)
    return torch.stack(logits)


@ways
def test_equals_the_equations_word_by_word(told):
    model, (pictures, words) = make(told), batch()
    theirs = torch.stack([plain(model, *one) for one in zip(pictures, words, strict=True)])
    assert furthest(model((pictures, words))[0], theirs, model.parameters()) < 1e-12


@ways
def test_the_picture_is_told_and_then_not_looked_at_again(told):
    model, (pictures, words) = make(told), batch()
    whole, _ = model((pictures, words))
    assert relative_error(model((pictures.flip(0), words))[0], whole) > 1e-3
    assert (model.attention is None) == (told != "attention")
    logits, state = [], None
    for t in range(words.shape[1]):
        y, state = model((pictures if t == 0 else None, words[:, t : t + 1]), state)
        logits.append(y)
    assert relative_error(torch.cat(logits, 1), whole) < 1e-12
    how = {"start": 1, "end": 2, "max_length": 5}
    assert torch.equal(greedy(model, pictures, **how), beam_search(model, pictures, beams=1, **how)[0])
    with pytest.raises(ValueError, match="picture must have shape"):
        model((pictures[:, 1:], words))
