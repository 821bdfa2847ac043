"""Handwritten digits, read one pixel or one row at a time: 8 x 8 of them without a download, and MNIST."""

import gzip

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from rtx_lib.shapes import expect, expect_each
from rtx_lib.tasks.files import GROUPS, fetch
from rtx_lib.tasks.splits import Rows, class_baselines, draw_batch, last_step_loss, last_step_metrics, run_through

SEED = 1_997  # of the split; part of the task, not of a run
TEST_SHARE, VALID_SHARE = 0.2, 0.1  # of each class, rounded; the rest is "train"
FOLDS = 5  # whose test parts make up all digits
MNIST_VALID = 5_000  # images


class SequentialDigits:
    """Name the digit after reading its pixels in order (scikit-learn's copy of the UCI test digits, 1,797).

    ::

        pixels of one digit      x (B, 64, 1): row after row, 64 steps of one number in [0, 1]
        . . # # . . . .              0, 0, .8, 1, 0, 0, 0, 0, 0, .3, 1, ...          y = 3
        . # . . # . . .          x (B, 8, 8) with rows=True: 8 steps of 8 numbers
        . . . . # . . .              row 1, row 2, ... row 8                         y = 3

    x float, y (B,) int64. Only the model's output at the last step counts.

    The three splits are fixed, and stratified: of every class, 20 % are "test", 10 % "valid", 70 % "train". There are
    five such divisions, the folds 0 to 4, and each digit is in "test" in one of them; a fold from 5 on is the one that
    remains when 5 is taken away as often as it goes.

    Raises ValueError for a fold below 0, an unknown split, a size below 1, or a prediction of wrong shape.
    """

    output_size, vocabulary = 10, None
    batch, batches = draw_batch, run_through  # methods, written once in splits.py
    loss, metrics, baselines = last_step_loss, last_step_metrics, class_baselines

    def __init__(self, rows: bool = False, *, fold: int = 0) -> None:
        from sklearn.datasets import load_digits  # here, because the import takes longer than everything else

        expect_each(fold=(fold, 0))
        self.fold = fold % FOLDS
        self.length, self.input_size = (8, 8) if rows else (64, 1)
        self.name = "digits-rows" if rows else "digits-pixels"
        read = load_digits()
        x = torch.from_numpy((read.data / 16).astype(np.float32)).view(-1, self.length, self.input_size)
        y = torch.from_numpy(read.target.astype(np.int64))
        self.splits = Rows({split: (x[at], y[at]) for split, at in _stratify(read.target, self.fold).items()})


class DrawnDigits(SequentialDigits):
    """Name the digit after every row, of scans most of which are made to look as if they were drawn with a mouse.

    A drawing has thin black strokes where a scan is broad and grey, and stands where the hand put it. So every image of
    a batch of "train" moves by up to a column to either side, and 70 % of them become strokes: where they are darkest
    along a row or a column, or all that is darker than a random threshold. Strokes then get the soft edges that a
    drawing gets before it is read (:func:`soften`). The other splits and ``batches`` hold the scans.

    x float (B, 8, 8), y (B,) int64. The loss counts the answer after row r in proportion to r squared.

    Raises ValueError as :class:`SequentialDigits`.
    """

    def __init__(self) -> None:
        super().__init__(rows=True)
        self.name = "digits-drawn"

    def batch(self, split: str, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """x and y of ``size`` digits, drawn with replacement; those of "train" as drawings."""
        x, y = draw_batch(self, split, size, generator)
        return (x, y) if split != "train" else (_as_drawn(x, generator), y)

    def loss(self, prediction: Tensor, y: Tensor) -> Tensor:
        """Mean cross-entropy in nats, the later rows counting more; prediction (B, 8, 10) logits, y (B,)."""
        expect(prediction, (len(y), self.length, self.output_size), "prediction")
        each = F.cross_entropy(prediction.transpose(1, 2), y[:, None].expand(-1, self.length), reduction="none")
        counts = torch.arange(1, self.length + 1, device=each.device) ** 2
        return (each * counts).sum(1).mean() / counts.sum()

    def metrics(self, prediction: Tensor, y: Tensor) -> dict[str, float]:
        """{"loss", "accuracy"}: that of :meth:`loss`, and the share of right answers after the last row."""
        return last_step_metrics(self, prediction, y) | {"loss": self.loss(prediction.detach(), y).item()}


def _as_drawn(x: Tensor, generator: torch.Generator) -> Tensor:
    """Scans x (B, R, C): moved sideways, and most of them as strokes."""

    def share() -> Tensor:
        return torch.rand(len(x), 1, 1, generator=generator)

    moves = torch.stack([F.pad(x, (1 + by, 1 - by))[..., 1:-1] for by in (-1, 0, 1)], dim=1)
    x = moves[torch.arange(len(x)), torch.randint(3, (len(x),), generator=generator)]
    dark = x > 0.3 + 0.5 * share()
    row, column = F.max_pool2d(x, (1, 3), 1, (0, 1)), F.max_pool2d(x, (3, 1), 1, (1, 0))  # with both neighbours
    thin = ((x == row) | (x == column)) & (x > 0.3)
    strokes = torch.where(share() < 0.6, thin, dark)
    return torch.where(share() < 0.7, soften(strokes.to(x)), x)


def soften(strokes: Tensor, share: float = 0.3) -> Tensor:
    """Drawn cells, 1, give each of their four neighbours this share of their ink; strokes (..., R, C) of 0 and 1."""
    around = F.pad(strokes, (1, 1, 1, 1))
    near = around[..., :-2, 1:-1] + around[..., 2:, 1:-1] + around[..., 1:-1, :-2] + around[..., 1:-1, 2:]
    return torch.maximum(strokes, (share * near).clamp(max=1))


def _stratify(labels: np.ndarray, fold: int) -> dict[str, np.ndarray]:
    """Places of each split in the data, ascending: a run in order mixes the classes as the data do."""
    # Sorted random numbers, because NumPy promises less for the way that `permutation` draws its own.
    order = np.random.default_rng(SEED).random(len(labels)).argsort(kind="stable")
    parts = []
    for digit in range(10):
        members = order[labels[order] == digit]
        first, end = (round(len(members) * TEST_SHARE * n) for n in (fold, fold + 1))
        test, valid = end - first, round(len(members) * VALID_SHARE)
        parts.append(np.split(np.roll(members, -first), [test, test + valid]))
    splits = zip(("test", "valid", "train"), zip(*parts, strict=True), strict=True)
    return {split: np.sort(np.concatenate(places)) for split, places in splits}


class MNIST:
    """Name the digit after reading its 28 x 28 pixels (LeCun et al. 1998) as a sequence (Le et al. 2015).

    ::

        pixels (default)    x (B, 784, 1)     784 steps of one number in [0, 1], row after row
        rows=True           x (B, 28, 28)     28 steps of 28 numbers: row 1, row 2, ... row 28

    x float, y (B,) int64. Only the model's output at the last step counts.

    Splits: "valid" is the last `valid` images of the training file, 5,000 by default, "train" the others, "test" the
    10,000 images of the test file. With `valid` = 0, as in papers that choose nothing by it, "valid" is "test".

    The files come from `rtx_lib.tasks.fetch`, whose errors pass through. Raises ValueError for an unknown split, a size
    below 1, a prediction of wrong shape, or a `valid` that leaves no image to train on.
    """

    files = GROUPS["mnist"]
    output_size, vocabulary = 10, None
    batch, batches = draw_batch, run_through  # methods, written once in splits.py
    loss, metrics, baselines = last_step_loss, last_step_metrics, class_baselines

    def __init__(self, rows: bool = False, *, valid: int = MNIST_VALID) -> None:
        self.length, self.input_size = (28, 28) if rows else (784, 1)
        self.name = "mnist-" + ("rows" if rows else "pixels")
        self.name += "" if valid == MNIST_VALID else f"-valid-{valid}"
        (images, labels), test = _read_idx(*self.files[:2]), _read_idx(*self.files[2:])
        expect_each(valid=(valid, f"[0, {len(labels)})"))
        cut = len(labels) - valid
        rest = (images[cut:], labels[cut:]) if valid else test
        self.splits = Rows({"train": (images[:cut], labels[:cut]), "valid": rest, "test": test}, lay_out=self._lay_out)

    def _lay_out(self, images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        # Floats only here, a batch at a time: the images take 47 MB, not 188.
        return images.float().div_(255).view(len(images), self.length, self.input_size), labels.long()


def _read_idx(*names: str) -> tuple[Tensor, Tensor]:
    """Images (N, 784) and labels (N,) as bytes, from what is behind the headers of two gzipped IDX files."""
    files = (gzip.decompress(fetch(name).read_bytes()) for name in names)
    images, labels = (torch.frombuffer(bytearray(data), dtype=torch.uint8) for data in files)
    return images[16:].view(-1, 784), labels[8:]
