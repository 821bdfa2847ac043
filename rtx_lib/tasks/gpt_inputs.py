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
from itertools import chain

from rtx_lib.tasks.vocabulary import PAD

Ids = Sequence[int]


def gpt_row(text: Ids, *others: Ids, start: int, delimiter: int, extract: int) -> list[int]:
    """One row: start, the texts with a delimiter between any two, extract.

    Of a pair without an order there are two rows, of several answers one row each, ``gpt_row(context, answer, ...)``.
    """
    special = {PAD, start, delimiter, extract}
    if len(special) < 4 or not special.isdisjoint(chain(text, *others)):
        given = f"{start}, {delimiter} and {extract}"
        raise ValueError(f"start, delimiter and extract must be three ids that no text holds, and none 0, got {given}")
    row = [start, *text]
    for other in others:
        row += [delimiter, *other]
    return [*row, extract]
