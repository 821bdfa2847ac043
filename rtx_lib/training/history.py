"""What a training run leaves behind, and the error by which it ends early."""

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class History:
    """What a training run left behind, one entry a step.

    Attributes
    ----------
    step
        Step numbers from 1.
    loss
        Training loss.
    gradient_norm
        Gradient norm before clipping.
    lr
        Learning rate.
    evaluations
        One dict for each evaluation: ``step``, ``split`` and the task's metrics.
    seconds
        Wall-clock time of training and evaluation, over all sittings of a resumed run.
    """

    step: list[int] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    gradient_norm: list[float] = field(default_factory=list)
    lr: list[float] = field(default_factory=list)
    evaluations: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, loss: float, gradient_norm: float, lr: float, checkpoint: Path | None = None) -> None:
        """Append the next step; ``TrainingDiverged``, with this last ``checkpoint``, if a number is not finite."""
        step = len(self.step) + 1
        for what, number in (("loss", loss), ("gradient norm", gradient_norm)):
            if not math.isfinite(number):
                raise TrainingDiverged(f"{what} is {number}", step, checkpoint, self)
        self.step.append(step)
        self.loss.append(loss)
        self.gradient_norm.append(gradient_norm)
        self.lr.append(lr)

    def curve(self, metric: str) -> tuple[list[int], list[float]]:
        """Steps and values of one metric over the evaluations."""
        rows = [row for row in self.evaluations if metric in row]
        return [row["step"] for row in rows], [row[metric] for row in rows]


class TrainingDiverged(ArithmeticError):
    """The loss or the gradient is no longer finite.

    Attributes
    ----------
    step
        The step at which it was seen; its update was not made.
    history
        Everything up to the step before.
    """

    def __init__(self, what: str, step: int, checkpoint: Path | None, history: "History") -> None:
        good = checkpoint if checkpoint and checkpoint.exists() else None
        rescue = f"the last good checkpoint is {good}" if good else "no checkpoint was written"
        super().__init__(f"{what} at step {step}; {rescue}")
        self.step, self.history = step, history
