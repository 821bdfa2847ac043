"""Text in both directions: at every position name the next symbol and the one before, as ELMo is trained to.

The functions whose first argument is a task are methods of any task whose labels are `neighbours`.
"""

import math
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from rtx_lib.shapes import expect
from rtx_lib.tasks.windows import Windows, count_baselines, symbol_count

NONE = -100  # the label of a position that has none, which torch's cross-entropy leaves out


def neighbours(x: Tensor, padding: int | None = None) -> Tensor:
    """The next symbol and the one before, (B, T, 2), of ids x (B, T), as labels: -100 where there is none.

    With an id for padding, which stands behind the symbols of a row, it is no symbol and has no neighbours.
    """
    y = torch.stack([F.pad(x[:, 1:], (0, 1), value=NONE), F.pad(x[:, :-1], (1, 0), value=NONE)], dim=-1)
    return y if padding is None else y.masked_fill((x == padding)[..., None] | (y == padding), NONE)


def both_ways_loss(task: Any, prediction: Tensor, y: Tensor) -> Tensor:
    """Half the sum of the two directions' mean cross-entropies in nats; prediction (B, T, 2V) logits, y (B, T, 2) ids.

    A label of -100 does not count. Raises ValueError for a prediction of wrong shape.
    """
    return torch.stack(_losses(task, prediction, y)).mean()


def both_ways_metrics(task: Any, prediction: Tensor, y: Tensor) -> dict[str, float]:
    """{"loss", "forward loss", "backward loss", "accuracy"}: nats for a symbol, and the share of all labels named.

    Where the task has true `bits`, "bpc" too: bits for a symbol, of the loss.
    """
    forward, backward = (loss.item() for loss in _losses(task, prediction.detach(), y))
    loss = (forward + backward) / 2
    bpc = {"bpc": loss / math.log(2)} if getattr(task, "bits", False) else {}
    right = (prediction.unflatten(-1, (2, -1)).argmax(-1) == y)[y >= 0].double().mean().item()
    return {"loss": loss, "forward loss": forward, "backward loss": backward, **bpc, "accuracy": right}


def _losses(task: Any, prediction: Tensor, y: Tensor) -> list[Tensor]:
    expect(prediction, (*y.shape[:2], task.output_size), "prediction")
    logits = prediction.unflatten(-1, (2, -1))  # (B, T, 2, V)
    return [F.cross_entropy(logits[:, :, way].flatten(0, 1), y[..., way].flatten()) for way in (0, 1)]


def _in_both(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """All symbols (B, T + 1) of windows x, y (B, T), and their neighbours."""
    x = torch.cat([x, y[:, -1:]], dim=1)
    return x, neighbours(x)


class BothNeighbours:
    """A task on a text, made one for a model of both directions.

    ::

        the task's window    x  t h e _ c a        y  h e _ c a t
        x                    t h e _ c a t         all its symbols
        next                 h e _ c a t           y[..., 0]
        before                 t h e _ c a         y[..., 1]

    x (B, T + 1) int64 ids, y (B, T + 1, 2), with -100 where a row ends. A prediction is (B, T + 1, 2V): V logits of the
    next symbol, then V of the one before. At position t the first may depend on symbols up to t and the second on
    symbols from t on; a model whose halves see more has seen the answer.

    The loss is half the sum of the mean cross-entropies of the two directions, in nats, as in bilm-tf. Both have the
    same number of labels, so it is the mean over all of them. "forward loss" is what the task itself would say of the
    first half: the number that a model of one direction has there.

    There are no streams. What a model knows of the text behind a window cannot be handed on to the window that
    follows, and the authors, who train with carried states, hand on those of the sentence before in both directions.

    Parameters
    ----------
    task
        :class:`~rtx_lib.tasks.texts.CharacterText`, :class:`~rtx_lib.tasks.texts.PennTreebank` or
        :class:`~rtx_lib.tasks.texts.Enwik8`, or another with such windows, in which every position counts.
    """

    loss, metrics, weight = both_ways_loss, both_ways_metrics, symbol_count

    def __init__(self, task: Any) -> None:
        if not isinstance(getattr(task, "splits", None), Windows):
            raise ValueError(f"task must read windows of a text, got {type(task).__name__}")
        if task.splits.context:
            raise ValueError(f"task must count every position, got a context of {task.splits.context}")
        self.bits = getattr(task, "bits", False)
        self.task, self.name = task, f"{task.name}-both-ways"
        self.vocabulary = self.input_size = task.output_size
        self.output_size = 2 * task.output_size

    def batch(self, split: str, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """x and y of `size` windows."""
        return _in_both(*self.task.batch(split, size, generator))

    def batches(self, split: str, size: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Run once through the windows of a split, `size` at a time."""
        return (_in_both(x, y) for x, y in self.task.batches(split, size))

    def finish(self, metrics: dict[str, float]) -> dict[str, float]:
        """With what the task adds to the metrics of a whole split; a perplexity is that of the loss."""
        return getattr(self.task, "finish", dict)(metrics)

    def baselines(self) -> dict[str, float]:
        """The task's own, each the mean over both directions; for the backward one it counts from the text's end."""
        forward, windows = self.task.baselines(), list(self.task.batches("test", 1_000))
        scored = torch.cat([*(x.flatten() for x, _ in windows), windows[-1][1][-1, -1:]])
        texts = (self.task.splits.splits["train"].flip(0), scored.flip(0))
        backward = count_baselines(*texts, self.vocabulary, pairs="bigram loss" in forward)
        return {name: (forward[name] + backward[name]) / 2 for name in forward}
