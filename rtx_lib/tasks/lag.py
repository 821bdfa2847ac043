"""Repeat the symbol of a fixed number of steps ago: what is to be found is known by its distance alone."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

from rtx_lib.tasks.splits import Rows, check_integer
from rtx_lib.tasks.windows import symbol_loss, symbol_metrics

_IGNORED = -100  # the label that torch's cross-entropy leaves out


class Lag:
    """Name the symbol of `lag` steps ago, at every step.

    ::

        lag=3, symbols=10           . is the label -100: nothing is due yet, the position does not count

        x    4 7 1 1 9 0 4 2        ids
        y    . . . 4 7 1 1 9        y_t = x_{t-3}

    x and y (B, T) int64; all ids are independent and equally likely. No symbol says where it stands, so attention
    must find x_{t-lag} by its position, and a recurrent network must carry the last `lag` symbols in its state.

    The baseline "uniform guess": whoever does not see x_{t-lag} knows nothing about y_t, which is then right with
    probability 1/symbols and costs ln(symbols) nats.

    Training sequences are drawn without end from the caller's generator. "valid" (1,000 sequences) and "test"
    (10,000) come from seeds of their own: the same x for every `lag`.

    Parameters
    ----------
    length
        T, more than `lag`.
    lag
        Steps between the symbol and its repetition, at least 1.
    symbols
        Number of different symbols, ids 0..symbols-1, at least 2.

    Raises
    ------
    ValueError
        For a parameter below its least value, an unknown split, a size below 1, or a prediction of wrong shape.
    """

    def __init__(self, length: int, *, lag: int = 5, symbols: int = 16) -> None:
        self.lag = check_integer("lag", lag, 1)
        self.symbols = check_integer("symbols", symbols, 2)
        self.length = check_integer("length", length, self.lag + 1)
        self.name = f"lag-{self.length}"
        if (self.lag, self.symbols) != (5, 16):
            self.name += f"-{self.lag}x{self.symbols}"
        self.vocabulary = self.input_size = self.output_size = self.symbols
        self._rows = Rows(self._label, draw=self._draw)

    def batch(self, split: str, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """x, y (size, T): fresh sequences for "train", else rows of the finite split."""
        return self._rows.batch(split, size, generator)

    def batches(self, split: str, size: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Run once through "valid" or "test", `size` sequences at a time."""
        return self._rows.batches(split, size)

    def loss(self, prediction: Tensor, y: Tensor) -> Tensor:
        """Mean cross-entropy in nats over the positions that count; prediction (B, T, V) logits, y (B, T)."""
        return symbol_loss(prediction, y, self.output_size)

    def metrics(self, prediction: Tensor, y: Tensor) -> dict[str, float]:
        """{"loss", "accuracy"}: the loss, and the share of right symbols, over the positions that count."""
        return symbol_metrics(prediction, y, self.output_size)

    def baselines(self) -> dict[str, float]:
        """{"uniform guess": 1/symbols, an accuracy, "uniform guess loss": ln(symbols), in nats}."""
        return {"uniform guess": 1 / self.symbols, "uniform guess loss": math.log(self.symbols)}

    def _draw(self, size: int, generator: torch.Generator) -> tuple[Tensor]:
        return (torch.randint(self.symbols, (size, self.length), generator=generator),)

    def _label(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x, F.pad(x[:, : -self.lag], (self.lag, 0), value=_IGNORED)
