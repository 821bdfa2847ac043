"""Scenes of handwritten digits, and captions by a grammar: a picture has one right caption, which can be checked."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from rtx_lib.shapes import expect_each
from rtx_lib.tasks.digits import SequentialDigits
from rtx_lib.tasks.splits import SEEDS, SIZES, Rows, draw_batch, run_through
from rtx_lib.tasks.vocabulary import expect_rows, numbers_of
from rtx_lib.tasks.windows import sentence_metrics, token_count, token_loss

PICTURE, SIDES = 28, (8, 11)  # pixels: of a picture, of a small and of a big digit
MARGIN, TRIES = 3, 64  # pixels by which a relation is clear; layouts that are drawn at once for a scene
NUMERALS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
Digit = tuple[int, str, int, int]


class Scenes:
    """Say what stands in a picture: two or three digits, each small or big, and how they lie to each other.

    ::

        . . . . . . . . . .      x   the picture (28, 28), and  start a small three left of a big seven
        . . . . . 7 7 7 7 .      y   a small three left of a big seven end
        . 3 3 . . . . 7 . .
        . 3 3 . . . 7 . . .      with a third digit:  ... left of a big seven above a big two end
        . . . . . . 7 . . .

    x is the pair (picture (B, 28, 28) of ink in [0, 1], target in (B, T) ids), y (B, T) ids, padded to the longest of
    the batch. Id 0 is padding, 1 start, 2 end (the attributes `pad`, `start`, `end`); "left of" is one word. `words`
    lists them by id.

    The grammar gives every layout one caption. Digits are named by x + y of their centres, from the upper left to the
    lower right. The one named before stands *left of* the next one if it lies further to the side than up or down, else
    *above* it. In the scenes drawn here boxes do not overlap, and nothing is decided by less than 3 pixels.

    Handwriting is scikit-learn's, 8 x 8, in the division of :class:`~rtx_lib.tasks.digits.SequentialDigits`: images of
    "valid" (1,000 scenes) and "test" (10,000) are in no training scene. Their layouts are not, either: the sum of all
    coordinates is a multiple of five in these alone. Sizes, digits and the number of digits are uniform.

    Parameters
    ----------
    count
        Least and most digits in a scene, 1 to 3; (n, n) fixes it, and the metrics then tell every word apart.
    """

    pad, start, end, vocabulary = 0, 1, 2, None
    batch, batches = draw_batch, run_through  # methods, written once in splits.py and windows.py
    loss, loss_weight = token_loss, token_count
    sides = SIDES
    words = ("<pad>", "<start>", "<end>", "a", "small", "big", "left of", "above", *NUMERALS)

    def __init__(self, count: tuple[int, int] = (2, 3)) -> None:
        least, most = count
        expect_each(**{"count[0]": (least, "[1, 3]"), "count[1]": (most, f"[{least}, 3]")})
        self.count, self.name = (least, most), "scenes" + ("" if (least, most) == (2, 3) else f"-{least}to{most}")
        self.input_size, self.output_size = PICTURE, len(self.words)
        digits = SequentialDigits(rows=True).splits
        # The ink of every image, small and big: (2, N, 11, 11), the small ones with nothing right of them and below.
        self._ink, self._digits = torch.empty(2, 0, SIDES[1], SIDES[1]), torch.empty(0).long()
        self._images, after = {}, 0
        for split in ("train", "valid", "test"):
            ink, labels = digits.finite(split)
            big = F.interpolate(ink[:, None], size=(SIDES[1], SIDES[1]), mode="bilinear", antialias=True)[:, 0]
            both = torch.stack([F.pad(ink, (0, SIDES[1] - SIDES[0]) * 2), big])
            self._ink, self._digits = torch.cat([self._ink, both], 1), torch.cat([self._digits, labels])
            self._images[split], after = (after, len(labels)), after + len(labels)
        finite = {}
        for split in ("valid", "test"):
            finite[split] = self._draw(SIZES[split], torch.Generator().manual_seed(SEEDS[split]), split)
        self.splits = Rows(finite, self._draw, self._lay_out)

    def scene(self, digits: Sequence[Digit], split: str = "test") -> tuple[tuple[Tensor, Tensor], Tensor]:
        """x and y of one scene: of each digit its value, "small" or "big", and the left and upper edge of its box."""
        expect_rows("digits", [[digit for digit, *_ in digits]], 10)
        first, many = self._images[split]
        rows = []  # of each place: image, size, left and upper edge
        for digit, size, *edges in digits:
            found = first + int((self._digits[first : first + many] == digit).nonzero()[0])
            rows.append([found, ("small", "big").index(size), *edges])
        images, sizes, left, top = torch.tensor([rows + [[0] * 4] * (3 - len(rows))]).unbind(-1)
        return self._lay_out(images, sizes, torch.stack([left, top], -1), torch.tensor([len(rows)]))

    def metrics(self, prediction: Tensor, y: Tensor) -> dict[str, float]:
        """{"loss", "accuracy", "exact"}, each taken for every caption and then averaged over them.

        "accuracy" is the share of words, end included, that have the largest logit after the true words before them;
        "exact" is 1 where all have it, and greedy decoding then writes the caption as it is. With a fixed number of
        digits "word 1", "word 2", ... are the shares of each place.
        """
        metrics = sentence_metrics(self, prediction, y)
        if self.count[0] == self.count[1]:
            shares = (prediction.argmax(-1) == y).double().mean(0)
            metrics |= {f"word {t + 1}": share for t, share in enumerate(shares.tolist())}
        return metrics

    def baselines(self) -> dict[str, float]:
        """Test accuracy of the word most common in "valid" at each place: "commonest word"; "... exact": captions."""
        (_, valid), (_, y) = (self._lay_out(*self.splits.finite(split)) for split in ("valid", "test"))
        counts = F.one_hot(valid, self.output_size).sum(0).double()
        counts[:, self.pad] = 0
        shares = self.metrics(counts.expand(len(y), -1, -1), y)
        del shares["loss"]
        return {f"commonest word{name.removeprefix('accuracy') and ' ' + name}": n for name, n in shares.items()}

    def decode(self, ids: Tensor | Sequence[int]) -> str:
        """The words of one row of ids up to the first end, without padding."""
        numbers = numbers_of(ids, len(self.words))
        numbers = numbers[: numbers.index(self.end)] if self.end in numbers else numbers
        return " ".join(self.words[number] for number in numbers if number != self.pad)

    def _draw(self, size: int, generator: torch.Generator, split: str = "train") -> tuple[Tensor, ...]:
        """Images and sizes (size, 3), left and upper edges (size, 3, 2), and how many digits count (size,)."""

        def below(most: int, *shape: int) -> Tensor:
            return torch.randint(most, shape, generator=generator)

        first, many = self._images[split]
        images, sizes = first + below(many, size, 3), below(2, size, 3)
        counts = self.count[0] + below(self.count[1] - self.count[0] + 1, size)
        places, left = torch.zeros(size, 3, 2, dtype=torch.long), torch.arange(size)
        sides = torch.tensor(SIDES)[sizes]
        while len(left):
            # Edges that keep the box in the picture.
            room = PICTURE + 1 - sides[left, None, :, None]
            tried = (torch.rand(len(left), TRIES, 3, 2, generator=generator) * room).long()
            fine = _clear(tried, sides[left, None], counts[left, None], split == "train")  # (left, TRIES)
            places[left] = tried[torch.arange(len(left)), fine.int().argmax(1)]
            left = left[~fine.any(1)]
        return images, sizes, places, counts

    def _lay_out(
        self, images: Tensor, sizes: Tensor, places: Tensor, counts: Tensor
    ) -> tuple[tuple[Tensor, Tensor], Tensor]:
        real = torch.arange(3) < counts[:, None]
        span, wide = torch.arange(SIDES[1]), PICTURE + SIDES[1]  # a box may reach beyond the edge, with no ink there
        row, column = places[..., 1, None] + span, places[..., 0, None] + span
        ink = self._ink[sizes, images] * real[..., None, None]
        at = (row[..., :, None] * wide + column[..., None, :]).flatten(1)
        picture = torch.zeros(len(images), wide * wide).scatter_add_(1, at, ink.flatten(1)).clamp_(max=1)
        picture = picture.view(-1, wide, wide)[:, :PICTURE, :PICTURE].contiguous()
        y = self._captions(self._digits[images], sizes, places, counts)
        return (picture, F.pad(y, (1, 0), value=self.start)[:, :-1]), y

    def _captions(self, digits: Tensor, sizes: Tensor, places: Tensor, counts: Tensor) -> Tensor:
        """The words (B, T), end and padding behind; digits (B, 3)."""
        middle = 2 * places + torch.tensor(SIDES)[sizes][..., None]  # twice the centres
        rank = middle.sum(-1).masked_fill(torch.arange(3) >= counts[:, None], 10 * PICTURE)
        order = rank.argsort(dim=1, stable=True)
        digits, sizes = digits.gather(1, order), sizes.gather(1, order)
        middle = middle.gather(1, order[..., None].expand(-1, -1, 2))
        across, down = (middle[:, 1:] - middle[:, :-1]).unbind(-1)
        relation = F.pad(torch.where(across > down, 6, 7), (0, 1), value=self.end)
        relation = relation.masked_fill(torch.arange(3) >= counts[:, None] - 1, self.end)
        y = torch.stack([torch.full_like(digits, 3), 4 + sizes, 8 + digits, relation], dim=-1).flatten(1)
        return y.masked_fill(torch.arange(12) >= 4 * counts[:, None], self.pad)[:, : 4 * int(counts.max())]


def _clear(places: Tensor, sides: Tensor, counts: Tensor, train: bool) -> Tensor:
    """Whether layouts (B, N, 3, 2) may stand in such a split: (B, N)."""
    real = torch.arange(3) < counts[..., None]
    fine = ((places.sum(-1) * real).sum(-1) % 5 == 0) != train
    for i in range(3):
        for j in range(i):
            apart = places[..., i, :] - places[..., j, :]
            free = ((apart >= sides[..., j, None]) | (-apart >= sides[..., i, None])).any(-1)
            across, down = (2 * apart + (sides[..., i] - sides[..., j])[..., None]).unbind(-1)  # twice, of the centres
            clear = ((across - down).abs() >= 2 * MARGIN) & ((across + down).abs() >= 2 * MARGIN)
            fine = fine & (free & clear | ~(real[..., i] & real[..., j]))
    return fine
