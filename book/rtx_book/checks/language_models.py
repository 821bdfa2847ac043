"""Checks of the exercises on language models; each message names the likely slip.

Every check returns without a word of blame if its argument is None: the exercise is not answered yet.
"""

from collections.abc import Callable
from itertools import pairwise

from rtx_book.checks.answers import exercise, refuse
from rtx_lib.tasks.byte_pairs import join, merge

Pair = tuple[str, str]

_MERGES: list[Pair] = [
    ("e", "r"),
    ("h", "er"),
    ("t", "h"),
    ("th", "e"),
    ("a", "a"),
    ("l", "o"),
    ("lo", "w"),
    ("e", "s"),
]
_WORDS = ("there", "these", "ertheres", "lower", "aaaaa", "x", "ererth")


@exercise("Right: at each turn the pair that was learned first, wherever it stands.")
def check_encode(answer: Callable[[list[str], list[Pair]], list[str]]) -> None:
    """``answer(word, merges)`` must be the pieces of a word, a list of letters, by merges in the order of learning."""
    ranks = {pair: rank for rank, pair in enumerate(_MERGES)}
    known = {first + second for first, second in _MERGES}

    def joined(word: list[str], choose: Callable[[list[Pair]], Pair], turns: int = 99) -> list[str]:
        for _ in range(turns):
            if found := [pair for pair in pairwise(word) if pair in ranks]:
                word = join(word, choose(found))
        return word

    def first(found: list[Pair]) -> Pair:
        return min(found, key=ranks.__getitem__)

    def in_one_place(word: list[str]) -> list[str]:
        for pair in _MERGES:
            if pair in (there := [*pairwise(word)]):
                at = there.index(pair)
                word = [*word[:at], "".join(pair), *word[at + 2 :]]
        return word

    def longest(word: list[str]) -> list[str]:
        text, out = "".join(word), []
        while text:
            out.append(next(text[:n] for n in range(len(text), 0, -1) if n == 1 or text[:n] in known))
            text = text[len(out[-1]) :]
        return out

    order = "at each turn the pair that was learned first is joined"
    slips: dict[str, Callable[[list[str]], list[str]]] = {
        "the word came back as it was: the list `word` holds letters that stand side by side": list,
        f"this joins the leftmost pair that is a merge: {order}, which may stand further right": lambda word: joined(
            word, lambda found: found[0]
        ),
        f"this takes the longest piece that fits, from the left: {order}, whatever it is part of later": longest,
        f"this joins the pair that was learned last: {order}": lambda word: joined(
            word, lambda found: max(found, key=ranks.__getitem__)
        ),
        "this stops after one turn: what was joined may be half of another pair": lambda word: joined(word, first, 1),
        "a pair is joined wherever it stands in the word, and this does it in one place": in_one_place,
    }
    given = [answer([*word], [*_MERGES]) for word in _WORDS]
    for word, found in zip(_WORDS, given, strict=True):
        assert isinstance(found, list), f"the function must return a list of pieces, it returned {type(found).__name__}"
        assert "".join(found) == word, f"the pieces of {word!r} must spell it, got {found}"
    refuse({message: [slip([*word]) for word in _WORDS] for message, slip in slips.items()}, lambda w: w == given)
    for word, found in zip(_WORDS, given, strict=True):
        assert found == merge([*word], ranks), f"{word!r} does not fall into {found}: {order}, until none is left"
