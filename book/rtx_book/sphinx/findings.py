"""The part ``findings``: every finding of the book with its rate, worst first, out of the replication study."""

import math
import re
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rtx_book.claims import findings
from rtx_book.claims.findings import CONFIDENCE, PLANNED, STUDY, Finding, Rate, load_study, rate_of, runs_of, values_of
from rtx_book.sphinx.ledger import title_of
from rtx_book.words import number


def rows_of(study: Mapping[str, Any]) -> list[tuple[Finding, Rate]]:
    """All findings that some run has, the least rate first; equal ones by the lower bound, then in the book's order."""
    found = [
        Finding(id, chapter, one["sentence"], None, one["bound"], True)
        for chapter, content in study.get("chapters", {}).items()
        for id, one in content["findings"].items()
    ]
    rows = [(one, rate) for one in found if (rate := rate_of(study, one)) is not None]
    return sorted(rows, key=lambda row: (row[1].share, row[1].at_least))


def spread(values: Sequence[float]) -> str:
    """Median and range of the values: ``0.164 (0.151 to 0.171)``."""
    whole = sorted(value for value in values if math.isfinite(value))
    lost = f", {len(values) - len(whole)} not finite" if len(whole) < len(values) else ""
    if not whole:
        return "none finite"
    middle, low, high = statistics.median(whole), whole[0], whole[-1]
    if low == high:
        return f"{number(low)} in every run{lost}"
    return f"{number(middle)} ({number(low)} to {number(high)}){lost}"


def split(study: Mapping[str, Any], found: Finding) -> list[str]:
    """The rate in parts: by data, and with the seeds that nobody had looked at when the bound was set."""
    parts = {
        "true data": rate_of(study, found, data="true"),
        "embedded data": rate_of(study, found, data="embedded"),
        "seeds before the bound": rate_of(study, found, "first"),
        "seeds after it": rate_of(study, found, "second"),
    }
    return [f"{name}: {rate.held} of {rate.runs}" for name, rate in parts.items() if rate]


def context(root: Path) -> dict[str, Any]:
    """What the template tells: the findings, and how the runs of the study were made."""
    study = load_study(root / "book" / "results" / STUDY)
    rows = [
        {
            "found": found,
            "rate": rate,
            "at_least": math.floor(100 * rate.at_least),
            "title": title_of(found.chapter, root).partition(":")[0],
            "spread": spread(values_of(runs_of(study, found.chapter), found.id)),
            "bound": re.sub(r"([<>=]) ", "\\1\u00a0", ", was ".join(filter(None, bounds))),
            "parts": split(study, found),
        }
        for found, rate in rows_of(study)
        for bounds in [(found.bound, findings.REWORDED.get(found.id))]
    ]
    first = {one.id: rate for one, _ in rows_of(study) if (rate := rate_of(study, one, "first"))}
    chapters = [runs_of(study, chapter) for chapter in study.get("chapters", ())]
    runs = [run for own in chapters for run in own]
    fewer = [id for id, rate in first.items() if rate.runs - rate.held > PLANNED["first"] - findings.FEWEST]
    told = {"rows": rows, "fewest": findings.FEWEST, "fewer": fewer, "confidence": CONFIDENCE}
    told |= {"planned": sum(PLANNED.values()), "least": min(map(len, chapters), default=0)}
    told |= {"runs": len(runs), "chapters": len(chapters), "processors": sorted({run["processor"] for run in runs})}
    told |= {"hours": sum(run["cpu_seconds"] for run in runs if math.isfinite(run["cpu_seconds"])) / 3600}
    told |= {key: sorted(Counter(run[key] for run in runs).items()) for key in ("instructions", "threads")}
    return told | {"versions": sorted({f"Python {run['python']}, torch {run['torch']}" for run in runs})}
