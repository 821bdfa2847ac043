"""R-Transformer's files, of other sizes, and with a mistake planted in them."""

import numpy as np
import pytest
from official import check
from reference.r_transformer_loops import MISTAKES, make_r_transformer

CELLS = ("rnn", "gru", "lstm")
SIZES = [
    {},
    {"local_layers": 2, "blocks": 1, "heads": 4},
    {"blocks": 3, "width": 12, "heads": 3, "inner": 5},
    {"window": 1},
    {"window": 7, "length": 9, "blocks": 1},
    {"window": 9, "length": 4},
    {"batch": 1, "length": 1, "window": 5},
    {"length": 1, "window": 1, "width": 2, "heads": 1, "inner": 1},
    {"blocks": 11, "width": 2, "heads": 1, "length": 2, "window": 2},
    {"gradients": False, "batch": 5, "heads": 8},
    {"image": (1, 5), "local_layers": 2},
    {"image": (3, 1), "blocks": 1, "length": 1, "batch": 1, "gradients": False},
]


def make(tmp_path, cell="gru", **sizes):
    return make_r_transformer(tmp_path / f"rtransformer_{cell}.npz", cell=cell, **sizes)


@pytest.fixture(scope="module")
def body(tmp_path_factory):
    """A file of the body, made once."""
    return make(tmp_path_factory.mktemp("body"), local_layers=2)


@pytest.fixture(scope="module")
def wrapper(tmp_path_factory):
    """A file of the wrapper for images."""
    return make(tmp_path_factory.mktemp("wrapper"), image=(2, 4), length=4)


def alter(path, tmp_path, **changes):
    """A copy of the file with some arrays changed by functions of all arrays."""
    arrays = dict(np.load(path))
    np.savez(tmp_path / path.name, **arrays | {name: change(arrays) for name, change in changes.items()})
    return tmp_path / path.name


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_other_sizes(tmp_path, cell, sizes):
    """All outcomes, what is inside, and every gradient equals autograd's through loops over windows and positions."""
    path = make(tmp_path, cell, seed=len(str(sizes)), **sizes)
    errors = check(path)
    blocks, local_layers = sizes.get("blocks", 2), sizes.get("local_layers", 1)
    names = {f"block{b}_{part}" for b in range(blocks) for part in ("attn", "ffn", "out")}
    names |= {
        f"block{b}_local{i}_{part}" for b in range(blocks) for i in range(local_layers) for part in ("rnn", "out")
    }
    names.add("logp" if "image" in sizes else "out")
    if sizes.get("gradients", True):
        names |= {"gx", *(name for name in np.load(path).files if name.startswith("g/"))}
        assert len(names) > 20 * blocks
    assert set(errors) == names
    assert max(errors.values()) < 1e-9


def test_the_cell_is_that_of_the_weights(tmp_path):
    """Whatever the file is called."""
    path = make_r_transformer(tmp_path / "rtransformer_other.npz", cell="lstm")
    assert max(check(path).values()) < 1e-9


WRONG = [
    "out",
    "gx",
    "block0_local0_rnn",
    "block1_local1_rnn",
    "block0_local0_out",
    "block0_local1_out",
    "block1_attn",
    "block0_ffn",
    "block0_out",
    "g/forward_net.0.layers.1.local_rnn.rnn.weight_hh_l0",
    "g/forward_net.1.layers.0.connection.norm.a_2",
    "g/forward_net.0.pooling.linears.1.weight",
    "g/forward_net.1.pooling.linears.2.bias",
    "g/forward_net.0.connections.1.norm.b_2",
    "g/forward_net.1.feed_forward.w_1.weight",
]


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_number_is_seen(body, tmp_path, name):
    path = alter(body, tmp_path, **{name: lambda arrays: arrays[name] + 1e-3})
    errors = check(path)
    assert errors.pop(name) == pytest.approx(1e-3, rel=1e-6) and max(errors.values()) < 1e-9


@pytest.mark.parametrize(
    "name", ["logp", "gx", "g/encoder.weight", "g/linear.bias", "g/rt.forward_net.0.pooling.linears.0.bias"]
)
def test_a_wrong_number_of_the_wrapper_is_seen(wrapper, tmp_path, name):
    path = alter(wrapper, tmp_path, **{name: lambda arrays: arrays[name] + 1e-3})
    errors = check(path)
    assert errors.pop(name) == pytest.approx(1e-3, rel=1e-6) and max(errors.values()) < 1e-9


@pytest.mark.parametrize("cell, mistake", [(c, m) for c in CELLS for m in MISTAKES if c != "rnn" or "swapped" not in m])
def test_another_model_is_seen(tmp_path, cell, mistake):
    """In the outcome that it touches first, in the output, and in the gradients; what comes before is right."""
    path = make(tmp_path, cell, mistake=mistake, window=4, length=5, blocks=1)
    errors = check(path)
    order = [name for name in np.load(path).files if name.startswith("block") or name == "out"]
    first = order.index(MISTAKES[mistake])
    assert all(errors[name] < 1e-9 for name in order[:first])
    assert errors[order[first]] > 1e-3 and errors["out"] > 1e-3 and errors["gx"] > 1e-3


@pytest.mark.parametrize("name, value", [("ksize", 4), ("ksize", 2), ("n_head", 1), ("n_head", 4)])
def test_other_settings_are_seen(body, tmp_path, name, value):
    assert check(alter(body, tmp_path, **{name: lambda _: np.array(value)}))["out"] > 1e-3


UNKNOWN = [
    "surprise",
    "g/surprise",
    "gh0",
    "block0_local2_rnn",
    "block2_out",
    "logp",
    "g/norm.a_2",
    "g/forward_net.0.layers.0.local_rnn.output.0.bias",
]


@pytest.mark.parametrize("name", UNKNOWN)
def test_unknown_arrays_are_refused(body, tmp_path, name):
    path = alter(body, tmp_path, **{name: lambda _: np.zeros(8)})
    with pytest.raises(ValueError, match=f"also holds .*{name}"):
        check(path)


def unused(path, at):
    """One dead parameter of each kind."""
    names = ("norm.a_2", "feed_forward.w_1.weight", "forward_net.1.layers.0.local_rnn.output.0.weight")
    assert {f"{at}{name}" for name in names} <= set(np.load(path).files)
    return [f"{at}{name}" for name in names]


def test_dead_parameters_are_ignored(body, wrapper, tmp_path):
    """Whether the file calls them dead or lists them among the others."""
    for path, at in ((body, "dead/"), (wrapper, "p/rt.")):
        changes = {name: lambda arrays, name=name: arrays[name] + 1 for name in unused(path, at)}
        assert max(check(alter(path, tmp_path, **changes)).values()) < 1e-9
    names = {f"p/{name.removeprefix('dead/')}": lambda _: np.ones(8) for name in unused(body, "dead/")}
    assert max(check(alter(body, tmp_path, **names)).values()) < 1e-9


LIVE = "forward_net.0.feed_forward.w_1.weight"


@pytest.mark.parametrize("name", [LIVE, "forward_net.0.connections.0.norm.a_2", "surprise"])
def test_a_parameter_that_is_used_is_not_dead(body, tmp_path, name):
    path = alter(body, tmp_path, **{f"dead/{name}": lambda _: np.zeros(8)})
    with pytest.raises(ValueError, match=rf"dead only what .* never uses, got dead/{name}"):
        check(path)


@pytest.mark.parametrize(
    "name", ["forward_net.0.connections.2.norm.a_2", "forward_net.0.layers.0.output.0.bias", "bias"]
)
def test_unknown_parameters_are_refused(body, tmp_path, name):
    path = alter(body, tmp_path, **{f"p/{name}": lambda _: np.zeros(8)})
    with pytest.raises(RuntimeError, match="Unexpected key"):
        check(path)


def test_missing_parameters_are_refused(body, tmp_path):
    arrays = dict(np.load(body))
    del arrays["p/forward_net.1.connections.0.norm.b_2"]
    np.savez(tmp_path / body.name, **arrays)
    with pytest.raises(RuntimeError, match=r"Missing key.*blocks\.1\.block\.norms\.0\.bias"):
        check(tmp_path / body.name)


@pytest.mark.parametrize("name", ["out", "gx", "block1_attn"])
def test_outcomes_of_another_shape_are_refused(body, tmp_path, name):
    """Not broadcast: here every row of the file's would be the right one."""
    path = alter(body, tmp_path, **{name: lambda arrays: arrays[name][None]})
    with pytest.raises(ValueError, match=rf"{name} of .* must have \(2, 6, 8\), got \(1, 2, 6, 8\)"):
        check(path)
