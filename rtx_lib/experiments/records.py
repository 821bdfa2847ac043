"""What a run writes and where: its record as text, below a size, with the commit of the code that ran.

How records are packed, read and checked stands in :mod:`rtx_lib.evidence.records`.
"""

import json
import math
import subprocess
from pathlib import Path
from typing import Any

import rtx_lib
from rtx_lib.evidence.records import find, thin
from rtx_lib.experiments.recipes import Recipe, recipe_of

LIMIT = 40_000
"""The file of a run has fewer bytes than this."""


def record_path(folder: Path, recipe: Recipe, seed: int) -> Path:
    """Where the record of a run is, or will be."""
    return folder / f"{recipe.name}-s{seed}.json"


def made(path: Path, recipe: Recipe) -> dict[str, Any] | None:
    """The record at ``path``, or the packed one, if it is whole and was made by this very recipe; else None."""
    try:
        record = find(recipe.name, int(path.stem.rpartition("-s")[2]), path.parent)
        return record if record and recipe_of(record) == recipe else None
    except (KeyError, TypeError, ValueError):  # for settings that there are no more
        return None


def tidy(path: Path) -> None:
    """Remove checkpoint and half-written files of a run whose record is there."""
    for file in (*path.parent.glob(f".{path.stem}.*"), *path.parent.glob(f"{path.name}.*.part")):
        file.unlink(missing_ok=True)


def as_text(record: dict[str, Any]) -> str:
    """A record as its file holds it, below ``LIMIT``: the curves are thinned further where that takes it.

    The run is done by then, and a curve with fewer points is worth more than no record. Evaluations and metrics are
    never touched.

    Raises
    ------
    ValueError
        If it is the evaluations that are too many, or a number is not finite.
    """
    curves = record["curves"]
    while True:
        text = json.dumps(record | {"curves": curves}, indent=1, allow_nan=False) + "\n"
        if len(text.encode()) < LIMIT:
            return text
        points = max(map(len, curves.values())) // 2
        if points < 10:
            raise ValueError(f"eval_every must be larger: a record has less than {LIMIT:,} bytes, got {len(text):,}")
        curves = {name: thin(values, points) for name, values in curves.items()}


def finite(row: dict[str, Any]) -> dict[str, Any]:
    """``row`` without numbers that JSON cannot hold."""
    return {name: value for name, value in row.items() if not isinstance(value, float) or math.isfinite(value)}


def commit() -> str:
    """The checkout's commit, with "-dirty" if the library differs from it; "unknown" outside git."""
    here = Path(rtx_lib.__file__).parent

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=here, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    try:
        return git("rev-parse", "HEAD") + ("-dirty" if git("status", "--porcelain", "--", ".") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
