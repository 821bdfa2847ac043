"""Binary addition: a rule of two lines, learned from short sums and asked of long ones."""

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from rtx_lib.shapes import expect_each
from rtx_lib.tasks.splits import SEEDS, SIZES, Rows, draw_batch, run_through
from rtx_lib.tasks.windows import symbol_count, symbol_loss


class BinaryAddition:
    """Add two binary numbers, the last digits first (Kaiser and Sutskever 2016).

    ::

        bits=5, 13 + 7 = 20       least significant digit first: a carry travels to the right

        first       1 0 1 1 0 .
        second      1 1 1 0 0 .     . is a 0 in both: the place of the last carry
        x           4 3 4 2 1 1     both digits in one symbol: 1, 2, 3, 4 stand for 0+0, 1+0, 0+1, 1+1
        y           0 0 1 0 1 0     the sum's digit in the same place

    x (B, T) int64 ids, y (B, T) int64 digits. Numbers of n digits take n + 1 places; behind them the shorter sums of a
    batch have the id 0, padding, and the label -100, which does not count. `vocabulary` is 5. Whoever reads from left
    to right has all that is needed for a digit when it is due, and must remember one bit.

    Training sums have 1 to `bits` digits, each number of them equally likely, and all lengths in one batch: so short
    sums are there from the start, instead of a curriculum that moves on to longer ones. The digits are independent and
    equally likely. "valid" (1,000 sums) and "test" (10,000) have `bits` digits and come from seeds of their own. Of 8
    digits there are 4^8 = 65,536 sums: a long training sees most of them, and only longer ones test the rule.

    In random sums a carry passes one place on average, and hardly ever twenty, so a model may answer most long sums
    without a rule for how carries travel. With `carry`, "valid" and "test" hold sums in which one carry starts anywhere
    (1+1), travels through so many places (1+0 or 0+1 in each) and comes to rest in the next (0+0); nowhere else is a
    carry.

    Baselines, for who adds without carrying: "no carry" is the share of digits right and "no carry, whole sums" of
    sums. A carry comes into place i, counted from 0, with probability (1 - 2^-i) / 2, and none comes anywhere if no
    place has 1+1, which has the probability (3/4)^bits.

    Parameters
    ----------
    bits
        Most digits of a number trained on, and the digits of all that are tested, at least 1.
    carry
        If given, the places through which one carry travels in "valid" and "test", 1 to bits - 1.
    """

    vocabulary = input_size = 5
    output_size = 2
    batch, batches = draw_batch, run_through  # methods, written once in splits.py and windows.py
    loss, loss_weight = symbol_loss, symbol_count

    def __init__(self, bits: int, *, carry: int | None = None) -> None:
        expect_each(bits=bits, carry=(carry, f"None or [1, {bits})"))
        self.bits, self.carry = bits, carry
        self.name = f"addition-{self.bits}" + ("" if carry is None else f"-carry-{carry}")
        draw = self._random if carry is None else self._planted
        tested = {s: (draw(SIZES[s], torch.Generator().manual_seed(SEEDS[s])),) for s in ("valid", "test")}
        self.splits = Rows(tested, self._draw, self._add)

    def sums(self, pairs: Sequence[tuple[int, int]]) -> tuple[Tensor, Tensor]:
        """x and y of sums of one's own choice, such as [(13, 7)], with `bits` digits.

        Raises ValueError for no pair, or a number that is not in 0..2^bits - 1.
        """
        if not pairs or not all(0 <= number < 2**self.bits for pair in pairs for number in pair):
            raise ValueError(f"pairs must hold pairs of numbers from 0 to {2**self.bits - 1}, got {pairs!r}")
        rows = [[1 + (a >> i & 1) + 2 * (b >> i & 1) for i in range(self.bits)] for a, b in pairs]
        return self._add(torch.tensor(rows))

    def metrics(self, prediction: Tensor, y: Tensor) -> dict[str, float]:
        """{"loss", "accuracy", "exact"}: nats for a digit, and the shares of right digits and of whole sums."""
        loss = self.loss(prediction.detach(), y).item()  # first, because it checks the shape
        right, counts = prediction.argmax(-1) == y, y >= 0
        exact = (right | ~counts).all(1).double().mean().item()
        return {"loss": loss, "accuracy": right[counts].double().mean().item(), "exact": exact}

    def baselines(self) -> dict[str, float]:
        """{"no carry", "no carry, whole sums"}, shares of right digits and sums (derived above), and
        {"uniform guess loss"}: ln 2 nats."""
        if self.carry is None:
            digits = sum((1 + 2**-i) / 2 for i in range(self.bits + 1)) / (self.bits + 1)
            sums = 0.75**self.bits
        else:
            digits, sums = 1 - (self.carry + 1) / (self.bits + 1), 0.0
        return {"no carry": digits, "no carry, whole sums": sums, "uniform guess loss": math.log(2)}

    def _draw(self, size: int, generator: torch.Generator) -> tuple[Tensor]:
        lengths = torch.randint(1, self.bits + 1, (size, 1), generator=generator)
        return (self._random(size, generator).masked_fill(torch.arange(self.bits) >= lengths, 0),)

    def _random(self, size: int, generator: torch.Generator) -> Tensor:
        return torch.randint(1, 5, (size, self.bits), generator=generator)

    def _planted(self, size: int, generator: torch.Generator) -> Tensor:
        assert self.carry is not None
        start = torch.randint(self.bits - self.carry, (size, 1), generator=generator)
        place = torch.arange(self.bits) - start  # counted from the start of the carry
        x = torch.randint(1, 4, (size, self.bits), generator=generator)  # no 1+1
        passing = torch.randint(2, 4, (size, self.bits), generator=generator)
        x = torch.where((place > 0) & (place <= self.carry), passing, x)
        return x.masked_fill(place == 0, 4).masked_fill(place == self.carry + 1, 1)

    def _add(self, x: Tensor) -> tuple[Tensor, Tensor]:
        lengths = (x != 0).sum(1, keepdim=True)
        x = F.pad(x, (0, 1)).scatter_(1, lengths, 1)[:, : int(lengths.max()) + 1]
        y, carry = torch.empty_like(x), torch.zeros_like(x[:, 0])
        for place, pair in enumerate((x.clamp(min=1) - 1).unbind(1)):
            total = pair % 2 + pair // 2 + carry
            y[:, place], carry = total % 2, total // 2
        return x, y.masked_fill(x == 0, -100)
