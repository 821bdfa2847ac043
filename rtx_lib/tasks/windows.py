"""What tasks on one long sequence of symbols share: windows of it, streams, and counted baselines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from rtx_lib.tasks.splits import check_integer, check_prediction


def random_windows(ids: Tensor, length: int, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """x, y (size, length): windows that begin anywhere in `ids` (N,), drawn with replacement; y is one later."""
    size = check_integer("size", size, 1)
    starts = torch.randint(len(ids) - length, (size, 1), generator=generator)
    places = starts + torch.arange(length)  # (B, T)
    return ids[places], ids[places + 1]


def whole_windows(ids: Tensor, length: int, step: int | None = None) -> tuple[Tensor, Tensor]:
    """x, y (windows, length): views of all windows that begin 0, step, 2 step, ... and are whole.

    `step` is `length` unless given. At least one window must fit.
    """
    x, y = (part.unfold(0, length, step or length) for part in (ids[:-1], ids[1:]))
    return x, y


def streams(ids: Tensor, size: int, length: int, split: str) -> Iterator[tuple[Tensor, Tensor]]:
    """Cut `ids` into `size` parallel streams, and these into pieces x, y (size, length), in order.

    Row i of a piece goes on in row i of the next. What does not fill a last piece of all streams is left out.
    Raises ValueError, which names `split`, where `ids` does not hold one piece.
    """
    size, length = check_integer("size", size, 1), check_integer("length", length, 1)
    steps = (len(ids) - 1) // size  # of each stream; the last symbol is a label only
    if length > steps:
        raise ValueError(f"length is {length}; with size {size} it must be at most {steps}, a stream of {split!r}")
    x, y = (ids[first : first + size * steps].view(size, steps) for first in (0, 1))
    return ((x[:, at : at + length], y[:, at : at + length]) for at in range(0, steps - length + 1, length))


def symbol_loss(prediction: Tensor, y: Tensor, symbols: int, context: int = 0) -> Tensor:
    """Mean cross-entropy in nats over the positions from `context` on; prediction (B, T, V) logits, y (B, T) ids.

    Raises ValueError for a prediction of wrong shape, or where no position is left to score.
    """
    check_prediction(prediction, len(y), symbols, y.shape[1])
    if y.shape[1] <= context:
        raise ValueError(f"y has shape {tuple(y.shape)}; it must be longer than the context, {context}")
    return F.cross_entropy(prediction[:, context:].flatten(0, 1), y[:, context:].flatten())


def symbol_metrics(prediction: Tensor, y: Tensor, symbols: int, context: int = 0) -> dict[str, float]:
    """{"loss", "bpc", "accuracy"}: nats and bits for a symbol, and the share of symbols named, as `symbol_loss`."""
    prediction = prediction.detach()
    loss = symbol_loss(prediction, y, symbols, context).item()
    accuracy = (prediction[:, context:].argmax(-1) == y[:, context:]).double().mean().item()
    return {"loss": loss, "bpc": loss / math.log(2), "accuracy": accuracy}


def unigram_loss(train: Tensor, y: Tensor, symbols: int) -> float:
    """Mean -ln p(b) in nats over the labels y, p(b) = (n(b) + 1) / (n + V) counted in `train`."""
    single = train.bincount(minlength=symbols).double() + 1
    return -(single / single.sum()).log()[y.long()].mean().item()


def bigram_loss(train: Tensor, x: Tensor, y: Tensor, symbols: int) -> float:
    """Mean -ln p(b | a) in nats over labels y after x, p(b | a) = (n(a, b) + 1) / (n(a) + V) counted in `train`."""
    train = train.int()  # halves the memory of what follows, for V up to 46,340
    pairs = (train[:-1] * symbols + train[1:]).bincount(minlength=symbols**2).view(symbols, symbols).double() + 1
    return -(pairs / pairs.sum(1, keepdim=True)).log()[x.long(), y.long()].mean().item()


def check_ids(ids: Tensor | Sequence[int], symbols: int) -> list[int]:
    """The numbers of one sequence of ids (T,); ValueError for another shape or an id that is not in 0..V-1."""
    ids = torch.as_tensor(ids)
    if ids.ndim != 1:
        raise ValueError(f"ids has shape {tuple(ids.shape)}; it must be one text, (T,)")
    numbers = ids.tolist()
    wrong = [number for number in numbers if not 0 <= number < symbols]
    if wrong:
        raise ValueError(f"ids holds {wrong[0]}; every id must be in 0..{symbols - 1}")
    return numbers
