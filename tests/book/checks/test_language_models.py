"""The checks accept the right answer, and name each planted slip."""

from itertools import pairwise

import torch
from support.answers import chapter

from rtx_book.checks import language_models as checks
from rtx_lib.tasks.byte_pairs import join, merge


def by(choose, turns=99):
    """An answer: turn by turn, join one of the pairs (with their ranks) that the word has."""

    def answer(word, merges):
        for _ in range(turns):
            if found := [(merges.index(pair), pair) for pair in pairwise(word) if pair in merges]:
                word = join(word, choose(found)[1])
        return word

    return answer


def in_order(word, merges):
    for pair in merges:
        word = join(word, pair)
    return word


def in_one_place(word, merges):
    for a, b in merges:
        for i in range(len(word) - 1):
            if (word[i], word[i + 1]) == (a, b):
                word = [*word[:i], a + b, *word[i + 2 :]]
                break
    return word


def longest(word, merges):
    text, out, known = "".join(word), [], {a + b for a, b in merges}
    while text:
        out.append(max((text[:n] for n in range(1, len(text) + 1) if n == 1 or text[:n] in known), key=len))
        text = text[len(out[-1]) :]
    return out


def kept(p, stays, *, back=True, scale=True):
    p, order = p.sort(descending=True)
    p = p * stays(p)
    p = p / p.sum() if scale else p
    return torch.zeros_like(p).scatter(-1, order, p) if back else p


def before(share):
    return lambda p: p.cumsum(-1) - p < share


def late(z, t, share):
    return (z / t).where(kept(z.softmax(-1), before(share)) > 0, -torch.inf).softmax(-1)


def in_place(z, t, share):
    p = (z / t).softmax(-1)
    p = p * before(share)(p)
    return p / p.sum()


RIGHT = {
    checks.check_encode: [
        (by(min), "learned first"),
        (in_order, "learned first"),
        (lambda word, merges: merge(word, {pair: rank for rank, pair in enumerate(merges)}), "learned first"),
    ]
}
SLIPS = {
    checks.check_encode: [
        (lambda word, merges: word, "came back as it was"),
        (by(lambda found: found[0]), "leftmost pair"),
        (longest, "longest piece"),
        (by(max), "learned last"),
        (by(min, turns=1), "after one turn"),
        (in_one_place, "in one place"),
        (by(min, turns=2), "is not right, by none"),
    ],
    checks.check_tempered_top_p: [
        (lambda z, t, share: kept((z / t).softmax(-1), lambda p: p.cumsum(-1) <= share), "crosses the line"),
        (lambda z, t, share: kept((z / t).softmax(-1), before(share), scale=False), "rescaled"),
        (late, "before the"),
        (lambda z, t, share: kept((z * t).softmax(-1), before(share)), "multiplied"),
        (lambda z, t, share: kept(z.softmax(-1), before(share)), "temperature is missing"),
        (lambda z, t, share: kept((z / t).softmax(-1), before(share), back=False), "sorted order"),
        (in_place, "order of the ids"),
        (lambda z, t, share: (z / t).softmax(-1), "nothing was cut"),
        (lambda z, t, share: z[:3], "shape must be that of z"),
    ],
}

test_slips, test_stubs, test_right_answers = chapter(SLIPS, RIGHT)
