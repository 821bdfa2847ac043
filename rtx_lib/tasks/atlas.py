"""A made-up atlas: names of two words, each the only one in its part of its land. What has to be hidden to learn it?"""

import math

import torch
from torch import Tensor

from rtx_lib.shapes import expect_each
from rtx_lib.tasks.splits import Rows, draw_batch, run_through
from rtx_lib.tasks.vocabulary import IGNORED, text_of
from rtx_lib.tasks.windows import symbol_count, symbol_loss, symbol_metrics

LANDS = ("arelia", "borun", "celdor", "dravia", "elmar", "fenria", "gorland", "hesper")
PARTS = ("north", "east", "south", "west")
PADDING, MASK = "[PAD]", "[MASK]"  # the former has the id 0, which BERT does not see, and is in no sentence
HIDDEN = ("pieces", "units", "name", "piece")
_LINKS = ("is", "in", "the", "of")
_FIRST_WORD, _SECOND, _PART, _LAND = 0, 1, 5, 7  # their places
# Which of these four are hidden, for each kind of question; all rows of a kind are equally likely.
_PATTERNS = {
    "pieces": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]],
    "units": [[1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]],
    "name": [[1, 1, 0, 0]],
    "piece": [[1, 0, 0, 0], [0, 1, 0, 0]],
}


class Atlas:
    """Name the hidden words of a sentence about a place (after figure 1 of Sun et al. 2019, ERNIE).

    ::

        "pieces"    ka [MASK] is in the north of arelia          one word of four: both of the name, part, land
        "units"     [MASK] [MASK] is in the north of arelia      one unit of three: name, part, land

    There are 32 places, one in each of four parts of eight lands. A name has two words that are in no other. So a word
    of a name can be told in two ways: from the other word, which stands beside it, or from part and land *together*,
    neither of which says it alone. Whoever hides one word at a time never asks for the second way.

    Training sentences are drawn without end from the caller's generator. "valid" (1,000) and "test" (10,000) come from
    seeds of their own.

    Parameters
    ----------
    hidden
        "pieces" or "units" as above; for tests also "name", always both words of the name, and "piece", one of them.
    """

    batch, batches = draw_batch, run_through  # methods, written once in splits.py and windows.py
    loss, metrics, weight, decode = symbol_loss, symbol_metrics, symbol_count, text_of

    def __init__(self, hidden: str = "pieces") -> None:
        expect_each(hidden=(hidden, HIDDEN))
        self.hidden, self.name = hidden, f"atlas-{hidden}"
        count = len(LANDS) * len(PARTS)
        names = (*(f"{a}{b}" for a in "bdfgklmn" for b in "aeiu"), *(f"{a}{b}r" for a in "prstvzhj" for b in "aeiu"))
        self.words = (PADDING, *names, *PARTS, *LANDS, *_LINKS, MASK)
        self.vocabulary = self.input_size = self.output_size = len(self.words)
        self.mask = self.vocabulary - 1
        order = torch.randperm(count, generator=torch.Generator().manual_seed(12))
        self.places = 1 + torch.stack([torch.arange(count), count + order], dim=1)  # (32, 2), by land and then by part
        self._patterns = torch.tensor(_PATTERNS[hidden], dtype=torch.bool)
        self.splits = Rows(draw=self._draw, lay_out=self._lay_out)

    def baselines(self) -> dict[str, float]:
        """Losses in nats of who names a word of a name: "unigram loss", ln 32; "land alone loss", ln 4."""
        return {"unigram loss": math.log(len(self.places)), "land alone loss": math.log(len(PARTS))}

    def _draw(self, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Places (size,), and for each a number that says what is hidden."""
        place = torch.randint(len(self.places), (size,), generator=generator)
        return place, torch.randint(12, (size,), generator=generator)

    def _lay_out(self, place: Tensor, number: Tensor) -> tuple[Tensor, Tensor]:
        names, lands = 1 + 2 * len(self.places), 1 + 2 * len(self.places) + len(PARTS)
        links = torch.arange(lands + len(LANDS), self.mask).expand(len(place), -1)  # is in the of
        part, land = names + place % len(PARTS), lands + place // len(PARTS)
        ids = torch.cat([self.places[place], links[:, :3], part[:, None], links[:, 3:], land[:, None]], dim=1)
        hidden = torch.zeros_like(ids, dtype=torch.bool)
        hidden[:, [_FIRST_WORD, _SECOND, _PART, _LAND]] = self._patterns[number % len(self._patterns)]
        return torch.where(hidden, self.mask, ids), torch.where(hidden, ids, IGNORED)
