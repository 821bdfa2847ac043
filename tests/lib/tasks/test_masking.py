"""Masking: what the rules say, counted and compared with the rules written out once more.

Bounds on shares are six standard deviations wide: a right code misses one of them in a billion trials.
"""

import math
from functools import partial

import pytest
import torch
from support.compare import generator
from support.helpers import refusals
from torch import Tensor

from rtx_lib.tasks.masking import Masking

PAD, CLS, SEP, MASK, V = 0, 2, 3, 4, 40


def masking(**how) -> Masking:
    return Masking(**{"size": V, "mask": MASK, "special": (CLS, SEP)} | how)


def batch(rows: int, length: int, seed: int = 1, shortest: int | None = None) -> Tensor:
    """[CLS] words [SEP] words [SEP] and padding."""
    lengths = torch.randint(shortest or length, length + 1, (rows,), generator=generator(seed))
    ids = torch.randint(5, V, (rows, length), generator=generator(seed + 1))
    place = torch.arange(length)
    ids[:, 0] = CLS
    ids.masked_fill_((place == lengths[:, None] // 2) | (place == lengths[:, None] - 1), SEP)
    return ids.masked_fill(place >= lengths[:, None], PAD)


def begins_of(ids: Tensor, seed: int = 3) -> Tensor:
    return torch.rand(ids.shape, generator=generator(seed)) < 0.5


def units(ids: Tensor, begins: Tensor) -> list[list[list[int]]]:
    """The places of the units of each row, one after the other."""
    found = []
    for row, starts in zip(ids.tolist(), begins.tolist(), strict=True):
        parts: list[list[int]] = []
        inside = False
        for place, (token, start) in enumerate(zip(row, starts, strict=True)):
            if token in (PAD, CLS, SEP):
                inside = False
                continue
            if start or not inside:
                parts.append([])
            parts[-1].append(place)
            inside = True
        found.append(parts)
    return found


def near(count: float, trials: int, share: float) -> bool:
    """Whether `count` of so many independent trials is within six standard deviations of what is expected."""
    return abs(count - trials * share) <= 6 * math.sqrt(trials * share * (1 - share))


ROUTES = {
    "tokens": lambda m, ids, g: m.tokens(ids, g),
    "units of one piece": lambda m, ids, g: m.units(ids, torch.ones_like(ids, dtype=torch.bool), g),
}


# BERT's rule


@pytest.mark.parametrize(
    ("length", "count"), [(5, 1), (9, 1), (10, 2), (16, 2), (17, 3), (30, 4), (128, 19), (134, 20), (512, 77)]
)
def test_n_by_hand(length: int, count: int) -> None:
    """Halves are rounded to even: of 10 tokens 1.5 makes 2, of 30 tokens 4.5 makes 4."""
    for how in ({}, {"most": 20}):
        _, y = masking(**how).tokens(batch(1, length), generator())
        assert int((y >= 0).sum()) == min(count, how.get("most", count))


@pytest.mark.parametrize("how", [{}, {"share": 0.4}, {"share": 0.4, "most": 7}, {"most": 1}])
def test_exactly_n_places_are_chosen_and_no_special_one(how: dict) -> None:
    ids = batch(200, 60, shortest=5)
    x, y = masking(**how).tokens(ids, generator())
    for row, seen, label in zip(ids, x, y, strict=True):
        chosen = label >= 0
        length = int((row > 0).sum())
        count = max(1, round(length * how.get("share", 0.15)))
        assert int(chosen.sum()) == min(count, how.get("most", count))
        assert not torch.isin(row[chosen], torch.tensor([PAD, CLS, SEP])).any()
        assert torch.equal(label[chosen], row[chosen]) and torch.equal(seen[~chosen], row[~chosen])
        assert (label[~chosen] == -100).all()


def test_a_row_with_fewer_tokens_than_n_has_all_of_them_chosen() -> None:
    ids = torch.tensor([[CLS, 7, SEP, 8, SEP, SEP, SEP, SEP]])
    _, y = masking(share=0.5).tokens(ids, generator())
    assert y.tolist() == [[-100, 7, -100, 8, -100, -100, -100, -100]]


@pytest.mark.parametrize("route", ROUTES)
def test_the_shares_of_the_three_cases(route: str) -> None:
    ids = batch(2_000, 40)
    x, y = ROUTES[route](masking(), ids, generator(5))
    seen, label = x[y >= 0], y[y >= 0]
    chance = 0.1 / V  # a random id may be that of the mask, or the right one
    trials = len(label)
    assert near(int((seen == MASK).sum()), trials, 0.8 + chance)
    assert near(int((seen == label).sum()), trials, 0.1 + chance)
    other = seen[(seen != MASK) & (seen != label)]
    assert near(len(other), trials, 0.1 * (V - 2) / V)


@pytest.mark.parametrize(("route", "least"), list(zip(ROUTES, (0, 1), strict=True)))
def test_random_ids_come_from_the_whole_vocabulary(route: str, least: int) -> None:
    """Special ones come as often as others, but a unit's never from the padding."""
    ids = batch(8_000, 40)
    x, y = ROUTES[route](masking(share=0.5), ids, generator(6))
    counts = x[(y >= 0) & (x != MASK) & (x != y)].bincount(minlength=V)
    words = [int(count) for number, count in enumerate(counts) if number not in (PAD, CLS, SEP, MASK)]
    assert all(near(count, sum(words), 1 / len(words)) for count in words)
    special = [int(counts[number]) for number in (PAD, CLS, SEP)][least:]
    assert all(near(count, sum(words), 1 / (len(words) - 1)) for count in special) and not counts[:least].any()


def test_every_place_is_as_likely_as_any_other_and_pairs_are_too() -> None:
    ids = batch(1, 20).expand(3_000, -1)  # 17 tokens that may be chosen, n = 3
    _, y = masking().tokens(ids, generator(7))
    chosen = (y >= 0)[:, (ids[0] > 4)]
    assert chosen.shape[1] == 17 and all(near(int(count), 3_000, 3 / 17) for count in chosen.sum(0))
    both = (chosen[:, :, None] & chosen[:, None]).sum(0)
    pairs = [int(both[i, j]) for i in range(17) for j in range(i)]
    assert all(near(count, 3_000, 3 * 2 / (17 * 16)) for count in pairs)


# ERNIE's units


def by_unit(ids: Tensor, begins: Tensor, draws: Tensor, random_ids: Tensor, share: float) -> tuple[list, list]:
    """ERNIE's rule piece by piece: the unit's first number decides, and is used a second time for the first piece."""
    x, y = ids.tolist(), [[-100] * ids.shape[1] for _ in ids]
    for i, parts in enumerate(units(ids, begins)):
        for part in parts:
            if draws[i, part[0]] > share:
                continue
            for place in part:
                number = draws[i, place].item() / (share if place == part[0] else 1)
                y[i][place] = x[i][place]
                if number > 0.2:
                    x[i][place] = MASK
                elif number > 0.1:
                    x[i][place] = random_ids[i, place].item()
    return x, y


@pytest.mark.parametrize("share", [0.15, 0.5])
def test_units_equal_the_rule_written_out(share: float) -> None:
    ids = batch(200, 40, shortest=6)
    begins = begins_of(ids)
    x, y = masking(share=share).units(ids, begins, generator(11))
    again = generator(11)
    draws = torch.rand(ids.shape, generator=again, dtype=torch.float64)
    random_ids = torch.randint(1, V, ids.shape, generator=again)
    assert (x.tolist(), y.tolist()) == by_unit(ids, begins, draws, random_ids, share)


ONE, EMPTY = torch.tensor([[CLS, 7, 8, SEP]]), torch.tensor([[CLS, 7, SEP], [CLS, SEP, PAD]])
test_what_is_not_allowed = refusals(
    [
        (lambda: masking(mask=40), "mask and special must hold ids from 0 to 39, got 40"),
        (lambda: masking(most=0), "most must be at least 1, got 0"),
        (lambda: masking(share=0.0), "share must be above 0 and at most 1, got 0.0"),
        (lambda: masking().units(ONE, ONE[:, 1:] > 0, generator()), r"begins must have shape \(1, 4\), got \(1, 3\)"),
        *((partial(way, masking(), ONE * 5, generator()), "ids must hold ids from") for way in ROUTES.values()),
        *((partial(way, masking(), EMPTY, generator()), ".*special tokens only") for way in ROUTES.values()),
    ]
)
