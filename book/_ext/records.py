"""The directive ``records``: tables with one row per recipe, made from the JSON records in ``book/results``.

What stands on the page comes out of the files, so a number can be neither mistyped nor stale. A record that does
not follow the schema of ``rtx_lib.experiments.records`` is an error of the build, which names the file and the fault.
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import jsonschema
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from tables import paragraphs, row, table

from rtx_lib.evidence.audit import number

FOLDER = "book/results"
TRIALS = "rates"  # the folder in it with the trials of learning rates
HOW = "python -m rtx_lib.experiments run RECIPE --seed 0 1 2"
RACE = {
    "adding": "the adding problem",
    "copy": "copy memory",
    "digits": "digits",
    "text": "characters",
    "chorales": "chorales",
}
# The tables of the page in their order, each with the start of its recipes' names.
GROUPS = (
    ("Chapter 1: MNIST by rows", "row-mnist-"),
    ("Chapter 2: the adding problem, plain networks", "adding-"),
    ("Chapter 3: gates", "copy-|digits-|forget-bias-|depth-"),
    ("Chapters 3 and 4: the adding problem over long distances", "long-"),
    ("Chapters 4 and 8: MNIST by pixels", "pixel-mnist-"),
    ("Chapter 5: number words", "numbers-"),
    ("Chapter 6: the symbol of so many steps ago", "lag"),
    ("Chapter 7: German number words, and characters", "german-|shakespeare-(?!stream|xl)"),
    ("Chapter 8: Nottingham tunes", "nottingham-"),
    ("Chapter 8: JSB chorales", "jsb-"),
    ("Chapter 8: Penn Treebank", "ptb-(?!char-xl)"),
    ("Chapter 9: Transformer-XL", "shakespeare-(stream|xl)|ptb-char-xl"),
    *((f"Chapter 10: the race, {about}", f"race-{task}-") for task, about in RACE.items()),
)
REST = "Other runs"


def read_records(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The records in `folder` by recipe, ordered by seed; `ValueError` names a file that is none and says why."""
    from rtx_lib.experiments.records import SCHEMA  # here, so that the site's other pages build without torch

    validator = jsonschema.validators.validator_for(SCHEMA)(SCHEMA)
    found: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(folder.glob("*.json")):
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
        except json.JSONDecodeError as error:
            raise ValueError(f"{path.name} is not JSON: {error}") from error
        if fault := jsonschema.exceptions.best_match(validator.iter_errors(record)):
            where = "/".join(map(str, fault.absolute_path)) or "the record"
            raise ValueError(f"{path.name} does not follow the schema: {where}: {fault.message[:200]}")
        if path.stem != f"{record['recipe']}-s{record['seed']}":
            raise ValueError(f"{path.name} holds recipe {record['recipe']}, seed {record['seed']}: a wrong name")
        found.setdefault(record["recipe"], []).append(record)
    for records in found.values():
        records.sort(key=lambda record: int(record["seed"]))
    return dict(sorted(found.items(), key=lambda item: order(item[0])))


def order(recipe: str) -> list[tuple[int, str]]:
    """A key that sorts the digits in a name as numbers: t50 before t100."""
    parts: list[str] = [""]
    for letter in recipe:
        if parts[-1] and letter.isdigit() != parts[-1][-1].isdigit():
            parts.append("")
        parts[-1] += letter
    return [(int(part), "") if part.isdigit() else (0, part) for part in parts]


def grouped(recipes: Iterable[str]) -> dict[str, list[str]]:
    """The recipes by the title of their table, in the order of `GROUPS`; empty tables are left out."""
    found: dict[str, list[str]] = {title: [] for title, _ in GROUPS} | {REST: []}
    for recipe in recipes:
        found[next((title for title, start in GROUPS if re.match(start, recipe)), REST)].append(recipe)
    return {title: names for title, names in found.items() if names}


def metric_names(records: Iterable[dict[str, Any]]) -> list[str]:
    """The names of all metrics, in the order of their first appearance."""
    return list(dict.fromkeys(name for record in records for name in record["metrics"]))


def results(records: Sequence[dict[str, Any]]) -> list[str]:
    """A line for each test metric, median and range over the seeds, and one for the runs that diverged."""
    said = []
    for name in metric_names(records):
        values = [record["metrics"][name] for record in records if name in record["metrics"]]
        spread = f" ({number(min(values))} to {number(max(values))})" if len(values) > 1 else ""
        said.append(f"{name} {number(statistics.median(values))}{spread}")
    if steps := [record["diverged"]["step"] for record in records if record["diverged"]]:
        said.append(f"{len(steps)} of {len(records)} diverged, at step {', '.join(f'{step:,}' for step in steps)}")
    return said


def settings(record: dict[str, Any]) -> str:
    """How a recipe is trained, in a line."""
    chosen = record["configuration"]
    clip = f"clipped at {chosen['clip']:g}" if chosen.get("clip") else "not clipped"
    optimizer = {"adam": "Adam", "sgd": "SGD", "adamw": "AdamW"}.get(name := chosen.get("optimizer", "adam"), name)
    kept = f", kept where {chosen['keep_best']} was best on the validation split" if chosen.get("keep_best") else ""
    return f"Batches of {chosen['batch_size']}, {optimizer} with rate {chosen['lr']:g}, {clip}{kept}."


def cells(recipe: str, records: Sequence[dict[str, Any]], to_files: str) -> list[list[nodes.Node]]:
    """A recipe's row: what was trained, what came out, its size, and a link to the record of each seed."""
    about = records[0]["configuration"].get("about") or recipe
    links: list[nodes.Node] = []
    for record in records:
        name = f"{recipe}-s{record['seed']}"
        mark = "*" if record["commit"].endswith("-dirty") else ""
        links += [
            nodes.reference(
                "", f"{record['seed']}{mark}", refuri=f"{to_files}{name}.json", internal=True, reftitle=f"record {name}"
            ),
            nodes.Text(" "),
        ]
    baselines = [f"{number(value)} ({name})" for name, value in records[0]["baselines"].items()]
    seconds = statistics.median(record["seconds"] for record in records)
    return [
        [
            nodes.paragraph("", "", nodes.literal("", recipe)),
            nodes.paragraph("", f"{about[0].upper()}{about[1:]}. {settings(records[0])}", classes=["about"]),
        ],
        paragraphs(results(records) or ["none"]),
        paragraphs(baselines or ["none"]),
        paragraphs(
            [
                f"{records[0]['configuration']['steps']:,} steps",
                f"{records[0]['parameters']:,} parameters",
                f"{seconds:,.0f} seconds",
            ]
        ),
        [nodes.paragraph("", "", *links[:-1])],
    ]


HEAD = ("Recipe", "Test metric: median (range)", "Without learning", "Budget", "Seeds")  # a phone shows the first two


def section(title: str, *content: nodes.Node) -> nodes.section:
    return nodes.section("", nodes.title("", title), *content, ids=[nodes.make_id(f"records-{title}")], names=[])


def trials(found: dict[str, list[dict[str, Any]]], to_files: str) -> nodes.section:
    """The trials of learning rates: a row for each lane of a task, with all rates that it tried."""
    lanes: dict[str, list[dict[str, Any]]] = {}
    for recipe, records in found.items():
        lanes.setdefault(recipe.rpartition("-")[0].removeprefix("rate-"), []).append(records[0])
    rows = []
    for lane, records in lanes.items():
        records.sort(key=lambda record: float(record["configuration"]["lr"]))
        links: list[nodes.Node] = []
        for record in records:
            name = f"{record['recipe']}-s{record['seed']}"
            links += [
                nodes.reference(
                    "",
                    f"{record['configuration']['lr']:g}",
                    refuri=f"{to_files}{name}.json",
                    internal=True,
                    reftitle=f"record {name}",
                ),
                nodes.Text(f": {trial_result(record)}; "),
            ]
        links[-1] = nodes.Text(links[-1].astext().removesuffix("; "))
        rows.append(
            row(
                [
                    [nodes.paragraph("", "", nodes.literal("", lane))],
                    paragraphs([f"{records[0]['configuration']['steps']:,}"]),
                    [nodes.paragraph("", "", *links)],
                ]
            )
        )
    text = (
        "Each model of the race chose its learning rate from these runs, one seed each, by the loss of the "
        "tested model on the validation split. They are shorter than the race and say nothing else."
    )
    head = ("Task and model", "Steps", "Rate: validation loss")
    return section("Trials of learning rates", nodes.paragraph("", text), table(head, rows))


def trial_result(record: dict[str, Any]) -> str:
    """The validation loss by which ``rtx_lib.experiments.best_rate`` chooses, or that the run diverged."""
    metric = "mse" if "mse" in record["metrics"] else "loss"
    values = [row[metric] for row in record["evaluations"] if metric in row]
    if record["diverged"] or not values:
        return "diverged" if record["diverged"] else "none"
    return f"{metric} {number(min(values) if record['configuration'].get('keep_best') else values[-1])}"


class Records(SphinxDirective):
    """All records, or a line that there are none. It takes no argument and stands at the end of a section."""

    def run(self) -> list[nodes.Node]:
        folder = Path(self.env.app.confdir) / FOLDER
        try:
            found, tried = read_records(folder), read_records(folder / TRIALS)
        except ValueError as error:
            raise self.error(f"records: {error}") from error
        for path in folder.rglob("*.json"):
            self.env.note_dependency(str(path))
        if not found:
            return [nodes.paragraph("", "There are no records yet. To make one: ", nodes.literal("", HOW))]
        to_files = "../" * self.env.docname.count("/") + FOLDER + "/"
        sections = []
        for title, recipes in grouped(found).items():
            rows = (
                row(cells(recipe, found[recipe], to_files), ids=[nodes.make_id(f"recipe-{recipe}")])
                for recipe in recipes
            )
            sections.append(section(title, table(HEAD, rows)))
        return [*sections, *([trials(tried, f"{to_files}{TRIALS}/")] if tried else [])]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("records", Records)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
