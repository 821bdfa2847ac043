"""Numbers in words, to be written in digits or said in German: a small translation with one right answer."""

import math
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from rtx_lib.shapes import expect_each
from rtx_lib.tasks.splits import Rows, draw_batch, run_through
from rtx_lib.tasks.vocabulary import expect_rows, numbers_of, pad_rows
from rtx_lib.tasks.windows import sentence_metrics, token_count, token_loss

LARGEST = 999_999
Pair = tuple[Tensor, Tensor]
_Parts = tuple[list[str], list[str]]

# The German 1 stands here as it is said before another part.
_WORDS = """
zero one two three four five six seven eight nine
ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen
twenty thirty forty fifty sixty seventy eighty ninety
null ein zwei drei vier fünf sechs sieben acht neun
zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn
zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig
"""
_ONES, _TEENS, _ENGLISH_TENS, _EINER, _ZEHN, _GERMAN_TENS = map(str.split, _WORDS.strip().splitlines())
_ENGLISH, _GERMAN = _ONES + _TEENS, _EINER + _ZEHN


class NumberWords:
    """Read English number words; write the numbers in digits, or say them in German.

    ::

        source       four hundred twelve , seven          to="digits"
        target in    start 4 1 2 , 7
        y            4 1 2 , 7 end

        source       three hundred twenty one             to="german"
        target in    start drei hundert ein und zwanzig
        y            drei hundert ein und zwanzig end     the unit stands before the ten: a change of order

    x is the pair (source (B, S), target in (B, T)), y (B, T), all int64 ids, one a token, rows padded to the
    longest of the batch. Id 0 is padding on both sides; on the target side 1 is start and 2 is end (the attributes
    `pad`, `start`, `end`). The source has neither. `words["source"]` and `words["target"]` list the tokens by id.
    They are the same for every `count` and `largest`, so that a model can be tested on longer sentences than it was
    trained on.

    English as spoken in America, without "and" and hyphens: 999,021 is "nine hundred ninety nine thousand twenty
    one". German words are split where they are put together, and 1 is "ein" before another part, else "eins":
    "neun hundert neun und neunzig tausend ein und zwanzig", "ein hundert eins". 0 is "zero" and "null".

    How a sentence is drawn: the number of its numbers is uniform over count[0]..count[1], and each number is
    uniform over 0..largest. Training sentences are drawn without end from the caller's generator; "valid" (1,000)
    and "test" (10,000) come from seeds of their own, with the same numbers for either `to`. A test sentence of one
    number may well have been trained on; one of three numbers up to 999 hardly ever.

    Parameters
    ----------
    count
        Least and most numbers in a sentence; (n, n) fixes it.
    largest
        The largest number, 1 to 999,999.
    to
        "digits" or "german".
    label_smoothing
        Share of the probability that the training loss wants spread over all tokens (Szegedy et al. 2016; Vaswani et
        al. 2017, section 5.4). The metrics are not smoothed.
    """

    pad, start, end = 0, 1, 2
    batch, batches = draw_batch, run_through  # methods, written once in splits.py and windows.py
    loss, loss_weight, metrics = token_loss, token_count, sentence_metrics

    def __init__(
        self, count: tuple[int, int] = (1, 6), *, largest: int = 999, to: str = "digits", label_smoothing: float = 0.0
    ) -> None:
        expect_each(to=(to, ("digits", "german")), label_smoothing=(label_smoothing, "[0, 1)"))
        least, most = count
        expect_each(**{"count[0]": least, "count[1]": (most, least)}, largest=(largest, f"[1, {LARGEST}]"))
        self.count, self.largest, self.to, self.label_smoothing = (least, most), largest, to, label_smoothing
        self.name = f"numbers-{to}"
        if self.count != (1, 6):
            self.name += f"-{least}" if least == most else f"-{least}to{most}"
        if self.largest != 999:
            self.name += f"-up-to-{self.largest}"
        english = ("<pad>", ",", *_ENGLISH, *_ENGLISH_TENS, "hundred", "thousand")
        other = (*_GERMAN, "eins", *_GERMAN_TENS, "und", "hundert", "tausend") if to == "german" else "0123456789"
        self.words = {"source": english, "target": ("<pad>", "<start>", "<end>", ",", *other)}
        self._ids = {side: {word: number for number, word in enumerate(words)} for side, words in self.words.items()}
        self.vocabulary = self.input_size = len(self.words["source"])
        self.output_size = len(self.words["target"])
        say = {"source": _english, "target": _german if to == "german" else _digits}
        self._tables = {side: _table(say[side], self._ids[side]) for side in say}
        self.splits = Rows(draw=self._draw, lay_out=self._lay_out)

    def sentences(self, numbers: Sequence[Sequence[int]]) -> tuple[Pair, Tensor]:
        """x and y of sentences of one's own choice, such as [[412, 7], [321]].

        Raises ValueError for no sentence, a sentence without a number, or a number that is not in 0..999,999.
        """
        expect_rows("numbers", numbers, LARGEST + 1)
        return self._lay_out(pad_rows(numbers).long(), torch.tensor([len(row) for row in numbers]))

    def baselines(self) -> dict[str, float]:
        """The key "most frequent token": test accuracy of always writing the token most frequent in "valid";
        "uniform guess loss": the cross-entropy of equal probabilities of all tokens that can be a label."""
        (_, valid), (_, y) = (self._lay_out(*self.splits.finite(split)) for split in ("valid", "test"))
        frequent = valid[valid != self.pad].bincount().argmax()
        accuracy = (y == frequent).sum(1) / (y != self.pad).sum(1).double()
        return {"most frequent token": accuracy.mean().item(), "uniform guess loss": math.log(self.output_size - 2)}

    def decode(self, ids: Tensor | Sequence[int], side: str = "target") -> str:
        """The text of one row of ids up to the first end, without the start before it and the padding behind.

        Start or padding in between, as a model may write them, show as "<start>" and "<pad>".

        Raises ValueError for another shape than (T,), and for an id that is not in the vocabulary.
        """
        expect_each(side=(side, ("source", "target")))
        words = self.words[side]
        numbers = numbers_of(ids, len(words))
        if side == "target":
            numbers = numbers[numbers[:1] == [self.start] :]
            numbers = numbers[: numbers.index(self.end)] if self.end in numbers else numbers
        while numbers and numbers[-1] == self.pad:
            numbers.pop()
        tokens = [words[number] for number in numbers]
        in_digits = side == "target" and self.to == "digits"
        return "".join(tokens) if in_digits else " ".join(tokens).replace(" ,", ",")

    def _draw(self, size: int, generator: torch.Generator) -> Pair:
        """Numbers (size, most) and how many of each row are said (size,)."""
        least, most = self.count
        counts = torch.randint(least, most + 1, (size,), generator=generator)
        return torch.randint(self.largest + 1, (size, most), generator=generator), counts

    def _lay_out(self, numbers: Tensor, counts: Tensor) -> tuple[Pair, Tensor]:
        source, _ = self._say("source", numbers, counts)
        target, lengths = self._say("target", numbers, counts)
        target_in = F.pad(target, (1, 0), value=self.start)
        y = F.pad(target, (0, 1)).scatter_(1, lengths[:, None], self.end)
        return (source, target_in), y

    def _say(self, side: str, numbers: Tensor, counts: Tensor) -> Pair:
        """Tokens (B, S) of one side and their number in each row (B,)."""
        table = self._tables[side]
        thousands, rest = numbers // 1000, numbers % 1000  # (B, N)
        place = torch.arange(numbers.shape[1])
        comma = (place < counts[:, None] - 1) * self._ids[side][","]  # (B, N)
        tokens = torch.cat([table[0, thousands], table[1 + (thousands > 0).long(), rest], comma[..., None]], dim=-1)
        tokens = (tokens * (place < counts[:, None])[..., None]).flatten(1)
        # Push the empty places behind the tokens; the sort is stable, so the tokens keep their order.
        tokens = tokens.gather(1, (tokens == 0).to(torch.uint8).argsort(dim=1, stable=True))
        lengths = (tokens != 0).sum(1)
        return tokens[:, : int(lengths.max())], lengths


def _table(say: Callable[[int], _Parts], ids: dict[str, int]) -> Tensor:
    """Ids (3, 1000, W) from which all numbers are put together, padded with 0.

    For n in 0..999: row 0 holds the thousands n, row 1 the number n, row 2 the number n after thousands.
    """
    rows = [[say(1000 * n)[0] for n in range(1000)]]
    rows += [[say(after + n)[1] for n in range(1000)] for after in (0, 1000)]
    width = max(len(tokens) for row in rows for tokens in row)
    return torch.tensor(
        [[[ids[token] for token in tokens] + [0] * (width - len(tokens)) for tokens in row] for row in rows]
    )


def _digits(number: int) -> _Parts:
    """The digits of the thousands and of the rest; every language below returns its words in these two parts."""
    text = str(number)
    return list(text[:-3]), list(text[-3:])


def _english(number: int) -> _Parts:
    def say(n: int) -> list[str]:  # nothing for 0
        if n >= 100:
            return [_ENGLISH[n // 100], "hundred", *say(n % 100)]
        if n >= 20:
            return [_ENGLISH_TENS[n // 10 - 2], *say(n % 10)]
        return [_ENGLISH[n]] if n else []

    thousands, rest = divmod(number, 1000)
    return [*say(thousands), "thousand"] if thousands else [], say(rest) if number else ["zero"]


def _german(number: int) -> _Parts:
    def say(n: int, one: str) -> list[str]:  # `one` is what 1 is called where it comes last
        if n >= 100:
            return [_GERMAN[n // 100], "hundert", *say(n % 100, one)]
        if n >= 20:
            return [*([_GERMAN[n % 10], "und"] if n % 10 else []), _GERMAN_TENS[n // 10 - 2]]
        return [one] if n == 1 else [_GERMAN[n]] if n else []

    thousands, rest = divmod(number, 1000)
    return [*say(thousands, "ein"), "tausend"] if thousands else [], say(rest, "eins") if number else ["null"]
