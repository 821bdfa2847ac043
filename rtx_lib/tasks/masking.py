"""Which tokens a model has to name, and what it sees in their place: the masking of BERT and of ERNIE.

A row is a list of ids as a model reads it, special tokens included; a batch is ids (B, T) padded with 0. What comes out
is x, what the model sees, and y, the labels: the token itself where one was chosen, else -100, which no loss counts.

BERT (Devlin et al. 2018, appendix A.1, and its create_pretraining_data.py) chooses from a row of L tokens exactly

    n = min(most, max(1, round(0.15 L)))        L counts [CLS] and [SEP], which are never chosen themselves

distinct positions. Of each, by itself: in 80 % of cases the model sees [MASK]; in 10 % an id drawn from the whole
vocabulary, special tokens included, which may be the right one; in 10 % the token as it was. So [MASK] stands at 12 %
of the tokens, and all 15 % have to be named, because the model cannot know which of what it sees was changed.

ERNIE (Sun et al. 2019, section 3.2, and its batching.py): every unit, a phrase or a name, is chosen with probability
0.15, by itself, and with it all its pieces; the three cases are drawn piece by piece. No count is kept: long units
are chosen as often as short ones, a row may have none, and 15 % of the tokens are chosen on average.
"""

import math
from collections.abc import Collection

import torch
from torch import Tensor

from rtx_lib.shapes import expect, expect_each, expect_ids
from rtx_lib.tasks.vocabulary import IGNORED, PAD

MASKED, CHANGED, KEPT = 0.8, 0.1, 0.1  # the shares of [MASK], of a random id, and of the token as it was


class Masking:
    """How tokens are chosen and replaced.

    Parameters
    ----------
    size, mask
        V, the number of ids, and the id of [MASK].
    special
        The ids that are never chosen, such as those of [CLS] and [SEP]; 0, the padding, is one of them anyway.
    share, most
        Of the tokens of a row this share is chosen, and at most so many (None: no limit). BERT's script has 0.15 and
        20, for rows of 128.
    """

    def __init__(
        self, *, size: int, mask: int, special: Collection[int], share: float = 0.15, most: int | None = None
    ) -> None:
        expect_each(most=1 if most is None else most, share=(share, "(0, 1]"))
        expect_ids(torch.tensor([[mask, *special]]), size, "mask and special")
        self.size, self.mask, self.special = size, mask, frozenset((PAD, *special))
        self.share, self.most = share, most

    def tokens(self, ids: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """x and y (B, T) of a batch: BERT's rule token by token, for all rows at once."""
        may = self._may(ids)
        most = math.inf if self.most is None else self.most
        counts = ((ids != PAD).sum(1).double() * self.share).round().clamp(min=1, max=most)  # n of each row
        # The n least of equal random numbers stand at n positions, and all sets of n are equally likely.
        order = torch.rand(ids.shape, generator=generator).masked_fill(~may, 2.0).argsort(1)
        rank = torch.empty_like(order).scatter_(1, order, torch.arange(ids.shape[1]).expand_as(order))
        chosen = (rank < counts[:, None]) & may
        return self._replace(ids, chosen, torch.rand(ids.shape, generator=generator), 0, generator)

    def units(self, ids: Tensor, begins: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """x and y (B, T) of a batch: ERNIE's rule; `begins` (B, T) is true where a unit begins.

        As in ERNIE's code, one number r at its first piece decides on a unit, which is chosen if r <= 0.15, and then
        r / 0.15 decides on that piece's case; a random id is never the padding. A row may have no label.
        """
        may = self._may(ids)
        numbers = _numbers(ids, begins, may)
        first = torch.cat([torch.ones_like(may[:, :1]), numbers.diff(dim=1) > 0], dim=1)
        draws = torch.rand(ids.shape, generator=generator, dtype=torch.float64)
        # Every position reads the draw at its unit's first piece out of a table by the unit's number.
        unit = torch.zeros_like(draws).scatter_add_(1, numbers, draws * first).gather(1, numbers)
        case = 1 - torch.where(first, draws / self.share, draws)  # the least numbers leave the token as it was
        return self._replace(ids, (unit <= self.share) & may, case, 1, generator)

    def _may(self, ids: Tensor) -> Tensor:
        """Which positions (B, T) may be chosen."""
        may = ~torch.isin(expect_ids(ids, self.size, "ids"), torch.tensor(sorted(self.special)))
        if not may.any(1).all():
            raise ValueError("ids must hold a token that may be chosen in every row, got one of special tokens only")
        return may

    def _replace(
        self, ids: Tensor, chosen: Tensor, case: Tensor, least: int, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """x and y: where chosen, [MASK], an id of at least `least`, or the token, as `case` in 0..1 falls."""
        drawn = torch.randint(least, self.size, ids.shape, generator=generator)
        seen = torch.where(case < MASKED, self.mask, torch.where(case < MASKED + CHANGED, drawn, ids))
        return torch.where(chosen, seen, ids), torch.where(chosen, ids, IGNORED)


def _numbers(ids: Tensor, begins: Tensor, may: Tensor) -> Tensor:
    """The number of the unit of each position (B, T), from 0; a special token is a unit of its own."""
    cut = expect(begins, tuple(ids.shape), "begins") | ~may
    cut[:, 1:] |= ~may[:, :-1]
    return cut.long().cumsum(1) - cut[:, :1].long()
