"""The directives ``speed CASE`` and ``speed-machines``: tables from ``book/results/speed.jsonl``.

``python -m rtx_book bench all --record`` writes the file. An entry that does not follow the schema of
``rtx_book.records.records`` is an error of the build, which names it and the fault.
"""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from rtx_book.records.records import SPEED_SCHEMA, check, load_speeds
from rtx_book.sphinx.tables import line, row, table

FILE = "book/results/speed.jsonl"
HOW = "python -m rtx_book bench {} --record"
DEVICES = ("cpu", "cuda")


def read_speeds(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """The entries of a file by case and device; `ValueError` names one that is none and says why."""
    found = {}
    for place, measured in enumerate(load_speeds(path), start=1):
        check(measured, f"{path.name}, line {place}", SPEED_SCHEMA)
        case = measured["case"]
        for one in measured["rows"]:
            if one["case"] != case and not one["case"].startswith(f"{case}-"):
                raise ValueError(f"{path.name}, line {place}, holds a row of case {one['case']}")
        found[case, "cuda" if measured["machine"]["gpu"] else "cpu"] = measured
    return found


def where_of(measured: dict[str, Any]) -> str:
    """The device by the name of its model."""
    machine = measured["machine"]
    return str(machine["gpu"] or machine["processor"])


def ratio_text(ratio: float) -> str:
    """Three digits at most: 0.404, 2.57, 38.1, 418."""
    return f"{ratio:.{max(0, 2 - max(0, math.floor(math.log10(ratio))))}f}×"


def error_text(error: float | None) -> str:
    """Two digits, 0 for results that are the same bit for bit, a dash for none."""
    return "–" if error is None else f"{error:.1e}" if error else "0"


def bar(ratio: float, widest: float) -> nodes.raw:
    """A bar from the middle of its box: to the right and full for faster, to the left and hollow for slower.

    Its length is the logarithm of the ratio, `widest` the largest that has to fit.
    """
    share = 50 * min(1.0, abs(math.log(ratio)) / widest)
    kind, left = ("faster", 50.0) if ratio >= 1 else ("slower", 50 - share)
    style = f"left:{left:.1f}%;width:{share:.1f}%"
    html = f'<span class="speed-bar" aria-hidden="true"><span class="{kind}" style="{style}"></span></span>'
    return nodes.raw("", html, format="html")


def tables(rows: Sequence[dict[str, Any]]) -> list[nodes.Node]:
    """The table of one case. What all rows lack has no column, and what they share stands in a line above."""
    from rtx_book.runs.recipes.race import LANES

    widest = max(math.log(2), *(abs(math.log(row["ratio"])) for row in rows))
    columns: list[tuple[str, Any]] = [
        ("Variant", lambda row: LANES.get(row["variant"], row["variant"])),
        ("Ratio", lambda row: ratio_text(row["ratio"])),
    ]
    shared = []
    for head, text in (
        ("Against", lambda row: LANES.get(row["against"], row["against"])),
        ("Kind", lambda row: row["kind"]),
        ("Device", lambda row: row["device"]),
    ):
        if len({text(row) for row in rows}) > 1:
            columns.append((head, text))
        else:
            shared.append(f"{head.lower()} {text(rows[0])}")
    if any("memory_ratio" in row for row in rows):
        columns.append(("Memory", lambda row: f"{row['memory_ratio']:.2f}×" if "memory_ratio" in row else "–"))
    if any(row["max_error"] is not None for row in rows):
        columns.append(("Error", lambda row: error_text(row["max_error"])))
    for head, key, text in (
        ("Milliseconds a step", "seconds_per_step", lambda value: f"{1000 * value:.1f}"),
        ("MFLOPs a step", "flops_per_step", lambda value: f"{value / 1e6:,.0f}"),
        ("Parameters", "parameters", lambda value: f"{value:,}"),
    ):
        if any(key in row for row in rows):
            columns.append((head, lambda row, key=key, text=text: text(row[key]) if key in row else "–"))
    body = []
    for measured in rows:
        cells: list[list[nodes.Node]] = [[nodes.Text(text(measured))] for _, text in columns]
        cells[1] += [nodes.Text(" "), bar(measured["ratio"], widest)]
        body.append(row(line(*cell) for cell in cells))
    above = nodes.paragraph("", f"For every row: {'; '.join(shared)}.", classes=["speed-source"])
    return [*([above] if shared else []), table([head for head, _ in columns], body, "speed")]


def day(date: str) -> str:
    """22 November 2026."""
    at = datetime.date.fromisoformat(date)
    return f"{at.day} {at:%B %Y}"


def source(measured: dict[str, Any], file: str) -> nodes.paragraph:
    """When and with which code the rows were measured, and their file."""
    commit = measured["commit"]
    short = commit[:7] + ("-dirty" if commit.endswith("-dirty") else "")
    return nodes.paragraph(
        "",
        "",
        nodes.Text(f"Measured on {day(measured['date'])} at commit "),
        nodes.literal("", short),
        nodes.Text(": "),
        nodes.reference("", "speed.jsonl", refuri=file, internal=True),
        nodes.Text("."),
        classes=["speed-source"],
    )


def case_nodes(found: dict[tuple[str, str], dict[str, Any]], case: str, file: str) -> list[nodes.Node]:
    """For each device that was measured: a table, or one for each part of the case, and where its rows come from."""
    shown: list[nodes.Node] = []
    for device in DEVICES:
        if measured := found.get((case, device)):
            for part, rows in itertools.groupby(measured["rows"], key=lambda row: row["case"]):
                if part != case:
                    title = f"{part.removeprefix(f'{case}-').capitalize()}"
                    shown.append(nodes.paragraph("", "", nodes.strong("", title), classes=["speed-part"]))
                shown += tables(list(rows))
            shown.append(source(measured, file))
    if not shown:
        shown.append(nodes.paragraph("", "Nothing is measured yet: ", nodes.literal("", HOW.format(case))))
    return shown


def machines(found: dict[tuple[str, str], dict[str, Any]]) -> list[nodes.Node]:
    """What the cases ran on, one item a machine, and a plain sentence where no GPU is among them."""
    groups: dict[str, list[str]] = {}
    for (case, _), measured in found.items():
        machine, versions = measured["machine"], measured["versions"]
        count, threads = machine["cores"], machine["threads"]
        text = f"{machine['processor']}, {count} core{'s' * (count > 1)}, {threads} thread{'s' * (threads > 1)} used"
        if machine["gpu"]:
            text = f"{machine['gpu']}, beside {text}"
        text += f"; torch {versions['torch']} ({machine['build']}), "
        text += ", ".join(
            f"{name.capitalize() if name == 'python' else name} {version}"
            for name, version in versions.items()
            if name != "torch"
        )
        clock = {"processor": "the processor's time for this program alone", "wall": "the time on the wall"}
        groups.setdefault(f"{text}; {clock[measured['clock']]}", []).append(case)
    items = [
        nodes.list_item("", nodes.paragraph("", f"{text}. Cases: {', '.join(cases)}."))
        for text, cases in groups.items()
    ]
    shown: list[nodes.Node] = [nodes.bullet_list("", *items)] if items else []
    if not any(device == "cuda" for _, device in found):
        shown.append(
            nodes.paragraph(
                "",
                "No case has been measured on a GPU yet. With one at hand: ",
                nodes.literal("", HOW.format("all") + " --device cuda"),
            )
        )
    return shown


class Speed(SphinxDirective):
    """All that was measured of one case, or a line that it was not."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        return case_nodes(self.found(), self.arguments[0], "../" * self.env.docname.count("/") + FILE)

    def found(self) -> dict[tuple[str, str], dict[str, Any]]:
        """What was measured; its file is a dependency of the page."""
        path = Path(self.env.app.confdir) / FILE
        self.env.note_dependency(str(path))
        try:
            return read_speeds(path)
        except ValueError as error:
            raise self.error(f"speed: {error}") from error


class Machines(Speed):
    """The machines, and what each measured."""

    required_arguments = 0

    def run(self) -> list[nodes.Node]:
        return machines(self.found())


def setup(app: Sphinx) -> None:
    app.add_css_file("speed.css")
    app.add_directive("speed", Speed)
    app.add_directive("speed-machines", Machines)
