"""Orders: ranks, who sees whom, windows, what is predicted, and reading both ways."""

import numpy as np
import pytest
import torch
from reference.xlnet_loops import masks, windows
from support.compare import generator
from support.helpers import FIXTURES, refusals
from torch import Tensor, tensor

from rtx_lib.tasks.orders import (
    draw_orders,
    draw_spans,
    labels_at,
    lay_out,
    places_of,
    rank_in_windows,
    rank_of,
    seen_under,
)

SEP, CLS = 4, 3


def drawn(size: int, length: int, share: float, seed: int = 0) -> Tensor:
    return torch.rand(size, length, generator=generator(seed)) < share


def text(size: int, length: int, seed: int = 0) -> Tensor:
    """Ids with some [SEP] and [CLS] among them."""
    return torch.randint(2, 9, (size, length), generator=generator(seed))


def test_orders_are_permutations_equally_likely() -> None:
    orders = draw_orders(6_000, 3, generator())
    codes = (orders * tensor([9, 3, 1])).sum(1).bincount()
    assert codes[codes > 0].tolist() == [pytest.approx(1_000, abs=120)] * 6
    assert torch.equal(draw_orders(4, 50, generator(1)), draw_orders(4, 50, generator(1)))
    assert torch.equal(draw_orders(4, 50, generator(2)).sort(1).values, torch.arange(50).expand(4, -1))
    assert not torch.equal(draw_orders(4, 50, generator(1)), draw_orders(4, 50, generator(2)))


@pytest.mark.parametrize("name", ["identity", "reverse", "shuffle", "seedfigure", "segments"])
def test_masks_of_full_orders_are_the_originals(name: str) -> None:
    with np.load(FIXTURES / f"xlnet_{name}.npz") as file:
        order, rank, hidden = (torch.from_numpy(file[key]) for key in ("order", "rank", "perm_mask"))
    assert torch.equal(rank_of(order), rank) and torch.equal(seen_under(rank), hidden == 0)


@pytest.mark.parametrize("seed", range(4))
def test_masks_equal_loops(seed: int) -> None:
    """Of partial prediction, and of windows with functional tokens."""
    order, target = draw_orders(3, 8, generator(seed)), drawn(3, 8, 0.4, seed)
    rank, hidden = masks(order, target)
    assert torch.equal(seen_under(rank_of(order), target), hidden == 0) and torch.equal(rank, rank_of(order))
    ids, masked, shuffle = text(3, 8, seed), drawn(3, 8, 0.6, seed), draw_orders(3, 4, generator(seed))
    index, hidden, expected = windows(ids, masked, shuffle, SEP, CLS)
    functional = (ids == SEP) | (ids == CLS)
    assert torch.equal(rank_in_windows(shuffle, 8), index)
    assert torch.equal(masked & ~functional, expected > 0)
    assert torch.equal(seen_under(index, masked & ~functional, functional), hidden == 0)


def test_places_and_labels() -> None:
    target = tensor([[0, 1, 0, 1], [0, 0, 0, 0], [1, 1, 1, 0]]) > 0
    places = places_of(target, 4)
    assert places.tolist() == [[1, 3, -1, -1], [-1] * 4, [0, 1, 2, -1]]
    assert places_of(target, 6)[:, 4:].tolist() == [[-1, -1]] * 3 and places_of(target, 3).shape == (3, 3)
    labels = labels_at(tensor([[5, 6, 7, 8]] * 3), places)
    assert labels.tolist() == [[6, 8, -100, -100], [-100] * 4, [5, 6, 7, -100]]


def test_the_whole_layout() -> None:
    """The parts are what their functions say; the generator decides the orders, and nothing else does."""
    ids, chosen = text(3, 12), drawn(3, 12, 0.4)
    how = {"window": 4, "functional": (SEP, CLS)}
    (same, seen, targets), y = lay_out(ids, chosen, 7, generator(1), **how)
    functional = torch.isin(ids, tensor([SEP, CLS]))
    target = chosen & ~functional
    assert same is ids and torch.equal(targets, places_of(target, 7)) and torch.equal(y, labels_at(ids, targets))
    rank = rank_in_windows(draw_orders(3, 4, generator(1)), 12)
    assert torch.equal(seen, seen_under(rank, target, functional))
    assert not torch.equal(seen, lay_out(ids, chosen, 7, generator(2), **how)[0][1])
    (_, plain, targets), _ = lay_out(ids, chosen, 12, generator(1), window=12)
    assert torch.equal(targets >= 0, places_of(chosen, 12) >= 0), "without functional ids there are none"
    assert torch.equal(plain.diagonal(dim1=1, dim2=2), ~chosen)


def slow_spans(starts: list[bool], count: int, draws: torch.Generator) -> list[bool]:
    """Token by token, as the authors search: for the end of a run they look at its first token again and again."""
    length, chosen, at, left = len(starts), [False] * len(starts), 0, count
    odds = torch.tensor([1 / n for n in range(1, 6)], dtype=torch.float64)
    while at < length and left > 0:
        n = min(int(odds.multinomial(1, generator=draws)) + 1, left)
        before = int(torch.randint(6 * n, (), generator=draws))
        begin = at + before
        while begin < length and not starts[begin]:
            begin += 1
        if begin >= length:
            break
        end, words = begin + 1, 1
        stops = []  # where a run of 1, 2, ... words would end
        while end < length:
            if starts[begin]:
                stops.append(end)
                words += 1
                if words > n:
                    break
            end += 1
        if end >= length:
            break
        fitting = [stop for stop in stops if stop - begin <= left]
        if not fitting:
            break
        for t in range(begin, fitting[-1]):
            chosen[t] = True
        left -= fitting[-1] - begin
        at = fitting[-1] + 6 * n - before
    free = [t for t in range(length) if not chosen[t]]
    for i in torch.randperm(len(free), generator=draws)[:left].tolist():
        chosen[free[i]] = True
    return chosen


@pytest.mark.parametrize("length, count", [(120, 20), (40, 12), (7, 7), (1, 1)])
def test_spans_equal_the_slow_search(length: int, count: int) -> None:
    for seed in range(12):
        starts = drawn(1, length, 0.6, seed)[0]
        chosen = draw_spans(starts, count, generator(seed))
        assert chosen.tolist() == slow_spans(starts.tolist(), count, generator(seed))
        assert int(chosen.sum()) == count


def runs(chosen: Tensor) -> list[tuple[int, int]]:
    edges = torch.nn.functional.pad(chosen.long(), (1, 1)).diff()
    return list(zip((edges == 1).nonzero()[:, 0].tolist(), (edges == -1).nonzero()[:, 0].tolist(), strict=True))


def test_runs_choose_one_token_in_seven_and_the_rest_is_single() -> None:
    """Where words are tokens: after 1,000 targets 7,000 tokens are read. Of a sixth of a text a seventh is missing."""
    starts = torch.ones(20_000, dtype=torch.bool)
    assert int(draw_spans(starts, 1_000, generator()).nonzero().max()) == pytest.approx(7_000, abs=100)
    wide = draw_spans(starts, 1_000, generator(), share=12, longest=1)
    assert int(wide.nonzero().max()) == pytest.approx(13_000, abs=100)
    assert {end - begin for begin, end in runs(wide)} == {1}
    sixth = draw_spans(starts, 20_000 // 6, generator(), longest=1)
    beside = sum(end - begin - 1 for begin, end in runs(sixth))  # single tokens that fell beside a run of one
    assert int(sixth.sum()) == 3_333 and 50 < beside < 3_333 - 20_000 // 7


RANK, SOME = torch.arange(4).expand(2, 4), torch.zeros(2, 4, dtype=torch.bool)
BAD = {
    r"order must hold permutations of 0..2, got \[\[2, 1": lambda: rank_of(tensor([[2, 1, 0], [0, 2, 2]])),
    r"order must hold permutations of 0..2, got \[\[1, 2, 3\]\]": lambda: rank_of(tensor([[1, 2, 3]])),
    "length must be a multiple of 4, got 6": lambda: rank_in_windows(RANK, 6),
    r"target must be broadcastable to \(2, 4\), got shape \(2, 3\)": lambda: seen_under(RANK, SOME[:, 1:]),
    "target must not hold functional tokens": lambda: seen_under(RANK, ~SOME, ~SOME),
    "count must be at least 4, got 3": lambda: places_of(~SOME, 3),
    "count must be at least 1 and at most 5, got 6": lambda: draw_spans(torch.ones(5) > 0, 6, generator()),
}


test_bad_arguments = refusals(BAD)
