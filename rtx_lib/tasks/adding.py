"""The adding problem: remember two numbers across a long sequence of distractors."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from rtx_lib.tasks.splits import Rows, check_integer, check_prediction


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
    (10,000) come from seeds of their own and depend on `length` and `halves` only.

    Parameters
    ----------
    length
        T, at least 2.
    halves
        False puts the markers at two distinct steps anywhere, every pair equally likely; True puts one in each half,
        steps 1..T//2 and T//2+1..T (Arjovsky, Shah & Bengio 2016).

    Raises
    ------
    ValueError
        For a `length` below 2, an unknown split, a size below 1, or a prediction of wrong shape.
    """

    input_size = 2
    output_size = 1
    vocabulary = None

    def __init__(self, length: int, *, halves: bool = False) -> None:
        self.length = check_integer("length", length, 2)
        self.halves = halves
        self.name = f"adding-{self.length}" + ("-halves" if halves else "")
        self._rows = Rows(lambda x, y: (x, y), draw=self._draw)

    def batch(self, split: str, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """x (size, T, 2), y (size, 1): fresh sequences for "train", else rows of the finite split."""
        return self._rows.batch(split, size, generator)

    def batches(self, split: str, size: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Run once through "valid" or "test", `size` sequences at a time."""
        return self._rows.batches(split, size)

    def loss(self, prediction: Tensor, y: Tensor) -> Tensor:
        """Mean squared error at the last step; prediction (B, T, 1), y (B, 1)."""
        check_prediction(prediction, len(y), self.output_size)
        return (prediction[:, -1] - y).square().mean()

    def metrics(self, prediction: Tensor, y: Tensor) -> dict[str, float]:
        """{"mse"}: the mean squared error at the last step."""
        return {"mse": self.loss(prediction.detach(), y).item()}

    def baselines(self) -> dict[str, float]:
        """{"predict 1": 1/6}, the mean squared error of the best constant (derived above)."""
        return {"predict 1": 1 / 6}

    def _draw(self, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        length, half = self.length, self.length // 2
        values = torch.rand(size, length, generator=generator)
        if self.halves:
            first = torch.randint(half, (size, 1), generator=generator)
            second = torch.randint(half, length, (size, 1), generator=generator)
        else:
            # A step and a cyclic shift of 1..T-1 from it: distinct, and every pair equally likely.
            first = torch.randint(length, (size, 1), generator=generator)
            second = (first + torch.randint(1, length, (size, 1), generator=generator)) % length
        marked = torch.cat([first, second], dim=1)  # (B, 2)
        markers = torch.zeros(size, length).scatter_(1, marked, 1.0)
        x = torch.stack([values, markers], dim=-1)  # (B, T, 2)
        y = values.gather(1, marked).sum(1, keepdim=True)  # (B, 1)
        return x, y
