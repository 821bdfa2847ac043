"""Text, one symbol at a time: name the next character or word.

The files come from `rtx_lib.tasks.fetch`, whose errors pass through.
"""

import hashlib
from collections import Counter
from collections.abc import Sequence

from torch import Tensor

from rtx_lib.shapes import expect_each
from rtx_lib.tasks.files import GROUPS, fetch
from rtx_lib.tasks.splits import SPLITS, draw_batch, perplexity, run_through
from rtx_lib.tasks.vocabulary import ids_of, numbers_of
from rtx_lib.tasks.windows import Windows, count_baselines, read_streams, symbol_count, symbol_loss, symbol_metrics

SOURCES = {"shakespeare": GROUPS["shakespeare"], "pydoc": ()}  # by source, its files
LEVELS = ("characters", "words")


class CharacterText:
    """Name the next character of a text, at every position.

    ::

        text    F i r s t   C i t i z e n : ...           length=6
        x       F i r s t _                               a window of the text
        y       i r s t _ C                               the same, one character later

    x and y (B, T) int64 ids. The vocabulary is the sorted characters of the whole text, the attribute
    `characters`: id 0 is the first. All positions count.

    "shakespeare" is tinyshakespeare (Karpathy 2015), 1,115,394 characters, 65 different ones. "pydoc" needs no
    file: it is the help topics that come with Python (`pydoc_data.topics`), in the order of their names with a blank
    line between two. They differ from one version of Python to the next, so results on "pydoc" compare with each
    other only where `digest`, the SHA-256 of the text in UTF-8, is the same.

    Splits as in nanoGPT: the first int(0.9 * characters) are "train", the rest is "valid". There is no third part;
    "test" is "valid" under another name, unless `held_out`: then the rest is cut in two halves, and "test" is the
    second one.

    Baselines, losses in nats on "test": "uniform guess loss" is ln V. For "unigram loss" and "bigram loss", p is
    counted in "train", with one added to every count so that what never occurred there does not cost infinity,

        p(b) = (n(b) + 1) / (n + V),        p(b | a) = (n(a, b) + 1) / (n(a) + V),

    n(a) being the number of pairs that begin with a, and the loss is the mean of -ln p over what `batches` covers.

    Parameters
    ----------
    source
        "shakespeare" or "pydoc".
    length
        T, the number of predictions in a window, at least 1; "valid" must hold at least one window.
    held_out
        Whether "test" is text that "valid" does not hold.
    """

    files = SOURCES
    bits = True  # metrics have "bpc"
    batch, batches, stream = draw_batch, run_through, read_streams  # methods, written once in splits.py and windows.py
    loss, metrics = symbol_loss, symbol_metrics

    def __init__(self, source: str = "shakespeare", *, length: int = 64, held_out: bool = False) -> None:
        expect_each(source=(source, [*SOURCES]), length=length)
        self.source, self.length, self.name = source, length, f"{source}-{length}"
        text = _pydoc() if source == "pydoc" else fetch(*self.files[source]).read_bytes().decode()
        self.digest = hashlib.sha256(text.encode()).hexdigest()
        self.characters = "".join(sorted(set(text)))
        self.vocabulary = self.input_size = self.output_size = len(self.characters)
        self._ids = {character: number for number, character in enumerate(self.characters)}
        ids, cut = self.encode(text), int(0.9 * len(text))
        middle = (cut + len(ids)) // 2
        valid, test = (slice(cut, middle), slice(middle, None)) if held_out else 2 * (slice(cut, None),)
        self._data = {"train": ids[:cut], "valid": ids[valid], "test": ids[test]}
        self.splits = Windows(self._data, self.length, rest=False)

    def baselines(self) -> dict[str, float]:
        """{"uniform guess loss", "unigram loss", "bigram loss"}, in nats on "test" (defined above)."""
        test = self._data["test"]
        covered = (len(test) - 1) // self.length * self.length  # by whole windows
        return count_baselines(self._data["train"], test[: covered + 1], self.output_size)

    def encode(self, text: str) -> Tensor:
        """The ids (T,) of a text; ValueError for a character that the vocabulary lacks."""
        return ids_of(text, self._ids, f"the {self.vocabulary} characters of {self.source}: {self.characters!r}")

    def decode(self, ids: Tensor | Sequence[int]) -> str:
        """The text of ids (T,); ValueError for another shape or an id that is not in 0..V-1."""
        return "".join(self.characters[number] for number in numbers_of(ids, self.vocabulary))


def _pydoc() -> str:
    from pydoc_data.topics import topics  # here, because it is half a megabyte

    return "\n\n".join(topics[name] for name in sorted(topics))


class PennTreebank:
    """Name the next word or character of the Wall Street Journal, at every position behind a context.

    ::

        length=6, context=4         ctx: read, not scored       ^ scored

        text     n o _ i t _ w a s n ' t ...
        window   n o _ i t _                  x
                 o _ i t _ w                  y, one later
                 ctx     ^ ^
        next         _ i t _ w a              begins length - context later, so that it scores the next two
                             ^ ^

    x and y (B, T) int64 ids. The files are those of Mikolov et al. (2010): lower case, rare words replaced by
    ``<unk>``, numbers by ``N``. "words" are what spaces separate, with ``<eos>`` for the end of a line: 10,000
    different ones, ids in the order of their frequency in "train" (equal ones alphabetically), and
    929,589 / 73,760 / 82,430 in "train" / "valid" / "test". "characters" are the text without the ends of its lines:
    49 different ones, sorted, of which ``<unk>`` takes five, and 5,059,550 / 396,412 / 446,184 in the
    splits. The attribute `symbols` is the vocabulary: id 0 is the first.

    The protocol is that of Bai, Kolter and Koltun (2018), which R-Transformer took over: a model without state reads
    windows of `length`, of which the first `context` positions are not scored, so that every prediction that counts
    knows at least `context` symbols before its own; there are streams only if it is 0. In `batches` every symbol of a
    split but the first context + 1 is scored once. Their numbers are length 400, context 80 for characters and 80, 40
    for words.

    Baselines, losses in nats over what `batches("test", ...)` scores: "uniform guess loss" is ln V; "unigram loss"
    and, for characters, "bigram loss" count in "train", as defined for `rtx_lib.tasks.CharacterText`.

    Parameters
    ----------
    level
        "characters" or "words".
    length
        T, the number of predictions in a window, more than `context`; every split must hold one window.
    context
        The first positions of each window, which are not scored, at least 0.
    """

    files = GROUPS["ptb"]
    batch, batches, stream = draw_batch, run_through, read_streams  # methods, written once in splits.py and windows.py
    loss, metrics, weight = symbol_loss, symbol_metrics, symbol_count

    def __init__(self, level: str = "characters", *, length: int, context: int = 0) -> None:
        expect_each(level=(level, LEVELS), length=length, context=(context, f"[0, {length})"))
        self.level, self.length, self.context = level, length, context
        self.bits = level == "characters"  # metrics have "bpc" for characters, a perplexity for words
        self.name = f"ptb-{level}-{self.length}" + (f"-context-{self.context}" if self.context else "")
        texts = {split: fetch(name).read_bytes().decode() for split, name in zip(SPLITS, self.files, strict=True)}
        if self.bits:
            texts = {split: text.replace("\n", "") for split, text in texts.items()}
        counts = Counter(self._split(texts["train"]))
        symbols = sorted(counts)
        self.symbols = tuple(symbols if self.bits else sorted(symbols, key=counts.__getitem__, reverse=True))
        self.vocabulary = self.input_size = self.output_size = len(self.symbols)
        self._ids = {symbol: number for number, symbol in enumerate(self.symbols)}
        self._data = {split: self.encode(text).short() for split, text in texts.items()}  # two bytes are enough
        self.splits = Windows(self._data, self.length, self.context)

    def finish(self, metrics: dict[str, float]) -> dict[str, float]:
        """`metrics` of a whole split, for words with "perplexity", e to the mean loss.

        Perplexities of batches must not be averaged: their mean is not that of the whole, but larger.
        """
        return metrics if self.bits else {**metrics, "perplexity": perplexity(metrics["loss"])}

    def baselines(self) -> dict[str, float]:
        """{"uniform guess loss", "unigram loss"}, for characters also "bigram loss", in nats on "test"."""
        test = self._data["test"][self.context :]
        return count_baselines(self._data["train"], test, self.output_size, pairs=self.bits)

    def encode(self, text: str) -> Tensor:
        """The ids (T,) of a text, split as the files are; ValueError for a symbol that the vocabulary lacks.

        At the level of characters an end of line is an unknown character.
        """
        return ids_of(self._split(text), self._ids, f"the {len(self.symbols)} {self.level} of PTB")

    def _split(self, text: str) -> Sequence[str]:
        return text if self.bits else text.replace("\n", " <eos> ").split()
