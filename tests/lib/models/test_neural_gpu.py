"""The Neural GPU: the hard gates, how fast a signal moves, and that padding is nothing.

That it computes what the authors' code computes is tested in tests/reference/test_official.py.
"""

import pytest
import torch
from support.compare import ids, random_parameters
from support.helpers import drawn, relative_error

from rtx_lib.models.neural_gpu import NeuralGPU, cut

pytestmark = pytest.mark.usefixtures("double")


def build(vocabulary=5, outputs=2, **options):
    return random_parameters(drawn(0, NeuralGPU, vocabulary, outputs, **{"width": 3, "channels": 4} | options))


def ragged(batch=3, length=7, vocabulary=5):
    """Ids whose rows have all, all but one, ... symbols, and then padding."""
    x = ids(batch, length, vocabulary=vocabulary, first=1)
    return x * (torch.arange(length) < length - torch.arange(batch)[:, None])


def test_the_gates_are_hard():
    """Open or shut from the inverse of where the line leaves 0 and 1; in between they are a stretched sigmoid."""
    a = torch.tensor([-50.0, -2.4, 0, 2.3, 2.4, 50])
    assert cut(a).tolist()[:2] == [0, 0] and cut(a).tolist()[4:] == [1, 1]
    assert cut(a)[2] == 0.5 and cut(a)[3] < 1
    assert torch.equal(cut(a, 1.0), torch.sigmoid(a))


def test_the_images():
    """One before the first step and one after each; the symbols are in the first column, and y is read there."""
    model, x = build(), ragged(2, 6)
    images = model.images(x)
    assert images.shape == (7, 2, 6, 3, 4)
    assert not images[0, :, :, 1:].any() and not images[:, 1, 5:].any()
    first = model.input(torch.tanh(model.embedding(x)))
    assert torch.equal(images[0, 0, :, 0], first[0])
    for row, symbols in enumerate((6, 5)):
        assert relative_error(model(x)[0][row], model.readout(images[symbols, row, :, 0])) < 1e-12


def test_padding_is_nothing():
    """However much there is of it, whatever else is in the batch."""
    model, x = build(), ragged()
    y, _ = model(x)
    for row, symbols in enumerate((7, 6, 5)):
        alone, _ = model(x[row : row + 1, :symbols])
        assert relative_error(y[row, :symbols], alone[0]) < 1e-12
    assert torch.equal(model(torch.zeros(1, 3, dtype=torch.int64))[0], model.readout.bias.expand(1, 3, 2))


def test_where_dropout_acts(monkeypatch):
    """Before each step, with a share that falls with the number of steps from 8 on."""
    asked = []
    monkeypatch.setattr("torch.nn.functional.dropout", lambda image, p, training: asked.append((p, training)) or image)
    model = build(dropout=0.2)
    for length, training in ((4, True), (8, False), (32, True)):
        model.train(training)(ids(1, length, vocabulary=5, first=1))
    assert asked == [(0.2, True)] * 4 + [(0.2, False)] * 8 + [(0.05, True)] * 32
