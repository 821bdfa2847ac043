"""What fine-tuning needs beside a task and a model: GPT's auxiliary loss."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from rtx_lib.models.gpt import fine_tuning_loss


class WithAuxiliary:
    """A task of sentences for a GPT that goes on to name the next words (Radford et al. 2018, eq. 5).

    A label y (B, 1 + T) is the class and then the ids of the sentence; a prediction is (B, T, V + C), as
    ``GPTClassifier`` with ``auxiliary`` gives it. The loss that is trained adds ``weight`` times
    that of the words; "loss" and "accuracy" of the metrics are those of the classes alone.

    Parameters
    ----------
    task
        A task of labelled sentences.
    weight
        lambda.
    """

    def __init__(self, task: Any, weight: float = 0.5) -> None:
        self.task, self.weight_of_words = task, weight
        self.name = f"{task.name}-auxiliary"
        self.vocabulary = self.input_size = task.vocabulary
        self.output_size, self.classes, self.words = task.output_size, task.classes, task.words

    def batch(self, split: str, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """x and y of `size` sentences."""
        return _with_ids(*self.task.batch(split, size, generator))

    def batches(self, split: str, size: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Run once through a split."""
        return (_with_ids(x, y) for x, y in self.task.batches(split, size))

    def loss(self, prediction: Tensor, y: Tensor) -> Tensor:
        """L_2 + lambda L_1, both means, to be made small."""
        words, classes = prediction[..., : self.vocabulary], prediction[:, -1, self.vocabulary :]
        return fine_tuning_loss(words, classes, y[:, 1:], y[:, 0], weight=self.weight_of_words, average="token")

    def metrics(self, prediction: Tensor, y: Tensor) -> dict[str, float]:
        """Those of the task."""
        return self.task.metrics(prediction[..., self.vocabulary :], y[:, 0])

    def baselines(self) -> dict[str, float]:
        """Those of the task."""
        return self.task.baselines()


def _with_ids(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return x, torch.cat([y[:, None], x], dim=1)
