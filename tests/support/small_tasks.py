"""Small files of every kind of data, which a cache serves as if they were the true ones."""

import gzip
import io
import struct
from typing import Any

import numpy as np
from scipy.io import savemat

SHAKESPEARE = "abcabdacbd" * 12  # 120 characters: 108 to train, 12 to validate
PTB = {
    "train": " the cat sat on the mat \n a <unk> sat N times \n the end \n" * 3,
    "valid": " a cat sat \n the mat \n the end \n the end \n",
    "test": " the <unk> sat on a cat \n the end \n N cat \n",
}
SST2 = {
    "train": "1 a good film .\n0 a bad film .\n0 not good\n1 not bad , a film\n0 a plot .\n1 never bad\n",
    "valid": "0 a bad film .\n1 good film\n",
    "test": "0 bad\n1 a good film\n0 not a film , ever\n",
}
# What makes a task of the book small, by its name.
SETTINGS = {
    "adding": {"length": 6},
    "parity": {"length": 6},
    "group-words": {"length": 6},
    "binary-addition": {"bits": 5},
    "copy": {"delay": 3},
    "lag": {"length": 8},
    "text": {"source": "pydoc", "length": 9},
    "ptb": {"length": 9},
    "mnist": {"rows": True},
    "digits": {"rows": True},
    "music": {"source": "jsb", "length": 9},
    "few-labels": {"weights": "bert-small", "source": "small_world"},
    "series": {"source": "elnino", "lookback": 12, "horizon": 4},
}
TUNES = {"traindata": (4, 9, 2, 7), "validdata": (5, 3), "testdata": (6, 2, 8)}  # frames of each


class Frame:
    """Of pandas, what is asked for: no test needs it installed."""

    def __init__(self, values: Any, columns: Any = (), index: Any = None) -> None:
        self.values, self.columns, self.index = np.asarray(values, dtype=object), list(columns), index
        self.shape, self.ndim = self.values.shape, self.values.ndim

    def __len__(self) -> int:
        return len(self.values)

    def to_numpy(self) -> np.ndarray:
        return self.values


def shakespeare(text: str = SHAKESPEARE) -> dict[str, bytes]:
    return {"tinyshakespeare.txt": text.encode()}


def ptb(**texts: str) -> dict[str, bytes]:
    return {f"ptb.{split}.txt": text.encode() for split, text in (PTB | texts).items()}


def sst2(**texts: str) -> dict[str, bytes]:
    parts = {"train": "train", "valid": "dev", "test": "test"}
    return {f"sst2/stsa.binary.{parts[split]}": text.encode() for split, text in (SST2 | texts).items()}


def mnist(train: int = 60, test: int = 20) -> dict[str, bytes]:
    draw, files = np.random.default_rng(0), {}
    for part, size in (("train", train), ("t10k", test)):
        images = struct.pack(">4I", 2051, size, 28, 28) + draw.bytes(size * 784)
        labels = struct.pack(">2I", 2049, size) + bytes(draw.integers(10, size=size).tolist())
        files[f"{part}-images-idx3-ubyte.gz"] = gzip.compress(images)
        files[f"{part}-labels-idx1-ubyte.gz"] = gzip.compress(labels)
    return files


def rolls() -> dict[str, list[np.ndarray]]:
    """Tunes in which notes tend to go on, and in which the frames all differ."""
    draw = np.random.default_rng(0)
    return {
        key: [((0.8 + draw.random((frames, 88)).cumsum(0)) % 1.5 > 1).astype(np.uint8) for frames in lengths]
        for key, lengths in TUNES.items()
    }


def cell(parts: list[Any]) -> np.ndarray:
    """A row of matrices as MATLAB holds it."""
    made = np.empty((1, len(parts)), object)
    made[0] = parts
    return made


def music(**parts: Any) -> dict[str, bytes]:
    """A file of small tunes, with `parts` in place of its own; None leaves one out."""
    content = {key: cell(tunes) for key, tunes in rolls().items()} | parts
    buffer = io.BytesIO()
    savemat(buffer, {key: part for key, part in content.items() if part is not None}, do_compression=True)
    return {"JSB_Chorales.mat": buffer.getvalue()}
