"""What a race says, as sentences and rows of tables: everything that is typed in them comes out of the records."""

from __future__ import annotations

import html
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rtx_book.race.race import NO_RIVAL, Race, RateEffect, changed_places
from rtx_book.race.ranking import KINDS, Pairs, Ranking, amounts, rank_test, ranking
from rtx_book.records.seeds import MIN_SEEDS

COLUMNS = ["model", "task", "median", "range", "solved", "steps to the line", "s to it", "TFLOP to it", "rate"]
"""Heads of the table whose rows are :func:`table_rows`."""

_NAMED = 4  # at most so many lanes of a group are named in a sentence


def listed(names: Sequence[str]) -> str:
    """Names as a sentence has them: ``A, B and C``; ``none`` for no name."""
    *most, last = names or ["none"]
    return f"{', '.join(most)} and {last}" if most else last


def most_of(names: Sequence[str], every: Sequence[str]) -> str:
    """The same, said shorter of more than half of ``every`` name: ``all but D``; ``all`` if none is left out."""
    rest = [name for name in every if name not in names]
    if 2 * len(names) <= len(every):
        return listed(names)
    return f"all but {listed(rest)}" if rest else "all"


def listed_few(names: Sequence[str]) -> str:
    """Names as :func:`listed` has them, or how many models they are where that would be long: ``6 models``."""
    return listed(names) if len(names) <= _NAMED else f"{len(names)} models"


def crossings(race: Race) -> str:
    """How many finish lines the lanes cross with every seed: whether one crosses all, and which cross the most."""
    lines = {lane: sum(lane in race.finishers(task) for task in race.finish) for lane in race.lanes}
    most, all_lines = max(lines.values()), len(race.finish)
    names = [race.lanes[lane] for lane in lines if lines[lane] == most]
    cross = f"{listed(names)} {'crosses' if len(names) == 1 else 'cross'}"
    if most == all_lines:
        return f"{cross} all {all_lines} lines every time"
    return f"No model crosses all {all_lines} lines every time; {cross} {most}"


def told_both(race: Race, one: str, other: str, names: Mapping[str, str]) -> str:
    """Which lanes cross the finish lines of two tasks, called by their ``names``, and with how many seeds each."""
    runs = {lane: (race.results[one].get(lane), race.results[other].get(lane)) for lane in race.lanes}
    both = [
        f"{race.lanes[lane]} ({a['solved']} and {b['solved']} of {b['seeds']} seeds)"
        for lane, (a, b) in runs.items()
        if a and b and a["solved"] and b["solved"]
    ]
    said = f"{listed(both)} {'crosses' if len(both) == 1 else 'cross'}" if both else "none crosses"
    return f"Of {len(runs)} models {said} the lines of both {names[one].lower()} and {names[other].lower()}"


def told_solved(race: Race, task: str, lanes: Sequence[str]) -> str:
    """How many runs of some lanes have crossed the finish line of a task: ``3 of 5 runs``."""
    found = [race.results[task][lane] for lane in lanes]
    return f"{sum(own['solved'] for own in found)} of {sum(own['seeds'] for own in found)} runs"


def lead_changes(race: Race, names: Mapping[str, str], one: str, other: str) -> str:
    """On which tasks, by their ``names``, one lane is better than another in every seed, and on which it is worse.

    It also names those where one is behind in every seed and does not beat the baseline, which decides nothing.
    """
    found = race.beaten(one, other)
    won, lost = (", ".join(names[task] for task in found.get(sign, ())) or "none" for sign in (1, -1))
    void = ", ".join(names[task] for task in found.get(NO_RIVAL, ()))
    said = f"Ahead in every seed on: {won}. Behind in every seed on: {lost}."
    return f"{said} Not ranked, because the loser has a seed that has not learned it: {void}." if void else said


def told_widest(race: Race, names: Mapping[str, str], write: Callable[[float], str], count: int = 4) -> str:
    """The widest ranges over the seeds, measured against the distance of the lanes, with the rates that they ran at.

    Parameters
    ----------
    race
        The race.
    names
        Of the tasks.
    write
        How a number is written.
    count
        How many ranges are told.
    """
    found = [(task, lane, race.values(task, lane)) for task, lane in race.widest(count)]
    ends = {(task, lane): f"{write(min(values))} to {write(max(values))}" for task, lane, values in found}
    who = {(task, lane): f"{race.lanes[lane]} on {names[task].lower()}" for task, lane in ends}
    rates = {key: race.of(*key)[0]["configuration"]["lr"] for key in ends}
    return "; ".join(f"{who[key]}, {ends[key]}, rate {rates[key]:g}" for key in ends)


def told_folds(race: Race, task: str, folds: Sequence[int]) -> str:
    """How many pairs of lanes change places if only the seeds of some folds count: ``8% of all pairs ...``."""
    every = {lane: own for lane, own in race.by_seed(task).items() if set(folds) <= set(own)}
    whole = [race.sign(task) * statistics.median(own.values()) for own in every.values()]
    part = [race.sign(task) * statistics.median(own[fold] for fold in folds) for own in every.values()]
    return f"{changed_places(whole, part):.0%} of all pairs of models change places"


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
    for lane, cost in _costs(race, task).items():
        seconds, flops = cost["seconds_per_step"], cost["flops_per_step"]
        rule = 6 * cost["parameters"] * positions
        cells = f"{1e3 * seconds:.0f}", f"{flops / 1e9:.2f}", f"{flops / rule:.2f}", f"{flops / seconds / 1e9:.0f}"
        rows.append((race.lanes[lane], *cells))
    return rows


def _costs(race: Race, task: str) -> dict[str, Mapping[str, float]]:
    """What a step costs, of the lanes that run on a task."""
    return {lane: race.costs[task, lane] for lane in race.results[task]}


def cost_factor(race: Race, task: str, what: str) -> tuple[float, str, str]:
    """The dearest step over the cheapest in ``what`` is counted, and the names of the cheapest and the dearest lane."""
    own = {lane: cost[what] for lane, cost in _costs(race, task).items()}
    low, high = min(own, key=own.__getitem__), max(own, key=own.__getitem__)
    return own[high] / own[low], race.lanes[low], race.lanes[high]


def told_factors(race: Race, task: str) -> str:
    """By which factor the lanes' training steps differ in time and in arithmetic, and which lanes are at the ends."""
    said = []
    for name, what in (("time", "seconds_per_step"), ("arithmetic", "flops_per_step")):
        factor, least, most = cost_factor(race, task, what)
        said.append(f"in {name} by a factor of {factor:.1f} ({least} least, {most} most)")
    return ", ".join(said)


def rate_rows(
    effects: Mapping[str, RateEffect],
    tasks: Mapping[str, Mapping[str, Any]],
    lanes: Mapping[str, str],
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


def told_hours(parts: Sequence[Sequence[Mapping[str, Any]]]) -> str:
    """How long the records of several parts took in all and each, and where: ``3.0 hours (1.0 + 2.0; a CPU)``."""
    hours = [sum(record["seconds"] for record in part) / 3600 for part in parts]
    where = sorted({record["device"]["name"] for part in parts for record in part})
    return f"{sum(hours):.1f} hours of one thread ({' + '.join(f'{h:.1f}' for h in hours)}; {', '.join(where)})"


def table_rows(
    race: Race, names: Mapping[str, str], write: Callable[[float], str], *, page: str = "../book/records.html"
) -> list[list[Any]]:
    """A row for each task and lane, the best first, with cells as ``sortable_table`` of ``rtx_lib.plots`` takes them.

    Parameters
    ----------
    race
        The race.
    names
        Of the tasks.
    write
        How a number is written.
    page
        Where the links to records point, relative to the reader's page.
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
        median = own["median"], told, f"{page}#recipe-{first['recipe']}"
        solved = own["solved"], f"{own['solved']}/{own['seeds']}{lost}"
        time = None if seconds is None else (seconds, f"{seconds:,.0f}")
        work = None if flops is None else (flops, f"{flops / 1e12:.2f}")
        spent = own["steps_to"], time, work
        rows.append([race.lanes[lane], names[task], median, ends, solved, *spent, first["configuration"]["lr"]])
    return rows


def told_lengths(results: Mapping[int, Mapping[str, Mapping[str, Any]]], lanes: Mapping[str, str]) -> str:
    """Which lanes reach the line with every seed at which length, who loses it at the longest, who has too few seeds.

    Only lanes with `MIN_SEEDS` runs at a length are listed there.

    Parameters
    ----------
    results
        By length and lane, what ``summarise`` says.
    lanes
        Their names by key.

    Raises
    ------
    ValueError
        For fewer than two lengths.
    """
    if len(results) < 2:
        raise ValueError(f"results must be of two lengths or more, got {list(results)}")
    over, known = {}, {}
    for length, own in results.items():
        known[length] = [lane for lane in lanes if own.get(lane, {}).get("seeds", 0) >= MIN_SEEDS]
        over[length] = [lane for lane in known[length] if own[lane]["solved"] == own[lane]["seeds"]]
    before, after = list(over)[-2:]
    lost = [lanes[lane] for lane in over[before] if lane in known[after] and lane not in over[after]]
    end = f"these lose the line: {listed(lost)}" if lost else f"no lane with {MIN_SEEDS} seeds at both loses the line"

    def by_length(own: Mapping[int, Sequence[str]]) -> str:
        named = {length: [lanes[lane] for lane in found] for length, found in own.items()}
        return "; ".join(f"at {length} {most_of(names, list(lanes.values()))}" for length, names in named.items())

    said = f"From {before} to {after} {end}. Beyond it with every seed: {by_length(over)}."
    few = {length: [lane for lane in lanes if lane not in own] for length, own in known.items()}
    rest = by_length({length: own for length, own in few.items() if own})
    return f"{said} Not judged, with fewer than {MIN_SEEDS} seeds: {rest}." if rest else said


# ------------------------------------------------------------------------------------------------ how sure it is

_PREFIXES = {1e15: "P", 1e12: "T", 1e9: "G", 1e6: "M"}


def told_pairs(found: Pairs) -> str:
    """How many pairs of models separate, and how many would by chance: ``179 of 275 pairs of models separate ...``."""
    chance = f"about {found.chance:.0f}" if found.chance >= 0.5 else "fewer than one" if found.chance else "none"
    said = f"{found.separate} of {found.judged} pairs of models separate with every seed; by chance {chance} would."
    void = f" In {found.void} more a seed of the loser has not learned the task; these show who learns."
    return said + void * bool(found.void)


def told_test(race: Race, names: Mapping[str, str], task: str, one: str, other: str) -> str:
    """Whether the seeds of one lane rank higher than those of another on a task, by ``rank_test`` of the test split.

    Not meant for tasks whose seeds test on folds of their own: there a seed can only be exchanged within its fold.
    """
    ours, theirs = (race.scores(task, lane) for lane in (one, other))
    p, ways, name = rank_test(ours, theirs), math.comb(len(ours) + len(theirs), len(ours)), race.lanes[one]
    least = ", the least that so many seeds can show" if round(p * ways) == 1 else ""
    return (
        f"{names[task]}, {name} against {race.lanes[other]}: {round(p * ways)} of {ways} ways to deal the seeds would "
        f"rank {name} at least as high, p = {p:.2g}{least}"
    )


def told_lead(found: Ranking, lanes: Mapping[str, str]) -> str:
    """Who is first, and who cannot be told from the first: ``TCN is first; GRU cannot be told from it``."""
    best = next(iter(found.ranks.values())).place
    first = [lanes[lane] for lane in found.groups[0] if found.ranks[lane].place == best]
    rest = [lanes[lane] for lane in found.groups[0] if found.ranks[lane].place > best]
    names = listed_few(first)
    said, them = (f"{names} share the first place", "them") if len(first) > 1 else (f"{names} is first", "it")
    others = len(found.ranks) - len(first)
    if not rest:
        return f"{said}, apart from all others" if others else said
    if len(rest) == others:
        return f"{said}, and no other model can be told from {them}"
    told = listed(rest) if len(rest) < _NAMED else f"{len(rest)} of {others} others"
    return f"{said}; {told} cannot be told from {them}"


def told_amount(kind: str, amount: float) -> str:
    """A budget: ``1,000 steps``, ``2.1 TFLOPs``, ``35 seconds``."""
    if kind == "FLOPs":
        unit = next((unit for unit in _PREFIXES if amount >= unit), 1)
        return f"{amount / unit:.3g} {_PREFIXES.get(unit, '')}FLOPs"
    text = f"{amount:,.0f}" if kind == "steps" or amount >= 100 else f"{amount:.2g}"
    return f"{text} {kind.removesuffix('s') if text == '1' else kind}"


def told_ranking(found: Ranking, lanes: Mapping[str, str], names: Mapping[str, str]) -> str:
    """A ranking's finding as a title: where and at which budget, and who leads; over several tasks with mean ranks."""
    if len(found.tasks) == 1:
        within = f", after {told_amount(found.kind, found.amount)}" if found.kind and found.amount else ""
        return f"{names[found.tasks[0]]}{within}: {told_lead(found, lanes)}"
    best, *rest = found.groups[0]
    rank = found.ranks[best]
    equal = f", at equal {found.kind}," * bool(found.kind)
    said = f"Over {len(found.tasks)} tasks{equal} {lanes[best]} has the best mean rank, {rank.place:.1f} "
    said += f"({rank.low:.1f} to {rank.high:.1f}), "
    if not rest:
        return f"{said}apart from all others"
    few = len(rest) < _NAMED
    others = listed([lanes[lane] for lane in rest]) if few else f"{len(rest)} other models"
    return f"{said}and {others} cannot be told from it"


def told_kinds(found: Mapping[str, Ranking], lanes: Mapping[str, str]) -> str:
    """Who leads at equal steps, FLOPs and seconds: ``At equal steps and FLOPs TCN is first ... At equal seconds ...``.

    Parameters
    ----------
    found
        By what is equal, a ranking with that budget.
    lanes
        Their names by key.
    """
    said: dict[str, list[str]] = {}
    for kind, own in found.items():
        said.setdefault(told_lead(own, lanes), []).append(kind)
    return ". ".join(f"At equal {listed(kinds)} {lead}" for lead, kinds in said.items())


def rank_frames(race: Race, names: Mapping[str, str], count: int = 10) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """The rankings within equal budgets, as ``rank_explorer`` of ``rtx_lib.plots`` takes them, on the validation split.

    Parameters
    ----------
    race
        The race; on a task without costs only steps are there.
    names
        Of the tasks.
    count
        At most so many budgets of each kind.

    Returns
    -------
    dict
        By the task's name and the kind of budget, of each amount from small to large ``amount``, how it is written,
        ``said``, the finding, ``split``, and ``ranks``, by lane ``place``, ``low``, ``high`` and ``group``.
    """
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for task in race.finish:
        own = found[names[task]] = {}
        for kind in KINDS:
            ranked = [ranking(race, task, kind, amount) for amount in amounts(race, task, kind, count)]
            own[kind] = [
                {
                    "amount": told_amount(kind, one.amount or 0),
                    "said": told_ranking(one, race.lanes, names),
                    "split": one.split,
                    "ranks": one.rows,
                }
                for one in ranked
            ]
    return {name: {kind: frames for kind, frames in own.items() if frames} for name, own in found.items()}


def csv_link(count: int, *, file: str = "../book/results/race.csv") -> str:
    """A link to the file of all runs (:mod:`rtx_book.race.race_csv`), as HTML.

    Parameters
    ----------
    count
        Of its rows.
    file
        Where the site has it, relative to the reader's page.
    """
    name = html.escape(file.rpartition("/")[2])
    return f'<a href="{html.escape(file)}" download="{name}">All {count:,} runs as one table, {name}</a>'
