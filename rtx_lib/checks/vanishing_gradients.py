"""Checks of the exercises on vanishing and exploding gradients; each message names the likely slip.

Every check returns without a word of blame if its argument is None: the exercise is not answered yet.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from rtx_lib.checks.answers import compare, compare_number, exercise


@exercise
def check_jacobian(answer: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
    """``answer(h_before, h_after, W)`` must be dh_after/dh_before of a tanh RNN, (H, H), from (H,), (H,) and (H, H).

    Raises
    ------
    AssertionError
        Naming the slip: slope at the wrong step, slope of the state instead of the pre-activation, diagonal
        on the wrong side, transpose, missing square.
    """
    generator = torch.Generator().manual_seed(2)
    weight, before, drive = (
        torch.randn(shape, generator=generator, dtype=torch.float64) for shape in ((4, 4), (4,), (4,))
    )
    weight, before = 0.5 * weight, torch.tanh(before)
    after = torch.tanh(weight @ before + drive)
    given = answer(before, after, weight)

    def slope(h: Tensor) -> Tensor:
        return torch.diag(1 - h**2)

    right = slope(after) @ weight
    at_old, at_new = slope(torch.tanh(before)) @ weight, slope(torch.tanh(after)) @ weight
    slips = {
        "this is the transpose: entry [i, k] must be the derivative of component i of h_j": right.T,
        "the slope belongs to step j: use the new state, 1 - h_j^2, not the old one": slope(before) @ weight,
        "f' was taken at the old state h_{j-1}; it belongs at the pre-activation, where it is 1 - h_j^2": at_old,
        "f' was taken at the state h_j, so tanh was applied twice; at the pre-activation it is 1 - h_j^2": at_new,
        "the diagonal matrix stands on the wrong side: the slope scales the rows of W_hh": weight @ slope(after),
        "the square is missing: the slope of tanh is 1 - h^2": torch.diag(1 - after) @ weight,
        "the slope is missing: this is the linear network's Jacobian": weight,
    }
    compare(given, right, slips)
    print("Right: diag(1 - h_j^2) W_hh.")


@exercise
def check_transient(answer: Tensor) -> None:
    """``answer`` must be 2 x 2 with eigenvalues of modulus <= 0.9, ||W||_2 <= 2, and ||W^k||_2 > 5 for some k.

    Raises
    ------
    AssertionError
        Naming the slip: wrong shape, eigenvalues too large, growth in a single step, a normal matrix, too
        little growth.
    """
    weight = torch.as_tensor(answer, dtype=torch.float64)
    assert weight.shape == (2, 2), f"W must be 2 x 2, this is {tuple(weight.shape)}"
    radius = float(torch.linalg.eigvals(weight).abs().max())
    assert radius <= 0.9 + 1e-6, f"the largest eigenvalue has modulus {radius:.3g}, allowed is 0.9"
    powers = [torch.linalg.matrix_norm(torch.linalg.matrix_power(weight, k), 2).item() for k in range(1, 100)]
    assert powers[0] <= 2 + 1e-6, (
        f"||W|| is {powers[0]:.3g}, allowed is 2: the growth must come from many steps, not from one"
    )
    normal = torch.linalg.matrix_norm(weight @ weight.T - weight.T @ weight).item()
    assert normal > 1e-9, "this W is normal (W W^T = W^T W): its powers have norm rho^k and can only shrink"
    assert max(powers) > 5, (
        f"||W^k|| peaks at {max(powers):.3g}, wanted is more than 5: put both eigenvalues near 0.9, and the largest "
        "number off the diagonal that ||W|| <= 2 allows"
    )
    peak = powers.index(max(powers)) + 1
    print(f"Right: spectral radius {radius:.3g}, ||W|| = {powers[0]:.3g}, and yet ||W^{peak}|| = {max(powers):.3g}.")


@exercise
def check_clip(answer: Callable[[Sequence[Tensor], float], Sequence[Tensor]]) -> None:
    """``answer(gradients, threshold)`` must return the gradients, scaled to a joint norm of at most the threshold.

    Raises
    ------
    AssertionError
        Naming the slip: each tensor clipped alone, values clipped, small gradients scaled up, sum of norms,
        nothing returned.
    """
    large = (torch.tensor([2.0, 1.0], dtype=torch.float64), torch.tensor([[2.0], [4.0]], dtype=torch.float64))
    small = tuple(g / 100 for g in large)
    given = answer([g.clone() for g in large], 1.0)
    assert given is not None, "the function returns nothing: return the list of scaled gradients"
    assert isinstance(given, Sequence), f"the function must return a list, it returned {type(given).__name__}"
    right = _flat([g / 5 for g in large])
    total = sum(float(g.norm()) for g in large)
    slips = {
        "each tensor was clipped alone: the norm is that of all gradients together": _flat(
            [g / g.norm() for g in large]
        ),
        "single values were clipped, which turns the direction: scale all of them by one factor": _flat(
            [g.clamp(-1, 1) for g in large]
        ),
        "the norms of the tensors were added: the joint norm is the root of the sum of squares": _flat(
            [g / total for g in large]
        ),
        "the root is missing: divide by the norm, not by its square": _flat([g / 25 for g in large]),
        "nothing was clipped: the joint norm of these gradients is 5, the threshold 1": _flat(large),
    }
    compare(_flat(given), right, slips)
    compare(
        _flat(answer([g.clone() for g in small], 1.0)),
        _flat(small),
        {"small gradients were scaled up: below the threshold they stay as they are": right},
    )
    print("Right: one factor for all gradients, and only when their joint norm exceeds the threshold.")


@exercise
def check_product_baseline(answer: float) -> None:
    """``answer`` must be the least squared error of a constant when the label is the *product* of two U(0, 1) values.

    Raises
    ------
    AssertionError
        Naming the slip: the sum's baseline, squared mean forgotten, product of the variances, predicting 1.
    """
    slips = {
        "1/6 belongs to the sum: variances add there, but not for a product": 1 / 6,
        "1/9 is E[y^2]; the squared mean, 1/16, still has to come off": 1 / 9,
        "variances do not multiply: E[(uv)^2] = E[u^2] E[v^2], and then subtract the squared mean": 1 / 144,
        "the best constant is no longer 1: it is the mean of the product, 1/4": 1 / 9 - 0.5 + 1,
    }
    value = compare_number(answer, slips)
    assert abs(value - 7 / 144) < 1e-4, f"{value:.6g} is not the variance of the product of two U(0, 1) values"
    print("Right: 1/9 - 1/16 = 7/144.")


def _flat(tensors: Sequence[Tensor]) -> Tensor:
    return torch.cat([torch.as_tensor(t, dtype=torch.float64).flatten() for t in tensors])
