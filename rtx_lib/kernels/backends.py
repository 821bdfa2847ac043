"""What is at hand to compute a recurrence with: the packages, and the devices that they work on."""

import functools
import importlib

import torch
from torch import Tensor

from rtx_lib.shapes import expect_each

BACKENDS = ("auto", "loop", "scan", "numba", "triton")


@functools.cache
def problem(package: str) -> str | None:
    """Why the package cannot be used, or None if it can."""
    try:
        module = importlib.import_module(package)
        if package == "triton" and not hasattr(importlib.import_module("triton.language"), "tuple"):
            return f"version {module.__version__} is too old"
    except ImportError as error:
        return str(error)
    return None


def gpu_problem(device: torch.device) -> str | None:
    """Why Triton cannot be used on this GPU, or None if it can."""
    if problem("triton"):
        return "triton cannot be imported"
    if torch.cuda.get_device_capability(device) < (7, 0):
        return "the GPU is older than Triton supports"
    return None


def check_backend(backend: str, x: Tensor, name: str) -> None:
    """Raise unless the backend asked for by name is known, installed, and works on the device of x, called ``name``."""
    expect_each(backend=(backend, BACKENDS))
    if backend in ("numba", "triton") and (what := problem(backend)) is not None:
        raise ImportError(f"backend {backend!r} needs the package {backend} (pip install {backend}): {what}")
    if backend == "numba" and x.device.type != "cpu":
        raise ValueError(f"{name} must be on the CPU for backend 'numba', got {x.device}")
    if backend == "triton" and x.device.type != "cuda":
        from .triton_kernels import INTERPRETED

        if not INTERPRETED:
            where = "on a GPU for backend 'triton' (or TRITON_INTERPRET=1 set)"
            raise ValueError(f"{name} must be {where}, got {x.device}")
