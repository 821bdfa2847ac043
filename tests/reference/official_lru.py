"""The LRU among the reference values: one layer, by every backend at hand."""

from importlib.util import find_spec

from torch import Tensor

from rtx_lib.models.lru import LRU

from .leaves import furthest, parameters, with_gradients

Arrays = dict[str, Tensor]


def lru(arrays: Arrays) -> Arrays:
    """The file's names are the module's; of each outcome, the one of the backend that is furthest off."""
    backends = ["auto", "loop", "scan", *(["numba"] if find_spec("numba") else [])]
    return furthest([_lru(arrays, backend) for backend in backends], arrays)


def _lru(arrays: Arrays, backend: str) -> Arrays:
    given, x = parameters(arrays), arrays["x"].clone().requires_grad_()
    model = LRU.from_official(given, backend=backend)
    return with_gradients(arrays, {"out": model(x)[0]}, model, given, given, x=x)


# What 20,000 draws gave the original cannot be had from other draws: tests/lib/models/test_lru.py judges it.
FAMILIES = {"lru": lru}
INPUTS = {"lru": {"init_r_min", "init_r_max", "init_r2_mean", "init_phase_max", "init_phase_mean"}}
