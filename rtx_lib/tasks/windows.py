"""What tasks on sequences of symbols share: loss and metrics, windows of a long one, streams, and counted baselines.

The functions whose first argument is a task are methods of several tasks. They read its ``splits`` and ``output_size``
and, where it has them, ``context``, the positions that do not count, and ``bits``, whether metrics are in bits, too.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from rtx_lib.shapes import at_hand, expect, expect_each
from rtx_lib.tasks.splits import expect_part

_PIECE = 10_000_000  # pairs counted at a time


class Windows:
    """The splits of a long sequence of ids, in windows x, y (B, T) int64 and in streams; y is one later than x.

    Parameters
    ----------
    splits
        The ids (N,) of each split, of any integer type: they are widened a batch at a time.
    length, context
        The windows that run through a split have `length` positions, and one begins `length - context` behind another.
        Every split must hold one.
    rest
        Whether what is left of a split is one shorter window at the end, or left out.
    """

    def __init__(self, splits: Mapping[str, Tensor], length: int, context: int = 0, *, rest: bool = True) -> None:
        longest = min(map(len, splits.values())) - 1
        if length > longest:
            raise ValueError(f"length must be at most {longest}, or a split holds no window, got {length}")
        self.splits, self.length, self.context, self.rest = splits, length, context, rest

    def batch(self, split: str, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """x, y (size, T): windows that begin anywhere in the split, drawn with replacement."""
        expect_part(split, size)
        ids = self.splits[split]
        starts = torch.randint(len(ids) - self.length, (size, 1), generator=generator)
        places = starts + torch.arange(self.length)  # (B, T)
        return ids[places].long(), ids[places + 1].long()

    def finite(self, split: str) -> Tensor:
        """All ids of a split."""
        return self.splits[split]

    def batches(self, split: str, size: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Run once through the windows of a split, `size` at a time; a shorter last one comes alone."""
        expect_part(split, size)
        return self._in_order(self.splits[split], size)

    def stream(self, split: str, size: int, length: int) -> Iterator[tuple[Tensor, Tensor]]:
        """The pieces of `streams`, for models that carry a state, which is their context."""
        expect_part(split, size)
        if self.context:
            raise ValueError(f"context must be 0 for streams, where every position counts, got {self.context}")
        return ((x.long(), y.long()) for x, y in streams(self.splits[split], size, length, split))

    def _in_order(self, ids: Tensor, size: int) -> Iterator[tuple[Tensor, Tensor]]:
        step = self.length - self.context
        x, y = (part.unfold(0, self.length, step) for part in (ids[:-1], ids[1:]))
        yield from ((a.long(), b.long()) for a, b in zip(x.split(size), y.split(size), strict=True))
        rest = ids[len(x) * step :].long()
        if self.rest and len(rest) > self.context + 1:
            yield rest[None, :-1], rest[None, 1:]


def streams(ids: Tensor, size: int, length: int, split: str) -> Iterator[tuple[Tensor, Tensor]]:
    """Cut `ids` into `size` parallel streams, and these into pieces x, y (size, length), in order.

    Row i of a piece goes on in row i of the next. What does not fill a last piece of all streams is left out.
    Raises ValueError, which names `split`, where `ids` does not hold one piece.
    """
    expect_each(size=size, length=length)
    steps = (len(ids) - 1) // size  # of each stream; the last symbol is a label only
    if length > steps:
        raise ValueError(f"length must be at most {steps}, a stream of {split!r} with size {size}, got {length}")
    x, y = (ids[first : first + size * steps].view(size, steps) for first in (0, 1))
    return ((x[:, at : at + length], y[:, at : at + length]) for at in range(0, steps - length + 1, length))


def read_streams(task: Any, split: str, size: int, length: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Cut a split into `size` parallel streams, and these into pieces x, y (size, length), in order: `streams`."""
    return task.splits.stream(split, size, length)


def draw_symbols(task: Any, size: int, generator: torch.Generator) -> tuple[Tensor]:
    """Rows (size, length) of independent symbols, all of the task's vocabulary equally likely."""
    return (torch.randint(task.vocabulary, (size, task.length), generator=generator),)


def symbol_loss(task: Any, prediction: Tensor, y: Tensor) -> Tensor:
    """Mean cross-entropy in nats over the positions that count; prediction (B, T, V) logits, y (B, T) ids.

    A label of -100 does not count, nor do the first positions where the task has a `context`. Raises ValueError for a
    prediction of wrong shape, or where no position is left.
    """
    expect(prediction, (*y.shape, task.output_size), "prediction")
    context = getattr(task, "context", 0)
    if y.shape[1] <= context or (at_hand(y) and not symbol_count(task, y)):
        raise ValueError(f"y must be longer than the context, {context}, and hold a label, got shape {tuple(y.shape)}")
    return F.cross_entropy(prediction[:, context:].flatten(0, 1), y[:, context:].flatten())


def symbol_count(task: Any, y: Tensor) -> int:
    """The number of labels in y (B, T), of which symbol_metrics gives means: a task's `weight`."""
    return int((y[:, getattr(task, "context", 0) :] >= 0).sum())


def symbol_metrics(task: Any, prediction: Tensor, y: Tensor) -> dict[str, float]:
    """{"loss", "accuracy"} over the positions that count: nats for a symbol, and the share of symbols named.

    Where the task has true `bits`, "bpc" too: bits for a symbol.
    """
    loss = symbol_loss(task, prediction.detach(), y).item()
    context = getattr(task, "context", 0)
    counts = y[:, context:] >= 0
    right = (prediction[:, context:].argmax(-1) == y[:, context:])[counts]
    bpc = {"bpc": loss / math.log(2)} if getattr(task, "bits", False) else {}
    return {"loss": loss, **bpc, "accuracy": right.double().mean().item()}


def token_loss(task: Any, prediction: Tensor, y: Tensor) -> Tensor:
    """Mean cross-entropy in nats over all tokens but padding, smoothed where the task has a `label_smoothing`.

    prediction (B, T, V) logits, y (B, T) ids.
    """
    expect(prediction, (*y.shape, task.output_size), "prediction")
    logits, share = prediction.flatten(0, 1), getattr(task, "label_smoothing", 0.0)
    return F.cross_entropy(logits, y.flatten(), ignore_index=task.pad, label_smoothing=share)


def token_count(task: Any, y: Tensor) -> int:
    """The number of tokens in labels y (B, T), padding left out: a task's `loss_weight`."""
    return int((y != task.pad).sum())


def sentence_metrics(task: Any, prediction: Tensor, y: Tensor) -> dict[str, float]:
    """{"loss", "accuracy", "exact"}: each is taken for every sentence, then averaged over the sentences.

    So a whole split has one value, whatever the size of its batches. For a sentence "loss" is the mean
    cross-entropy of its tokens in nats (`token_loss`, for training, is the mean over all tokens of the batch: there a
    long sentence weighs more), "accuracy" the share of its tokens (end included) with the largest logit, and
    "exact" 1 if all of them have it, else 0.

    "exact" is what greedy decoding reaches too (dropout off), though here the model reads the true target. If
    every token is right after the true ones before it, greedy decoding writes the first right, therefore reads
    the true one next, and so on to the end. If some are wrong, it is right up to the first of them and errs there.
    """
    prediction = expect(prediction, (*y.shape, task.output_size), "prediction").detach()
    counts = y != task.pad  # (B, T)
    tokens = counts.sum(1)
    nats = F.cross_entropy(prediction.transpose(1, 2), y, ignore_index=task.pad, reduction="none").double()
    right = (prediction.argmax(-1) == y) & counts
    return {
        "loss": (nats.sum(1) / tokens).mean().item(),
        "accuracy": (right.sum(1).double() / tokens).mean().item(),
        "exact": (right.sum(1) == tokens).double().mean().item(),
    }


def count_baselines(train: Tensor, scored: Tensor, symbols: int, *, pairs: bool = True) -> dict[str, float]:
    """{"uniform guess loss", "unigram loss"}, with `pairs` "bigram loss": nats over `scored` without its first symbol.

    Means of -ln p(b) and -ln p(b | a), p counted in `train` as `rtx_lib.tasks.CharacterText` defines it.
    """
    x, y = scored[:-1].long(), scored[1:].long()
    single = train.bincount(minlength=symbols).double() + 1
    unigram = -(single / single.sum()).log()[y].mean().item()
    losses = {"uniform guess loss": math.log(symbols), "unigram loss": unigram}
    if pairs:
        both = torch.ones(symbols**2, dtype=torch.float64)
        for piece in train.unfold(0, 2, 1).split(_PIECE):  # 90 million ids in int64 would be 720 MB
            both += (piece[:, 0].int() * symbols + piece[:, 1]).bincount(minlength=symbols**2)
        both = both.view(symbols, symbols)
        losses["bigram loss"] = -(both / both.sum(1, keepdim=True)).log()[x, y].mean().item()
    return losses
