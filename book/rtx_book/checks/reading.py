"""Checks of the exercises on readers without recurrence; each message names the likely slip.

Every check returns without a word of blame if its argument is None: the exercise is not answered yet.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from rtx_book.checks.answers import compare, draw, exercise, numeric, of_chapter

solution, ask = of_chapter(__name__)
check_field, check_left_on = numeric(__name__)


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
