"""The part ``records``: tables with one row per recipe, made from the records in ``book/results``.

What stands on the page comes out of the files, so a number can be neither mistyped nor stale. A record that does
not follow the schema (``rtx_book.records.records.check``) is an error of the build, which names it and the fault.
"""

import re
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rtx_book.paths import texts
from rtx_book.records.records import TRIALS, check, chosen, load, sources
from rtx_book.words import padded

FOLDER = "book/results"
RATED = re.compile(r"(again-\w+-)?(race|large)-.*-(0\.\d+|1|\de-\d+)")  # what has raced with a rate that it names
GROUPS: dict[str, str] = texts("sphinx/records.yml")
"""The tables of the page in their order, each with the start of its recipes' names."""
REST = "Other runs"


def read_records(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The records in `folder` by recipe, ordered by seed; `ValueError` names one that is none and says why."""
    found = load(folder, plain=False)
    for recipe, records in found.items():
        for record in records:
            check(record, f"{recipe}-s{record['seed']}")
    return {recipe: found[recipe] for recipe in sorted(found, key=order)}


def order(recipe: str) -> list[tuple[int, str]]:
    """A key that sorts the digits in a name as numbers: t50 before t100."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", recipe)]


def grouped(recipes: Iterable[str]) -> dict[str, list[str]]:
    """The recipes by the title of their table, in the order of `GROUPS`; empty tables are left out."""
    found: dict[str, list[str]] = {title: [] for title in (*GROUPS, REST)}
    for recipe in recipes:
        found[next((title for title, start in GROUPS.items() if re.match(start, recipe)), REST)].append(recipe)
    return {title: names for title, names in found.items() if names}


def results(records: Sequence[dict[str, Any]]) -> list[str]:
    """A line for each test metric, median and range over the seeds, and one for the runs that diverged."""
    said = []
    for name in dict.fromkeys(name for record in records for name in record["metrics"]):
        values = [record["metrics"][name] for record in records if name in record["metrics"]]
        spread = f" ({padded(min(values))} to {padded(max(values))})" if len(values) > 1 else ""
        said.append(f"{name} {padded(statistics.median(values))}{spread}")
    if steps := [record["diverged"]["step"] for record in records if record["diverged"]]:
        said.append(f"{len(steps)} of {len(records)} diverged, at step {', '.join(f'{step:,}' for step in steps)}")
    return said


def row(recipe: str, records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A recipe's row: what was trained and how, what came out, its size, and its seeds."""
    how = records[0]["configuration"]
    about = how.get("about") or recipe
    return {
        "name": recipe,
        "about": about[0].upper() + about[1:],
        "how": {"optimizer": "adam", "clip": None, "keep_best": None, **how},
        "results": results(records) or ["none"],
        "baselines": [f"{padded(value)} ({name})" for name, value in records[0]["baselines"].items()] or ["none"],
        "parameters": records[0]["parameters"],
        "seconds": statistics.median(record["seconds"] for record in records),
        "seeds": " ".join(f"{record['seed']}{'*' * record['commit'].endswith('-dirty')}" for record in records),
    }


def by_rate(found: dict[str, list[dict[str, Any]]], files: dict[str, str]) -> dict[str, Any]:
    """Runs that only say which rate is better: a row for each model of a task, with all rates that it was run with."""
    lanes: dict[str, list[list[dict[str, Any]]]] = {}
    for recipe, records in found.items():
        rate = f"-{records[0]['configuration']['lr']:g}"
        lanes.setdefault(recipe.removesuffix(rate).removeprefix("rate-"), []).append(records)
    rows = []
    for lane, groups in lanes.items():
        groups.sort(key=lambda records: float(records[0]["configuration"]["lr"]))
        told = "; ".join(f"{records[0]['configuration']['lr']:g}: {judged(records)}" for records in groups)
        rows.append({"name": lane, "steps": groups[0][0]["configuration"]["steps"], "told": told})
    return {"rows": rows, "files": sorted({files[recipe] for recipe in found})}


def judged(records: Sequence[dict[str, Any]]) -> str:
    """The validation loss by which a rate is judged, of several seeds the median, or that runs diverged."""
    whole = [run for run in records if not run["diverged"]]
    usual = "mse" if any("mse" in row for record in records for row in record["evaluations"]) else "loss"
    metric = records[0]["configuration"].get("keep_best") or usual
    runs = [(run, [row[metric] for row in run["evaluations"] if metric in row]) for run in whole]
    losses = [min(own) if run["configuration"].get("keep_best") else own[-1] for run, own in runs if own]
    said = [f"{metric} {padded(statistics.median(losses))}"] if losses else []
    if lost := len(records) - len(whole):
        said.append(f"{lost} of {len(records)} diverged" if len(records) > 1 else "diverged")
    return ", ".join(said) or "none"


def context(root: Path) -> dict[str, Any]:
    """What the template tells: recipes in groups, and apart from them what lost in the race and trials of rates."""
    folder = root / FOLDER
    found, files, won = read_records(folder), sources(folder), set(chosen(folder).values())
    tried = {recipe: found.pop(recipe) for recipe in list(found) if recipe.startswith(TRIALS)}
    lost = {recipe: found.pop(recipe) for recipe in list(found) if RATED.fullmatch(recipe) and recipe not in won}
    groups = {}
    for title, names in grouped(found).items():
        groups[title] = [{**row(name, found[name]), "file": files[name]} for name in names]
    return {"groups": groups, "lost": by_rate(lost, files), "tried": by_rate(tried, files)}
