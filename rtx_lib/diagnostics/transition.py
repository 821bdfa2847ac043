"""What a step of a recurrence makes of the state: the matrix A_t of h_t = A_t h_{t-1} + b_t, and its eigenvalues.

Nothing need be known of the layer but that it takes a state and gives one back. Its state, whatever tensors that is
made of, is taken as one list of n numbers, and autograd says how each of them after the step depends on each before.
For a step that is linear in the state this is A_t itself, whatever the state; for another, the Jacobian at the state
that is given. What a layer's gradient takes as given, the m of an xLSTM, has zeros here.
"""

from typing import Any

import torch
from torch import Tensor, nn

from rtx_lib.shapes import expect, map_tensors


def transition(mixer: nn.Module, x: Tensor, state: Any) -> Tensor:
    """A_t, how each number of the state after x depends on each number before it: (n, n).

    Row i belongs to number i after the step. Run it with the mixer in ``eval``.

    Parameters
    ----------
    mixer
        Maps x (B, T, D) and a state to (y, state).
    x
        (1, 1, D), the input of the step.
    state
        The state before it, as the mixer gives it back for one sequence: tensors, alone or in tuples, lists, dicts and
        dataclasses.
    """
    expect(x, (1, 1, "D"))
    leaves = _leaves(state)
    if not leaves or not all(isinstance(leaf, Tensor) and leaf.is_floating_point() for leaf in leaves):
        raise ValueError(f"state must hold tensors of real floats and nothing else, got {state!r:.80}")

    def step(*before: Tensor) -> Tensor:
        numbers = iter(before)
        _, after = mixer(x, map_tensors(state, lambda _: next(numbers)))
        return torch.cat([leaf.flatten() for leaf in _leaves(after)])

    jacobians = torch.autograd.functional.jacobian(step, tuple(leaves))
    return torch.cat([after.flatten(1) for after in jacobians], dim=1)


def _leaves(state: Any) -> list[Any]:
    """The tensors of a state, in their order."""
    leaves: list[Any] = []

    def keep(leaf: Tensor) -> Tensor:
        leaves.append(leaf)
        return leaf

    map_tensors(state, keep)
    return leaves


def eigenvalues(mixer: nn.Module, x: Tensor, state: Any) -> Tensor:
    """The eigenvalues of :func:`transition`, complex, (n,): what a step does to the directions that it only stretches.

    Arguments and errors are those of :func:`transition`.
    """
    matrix = transition(mixer, x, state)
    diagonal = matrix.diagonal()
    # A step that keeps its numbers apart has them on the diagonal, exactly; others are not that fortunate.
    apart = bool((matrix - torch.diag(diagonal)).abs().max() < 1e-9)
    return diagonal.to(torch.complex128) if apart else torch.linalg.eigvals(matrix).to(torch.complex128)
