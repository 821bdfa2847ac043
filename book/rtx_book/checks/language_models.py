"""Checks of the exercises on language models; each message names the likely slip.

Every check returns without a word of blame if its argument is None: the exercise is not answered yet.
"""

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import torch
from torch import Tensor

from rtx_book.checks.answers import as_tensor, compare, compare_cases, draw, exercise, numeric, of_chapter
from rtx_lib.tasks.byte_pairs import join, merge

solution, ask = of_chapter(__name__)
(check_word_perplexity,) = numeric(__name__)

Pair = tuple[str, str]

# In the order of learning, as a file of merges has them.
_MERGES: list[Pair] = [(a, b) for a, b in map(str.split, ("e r", "h er", "t h", "th e", "a a", "l o", "lo w", "e s"))]
_WORDS = ("there", "these", "ertheres", "lower", "aaaaa", "x", "ererth")


@exercise("Right: at each turn the pair that was learned first, wherever it occurs.")
def check_encode(answer: Callable[[list[str], list[Pair]], list[str]]) -> None:
    """``answer(word, merges)`` must be the pieces of a word, a list of letters, by merges in the order of learning."""
    ranks = {pair: rank for rank, pair in enumerate(_MERGES)}
    known = {first + second for first, second in _MERGES}

    def joined(word: list[str], choose: Callable[[list[Pair]], Pair], turns: int = 99) -> list[str]:
        for _ in range(turns):
            if found := [pair for pair in pairwise(word) if pair in ranks]:
                word = join(word, choose(found))
        return word

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
    one_turn = "this stops after one turn: what was joined may be half of another pair"
    by_place = f"this joins the leftmost pair that is a merge: {order}, which may be further right"
    by_rank = ranks.__getitem__
    slips: dict[str, Callable[[list[str]], list[str]]] = {
        "the word came back as it was: the list `word` holds letters side by side": list,
        by_place: partial(joined, choose=lambda found: found[0]),
        f"this takes the longest piece that fits, from the left: {order}, whatever it is part of later": longest,
        f"this joins the pair that was learned last: {order}": partial(joined, choose=partial(max, key=by_rank)),
        one_turn: partial(joined, choose=partial(min, key=by_rank), turns=1),
        "a pair is joined wherever it occurs in the word, and this does it in one place": in_one_place,
    }
    cases = [([*word],) for word in _WORDS]
    compare_cases(lambda word: answer(word, [*_MERGES]), lambda word: merge(word, ranks), slips, cases)


_CASES = ((2.0, 0.7), (0.6, 0.95), (1.0, 0.6), (1.5, 0.8))  # temperature, share


@exercise("Right: the temperature first, then the cut, and the character that crosses the line stays.")
def check_tempered_top_p(answer: Callable[[Tensor, float, float], Tensor]) -> None:
    """``answer(z, temperature, share)`` must be what top-p leaves of softmax(z / temperature), z (V,), rescaled."""
    logits = draw(0, *[(12,)] * len(_CASES))

    def cut(z: Tensor, share: float, keep: Callable[[Tensor, Tensor], Tensor] | None = None) -> Tensor:
        p, order = z.softmax(-1).sort(descending=True)
        stays = p.cumsum(-1) - p < share if keep is None else keep(p, p.cumsum(-1))
        return torch.zeros_like(z).scatter(-1, order, p * stays)

    def every(rule: Callable[[Tensor, float, float], Tensor]) -> Tensor:
        return torch.cat([rule(z, *case) for z, case in zip(logits, _CASES, strict=True)])

    def scaled(p: Tensor) -> Tensor:
        return p / p.sum().clamp(min=1e-300)

    def rows(z: Tensor, t: float, s: float) -> Tensor:
        p = (z / t).softmax(-1)
        return scaled(p * (p.cumsum(-1) - p < s))

    def warmed(z: Tensor, t: float, s: float) -> Tensor:
        return (z / t).masked_fill(cut(z, s) == 0, -torch.inf).softmax(-1)

    crosses = "the character that crosses the line was dropped: it stays, so that the share is reached"
    place = "the result is in sorted order: put each probability back to the place of its character (scatter)"
    slips = {
        crosses: every(lambda z, t, s: scaled(cut(z / t, s, lambda p, sums: sums <= s))),
        "what is left must be rescaled to sum to 1": every(lambda z, t, s: cut(z / t, s)),
        "the share was measured before the temperature acted: divide the logits first": every(warmed),
        "the logits were multiplied: divide, so that a low one sharpens": every(lambda z, t, s: scaled(cut(z * t, s))),
        "the temperature is missing": every(lambda z, t, s: scaled(cut(z, s))),
        place: every(lambda z, t, s: scaled(cut(z / t, s)).sort(descending=True).values),
        "added up in the order of the ids: sort first, the most probable in front": every(rows),
        "nothing was cut": every(lambda z, t, s: (z / t).softmax(-1)),
    }
    found = [as_tensor(answer(z.clone(), *case)) for z, case in zip(logits, _CASES, strict=True)]
    wrong = next((one.shape for one in found if one.shape != logits[0].shape), None)
    assert wrong is None, f"the shape must be that of z, {tuple(logits[0].shape)}, it is {tuple(wrong or ())}"
    compare(torch.cat(found), every(lambda z, t, s: scaled(cut(z / t, s))), slips)
