"""MNIST: the file format, and the true files where they are there."""

from __future__ import annotations

import gzip
import hashlib
import struct
from pathlib import Path

import numpy as np
import pytest
import torch

from rtx_lib.tasks import MNIST, fetch
from rtx_lib.tasks.mnist import read_idx

IMAGES = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)
KINDS = ("images-idx3", "labels-idx1")
HEADER = struct.pack(">4I", 2051, 2, 3, 4)


def write(folder: Path, content: bytes) -> Path:
    path = folder / "images.gz"
    path.write_bytes(gzip.compress(content))
    return path


def test_reads_images_and_labels(tmp_path: Path) -> None:
    images = read_idx(write(tmp_path, HEADER + IMAGES.tobytes()))
    np.testing.assert_array_equal(images, IMAGES)
    assert images.dtype == np.uint8 and images.flags.writeable
    labels = read_idx(write(tmp_path, struct.pack(">2I", 2049, 3) + bytes([7, 0, 9])))
    assert labels.tolist() == [7, 0, 9]


WRONG = [
    *(
        (gzip.compress(struct.pack(">4I", magic, 2, 3, 4) + IMAGES.tobytes()), f"must bear .* got {magic}$")
        for magic in (0, 2050, 2052, 0x0D03)
    ),
    *((gzip.compress(HEADER[:length]), "must bear .* 2051") for length in (0, 3, 10)),
    (gzip.compress(HEADER + IMAGES.tobytes()[:-1]), r"must hold 24 bytes, as its header \(2, 3, 4\) says, got 23"),
    (gzip.compress(HEADER + IMAGES.tobytes() + b"\0"), r"must hold 24 bytes, as its header \(2, 3, 4\) says, got 25"),
    (gzip.compress(HEADER + IMAGES.tobytes())[:-9], "must be a whole gzip file"),
    (b"<html>not found</html>", "must be a whole gzip file"),
]


@pytest.mark.parametrize(("content", "message"), WRONG, ids=range(len(WRONG)))
def test_refuses_what_is_no_file_of_images(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "images.gz").write_bytes(content)
    with pytest.raises(ValueError, match=rf"images\.gz {message}"):
        read_idx(tmp_path / "images.gz")


@pytest.mark.data("mnist")
def test_true_files() -> None:
    task = MNIST(download=False)
    assert (task.name, task.length, task.input_size, task.permutation) == ("mnist-pixels", 784, 1, None)
    sizes = {}
    for split in ("train", "valid", "test"):
        labels = torch.cat([y for _, y in task.batches(split, 5_000)])
        sizes[split] = len(labels)
        assert labels.dtype == torch.int64 and labels.unique().tolist() == list(range(10))
    assert sizes == {"train": 55_000, "valid": 5_000, "test": 10_000}
    images, labels = (torch.from_numpy(read_idx(fetch(f"train-{kind}-ubyte.gz"))) for kind in KINDS)
    for split, part in (("train", slice(55_000)), ("valid", slice(55_000, None))):
        x, y = (torch.cat(pieces) for pieces in zip(*task.batches(split, 5_000), strict=True))
        assert torch.equal(y, labels[part].long())
        assert torch.equal(x[-100:, :, 0], images[part][-100:].flatten(1) / 255)
    first, y = next(task.batches("train", 5))
    assert y.tolist() == [5, 0, 4, 1, 9]  # the first labels of the training file
    assert next(task.batches("test", 5))[1].tolist() == [7, 2, 1, 0, 4]
    assert first.shape == (5, 784, 1) and first.dtype == torch.float32 and first.min() == 0 and first.max() == 1
    assert task.baselines()["most frequent class"] == 0.1135  # 1,135 ones of 10,000


@pytest.mark.data("mnist")
def test_valid_is_cut_from_the_end_of_train_or_is_test() -> None:
    def whole(task: MNIST, split: str) -> tuple[torch.Tensor, torch.Tensor]:
        x, y = (torch.cat(pieces) for pieces in zip(*task.batches(split, 10_000), strict=True))
        return x, y

    everything, some = MNIST(rows=True, valid=0, download=False), MNIST(rows=True, valid=59_000, download=False)
    assert (everything.name, some.name) == ("mnist-rows-valid-0", "mnist-rows-valid-59000")
    train, test = whole(everything, "train"), whole(everything, "test")
    assert (len(train[1]), len(test[1])) == (60_000, 10_000)
    for ours, theirs in zip(whole(everything, "valid"), test, strict=True):
        assert torch.equal(ours, theirs)
    for split, part in (("train", slice(1_000)), ("valid", slice(1_000, None))):
        for ours, theirs in zip(whole(some, split), train, strict=True):
            assert torch.equal(ours, theirs[part])


@pytest.mark.data("mnist")
def test_true_files_as_rows_and_permuted() -> None:
    pixels, rows = MNIST(download=False), MNIST(rows=True, download=False)
    permuted = MNIST(permuted=True, download=False)
    x, y = pixels.batch("valid", 6, torch.Generator().manual_seed(3))
    x_rows, y_rows = rows.batch("valid", 6, torch.Generator().manual_seed(3))
    x_permuted, _ = permuted.batch("valid", 6, torch.Generator().manual_seed(3))
    assert torch.equal(x_rows.reshape(6, 784, 1), x) and torch.equal(y, y_rows)
    assert permuted.permutation is not None
    assert torch.equal(x_permuted, x[:, permuted.permutation])
    assert sorted(permuted.permutation.tolist()) == list(range(784))
    # Records name this order: a change of it is a change of the task.
    order = permuted.permutation.numpy().astype("<i8").tobytes()
    assert hashlib.sha256(order).hexdigest()[:16] == "e9a775329ea5c71d"
    assert rows.metrics(torch.zeros(6, 28, 10), y)["loss"] == pytest.approx(rows.baselines()["uniform guess loss"])
