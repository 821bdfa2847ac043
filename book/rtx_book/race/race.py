"""A race in numbers: which of many models, the *lanes*, leads on which task, with which seeds and at which cost.

A *score* is a test metric turned so that smaller is better; a run that diverged scores worse than every other.
"""

import functools
import itertools
import math
import statistics
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rtx_book.records.seeds import Record, final, misses, rises, summarise, verdict

BASELINES: dict[str, str | float] = {"adding": "predict 1", "copy": 1 / 8, "digits": "most frequent class"}
BASELINES |= {"text": "bigram loss", "stream": "bigram loss", "chorales": "note transitions"}
BASELINES |= {"parity": "uniform guess", "recall": "a shown value", "selective": "a symbol"}
"""What the metric of each task of the book's race is without learning: its name in the records, or its value.

Of copy memory, one of eight symbols guessed; its records know the loss of guessing only.
"""

MARGIN = 0.05
"""How much better than its task's baseline a seed must be to count: this share of the way to a perfect score.

A baseline that is a formula differs from its value on the sequences that were drawn for a split, by up to 5 % of an
error and less of an accuracy, so that models which learned nothing come out on both sides of it.
"""

SOLVED = ("adding", "copy", "parity", "recall", "selective")
"""The tasks of the book's race that are solved at their finish line: runs beyond it tie, whatever their last digit."""

NO_RIVAL = 2
"""The outcome of a duel that every seed would decide, if no seed of the loser were as bad as the task's baseline."""


@dataclass(frozen=True)
class Race:
    """The records of a race, and what they say together.

    Attributes
    ----------
    lanes
        The models' names by key.
    finish
        Of each task the metric and its finish line.
    runs
        The records by task and lane; a pair may have none.
    costs
        By task and lane ``seconds_per_step`` and ``flops_per_step``, where they were measured.
    baselines
        Of each task what its metric is without learning, as a value or as its name in the records; by
        default those of the book's race.
    solved
        Tasks that are solved at their finish line: a score beyond it counts as the line, so that runs tie there.
    """

    lanes: Mapping[str, str]
    finish: Mapping[str, tuple[str, float]]
    runs: Mapping[tuple[str, str], Sequence[Any]]
    costs: Mapping[tuple[str, str], Mapping[str, float]] = field(default_factory=dict)
    baselines: Mapping[str, str | float] = field(default_factory=lambda: BASELINES)
    solved: Collection[str] = ()

    @property
    def records(self) -> list[Record]:
        """All of them."""
        return [record for found in self.runs.values() for record in found]

    @functools.cached_property
    def results(self) -> dict[str, dict[str, dict[str, Any]]]:
        """By task and lane what :func:`rtx_book.records.seeds.summarise` says; lanes without records are left out."""
        return {
            task: {lane: summarise(self.of(task, lane), *line) for lane in self.lanes if self.of(task, lane)}
            for task, line in self.finish.items()
        }

    def of(self, task: str, lane: str) -> Sequence[Record]:
        """The records of a lane on a task, perhaps none."""
        return self.runs.get((task, lane), ())

    def sign(self, task: str) -> int:
        """By which the metric is multiplied to be better where it is smaller."""
        return -1 if rises(self.finish[task][0]) else 1

    def values(self, task: str, lane: str) -> list[float]:
        """The test metric of the seeds that have one."""
        return self.results[task][lane]["values"] if lane in self.results[task] else []

    def by_seed(self, task: str) -> dict[str, dict[int, float]]:
        """By lane and seed the test metric of the runs that have one."""
        metric = self.finish[task][0]
        values = {lane: {run["seed"]: final(run, metric) for run in self.of(task, lane)} for lane in self.lanes}
        return {lane: {seed: v for seed, v in own.items() if v is not None} for lane, own in values.items()}

    def scores(self, task: str, lane: str, *, ties: bool = False) -> np.ndarray:
        """One number a seed, (seeds,), smaller is better and infinite for a run that diverged.

        Runs that solve the task tie. With ``ties`` they are told apart, those of the same metric by the test loss.
        """
        runs = self.of(task, lane)
        values = [final(run, self.finish[task][0]) for run in runs]
        scores = [math.inf if value is None else self.sign(task) * value for value in values]
        if ties:
            return np.array(scores) + 1e-9 * np.array([run["metrics"].get("loss", 0) for run in runs])
        return np.maximum(scores, self.ceiling(task))

    def order(self, task: str) -> list[str]:
        """The lanes that have records, the best median first; the test loss decides between equals."""
        return sorted(self.results[task], key=lambda lane: float(np.median(self.scores(task, lane, ties=True))))

    def medians(self, task: str) -> dict[str, float]:
        """By lane the median score, the best first; those of lanes that learned nothing are all the :meth:`floor`."""
        floor = self.floor(task)
        return {lane: min(floor, float(np.median(self.scores(task, lane)))) for lane in self.order(task)}

    def leaders(self, task: str) -> list[str]:
        """The lanes with the best median: more than one where the metric cannot tell them apart."""
        medians = self.medians(task)
        return [lane for lane, median in medians.items() if median == min(medians.values())]

    def place(self, task: str, lane: str) -> int:
        """One more than the lanes with a better median."""
        medians = self.medians(task)
        return 1 + sum(other < medians[lane] for other in medians.values())

    def baseline(self, task: str) -> float | None:
        """What the metric of a task is without learning; None where it is not known."""
        known = self.baselines.get(task)
        if not isinstance(known, str):
            return known
        there = (record.get("baselines", {}) for lane in self.lanes for record in self.of(task, lane))
        return next((own[known] for own in there if known in own), None)

    def floor(self, task: str) -> float:
        """The score from which on a seed has learned nothing: the baseline and a ``MARGIN``; infinite if not known."""
        line = self.baseline(task)
        if line is None:
            return math.inf
        return self.sign(task) * (line + MARGIN * ((1 if rises(self.finish[task][0]) else 0) - line))

    def ceiling(self, task: str) -> float:
        """The score that nobody is better than: the finish line of a task that is solved there, else minus infinity."""
        return self.sign(task) * self.finish[task][1] if task in self.solved else -math.inf

    def misses(self, task: str, lane: str) -> bool:
        """Whether a seed of the lane has learned nothing, as :meth:`floor` says; False where that is not known."""
        floor = self.floor(task)
        return floor < math.inf and misses(self.scores(task, lane), floor)

    def way(self, task: str, lane: str) -> float | None:
        """How far the lane's median is on the way from learning nothing, 0, to the best median, 1.

        None where the lane or the baseline is missing, or where no lane has learned anything.
        """
        if lane not in self.results[task] or (line := self.baseline(task)) is None:
            return None
        start, medians = self.sign(task) * line, self.medians(task)
        if (best := min(medians.values())) >= self.floor(task):
            return None
        return 0.0 if medians[lane] >= self.floor(task) else (start - medians[lane]) / (start - best)

    def duel(self, task: str, one: str, other: str) -> int | None:
        """What :func:`rtx_book.records.seeds.verdict` says of two lanes: 1 where every seed of the first is better.

        Where a seed of the loser is no better than the baseline of the task, being ahead of it decides nothing:
        ``NO_RIVAL``.
        """
        outcome = verdict(self.scores(task, one), self.scores(task, other))
        return NO_RIVAL if outcome and self.misses(task, other if outcome == 1 else one) else outcome

    def beaten(self, one: str, other: str) -> dict[int | None, list[str]]:
        """The tasks by outcome of the duel; an outcome without a task is not there."""
        found: dict[int | None, list[str]] = {}
        for task in self.finish:
            found.setdefault(self.duel(task, one, other), []).append(task)
        return found

    def finishers(self, task: str, share: float = 1.0) -> list[str]:
        """The lanes that cross the finish line with every seed, or with this share of them."""
        return [lane for lane, found in self.results[task].items() if found["solved"] >= share * found["seeds"]]

    def spent(self, task: str, lane: str, what: str) -> float | None:
        """The cost of reaching the line, median over the runs that did; None where no run did or no step was timed."""
        steps = self.results[task][lane]["steps_to"]
        return steps * self.costs[task, lane][what] if steps and (task, lane) in self.costs else None

    def curve(self, task: str, record: Record) -> dict[str, list[Any]]:
        """``steps`` and ``values`` of a run's evaluations; the best so far where the best model is the one tested."""
        metric = self.finish[task][0]
        rows = [row for row in record["evaluations"] if metric in row]
        values = [row[metric] for row in rows]
        if record["configuration"].get("keep_best"):
            values = list(itertools.accumulate(values, max if rises(metric) else min))
        return {"steps": [row["step"] for row in rows], "values": values}

    def curves(self, task: str) -> list[dict[str, Any]]:
        """Every run of a task: ``lane``, ``name``, ``seed``, ``steps`` and ``values``, as the explorer wants them."""
        return [
            {"lane": lane, "name": name, "seed": record["seed"], **self.curve(task, record)}
            for lane, name in self.lanes.items()
            for record in self.of(task, lane)
        ]

    def widest(self, count: int) -> list[tuple[str, str]]:
        """Task and lane of the widest ranges over the seeds, measured against the distance of the task's medians."""
        found = {}
        for task, lanes in self.results.items():
            medians = [own["median"] for own in lanes.values() if own["median"] is not None]
            for lane, own in lanes.items():
                if len(own["values"]) > 1 and max(medians) > min(medians):
                    found[task, lane] = (max(own["values"]) - min(own["values"])) / (max(medians) - min(medians))
        return sorted(found, key=lambda key: -found[key])[:count]

    def computed(self, tried: Mapping[str, "Tried"]) -> dict[str, list[Record]]:
        """What no single record holds, in the form of records, so that rules and marks can name it.

        ``step-TASK-LANE`` has what was timed, the seconds to the line, the number of seeds that have ``solved`` the
        task, the ``rank`` among the lanes that reach the line with every seed, 1 for the soonest, and how many
        ``times`` as long, and as much ``work``, a step is as the cheapest. The "seeds" of ``step-TASK`` are the lanes.
        ``place-LANE`` has the ``place`` on each task, and the one ``off_by_one``, where every lane has the worse of the
        two rates beside its best one; its "seeds" are the tasks. ``lines-LANE`` has how many lines are ``crossed`` with
        every seed, and how many ``rivals`` cross as many or more; ``most-lines-LANE`` counts lines crossed with most.
        """
        found: dict[str, list[Record]] = {}

        def add(name: str, metrics: Mapping[str, float | None]) -> None:
            own = found.setdefault(name, [])
            own.append(computed_record(name, len(own), metrics))

        for task, lanes in self.results.items():
            spent = {lane: self.spent(task, lane, "seconds_per_step") for lane in lanes}
            there = sorted((time, lane) for lane in self.finishers(task) if (time := spent[lane]) is not None)
            ranks = {lane: rank for rank, (_, lane) in enumerate(there, start=1)}
            beside = {lane: worse_beside(losses) for lane, losses in tried.get(task, {}).items()}
            costs = {lane: self.costs[task, lane] for lane in lanes if (task, lane) in self.costs}
            for lane in lanes:
                timed = {"seconds_to_line": spent[lane], "solved": lanes[lane]["solved"], "rank": ranks.get(lane)}
                if own := costs.get(lane):
                    cheapest = {name: min(cost[name] for cost in costs.values()) for name in own}
                    ways = {"times": "seconds_per_step", "work": "flops_per_step"}
                    timed |= {**own, **{way: own[name] / cheapest[name] for way, name in ways.items()}}
                add(f"step-{task}-{lane}", timed)
                add(f"step-{task}", timed)
                places = {"place": self.place(task, lane)}
                if lane in beside:
                    places["off_by_one"] = 1 + sum(other < beside[lane] for other in beside.values())
                add(f"place-{lane}", places)
        for name, share in (("lines", 1.0), ("most-lines", 0.51)):
            lines = {lane: sum(lane in self.finishers(task, share) for task in self.finish) for lane in self.lanes}
            for lane, crossed in lines.items():
                add(f"{name}-{lane}", {"crossed": crossed, "rivals": sum(n >= crossed for n in lines.values()) - 1})
        return found


def computed_record(recipe: str, seed: int, metrics: Mapping[str, float | None]) -> Record:
    """What was computed from records, in the form of one, so that rules and marks can name it."""
    return {"recipe": recipe, "seed": seed, "diverged": None, "metrics": metrics, "evaluations": [], "computed": True}


# ------------------------------------------------------------------------------------------------ rates

Tried = Mapping[str, Mapping[float, float]]
"""Of one task, by lane and learning rate, the validation loss by which a trial is judged; infinite if it diverged."""


def worse_beside(losses: Mapping[float, float]) -> float:
    """Of the losses by rate the worse of the two beside the best one; the best one itself if it stands alone."""
    rates = sorted(losses)
    place = min(range(len(rates)), key=lambda i: losses[rates[i]])
    return max(losses[lr] for lr in rates[max(0, place - 1) : place + 2])


@dataclass(frozen=True)
class RateEffect:
    """How far rates move a lane on one task, set against how far the lanes are apart; all in the loss.

    Attributes
    ----------
    beside
        The distance of a lane's best rate from the worse of the two beside it, the median over the lanes.
    second
        The distance of a lane's best rate from its second best, the median over the lanes.
    lanes
        The distance of two lanes, each at its best rate, the median over all pairs.
    leader
        The lane that is best at its best rate.
    behind
        How many lanes at their best rate the leader would fall behind at the worse of the two rates beside its own.
    others
        How many lanes there are beside the leader.
    """

    beside: float
    second: float
    lanes: float
    leader: str
    behind: int
    others: int


def rate_effect(tried: Tried) -> RateEffect:
    """What choosing a rate is worth on one task.

    Raises
    ------
    ValueError
        If fewer than two lanes have two finite losses.
    """
    own = {lane: losses for lane, losses in tried.items() if sum(map(math.isfinite, losses.values())) > 1}
    if len(own) < 2:
        raise ValueError(f"tried must hold two lanes with two finite losses each, got {len(own)}")
    ranked = {lane: sorted(losses.values()) for lane, losses in own.items()}
    best = [losses[0] for losses in ranked.values()]
    leader = min(ranked, key=lambda lane: ranked[lane][0])
    return RateEffect(
        beside=statistics.median(worse_beside(losses) - ranked[lane][0] for lane, losses in own.items()),
        second=statistics.median(losses[1] - losses[0] for losses in ranked.values()),
        lanes=statistics.median(abs(a - b) for a, b in itertools.combinations(best, 2)),
        leader=leader,
        behind=sum(losses[0] < worse_beside(own[leader]) for lane, losses in ranked.items() if lane != leader),
        others=len(ranked) - 1,
    )


def changed_places(before: Sequence[float], after: Sequence[float]) -> float:
    """The share of pairs whose order is the other way round after a change; 0 of fewer than two values.

    Parameters
    ----------
    before, after
        A value of each lane, in the same order.
    """
    pairs = list(itertools.combinations(zip(before, after, strict=True), 2))
    return sum((a - c) * (b - d) < 0 for (a, b), (c, d) in pairs) / max(1, len(pairs))
