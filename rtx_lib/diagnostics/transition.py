"""What a step of a recurrence makes of the state: the matrix A_t of h_t = A_t h_{t-1} + b_t, and its eigenvalues.

Nothing need be known of the layer but that it takes a state and gives one back. Its state, whatever tensors that is
made of, is taken as one list of n numbers; each is moved up and down, a little and twice that, and the step is made
for all 4 n of them as one batch. For a step that is linear in the state this is A_t itself, whatever the state; for
another, the Jacobian at the state that is given.
"""

from typing import Any

import torch
from torch import Tensor, nn

from rtx_lib.shapes import expect, map_tensors

# Of one number, up and down. With the double move taken off, what is left of a smooth step's curvature is of the order
# of its fourth power; rounding, which a small move would make worse, is 1e-12 of the largest number of the state.
_MOVE = 1e-4


@torch.no_grad()
def transition(mixer: nn.Module, x: Tensor, state: Any) -> Tensor:
    """A_t, how each number of the state after x depends on each number before it: (n, n).

    Row i belongs to number i after the step. Run it in float64, with the mixer in ``eval``.

    Parameters
    ----------
    mixer
        Maps x (B, T, D) and a state to (y, state).
    x
        (1, 1, D), the input of the step.
    state
        The state before it, as the mixer gives it back for one sequence: tensors, alone or in tuples, lists, dicts and
        dataclasses. Which axis is that of the sequences is found out.
    """
    expect(x, (1, 1, "D"))
    leaves = _leaves(state)
    if not leaves or not all(isinstance(leaf, Tensor) and leaf.is_floating_point() for leaf in leaves):
        raise ValueError(f"state must hold tensors of real floats and nothing else, got {state!r:.80}")
    axes = _batch_axes(mixer, x, leaves)
    flat = torch.cat([leaf.flatten() for leaf in leaves])
    n = len(flat)
    moves = _MOVE * torch.eye(n, dtype=flat.dtype, device=flat.device)
    moved = flat + torch.cat([moves, -moves, 2 * moves, -2 * moves])  # (4 n, n)
    pieces = moved.split([leaf.numel() for leaf in leaves], dim=1)
    found = zip(pieces, leaves, axes, strict=True)
    batch = (torch.cat([row.view(leaf.shape) for row in piece], dim=axis) for piece, leaf, axis in found)
    _, after = mixer(x.expand(4 * n, 1, -1).contiguous(), map_tensors(state, lambda _: next(batch)))
    ended = zip(_leaves(after), axes, strict=True)
    ends = torch.cat([leaf.movedim(axis, 0).reshape(4 * n, -1) for leaf, axis in ended], dim=1)
    up, down, far_up, far_down = ends.split(n)
    return ((8 * (up - down) - (far_up - far_down)) / (12 * _MOVE)).T


def _leaves(state: Any) -> list[Any]:
    """The tensors of a state, in their order."""
    leaves: list[Any] = []

    def keep(leaf: Tensor) -> Tensor:
        leaves.append(leaf)
        return leaf

    map_tensors(state, keep)
    return leaves


def _batch_axes(mixer: nn.Module, x: Tensor, leaves: list[Tensor]) -> list[int]:
    """Of each tensor of the state the axis of the sequences: the one that two sequences make twice as long."""
    _, two = mixer(x.expand(2, 1, -1).contiguous(), None)
    others = _leaves(two)
    axes = []
    for leaf, other in zip(leaves, others, strict=False):
        differ = [i for i, sides in enumerate(zip(leaf.shape, other.shape, strict=False)) if sides == (1, 2)]
        axes += differ[:1] if leaf.ndim == other.ndim and leaf.numel() * 2 == other.numel() else []
    if len(others) != len(leaves) or len(axes) != len(leaves):
        raise ValueError("state must be of the form and the shapes that the mixer gives back for one sequence")
    return axes


def eigenvalues(mixer: nn.Module, x: Tensor, state: Any) -> Tensor:
    """The eigenvalues of :func:`transition`, complex, (n,): what a step does to the directions that it only stretches.

    Arguments and errors are those of :func:`transition`.
    """
    matrix = transition(mixer, x, state)
    diagonal = matrix.diagonal()
    # A step that keeps its numbers apart has them on the diagonal, exactly; others are not that fortunate.
    apart = bool((matrix - torch.diag(diagonal)).abs().max() < 1e-9)
    return diagonal.to(torch.complex128) if apart else torch.linalg.eigvals(matrix).to(torch.complex128)
