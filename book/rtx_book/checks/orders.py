"""Checks of the exercises on orders and units; each message names the likely slip.

Every check returns without a word of blame if its argument is None: the exercise is not answered yet.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from rtx_book.checks.answers import as_tensor, compare_number, compare_together, draw, exercise, numeric, of_chapter

solution, ask = of_chapter(__name__)
check_targets, check_whole_name = numeric(__name__)

_ORDERS = ([2, 0, 3, 1], [4, 3, 2, 0, 1], [1, 2, 0], [0, 1, 2, 3, 4, 5], [5, 2, 4, 0, 1, 3])


@exercise("Right: a word sees those whose rank is smaller, and the rank is the inverse of the order.")
def check_seen(answer: Callable[[Tensor], Tensor]) -> None:
    """``answer(order)`` must be the query stream's mask (T, T), True where row i may see column j.

    ``order`` (T,) lists positions: order[0] is predicted first.
    """
    by_place = "order lists positions; what is compared is each position's place in it, the rank: order.argsort()"
    masks = {}
    for order in map(torch.tensor, _ORDERS):
        rank, index = order.argsort(), torch.arange(len(order))
        found = as_tensor(answer(order.clone()))
        assert found.shape == (len(order),) * 2, f"the shape must be {(len(order),) * 2}, it is {tuple(found.shape)}"
        assert found.dtype == torch.bool, f"the mask must hold True and False, it is of {found.dtype}"
        seen = rank[None] < rank[:, None]
        masks[f"the order {order.tolist()}: "] = {
            "given": found,
            "right": seen,
            by_place: order[None] < order[:, None],
            "rows and columns are exchanged: row i asks, column j is seen": seen.T,
            "a query never sees its own word: that is the content stream's mask": rank[None] <= rank[:, None],
            "this is the contrary: a word sees what comes before it in the order, not after it": ~seen,
            "this is the mask from left to right, whatever the order": index[None] < index[:, None],
        }
    compare_together(masks)


@exercise("Right: the losses of all tokens are added, divided by the words, and only then comes the exponential.")
def check_word_perplexity(answer: Callable[[Tensor, int], float]) -> None:
    """``answer(losses, words)`` must be the perplexity of a word, given the losses (N,) of N tokens in nats."""
    losses = draw(5, (9,))[0].abs() + 0.5
    words, total = 6, float(losses.sum())
    slips = {
        "this is the perplexity of a token: divide by the number of words": math.exp(total / len(losses)),
        "these are perplexities of tokens, added: add the losses first": float(losses.exp().sum()) / words,
        "the losses are in nats: e to the mean, not 2": 2 ** (total / words),
        "this is the mean loss of a word; the perplexity is e to it": total / words,
        "divide by the number of words before the exponential": math.exp(total),
    }
    given = float(answer(losses.clone(), words))
    compare_number(given, math.exp(total / words), slips, f"{given:g} is not right", 1e-6, 1e-6)
