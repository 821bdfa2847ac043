"""Recall: what was said to belong to a key, asked for later, and symbols to be found among blanks and repeated."""

import torch
import torch.nn.functional as F
from torch import Tensor

from rtx_lib.shapes import expect_each
from rtx_lib.tasks.next_symbol import draw_pairs
from rtx_lib.tasks.splits import Rows, chances, draw_batch, draw_some, run_through
from rtx_lib.tasks.windows import symbol_count, symbol_loss, symbol_metrics

BLANK = 0


class AssociativeRecall:
    """Say what belongs to each key, whenever it is asked for again (MQAR: Arora et al. 2023, Zoology).

    ::

        pairs=3, length=12        keys a to h, values 0 to 7; _ is the blank, . the label -100

        x    c 5 a 2 f 0   _ a _ _ f c        the pairs, then each key once more, at a random later step
        y    . . . . . .   . 2 . . 0 5

    x and y (B, T) int64. The keys of a row differ, and so do its values; both are drawn anew for every row, so that
    nothing can be learned by heart. Every key is asked for once; the order and the places of the questions, any of the
    steps after the pairs, are equally likely. Answers are not shown. Only questions count. Keys have the ids 1..keys,
    values the next ones.

    This is :class:`~rtx_lib.tasks.next_symbol.LookUp` without answers in the input, so that a row's dictionary must be
    held over a gap, as a whole: log2 of the number of dictionaries, `bits`, is what the state of a recurrent model must
    hold between the pairs and the questions to answer all. The paper draws its gaps from a power law and so asks most
    questions soon; here the gaps are uniform.

    Baselines, for the answers. "uniform guess loss" is ln V, V being all ids. Who knows what values are and no more
    pays ln values, "a value loss", and is right in 1/values of cases, "a value": chance. Who also has all values of the
    row, and cannot tell which belongs to which key, pays ln pairs, "a shown value loss", and is right in 1/pairs of
    cases, "a shown value".

    Training rows are drawn without end from the caller's generator. "valid" (1,000 rows) and "test" (10,000) come from
    seeds of their own.

    Parameters
    ----------
    pairs
        Of a row, at least 1.
    keys, values
        How many there are, each at least `pairs`.
    length
        T, at least 3 `pairs`.
    """

    batch, batches = draw_batch, run_through  # methods, written once in splits.py and windows.py
    loss, metrics, weight = symbol_loss, symbol_metrics, symbol_count

    def __init__(self, pairs: int = 8, *, keys: int = 32, values: int = 32, length: int = 48) -> None:
        expect_each(pairs=pairs, keys=(keys, pairs), values=(values, pairs), length=(length, 3 * pairs))
        self.pairs, self.keys, self.values, self.length = pairs, keys, values, length
        self.vocabulary = self.input_size = self.output_size = 1 + self.keys + self.values
        self.name = f"recall-{self.length}-{self.pairs}-of-{self.keys}x{self.values}"
        # Only pairs and places are kept; a long row of blanks would fill the memory.
        self.splits = Rows(draw=self._draw, lay_out=self._lay_out)

    def baselines(self) -> dict[str, float]:
        """{"a value", "a shown value", "a value loss", "a shown value loss", "uniform guess loss"} (defined above)."""
        return chances({"a value": self.values, "a shown value": self.pairs}, self.vocabulary)

    def _draw(self, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Keys and values (size, pairs, 2), and the step at which each key is asked for (size, pairs)."""
        said, first = draw_pairs(self, size, generator), 2 * self.pairs
        return said, first + draw_some(self.pairs, self.length - first, size, generator)

    def _lay_out(self, said: Tensor, asked: Tensor) -> tuple[Tensor, Tensor]:
        x = F.pad(said.flatten(1), (0, self.length - 2 * self.pairs), value=BLANK)
        y = torch.full_like(x, -100)
        return x.scatter(1, asked, said[..., 0]), y.scatter(1, asked, said[..., 1])


class SelectiveCopying:
    """Repeat in order the symbols that were scattered among blanks (Gu and Dao 2023, section 3.1 and figure 2).

    ::

        tokens=3, places=9        _ is the blank, ? asks for an answer, . is the label -100

        x    _ 4 _ _ 7 1 _ _ _   ? ? ?        the symbols at random places, then as many questions
        y    . . . . . . . . .   4 7 1

    x and y (B, T) int64 with T = places + tokens; only answers count. In :class:`~rtx_lib.tasks.generated.CopyMemory`
    what to keep comes at steps that are always the same, and a recurrence whose coefficients see only the time can copy
    it. Here a model has to look at each input to know whether to keep it.

    Baselines: "a symbol", 1/symbols, the share of right answers of whoever has read nothing, "a symbol loss",
    ln symbols, and "uniform guess loss", ln (symbols + 2), of all ids.

    Training rows are drawn without end from the caller's generator. "valid" (1,000 rows) and "test" (10,000) come from
    seeds of their own.

    Parameters
    ----------
    tokens
        How many symbols there are in a row, at least 1.
    places
        Steps among which they are scattered, at least `tokens`; all subsets are equally likely.
    symbols
        How many different ones there are, at least 2; a row may hold one twice. Ids 1..symbols; 0 is the blank, and
        symbols + 1 the question.
    """

    batch, batches = draw_batch, run_through  # methods, written once in splits.py and windows.py
    loss, metrics, weight = symbol_loss, symbol_metrics, symbol_count

    def __init__(self, tokens: int = 4, *, places: int = 28, symbols: int = 14) -> None:
        expect_each(tokens=tokens, places=(places, tokens), symbols=(symbols, 2))
        self.tokens, self.places, self.symbols = tokens, places, symbols
        self.length = places + tokens
        self.vocabulary = self.input_size = self.output_size = self.symbols + 2
        self.name = f"selective-copying-{self.tokens}-in-{self.places}-of-{self.symbols}"
        self.splits = Rows(draw=self._draw, lay_out=self._lay_out)

    def baselines(self) -> dict[str, float]:
        """{"a symbol", "a symbol loss", "uniform guess loss"} (defined above)."""
        return chances({"a symbol": self.symbols}, self.vocabulary)

    def _draw(self, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """The symbols (size, tokens), and the places of a row in order (size, tokens)."""
        symbols = torch.randint(1, self.symbols + 1, (size, self.tokens), generator=generator)
        return symbols, draw_some(self.tokens, self.places, size, generator).sort(1).values

    def _lay_out(self, symbols: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
        x = torch.full((len(symbols), self.places), BLANK).scatter(1, places, symbols)
        return F.pad(x, (0, self.tokens), value=self.symbols + 1), F.pad(symbols, (self.places, 0), value=-100)
