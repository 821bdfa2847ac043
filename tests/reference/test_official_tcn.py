"""The temporal convolutional network's files, of other sizes, and with a mistake planted in them."""

import numpy as np
import pytest
from official import check
from reference.tcn_loops import MISTAKES, make_tcn

SIZES = [
    {},
    {"channels": (4,), "kernel": 2},
    {"inputs": 5, "kernel": 4},
    {"inputs": 4, "channels": (4, 6, 6, 2), "kernel": 2, "length": 20},
    {"inputs": 1, "channels": (1, 1), "kernel": 7, "length": 5},
    {"batch": 1, "length": 1},
    {"gradients": False, "batch": 4, "channels": (2, 3, 2, 3)},
    {"channels": (2,) * 11, "kernel": 2, "length": 3},
]


def make(tmp_path, **sizes):
    return make_tcn(tmp_path / "tcn_other.npz", **sizes)


@pytest.fixture(scope="module")
def body(tmp_path_factory):
    """A file made once."""
    return make(tmp_path_factory.mktemp("body"))


def alter(path, tmp_path, **changes):
    """A copy of the file with some arrays changed by functions of all arrays."""
    arrays = dict(np.load(path))
    np.savez(tmp_path / path.name, **arrays | {name: change(arrays) for name, change in changes.items()})
    return tmp_path / path.name


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_other_sizes(tmp_path, sizes):
    """All levels, and every gradient equals autograd's through loops over steps and taps."""
    path = make(tmp_path, seed=len(str(sizes)), **sizes)
    errors = check(path)
    names = {"out"} | {f"level{i}_out" for i in range(len(sizes.get("channels", (5, 5, 5))))}
    if sizes.get("gradients", True):
        parameters = {name.removeprefix("p/") for name in np.load(path).files if name.startswith("p/")}
        names |= {"gx"} | {f"g/{name}" for name in parameters}
    assert set(errors) == names
    assert max(errors.values()) < 1e-9


WRONG = [
    "out",
    "gx",
    "level0_out",
    "level1_out",
    "g/network.0.conv1.weight_g",
    "g/network.1.conv2.weight_v",
    "g/network.2.conv1.bias",
    "g/network.0.downsample.weight",
]


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_number_is_seen(body, tmp_path, name):
    errors = check(alter(body, tmp_path, **{name: lambda arrays: arrays[name] + 1e-3}))
    assert errors.pop(name) == pytest.approx(1e-3, rel=1e-6) and max(errors.values()) < 1e-9


@pytest.mark.parametrize("mistake", MISTAKES)
def test_another_model_is_seen(tmp_path, mistake):
    errors = check(make(tmp_path, mistake=mistake))
    assert errors["out"] > 1e-3 and errors["gx"] > 1e-3
    assert (errors["level0_out"] > 1e-3) == (mistake != "dilation i + 1")  # 1, 2, 3: the third level is the first


@pytest.mark.parametrize("name", ["surprise", "g/surprise", "level3_out", "g/network.1.downsample.bias", "gh0"])
def test_unknown_arrays_are_refused(body, tmp_path, name):
    with pytest.raises(ValueError, match=f"also holds .*{name}"):
        check(alter(body, tmp_path, **{name: lambda _: np.zeros(5)}))


@pytest.mark.parametrize("name", ["network.1.downsample.bias", "network.0.conv3.bias", "linear.bias"])
def test_unknown_parameters_are_refused(body, tmp_path, name):
    with pytest.raises(RuntimeError, match=name):
        check(alter(body, tmp_path, **{f"p/{name}": lambda _: np.zeros(5)}))


@pytest.mark.parametrize("name", ["out", "level1_out"])
def test_outcomes_of_another_shape_are_refused(body, tmp_path, name):
    """Not broadcast: here every row of the file's would be the right one."""
    path = alter(body, tmp_path, **{name: lambda arrays: arrays[name][None]})
    with pytest.raises(ValueError, match=rf"{name} of .* must have \(2, 5, 11\), got \(1, 2, 5, 11\)"):
        check(path)
