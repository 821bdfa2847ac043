"""Text in both directions: at every position name the next symbol and the one before, as ELMo is trained to.

The functions whose first argument is a task are methods of any task whose labels are `neighbours`.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from rtx_lib.shapes import expect

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

    "forward loss" is the number that a model of one direction has on the same text.
    """
    forward, backward = (loss.item() for loss in _losses(task, prediction.detach(), y))
    loss = (forward + backward) / 2
    right = (prediction.unflatten(-1, (2, -1)).argmax(-1) == y)[y >= 0].double().mean().item()
    return {"loss": loss, "forward loss": forward, "backward loss": backward, "accuracy": right}


def _losses(task: Any, prediction: Tensor, y: Tensor) -> list[Tensor]:
    expect(prediction, (*y.shape[:2], task.output_size), "prediction")
    logits = prediction.unflatten(-1, (2, -1))  # (B, T, 2, V)
    return [F.cross_entropy(logits[:, :, way].flatten(0, 1), y[..., way].flatten()) for way in (0, 1)]
