"""Who is ahead of whom in a race, and how sure that is: pairs that separate, ranks with intervals, equal budgets.

A ranking compares values of one split and says which: at the end of the runs those of the *test* split, within a
budget those of the *validation* split, read off the learning curves. The two are never mixed. What has learned nothing
(:meth:`rtx_book.race.race.Race.floor`), a run that diverged among it, counts as the baseline with its margin, so
that lanes which learned nothing tie. (For both splits that is the baseline which the records know; one that counts
symbols was counted on the test split.) Runs that solve a generated task tie, too, at its finish line.

A rank is one more than the lanes that are better. What lanes that tie share is a choice (``TIES``), and it may decide
who leads over several tasks; so nobody is called the leader there who is not first by each of them.
"""

import contextlib
import functools
import itertools
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from operator import eq, lt, mul

import numpy as np
from scipy.stats import permutation_test, rankdata

from rtx_book.race.race import NO_RIVAL, Race, computed_record
from rtx_book.records.seeds import LEVEL, Record, Values

KINDS = {"steps": None, "FLOPs": "flops_per_step", "seconds": "seconds_per_step"}
"""What a budget is counted in, and the cost of a step in it; a step costs one step."""

SMALLEST = 1 / 16
"""Of the largest equal budget, the smallest share that :func:`amounts` gives."""

TIES = {"best": 0, "mean": 1, "worst": 2}
"""Which of their ranks lanes that tie may share, and the half ranks that each of the others then costs a lane."""

# ------------------------------------------------------------------------------------------------ pairs


def rank_test(ours: Values, theirs: Values) -> float:
    """How often ranks at least as good as ours would come about, had the seeds been dealt to the two lanes by lot.

    The exact one-sided test of Wilcoxon's rank sum: all C(n + m, n) ways to deal are counted, and equal scores share
    their mean rank (``mannwhitneyu(method="exact")`` of scipy knows no ties). Five seeds against five are dealt in 252
    ways, so that nothing below 1/252 can come out, and no pair of a race of many lanes survives a correction for all
    pairs: what is not chance is how many separate (:func:`pairs`).

    Parameters
    ----------
    ours, theirs
        Scores, smaller is better, infinite for a run that diverged; at least one each.

    Raises
    ------
    ValueError
        If a side has no score.
    """
    if not len(ours) or not len(theirs):
        raise ValueError(f"ours and theirs must hold at least one score each, got {len(ours)} and {len(theirs)}")
    ranks = rankdata(np.concatenate([ours, theirs]))
    sides = ranks[: len(ours)], ranks[len(ours) :]
    found = permutation_test(
        sides, lambda a, b, axis: a.sum(axis=axis), vectorized=True, n_resamples=np.inf, alternative="less"
    )
    return float(found.pvalue)


def chance_apart(ours: Values, theirs: Values) -> float:
    """How often every seed of one lane would be better than every seed of the other, were they dealt by lot.

    Of the C(n + m, n) ways to deal two are such, one for each lane ahead: 2/252 for five against five. A way is none
    where equal scores stand on both sides of the cut.
    """
    both, sizes = np.sort(np.concatenate([ours, theirs])), (len(ours), len(theirs))
    return sum(bool(both[n - 1] < both[n]) for n in sizes) / math.comb(len(both), sizes[0])


@dataclass(frozen=True)
class Pairs:
    """How many pairs of lanes separate on the test split: every seed of one better than every seed of the other.

    Attributes
    ----------
    judged
        All pairs that have enough seeds.
    separate
        Those that separate, without ``void``.
    void
        Those that would, but a seed of the loser has learned nothing: it is no rival.
    chance
        How many of those judged would separate, with a rival or without, if the lanes of each pair were alike.
    """

    judged: int
    separate: int
    void: int
    chance: float


def pairs(race: Race, task: str | None = None) -> Pairs:
    """The pairs of one task, or of all tasks, that separate, and how many chance would give."""
    outcomes, chance = Counter[int | None](), 0.0
    for own in [task] if task else race.finish:
        for one, other in itertools.combinations(race.results[own], 2):
            outcome = race.duel(own, one, other)
            outcomes[outcome] += 1
            if outcome is not None:
                chance += chance_apart(race.scores(own, one), race.scores(own, other))
    return Pairs(outcomes.total() - outcomes[None], outcomes[1] + outcomes[-1], outcomes[NO_RIVAL], chance)


# ------------------------------------------------------------------------------------------------ budgets


def _prices(race: Race, task: str, kind: str) -> dict[str, float]:
    """What a step costs, of the lanes of which that was measured."""
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {list(KINDS)}, got {kind!r}")
    if (what := KINDS[kind]) is None:
        return dict.fromkeys(race.results[task], 1)
    return {lane: race.costs[task, lane][what] for lane in race.results[task] if (task, lane) in race.costs}


def scores_within(race: Race, task: str, lane: str, kind: str, amount: float) -> np.ndarray:
    """The validation scores of a lane's runs within a budget, (seeds,): each that of its last evaluation within it.

    Infinite for a run that had diverged by then or was not evaluated yet. Rates fall over the whole run, so that a run
    cut short is not what one planned for the budget would have been.

    Parameters
    ----------
    race
        With costs, unless steps are counted.
    task, lane
        A cell of it. A lane whose steps were not measured has no scores.
    kind
        One of ``KINDS``.
    amount
        The budget, in steps, FLOPs or seconds of training.

    Raises
    ------
    ValueError
        For an unknown ``kind``.
    """
    if (price := _prices(race, task, kind).get(lane)) is None:
        return np.array([])
    scores, last = [], amount / price * (1 + 1e-9)
    for run in race.of(task, lane):
        curve = race.curve(task, run)
        seen = [value for step, value in zip(curve["steps"], curve["values"], strict=True) if step <= last]
        lost = run["diverged"] and run["diverged"]["step"] <= last
        scores.append(math.inf if lost or not seen else race.sign(task) * seen[-1])
    return np.maximum(scores, race.ceiling(task))


def largest(race: Race, task: str, kind: str) -> float | None:
    """The largest budget that every lane can use up, that of the cheapest lane's whole run; None without any cost."""
    steps = [row["step"] for lane in race.results[task] for run in race.of(task, lane) for row in run["evaluations"]]
    prices = _prices(race, task, kind)
    return max(steps) * min(prices.values()) if steps and prices else None


def amounts(race: Race, task: str, kind: str) -> list[float]:
    """At most ten equal budgets of a task, from a part of the largest one to all of it, each larger by a factor.

    Each is the cost of an evaluation of some lane, so that it is used up by somebody. Without any cost there is none.

    Raises
    ------
    ValueError
        For an unknown ``kind``.
    """
    if (most := largest(race, task, kind)) is None:
        return []
    prices = _prices(race, task, kind)
    steps = {lane: {s for run in race.of(task, lane) for s in race.curve(task, run)["steps"]} for lane in prices}
    ends = np.unique([step * price for lane, price in prices.items() for step in steps[lane]])
    targets = np.geomspace(SMALLEST * most, most, 10) * (1 + 1e-9)
    return list(dict.fromkeys(float(ends[ends <= target][-1]) for target in targets if target >= ends[0]))


# ------------------------------------------------------------------------------------------------ ranks


@dataclass(frozen=True)
class Rank:
    """A lane's rank.

    Attributes
    ----------
    place
        By the medians over the seeds; over several tasks their mean.
    low
        The better end of its 95 % interval over the ways of drawing the seeds anew.
    high
        The worse end.
    first
        The chance of the first rank, alone or shared, over the same ways; over several tasks the mean chance.
    """

    place: float
    low: float
    high: float
    first: float


@dataclass(frozen=True)
class Ranking:
    """The lanes in their order, the best first, and what they were compared by.

    Attributes
    ----------
    ranks
        By lane.
    tasks
        On which.
    split
        "test", or "validation" within a budget.
    """

    ranks: Mapping[str, Rank]
    tasks: tuple[str, ...]
    split: str

    @property
    def groups(self) -> list[list[str]]:
        """Lanes that cannot be told apart, the best group first.

        The first group holds the leader and every lane whose interval overlaps that of the leader; the next one is
        made in the same way of the lanes that are left.
        """
        found, rest = [], list(self.ranks)
        while rest:
            last = self.ranks[rest[0]].high
            found.append([lane for lane in rest if self.ranks[lane].low <= last])
            rest = [lane for lane in rest if self.ranks[lane].low > last]
        return found

    @property
    def rows(self) -> dict[str, dict[str, float]]:
        """By lane the numbers of its rank, and the ``group`` that it belongs to, 1 for the first."""
        groups = {lane: n for n, own in enumerate(self.groups, start=1) for lane in own}
        return {lane: vars(rank) | {"group": groups[lane]} for lane, rank in self.ranks.items()}


def ranking(race: Race, task: str, kind: str | None = None, amount: float | None = None) -> Ranking:
    """The lanes' ranks on one task, at the end of their runs or within a budget, with intervals over the seeds.

    The seeds of each lane are drawn anew from those that ran, with replacement, and the medians ranked. That is the
    bootstrap, as Goldstein and Spiegelhalter (1996) use intervals for league tables; here no draw is needed, because
    the chance of each median follows from counting and that of each rank from the chances of the others being better.
    With five seeds the interval of a lane's median is their whole range, at a level of 94 %.

    Parameters
    ----------
    race
        With costs, where the budget is in FLOPs or seconds; lanes without costs are then left out.
    task
        One of its tasks.
    kind, amount
        A budget, as :func:`scores_within` takes it: then the validation split ranks. Without one the test split does.

    Raises
    ------
    ValueError
        If one of ``kind`` and ``amount`` is given without the other, or no lane has a run or a cost.
    """
    return _ranked(race, {task: amount}, kind, "best")


def over_tasks(race: Race, kind: str | None = None, *, ties: str = "mean") -> Ranking:
    """The lanes' mean ranks over all tasks on which every lane has runs, and costs where they count.

    The intervals are over the seeds; the tasks are as they are.

    Parameters
    ----------
    race
        With costs, where the budget is in FLOPs or seconds.
    kind
        What the :func:`largest` equal budget of each task is counted in: then the validation split ranks. Without one
        the test split does.
    ties
        Which of their ranks lanes that tie share, one of ``TIES``.

    Raises
    ------
    ValueError
        If there is no such task.
    """
    able = {task: set(race.results[task] if kind is None else _prices(race, task, kind)) for task in race.finish}
    tasks = [task for task, lanes in able.items() if lanes == set(race.lanes)]
    if not tasks:
        raise ValueError(f"race must have a task on which all {len(race.lanes)} lanes can be ranked, got none")
    return _ranked(race, {task: None if kind is None else largest(race, task, kind) for task in tasks}, kind, ties)


def _ranked(race: Race, budgets: Mapping[str, float | None], kind: str | None, ties: str) -> Ranking:
    """The lanes by their mean ranks over tasks, each with its budget."""
    places: dict[str, list[float]] = {}
    ways: dict[str, list[np.ndarray]] = {}
    for task, amount in budgets.items():
        scores, chances = _ways(race, task, kind, amount, TIES[ties])
        medians = {lane: float(np.median(own)) for lane, own in scores.items()}
        for lane, median in medians.items():
            better, equal = (sum(found(other, median) for other in medians.values()) for found in (lt, eq))
            places.setdefault(lane, []).append(1 + better + (equal - 1) * TIES[ties] / 2)
            ways.setdefault(lane, []).append(chances[lane])
    ranks = {}
    for lane, own in ways.items():
        total = functools.reduce(np.convolve, own).cumsum()  # of twice the sum of the ranks less the number of tasks
        low, high = (int(np.argmax(total > level)) for level in ((1 - LEVEL) / 2, (1 + LEVEL) / 2 - 1e-9))
        first = float(np.mean([chance[0] for chance in own]))
        ranks[lane] = Rank(sum(places[lane]) / len(own), 1 + low / 2 / len(own), 1 + high / 2 / len(own), first)
    ordered = dict(sorted(ranks.items(), key=lambda item: (item[1].place, item[1].low + item[1].high)))
    return Ranking(ordered, tuple(budgets), "test" if kind is None else "validation")


def _ways(
    race: Race, task: str, kind: str | None, amount: float | None, tied: int
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """By lane the scores that rank it, (seeds,), and the chance of every half rank, (2 lanes,), with seeds drawn anew.

    A lane that is better costs two half ranks, one that ties ``tied``.
    """
    if (kind is None) != (amount is None):
        raise ValueError(f"kind and amount must be given together, got {kind!r} and {amount!r}")
    lanes = race.results[task]
    if kind is None or amount is None:
        found = {lane: race.scores(task, lane) for lane in lanes}
    else:
        found = {lane: scores_within(race, task, lane, kind, amount) for lane in lanes}
    if not (found := {lane: own for lane, own in found.items() if len(own)}):
        raise ValueError(f"task must be one with runs and costs in {kind or 'test metrics'}, got {task!r}")
    scores = {lane: np.minimum(own, race.floor(task)) for lane, own in found.items()}
    drawn = [_drawn(own) for own in scores.values()]
    values = np.concatenate([own for own, _ in drawn])
    owner = np.repeat(np.arange(len(drawn)), [len(own) for own, _ in drawn])
    chances = np.zeros((len(values), 2 * len(drawn)))  # given its lane's value, that others cost so many half ranks
    chances[:, 0] = 1
    for k, (own, weights) in enumerate(drawn):
        shares = [np.where(owner == k, 0, found(own, values[:, None]) @ weights)[:, None] for found in (lt, eq)]
        costs = [np.pad(chances, ((0, 0), (cost, 0)))[:, : chances.shape[1]] for cost in (2, tied)]
        chances = chances * (1 - sum(shares)) + sum(map(mul, costs, shares))
    ways = {lane: own @ chances[owner == k] for k, (lane, (_, own)) in enumerate(zip(scores, drawn, strict=True))}
    return scores, ways


def _drawn(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What a lane's score may be when its seeds are drawn anew, and the chance of each."""
    scores = np.sort(scores)
    middle = _middles(len(scores))
    return np.array([(scores[i] + scores[j]) / 2 for i, j in middle]), np.array(list(middle.values()))


@functools.cache
def _middles(count: int) -> dict[tuple[int, int], float]:
    """Of ``count`` draws with replacement from as many sorted values, the chance of each pair in their middle."""
    found: dict[tuple[int, int], float] = {}
    for drawn in itertools.combinations_with_replacement(range(count), count):
        ways = math.factorial(count) / math.prod(math.factorial(times) for times in Counter(drawn).values())
        pair = drawn[(count - 1) // 2], drawn[count // 2]
        found[pair] = found.get(pair, 0) + ways / count**count
    return found


# ------------------------------------------------------------------------------------------------ for rules


def computed(race: Race) -> dict[str, list[Record]]:
    """What rules and marks may name, beside :meth:`rtx_book.race.race.Race.computed`, in the form of records.

    ``rank-TASK-LANE`` has ``place``, ``low``, ``high`` and ``first`` of the test split, ``order``, 1 for the leader,
    and ``group``, 1 for the lanes that cannot be told from the leader: the rule ``every A < B`` about the ``high`` of
    one lane and the ``low`` of another holds where the two are told apart. ``rank-LANE`` has these over the tasks, and
    ``rank-KIND-LANE`` over the tasks at the largest equal budgets, where lanes that tie have their mean rank; with
    ``rank-best-LANE``, ``rank-KIND-worst-LANE`` and so on another. ``rank-TASK``, ``rank`` and ``rank-KIND`` have how
    many lanes are ``beside`` the leader, not told from it. ``pairs-TASK`` and ``pairs`` have what :func:`pairs` counts.
    """
    ranked = {f"rank-{task}": ranking(race, task) for task in race.finish if race.results[task]}
    for kind, ties in itertools.product((None, *KINDS), TIES):
        with contextlib.suppress(ValueError):  # where no task has all lanes
            name = "-".join(["rank", *([kind] if kind else []), *([ties] if ties != "mean" else [])])
            ranked[name] = over_tasks(race, kind, ties=ties)
    found: dict[str, Mapping[str, float]] = {}
    for name, own in ranked.items():
        rows = enumerate(own.rows.items(), start=1)
        found |= {f"{name}-{lane}": row | {"order": order} for order, (lane, row) in rows}
        found[name] = {"beside": len(own.groups[0]) - 1}
    found |= {f"pairs-{task}": vars(pairs(race, task)) for task in race.finish}
    found["pairs"] = vars(pairs(race))
    return {name: [computed_record(name, 0, metrics)] for name, metrics in found.items()}
