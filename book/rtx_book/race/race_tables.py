"""Rows of the tables of a race, and the frames of its explorer: what is typed in them comes out of the records."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rtx_book.race.race import Race, RateEffect
from rtx_book.race.ranking import KINDS, Ranking, amounts, ranking
from rtx_book.records.seeds import Record, solved, told_share
from rtx_book.words import few

Names = Mapping[str, str]
"""What tasks or lanes are called, by their keys."""

COLUMNS = ["model", "task", "median", "range", "solved", "steps to the line", "s to it", "TFLOP to it", "rate"]
"""Heads of the table whose rows are :func:`table_rows`."""
_PREFIXES = {1e15: "P", 1e12: "T", 1e9: "G", 1e6: "M"}


def cost_rows(race: Race, task: str, positions: int) -> list[tuple[str, ...]]:
    """Of each lane's training step the milliseconds, GFLOP, share of the rule 6 N B T, and GFLOP a second.

    Parameters
    ----------
    race
        With costs of the task.
    task
        One of its tasks.
    positions
        B T, the positions of a batch.
    """
    rows: list[tuple[str, ...]] = []
    for lane in race.results[task]:
        cost = race.costs[task, lane]
        seconds, flops = cost["seconds_per_step"], cost["flops_per_step"]
        rule = 6 * cost["parameters"] * positions
        cells = f"{1e3 * seconds:.0f}", f"{flops / 1e9:.2f}", f"{flops / rule:.2f}", f"{flops / seconds / 1e9:.0f}"
        rows.append((race.lanes[lane], *cells))
    return rows


def rate_rows(
    effects: Mapping[str, RateEffect],
    tasks: Mapping[str, Mapping[str, Any]],
    lanes: Names,
    write: Callable[[float], str],
) -> list[tuple[str, ...]]:
    """Of each task its name and loss, the three distances of what the rate is worth, and its leader's fall.

    Parameters
    ----------
    effects
        By task.
    tasks
        With ``name`` and ``metric``, as :mod:`rtx_book.pictures.race` describes them.
    lanes
        Their names by key.
    write
        How a number is written.
    """
    rows = []
    for task, effect in effects.items():
        worth = map(write, (effect.beside, effect.second, effect.lanes))
        fall = f"{lanes[effect.leader]} would fall behind {effect.behind} of {effect.others}"
        rows.append((tasks[task]["name"], "MSE" if tasks[task]["metric"] == "mse" else "nats", *worth, fall))
    return rows


def again_rows(race: Race, task: str, again: Mapping[str, Mapping[str, Sequence[Record]]]) -> list[tuple[str, ...]]:
    """Of each lane that ran again how many seeds crossed the line: of the race's, on either set; and how many differ.

    Parameters
    ----------
    race
        The race.
    task
        One of its tasks.
    again
        By set of instructions and lane the runs with fresh seeds, the same on each set.
    """
    rows = []
    for lane, name in race.lanes.items():
        runs = {own: {run["seed"]: solved(run, *race.finish[task]) for run in of[lane]} for own, of in again.items()}
        if not all(runs.values()):
            continue
        first = race.results[task][lane]
        shares = [told_share(sum(own.values()), len(own)) for own in runs.values()]
        one, other = runs.values()
        both = one.keys() & other.keys()
        differ = f"{sum(one[seed] != other[seed] for seed in both)} of {len(both)}"
        rows.append((name, f"{first['solved']} of {first['seeds']}", *shares, differ))
    return rows


def table_rows(race: Race, names: Names, write: Callable[[float], str]) -> list[list[Any]]:
    """A row for each task and lane, the best first, with cells as ``sortable_table`` of ``rtx_lib.plots`` takes them.

    Parameters
    ----------
    race
        The race.
    names
        Of the tasks.
    write
        How a number is written.
    """
    rows = []
    for task, lane in [(t, m) for t in race.finish for m in race.order(t)]:
        own, first = race.results[task][lane], race.runs[task, lane][0]
        seconds, flops = (race.spent(task, lane, what) for what in ("seconds_per_step", "flops_per_step"))
        ends = None
        if own["values"]:  # errors span powers of ten: two digits of their ends say enough
            low, high = (float(f"{own[end]:.{2 if race.finish[task][0] == 'mse' else 9}g}") for end in ("low", "high"))
            ends = own["low"], f"{write(low)} to {write(high)}"
        lost = f", {own['diverged']} diverged" * bool(own["diverged"])
        told = write(own["median"]) if own["values"] else "diverged"
        median = own["median"], told, first["recipe"]
        solved = own["solved"], f"{own['solved']}/{own['seeds']}{lost}"
        time = None if seconds is None else (seconds, f"{seconds:,.0f}")
        work = None if flops is None else (flops, f"{flops / 1e12:.2f}")
        spent = own["steps_to"], time, work
        rows.append([race.lanes[lane], names[task], median, ends, solved, *spent, first["configuration"]["lr"]])
    return rows


def told_amount(kind: str, amount: float) -> str:
    """A budget: ``1,000 steps``, ``2.1 TFLOPs``, ``35 seconds``."""
    if kind == "FLOPs":
        unit = next((unit for unit in _PREFIXES if amount >= unit), 1)
        return f"{amount / unit:.3g} {_PREFIXES.get(unit, '')}FLOPs"
    text = f"{amount:,.0f}" if kind == "steps" or amount >= 100 else f"{amount:.2g}"
    return f"{text} {kind.removesuffix('s') if text == '1' else kind}"


def told_lead(found: Ranking, lanes: Names) -> str:
    """Who is first, and who cannot be told from the first: ``TCN is first; GRU and LSTM cannot be told from it``."""
    best = min(rank.place for rank in found.ranks.values())
    first = [lanes[lane] for lane, rank in found.ranks.items() if rank.place == best]
    near = [lanes[lane] for lane in found.groups[0] if found.ranks[lane].place > best]
    verb, them = ("is", "it") if len(first) == 1 else ("are", "them")
    others = f"; {few(near, 'models')} cannot be told from" if near else ", and all others can be told from"
    return f"{few(first, 'models')} {verb} first{others} {them}"


def rank_frames(race: Race, names: Names) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """The rankings within equal budgets, as ``rank_explorer`` of ``rtx_lib.plots`` takes them, on the validation split.

    Parameters
    ----------
    race
        The race; on a task without costs only steps are there.
    names
        Of the tasks.

    Returns
    -------
    dict
        By the task's name and the kind of budget, of each amount from small to large ``amount``, how it is written,
        ``said``, the finding, ``split``, and ``ranks``, by lane ``place``, ``low``, ``high`` and ``group``.
    """
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for task, kind in itertools.product(race.finish, KINDS):
        for amount in amounts(race, task, kind):
            one, told = ranking(race, task, kind, amount), told_amount(kind, amount)
            said = f"{names[task]}, {one.split}, after {told}: {told_lead(one, race.lanes)}"
            frame = {"amount": told, "said": said, "split": one.split, "ranks": one.rows}
            found.setdefault(names[task], {}).setdefault(kind, []).append(frame)
    return found
