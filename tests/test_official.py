"""Our modules give the numbers of the original implementations."""

import numpy as np
import pytest
import torch
from helpers import FIXTURES
from official import check
from torch import nn


def make_cell_rnn(path, time=4, batch=2, width=3, hidden=6, layers=3, seed=5):
    """A file of the family with other sizes, made by torch.nn.RNN."""
    torch.manual_seed(seed)
    rnn = nn.RNN(width, hidden, layers).double()
    x = torch.randn(time, batch, width, dtype=torch.double, requires_grad=True)
    h0 = torch.randn(layers, batch, hidden, dtype=torch.double, requires_grad=True)
    out, hn = rnn(x, h0)
    grad_out = torch.randn_like(out)
    (out * grad_out).sum().backward()
    arrays = {"x": x, "h0": h0, "out": out, "hn": hn, "grad_out": grad_out, "gx": x.grad, "gh0": h0.grad}
    for name, parameter in rnn.named_parameters():
        arrays |= {f"p/{name}": parameter, f"g/{name}": parameter.grad}
    np.savez(path, **{name: value.detach().numpy() for name, value in arrays.items()})


def test_committed_fixtures():
    files = sorted(FIXTURES.glob("*.npz"))
    assert files
    for path in files:
        errors = check(path)
        assert {"out", "hn", "gx", "gh0", "g/weight_hh_l1"} <= set(errors)
        assert max(errors.values()) < 1e-9, errors


def test_other_sizes(tmp_path):
    make_cell_rnn(tmp_path / "cell_rnn_big.npz")
    errors = check(tmp_path / "cell_rnn_big.npz")
    assert len(errors) == 4 + 12 and max(errors.values()) < 1e-9


@pytest.mark.parametrize("name", ["out", "hn", "gx", "gh0", "g/bias_ih_l0"])
def test_a_wrong_number_is_seen(tmp_path, name):
    path = tmp_path / "cell_rnn.npz"
    make_cell_rnn(path)
    arrays = dict(np.load(path))
    arrays[name].flat[0] += 1e-3
    np.savez(path, **arrays)
    errors = check(path)
    assert errors.pop(name) == pytest.approx(1e-3, rel=1e-6) and max(errors.values()) < 1e-9


def test_unknown_arrays_and_families_are_refused(tmp_path):
    path = tmp_path / "cell_rnn.npz"
    make_cell_rnn(path)
    np.savez(path, **dict(np.load(path)), surprise=np.zeros(1))
    with pytest.raises(ValueError, match="surprise"):
        check(path)
    with pytest.raises(ValueError, match="families"):
        check(tmp_path / "cell_unknown.npz")
