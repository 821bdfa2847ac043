"""The copy memory problem: repeat a few symbols after a long pause."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from rtx_lib.tasks.splits import Rows, check_integer
from rtx_lib.tasks.windows import symbol_loss


class CopyMemory:
    """Repeat `length` symbols after `delay` steps (Hochreiter & Schmidhuber 1997; Arjovsky et al. 2016).

    ::

        symbols=8, length=3, delay=5      . is the blank, id 0;  : is the delimiter, id symbols + 1

        x    3 7 1 . . . . : . . .        ids to remember, delay - 1 blanks, delimiter, `length` blanks
        y    . . . . . . . . 3 7 1        delay + length blanks, then the ids

    x and y (B, T) int64 ids with T = delay + 2 * length; `vocabulary` is symbols + 2, and so are `input_size`
    and `output_size` (the delimiter is never a label). All positions count in the loss.

    The baseline "no memory". A model that knows the time but remembers no symbol does best with certainty of
    the blank at the first delay + length positions, cross-entropy 0 each, and with equal probabilities of the
    `symbols` at the last `length` positions, ln(symbols) each. The mean over all T positions is

        length * ln(symbols) / (delay + 2 * length),        10 ln 8 / (delay + 20) with the usual sizes.

    Training sequences are drawn without end from the caller's generator. "valid" (1,000 sequences) and "test"
    (10,000) come from seeds of their own: the same symbols for every `delay`.

    Parameters
    ----------
    delay
        Steps between the last symbol read and the first symbol due, at least 1; the last of them shows the delimiter.
    symbols
        Number of different symbols, ids 1..symbols, at least 2.
    length
        Number of symbols to remember, at least 1.

    Raises
    ------
    ValueError
        For a parameter below its least value, an unknown split, a size below 1, or a prediction of wrong shape.
    """

    def __init__(self, delay: int, *, symbols: int = 8, length: int = 10) -> None:
        self.delay = check_integer("delay", delay, 1)
        self.symbols = check_integer("symbols", symbols, 2)
        self.length = check_integer("length", length, 1)
        self.name = f"copy-{self.delay}"
        if (self.symbols, self.length) != (8, 10):
            self.name += f"-{self.symbols}x{self.length}"
        self.vocabulary = self.input_size = self.output_size = self.symbols + 2
        # Only the symbols are kept; a long delay would fill the memory with blanks.
        self._rows = Rows(self._lay_out, draw=self._draw)

    def batch(self, split: str, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """x, y (size, T): fresh sequences for "train", else rows of the finite split."""
        return self._rows.batch(split, size, generator)

    def batches(self, split: str, size: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Run once through "valid" or "test", `size` sequences at a time."""
        return self._rows.batches(split, size)

    def loss(self, prediction: Tensor, y: Tensor) -> Tensor:
        """Mean cross-entropy in nats over all positions; prediction (B, T, V) logits, y (B, T) ids."""
        return symbol_loss(prediction, y, self.output_size)

    def metrics(self, prediction: Tensor, y: Tensor) -> dict[str, float]:
        """{"loss", "accuracy"}: the loss, and the share of right symbols at the last `length` positions."""
        prediction = prediction.detach()
        loss = self.loss(prediction, y).item()  # first, because it checks the shape
        right = prediction[:, -self.length :].argmax(-1) == y[:, -self.length :]
        return {"loss": loss, "accuracy": right.double().mean().item()}

    def baselines(self) -> dict[str, float]:
        """{"no memory": length * ln(symbols) / (delay + 2 * length)}, a loss in nats (derived above)."""
        return {"no memory": self.length * math.log(self.symbols) / (self.delay + 2 * self.length)}

    def _draw(self, size: int, generator: torch.Generator) -> tuple[Tensor]:
        return (torch.randint(1, self.symbols + 1, (size, self.length), generator=generator),)

    def _lay_out(self, symbols: Tensor) -> tuple[Tensor, Tensor]:
        x = symbols.new_zeros(len(symbols), self.delay + 2 * self.length)
        y = x.clone()
        x[:, : self.length] = symbols
        x[:, -self.length - 1] = self.symbols + 1  # the delimiter, one step before the answer
        y[:, -self.length :] = symbols
        return x, y
