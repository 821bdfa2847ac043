"""GPT's input transformations: every task as one or more rows of ids that end in the same token (Radford et al. 2018).

::

    classification     start  text  extract
    entailment         start  premise  delimiter  hypothesis  extract
    similarity         start  a  delimiter  b  extract          and      start  b  delimiter  a  extract
    multiple choice    start  context  delimiter  answer_k  extract      for every k

Section 3.3 of the paper. The model is the same for all: its vector at the extract token, the last that a row has and
the only one that has read all of it, goes through one linear layer. A pair that has no order is read both ways, and the
two vectors are added. Answers are scored one by one, and the softmax is over them. The three tokens are new rows of the
embedding table; the padding stands behind the extract token, where a causal model needs no mask against it.
"""

from collections.abc import Sequence

import torch

from rtx_lib.shapes import expect_each, expect_ids
from rtx_lib.tasks.vocabulary import PAD, expect_rows

Ids = Sequence[int]


class GPTInputs:
    """Texts of ids, put together.

    Parameters
    ----------
    start, delimiter, extract
        The ids of the three tokens, which differ from each other and from 0, the padding.
    size
        V, with the three.
    length
        The most tokens that a row may have: the model's positions.
    """

    def __init__(self, *, start: int, delimiter: int, extract: int, size: int, length: int) -> None:
        expect_each(length=(length, 3))
        expect_ids(torch.tensor([[start, delimiter, extract]]), size, "start, delimiter and extract")
        self.start, self.delimiter, self.extract, self.size, self.length = start, delimiter, extract, size, length
        self.special = {PAD, start, delimiter, extract}
        if len(self.special) < 4:
            given = f"{start}, {delimiter} and {extract}"
            raise ValueError(f"start, delimiter and extract must differ from each other and from 0, got {given}")

    def classification(self, text: Ids) -> list[int]:
        """start text extract."""
        return self._row(text)

    def entailment(self, premise: Ids, hypothesis: Ids) -> list[int]:
        """start premise delimiter hypothesis extract."""
        return self._row(premise, hypothesis)

    def similarity(self, a: Ids, b: Ids) -> tuple[list[int], list[int]]:
        """The pair in both orders."""
        return self._row(a, b), self._row(b, a)

    def multiple_choice(self, context: Ids, answers: Sequence[Ids]) -> list[list[int]]:
        """One row for each answer. What a question adds to the context stands at its end."""
        return [self._row(context, answer) for answer in answers]

    def _row(self, *texts: Ids) -> list[int]:
        expect_rows("text", texts, self.size, self.special)
        row = [self.start, *texts[0]]
        for text in texts[1:]:
            row += [self.delimiter, *text]
        row.append(self.extract)
        expect_each(**{"length of text with its special tokens": (len(row), f"[1, {self.length}]")})
        return row
