"""A word that is to be repeated behind noise: what the rope of the first page pulls at, by its two handles."""

from collections.abc import Iterator

import torch
from torch import Tensor

from rtx_lib.tasks import splits, windows

LETTERS, NOISE = 26, 8
GO = LETTERS + NOISE


class CopyBehindNoise:
    """Repeat a word: its letters, then noise, then *go*, then its letters again, each given once it was to be said.

    ::

        letters 3, pause 4        noise 1 to 4, > is go, . the label -100

        x    c a b 4 1 1 2 > c a
        y    . . . . . . . c a b

    x and y (B, T) int64: letters have the ids 0..25, noise the next eight, and go the last. A batch has one number of
    letters and one of steps of noise, each as likely as any other of its range.

    Parameters
    ----------
    letters, pause
        The least and the most letters, and steps of noise.
    """

    loss, metrics, weight = windows.symbol_loss, windows.symbol_metrics, windows.symbol_count
    vocabulary = input_size = output_size = GO + 1
    name = "copy-behind-noise"

    def __init__(self, letters: tuple[int, int] = (1, 12), pause: tuple[int, int] = (0, 60)) -> None:
        self.ranges = letters, pause

    def batch(self, split: str, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """x and y of `size` words, fresh ones whatever the split."""
        letters, pause = (int(torch.randint(low, high + 1, (), generator=generator)) for low, high in self.ranges)
        word = torch.randint(LETTERS, (size, letters), generator=generator)
        noise = torch.randint(LETTERS, GO, (size, pause), generator=generator)
        x = torch.cat([word, noise, torch.full((size, 1), GO), word], 1)
        y = x[:, 1:].clone()
        y[:, : letters + pause] = -100
        return x[:, :-1], y

    def batches(self, split: str, size: int) -> Iterator[tuple[Tensor, Tensor]]:
        """The same batches for everybody, each with lengths of its own: 1,000 words or nearly."""
        generator = torch.Generator().manual_seed(splits.SEEDS[split])
        return (self.batch(split, size, generator) for _ in range(1_000 // size))

    def baselines(self) -> dict[str, float]:
        """{"a letter", "a letter loss", "uniform guess loss"}: chance."""
        return splits.chances({"a letter": LETTERS}, self.vocabulary)
