"""Our modules give the numbers of the original implementations."""

import numpy as np
import official
import pytest
import torch
from helpers import FIXTURES
from indrnn_loops import dense, make_net, make_recurrent, plain, residual
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
        assert len(errors) >= 5 and {"out", "train_out"} & set(errors)
        assert all(error < 1e-9 for error in errors.values()), errors


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


DENSE = {"growth_rate": 2, "block_config": (1, 3, 2), "num_init_features": 5}
NETS = {
    "indrnn_plain_bn_after_deep": (plain, {"hidden": 5, "num_layers": 3}),
    "indrnn_plain_bn_before_wide": (plain, {"hidden": 9, "num_layers": 1}),
    "indrnn_plain_bn_before": (plain, {"hidden": 4, "num_layers": 4}),
    "indrnn_residual": (residual, {"hidden": 5, "num_blocks": 3}),
    "indrnn_residual_small": (residual, {"hidden": 3, "num_blocks": 1}),
    "indrnn_dense": (dense, DENSE),
    "indrnn_dense_one_block": (dense, {"growth_rate": 3, "block_config": (2,), "num_init_features": 1}),
}


@pytest.fixture
def net_file(tmp_path):
    """A file of one of the nets, with gradients and other sizes than the committed ones."""

    def write(name, **options):
        kind, sizes = NETS[name]
        make_net(tmp_path / f"{name}.npz", kind, "before" if "before" in name else "after", **options, **sizes)
        return tmp_path / f"{name}.npz"

    return write


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("options", [{}, {"cuda": True, "seed": 1, "time": 1, "batch": 2, "classes": 1}])
def test_independent_nets_of_other_sizes(net_file, name, options):
    """Outputs, gradients and statistics equal autograd through plain loops."""
    path = net_file(name, **options)
    errors = check(path)
    outcomes = {n for n in np.load(path).files if n.startswith(("g/", "b1/", "gx", "train", "eval"))}
    assert set(errors) == outcomes and len(outcomes) > 10
    assert all(error < 1e-9 for error in errors.values()), errors


def test_independent_nets_without_gradients(net_file):
    errors = check(net_file("indrnn_dense", fresh=True, gradients=False))
    assert {name.partition("/")[0] for name in errors} == {"train_out", "eval_out", "b1"}
    assert all(error < 1e-9 for error in errors.values()), errors


@pytest.mark.parametrize("sizes", [{}, {"time": 1, "batch": 1, "size": 1}, {"time": 300, "seed": 2}])
def test_recurrences_of_other_sizes(tmp_path, sizes):
    make_recurrent(tmp_path / "indrnn_recurrent_other.npz", **sizes)
    errors = check(tmp_path / "indrnn_recurrent_other.npz")
    assert set(errors) == {"out", "out_h0none", "gx", "gu", "gh0"}
    assert all(error < 1e-9 for error in errors.values()), errors


@pytest.mark.parametrize(
    "name", ["train_out", "eval_out", "gx", "g/features.resblock2.fc1.fc.bias",
             "g/features.IndRNNwithBN_last.indrnn1.indrnn_cell.weight_hh",
             "b1/features.resblock1.IndRNNwithBN2.norm1.bn.running_var",
             "b1/features.resblock3.IndRNNwithBN1.norm1.bn.num_batches_tracked"],
)  # fmt: skip
def test_a_wrong_number_of_a_net_is_seen(net_file, name):
    path = net_file("indrnn_residual")
    arrays = dict(np.load(path))
    arrays[name] = arrays[name] + 1
    np.savez(path, **arrays)
    errors = check(path)
    assert errors.pop(name) == pytest.approx(1, abs=1e-9) and max(errors.values()) < 1e-9


@pytest.mark.parametrize("backend", ["auto", "loop", "scan"])
def test_a_backend_that_is_wrong_is_seen(tmp_path, monkeypatch, backend):
    """The worst of the backends is reported, and NaN is worse than any number."""
    make_recurrent(tmp_path / "indrnn_recurrent.npz")
    right = official.relu_recurrence

    def wrong(z, u, h0=None, *, backend):
        h = right(z, u, h0, backend=backend)
        return h * float("nan") if backend == asked and h0 is None else h + (backend == asked)

    asked = backend
    monkeypatch.setattr(official, "relu_recurrence", wrong)
    errors = check(tmp_path / "indrnn_recurrent.npz")
    assert errors["out"] == pytest.approx(1) and np.isnan(errors["out_h0none"]) and errors["gx"] < 1e-9


@pytest.mark.parametrize("name", ["surprise", "b1/RNNs.7.norm1.bn.running_var", "g/RNNs.0", "b1/h", "gh0"])
def test_unknown_arrays_of_a_net_are_refused(net_file, name):
    path = net_file("indrnn_plain_bn_after_deep")
    np.savez(path, **dict(np.load(path)), **{name: np.zeros(1)})
    with pytest.raises(ValueError, match=f"also holds .*{name}"):
        check(path)
