"""A table of one's own as a task: sequences of numbers, and a class or a number for each of them or at each step."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from rtx_lib.shapes import expect, expect_each
from rtx_lib.tasks.arrays import kind_of, read_groups, read_labels, read_steps
from rtx_lib.tasks.splits import SPLITS, NoData, Rows, draw_batch, run_through
from rtx_lib.tasks.vocabulary import IGNORED

KINDS, WAYS = ("classes", "numbers"), ("row", "group", "time")
KEPT: tuple[str, ...] = ("name", "kind", "classes", "every", "length", "input_size", "output_size", "found")
KEPT += ("middle", "width", "mean", "spread")  # of x, by column, and of y


class TableTask:
    """Name a class or a number for each sequence of your own table, or at each of its steps.

    ::

        x   (N, T, D)                  N sequences of T steps of D numbers
            (N, T)                     each row is a sequence of T steps of one number
            a list of N                sequences (T_i, D) or (T_i,), of any lengths
            (R, D) or (R,), length=L   a long table, a row a step, cut into sequences of L rows
        y   N labels                   one a sequence, asked for at its last step
            (N, T), a list, or R       one a step

        x    0.3  0.5  0.1   .         y    .    .    b    .       one a sequence: what counts is where it ends
             0.2  0.9  0.4  0.7             .    .    .    a
             0.3  0.5  0.1   .              b    a    a    .       one a step
             0.2  0.9  0.4  0.7             a    a    b    b

    Both may be numpy arrays, torch tensors, pandas frames or lists. A batch is x (B, T, D) float32 and y (B, T), padded
    behind the end to the longest of the batch: x with 0, y with -100 (classes) or NaN (numbers), where nothing counts.
    No model that reads forward sees padding before its answer; one that reads both ways sees zeros.

    All numbers are scaled by the mean and standard deviation of the training part, column by column, numbers to be
    named too. So a loss of 1 is that of always naming the mean; "rmse" is in the units of y. Metrics weigh all labels
    alike, whatever ``weights`` does to the loss. ``print(task)`` tells what was found.

    ``rows["test"]`` are the numbers of the sequences of a split.

    Baselines on "test", shares of right answers or, with "rmse", errors: "most frequent class" or "mean rmse", of
    training; with a label a step "label before", which is not told to a model; for one number from sequences of one
    column "last value rmse".

    Parameters
    ----------
    x, y
        As above. Every class must occur in training.
    kind
        ``"classes"`` or ``"numbers"``. None: classes where labels are words, truth values or at most 20 different whole
        numbers, and it is printed which.
    length
        Rows of one sequence, if x is a long table. What is left at an end is a shorter one.
    groups
        To which machine, person or run each sequence, or row of a long table, belongs. No sequence has rows of two.
    by
        What goes to "train", "valid" and "test". ``"row"``: any sequences, of each class its share. ``"group"``: whole
        groups. ``"time"``: the first, the next and the last, of each group if there are groups. None: groups if there
        are, else time for a long table, else rows.
    splits
        The shares of the three splits. Each has a sequence, or a group, at least.
    weights
        Of the classes in the loss: None, or ``"balanced"``, so that all count alike however rare.
    seed
        Of the split.
    """

    vocabulary = None
    batch, batches = draw_batch, run_through  # methods, written once in splits.py

    def __init__(
        self,
        x: Any,
        y: Any,
        kind: str | None = None,
        *,
        length: int | None = None,
        groups: Any = None,
        by: str | None = None,
        splits: Sequence[float] = (0.7, 0.15, 0.15),
        weights: str | None = None,
        seed: int = 0,
    ) -> None:
        expect_each(kind=(kind, (None, *KINDS)), by=(by, (None, *WAYS)), weights=(weights, (None, "balanced")))
        expect_each(length=1 if length is None else length, seed=(seed, 0))
        if len(splits) != 3 or not min(splits) > 0 or abs(sum(splits) - 1) > 1e-6:
            raise ValueError(f"splits must be three positive numbers whose sum is 1, got {splits!r}")
        if by == "group" and groups is None:
            raise ValueError("groups must be given with by='group', got None")
        flat, sizes = read_steps(x, length)
        labels, self.every = read_labels(y, sizes)
        group = np.zeros(len(sizes), int) if groups is None else read_groups(groups, len(sizes))
        if length:
            order = group.argsort(kind="stable")  # the rows of one machine may stand between those of others
            flat, labels, group, self.every = flat[order], labels[order], group[order], True
            sizes = _windows(group, length)
        starts = np.cumsum(sizes) - sizes
        group = group[starts] if length else group
        self.kind, labels = kind_of(labels, kind)
        self.by = by or ("group" if groups is not None else "time" if length else "row")
        once = labels[starts] if self.kind == "classes" and not self.every else np.zeros(len(starts))
        part = _divide(self.by, group, once, splits, seed)
        self.name, self.length, self.input_size = f"table-{self.kind}", length, flat.shape[1]
        where, count = torch.from_numpy(starts), torch.from_numpy(sizes)
        self.rows = {name: torch.from_numpy(np.flatnonzero(part == number)) for number, name in enumerate(SPLITS)}
        self.splits = Rows({name: (where[at], count[at]) for name, at in self.rows.items()}, lay_out=self._cut)
        told = np.arange(len(flat)) if self.every else starts  # where labels are read, so that each counts once
        self._take(flat, labels, np.repeat(part, sizes) == 0, told)
        self.weights = None if weights is None else self._balanced()
        self.found = self._tell()
        if kind is None:
            print(self.found)

    def __repr__(self) -> str:
        """What was found, in a line."""
        return self.found

    @classmethod
    def from_configuration(cls, configuration: dict[str, Any]) -> "TableTask":
        """The task without its data: what ``load`` needs."""
        task = cls.__new__(cls)
        vars(task).update(configuration, splits=NoData(configuration["name"]), weights=None)
        return task

    def configuration(self) -> dict[str, Any]:
        """What ``save`` keeps: all but the data."""
        return {name: getattr(self, name) for name in KEPT}

    def encode(self, x: Any) -> tuple[Tensor, Tensor]:
        """New sequences, given as those of the constructor, as a model reads them: x (B, T, D) and lengths (B,).

        A long table is one sequence here, however many rows it has.
        """
        flat, sizes = read_steps([x] if self.length else x, None)
        if flat.shape[1] != self.input_size:
            raise ValueError(f"x must have {self.input_size} numbers per step, as in training, got {flat.shape[1]}")
        lengths = torch.from_numpy(sizes)
        places, real = _places(lengths.cumsum(0) - lengths, lengths)
        return self._scaled(flat)[places].masked_fill_(~real[..., None], 0), lengths

    def decode(self, prediction: Tensor, lengths: Tensor) -> list[Any]:
        """The labels that a model's output (B, T, output_size) means, in the words or units of y.

        With a label a step: a list of them for each sequence.
        """
        answers = self._answers(prediction, self._asked(lengths))
        if self.kind == "classes":
            labels = [self.classes[place] for place in answers.argmax(-1).tolist()]
        else:
            labels = (answers[:, 0] * self.spread + self.mean).tolist()
        if not self.every:
            return labels
        ends = lengths.cumsum(0).tolist()
        return [labels[end - size : end] for end, size in zip(ends, lengths.tolist(), strict=True)]

    def loss(self, prediction: Tensor, y: Tensor) -> Tensor:
        """Mean cross-entropy in nats, weighted by ``weights``, or mean squared error in units of the variance of y."""
        return self._loss(prediction, y, self.weights)

    def metrics(self, prediction: Tensor, y: Tensor) -> dict[str, float]:
        """{"loss", "accuracy"} of classes, or {"loss", "mse"} of numbers, the latter in the squared units of y."""
        loss = self._loss(prediction.detach(), y, None).item()
        if self.kind == "numbers":
            return {"loss": loss, "mse": loss * self.spread**2}
        right = self._answers(prediction, _counts(y)).argmax(-1) == self._labels(y)
        return {"loss": loss, "accuracy": right.double().mean().item()}

    def finish(self, metrics: dict[str, float]) -> dict[str, float]:
        """With "rmse" of numbers, in the units of y."""
        return metrics | ({"rmse": math.sqrt(metrics["mse"])} if "mse" in metrics else {})

    def weight(self, y: Tensor) -> int:
        """How many labels of y (B, T) count."""
        return len(self._labels(y))

    def loss_weight(self, y: Tensor) -> float:
        """What they weigh together in the loss."""
        labels = self._labels(y)
        return len(labels) if self.weights is None else self.weights.to(y.device)[labels].sum().item()

    def baselines(self) -> dict[str, float]:
        """What needs no learning, on "test" (defined above)."""
        classes, (rows, first) = self.kind == "classes", self._told("test")
        train, test = self._y[self._told("train")[0]], self._y[rows]
        usual = train.bincount().argmax() if classes else train.mean()
        guesses = {"most frequent class" if classes else "mean rmse": usual}
        if self.every:
            guesses["label before" if classes else "label before rmse"] = torch.where(first, usual, self._y[rows - 1])
        elif not classes and self.input_size == 1:
            last = self._x[rows, 0] * self.width[0] + self.middle[0]
            guesses["last value rmse"] = (last - self.mean) / self.spread
        if not classes:
            return {name: (guess - test).square().mean().sqrt().item() * self.spread for name, guess in guesses.items()}
        shares = {name: (guess == test).double().mean().item() for name, guess in guesses.items()}
        return shares | {"uniform guess loss": math.log(self.output_size)}

    def _take(self, flat: np.ndarray, labels: np.ndarray, train: np.ndarray, told: np.ndarray) -> None:
        """Keep all rows, scaled as training says, and its classes or the scale of its numbers."""
        self.middle, width = flat[train].mean(0).tolist(), flat[train].std(0)
        self.width = np.where(width > 0, width, 1).tolist()
        self._x = self._scaled(flat)  # (R, D)
        if self.kind == "numbers":
            self.classes, self.output_size = [], 1
            known = labels[told[train[told]]]
            self.mean, self.spread = known.mean().item(), known.std().item() or 1.0
            self._y = torch.from_numpy((labels - self.mean) / self.spread).float()
            return
        names, codes = np.unique(labels, return_inverse=True)
        missing = np.setdiff1d(codes, codes[train])
        if len(missing):
            where = "must have each class in training too; try another seed or split by other means"
            raise ValueError(f"y {where}, got {names[missing[0]].item()!r} in valid or test only")
        if len(names) < 2:
            raise ValueError(f"y must hold two classes at least, got {names[0].item()!r} only")
        self.classes, self.output_size, self.mean, self.spread = names.tolist(), len(names), 0.0, 1.0
        self._y = torch.from_numpy(codes)

    def _balanced(self) -> Tensor:
        """The weight of each class, so that all count alike in training."""
        if self.kind == "numbers":
            raise ValueError("weights must be None for numbers, got 'balanced'")
        counts = self._y[self._told("train")[0]].bincount(minlength=self.output_size)
        return counts.sum() / (self.output_size * counts)

    def _tell(self) -> str:
        counts = {name: self.splits.finite(name)[1] for name in SPLITS}
        low, high = (int(end) for end in torch.cat(list(counts.values())).aminmax())
        steps, some = f"{low}" if low == high else f"{low} to {high}", ", ".join(map(str, self.classes[:5]))
        labels = f"{len(self.classes)} classes ({some}{', ...' * (len(self.classes) > 5)})" if some else "numbers"
        labels += f", one a {'step' if self.every else 'sequence'}"
        sizes = ", ".join(f"{len(count):,} {name}" for name, count in counts.items())
        return f"TableTask: {sizes} by {self.by}; {steps} steps of {self.input_size} numbers; {labels}"

    def _scaled(self, flat: np.ndarray) -> Tensor:
        return torch.from_numpy((flat - self.middle) / self.width).float()

    def _cut(self, starts: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """x (B, T, D) and y (B, T) of the sequences that begin in these rows."""
        places, real = _places(starts, lengths)
        blank = IGNORED if self.kind == "classes" else math.nan
        x, y = self._x[places].masked_fill_(~real[..., None], 0), self._y[places]
        return x, y.masked_fill_(~self._asked(lengths), blank)

    def _asked(self, lengths: Tensor) -> Tensor:
        """Where (B, T) answers are read: at every real step, if each has a label, or the last."""
        steps, ends = torch.arange(int(lengths.max())), lengths[:, None]
        return steps < ends if self.every else steps == ends - 1

    def _told(self, split: str) -> tuple[Tensor, Tensor]:
        """The rows (n,) of the labels of a split, and which of them begin a sequence."""
        starts, lengths = self.splits.finite(split)
        places, real = _places(starts, lengths)
        asked = real if self.every else torch.arange(real.shape[1]) == lengths[:, None] - 1
        return places[asked], (places == starts[:, None])[asked]

    def _answers(self, prediction: Tensor, counts: Tensor) -> Tensor:
        """The answers (n, output_size) of a prediction (B, T, output_size) with labels where it counts (B, T)."""
        expect(prediction, (*counts.shape, self.output_size), "prediction")
        return prediction[counts]

    def _labels(self, y: Tensor) -> Tensor:
        """The labels (n,) that count of y (B, T)."""
        return y[_counts(y)]

    def _loss(self, prediction: Tensor, y: Tensor, weights: Tensor | None) -> Tensor:
        answers, labels = self._answers(prediction, _counts(y)), self._labels(y)
        if self.kind == "numbers":
            return F.mse_loss(answers[:, 0], labels.to(answers.dtype))
        return F.cross_entropy(answers, labels, None if weights is None else weights.to(answers))


def _counts(y: Tensor) -> Tensor:
    """Where y (B, T) holds a label."""
    return ~y.isnan() if y.is_floating_point() else y >= 0


def _places(starts: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """The row (B, T) of each step, 0 behind the end, and where (B, T) there is one."""
    steps = torch.arange(int(lengths.max()))
    real = steps < lengths[:, None]
    return (starts[:, None] + steps).masked_fill_(~real, 0), real


def _windows(group: np.ndarray, length: int) -> np.ndarray:
    """How many rows each sequence has, if rows are sorted by group and none has rows of two."""
    whole = [(size - begin, length) for size in np.bincount(group) for begin in range(0, size, length)]
    return np.asarray(whole).min(1)


def _divide(by: str, group: np.ndarray, label: np.ndarray, splits: Sequence[float], seed: int) -> np.ndarray:
    """To which split, 0 to 2, each sequence (N,) goes."""

    def cut(count: int, what: str) -> np.ndarray:
        valid, test = (max(1, round(share * count)) for share in splits[1:])
        if valid + test >= count:
            raise ValueError(f"x must have at least 3 {what}, one for each of splits, got {count}")
        return np.repeat(range(3), [count - valid - test, valid, test])

    # Sorted random numbers, because NumPy promises less for the way that `permutation` draws its own.
    rng, part = np.random.default_rng(seed), np.empty(len(group), int)
    if by == "group":
        order = rng.random(group.max() + 1).argsort()
        number = np.empty(len(order), int)
        number[order] = cut(len(order), "groups")
        return number[group]
    if by == "time":
        for one in range(group.max() + 1):
            here = np.flatnonzero(group == one)
            part[here] = cut(len(here), "sequences in each group")
        return part
    place, drawn = np.empty(len(group)), rng.random(len(group))
    for name in np.unique(label):  # spread over [0, 1) class by class, so that a cut takes its share of each
        here = np.flatnonzero(label == name)
        rank = drawn[here].argsort().argsort()
        place[here] = np.where(rank > 0, (rank + drawn[here]) / len(here), 0)  # the first to training, always
    part[place.argsort(kind="stable")] = cut(len(group), "sequences")
    return part
