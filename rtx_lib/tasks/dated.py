"""Series that a reader brings, with their dates if they have any: a CSV file, a frame, or an array.

pandas is not imported: a frame is what has `columns` and `to_numpy`. Steps are regular, apart from rows that are
missing; a series that was sampled at any times is refused.
"""

import csv
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from rtx_lib.tasks.arrays import GAPS

NAMED = ("date", "dates", "datetime", "time", "timestamp", "ds", "year")  # columns of dates, however they are written
MISSING = ("", "nan", "na", "n/a", "null", "none", "nat", "<na>")
SPANS = {"week": 604_800_000, "day": 86_400_000, "hour": 3_600_000, "minute": 60_000, "second": 1_000, "millisecond": 1}
_DATE = re.compile(r"(\d{4}(-\d\d(-\d\d([T ]\d\d(:\d\d(:\d\d(\.\d+)?)?)?)?)?)?)Z?")  # ISO 8601, without a zone


class Step(NamedTuple):
    """From a date to the next: `size` times `unit`, "ms" or "M" for months; of ends of months, `shift` is 1 day."""

    size: int
    unit: str
    shift: int = 0

    def ticks(self, dates: Any) -> tuple[Any, Any]:
        """The number of the unit in which each date is, and how far into it."""
        moved = dates + np.timedelta64(self.shift, "D")
        whole = moved.astype(f"M8[{self.unit}]")
        return whole.astype(np.int64), moved - whole

    def along(self, start: np.datetime64, steps: Any) -> np.ndarray:
        """The dates so many steps behind the start."""
        tick, rest = self.ticks(start)
        whole = (tick + np.asarray(steps) * self.size).astype(f"M8[{self.unit}]").astype("M8[ms]")
        return whole + rest - np.timedelta64(self.shift, "D")

    def __str__(self) -> str:
        """As in "1 hour"."""
        spans = {"year": 12, "month": 1} if self.unit == "M" else SPANS
        name, span = next((name, span) for name, span in spans.items() if self.size % span == 0)
        return f"{self.size // span} {name}{'s' * (self.size != span)}"


class Dated(NamedTuple):
    """A series on regular steps."""

    values: np.ndarray
    """(T, C) float64, NaN where there is none."""
    channels: list[Any]
    """Their names, or numbers."""
    dates: np.ndarray | None
    """(T,) datetime64[ms]."""
    step: Step | None
    """Between the dates."""
    rows: np.ndarray
    """(T,) the row that was read, -1 where there was none."""
    place: Callable[..., str]
    """What a row, and a column, is called: "line 5, column 'load'" of a file, or "row 3, column 0"."""


def read_dated(values: Any, dates: Any = None, channels: Sequence[Any] | None = None) -> Dated:
    """The series, a row a step. Where there are dates, a step without a row becomes a row of NaN.

    Parameters
    ----------
    values
        The path of a CSV whose first line names its columns; a frame; an array or tensor (T, C) or (T,).
    dates
        A date for each row; or the name of their column; or False for none. None: the index of the frame if it holds
        dates, else a column called "date", "time" or the like, or the first whose entries look like dates. They are
        written as 2016-07-01 05:00, of which a part from the left is enough.
    channels
        The names of the columns that are read, all others if None. Of an array their numbers, or names for all.
    """
    table, names, place = _open(values)
    if dates is None and getattr(getattr(getattr(values, "index", None), "dtype", None), "kind", "") == "M":
        dates = values.index
    if dates is None:
        dates = next((name for name, cells in zip(names, table.T, strict=False) if _is_date(name, cells[0])), None)
    if not names:
        named = isinstance(channels, list | tuple) and [*map(type, channels)] == [str] * table.shape[1]
        names = list(channels or []) if named else [*range(table.shape[1])]
    column = [dates] if isinstance(dates, str) else []
    channels = [channels] if isinstance(channels, str) else channels
    chosen = list(channels or [name for name in names if name not in column])
    if not chosen or not {*chosen, *column} <= {*names}:
        rule = f"columns, one at least, among {', '.join(map(str, names))}"
        raise ValueError(f"channels must be {rule}, and so must dates, got {chosen} and {column}")
    numbers = _numbers(table[:, [*map(names.index, chosen)]], chosen, place)
    if dates is None or dates is False:
        return Dated(numbers, chosen, None, None, np.arange(len(numbers)), place)
    stamps = _dates(table[:, names.index(dates)] if column else dates, len(table), place)
    at, step = _steps(stamps, place)
    rows = np.full(at[-1] + 1, -1)
    rows[at] = np.arange(len(at))
    whole = np.where(rows[:, None] < 0, np.nan, numbers[rows])
    return Dated(whole, chosen, step.along(stamps[0], np.arange(len(rows))), step, rows, place)


def expect_whole(series: Dated) -> None:
    """Refuse a series with a gap, and say where the first is."""
    for at, column in np.argwhere(np.isnan(series.values)):
        got = f"none in {series.place(series.rows[at], series.channels[column])}"
        if series.dates is not None and series.rows[at] < 0:
            got = f"no row for {series.dates[at].astype('M8[s]')}, behind {series.place(series.rows[:at].max())}"
        raise ValueError(f"values must have no gaps, unless missing says how they are filled, got {got}")


def filled(values: np.ndarray, season: int) -> np.ndarray:
    """The series (T, C) with its gaps filled by what was a season before, or by the value before where nothing was.

    With a season of 1, by the value before. Nothing is taken from later. Before the first value of a channel it is 0.
    """
    found = values.copy()
    for at, column in np.argwhere(np.isnan(values)):
        found[at, column] = found[at - (season if at >= season else 1), column] if at else 0.0
    return found


def _open(values: Any) -> tuple[np.ndarray, list[Any], Callable[..., str]]:
    """A table (T, K), the names of its columns if it has any, and what its places are called."""
    if isinstance(values, str | Path):
        return _read_csv(Path(values))
    array = values.detach().cpu().numpy() if isinstance(values, Tensor) else values
    try:
        table = np.asarray(array.to_numpy() if hasattr(array, "to_numpy") else array)
    except ValueError:
        raise ValueError("values must have rows of one length, got others") from None
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or len(table) < 2:
        rule = "the path of a CSV, a frame, or an array of shape (T, C) or (T,), with two rows at least"
        raise ValueError(f"values must be {rule}, got {type(values).__name__} of shape {table.shape}")
    return table, list(getattr(values, "columns", [])), _called("row", range(len(table)))


def _read_csv(path: Path) -> tuple[np.ndarray, list[Any], Callable[..., str]]:
    """The entries of a file, as texts; empty lines are left out."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            first = file.readline()
            file.seek(0)
            reader = csv.reader(file, delimiter=max(",;\t|", key=first.count), strict=True)
            lines = dict((reader.line_num, row) for row in reader if any(map(str.strip, row)))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"values must be a CSV in UTF-8, got {path.name} ({error})") from None
    names, *rows = lines.values() if lines else [[]]
    names = [name.strip() for name in names]
    if len(rows) < 2 or len(set(names)) < len(names) or any(math.isfinite(_number(name)) for name in names):
        rule = "a CSV with a line of names of columns, all different, and then lines of numbers"
        raise ValueError(f"values must be {rule}, got {len(lines)} lines in {path.name}, first {', '.join(names)!r}")
    for line, row in lines.items():
        if len(row) != len(names):
            raise ValueError(f"values must have {len(names)} entries, as the first line, got {len(row)} in line {line}")
    return np.array(rows, dtype=object), names, _called("line", [*lines][1:])


def _called(what: str, numbers: Sequence[int]) -> Callable[..., str]:
    return lambda row, column=None: f"{what} {numbers[row]}" + ("" if column is None else f", column {column!r}")


def _number(cell: Any) -> float:
    """The number in a cell, NaN if the cell is empty, infinite if it holds anything else."""
    try:
        return float(cell)
    except (TypeError, ValueError):
        return math.nan if type(cell).__name__ in GAPS or str(cell).strip().lower() in MISSING else math.inf


def _numbers(table: np.ndarray, names: list[Any], place: Callable[..., str]) -> np.ndarray:
    """The table (T, C) as float64."""
    found = table.astype(float) if table.dtype.kind in "biuf" else np.array([[*map(_number, row)] for row in table])
    for row, column in np.argwhere(np.isinf(found)):
        got = f"{table[row].tolist()[column]!r} in {place(row, names[column])}"
        raise ValueError(f"values must hold finite numbers, in the columns that channels name, got {got}")
    return found


def _is_date(name: Any, cell: Any) -> bool:
    """Whether this is a column of dates, by its name or its first entry."""
    return str(name).lower() in NAMED or (_number(cell) == math.inf and not np.isnat(_stamp(cell)))


def _dates(cells: Any, count: int, place: Callable[..., str]) -> np.ndarray:
    """The dates as datetime64[ms]."""
    cells = np.asarray(cells)
    if cells.shape != (count,):
        raise ValueError(f"dates must have an entry for each of the {count} rows of values, got shape {cells.shape}")
    stamps = np.array([*map(_stamp, cells)])
    for row in np.flatnonzero(np.isnat(stamps)):
        rule = "written as 2016-07-01 05:00, or False"
        raise ValueError(f"dates must be {rule}, got {str(cells[row])!r} in {place(row)}")
    return stamps


def _stamp(cell: Any) -> np.datetime64:
    """The date in a cell, or "not a time"."""
    year = isinstance(cell, float) and cell.is_integer()  # as frames hold it
    found = _DATE.fullmatch(str(int(cell) if year else cell).strip())
    try:
        return np.datetime64(found[1][:23] if found else "NaT", "ms")
    except ValueError:
        return np.datetime64("NaT", "ms")


def _steps(stamps: np.ndarray, place: Callable[..., str]) -> tuple[np.ndarray, Step]:
    """How many steps (T,) each date is behind the first, and the step, which is the most frequent one."""

    def refuse(rule: str, wrong: np.ndarray) -> None:
        for row in np.flatnonzero(wrong) + 1:
            before, here = stamps[row - 1 : row + 1].astype("M8[s]")
            raise ValueError(f"dates must {rule}, got {here} in {place(row)} behind {before}")

    refuse("ascend, each once", np.diff(stamps) <= np.timedelta64(0))
    for unit, shift in (("M", 1), ("M", 0), ("ms", 0)):
        ticks, rest = Step(1, unit, shift).ticks(stamps)
        apart = np.diff(ticks)
        sizes, counts = np.unique(apart, return_counts=True)
        step = Step(int(sizes[counts.argmax()]), unit, shift)
        if step.size and (rest == rest[0]).all() and not (apart % step.size).any():
            break
    refuse(f"be regular, {step} apart", apart % step.size > 0)
    refuse(f"be {step} apart, with few gaps", apart // step.size > 10 * len(ticks))  # memory has an end
    return (ticks - ticks[0]) // step.size, step
