"""Our modules give the numbers of the original implementations."""

import numpy as np
import official
import pytest
import torch
from official import check
from reference.indrnn_loops import dense, make_net, make_recurrent, plain, residual
from reference.plain_loops import gru_step, lstm_step, rnn_step, run
from support.helpers import FIXTURES, relative_error
from torch import nn

# What the files say whose outcomes are few.
FEW_OUTCOMES = {
    "txl_relshift": {"y"},
    "transformer_annotated": {"memory", "decoded", "logp", "pe"},
    "transformer_torch_post": {"out", "gx"},
    "transformer_torch_pre": {"out", "gx"},
    "rtransformer_image": {"logp"},
}
CELLS = {"cell_rnn": nn.RNN, "cell_lstm": nn.LSTM, "cell_gru": nn.GRU}


def make_cell(path, time=4, batch=2, width=3, hidden=6, layers=3, both_ways=False, seed=5):
    """A file of the family that its name says, made by torch.nn."""
    torch.manual_seed(seed)
    family = next(name for name in CELLS if path.stem.startswith(name))
    model = CELLS[family](width, hidden, layers, bidirectional=both_ways).double()
    x = torch.randn(time, batch, width, dtype=torch.double, requires_grad=True)
    start = {
        f"{part}0": torch.randn(layers * (1 + both_ways), batch, hidden, dtype=torch.double, requires_grad=True)
        for part in ("hc" if family == "cell_lstm" else "h")
    }
    out, last = model(x, tuple(start.values()) if len(start) == 2 else start["h0"])
    arrays = {
        "x": x,
        "out": out,
        **start,
        **dict(zip(("hn", "cn"), last if len(start) == 2 else (last,), strict=False)),
    }
    arrays["grad_out"] = torch.randn_like(out)
    (out * arrays["grad_out"]).sum().backward()
    arrays |= {"gx": x.grad, **{f"g{name}": value.grad for name, value in start.items()}}
    for name, parameter in model.named_parameters():
        arrays |= {f"p/{name}": parameter, f"g/{name}": parameter.grad}
    np.savez(path, **{name: value.detach().numpy() for name, value in arrays.items()})
    return path


def test_committed_fixtures():
    """All but the one with a fault of the authors' code, for which test_official_txl is."""
    files = sorted(set(FIXTURES.glob("*.npz")) - {FIXTURES / "txl_extlen_officialquirk.npz"})
    assert files
    for path in files:
        errors = check(path)
        few = FEW_OUTCOMES.get(path.stem)
        assert set(errors) == few if few else len(errors) >= 5 and {"out", "train_out", "seg0/nll"} & set(errors)
        assert all(error < 1e-9 for error in errors.values()), errors


@pytest.mark.parametrize("family", CELLS)
@pytest.mark.parametrize(
    "sizes",
    [{}, {"layers": 1}, {"time": 1}, {"batch": 1}, {"hidden": 1, "layers": 2}, {"width": 1, "both_ways": True}],
    ids=str,
)
def test_cells_of_other_sizes(tmp_path, family, sizes):
    errors = check(make_cell(tmp_path / f"{family}_other.npz", **sizes))
    rows = sizes.get("layers", 3) * (1 + sizes.get("both_ways", False))
    assert len(errors) == 4 * rows + (6 if family == "cell_lstm" else 4)
    assert max(errors.values()) < 1e-9


@pytest.mark.parametrize(
    "family, name",
    [(family, name) for family in CELLS for name in ("out", "hn", "gx", "gh0", "g/bias_ih_l0", "g/weight_hh_l2")]
    + [("cell_lstm", "cn"), ("cell_lstm", "gc0")],
)
def test_a_wrong_number_is_seen(tmp_path, family, name):
    path = make_cell(tmp_path / f"{family}.npz")
    arrays = dict(np.load(path))
    arrays[name].flat[0] += 1e-3
    np.savez(path, **arrays)
    errors = check(path)
    assert errors.pop(name) == pytest.approx(1e-3, rel=1e-6) and max(errors.values()) < 1e-9


def swap(arrays, first, second, names):
    """Swap two of the blocks of six rows."""
    for name in names:
        part = arrays[name].reshape(-1, 6, *arrays[name].shape[1:])
        part[[first, second]] = part[[second, first]]


MISTAKES = {
    "cell_rnn": {"a sign": lambda a: np.negative(a["p/bias_hh_l1"], out=a["p/bias_hh_l1"])},
    "cell_lstm": {
        "i and f swapped": lambda a: swap(a, 0, 1, [n for n in a if n.startswith("p/")]),
        "g and o swapped": lambda a: swap(a, 2, 3, [n for n in a if n.startswith("p/")]),
        "h0 and c0 swapped": lambda a: a.update(h0=a["c0"], c0=a["h0"]),
        "a bias left out": lambda a: a["p/bias_hh_l2"].fill(0),
    },
    "cell_gru": {
        "r and z swapped": lambda a: swap(a, 0, 1, [n for n in a if n.startswith("p/")]),
        "z means the other thing": lambda a: [np.negative(a[n][6:12], out=a[n][6:12]) for n in a if n[:2] == "p/"],
        "b_hn outside the reset": lambda a: (
            np.add(a["p/bias_ih_l0"][12:], a["p/bias_hh_l0"][12:], out=a["p/bias_ih_l0"][12:]),
            a["p/bias_hh_l0"][12:].fill(0),
        ),
    },
}


@pytest.mark.parametrize("family, mistake", [(family, name) for family in MISTAKES for name in MISTAKES[family]])
def test_weights_of_another_cell_are_seen(tmp_path, family, mistake):
    """The mistakes that an implementation makes, made in the file instead: no gradient stays right."""
    path = make_cell(tmp_path / f"{family}.npz")
    arrays = dict(np.load(path))
    MISTAKES[family][mistake](arrays)
    np.savez(path, **arrays)
    errors = check(path)
    assert all(error > 1e-4 for name, error in errors.items() if name in ("out", "gx", "gh0", "g/weight_ih_l0"))


@pytest.mark.parametrize("family", CELLS)
def test_a_cell_without_gradients_or_first_state(tmp_path, family):
    """Only what stands in the file is reported; ``h`` is every state."""
    path = make_cell(tmp_path / f"{family}.npz")
    arrays = {name: value for name, value in np.load(path).items() if not name.startswith("g")}
    np.savez(path, **arrays, h=arrays["out"])
    errors = check(path)
    assert set(errors) == {"out", "h", "hn"} | ({"cn"} if family == "cell_lstm" else set())
    assert max(errors.values()) < 1e-9
    np.savez(path, **{name: value for name, value in arrays.items() if name not in ("h0", "c0")})
    assert min(check(path).values()) > 1e-4


@pytest.mark.parametrize("family", CELLS)
def test_gradients_of_the_cells_equal_autograd_through_a_plain_loop(tmp_path, family):
    """Of the whole output, as in the files, and in the files' time-major layout."""
    path = make_cell(tmp_path / f"{family}.npz", layers=2, both_ways=True)
    arrays = {name: torch.from_numpy(value) for name, value in np.load(path).items()}
    parameters = {n.removeprefix("p/"): v.requires_grad_() for n, v in arrays.items() if n.startswith("p/")}
    start = [arrays[name].requires_grad_() for name in ("h0", "c0") if name in arrays]
    x = arrays["x"].transpose(0, 1).requires_grad_()
    step = {"cell_rnn": rnn_step, "cell_lstm": lstm_step, "cell_gru": gru_step("after", "keeps")}[family]
    y, *last = run(step, parameters, x, *start)
    loss = (y * arrays["grad_out"].transpose(0, 1)).sum()
    gx, *gradients = torch.autograd.grad(loss, [x, *start, *parameters.values()])
    reference = {"out": y.transpose(0, 1), **dict(zip(("hn", "cn"), last, strict=False)), "gx": gx.transpose(0, 1)}
    names = [f"g{name}" for name in ("h0", "c0") if name in arrays] + [f"g/{name}" for name in parameters]
    reference |= dict(zip(names, gradients, strict=True))
    ours = official.FAMILIES[family]({name: value.detach() for name, value in arrays.items()})
    assert set(ours) - {"h"} == set(reference)
    assert max(relative_error(ours[name], value) for name, value in reference.items()) < 1e-12


def test_unknown_arrays_and_families_are_refused(tmp_path):
    path = make_cell(tmp_path / "cell_rnn.npz")
    np.savez(path, **dict(np.load(path)), surprise=np.zeros(1))
    with pytest.raises(ValueError, match="surprise"):
        check(path)
    path = make_cell(tmp_path / "cell_gru.npz")
    np.savez(path, **dict(np.load(path)), cn=np.zeros(1))
    with pytest.raises(ValueError, match="cn"):
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


def test_a_recurrence_without_gradients_or_first_state(tmp_path):
    """Only what stands in the file is reported; ``h`` is every state."""
    path = tmp_path / "indrnn_recurrent.npz"
    make_recurrent(path)
    given = dict(np.load(path))
    arrays = {name: given[name] for name in ("x", "u", "h0", "out")} | {"h": given["out"]}
    np.savez(path, **arrays)
    errors = check(path)
    assert set(errors) == {"out", "h"} and max(errors.values()) < 1e-9
    np.savez(path, x=given["x"], u=given["u"], out=given["out_h0none"])
    assert check(path)["out"] < 1e-9


@pytest.mark.parametrize(
    "name",
    [
        "train_out",
        "eval_out",
        "gx",
        "g/features.resblock2.fc1.fc.bias",
        "g/features.IndRNNwithBN_last.indrnn1.indrnn_cell.weight_hh",
        "b1/features.resblock1.IndRNNwithBN2.norm1.bn.running_var",
        "b1/features.resblock3.IndRNNwithBN1.norm1.bn.num_batches_tracked",
    ],
)
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
