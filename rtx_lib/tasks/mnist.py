"""MNIST, read one pixel or one row at a time."""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from rtx_lib.tasks.files import fetch
from rtx_lib.tasks.splits import Rows, check_integer, class_baselines, last_step_loss, last_step_metrics

PERMUTATION_SEED = 92_916
TRAINING = 60_000  # images of the training file


class MNIST:
    """Name the digit after reading its 28 x 28 pixels (LeCun et al. 1998) as a sequence (Le et al. 2015).

    ::

        pixels (default)    x (B, 784, 1)     784 steps of one number in [0, 1], row after row
        rows=True           x (B, 28, 28)     28 steps of 28 numbers: row 1, row 2, ... row 28
        permuted=True       x (B, 784, 1)     the same pixels in one fixed random order

    x float, y (B,) int64. Only the model's output at the last step counts.

    Splits: "train" is the first 55,000 images of the training file, "valid" its last 5,000, "test" the 10,000
    images of the test file. With valid=0 "train" is all 60,000, and "valid" is "test" under another name, as in the
    code of TCN and of R-Transformer: whatever is chosen on "valid" is then chosen on the test images.

    The order of `permuted` is that in which numpy's `default_rng(92916).random(784)` ascends; the attribute
    `permutation` (784,) holds it, None without `permuted`. Papers drew other orders.

    Parameters
    ----------
    rows, permuted
        As above; both at once is a ValueError.
    valid
        How many of the last training images are "valid", 0 to 59,999; 0 as above.
    download
        Whether the files may be fetched, as for `rtx_lib.tasks.fetch`, whose errors pass through.

    Raises
    ------
    ValueError
        For a `valid` out of range, an unknown split, a size below 1, or a prediction of wrong shape.
    """

    output_size = 10
    vocabulary = None

    def __init__(
        self, rows: bool = False, permuted: bool = False, *, valid: int = 5_000, download: bool | None = None
    ) -> None:
        if rows and permuted:
            raise ValueError("permuted must be False with rows=True, for only single pixels can be permuted, got True")
        valid = check_integer("valid", valid, 0, TRAINING - 1)  # with more, "train" holds no image
        self.input_size = 28 if rows else 1
        self.length = 28 if rows else 784
        self.name = "mnist-" + ("rows" if rows else "permuted" if permuted else "pixels")
        if valid != 5_000:
            self.name += f"-valid-{valid}"
        self.permutation: Tensor | None = None
        if permuted:
            order = np.random.default_rng(PERMUTATION_SEED).random(784).argsort(kind="stable")
            self.permutation = torch.from_numpy(order)
        # Fetch all before reading any, so that a missing file is known at once.
        kinds = [f"{part}-{kind}-ubyte.gz" for part in ("train", "t10k") for kind in ("images-idx3", "labels-idx1")]
        paths = [fetch(kind, download=download) for kind in kinds]
        images, labels, *test = (torch.from_numpy(read_idx(path)) for path in paths)
        cut = len(labels) - valid
        data = {"train": (images[:cut], labels[:cut]), "valid": (images[cut:], labels[cut:]), "test": tuple(test)}
        self._rows = Rows(self._lay_out, data if valid else data | {"valid": data["test"]})

    def batch(self, split: str, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """x (size, T, input_size) and y (size,), drawn with replacement."""
        return self._rows.batch(split, size, generator)

    def batches(self, split: str, size: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Run once through a split in the order of its file."""
        return self._rows.batches(split, size)

    def loss(self, prediction: Tensor, y: Tensor) -> Tensor:
        """Mean cross-entropy in nats at the last step; prediction (B, T, 10) logits, y (B,)."""
        return last_step_loss(prediction, y, self.output_size)

    def metrics(self, prediction: Tensor, y: Tensor) -> dict[str, float]:
        """{"loss", "accuracy"}: cross-entropy in nats, and the share of right answers, at the last step."""
        return last_step_metrics(prediction, y, self.output_size)

    def baselines(self) -> dict[str, float]:
        """{"most frequent class": its test accuracy, "uniform guess loss": ln 10}."""
        return class_baselines(self._rows.finite("train")[1], self._rows.finite("test")[1], self.output_size)

    def _lay_out(self, images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        # Floats only here, a batch at a time: the images take 47 MB, not 188.
        x = images.float().div_(255).view(len(images), self.length, self.input_size)
        return x if self.permutation is None else x[:, self.permutation], labels.long()


def read_idx(path: str | Path) -> np.ndarray:
    """Read a gzipped IDX file of bytes: images (N, rows, columns) or labels (N,), uint8.

    The header is big-endian: two zero bytes, 8 for unsigned bytes, the number of dimensions (together the
    magic number, 2051 for images and 2049 for labels), then each dimension as 32 bits.

    Raises ValueError naming the file where it is not whole gzip, bears another magic number, or holds more or
    fewer bytes than its header says.
    """
    path = Path(path)
    try:
        content = gzip.decompress(path.read_bytes())
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path} must be a whole gzip file, got: {error}") from error
    magic = int.from_bytes(content[:4], "big")
    dimensions = {2049: 1, 2051: 3}.get(magic)
    start = 4 + 4 * (dimensions or 0)
    if dimensions is None or len(content) < start:
        raise ValueError(f"{path} must bear the magic number 2051 (images) or 2049 (labels), got {magic}")
    shape = struct.unpack(f">{dimensions}I", content[4:start])
    held, said = len(content) - start, math.prod(shape)
    if held != said:
        raise ValueError(f"{path} must hold {said} bytes, as its header {shape} says, got {held}")
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape).copy()  # a writable array for torch
