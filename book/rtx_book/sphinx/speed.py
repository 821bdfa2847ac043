"""The parts ``speed CASE`` and ``speed-machines``: tables from ``book/results/speed.jsonl``.

``python -m rtx_book bench all --record`` writes the file. An entry that does not follow the schema of
``rtx_book.records.records`` is an error of the build, which names it and the fault.
"""

import datetime
import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rtx_book.records.records import SPEED_SCHEMA, check, load_speeds
from rtx_book.runs.recipes.race import LANES
from rtx_book.sphinx.citing import spelled

FILE = "book/results/speed.jsonl"
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


def ratio_text(ratio: float) -> str:
    """Three digits at most: 0.404, 2.57, 38.1, 418."""
    return f"{ratio:.{max(0, 2 - max(0, math.floor(math.log10(ratio))))}f}×"


def error_text(error: float) -> str:
    """Two digits, 0 for results that are the same bit for bit."""
    return f"{error:.1e}" if error else "0"


def bar(ratio: float, widest: float) -> dict[str, str]:
    """A bar from the middle of its box: to the right and full for faster, to the left and hollow for slower.

    Its length is the logarithm of the ratio, `widest` the largest that has to fit.
    """
    share = 50 * min(1.0, abs(math.log(ratio)) / widest)
    kind, left = ("faster", 50.0) if ratio >= 1 else ("slower", 50 - share)
    return {"kind": kind, "left": f"{left:.1f}", "width": f"{share:.1f}"}


def table(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The table of one case. What all rows lack has no column, and what they share stands in a line above."""
    widest = max(math.log(2), *(abs(math.log(row["ratio"])) for row in rows))
    columns: list[tuple[str, Any]] = [("Variant", lambda row: LANES.get(row["variant"], row["variant"]))]
    columns.append(("Ratio", lambda row: ratio_text(row["ratio"])))
    shared = []
    for key in ("against", "kind", "device"):
        if len({row[key] for row in rows}) > 1:
            columns.append((key.capitalize(), lambda row, key=key: LANES.get(row[key], row[key])))
        else:
            shared.append(f"{key} {LANES.get(rows[0][key], rows[0][key])}")
    for head, key, text in (
        ("Forward alone", "forward_ratio", ratio_text),
        ("Memory", "memory_ratio", lambda value: f"{value:.2f}×"),
        ("Error", "max_error", error_text),
        ("Milliseconds per step", "seconds_per_step", lambda value: f"{1000 * value:.1f}"),
        ("MFLOPs per step", "flops_per_step", lambda value: f"{value / 1e6:,.0f}"),
        ("Parameters", "parameters", lambda value: f"{value:,}"),
    ):
        if any(row.get(key) is not None for row in rows):
            columns.append((head, lambda row, key=key, text=text: "–" if row.get(key) is None else text(row[key])))
    body = [{"texts": [text(row) for _, text in columns], **bar(row["ratio"], widest)} for row in rows]
    return {"head": [head for head, _ in columns], "rows": body, "shared": "; ".join(shared)}


def context(root: Path, case: str) -> dict[str, Any]:
    """What the template tells of a case: for each device that was measured a table, or one for each part of it."""
    found = read_speeds(root / FILE)
    devices = []
    for measured in (found[case, device] for device in DEVICES if (case, device) in found):
        parts = []
        for part, rows in itertools.groupby(measured["rows"], key=lambda row: row["case"]):
            title = part.removeprefix(f"{case}-").capitalize() if part != case else ""
            parts.append({"title": title, **table(list(rows))})
        commit = measured["commit"][:7] + "-dirty" * measured["commit"].endswith("-dirty")
        day = spelled(datetime.date.fromisoformat(measured["date"]))
        devices.append({"parts": parts, "day": day, "commit": commit})
    return {"case": case, "devices": devices}


def machines(root: Path) -> dict[str, Any]:
    """What the cases ran on, by machine, and whether a GPU is among them."""
    found = read_speeds(root / FILE)
    groups: dict[str, list[str]] = {}
    for (case, _), measured in found.items():
        machine, versions = measured["machine"], measured["versions"]
        count, threads = machine["cores"], machine["threads"]
        text = f"{machine['processor']}, {count} core{'s' * (count > 1)}, {threads} thread{'s' * (threads > 1)} used"
        text = f"{machine['gpu']}, beside {text}" if machine["gpu"] else text
        text += f"; torch {versions['torch']} ({machine['build']}), "
        named = {"Python" if name == "python" else name: version for name, version in versions.items()}
        text += ", ".join(f"{name} {version}" for name, version in named.items() if name != "torch")
        clock = {"processor": "the processor's time for this program alone", "wall": "the time on the wall"}
        groups.setdefault(f"{text}; {clock[measured['clock']]}", []).append(case)
    return {"machines": groups, "gpu": any(device == "cuda" for _, device in found)}
