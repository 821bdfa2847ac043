"""Polyphonic music as piano rolls: name the notes of the next frame."""

from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from rtx_lib.shapes import expect, expect_each
from rtx_lib.tasks.files import fetch
from rtx_lib.tasks.splits import SPLITS, Rows, expect_part, run_through

# By source, its files.
SOURCES = {
    "nottingham": ("Nottingham.mat",),
    "jsb": ("JSB_Chorales.mat",),
    "muse": ("MuseData.mat",),
    "piano": ("Piano_midi.mat",),
}


class PolyphonicMusic:
    """Name the notes of the next frame, each on or off, at every frame of a tune (Boulanger-Lewandowski et al. 2012).

    ::

        key 88  . . . . . .
            :   . o o . . .         a tune of 6 frames; o is a note that sounds
            2   o o o o . .
        key 1   . . . . o o

        x       1 2 3 4 5           frames that are read
        y       2 3 4 5 6           frames to be named

    x (B, T, 88) float holds 0 and 1, and so does y (B, T, 88); where a tune is shorter than the longest of its batch,
    x goes on with 0 and y with -1: such frames do not count. The loss is the negative log-likelihood (NLL) of a frame
    in nats, the sum of the binary cross-entropies of its 88 notes, given as logits.

    The sources are "nottingham" (folk tunes: 694 / 173 / 170 in "train" / "valid" / "test"), "jsb" (chorales of
    J. S. Bach: 229 / 76 / 77), "muse" (orchestral and piano pieces: 524 / 135 / 124) and "piano" (87 / 12 / 25), with
    the splits that the files themselves make.

    Baselines, NLL per frame on "test". For "note frequencies" every note sounds independently with the frequency p
    that it has among the labels of "train", for "note transitions" with the frequency that it has there after a frame
    in which it was on, or off; one is added to every count, as (n(on) + 1) / (n(on) + n(off) + 2).

    Parameters
    ----------
    source
        As above.
    length
        None lets `batch` draw whole tunes, each as likely as another. A number lets it draw windows of at most that
        many predictions, at least 1: a tune as likely as it is long, and any beginning in it that leaves a full window
        (all of a shorter tune). `batches` always runs through whole tunes.
    summed
        The training loss is the sum over all frames that count, as in the code of Bai et al. (2018) and of
        R-Transformer, not the mean. Metrics are means always.
    """

    files = SOURCES
    input_size = output_size = 88  # the keys of a piano
    vocabulary, batches = None, run_through  # a method, written once in splits.py

    def __init__(self, source: str = "nottingham", *, length: int | None = None, summed: bool = False) -> None:
        expect_each(source=(source, [*SOURCES]), length=1 if length is None else length)
        self.source, self.length, self.summed = source, length, summed
        self.name = source + (f"-{self.length}" if self.length else "") + ("-summed" if summed else "")
        tunes = read_mat(fetch(*self.files[source]))
        # All frames one after the other, as bytes, and of each tune its first frame and how many can be named in it.
        rolls = [roll for split in SPLITS for roll in tunes[split]]
        self._frames = torch.from_numpy(np.concatenate(rolls))
        sizes = torch.tensor([len(roll) for roll in rolls])
        counts = [len(tunes[split]) for split in SPLITS]
        firsts, predictions = (sizes.cumsum(0) - sizes).split(counts), (sizes - 1).split(counts)
        self.splits = Rows(dict(zip(SPLITS, zip(firsts, predictions, strict=True), strict=True)), lay_out=self._cut)

    def batch(self, split: str, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """x, y (size, T, 88): tunes, or windows of tunes, drawn with replacement; T is the longest of them."""
        if self.length is None:
            return self.splits.batch(split, size, generator)
        expect_part(split, size)
        firsts, predictions = self.splits.finite(split)
        ends = predictions.cumsum(0)
        places = torch.randint(int(ends[-1]), (size,), generator=generator)
        tunes = torch.searchsorted(ends, places, right=True)  # as likely as they have predictions
        lengths = predictions[tunes].clamp(max=self.length)
        # Not torch.randint, because every tune has a bound of its own.
        bounds = predictions[tunes] - lengths + 1
        starts = (torch.rand(size, generator=generator, dtype=torch.float64) * bounds).long()
        return self._cut(firsts[tunes] + starts, lengths)

    def loss(self, prediction: Tensor, y: Tensor) -> Tensor:
        """NLL in nats, the mean over the frames that count, or their sum; prediction (B, T, 88) logits, y the same."""
        total = self._total(prediction, y)
        return total if self.summed else total / _counts(y).sum()

    def metrics(self, prediction: Tensor, y: Tensor) -> dict[str, float]:
        """{"loss"}: NLL per frame in nats, the mean over the frames that count."""
        return {"loss": self._total(prediction.detach(), y).item() / self.weight(y)}

    def weight(self, y: Tensor) -> int:
        """The number of frames that count in labels y (B, T, 88)."""
        return int(_counts(y).sum())

    def baselines(self) -> dict[str, float]:
        """{"note frequencies", "note transitions"}: NLL per frame in nats on "test" (defined above)."""
        train, test = self._count("train"), self._count("test")  # (2, 2, 88): note before, note now, key
        frames = test.sum((0, 1))[0]
        frequencies = (train.sum(0) + 1) / (train.sum((0, 1)) + 2)  # (2, 88)
        transitions = (train + 1) / (train.sum(1, keepdim=True) + 2)
        return {
            "note frequencies": -((test.sum(0) * frequencies.log()).sum() / frames).item(),
            "note transitions": -((test * transitions.log()).sum() / frames).item(),
        }

    def _cut(self, starts: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """x, y (B, T, 88): in row b `lengths[b]` predictions from the frame `starts[b]` on."""
        steps = torch.arange(int(lengths.max()))
        missing = steps >= lengths[:, None]  # (B, T)
        places = (starts[:, None] + steps).masked_fill_(missing, 0)
        x, y = self._frames[places].float(), self._frames[places + 1].float()
        return x.masked_fill_(missing[..., None], 0), y.masked_fill_(missing[..., None], -1)

    def _total(self, prediction: Tensor, y: Tensor) -> Tensor:
        expect(prediction, y.shape, "prediction")
        weight = _counts(y)[..., None].to(prediction.dtype)
        labels = y.clamp(min=0).to(prediction.dtype)
        return F.binary_cross_entropy_with_logits(prediction, labels, weight, reduction="sum")

    def _count(self, split: str) -> Tensor:
        """n (2, 2, 88), double: how often key k was a in one frame and b in the next of the same tune, n[a, b, k]."""
        tunes = zip(*self.batches(split, 1), strict=True)  # one by one, so that no frame is padding
        before, now = (torch.cat(frames, dim=1)[0].bool() for frames in tunes)
        on, first, second = (notes.sum(0) for notes in (before & now, before, now))
        off = len(now) - first - second + on  # in both frames
        return torch.stack([off, second - on, first - on, on]).view(2, 2, -1).double()


def _counts(y: Tensor) -> Tensor:
    """Which frames (B, T) count."""
    return y[..., 0] >= 0


def read_mat(path: Path) -> dict[str, list[np.ndarray]]:
    """Read a MATLAB file of piano rolls: for each of "train", "valid" and "test" its tunes, (frames, 88) uint8."""
    from scipy.io import loadmat  # here, because it takes a while

    held = loadmat(path)
    return {split: [roll.astype(np.uint8) for roll in held[f"{split}data"].flat] for split in SPLITS}
