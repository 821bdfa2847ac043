"""Sentences on switches with one word hidden: what a reader must have seen depends on which word it is."""

import math

import torch
from torch import Tensor

from rtx_lib.tasks.splits import Rows, draw_batch, run_through
from rtx_lib.tasks.vocabulary import IGNORED, SPECIAL, Vocabulary
from rtx_lib.tasks.windows import symbol_count, symbol_loss, symbol_metrics

THINGS, STATES, TIMES = ("lamp", "radio", "heater"), ("off", "on"), ("twice", "once")


class OnOff:
    """Name the hidden word of a sentence on a switch that was pressed once, which turns it round, or twice.

    ::

        the  [MASK]  was   on     pressed  once    now   off        y        left    right   both sides
        the  [MASK]  was   on     pressed  once    now   off      lamp       ln 3    ln 3      ln 3
        the   lamp   was  [MASK]  pressed  once    now   off       on        ln 2     0         0
        the   lamp   was   on     pressed  [MASK]  now   off      once       ln 2    ln 2       0
        the   lamp   was   on     pressed  once    now   [MASK]    off        0      ln 2       0

    In nats, the least that whoever sees only that side has to pay; the other four words are always the same. How often
    it was pressed nobody knows who sees one side: given either state alone, once and twice are equally likely. Nor does
    whatever adds the logits of a reader of the left and one of the right, as in
    :class:`~rtx_lib.tasks.next_symbol.NextSymbol` with ``side="both"``.

    x and y (B, 8) int64, y -100 but at the hidden word. There are 12 sentences, and all splits have all of them:
    nothing is asked about generalisation. A training row hides one word, all eight equally likely. "valid" and "test"
    have every sentence with every word hidden, 96 rows.

    Baselines, losses in nats, means over all places: "one side loss", (ln 3 + 2 ln 2) / 8, of whoever sees the left or
    the right alone; "glued loss", (ln 3 + ln 2) / 8, of two readers whose logits are added; "both sides loss",
    ln 3 / 8; "uniform guess loss", ln V.
    """

    name = "on-off"
    batch, batches = draw_batch, run_through  # methods, written once in splits.py and windows.py
    loss, metrics, weight = symbol_loss, symbol_metrics, symbol_count

    def __init__(self) -> None:
        self.words = Vocabulary((*SPECIAL, "the", "was", "pressed", "now", *THINGS, *STATES, *TIMES))
        self.vocabulary = self.input_size = self.output_size = len(self.words)
        (self.mask,) = self.words.require("[MASK]")
        rows = [
            f"the {thing} was {state} pressed {time} now {STATES[before ^ turned]}"
            for thing in THINGS
            for before, state in enumerate(STATES)
            for turned, time in enumerate(TIMES)
        ]
        self.sentences = torch.stack([self.words.encode(row) for row in rows])  # (12, 8)
        length = self.sentences.shape[1]
        everywhere = self.sentences.repeat_interleave(length, 0), torch.arange(length).repeat(len(rows))
        self.splits = Rows({"valid": everywhere, "test": everywhere}, self._draw, self.hide)

    def hide(self, rows: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
        """x and y of sentences (B, 8) with the words at these places (B,) hidden."""
        at = places[:, None]
        y = torch.full_like(rows, IGNORED).scatter(1, at, rows.gather(1, at))
        return rows.scatter(1, at, self.mask), y

    def baselines(self) -> dict[str, float]:
        """{"one side loss", "glued loss", "both sides loss", "uniform guess loss"} (defined above)."""
        thing, turn = math.log(len(THINGS)), math.log(2)
        sides = {"one side loss": thing + 2 * turn, "glued loss": thing + turn, "both sides loss": thing}
        length = self.sentences.shape[1]
        return {name: loss / length for name, loss in sides.items()} | {"uniform guess loss": math.log(self.vocabulary)}

    def _draw(self, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        rows = torch.randint(len(self.sentences), (size,), generator=generator)
        return self.sentences[rows], torch.randint(self.sentences.shape[1], (size,), generator=generator)
