"""Checks of the exercises on vanishing and exploding gradients; each message names the likely slip.

Every check returns without a word of blame if its argument is None: the exercise is not answered yet.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from rtx_book.checks.answers import compare, draw, exercise, flat, numeric, of_chapter

solution, ask = of_chapter(__name__)
(check_product_baseline,) = numeric(__name__)

_PEAKS = (
    "||W^k|| peaks at {}, wanted is more than 5: put both eigenvalues near 0.9, and the largest number off the "
    "diagonal that ||W|| <= 2 allows"
)
TRANSIENT = (
    ("radius", "<=", 0.9 + 1e-6, "the largest eigenvalue has modulus {}, allowed is 0.9"),
    ("norm", "<=", 2 + 1e-6, "||W|| is {}, allowed is 2: the growth must come from many steps, not from one"),
    ("bend", ">", 1e-9, "this W is normal (W W^T = W^T W): its powers have norm rho^k and can only shrink"),
    ("peak", ">", 5.0, _PEAKS),
)
"""What is asked of a matrix whose powers grow first, and what is said where it fails, as ``plots.ask`` takes rules."""


@exercise("Right: diag(1 - h_j^2) W_hh.")
def check_jacobian(answer: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
    """``answer(h_before, h_after, W)`` must be dh_after/dh_before of a tanh RNN, (H, H), from (H,), (H,) and (H, H)."""
    weight, before, drive = draw(2, (4, 4), (4,), (4,))
    weight, before = 0.5 * weight, torch.tanh(before)
    after = torch.tanh(weight @ before + drive)

    def slope(h: Tensor) -> Tensor:
        return torch.diag(1 - h**2)

    right = slope(after) @ weight
    at_old, at_new = slope(torch.tanh(before)) @ weight, slope(torch.tanh(after)) @ weight
    slips = {
        "this is the transpose: entry [i, k] must be the derivative of component i of h_j": right.T,
        "the slope belongs to step j: use the new state, 1 - h_j^2, not the old one": slope(before) @ weight,
        "f' was taken at the old state h_{j-1}; it belongs at the pre-activation, where it is 1 - h_j^2": at_old,
        "f' was taken at the state h_j, so tanh was applied twice; at the pre-activation it is 1 - h_j^2": at_new,
        "the diagonal matrix is on the wrong side: the slope scales the rows of W_hh": weight @ slope(after),
        "the square is missing: the slope of tanh is 1 - h^2": torch.diag(1 - after) @ weight,
        "the slope is missing: this is the linear network's Jacobian": weight,
    }
    compare(answer(before, after, weight), right, slips)


@exercise()
def check_transient(answer: Tensor) -> None:
    """``answer`` must be 2 x 2 with eigenvalues of modulus <= 0.9, ||W||_2 <= 2, and ||W^k||_2 > 5 for some k."""
    weight = torch.as_tensor(answer, dtype=torch.float64)
    assert weight.shape == (2, 2), f"W must be 2 x 2, this is {tuple(weight.shape)}"
    powers = [torch.linalg.matrix_norm(torch.linalg.matrix_power(weight, k), 2).item() for k in range(1, 100)]
    radius, norm, peak = float(torch.linalg.eigvals(weight).abs().max()), powers[0], max(powers)
    bend = torch.linalg.matrix_norm(weight @ weight.T - weight.T @ weight).item()
    found = {"radius": radius, "norm": norm, "bend": bend, "peak": peak}
    for name, sign, bound, message in TRANSIENT:
        held = found[name] <= bound if sign == "<=" else found[name] > bound
        assert held, message.format(f"{found[name]:.3g}")
    k = powers.index(peak) + 1
    print(f"Right: spectral radius {radius:.3g}, ||W|| = {norm:.3g}, and yet ||W^{k}|| = {peak:.3g}.")


@exercise("Right: one factor for all gradients, and only when their joint norm exceeds the threshold.")
def check_clip(answer: Callable[[Sequence[Tensor], float], Sequence[Tensor]]) -> None:
    """``answer(gradients, threshold)`` must return the gradients, scaled to a joint norm of at most the threshold."""
    gradients = (torch.tensor([2.0, 1.0], dtype=torch.float64), torch.tensor([[2.0], [4.0]], dtype=torch.float64))
    large, alone = flat(gradients), flat([g / g.norm() for g in gradients])
    added = large / sum(float(g.norm()) for g in gradients)
    given = answer([g.clone() for g in gradients], 1.0)
    assert given is not None, "the function returns nothing: return the list of scaled gradients"
    assert isinstance(given, Sequence), f"the function must return a list, it returned {type(given).__name__}"
    slips = {
        "each tensor was clipped alone: the norm is that of all gradients together": alone,
        "single values were clipped, which turns the direction: scale all of them by one factor": large.clamp(-1, 1),
        "the norms of the tensors were added: the joint norm is the root of the sum of squares": added,
        "the root is missing: divide by the norm, not by its square": large / 25,
        "nothing was clipped: the joint norm of these gradients is 5, the threshold 1": large,
    }
    compare(flat(given), large / 5, slips)
    scaled = {"small gradients were scaled up: below the threshold they stay as they are": large / 5}
    compare(flat(answer([g / 100 for g in gradients], 1.0)), large / 100, scaled)
