"""Records of measured runs: where they lie, how they are packed, read and checked.

A run writes a file of its own, ``results/runs/<recipe>-s<seed>.json``. ``python -m rtx_book pack`` moves
those of a sweep into its packed file ``results/<sweep>.jsonl.xz``: JSON lines, one record a line, compressed. There the
curves are thinned, to four digits, and evaluations along the way have five. ``pandas.read_json(path, lines=True)``
opens it.

Whoever reads gets the same nested dicts, wherever a record lies: the form of :data:`SCHEMA`. A recipe that was run with
several rates has a name for each, ``race-adding-gru-0.03``; ``results/chosen.json`` says which of them has won and is
meant by the plain ``race-adding-gru``.
"""

import copy
import functools
import json
import lzma
import math
import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from rtx_book.paths import results_folder

Record = dict[str, Any]


def _schema(name: str) -> dict[str, Any]:
    return json.loads(Path(__file__).with_name(f"{name}.schema.json").read_text(encoding="utf-8"))


SCHEMA = _schema("record")
"""JSON schema of a record. ``curves`` hold means over windows of steps; ``metrics`` are those of the test split.

A metric that is not finite, as it may be just before a run diverges, is left out; so is a whole ``loss_by_position``
with such a value.
"""

SPEED_SCHEMA = _schema("speed")
"""JSON schema of an entry of ``results/speed.jsonl``: what one case of :mod:`rtx_book.bench` measured, and on what."""

PACKED = ".jsonl.xz"
"""How the name of a packed file ends. Against gzip this saves a quarter, and no header names a time or a file."""

TRIALS = ("rate-", "trial-")  # the starts of the names of trials of learning rates
_BRIEF = (*TRIALS, "series-")  # and of all of whose way no page shows anything: kept is what they are judged by
CURVES, POINTS, DRAWN = ("step", "loss"), 50, 4
"""The curves that are packed, with so many points and digits at most; no page draws that of the gradient's norm."""
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 6 | lzma.PRESET_EXTREME, "lc": 4, "lp": 0, "pb": 0}]  # for text


def _home(folder: Path | None) -> Path:
    folder = folder or results_folder()
    return folder.parent if folder.name == "runs" else folder


# ------------------------------------------------------------------------------------------------ reading


def load(folder: Path | None = None, *, plain: bool = True) -> dict[str, list[Record]]:
    """The records by recipe, in the order of their seeds: the packed ones, and over them the files of single runs.

    Files that have not changed are parsed once, and their records are shared: do not change them.

    Parameters
    ----------
    folder
        The book's results if None. Files of single runs may lie in it or in its folder ``runs``, which will do, too.
    plain
        Whether what has won is there under its plain name, too.

    Raises
    ------
    ValueError
        Naming a file that is not JSON or holds another run than its name says.
    """
    folder = _home(folder)
    runs = {key: record for path in packed_files(folder) for key, record in _packed(path).items()}
    for path in run_files(folder):
        record = _run(path, _state(path))
        runs[record["recipe"], record["seed"]] = record
    by_recipe: dict[str, list[Record]] = {}
    for (recipe, _), record in runs.items():
        by_recipe.setdefault(recipe, []).append(record)
    for own in by_recipe.values():
        own.sort(key=lambda record: int(record["seed"]))
    names = chosen(folder) if plain else {}
    return {name: by_recipe[recipe] for name, recipe in names.items() if recipe in by_recipe} | by_recipe


def chosen(folder: Path | None = None) -> dict[str, str]:
    """By plain name the recipe with the rate that has won, as ``results/chosen.json`` says."""
    path = _home(folder) / "chosen.json"
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def load_records(recipe: str) -> list[Record]:
    """All records of one recipe, ordered by seed; an empty list if there are none."""
    return copy.deepcopy(load().get(recipe, []))


def find(recipe: str, seed: int, folder: Path | None = None) -> Record | None:
    """The record of one run; None where there is none, or its file is broken."""
    folder = _home(folder)
    for place in (folder / "runs", folder):
        path = place / f"{recipe}-s{seed}.json"
        if path.exists():
            try:
                return copy.deepcopy(_run(path, _state(path)))
            except (FileNotFoundError, ValueError):  # packed meanwhile, or cut off
                continue
    packed = (_packed(path).get((recipe, seed)) for path in packed_files(folder))
    return copy.deepcopy(next((record for record in packed if record), None))


def load_speeds(path: Path | None = None) -> list[dict[str, Any]]:
    """What the bench measured, an entry for each case and device, out of a file of JSON lines; the book's if None."""
    path = path or results_folder() / "speed.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def load_costs() -> dict[tuple[str, str], dict[str, float]]:
    """What a training step of the race costs, by task and lane; empty if nothing was measured.

    ``seconds_per_step`` on one thread of a CPU, ``flops_per_step`` and ``parameters``, as the case ``race`` of
    :mod:`rtx_book.bench` measured them.
    """
    found = (one["rows"] for one in load_speeds() if one["case"] == "race" and not one["machine"]["gpu"])
    keyed = {(row["case"].removeprefix("race-"), row["variant"]): row for rows in found for row in rows}
    names = ("seconds_per_step", "flops_per_step", "parameters")
    return {key: {name: row[name] for name in names} for key, row in keyed.items()}


def load_trainer() -> dict[str, Any]:
    """The recorded runs of the trainer that runs in the pages, as ``make live`` wrote them."""
    return dict(json.loads((results_folder() / "live" / "trainer.json").read_text(encoding="utf-8")))


def run_files(folder: Path) -> list[Path]:
    """The files of single runs."""
    return sorted([*folder.glob("*-s*.json"), *folder.glob("runs/*-s*.json")])


def packed_files(folder: Path) -> list[Path]:
    """The packed files, one a sweep."""
    return sorted(folder.glob(f"*{PACKED}"))


def sources(folder: Path) -> dict[str, str]:
    """By recipe the file that holds its records, relative to ``folder``: a packed one, or that of its last run."""
    packed = {recipe: path.name for path in packed_files(folder) for recipe, _ in _packed(path)}
    single = {path.stem.rpartition("-s")[0]: path.relative_to(folder).as_posix() for path in run_files(folder)}
    found = single | packed
    return {name: found[recipe] for name, recipe in chosen(folder).items() if recipe in found} | found


def check(record: Any, name: str = "the record", schema: Mapping[str, Any] = SCHEMA) -> None:
    """Hold a record, with its curves, against its schema.

    Raises
    ------
    ValueError
        With ``name`` and the first fault.
    """
    from jsonschema import Draft202012Validator, exceptions  # only who builds the book has it

    if fault := exceptions.best_match(Draft202012Validator(schema).iter_errors(record)):
        where = "/".join(map(str, fault.absolute_path)) or "all of it"
        raise ValueError(f"{name} does not follow the schema: {where}: {fault.message[:200]}")


def _state(path: Path) -> tuple[int, ...]:
    """What tells one content of a file from the next, also where two are written within a tick of the clock."""
    found = path.stat()
    return found.st_mtime_ns, found.st_size, found.st_ino


@functools.lru_cache(maxsize=4096)
def _run(path: Path, state: tuple[int, ...]) -> Record:
    """The record in a run's own file."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path.name} is not JSON: {error}") from error
    if not isinstance(record, dict) or not {"recipe", "seed", "metrics", "diverged"} <= set(record):
        check(record, path.name)
    if path.stem != f"{record['recipe']}-s{record['seed']}":
        raise ValueError(f"{path.name} holds recipe {record['recipe']}, seed {record['seed']}: a wrong name")
    return record


# ------------------------------------------------------------------------------------------------ packing


def pack(folder: Path, sweeps: Mapping[str, Collection[str]]) -> dict[str, int]:
    """Move the files of single runs in ``folder/runs`` into the packed files of their sweeps.

    A run takes the place of a packed one of the same recipe and seed. Files are replaced in one step, and a run's own
    file is removed only when its record was read back out of the packed one: whoever is killed may begin again.

    Parameters
    ----------
    folder
        Of the packed files.
    sweeps
        From a sweep's name to those of its recipes, in the order in which they are packed. Runs of other recipes are
        the reader's, and stay.

    Returns
    -------
    dict
        How many runs were packed, by sweep.

    Raises
    ------
    ValueError
        As :func:`load`.
    """
    runs = [(path, _run(path, _state(path))) for path in run_files(folder) if path.parent != folder]
    counts = {}
    for name, recipes in sweeps.items():
        own = {path: record for path, record in runs if record["recipe"] in recipes}
        if not own:
            continue
        path = folder / f"{name}{PACKED}"
        known = {key: record for key, record in _packed(path).items() if key[0] in recipes}
        known |= {(record["recipe"], record["seed"]): _thinned(record) for record in own.values()}
        order = {recipe: place for place, recipe in enumerate(recipes)}
        records = [known[key] for key in sorted(known, key=lambda key: (order[key[0]], key[1]))]
        _write(path, records)
        if _packed(path) != known:
            raise ValueError(f"{path.name} does not hold what was packed; the files of the runs were kept")
        for run in own:
            run.unlink()
        counts[name] = len(own)
    return counts


def thin(values: Iterable[float], points: int = 200, digits: int = 6) -> list[float]:
    """At most ``points`` means over windows of equal length (the last may be shorter), to so many digits."""
    values = list(values)
    window = max(1, math.ceil(len(values) / points))
    chunks = (values[i : i + window] for i in range(0, len(values), window))
    return [float(f"{sum(chunk) / len(chunk):.{digits}g}") for chunk in chunks]


def _thinned(record: Record) -> Record:
    points, rows = POINTS, record["evaluations"]
    if record["recipe"].startswith(_BRIEF):
        metric = record["configuration"].get("keep_best")
        best = sorted(rows, key=lambda row: row.get(metric, math.inf))[:1]
        points, rows = 1, best if metric else rows[-1:]
    curves = {name: thin(record["curves"][name], points, 6 if name == "step" else DRAWN) for name in CURVES}
    rows = [
        {name: float(f"{value:.5g}") if isinstance(value, float) else value for name, value in row.items()}
        for row in rows
    ]
    return record | {"curves": curves, "evaluations": rows}


def _write(path: Path, records: Iterable[Record]) -> None:
    """Replace a packed file in one step; the same records give the same bytes."""
    rows = ({name: record[name] for name in SCHEMA["properties"] if name in record} for record in records)
    text = "".join(json.dumps(row, separators=(",", ":"), allow_nan=False) + "\n" for row in rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.part")
    partial.write_bytes(lzma.compress(text.encode(), filters=_FILTERS))
    os.replace(partial, path)


def _packed(path: Path) -> dict[tuple[str, int], Record]:
    """The records of a packed file by recipe and seed; none where there is no file."""
    return _read(path, _state(path)) if path.exists() else {}


@functools.lru_cache(maxsize=64)
def _read(path: Path, state: tuple[int, ...]) -> dict[tuple[str, int], Record]:
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    return {(record["recipe"], record["seed"]): record for record in records}
