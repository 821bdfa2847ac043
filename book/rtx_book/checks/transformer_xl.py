"""Checks of the exercises on Transformer-XL; each message names the likely slip.

Every check returns without a word of blame if its argument is None: the exercise is not answered yet.
"""

from collections.abc import Callable, Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from rtx_book.checks.answers import (
    as_tensor,
    compare,
    compare_cases,
    compare_together,
    draw,
    exercise,
    judge,
    judged,
    of_chapter,
    shifted,
)

solution, ask = of_chapter(__name__)

BORDER = judged("border")
"""What the last exercise asks: whether it is so, and why."""


@exercise("Right: row i moves T - 1 - i places to the left, so that each score is at its key.")
def check_shift(answer: Callable[[Tensor], Tensor]) -> None:
    """``answer(x)`` must move scores by distance, x (..., T, S), to their keys: (..., T, S).

    Row i belongs to query i, which stands at position M + i of the S = M + T keys. Column c of x is for the distance
    S - 1 - c, so that key j finds its score, for the distance M + i - j, in column j + T - 1 - i. Keys after the query
    (j > M + i) are masked later, and may hold anything.
    """
    cases = {}
    for T, M in ((4, 0), (4, 3), (1, 4)):
        case = f"T = {T}, S = {M + T}; of query i and distance d the score is 100 (i + 1) + d: "
        hidden = torch.ones(T, M + T, dtype=torch.bool).triu(M + 1)
        cases[case] = {name: y.masked_fill(hidden, 0) for name, y in _shifts(answer, T, M, case).items()}
    compare_together(cases)


def _shifts(answer: Callable[[Tensor], Tensor], T: int, M: int, case: str) -> dict[str, Tensor]:
    """What was given, what is right, and what usual slips give."""
    S = M + T
    row, column = torch.arange(T)[:, None], torch.arange(S)
    cells = 100 * (row + 1) + (S - 1 - column)  # a cell names its query and its distance
    x = (cells + torch.arange(0, 6000, 1000).view(2, 3, 1, 1)).double()

    mirrored = shifted(x, M + row - 2 * column)

    def stacked(front: int, back: int, first: int) -> Tensor:
        """A zero column in front or behind, the same numbers in rows of T, the first or the last of these left out."""
        rows = F.pad(x, (front, back)).view(2, 3, S + 1, T)
        return rows[..., first : S + first, :].reshape(2, 3, T, S)

    try:
        given = as_tensor(answer(x.clone()))
    except RuntimeError as error:  # as view and cat raise
        raise AssertionError(f"{case}torch says: {error}") from error
    assert given.shape == x.shape, f"{case}the shape must be {tuple(x.shape)}, it is {tuple(given.shape)}"
    return {
        "given": given,
        "right": shifted(x, T - 1 - row),
        "nothing has moved: these are still the scores by distance": x,
        "the columns are read as distances 0, 1, 2, ...: they run from S - 1 down to 0": mirrored,
        "the rows move the wrong way: it is T - 1 - i places to the left": shifted(x, row + 1 - T),
        "row i moves i places: it is the last row that stays, and the first that moves furthest": shifted(x, row),
        "row i moves i places, and to the right: it is T - 1 - i places to the left": shifted(x, -row),
        "row i moves one place too few": shifted(x, T - 2 - row),
        "row i moves one place too many": shifted(x, T - row),
        "all rows move by the same: the distance of a key depends on its query": shifted(x, T - 1 - 0 * row),
        "the last of the rows of T is dropped: it is the first, which holds nothing needed": stacked(1, 0, 0),
        "the zeros are put at the end: the column of zeros comes first": stacked(0, 1, 1),
        "the zeros are put at the end, and the last row is dropped": stacked(0, 1, 0),
    }


@exercise("Right: the last positions of old and new, as values alone.")
def check_update_memory(answer: Callable[[Tensor | None, Tensor, int], Tensor]) -> None:
    """``answer(memory, h, length)`` must be the last `length` positions of [memory; h], without a gradient.

    memory (B, M, D) or None, h (B, T, D); the result is (B, min(length, M + T), D), also for a length of 0.
    """
    for M, T, length in ((3, 2, 4), (3, 2, 9), (2, 5, 3), (0, 3, 2), (3, 2, 0)):  # M = 0 stands for None
        old, new = draw(9, (2, M, 4), (2, T, 4))
        memory, h = old.clone() if M else None, 1 * new.clone().requires_grad_()  # h is an inner node, as in a model
        both, turned = torch.cat([old, new], dim=1), torch.cat([new, old], dim=1)
        right = both[:, max(M + T - length, 0) :]
        try:
            given = as_tensor(answer(memory, h, length))
        except (AttributeError, TypeError) as error:
            if M:
                raise
            raise AssertionError("before the first segment the memory is None, and h is all there is") from error
        assert h.grad_fn is not None, "detach_() cuts h itself: the segment's own loss could not train what lies below"
        assert not given.requires_grad, "a gradient goes back into the segments before: detach the new memory"
        shape = tuple(given.shape)
        if length == 0:
            assert shape == (2, 0, 4), f"length 0 keeps nothing, got {shape}: [:, -0:] is everything, for -0 is 0"
            continue
        filled = length > M + T and shape[1:2] == (length,)
        assert not filled, "only M + T positions are there yet: keep these, without filling up"
        assert memory is None or torch.equal(memory, old), "the memory that was given has changed: make a new one"
        slips = {
            f"all {M + T} positions are kept: the memory would grow with every segment": both,
            "only the new segment is kept: what fits of the old memory stays in front of it": new[:, -length:],
            "this is the old memory: the new segment comes after it": old,
            "these are the first positions: the memory keeps the last": both[:, :length],
            "the new is put in front of the old": turned[:, -length:],
            "the new is put in front of the old, and the first are kept": turned[:, :length],
            "the positions run backwards": right.flip(1),
        }
        compare(given, right, slips)


@exercise("Right: every query sees the same number of keys, wherever in its segment it is.")
def check_same_length_mask(answer: Callable[[int, int, int], Tensor]) -> None:
    """``answer(queries, past, length)`` must be bool (T, past + T), True where query i sees key j.

    Query i stands at position past + i and sees `length` keys, itself the last of them, or as many as there are:
    i - length < j - past <= i.
    """
    for T, past, length in ((4, 4, 2), (4, 2, 5), (3, 0, 2)):
        i, j = torch.arange(T)[:, None], torch.arange(past + T) - past

        def between(first: Tensor, last: Tensor, j: Tensor = j) -> Tensor:
            return (first <= j) & (j <= last)

        right = between(i - length + 1, i)
        given = as_tensor(answer(T, past, length))
        assert given.dtype == torch.bool, f"the mask must be bool, it is {given.dtype}"
        by_memory = "the count goes by the memory that is there, not by length"
        slips = {
            "True stands for a key that is seen, not for one that is hidden": ~right,
            "each query sees length + 1 keys: itself counts as one of them": between(i - length, i),
            "each query sees length - 1 keys": between(i - length + 2, i),
            "the query does not see itself: it is the last of its keys": between(i - length, i - 1),
            "the query does not see itself, and one key is missing": between(i - length + 1, i - 1),
            "the future is visible: no key after the query may be seen": between(i - length + 1, 0 * i + T),
            "the window is missing: this is the causal mask, later queries see more": between(0 * i - past, i),
            f"{by_memory}: they differ while the memory fills": between(i - past + 1, i),
            f"{by_memory}, and is one too many": between(i - past, i),
            "the keys are counted as if no memory came before them": between(i - length + 1, i, j + past),
            "all queries begin at the same key: the window moves with its query": between(0 * i - length + 1, i),
            "only the memory is cut, not the segment: the window moves with its query": between(0 * i - length, i),
        }
        compare(given, right, slips)


@exercise("Right: from its place in its segment each layer looks back to the start of that segment's memory.")
def check_reach(answer: Callable[[int, int, int], int]) -> None:
    """``answer(layers, memory, length)`` must be how far back the last output of a segment depends on inputs.

    It is the distance from the last position of a segment of `length`, after many segments, to the furthest position
    whose input changes its output. The memory may be shorter or longer than a segment.
    """
    cases = [(1, 4, 4), (2, 4, 4), (3, 8, 4), (3, 0, 4), (3, 2, 4), (2, 6, 4), (4, 5, 1), (3, 1, 5)]
    whatever = "each layer reaches by the memory, whatever the segment's length"
    again = "every layer adds the segment again: only the last position of the last segment is at its end"
    inside = "right for a memory of whole segments; else its oldest row looked back from the start of its own segment"
    itself = "the segment itself counts too: its last position looks back T - 1 before the memory begins"
    slips = {
        "this counts positions: the distance to the furthest is one less": lambda n, M, T: reach(n, M, T) + 1,
        "this is one layer too many: the inputs are no layer": lambda n, M, T: reach(n + 1, M, T),
        "this is one layer too few: the first layer has a memory of the inputs": lambda n, M, T: reach(n - 1, M, T),
        whatever: lambda n, M, T: n * T,
        f"{whatever}, and the segment comes on top": lambda n, M, T: n * T + T - 1,
        itself: lambda n, M, T: reach(n, M, T) - T + 1,
        "the segment itself counts too, and one memory for each layer": lambda n, M, T: n * M,
        "this is the reach of one layer: a memory's rows have themselves read a memory": lambda n, M, T: M + T - 1,
        again: lambda n, M, T: n * (M + T - 1),
        inside: lambda n, M, T: n * M + T - 1,
    }
    compare_cases(answer, reach, slips, cases)


def reach(layers: int, memory: int, length: int) -> int:
    """What :func:`check_reach` asks for, found by following every path back."""
    positions = {length - 1}  # of the last segment, which starts at 0
    for _ in range(layers):
        # A position was computed with its segment: it read the memory before it, and the segment up to itself.
        positions = {key for p in positions for key in range(p // length * length - memory, p + 1)}
    return length - 1 - min(positions)


@exercise()
def check_border_gradient(answers: Mapping[str, bool | None]) -> None:
    """``answers`` must say True or False to each of the five statements of ``BORDER``; None: not answered yet.

    A statement names what may act on what: a value by way of the memory, or a loss in the gradient of something.
    """
    judge(answers, BORDER, "statements", "Right: the memory hands on values, and the weights of now learn from them.")
