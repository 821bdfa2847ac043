"""Checks of the exercises on pre-training; each message names the likely slip.

Every check returns without a word of blame if its argument is None: the exercise is not answered yet.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from rtx_book.checks.answers import compare, draw, exercise, numeric, of_chapter

solution, ask = of_chapter(__name__)
check_masks, check_first_step = numeric(__name__)


@exercise("Right: the softmax makes shares of the layers, and gamma scales their sum.")
def check_mix(answer: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
    """``answer(layers, w, gamma)`` must be gamma times the mean of the layers (L, B, T, C) with weights softmax(w)."""
    layers, w = draw(7, (3, 3, 4, 5), (3,))
    gamma = torch.tensor(1.7, dtype=torch.float64)
    shares, inside = (own.softmax(0)[:, None, None, None] for own in (w, gamma * w))
    slips = {
        "the weights are softmax(w): they must be shares": gamma * (w[:, None, None, None] * layers).sum(0),
        "gamma is left out": (shares * layers).sum(0),
        "gamma scales the mix, not what goes into the softmax": (inside * layers).sum(0),
        "this is the plain mean: w is not used": gamma * layers.mean(0),
        "gamma is used and w is not": gamma * layers.sum(0),
        "the shares sum to 1 already: a sum, not a mean": gamma * (shares * layers).mean(0),
        "the sum runs over the layers, the first axis, not over the batch": gamma * (shares * layers).sum(1),
    }
    compare(answer(layers.clone(), w.clone(), gamma.clone()), gamma * (shares * layers).sum(0), slips)


@exercise("Right: only what was chosen counts, in the sum and in the number that it is divided by.")
def check_hidden_loss(answer: Callable[[Tensor, Tensor], Tensor]) -> None:
    """``answer(logits, y)`` must be the mean of -log softmax(logits)[y] over the places where y is not -100."""
    (logits,) = draw(9, (2, 4, 6))
    y = torch.tensor([[-100, 3, 5, -100], [2, -100, -100, -100]])
    chosen = y >= 0
    of = y.clamp(min=0)[..., None]
    nll = -logits.log_softmax(-1).gather(2, of).squeeze(-1) * chosen
    raw = -logits.gather(2, of).squeeze(-1) * chosen
    right = nll.sum() / chosen.sum()
    slips = {
        "this is the sum: divide by the number of chosen places": nll.sum(),
        "places that were not chosen count in the division": nll.mean(),
        "each row has its own mean, so that a place counts more in a row with few": (nll.sum(1) / chosen.sum(1)).mean(),
        "the sign is turned round: a loss is the negative of a log probability": -right,
        "logits are no log probabilities yet: log_softmax first": raw.sum() / chosen.sum(),
        "this is in bits: take the natural logarithm": right / torch.tensor(2.0).double().log(),
        "this is the first row alone": nll[0].sum() / 2,
    }
    compare(answer(logits.clone(), y.clone()), right, slips)
