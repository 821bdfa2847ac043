"""Two small tasks that tell models apart: who may look to the right, and who can look up what was just said."""

import math
from typing import Any

import torch
from torch import Tensor

from rtx_lib.shapes import expect_each
from rtx_lib.tasks.splits import Rows, chances, draw_batch, draw_some, run_through
from rtx_lib.tasks.windows import symbol_count, symbol_loss, symbol_metrics

SIDES = ("next", "previous", "both")


class NextSymbol:
    """Name hidden symbols, each of which its neighbours decide.

    ::

        side="next", length=9, ? is the mask, . the label -100

        x    3 ? 1 ? 0 ? 3 ? 2          numbers 0..S-1, drawn
        y    . 1 . 0 . 3 . 2 .          "next": the symbol to the right
             . 3 . 1 . 0 . 3 .          "previous": the symbol to the left
             . 0 . 1 . 3 . 1 .          "both": their sum modulo S (here S = 4)

    x and y (B, T) int64. All shown numbers are independent and equally likely. The id of a number is one more, that of
    the mask S + 1; 0, which models of sentences take for padding, is not used.

    - A model that reads from left to right knows nothing of a "next" label: it pays ln S and no less. One that reads
      from right to left, or in both directions, pays 0.
    - "both" is decided by neither neighbour alone, for a sum modulo S with one part unknown is equally likely to be
      anything: left to right and right to left both pay ln S. So does whatever adds the logits of two such models, the
      layers of which never meet. Its logits are f_y(left) + g_y(right); the expected cross-entropy is convex in f and
      g, and at f = g = 0 its gradient vanishes, because y is uniform given either neighbour. Only a model whose layers
      see both sides together pays 0.

    Baselines: "marginal", the share 1/S of right answers, and "marginal loss", ln S, of whoever knows which labels
    there are: the entropy of the labels alone, and also given all that a model sees from the wrong side. "uniform guess
    loss" is ln (S + 2), all ids, and "both sides loss" 0.

    Training rows are drawn without end from the caller's generator. "valid" (1,000 rows) and "test" (10,000) come from
    seeds of their own: the same x for every `side`.

    Parameters
    ----------
    length
        T, odd and at least 3.
    symbols
        S, at least 2. The task's input and output have S + 2 ids.
    side
        "next", "previous" or "both".
    """

    batch, batches = draw_batch, run_through  # methods, written once in splits.py and windows.py
    loss, metrics, weight = symbol_loss, symbol_metrics, symbol_count

    def __init__(self, length: int = 17, *, symbols: int = 8, side: str = "next") -> None:
        expect_each(side=(side, SIDES), symbols=(symbols, 2), length=(length, 3))
        expect_each(length=(length, "odd"))  # so that every hidden symbol has two neighbours
        self.length, self.symbols, self.side = length, symbols, side
        self.mask = self.symbols + 1
        self.vocabulary = self.input_size = self.output_size = self.symbols + 2
        self.name = f"symbol-{side}-{self.length}x{self.symbols}"
        self.splits = Rows(draw=self._draw, lay_out=self._label)

    def baselines(self) -> dict[str, float]:
        """{"marginal", "marginal loss", "uniform guess loss", "both sides loss"} (defined above)."""
        return chances({"marginal": self.symbols}, self.vocabulary) | {"both sides loss": 0.0}

    def _draw(self, size: int, generator: torch.Generator) -> tuple[Tensor]:
        return (torch.randint(self.symbols, (size, (self.length + 1) // 2), generator=generator),)

    def _label(self, shown: Tensor) -> tuple[Tensor, Tensor]:
        x = torch.full((len(shown), self.length), self.mask)
        y = torch.full_like(x, -100)
        x[:, ::2] = shown + 1
        left, right = shown[:, :-1], shown[:, 1:]
        y[:, 1::2] = {"next": right, "previous": left, "both": (left + right) % self.symbols}[self.side] + 1
        return x, y


def draw_pairs(task: Any, size: int, generator: torch.Generator) -> Tensor:
    """Keys and values (size, pairs, 2), each of a row different from its others; values have the ids behind keys."""
    keys, values = (draw_some(task.pairs, most, size, generator) for most in (task.keys, task.values))
    return torch.stack([keys + 1, values + task.keys + 1], dim=2)


class LookUp:
    """Say what was said to belong to a key: a dictionary that holds for one row only, and questions about it.

    ::

        pairs=3, questions=2          keys a to h, values 0 to 7; . is the label -100

        x    c 5 a 2 f 0   a 2  c
        y    . . . . . .   2 .  5          the value that stood behind the same key

    x and y (B, T) int64 with T = 2 (pairs + questions) - 1: the pairs, then question and answer in turn, without the
    last answer. The keys of a row differ, and so do its values; both are drawn anew for every row, so that nothing can
    be learned by heart, only how to look up. A question is any of the row's keys, with equal shares. Keys have the ids
    1..keys, values the next ones, and 0 is not used. To a causal model every answer is the next symbol.

    Baselines, for the answers. "uniform guess loss" is ln V, V being all ids. Who knows what values are and no more
    pays ln values, "a value loss". Who also sees the dictionary, and cannot tell which value stands behind which key,
    pays ln pairs, "a shown value loss", and is right in 1/pairs of cases, "a shown value". Who looks up pays 0.

    Training rows are drawn without end from the caller's generator. "valid" (1,000 rows) and "test" (10,000) come from
    seeds of their own.

    Parameters
    ----------
    pairs, questions
        Of a row, at least 2 and 1.
    keys, values
        How many there are, each at least `pairs`.
    """

    batch, batches = draw_batch, run_through  # methods, written once in splits.py and windows.py
    loss, metrics, weight = symbol_loss, symbol_metrics, symbol_count

    def __init__(self, pairs: int = 4, *, questions: int = 4, keys: int = 16, values: int = 16) -> None:
        expect_each(questions=questions, pairs=(pairs, 2), keys=(keys, pairs), values=(values, pairs))
        self.pairs, self.questions, self.keys, self.values = pairs, questions, keys, values
        self.vocabulary = self.input_size = self.output_size = 1 + keys + values
        self.name = f"look-up-{pairs}-{questions}-of-{keys}x{values}"
        self.splits = Rows(draw=self._draw, lay_out=self._label)

    def baselines(self) -> dict[str, float]:
        """{"a shown value", "a shown value loss", "a value loss", "uniform guess loss"} (defined above)."""
        return chances({"a shown value": self.pairs}, self.vocabulary) | {"a value loss": math.log(self.values)}

    def _draw(self, size: int, generator: torch.Generator) -> tuple[Tensor]:
        """The rows with all answers (size, 2 (pairs + questions))."""
        said = draw_pairs(self, size, generator)
        asked = torch.randint(self.pairs, (size, self.questions), generator=generator)
        answers = said.gather(1, asked[..., None].expand(-1, -1, 2))
        return (torch.cat([said, answers], dim=1).flatten(1),)

    def _label(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        x, y = rows[:, :-1], rows[:, 1:].clone()
        y[:, : 2 * self.pairs] = -100
        y[:, 2 * self.pairs + 1 :: 2] = -100
        return x, y
