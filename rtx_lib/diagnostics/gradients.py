"""How far a gradient reaches: its norm at every step, the Jacobians between steps, and their spectra.

All functions take the per-step states that :func:`record_states` collects, so they work for any layer that
hands them through a submodule such as ``tap``.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from rtx_lib.diagnostics.hooks import hooked, taps

States = tuple[Tensor, ...]


@contextmanager
def record_states(model: nn.Module, name: str = "tap") -> Iterator[list[States]]:
    """Collect the tensors of every step that pass through every submodule of one name.

    Yields a list that grows by one tuple of T tensors for each layer and direction of each forward pass made
    inside the ``with`` block, in the order in which the steps were made. The tensors are nodes of the graph:
    a loss can be differentiated with respect to them. The hooks go away with the block, and the model keeps
    nothing.

    Parameters
    ----------
    model
        Any module.
    name
        ``"tap"``: the states h_t, (B, H). An LSTM has ``"cell_tap"``, the cell states c_t, (B, H), too; an
        LSTM and a GRU have ``"gate_tap"``, the gate values side by side, (B, 4H) in the order i, f, g, o or
        (B, 3H) in the order r, z, n; these are there to be read, the loss does not go through them.
    """
    recorded: list[States] = []
    found = taps(model, name).values()
    with hooked((tap, lambda module, args, states: recorded.append(states)) for tap in found):
        yield recorded


def state_gradients(loss: Tensor, states: Sequence[Tensor]) -> Tensor:
    """The total derivative dL/dh_t at every step, through all later steps: (T, B, H).

    The graph is kept, so that the loss can still be sent backward. A state that the loss does not depend on
    has gradient zero.
    """
    gradients = torch.autograd.grad(loss, list(states), retain_graph=True, allow_unused=True)
    return torch.stack([torch.zeros_like(h) if g is None else g for h, g in zip(states, gradients, strict=True)])


def gradient_norms(loss: Tensor, states: Sequence[Tensor]) -> Tensor:
    """||dL/dh_t|| for t = 1..T: the Euclidean norm over H of each sequence's gradient, averaged over the batch.

    The gradient is that of the loss as given; with a mean over B sequences each one's share is 1/B of its
    own, so the norms are multiplied by B to speak of one sequence. Shape (T,).
    """
    return state_gradients(loss, states).norm(dim=-1).sum(dim=-1)


def step_jacobians(states: Sequence[Tensor], weight_hh: Tensor) -> Tensor:
    """The Jacobians dh_{t+1}/dh_t = diag(1 - h_{t+1}^2) W_hh of a tanh RNN, for t = 1..T-1.

    The slope is taken at the pre-activation of the *later* step, and written in terms of its state (Pascanu, Mikolov
    and Bengio 2013, eq. 5).

    Parameters
    ----------
    states
        T tensors (B, H).
    weight_hh
        (H, H).

    Returns
    -------
    (T-1, B, H, H); entry [t-1, b] is dh_{t+1}/dh_t of sequence b, rows are components of h_{t+1}.
    """
    h = torch.stack(list(states[1:])).detach()  # (T-1, B, H)
    return (1 - h**2).unsqueeze(-1) * weight_hh.detach()


def jacobian_products(jacobians: Tensor) -> Tensor:
    """dh_T/dh_t for t = 1..T from the T-1 step Jacobians: the products J_{T-1} ... J_t.

    Parameters
    ----------
    jacobians
        (T-1, ..., H, H) as :func:`step_jacobians` returns them.

    Returns
    -------
    (T, ..., H, H); the last entry is the identity.
    """
    product = torch.eye(jacobians.shape[-1], dtype=jacobians.dtype, device=jacobians.device)
    products = [product.expand(jacobians.shape[1:])]
    for jacobian in jacobians.flip(0):
        products.append(products[-1] @ jacobian)
    return torch.stack(products[::-1])


def jacobian_bounds(jacobians: Tensor) -> Tensor:
    """The product of the largest singular values of J_t..J_{T-1}: an upper bound on ||dh_T/dh_t||_2.

    Returns (T, ...), the last entry 1.
    """
    largest = torch.linalg.matrix_norm(jacobians, ord=2)  # (T-1, ...)
    bounds = largest.flip(0).cumprod(0).flip(0)
    return torch.cat([bounds, torch.ones_like(bounds[:1])])


def spectrum(matrix: Tensor) -> Tensor:
    """The eigenvalues of a square matrix, complex, the largest modulus first: (H,)."""
    eigenvalues = torch.linalg.eigvals(matrix.detach())
    return eigenvalues[eigenvalues.abs().argsort(descending=True)]


def singular_values(matrix: Tensor) -> Tensor:
    """The singular values of a matrix, the largest first: (H,)."""
    return torch.linalg.svdvals(matrix.detach())
