"""The directive ``records``: one table per recipe, made from the JSON records in ``book/results``.

What stands on the page comes out of the files, so a number can be neither mistyped nor stale. A record that does
not follow the schema of ``rtx_lib.records`` is an error of the build, which names the file and the fault.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import jsonschema
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

FOLDER = "book/results"
HOW = "python -m rtx_lib.experiments run RECIPE --seed 0 1 2"


def read_records(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The records in `folder` by recipe, ordered by seed; `ValueError` names a file that is none and says why."""
    from rtx_lib.records import SCHEMA  # here, so that the site's other pages build without torch

    found: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(folder.glob("*.json")):
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            jsonschema.validate(record, SCHEMA)
        except json.JSONDecodeError as error:
            raise ValueError(f"{path.name} is not JSON: {error}") from error
        except jsonschema.ValidationError as error:
            where = "/".join(map(str, error.absolute_path)) or "the record"
            raise ValueError(f"{path.name} does not follow the schema: {where}: {error.message[:200]}") from error
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


def number(value: float) -> str:
    """Three significant digits, trailing zeros kept."""
    return f"{value:#.3g}".rstrip(".")


def summary(records: Sequence[dict[str, Any]]) -> str:
    """One sentence over the seeds: mean and range of each metric, and how many runs diverged."""
    whole = [record["metrics"] for record in records if not record["diverged"]]
    said = []
    for name in metric_names(records):
        values = [metrics[name] for metrics in whole if name in metrics]
        if len(values) > 1:
            mean = math.fsum(values) / len(values)
            said.append(f"{name} {number(mean)} on average ({number(min(values))} to {number(max(values))})")
    if diverged := len(records) - len(whole):
        said.append(f"{diverged} diverged")
    return f"Over {len(records)} seed{'s' * (len(records) > 1)}: {', '.join(said)}." if said else ""


def metric_names(records: Iterable[dict[str, Any]]) -> list[str]:
    """The names of all metrics, in the order of their first appearance."""
    return list(dict.fromkeys(name for record in records for name in record["metrics"]))


def table(records: Sequence[dict[str, Any]], to_files: str) -> nodes.table:
    """One row a seed. `to_files` is the address of the records' folder as the page sees it."""
    metrics = metric_names(records)
    diverged = any(record["diverged"] for record in records)
    head = ["Seed", *(f"Test {name}" for name in metrics), *(["Diverged"] if diverged else []),
            "Steps", "Seconds", "Device", "Commit", "Record"]
    group = nodes.tgroup(cols=len(head))
    group += [nodes.colspec(colwidth=1) for _ in head]
    group += nodes.thead("", row([nodes.Text(text) for text in head]))
    body = nodes.tbody()
    for record in records:
        name = f"{record['recipe']}-s{record['seed']}.json"
        device, threads = record["device"]["name"], record["device"]["threads"]
        if device == "CPU":
            device += f", {threads} thread{'s' * (threads > 1)}"
        fault = [f"at step {record['diverged']['step']}" if record["diverged"] else "no"] if diverged else []
        texts = [str(record["seed"]),
                 *(number(record["metrics"][key]) if key in record["metrics"] else "none" for key in metrics),
                 *fault, f"{record['configuration']['steps']:,}", f"{record['seconds']:,.0f}", device]
        commit = record["commit"]
        short = commit[:7] + ("-dirty" if commit.endswith("-dirty") else "")
        body += row([*map(nodes.Text, texts), nodes.literal("", short),
                     nodes.reference("", f"seed {record['seed']}", refuri=to_files + name, internal=True)])
    group += body
    return nodes.table("", group, classes=["records"])


def row(cells: Iterable[nodes.Node]) -> nodes.row:
    """A table row of one-paragraph cells."""
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", "", cell)) for cell in cells))


def section(recipe: str, records: Sequence[dict[str, Any]], to_files: str) -> nodes.section:
    """A recipe's part of the page: what was trained, the baselines, the table and a summary."""
    settings = records[0]["configuration"]
    about = settings.get("about") or recipe
    clip = f"gradient norm clipped at {settings['clip']:g}" if settings.get("clip") else "no clipping"
    optimizer = {"adam": "Adam", "sgd": "SGD"}[settings.get("optimizer", "adam")]
    lines = [f"{about[0].upper()}{about[1:]}. Batches of {settings['batch_size']}, {optimizer} with rate "
             f"{settings['lr']:g}, {clip}; {records[0]['parameters']:,} parameters."]
    if metric := settings.get("keep_best"):
        lines.append(f"Tested is the model with the best {metric} on the validation split along the way.")
    if records[0]["baselines"]:
        named = (f"{number(value)} ({name})" for name, value in records[0]["baselines"].items())
        lines.append(f"Baselines: {', '.join(named)}.")
    if text := summary(records):
        lines.append(text)
    part = nodes.section("", nodes.title("", recipe), ids=[nodes.make_id(f"recipe-{recipe}")], names=[])
    part += [nodes.paragraph("", line) for line in lines]
    part += table(records, to_files)
    return part


class Records(SphinxDirective):
    """All records, or a line that there are none. It takes no argument and stands at the end of a section."""

    def run(self) -> list[nodes.Node]:
        folder = Path(self.env.app.confdir) / FOLDER
        try:
            found = read_records(folder)
        except ValueError as error:
            raise self.error(f"records: {error}") from error
        for path in folder.glob("*.json"):
            self.env.note_dependency(str(path))
        if not found:
            return [nodes.paragraph("", "There are no records yet. To make one: ", nodes.literal("", HOW))]
        to_files = "../" * self.env.docname.count("/") + FOLDER + "/"
        return [section(recipe, records, to_files) for recipe, records in found.items()]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("records", Records)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
