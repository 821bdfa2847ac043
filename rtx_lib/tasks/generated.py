"""Generated tasks on one sequence: what to keep, for how long, and in which order."""

import itertools
import math
from collections import Counter

import torch
import torch.nn.functional as F
from torch import Tensor

from rtx_lib.shapes import expect, expect_each
from rtx_lib.tasks.splits import Rows, draw_batch, run_through
from rtx_lib.tasks.windows import draw_symbols, symbol_loss, symbol_metrics

PERMUTATIONS = tuple(itertools.permutations(range(3)))
QUESTIONS = ("product", "last")


class AddingProblem:
    """Add the two marked numbers (Hochreiter & Schmidhuber 1997, section 5.4; this form: Le et al. 2015).

    ::

        step             1     2     3     4     5     6     7     8
        x[..., 0]     0.61  0.35  0.90  0.12  0.48  0.77  0.05  0.66     values, U(0, 1)
        x[..., 1]        0     1     0     0     0     1     0     0     markers
        y                                                       1.12  =  0.35 + 0.77

    x (B, T, 2) float, y (B, 1) float. Only the model's output at the last step counts.

    The baseline "predict 1". The label is the sum of two independent U(0, 1) variables, so its mean is 1 and
    its variance is 2 * 1/12 = 1/6. No constant has a smaller squared error than the mean, and its error is
    the variance: a model that remembers nothing reaches 1/6 = 0.1667 and not less.

    Training sequences are drawn without end from the caller's generator. "valid" (1,000 sequences) and "test"
    (10,000) come from seeds of their own and depend on `length` only.

    Parameters
    ----------
    length
        T, at least 2. Two distinct steps anywhere are marked, every pair equally likely.
    """

    input_size, output_size, vocabulary = 2, 1, None
    batch, batches = draw_batch, run_through  # methods, written once in splits.py and windows.py

    def __init__(self, length: int) -> None:
        expect_each(length=(length, 2))
        self.length, self.name = length, f"adding-{length}"
        self.splits = Rows(draw=self._draw)

    def loss(self, prediction: Tensor, y: Tensor) -> Tensor:
        """Mean squared error at the last step; prediction (B, T, 1), y (B, 1)."""
        expect(prediction, (len(y), "T", self.output_size), "prediction")
        return (prediction[:, -1] - y).square().mean()

    def metrics(self, prediction: Tensor, y: Tensor) -> dict[str, float]:
        """{"mse"}: the mean squared error at the last step."""
        return {"mse": self.loss(prediction.detach(), y).item()}

    def baselines(self) -> dict[str, float]:
        """{"predict 1": 1/6}, the mean squared error of the best constant (derived above)."""
        return {"predict 1": 1 / 6}

    def _draw(self, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        values = torch.rand(size, self.length, generator=generator)
        # A step and a cyclic shift of 1..T-1 from it: distinct, and every pair equally likely.
        first = torch.randint(self.length, (size, 1), generator=generator)
        second = (first + torch.randint(1, self.length, (size, 1), generator=generator)) % self.length
        marked = torch.cat([first, second], dim=1)  # (B, 2)
        markers = torch.zeros_like(values).scatter_(1, marked, 1.0)
        x = torch.stack([values, markers], dim=-1)  # (B, T, 2)
        return x, values.gather(1, marked).sum(1, keepdim=True)


class CopyMemory:
    """Repeat `length` symbols after `delay` steps (Hochreiter & Schmidhuber 1997; Arjovsky et al. 2016).

    ::

        length=3, delay=5        . is the blank, id 0;  : is the delimiter, id 9

        x    3 7 1 . . . . : . . .        ids to remember, delay - 1 blanks, delimiter, `length` blanks
        y    . . . . . . . . 3 7 1        delay + length blanks, then the ids

    x and y (B, T) int64 ids with T = delay + 2 * length; `vocabulary` is 10, and so are `input_size` and `output_size`
    (the delimiter is never a label). All positions count in the loss.

    The baseline "no memory". A model that knows the time but remembers no symbol does best with certainty of
    the blank at the first delay + length positions, cross-entropy 0 each, and with equal probabilities of the
    8 symbols at the last `length` positions, ln 8 each. The mean over all T positions is

        length * ln 8 / (delay + 2 * length),        10 ln 8 / (delay + 20) with the usual length.

    Training sequences are drawn without end from the caller's generator. "valid" (1,000 sequences) and "test"
    (10,000) come from seeds of their own: the same symbols for every `delay`.

    Parameters
    ----------
    delay
        Steps between the last symbol read and the first symbol due, at least 1; the last of them shows the delimiter.
    length
        Number of symbols to remember, at least 1.
    """

    symbols = 8
    vocabulary = input_size = output_size = symbols + 2
    batch, batches, loss = draw_batch, run_through, symbol_loss  # methods, written once in splits.py and windows.py

    def __init__(self, delay: int, *, length: int = 10) -> None:
        expect_each(delay=delay, length=length)
        self.delay, self.length = delay, length
        self.name = f"copy-{self.delay}" + ("" if self.length == 10 else f"-{self.symbols}x{self.length}")
        # Only the symbols are kept; a long delay would fill the memory with blanks.
        self.splits = Rows(draw=self._draw, lay_out=self._lay_out)

    def metrics(self, prediction: Tensor, y: Tensor) -> dict[str, float]:
        """{"loss", "accuracy"}: the loss, and the share of right symbols at the last `length` positions."""
        loss = self.loss(prediction.detach(), y).item()  # first, because it checks the shape
        right = prediction[:, -self.length :].argmax(-1) == y[:, -self.length :]
        return {"loss": loss, "accuracy": right.double().mean().item()}

    def baselines(self) -> dict[str, float]:
        """{"no memory": length * ln 8 / (delay + 2 * length)}, a loss in nats (derived above)."""
        return {"no memory": self.length * math.log(self.symbols) / (self.delay + 2 * self.length)}

    def _draw(self, size: int, generator: torch.Generator) -> tuple[Tensor]:
        return (torch.randint(1, self.symbols + 1, (size, self.length), generator=generator),)

    def _lay_out(self, symbols: Tensor) -> tuple[Tensor, Tensor]:
        x = F.pad(symbols, (0, self.delay + self.length))
        x[:, -self.length - 1] = self.symbols + 1  # the delimiter, one step before the answer
        return x, F.pad(symbols, (self.delay + self.length, 0))


class Lag:
    """Name the symbol of `lag` steps ago, at every step.

    ::

        lag=3                       . is the label -100: nothing is due yet, the position does not count

        x    4 7 1 1 9 0 4 2        ids
        y    . . . 4 7 1 1 9        y_t = x_{t-3}

    x and y (B, T) int64; all 16 ids are independent and equally likely. No symbol says where it stands, so attention
    must find x_{t-lag} by its position, and a recurrent network must carry the last `lag` symbols in its state.

    The baseline "uniform guess": whoever does not see x_{t-lag} knows nothing about y_t, which is then right with
    probability 1/16 and costs ln 16 nats.

    Training sequences are drawn without end from the caller's generator. "valid" (1,000 sequences) and "test"
    (10,000) come from seeds of their own: the same x for every `lag`.

    Parameters
    ----------
    length
        T, more than `lag`.
    lag
        Steps between the symbol and its repetition, at least 1.
    """

    vocabulary = input_size = output_size = 16
    batch, batches = draw_batch, run_through  # methods, written once in splits.py and windows.py
    loss, metrics, draw_symbols = symbol_loss, symbol_metrics, draw_symbols

    def __init__(self, length: int, *, lag: int = 5) -> None:
        expect_each(lag=lag, length=(length, lag + 1))
        self.length, self.lag = length, lag
        self.name = f"lag-{self.length}" + ("" if self.lag == 5 else f"-{self.lag}x{self.vocabulary}")
        self.splits = Rows(draw=self.draw_symbols, lay_out=self._label)

    def baselines(self) -> dict[str, float]:
        """{"uniform guess": 1/16, an accuracy, "uniform guess loss": ln 16, in nats}."""
        return {"uniform guess": 1 / self.vocabulary, "uniform guess loss": math.log(self.vocabulary)}

    def _label(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x, F.pad(x[:, : -self.lag], (self.lag, 0), value=-100)  # which torch's cross-entropy leaves out


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
    """

    vocabulary = input_size = 6
    batch, batches = draw_batch, run_through  # methods, written once in splits.py and windows.py
    loss, metrics, draw_symbols = symbol_loss, symbol_metrics, draw_symbols

    def __init__(self, length: int, *, window: int = 5, question: str = "product") -> None:
        expect_each(question=(question, QUESTIONS), window=window, length=(length, window))
        self.length, self.window, self.question = length, window, question
        self.name = f"window-{question}-{self.length}" + ("" if self.window == 5 else f"-{self.window}")
        self._table = _tables()[question]
        self._start = 0 if question == "product" else 2  # the state before the first symbol
        self.output_size = len(self._table)
        self.splits = Rows(draw=self.draw_symbols, lay_out=self._label)

    def baselines(self) -> dict[str, float]:
        """{"uniform guess", "bag of the window"}, shares of right answers, and {"uniform guess loss"} in nats."""
        guess = 1 / self.output_size
        bag = self._best_from_a_bag()
        return {"uniform guess": guess, "bag of the window": bag, "uniform guess loss": -math.log(guess)}

    def _best_from_a_bag(self) -> float:
        """Of all windows, the share that has the answer most frequent among the orders of its symbols."""
        # The symbols read, sorted, and the state that they lead to: in how many orders.
        ways: Counter[tuple[tuple[int, ...], int]] = Counter({((), self._start): 1})
        for _ in range(self.window):
            longer: Counter[tuple[tuple[int, ...], int]] = Counter()
            for ((bag, state), orders), symbol in itertools.product(ways.items(), range(6)):
                longer[tuple(sorted((*bag, symbol))), int(self._table[state, symbol])] += orders
            ways = longer
        most: dict[tuple[int, ...], int] = {}
        for (bag, _), orders in ways.items():
            most[bag] = max(most.get(bag, 0), orders)
        return sum(most.values()) / 6**self.window

    def _label(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = torch.full_like(x, self._start)
        for back in range(self.window - 1, -1, -1):  # every position reads its window's symbols, the oldest first
            symbol = x[:, : self.length - back]
            y[:, back:] = self._table[y[:, back:], symbol]
        return x, y
