"""Checks of the exercises on readers without recurrence; each message names the likely slip.

Every check returns without a word of blame if its argument is None: the exercise is not answered yet.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from rtx_book.checks.answers import compare, compare_number, draw, exercise, of_chapter, slips_of

solution, ask = of_chapter(__name__)


@exercise("Right: 1 for the position itself, and (kernel - 1) x dilation more for every layer.")
def check_field(answer: float) -> None:
    """``answer`` must be the receptive field of a stack with kernel 3 and the dilations 1, 2, 4, 8 and 16."""
    compare_number(
        answer, 63, slips_of("check_field"), "{:g} positions is not right: draw the last layer first", 1e-5, 1e-5
    )


@exercise("Right: only words count, in the sum and in the number that it is divided by.")
def check_masked_mean(answer: Callable[[Tensor, Tensor], Tensor]) -> None:
    """``answer(x, ids)`` must average x (B, T, D) over the positions whose id is not 0, the padding: (B, D)."""
    ids = torch.tensor([[4, 2, 7, 1, 3], [5, 2, 0, 0, 0], [6, 0, 0, 0, 0]])
    (x,) = draw(8, (3, 5, 4))
    words = (ids != 0).unsqueeze(-1)
    counts = words.sum(1)
    summed = (x * words).sum(1)
    slips = {
        "padding is averaged over too, as in the authors' code": x.mean(1),
        "the sum leaves padding out, but it is divided by T and not by the number of words": summed / ids.shape[1],
        "this is the sum: divide by the number of words": summed,
        "each sentence is divided by its own number of words, not by the mean of all": summed / counts.double().mean(),
        "this is the maximum over the words": x.masked_fill(~words, -torch.inf).amax(1),
        "this is the last word of each sentence": x[torch.arange(3), counts[:, 0] - 1],
    }
    compare(answer(x.clone(), ids.clone()), summed / counts, slips)


@exercise("Right: 1.0 - 0.2 of what attention gives is kept, so one number in five is dropped, at every test anew.")
def check_left_on(answer: float) -> None:
    """``answer`` must be the share of attention's output that the authors' code drops at test time: 0.2."""
    value = float(answer)
    assert abs(value) > 1e-3, "at test time keep is 1.0, and attention's output is given keep - 0.2"
    compare_number(value, 0.2, slips_of("check_left_on"), "{:g} is not right: put keep = 1.0 into keep - 0.2")
