"""Words as ids, with the special tokens of pre-training in front, and rows of different lengths in one tensor."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from rtx_lib.shapes import expect, expect_each, expect_ids

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PAD, UNKNOWN, IGNORED = 0, 1, -100  # the last is the label that does not count, in torch's cross-entropy too


def ids_of(text: Iterable[str], ids: Mapping[str, int], known: str) -> Tensor:
    """The ids (T,) of symbols; ValueError, which says what is `known`, for one without an id."""
    try:
        return torch.tensor([ids[symbol] for symbol in text], dtype=torch.int64)
    except KeyError as error:
        raise ValueError(f"text must keep to {known}, got {error.args[0]!r}") from None


def numbers_of(ids: Tensor | Sequence[int], symbols: int) -> list[int]:
    """The numbers of one sequence of ids (T,); ValueError for another shape or an id that is not in 0..V-1."""
    return expect_ids(expect(torch.as_tensor(ids), "T", "ids")[None], symbols, "ids")[0].tolist() if len(ids) else []


def text_of(task: Any, ids: Tensor | Sequence[int]) -> str:
    """The text of ids (T,), of the task's `words` and without its `pad`: the `decode` of several tasks."""
    pad = getattr(task, "pad", None)
    return " ".join(task.words[number] for number in numbers_of(ids, len(task.words)) if number != pad)


class Vocabulary:
    """Which word has which id.

    The special tokens come first: [PAD] 0 fills a row up, [UNK] 1 stands for every word without an id, [CLS] 2 begins
    a text, [SEP] 3 ends one, and [MASK] 4 hides a word. BERT has the same five (Devlin et al. 2018), under other ids.
    What is read is put into small letters.

    Parameters
    ----------
    words
        The words by id. [PAD] and [UNK] must stand at 0 and 1; [CLS], [SEP] and [MASK] may stand anywhere or be
        missing, and `require` says so to whoever needs them.
    """

    pad, unknown, decode = PAD, UNKNOWN, text_of

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)
        if self.words[:2] != SPECIAL[:2]:
            raise ValueError(f"words must begin with {SPECIAL[0]!r}, {SPECIAL[1]!r}, got {list(self.words[:2])}")
        self._ids = {word: number for number, word in enumerate(self.words)}
        if len(self._ids) < len(self.words):
            raise ValueError(f"words must differ, got {len(self.words) - len(self._ids)} that stand there before")

    @classmethod
    def of(cls, sentences: Iterable[Sequence[str]], size: int) -> "Vocabulary":
        """The special tokens and the most frequent words of sentences, at most `size` ids in all.

        Equally frequent words stand in the order of the alphabet.
        """
        expect_each(size=(size, len(SPECIAL) + 1))
        counts = Counter(word.lower() for sentence in sentences for word in sentence)
        counts.pop("<unk>", None)  # as the files of WikiText-2 and PTB write a word without an id
        frequent = sorted(counts, key=lambda word: (-counts[word], word))
        return cls((*SPECIAL, *frequent[: size - len(SPECIAL)]))

    def __len__(self) -> int:
        return len(self.words)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.words == other.words

    def __hash__(self) -> int:
        return hash(self.words)

    def require(self, *special: str) -> tuple[int, ...]:
        """The ids of special tokens, such as "[MASK]"; ValueError for one that the vocabulary lacks."""
        for word in special:
            if word not in self._ids:
                raise ValueError(f"words must hold {word!r}, which is needed here; the {len(self)} given do not")
        return tuple(self._ids[word] for word in special)

    def ids(self, words: Iterable[str]) -> list[int]:
        """The ids of words, 1 for those that have none; no word of a text is taken for a special token."""
        return [self._ids.get(word.lower(), UNKNOWN) for word in words]

    def encode(self, text: str) -> Tensor:
        """The ids (T,) of a text, split at spaces; special tokens are known: "i like [MASK] ."."""
        words = split_words(text)
        return torch.tensor([self._ids[word] if word in self._ids else self.ids([word])[0] for word in words])


def split_words(text: str) -> list[str]:
    """What spaces separate; ValueError where there is nothing."""
    if not (words := text.split()):
        raise ValueError(f"text must hold a word, got {text!r}")
    return words


def pad_rows(rows: Sequence[Sequence[int]], value: int = PAD, length: int = 1) -> Tensor:
    """Rows of different lengths as one tensor (N, T) of int32, filled up behind; T is at least `length`."""
    length = max([length, *map(len, rows)])
    return torch.tensor([[*row, *[value] * (length - len(row))] for row in rows], dtype=torch.int32)


def trim(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """A batch no longer than its longest row, widened to int64; labels at every step are cut as x is."""
    longest = int((x != PAD).sum(1).max())
    return x[:, :longest].long(), (y[:, :longest] if y.ndim == 2 else y).long()


def expect_rows(name: str, rows: Sequence[Sequence[int]], size: int) -> None:
    """There is a row, every row holds an id, and all ids are in 0..size-1."""
    for row in rows or ((),):
        expect_ids(torch.tensor([[*row]]), size, name)
