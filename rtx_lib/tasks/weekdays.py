"""Sentences on days of the week with one word hidden: what a reader must have seen depends on which word it is."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from rtx_lib.tasks.splits import Rows, draw_batch, run_through
from rtx_lib.tasks.vocabulary import IGNORED, SPECIAL, Vocabulary
from rtx_lib.tasks.windows import symbol_loss, symbol_metrics

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
NUMBERS = ("no", "one", "two", "three", "four", "five", "six")


class Weekdays:
    """Name the hidden word of a sentence that counts days.

    ::

        from  monday   three   days  on  is  thursday        y      left      right     both sides
        from  [MASK]   three   days  on  is  thursday     monday    ln 7        0           0
        from  monday   [MASK]  days  on  is  thursday     three     ln 7      ln 7          0
        from  monday   three   days  on  is  [MASK]      thursday     0       ln 7          0

    In nats, the least that whoever sees only that side has to pay; the other four words are always the same. The
    number is known to nobody who sees one side: seven days after any day it is that day again, so that given either day
    alone all numbers are equally likely. Nor to whatever adds the logits of a reader of the left and one of the right,
    as in :class:`~rtx_lib.tasks.next_symbol.NextSymbol` with ``side="both"``.

    x and y (B, 7) int64, y -100 but at the hidden word. There are 49 sentences, and all splits have all of them:
    nothing is asked about generalisation. A training row hides one word, all seven equally likely. "valid" and "test"
    have every sentence with every word hidden, 343 rows.

    Baselines, losses in nats, means over all places: "one side loss", 2 ln 7 / 7, of whoever sees the left or the right
    alone; "glued loss", ln 7 / 7, of two readers whose logits are added; "both sides loss" 0; "uniform guess loss",
    ln V.

    Raises
    ------
    ValueError
        For an unknown split, a size below 1, or a prediction of wrong shape.
    """

    name = "weekdays"
    batch, batches = draw_batch, run_through  # methods, written once in splits.py and windows.py
    loss, metrics = symbol_loss, symbol_metrics

    def __init__(self) -> None:
        self.words = Vocabulary((*SPECIAL, "from", "days", "on", "is", *DAYS, *NUMBERS))
        self.vocabulary = self.input_size = self.output_size = len(self.words)
        (self.mask,) = self.words.require("[MASK]")
        rows = [
            f"from {day} {number} days on is {DAYS[(start + count) % 7]}"
            for start, day in enumerate(DAYS)
            for count, number in enumerate(NUMBERS)
        ]
        self.sentences = torch.stack([self.words.encode(row) for row in rows])  # (49, 7)
        length = self.sentences.shape[1]
        everywhere = self.sentences.repeat_interleave(length, 0), torch.arange(length).repeat(len(rows))
        self.splits = Rows({"valid": everywhere, "test": everywhere}, self._draw, self.hide)

    def hide(self, rows: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
        """x and y of sentences (B, 7) with the words at these places (B,) hidden."""
        at = places[:, None]
        y = torch.full_like(rows, IGNORED).scatter(1, at, rows.gather(1, at))
        return rows.scatter(1, at, self.mask), y

    def weight(self, y: Tensor) -> int:
        """The number of labels in y (B, 7)."""
        return int((y >= 0).sum())

    def baselines(self) -> dict[str, float]:
        """{"one side loss", "glued loss", "both sides loss", "uniform guess loss"} (defined above)."""
        a_number = math.log(7) / 7
        uniform = math.log(self.vocabulary)
        sides = {"one side loss": 2 * a_number, "glued loss": a_number, "both sides loss": 0.0}
        return sides | {"uniform guess loss": uniform}

    def _draw(self, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        rows = torch.randint(len(self.sentences), (size,), generator=generator)
        return self.sentences[rows], torch.randint(self.sentences.shape[1], (size,), generator=generator)
