"""Checks of the exercises on R-Transformer; each message names the likely slip.

Every check returns without a word of blame if its argument is None: the exercise is not answered yet.
"""

from collections.abc import Callable, Iterable

import torch
import torch.nn.functional as F
from torch import Tensor

from rtx_book.checks.answers import compare, draw, exercise, numeric, of_chapter

solution, ask = of_chapter(__name__)
(check_reach,) = numeric(__name__)

ORDER = dict(z="zero_grad", f="forward pass and loss", b="backward pass", c="clip", s="step of the optimiser")


@exercise("Right: window - 1 zeros in front, then every run of `window` inputs that ends at its step.")
def check_windows(answer: Callable[[Tensor, int], Tensor]) -> None:
    """``answer(x, window)`` must gather from x (B, T, D) the window that ends at each step: (B, T, window, D).

    Position j of a window holds its j-th input in order of time; zeros stand before the start.
    """
    M, (x,) = 3, draw(5, (2, 6, 4))

    def cut(before: int, after: int = 0, mode: str = "constant") -> Tensor:
        return F.pad(x.mT, (before, after), mode).unfold(2, M, 1).permute(0, 2, 3, 1)[:, :6]

    right = cut(2)
    slips = {
        "the last two axes are exchanged: unfold puts the window last, it has to come before D": right.mT,
        "the windows begin at their step: they show it the future": cut(0, 2),
        "the windows are centred on their step: they show it one step of the future": cut(1, 1),
        "the windows end one step too early: the input of the step itself is the last": cut(3),
        "the windows run backwards: the oldest input comes first": right.flip(2),
        "zeros come before the start, not the first input again": cut(2, mode="replicate"),
    }
    compare(answer(x.clone(), M), right, slips)


@exercise("Right: all windows take their j-th step together, on z shifted by j.")
def check_steps(answer: Callable[[Tensor, Tensor, int], Tensor]) -> None:
    """``answer(z, weight_hh, window)`` must run the windows of a tanh LocalRNN on inputs that are projected already.

    z (B, T + window - 1, H) holds W_ih x + b_ih + b_hh, also of the zeros before the start. The result is
    (B, T, H), h_j = tanh(z_j + W_hh h_{j-1}) from h = 0 through each window.
    """
    M, T = 3, 5
    z, W = draw(6, (2, T + M - 1, 4), (4, 4))

    def run(places: Iterable[int], matrix: Tensor = W, count: int = T) -> list[Tensor]:
        h, states = torch.zeros(2, count, 4, dtype=torch.float64), []
        for j in places:
            h = torch.tanh(z[:, j : j + count] + h @ matrix.T)
            states.append(h)
        return states

    steps, whole = run(range(M)), torch.cat(run(range(T + M - 1), count=1), dim=1)
    given = answer(z.clone(), W.clone(), M)
    if isinstance(given, Tensor) and given.shape == z.shape:
        raise AssertionError("there are T windows, not T + window - 1: take T steps of z at a time")
    slips = {
        "this is one run over everything: each window starts from 0": whole[:, M - 1 :],
        "the windows are read backwards: the oldest input comes first": run(reversed(range(M)))[-1],
        "the last step is missing: each window ends with the input of its own position": steps[-2],
        "the first step is missing: each window holds `window` inputs": run(range(1, M))[-1],
        "W_hh is transposed: rows of a batch are multiplied as h @ W.T": run(range(M), W.T)[-1],
        "W_hh is not there: this is the last input alone": run([M - 1])[-1],
        "this is the mean over the steps; LocalRNN keeps the last": torch.stack(steps).mean(0),
    }
    compare(given, steps[-1], slips)


@exercise("Right: the gradient is there after the backward pass, and is clipped before the step uses it.")
def check_order(answer: str) -> None:
    """``answer`` must name the five parts of a training step in an order in which clipping acts, as letters.

    z for zero_grad, f for forward pass and loss, b for the backward pass, c for the clip, s for the step. zero_grad
    may stand anywhere but between the backward pass and the step.
    """
    order = str(answer).lower().replace(" ", "")
    named = ", ".join(f"{letter} {words}" for letter, words in ORDER.items())
    assert sorted(order) == sorted(ORDER), f"the answer must hold each of five letters once: {named}; got {answer!r}"
    z, f, b, c, s = (order.index(letter) for letter in "zfbcs")
    assert f < b, "the backward pass needs a loss: forward comes first"
    assert b < s, "the step is made before the backward pass: it uses the gradient of another batch, or none"
    assert not b < z < s, "zero_grad comes between the backward pass and the step: it takes the gradient away"
    late = "it scales the gradients of the batch before, which no step uses"
    if z < c:
        late = "the gradients that it sees are zero or None. This is the order of the authors' music script"
    assert b < c, f"the clip comes before the backward pass: {late}"
    assert c < s, "the clip comes after the step: the step has used the whole gradient"
