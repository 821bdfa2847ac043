"""Checks of the exercises on alignment and attention; each message names the likely slip.

Every check returns without a word of blame if its argument is None: the exercise is not answered yet.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from rtx_book.checks.answers import as_tensor, compare, draw, exercise, numeric, of_chapter

solution, ask = of_chapter(__name__)
check_by_hand, check_scale = numeric(__name__)


@exercise("Right: what is masked gets 0, and a row that sees nothing is 0 as a whole.")
def check_masked_softmax(answer: Callable[[Tensor, Tensor], Tensor]) -> None:
    """``answer(scores, mask)`` must be the weights (B, T, S): softmax over what the mask lets through.

    True in the mask means that a query may attend. A row that is masked as a whole has weights 0.
    """
    (scores,) = draw(5, (2, 3, 4))
    mask = torch.tensor([[1, 1, 0, 1], [0, 1, 1, 0], [0, 0, 0, 0]], dtype=torch.bool).expand(2, 3, 4)
    given = as_tensor(answer(scores.clone(), mask.clone()))
    least = torch.finfo(scores.dtype).min
    kept = scores.masked_fill(~mask, least)
    right, all_seen, set_to_0 = kept.softmax(-1) * mask, scores.softmax(-1), (scores * mask).softmax(-1)
    late = all_seen * mask
    empty = "the row with everything masked is NaN: minus infinity everywhere makes 0 / 0 of a softmax"
    assert given.shape != right.shape or not given[:, 2].isnan().any(), empty
    slips = {
        "the row with everything masked got equal weights; it may see nothing, so its weights are 0": kept.softmax(-1),
        "the mask is turned round: True means that a query may attend": scores.masked_fill(mask, least).softmax(-1),
        "the softmax runs over the queries; it must run over the keys, the last axis": kept.softmax(-2),
        "the mask came after the softmax: what was taken away is missing, and the rows do not sum to 1": late,
        "masked scores were set to 0, but exp(0) = 1: they keep a weight": set_to_0,
        "masked scores were set to 0, but exp(0) = 1: they took part in the sum": set_to_0 * mask,
        "masked scores were set to -1, which is a score like any other": scores.masked_fill(~mask, -1).softmax(-1),
        "the mask was not used": all_seen,
        "everything is 0": torch.zeros_like(scores),
    }
    compare(given, right, slips)


@exercise("Right: c = sum of a_j h_j with a = softmax(v^T tanh(W s + U h_j)).")
def check_additive(answer: Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]) -> None:
    """``answer(s, h, W, U, v)`` must be the context (B, N) of additive attention.

    s is (B, Q), h (B, S, N), W (N, Q), U (N, N) and v (N,).
    """
    s, h, W, U, v = draw(6, (3, 5), (3, 7, 4), (4, 5), (4, 4), (4,))

    def mean(weights: Tensor, values: Tensor = h) -> Tensor:
        return (weights.unsqueeze(-1) * values).sum(1)

    def context(e: Tensor, values: Tensor = h, axis: int = 1) -> Tensor:
        return mean(e.softmax(axis), values)

    inner = (s @ W.T).unsqueeze(1) + h @ U.T  # (B, S, N)
    e = torch.tanh(inner) @ v  # (B, S)
    given = answer(*(each.clone() for each in (s, h, W, U, v)))
    if isinstance(given, Tensor):
        assert given.shape != e.shape, f"shape {tuple(e.shape)} is that of the weights; the context is their mean of h"
    right, linear = context(e), context(inner @ v)
    slips = {
        "the tanh is missing: the query then adds the same to all scores, and the softmax does not see it": linear,
        "the tanh must come before v: it acts on the hidden layer, not on the score": context(torch.tanh(inner @ v)),
        "the softmax runs over the batch; it must run over the source positions": context(e, axis=0),
        "the projected annotations U h were averaged; the context is a mean of h itself": context(e, h @ U.T),
        "the softmax is missing: scores are not weights": mean(e),
        "exp(e) must be divided by the sum of exp(e), not by the sum of e": mean(e.exp() / e.sum(1, keepdim=True)),
        "all weights are equal: the scores were not used": h.mean(1),
        "the query does not enter: W s is missing": context(torch.tanh(h @ U.T) @ v),
        "the annotations do not enter the scores, so all weights are equal": h.sum(1),
    }
    compare(given, right, slips)


@exercise("Right: by, 0.30 * 0.8 = 0.24. Greedy finds ax (0.18); the best of all, cz (0.25), is lost at once.")
def check_beam(answer: tuple[str, float]) -> None:
    """``answer`` must be the sentence that two beams find on the exercise's tree, and its probability.

    The first symbol is a (0.45), b (0.30) or c (0.25). The second is x, y or z: after a with 0.4, 0.35 and 0.25,
    after b with 0.1, 0.8 and 0.1, after c always z.
    """
    assert isinstance(answer, tuple) and len(answer) == 2, 'the answer is a pair such as ("ax", 0.18)'
    sentence, probability = answer
    slips = {
        "ax": "ax is what one beam finds, the greedy choice",
        "cz": "cz is the most probable of all, but c is not among the two beginnings kept after the first step",
        "ay": "ay is the second best with a: 0.45 * 0.35 is less than what b leads to",
    }
    assert sentence not in slips, slips.get(sentence, "")
    assert sentence == "by", f"{sentence!r} is not what is left: keep two beginnings, extend both, keep the best"
    assert abs(probability - 0.8) > 1e-6, "0.8 is the probability of y after b; that of the sentence is a product"
    assert abs(probability - 0.24) < 1e-6, f"by is right, but its probability is not {probability:g}"
