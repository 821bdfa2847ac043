"""State tracking: words of a group, whose product so far is asked for at every step."""

import itertools
import math

import torch
from torch import Tensor

from rtx_lib.shapes import expect_each
from rtx_lib.tasks.splits import Rows, draw_batch, run_through
from rtx_lib.tasks.windows import draw_symbols, symbol_loss, symbol_metrics

THINGS = {"S3": 3, "S5": 5}


def prefix_metrics(task: "Parity | GroupWords", prediction: Tensor, y: Tensor) -> dict[str, float]:
    """{"loss", "accuracy", "last quarter", "exact"}; a method of both tasks.

    The loss in nats and the share of right answers over all steps, the share over the last quarter of the steps
    (of 256 those from 193 on, of fewer than 4 the last one), and the share of sequences without any error.
    """
    metrics = symbol_metrics(task, prediction, y)  # first, because it checks the shape
    right = prediction.argmax(-1) == y  # (B, T)
    late = right[:, -max(1, y.shape[1] // 4) :]
    shares = {"last quarter": late, "exact": right.all(1)}
    return metrics | {name: share.double().mean().item() for name, share in shares.items()}


def prefix_baselines(task: "Parity | GroupWords") -> dict[str, float]:
    """{"uniform guess", "last symbol"}, shares of right answers, and {"uniform guess loss"} in nats; a method of both.

    Given one symbol alone, all products are equally likely from the second step on. So whoever knows the time and the
    last symbol is right at the first step and in 1/n of cases later, n being the number of elements.
    """
    guess = 1 / task.output_size
    shares = {"uniform guess": guess, "last symbol": guess + (1 - guess) / task.length}
    return shares | {"uniform guess loss": math.log(task.output_size)}


class Parity:
    """Say at every step whether the number of ones so far is odd.

    ::

        x    1 0 0 1 1 1 0 1        bits
        y    1 1 1 0 1 0 0 1        y_t = (x_1 + ... + x_t) mod 2

    x and y (B, T) int64; all bits are independent and equally likely, and all steps count. One bit of memory is enough,
    and it must never be lost: each 1 turns it over, however long ago the sequence began. No window helps, for without
    x_1 the rest says nothing about any y_t.

    The baselines are those of :func:`prefix_baselines` with n = 2.

    Training sequences are drawn without end from the caller's generator. "valid" (1,000 sequences) and "test"
    (10,000) come from seeds of their own and depend on `length` only.

    Parameters
    ----------
    length
        T, at least 1.
    """

    vocabulary = input_size = output_size = 2
    batch, batches, draw_symbols = draw_batch, run_through, draw_symbols  # methods, written once; pickle asks for names
    loss, metrics, baselines = symbol_loss, prefix_metrics, prefix_baselines

    def __init__(self, length: int) -> None:
        expect_each(length=length)
        self.length, self.name = length, f"parity-{length}"
        self.splits = Rows(draw=self.draw_symbols, lay_out=self._lay_out)

    def _lay_out(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x, x.cumsum(1) % 2


class GroupWords:
    """Say at every step how all rearrangements so far, one after the other, have left the things.

    ::

        group="S3"        three things a b c; B swaps the last two, C the first two

        x         B      C      C      B   ...        ids 0..5
                a c b  c a b  a c b  a b c            what lies where
        y         B      E      B      A              the one rearrangement that comes to the same

    The symbols are all n! permutations of n things, in the order of ``itertools.permutations``, A the one that leaves
    all in place: y_t is x_1, then x_2, and so on to x_t, as one permutation. x and y (B, T) int64; all ids are
    independent and equally likely, and all steps count. In S3 one rearrangement after another is not the same as the
    other way round. S5 cannot be taken apart into steps that commute, as S3 can.

    Baselines: those of :func:`prefix_baselines`, and "sign alone", 2/n!, the share of right answers of whoever keeps
    whether the number of odd permutations so far is odd, which is parity, and guesses the rest.

    Training sequences are drawn without end from the caller's generator. "valid" (1,000 sequences) and "test"
    (10,000) come from seeds of their own.

    Parameters
    ----------
    length
        T, at least 1.
    group
        "S3", 6 symbols, or "S5", 120.
    """

    batch, batches, draw_symbols = draw_batch, run_through, draw_symbols  # methods, written once; pickle asks for names
    loss, metrics = symbol_loss, prefix_metrics

    def __init__(self, length: int, *, group: str = "S3") -> None:
        expect_each(group=(group, list(THINGS)), length=length)
        self.length, self.group, self.name = length, group, f"words-{group}-{length}"
        self.permutations = tuple(itertools.permutations(range(THINGS[group])))
        self.vocabulary = self.input_size = self.output_size = len(self.permutations)
        self._table = _products(self.permutations)
        self.splits = Rows(draw=self.draw_symbols, lay_out=self._label)

    def baselines(self) -> dict[str, float]:
        """{"uniform guess", "last symbol", "sign alone", "uniform guess loss"} (defined above)."""
        return {**prefix_baselines(self), "sign alone": 2 / self.output_size}

    def _label(self, x: Tensor) -> tuple[Tensor, Tensor]:
        products = [x[:, 0]]
        for symbol in x[:, 1:].unbind(1):
            products.append(self._table[products[-1], symbol])
        return x, torch.stack(products, dim=1)


def _products(permutations: tuple[tuple[int, ...], ...]) -> Tensor:
    """[p, q], the place in the list of the permutation that is p, then q; (n!, n!).

    A permutation p puts at place i what lay at place p[i].
    """
    place = {permutation: number for number, permutation in enumerate(permutations)}
    return torch.tensor([[place[tuple(p[i] for i in q)] for q in permutations] for p in permutations])
