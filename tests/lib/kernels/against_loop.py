"""How the tests compare a backend of the recurrence with the loop."""

import torch
from torch import Tensor

from rtx_lib.kernels import relu_recurrence

NAMES = ("h", "dz", "du", "dh0")


def random(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def results(backend: str, z: Tensor, u: Tensor, h0: Tensor | None, g: Tensor) -> dict[str, Tensor]:
    """The states and the gradients of sum(g * h)."""
    tensors = [x.detach().clone().requires_grad_() for x in (z, u, h0) if x is not None]
    h = relu_recurrence(*tensors, backend=backend)
    return dict(zip(NAMES, (h.detach(), *torch.autograd.grad(h, tensors, g)), strict=False))


def error(a: Tensor, b: Tensor) -> float:
    """max|a - b| / max|b| over the finite values; infinite if NaN and infinities are not in the same places."""
    a, b = a.detach(), b.detach()
    finite = b.isfinite()
    if not torch.equal(a.nan_to_num(0, 1, -1)[~finite], b.nan_to_num(0, 1, -1)[~finite]):
        return float("inf")
    if not torch.equal(a.isnan(), b.isnan()) or not torch.equal(a.isfinite(), finite):
        return float("inf")
    scale = b[finite].abs().max() if finite.any() else torch.zeros(())
    difference = (a - b)[finite].abs().max() if finite.any() else torch.zeros(())
    return float(difference / scale) if scale > 0 else float(difference)


def errors(backend: str, z: Tensor, u: Tensor, h0: Tensor | None = None, g: Tensor | None = None) -> dict[str, float]:
    """The errors of a backend against the loop, the largest over the whole arrays and over each neuron alone.

    A neuron whose states are huge hides the others in an error over the whole array. A single neuron, in turn, may
    owe its gradient to what is left of a cancellation: then the error of the whole array is the fair one.
    """
    g = random(*z.shape, seed=99, dtype=z.dtype) if g is None else g
    ours, loop = results(backend, z, u, h0, g), results("loop", z, u, h0, g)
    found = {name: error(ours[name], loop[name]) for name in loop}
    found["neuron"] = max(error(ours[name][..., n], loop[name][..., n]) for name in ("h", "dz") for n in range(len(u)))
    return found


def holds(found: dict[str, float], outputs: float = 1e-12, gradients: float = 1e-10) -> bool:
    """Whether all errors are within the tolerances."""
    return found["h"] <= outputs and all(error <= gradients for name, error in found.items() if name != "h")
