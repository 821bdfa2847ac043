"""Texts as pieces: byte-pair encoding, over bytes and, as GPT had it first, over characters.

::

    l o w   l o w e r   l o w e s t        what stands together most often becomes one piece ...
    lo w   lo w e r   lo w e s t           merge 1: l + o
    low   low e r   low e s t              merge 2: lo + w

The merges in their order are all that is learned (Sennrich et al. 2016). To encode, a word falls into its smallest
pieces; of the pairs in it, the one that was learned first is joined, wherever it stands, until none is left.
"""

from __future__ import annotations

import functools
import heapq
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from rtx_lib.shapes import expect_each
from rtx_lib.tasks.files import GROUPS, fetch

_SHOWN = [*range(33, 127), *range(161, 173), *range(174, 256)]  # bytes that Latin-1 shows
BYTES = tuple(bytes([byte]) for byte in sorted(range(256), key=lambda byte: (byte not in _SHOWN, byte)))
"""The 256 smallest pieces by id: GPT-2 puts those first that print shows."""


def split(text: str) -> list[str]:
    """The words of a text, with all that it holds: no piece goes over the end of one (Radford et al. 2019).

    A word is letters, numbers or signs, with the space before it, or one of seven English endings ("'s", "'t", "'re",
    "'ve", "'m", "'ll", "'d"), or white space, which leaves its last to the word that follows.
    """
    return _words().findall(text)


@functools.cache
def _words() -> re.Pattern[str]:
    """GPT-2's pattern, whose letters are Unicode's L*, numbers N*; `re` knows only both together."""
    number = "".join(sign for sign in map(chr, range(sys.maxunicode + 1)) if sign.isalnum() and not sign.isalpha())
    kept = r"\x1c-\x1f"  # white space to `re`, not to Unicode
    ends, gap = "'(?:[stmd]|re|ve|ll)", rf"[^\S{kept}]+"
    return re.compile(rf"{ends}| ?[^\W_{number}]+| ?[{number}]+| ?(?:[_{kept}]|[^\s\w])+|{gap}(?![\S{kept}])|{gap}")


def join(word: Sequence[Any], pair: tuple[Any, Any]) -> list[Any]:
    """A word with the two pieces of a pair put together, wherever they stand side by side, from left to right."""
    out: list[Any] = []
    for piece in word:
        if out and (out[-1], piece) == pair:
            out[-1] += piece
        else:
            out.append(piece)
    return out


def merge(word: Sequence[Any], ranks: Mapping[tuple[Any, Any], int]) -> list[Any]:
    """The pieces of a word: of its pairs, the one of the lowest rank is joined, until none has a rank."""
    while known := [pair for pair in pairwise(word) if pair in ranks]:
        word = join(word, min(known, key=ranks.__getitem__))
    return [*word]


class BytePairs:
    """Pieces of bytes, which write every text (Radford et al. 2019).

    ::

        pairs = BytePairs.learn(text, merges=1000)
        pairs.encode("four hundred")  # ids below len(pairs.vocabulary), 256 + 1000 where all pieces differ
        pairs.pieces("four hundred")  # [b"four", b" h", b"und", b"red"], say

    ``decode(encode(text)) == text`` for whatever UTF-8 can write. Ids 0 to 255 are the bytes in the order of `BYTES`,
    the others the merges in the order of learning, as in GPT-2 and in Hugging Face's `tokenizers`.

    Parameters
    ----------
    merges
        The pairs of pieces, in the order in which they were learned.
    """

    def __init__(self, merges: Iterable[tuple[bytes, bytes]]) -> None:
        self.merges = [(first, second) for first, second in merges]
        self.vocabulary = [*dict.fromkeys([*BYTES, *(first + second for first, second in self.merges)])]
        self._ids = {piece: number for number, piece in enumerate(self.vocabulary)}
        self._ranks = {pair: rank for rank, pair in enumerate(self.merges)}

    @classmethod
    def learn(cls, text: str | Mapping[str, int], merges: int) -> BytePairs:
        """At most so many merges, of the pairs that are most frequent in the words of a text, or in counted words.

        Of equally frequent pairs the one whose first piece, then whose second, has the lower id. Only the words that
        hold a pair are looked at again when it is joined.
        """
        expect_each(merges=merges)
        counted = Counter(split(text)) if isinstance(text, str) else text
        words = [[bytes([byte]) for byte in word.encode()] for word in counted]
        times, ids = [*counted.values()], {piece: number for number, piece in enumerate(BYTES)}
        counts: Counter[tuple[bytes, bytes]] = Counter()
        places: defaultdict[tuple[bytes, bytes], set[int]] = defaultdict(set)

        def count(place: int, sign: int) -> None:
            for pair in pairwise(words[place]):
                counts[pair] += sign * times[place]
                places[pair].add(place)
                touched.add(pair)

        touched: set[tuple[bytes, bytes]] = set()
        learned: list[tuple[bytes, bytes]] = []
        queue: list[tuple[int, int, int, tuple[bytes, bytes]]] = []
        for place in range(len(words)):
            count(place, 1)
        while len(learned) < merges:
            for pair in touched:
                heapq.heappush(queue, (-counts[pair], ids[pair[0]], ids[pair[1]], pair))
            while queue and -queue[0][0] != counts[queue[0][-1]]:  # counted anew since
                heapq.heappop(queue)
            if not queue or not queue[0][0]:
                break
            best = heapq.heappop(queue)[-1]
            learned.append(best)
            ids.setdefault(best[0] + best[1], len(ids))
            touched.clear()
            for place in places.pop(best):
                count(place, -1)
                words[place] = join(words[place], best)
                count(place, 1)
        return cls(learned)

    def pieces(self, text: str) -> list[bytes]:
        """The pieces of a text; one may end within a character."""
        words = split(text)
        known = {word: merge([bytes([byte]) for byte in word.encode()], self._ranks) for word in set(words)}
        return [piece for word in words for piece in known[word]]

    def encode(self, text: str) -> list[int]:
        """The ids of the pieces of a text."""
        return [self._ids[piece] for piece in self.pieces(text)]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids; � for bytes that are no character."""
        return b"".join(self.vocabulary[number] for number in ids).decode("utf-8", "replace")


class GPTPieces:
    """The 40,478 pieces of GPT (Radford et al. 2018): characters of lower-case words, the last with ``</w>`` behind it.

    Words are what spaces separate. A piece without an id is ``<unk>``, 0: these pieces cannot write every text.
    """

    files = GROUPS["gpt_bpe"]

    def __init__(self) -> None:
        merges, ids = (Path(fetch(name)).read_text(encoding="utf-8") for name in self.files)
        lines = (line.partition(" ") for line in merges.splitlines()[1:])
        self.merges = [(first, second) for first, _, second in lines]
        self._ids: dict[str, int] = json.loads(ids)
        self.vocabulary = sorted(self._ids, key=self._ids.__getitem__)
        self._ranks = {pair: rank for rank, pair in enumerate(self.merges)}

    def pieces(self, text: str) -> list[str]:
        """The pieces of a text, such as "tok" and "en</w>"."""
        words = text.lower().split()
        known = {word: merge([*word[:-1], f"{word[-1]}</w>"], self._ranks) for word in set(words)}
        return [piece for word in words for piece in known[word]]

    def encode(self, text: str) -> list[int]:
        """The ids of the pieces of a text."""
        return [self._ids.get(piece, 0) for piece in self.pieces(text)]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids, words with a space between them."""
        return "".join(self.vocabulary[number] for number in ids).replace("</w>", " ").rstrip()
