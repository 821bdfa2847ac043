"""The recurrence of a ReLU IndRNN, h_t = relu(z_t + u h_{t-1}), by the fastest exact way at hand."""

from torch import Tensor

from .loop import loop_recurrence

BACKENDS = ("auto", "loop", "scan", "numba", "triton")


def relu_recurrence(z: Tensor, u: Tensor, h0: Tensor | None = None, *, backend: str = "auto") -> Tensor:
    """States of a ReLU IndRNN (Li et al. 2018, eq. 2): each neuron sees its own past only.

        h_t = relu(z_t + u h_{t-1}),  t = 1..T

    Parameters
    ----------
    z
        (B, T, N), the input of every step, already projected: z_t = W x_t + b.
    u
        (N,), one recurrent weight for each neuron.
    h0
        (B, N), the states before the first step; zeros if None.
    backend
        ``"loop"`` or ``"auto"``.

    Returns
    -------
    h
        (B, T, N), the states of all steps.
    """
    if backend not in BACKENDS:
        raise ValueError(f"backend must be one of {list(BACKENDS)}, got {backend!r}")
    if z.ndim != 3:
        raise ValueError(f"z must have shape (B, T, N), got {tuple(z.shape)}")
    if h0 is None:
        h0 = z.new_zeros(z.shape[0], z.shape[2])
    return loop_recurrence(z, u, h0)


def explain_backend(z: Tensor, u: Tensor | None = None, h0: Tensor | None = None) -> str:
    """One sentence: what ``backend="auto"`` takes for these tensors and why."""
    return "loop: the only one so far"
