"""Order within a window: what the last few symbols come to when they are taken one after another."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator

import torch
from torch import Tensor

from rtx_lib.tasks.splits import Rows, check_choice, check_integer
from rtx_lib.tasks.windows import symbol_loss, symbol_metrics

PERMUTATIONS = tuple(itertools.permutations(range(3)))
QUESTIONS = ("product", "last")


def _tables() -> dict[str, Tensor]:
    """For each question the next state from (state, symbol): it is asked of a machine that reads the window."""
    place = {p: number for number, p in enumerate(PERMUTATIONS)}
    after = [[place[tuple(q[p[i]] for i in range(3))] for q in PERMUTATIONS] for p in PERMUTATIONS]
    last = [[symbol if symbol < 2 else state for symbol in range(6)] for state in range(3)]
    return {"product": torch.tensor(after), "last": torch.tensor(last)}


class WindowOrder:
    """Say at every step what the last `window` symbols, taken in order, come to.

    ::

        window=3, symbols A to F

        x            B C D E ...        ids 0..5
        "product"    the rearrangement of three things that B, then C, then D make together, 6 classes
        "last"       which of A and B came last in the window, or neither, 3 classes

    The symbols are the six permutations of three things, `PERMUTATIONS`, A the one that leaves all in place. x and
    y (B, T) int64; all ids are independent and equally likely, and all positions count. Before the first symbol there
    is nothing: the window is then shorter.

    Both questions depend on order. For "last" it is enough to weigh what is near more than what is far. For "product"
    every symbol acts on what those before it have left: a machine of six states answers it, one symbol at a time.

    Baselines, shares of right answers at positions that have a full window: "uniform guess" is 1/classes, and "bag of
    the window" the most that can be reached by who knows which symbols the window holds and how often, not in
    which order. For "product" that is 1/3 and a little more, as a bag tells whether the product is even or odd.

    Training sequences are drawn without end from the caller's generator. "valid" (1,000 sequences) and "test"
    (10,000) come from seeds of their own: the same x for every `window` and question.

    Parameters
    ----------
    length
        T, at least `window`.
    window
        How many symbols count, at least 1.
    question
        "product" or "last".

    Raises
    ------
    ValueError
        For a parameter below its least value, an unknown question or split, a size below 1, or a prediction of wrong
        shape.
    """

    def __init__(self, length: int, *, window: int = 5, question: str = "product") -> None:
        self.window = check_integer("window", window, 1)
        self.length = check_integer("length", length, self.window)
        self.question = check_choice("question", question, QUESTIONS)
        self._table = _tables()[question]
        self.name = f"window-{question}-{self.length}" + ("" if self.window == 5 else f"-{self.window}")
        self.output_size, self.vocabulary = self._table.shape
        self.input_size = self.vocabulary
        self._rows = Rows(self._label, draw=self._draw)

    def batch(self, split: str, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """x, y (size, T): fresh sequences for "train", else rows of the finite split."""
        return self._rows.batch(split, size, generator)

    def batches(self, split: str, size: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Run once through "valid" or "test", `size` sequences at a time."""
        return self._rows.batches(split, size)

    def loss(self, prediction: Tensor, y: Tensor) -> Tensor:
        """Mean cross-entropy in nats; prediction (B, T, classes) logits, y (B, T)."""
        return symbol_loss(prediction, y, self.output_size)

    def metrics(self, prediction: Tensor, y: Tensor) -> dict[str, float]:
        """{"loss", "accuracy"}: the loss, and the share of right answers."""
        return symbol_metrics(prediction, y, self.output_size)

    def baselines(self) -> dict[str, float]:
        """{"uniform guess", "bag of the window"}, shares of right answers, and {"uniform guess loss"} in nats."""
        uniform = 1 / self.output_size
        return {
            "uniform guess": uniform,
            "bag of the window": self._best_from_a_bag(),
            "uniform guess loss": -math.log(uniform),
        }

    def _best_from_a_bag(self) -> float:
        """Of all windows, the share that has the answer most frequent among the orders of its symbols."""
        # The symbols read, sorted, and the state that they lead to: in how many orders.
        ways: Counter[tuple[tuple[int, ...], int]] = Counter({((), self._start): 1})
        for _ in range(self.window):
            longer: Counter[tuple[tuple[int, ...], int]] = Counter()
            for (bag, state), orders in ways.items():
                for symbol in range(6):
                    longer[tuple(sorted((*bag, symbol))), int(self._table[state, symbol])] += orders
            ways = longer
        most: dict[tuple[int, ...], int] = {}
        for (bag, _), orders in ways.items():
            most[bag] = max(most.get(bag, 0), orders)
        return sum(most.values()) / 6**self.window

    @property
    def _start(self) -> int:
        return 0 if self.question == "product" else 2

    def _draw(self, size: int, generator: torch.Generator) -> tuple[Tensor]:
        return (torch.randint(6, (size, self.length), generator=generator),)

    def _label(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = torch.full_like(x, self._start)
        for back in range(self.window - 1, -1, -1):  # every position reads its window's symbols, the oldest first
            symbol = x[:, : self.length - back]
            y[:, back:] = self._table[y[:, back:], symbol]
        return x, y
