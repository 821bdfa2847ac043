"""Series that a reader brings, with their dates if they have any: a CSV file, a frame, or an array.

pandas is not imported: a frame is what has `columns` and `to_numpy`. Steps are regular, or what is missing among them
is known; a series that is sampled at any times is refused.
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
    """From one date to the next: `count` times `unit`, "ms" or "M" for months, whose ends are `shift` days early."""

    count: int
    unit: str
    shift: int

    def along(self, start: np.datetime64, steps: Any) -> np.ndarray:
        """The dates so many steps behind the start."""
        moved = start + np.timedelta64(self.shift, "D")
        whole = moved.astype(f"M8[{self.unit}]")
        dates = (whole + np.asarray(steps) * self.count).astype("M8[ms]") + (moved - whole)
        return dates - np.timedelta64(self.shift, "D")

    def __str__(self) -> str:
        """As in "1 hour"."""
        spans = {"year": 12, "month": 1} if self.unit == "M" else SPANS
        name, size = next((name, size) for name, size in spans.items() if self.count % size == 0)
        return f"{self.count // size} {name}{'s' * (self.count != size)}"


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
    """(T,) which row each was, -1 where none was."""
    place: Callable[[int], str]
    """What a row is called: "line 5" of a file, or "row 3"."""


def read_dated(values: Any, dates: Any = None, channels: Sequence[Any] | None = None) -> Dated:
    """The series, one row a step, where there are dates: a step without a row becomes a row of NaN.

    Parameters
    ----------
    values
        The path of a CSV whose first line names its columns; a frame; an array or tensor (T, C) or (T,).
    dates
        A date for each row; or the name of their column; or False for none. None: the index of the frame if it holds
        dates, or else a column called "date", "time" or the like, or the first whose entries look like dates. They are
        written as 2016-07-01 05:00, a part of it from the left being enough.
    channels
        The names of the columns that are read, all others if None. Of an array their numbers, or names for all.
    """
    table, names, place = _open(values)
    if dates is None and getattr(getattr(getattr(values, "index", None), "dtype", None), "kind", "") == "M":
        dates = values.index
    if dates is None and names:
        dates = next(filter(None, (_is_date(name, column) for name, column in zip(names, table.T, strict=True))), None)
    names = names or list(range(table.shape[1]))
    if isinstance(dates, str):
        stamps = _dates(table[:, _column(dates, names, "dates")], place, f", column {dates!r}")
    else:
        stamps = None if dates is None or dates is False else _dates(dates, place, "", len(table))
    chosen, kept = _chosen(channels, names, dates)
    numbers = _numbers(table[:, kept], chosen, place)
    if stamps is None:
        return Dated(numbers, chosen, None, None, np.arange(len(numbers)), place)
    at, step = _steps(stamps, place)
    rows = np.full(at[-1] + 1, -1)
    rows[at] = np.arange(len(at))
    whole = np.where(rows[:, None] < 0, np.nan, numbers[rows])
    return Dated(whole, chosen, step.along(stamps[0], np.arange(len(rows))), step, rows, place)


def expect_whole(series: Dated) -> None:
    """Refuse a series with a gap, and say where it is."""
    gaps = np.argwhere(np.isnan(series.values))
    if not len(gaps):
        return
    at, column = gaps[0]
    rule = "or missing say by which rule they are filled"
    if series.rows[at] >= 0:
        where = f"{series.place(series.rows[at])}, column {series.channels[column]!r}"
        raise ValueError(f"values must have no gaps, {rule}, got none in {where} ({len(gaps)} in all)")
    assert series.dates is not None
    where = f"{_said(series.dates[at])}, behind {series.place(series.rows[:at].max())}"
    raise ValueError(f"dates must have a row each {series.step}, {rule}, got none for {where}")


def filled(values: np.ndarray, rule: str, season: int) -> np.ndarray:
    """The series (T, C) with its gaps filled: from the value before, the season before, or along the line across.

    What is missing before the first value of a channel is 0.
    """
    known, steps = ~np.isnan(values), np.arange(len(values))[:, None]
    last = np.maximum.accumulate(np.where(known, steps, -1), 0)
    found = np.where(last < 0, 0, np.take_along_axis(values, last, 0))
    if rule == "interpolate":
        for column, here in enumerate(known.T):
            if here.any():
                line = np.interp(steps[:, 0], steps[here, 0], values[here, column])
                found[:, column] = np.where(last[:, column] < 0, 0, line)
    if rule == "season":
        for at, column in np.argwhere(~known & (last >= season)):
            found[at, column] = found[at - season, column]
    return found


def _open(values: Any) -> tuple[np.ndarray, list[Any], Callable[[int], str]]:
    """A table (T, K), the names of its columns if it has any, and what its rows are called."""
    if isinstance(values, str | Path):
        return _read_csv(Path(values))
    names = list(getattr(values, "columns", []))
    array = values.detach().cpu().numpy() if isinstance(values, Tensor) else values
    array = array.to_numpy() if hasattr(array, "to_numpy") else array
    try:
        table = np.asarray(array)
        table = table[:, None] if table.ndim == 1 else table
    except ValueError:
        raise ValueError("values must have rows of one length, got rows of unequal length") from None
    if table.ndim != 2 or not table.size:
        got = f"shape {table.shape}" if table.ndim else type(values).__name__
        raise ValueError(f"values must be a CSV, a frame or an array of shape (T, C) or (T,), got {got}")
    return table, names, "row {}".format


def _read_csv(path: Path) -> tuple[np.ndarray, list[Any], Callable[[int], str]]:
    """The cells of a file, as texts; lines without any are left out."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            first = file.readline()
            file.seek(0)
            reader = csv.reader(file, delimiter=max(",;\t|", key=first.count))
            lines = [(reader.line_num, row) for row in reader if any(map(str.strip, row))]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"values must be a CSV in UTF-8, got {path.name!r}, which is none ({error})") from None
    names = [name.strip() for name in lines[0][1]] if lines else []
    if len(lines) < 2:
        got = "one line only" if lines else "an empty file"
        raise ValueError(f"values must be a CSV of a line of names and lines of numbers, got {got}, {path.name!r}")
    if any(_number(name) is not None for name in names):
        raise ValueError(f"values must be a CSV whose first line names the columns, got {', '.join(names)!r}")
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"values must have columns of different names, got {twice[0]!r} twice")
    numbers, rows = zip(*lines[1:], strict=True)
    for number, row in zip(numbers, rows, strict=True):
        if len(row) != len(names):
            raise ValueError(
                f"values must have {len(names)} entries a line, as the first, got {len(row)} in line {number}"
            )
    return np.array(rows, dtype=object), names, lambda row: f"line {numbers[row]}"


def _column(name: Any, names: list[Any], argument: str) -> int:
    if name not in names:
        raise ValueError(f"{argument} must name columns among {', '.join(map(str, names))}, got {name!r}")
    return names.index(name)


def _chosen(channels: Sequence[Any] | None, names: list[Any], dates: Any) -> tuple[list[Any], list[int]]:
    """The names of the channels, and which columns they are."""
    wanted = [channels] if isinstance(channels, str) else None if channels is None else list(channels)
    if wanted is None:
        wanted = [name for name in names if not isinstance(dates, str) or name != dates]
    elif names == list(range(len(names))) and len(wanted) == len(names) and all(isinstance(one, str) for one in wanted):
        return wanted, list(names)
    if not wanted:
        raise ValueError(f"channels must be one column at least, got none beside the dates {dates!r}")
    return wanted, [_column(name, names, "channels") for name in wanted]


def _number(cell: Any) -> float | None:
    """The number in a cell, NaN if it is empty, None if there is none."""
    if cell is None or type(cell).__name__ in GAPS or (isinstance(cell, str) and cell.strip().lower() in MISSING):
        return math.nan
    try:
        return float(cell)
    except (TypeError, ValueError):
        return None


def _numbers(table: np.ndarray, names: list[Any], place: Callable[[int], str]) -> np.ndarray:
    """The table (T, C) as float64."""
    if table.dtype.kind in "biuf":
        found = table.astype(np.float64)
    else:
        cells = [_number(cell) for cell in table.flat]
        if None in cells:
            row, column = divmod(cells.index(None), len(names))
            got = f"{table[row, column]!r} in {place(row)}, column {names[column]!r}"
            raise ValueError(f"values must hold numbers, or channels name the columns that do, got {got}")
        found = np.array(cells, np.float64).reshape(table.shape)
    if np.isinf(found).any():
        row, column = np.argwhere(np.isinf(found))[0]
        got = f"{found[row, column]} in {place(row)}, column {names[column]!r}"
        raise ValueError(f"values must hold finite numbers, got {got}")
    return found


def _is_date(name: Any, column: np.ndarray) -> str | None:
    """The name, if this is the column of dates."""
    cell = column[0]
    like = isinstance(cell, np.datetime64) or (_number(cell) is None and _DATE.fullmatch(str(cell).strip()))
    return name if isinstance(name, str) and (name.lower() in NAMED or like) else None


def _dates(cells: Any, place: Callable[[int], str], where: str, count: int | None = None) -> np.ndarray:
    """The dates as datetime64[ms]."""
    cells = np.asarray(cells)
    if cells.shape != (count or len(cells),):
        raise ValueError(f"dates must have an entry for each of the {count} rows of values, got shape {cells.shape}")
    if cells.dtype.kind == "M":
        stamps = cells.astype("M8[ms]")
    else:
        stamps = np.array([_stamp(cell) for cell in cells], "M8[ms]")
    if np.isnat(stamps).any():
        row = int(np.isnat(stamps).argmax())
        raise ValueError(
            f"dates must be such as 2016-07-01 05:00, or False, got {str(cells[row])!r} in {place(row)}{where}"
        )
    return stamps


def _stamp(cell: Any) -> np.datetime64:
    """The date in a cell, or not a time."""
    whole = isinstance(cell, float | np.floating) and cell.is_integer()  # a year, as frames hold it
    found = _DATE.fullmatch(str(int(cell) if whole else cell).strip())
    try:
        return np.datetime64(found[1][:23] if found else "NaT", "ms")
    except ValueError:
        return np.datetime64("NaT")


def _said(date: np.datetime64) -> str:
    """As short as it can be."""
    return str(date.astype("M8[s]")).replace("T", " ").removesuffix(":00").removesuffix(" 00:00")


def _steps(stamps: np.ndarray, place: Callable[[int], str]) -> tuple[np.ndarray, Step]:
    """How many steps (T,) each date is behind the first, and the step, which is the most frequent one."""
    if len(stamps) < 2:
        raise ValueError("values must have two rows at least, got 1")
    if (back := np.diff(stamps) <= np.timedelta64(0)).any():
        row = int(back.argmax()) + 1
        how = "the same as" if stamps[row] == stamps[row - 1] else "which is before that of"
        raise ValueError(f"dates must ascend, got {_said(stamps[row])} in {place(row)}, {how} {place(row - 1)}")
    for unit, shift in (("M", 1), ("M", 0), ("ms", 0)):
        moved = stamps + np.timedelta64(shift, "D")
        whole = moved.astype(f"M8[{unit}]")
        ticks = whole.astype(np.int64)
        sizes, counts = np.unique(np.diff(ticks), return_counts=True)
        step = Step(int(sizes[counts.argmax()]), unit, shift)
        if step.count and len(np.unique(moved - whole)) == 1 and not (np.diff(ticks) % step.count).any():
            break
    odd = np.diff(ticks) % step.count > 0
    far = np.diff(ticks) // step.count > 10 * len(ticks)  # a slip of the pen, and more rows than memory holds
    if (odd | far).any():
        row = int((odd | far).argmax()) + 1
        got = f"{_said(stamps[row])} in {place(row)} after {_said(stamps[row - 1])}"
        raise ValueError(f"dates must be regular, {step} apart as most, got {got}")
    return (ticks - ticks[0]) // step.count, step
