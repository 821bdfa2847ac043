"""Checks of the exercises on language models; each message names the likely slip.

Every check returns without a word of blame if its argument is None: the exercise is not answered yet.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from rtx_book.checks.answers import as_tensor, compare, draw, exercise

_CASES = ((2.0, 0.7), (0.6, 0.95), (1.0, 0.6), (1.5, 0.8))  # temperature, share


@exercise("Right: the temperature first, then the cut, and the character that crosses the line stays.")
def check_tempered_top_p(answer: Callable[[Tensor, float, float], Tensor]) -> None:
    """``answer(z, temperature, share)`` must be what top-p leaves of softmax(z / temperature), z (V,), rescaled."""
    logits = draw(0, *[(12,)] * len(_CASES))

    def cut(z: Tensor, share: float, keep: Callable[[Tensor, Tensor], Tensor] | None = None) -> Tensor:
        p, order = z.softmax(-1).sort(descending=True)
        stays = p.cumsum(-1) - p < share if keep is None else keep(p, p.cumsum(-1))
        return torch.zeros_like(z).scatter(-1, order, p * stays)

    def every(rule: Callable[[Tensor, float, float], Tensor]) -> Tensor:
        return torch.cat([rule(z, *case) for z, case in zip(logits, _CASES, strict=True)])

    def scaled(p: Tensor) -> Tensor:
        return p / p.sum().clamp(min=1e-300)

    def rows(z: Tensor, t: float, s: float) -> Tensor:
        p = (z / t).softmax(-1)
        return scaled(p * (p.cumsum(-1) - p < s))

    def warmed(z: Tensor, t: float, s: float) -> Tensor:
        return (z / t).masked_fill(cut(z, s) == 0, -torch.inf).softmax(-1)

    crosses = "the character that crosses the line was dropped: it stays, so that the share is reached"
    place = "the result is in sorted order: put each probability back to the place of its character (scatter)"
    slips = {
        crosses: every(lambda z, t, s: scaled(cut(z / t, s, lambda p, sums: sums <= s))),
        "what is left must be rescaled to sum to 1": every(lambda z, t, s: cut(z / t, s)),
        "the share was measured before the temperature acted: divide the logits first": every(warmed),
        "the logits were multiplied: divide, so that a low one sharpens": every(lambda z, t, s: scaled(cut(z * t, s))),
        "the temperature is missing": every(lambda z, t, s: scaled(cut(z, s))),
        place: every(lambda z, t, s: scaled(cut(z / t, s)).sort(descending=True).values),
        "added up in the order of the ids: sort first, the most probable in front": every(rows),
        "nothing was cut": every(lambda z, t, s: (z / t).softmax(-1)),
    }
    found = [as_tensor(answer(z.clone(), *case)) for z, case in zip(logits, _CASES, strict=True)]
    wrong = next((one.shape for one in found if one.shape != logits[0].shape), None)
    assert wrong is None, f"the shape must be that of z, {tuple(logits[0].shape)}, it is {tuple(wrong or ())}"
    compare(torch.cat(found), every(lambda z, t, s: scaled(cut(z / t, s))), slips)
