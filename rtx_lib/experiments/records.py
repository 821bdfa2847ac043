"""Records of measured runs: their format, where they lie, and how to read them.

A record is one JSON file, ``<recipe>-s<seed>.json``, that :mod:`rtx_lib.experiments` wrote.
"""

import json
import math
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import rtx_lib
from rtx_lib.evidence.measured import results_folder

SCHEMA: dict[str, Any] = json.loads(Path(__file__).with_name("record.schema.json").read_text(encoding="utf-8"))
"""JSON schema of a record. ``curves`` hold means over windows of steps; ``metrics`` are those of the test split.

A metric that is not finite, as it may be just before a run diverges, is left out; so is a whole ``loss_by_position``
with such a value.
"""

LIMIT = 40_000
"""A record has fewer bytes than this: pages load many of them, and the history keeps them all."""

SPEED_SCHEMA: dict[str, Any] = json.loads(Path(__file__).with_name("speed.schema.json").read_text(encoding="utf-8"))
"""JSON schema of a file of ``results/speed``: what one case of :mod:`rtx_lib.bench` measured, and on which machine."""


def load_record(name: str) -> dict[str, Any]:
    """The record called ``name`` ("<recipe>-s<seed>").

    Raises
    ------
    FileNotFoundError
        If there is no such record; the message says how to make it.
    """
    path = results_folder() / f"{name}.json"
    if not path.exists():
        recipe, _, seed = name.rpartition("-s")
        hint = f"python -m rtx_lib.experiments run {recipe} --seed {seed}"
        raise FileNotFoundError(f"no record {name}; make it with: {hint}")
    record: dict[str, Any] = json.loads(path.read_text())
    return record


def load_records(recipe: str) -> list[dict[str, Any]]:
    """All records of one recipe, ordered by seed; an empty list if there are none."""
    records = [json.loads(path.read_text()) for path in results_folder().glob(f"{recipe}-s*.json")]
    return sorted((r for r in records if r["recipe"] == recipe), key=lambda r: int(r["seed"]))


def load_costs(task: str | None = None) -> dict[tuple[str, str], dict[str, float]]:
    """What a training step of the race costs, by task and lane, or of one task only; empty if nothing was measured.

    ``seconds_per_step`` on one thread of a CPU, ``flops_per_step`` and ``parameters``, as the case ``race`` of
    :mod:`rtx_lib.bench` measured them.
    """
    path = results_folder() / "speed" / "race-cpu.json"
    if not path.exists():
        return {}
    costs = {}
    for row in json.loads(path.read_text(encoding="utf-8"))["rows"]:
        key = row["case"].removeprefix("race-"), row["variant"]
        if task in (None, key[0]):
            costs[key] = {name: row[name] for name in ("seconds_per_step", "flops_per_step", "parameters")}
    return costs


def thin(values: Iterable[float], points: int = 200) -> list[float]:
    """At most ``points`` means over windows of equal length (the last may be shorter), to six digits."""
    values = list(values)
    window = max(1, math.ceil(len(values) / points))
    chunks = (values[i : i + window] for i in range(0, len(values), window))
    return [float(f"{sum(chunk) / len(chunk):.6g}") for chunk in chunks]


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
