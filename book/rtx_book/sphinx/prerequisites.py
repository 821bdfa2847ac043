"""The part ``prerequisites``: what the chapters' own lines say that they build on, as a picture and as a table.

The picture has a line to a chapter from each that it names, but not from one on which another of these builds.
"""

import itertools
import re
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rtx_book.paths import cells_of, chapters_of

FIRST = re.compile(r"^# ([^:\n]+).*?^Prerequisites: ([^\n]+)", re.M | re.S)


def arranged(direct: Mapping[str, set[str]]) -> tuple[list[list[str]], list[list[str]]]:
    """Rows of chapters, each below all that it needs and near to what it has lines to; and the lines.

    A line is a list of places: two chapters, and between them one in each row that it passes.
    """
    rank: dict[str, int] = {}
    lines: list[list[str]] = []
    for name, own in direct.items():
        rank[name] = 1 + max((rank[one] for one in own), default=-1)
        for one in sorted(own):
            passed = {f"{one} {name} {row}": row for row in range(rank[one] + 1, rank[name])}
            rank |= passed
            lines.append([one, *passed, name])
    rows = [[name for name in rank if rank[name] == row] for row in range(max(rank.values()) + 1)]
    ends = [pair for line in lines for step in itertools.pairwise(line) for pair in (step, step[::-1])]
    at = dict.fromkeys(rank, 0.0)
    for row in rows * 9:  # each time nearer to the mean of its neighbours, until nothing moves
        row.sort(key=lambda name: statistics.fmean([at[one] for end, one in ends if end == name] or [0]))
        at |= {name: place - (len(row) - 1) / 2 for place, name in enumerate(row)}
    return rows, lines


def context(root: Path) -> dict[str, Any]:
    """What each chapter says, the rows and lines of the picture, and the reading paths of the course."""
    told: dict[str, dict[str, Any]] = {}
    for name in chapters_of(root):
        title, said = next(FIRST.finditer("\n".join(text for _, text in cells_of(root, name)))).groups()
        own = set(re.findall(r"\]\((\w+)\.ipynb", said))
        through = set().union(*(told[one]["every"] for one in own))
        told[name] = {"title": title, "said": said, "direct": own - through, "every": own | through}
    rows, lines = arranged({name: one["direct"] for name, one in told.items()})
    page = (root / "book" / "course.md").read_text(encoding="utf-8")
    return {"told": told, "rows": rows, "lines": lines, "paths": re.findall(r"\*([^*]+)\*: (\{doc\}[^.]+)\.", page)}
