"""Series with dates from files, frames and arrays; and what is said of those that are broken."""

import datetime

import numpy as np
import pytest
import torch
from support.small_tasks import Frame

from rtx_lib.tasks import SeriesTask
from rtx_lib.tasks.dated import filled, read_dated

HOURS = np.datetime64("2016-07-01", "ms") + np.arange(40) * np.timedelta64(1, "h")
VALUES = np.stack([np.arange(40) % 7 + 0.5, np.arange(40) ** 2], 1)
LINES = ["date,load,heat", *(f"{str(at)[:16]},{a},{b}" for at, (a, b) in zip(HOURS, VALUES, strict=True))]


@pytest.fixture
def write(tmp_path):
    def written(lines, joined="\n", **how):
        (tmp_path / "mine.csv").write_bytes(joined.join(lines).encode(**how))
        return tmp_path / "mine.csv"

    return written


def same(one, *, names=("load", "heat"), dates=True):
    assert np.array_equal(one.values, VALUES) and one.channels == list(names)
    assert (one.dates is None) != dates and (not dates or ((one.dates == HOURS).all() and str(one.step) == "1 hour"))


def test_files_frames_arrays_and_tensors_are_one(write):
    names = ("load", "heat")
    same(read_dated(str(write(LINES))))
    same(read_dated(write(LINES, joined="\r\n", encoding="utf-8-sig")))
    same(read_dated(write(line.replace(",", ";") for line in LINES)))
    same(read_dated(write(line.replace(",", "\t") for line in [LINES[0], "", *LINES[1:], "  "])))
    same(read_dated(write(line.replace("date", "when").replace("T", " ") for line in LINES)))
    same(read_dated(write(f'"{line.split(",")[0]}Z",{line.split(",", 1)[1]}' for line in LINES), "dateZ"))
    same(read_dated(Frame(VALUES, names, HOURS)))
    same(read_dated(Frame(np.c_[VALUES.astype(object), HOURS], (*names, "when"))))
    same(read_dated(Frame(VALUES, names), list(map(str, HOURS))))
    same(read_dated(VALUES, HOURS.astype("M8[s]"), names))
    same(read_dated(torch.tensor(VALUES), [at.astype(datetime.datetime) for at in HOURS], names))
    same(read_dated(VALUES.tolist()), names=(0, 1), dates=False)
    same(read_dated(write(line.split(",", 1)[1] for line in LINES)), dates=False)
    same(read_dated(write(LINES), False, names), dates=False)


def test_channels_are_chosen_and_put_in_order(write):
    found = read_dated(write(LINES), "date", ["heat"])
    assert found.channels == ["heat"] and np.array_equal(found.values, VALUES[:, 1:])
    assert np.array_equal(read_dated(VALUES, channels=[1, 0]).values, VALUES[:, ::-1])
    assert read_dated(VALUES[:, 0]).values.shape == (40, 1)
    assert len(read_dated(write(LINES), channels="heat").dates) == 40


STEPS = {
    "1 week": ["2020-01-01", "2020-01-08", "2020-01-15"],
    "15 minutes": ["2020-01-01 00:00", "2020-01-01 00:15", "2020-01-01 00:30"],
    "500 milliseconds": ["2020-01-01T00:00:00.000", "2020-01-01T00:00:00.500", "2020-01-01T00:00:01.000"],
    "1 month": ["2020-01-31", "2020-02-29", "2020-03-31"],
    "3 months": ["2020-01", "2020-04", "2020-07"],
    "1 year": [1999.0, 2000.0, 2001.0],
}


@pytest.mark.parametrize("name", STEPS)
def test_steps_go_on_behind_the_last(name):
    found = read_dated(np.arange(3), STEPS[name])
    assert str(found.step) == name and (found.step.along(found.dates[0], [0, 1, 2]) == found.dates).all()
    whole = read_dated(np.arange(2), STEPS[name][:2])
    assert name == "1 month" or whole.step.along(whole.dates[1], 1) == found.dates[2]
    dates = found.step.along(found.dates[0], range(9))  # a row is missing
    gap = read_dated(np.arange(8), np.delete(dates, 4))
    assert gap.step == found.step and (gap.dates == dates).all()
    assert np.isnan(gap.values[4, 0]) and gap.rows.tolist() == [0, 1, 2, 3, -1, 4, 5, 6, 7]


def test_gaps_are_filled_from_before_alone():
    nan = np.nan
    values = np.asarray([[nan, 1], [2, nan], [3, 4], [nan, nan], [nan, 6], [5, nan]])
    assert filled(values, 1).T.tolist() == [[0, 2, 3, 3, 3, 5], [1, 1, 4, 4, 6, 6]]
    assert filled(values, 2).T.tolist() == [[0, 2, 3, 2, 3, 5], [1, 1, 4, 1, 6, 1]]
    assert np.isnan(values).sum() == 6  # they stay as they were


def spoilt(line, new):
    """The lines with one put in another's place, counted as an editor does."""
    return [*LINES[: line - 1], *([] if new is None else [new]), *LINES[line:]]


def heat(entry):
    return [LINES[0], *(line.rpartition(",")[0] + "," + entry for line in LINES[1:])]


GAP = "values must have no gaps, unless missing says how they are filled, got"
FINITE = "values must hold finite numbers, in the columns that channels name, got"
NAMES = "values must be a CSV with a line of names of columns, all different, and then lines of numbers, got"
BROKEN = {
    f"{NAMES} 0 lines in mine.csv, first ''": [],
    f"{NAMES} 2 lines in mine.csv, first 'date, load, heat'": LINES[:2],
    f"{NAMES} 40 lines in mine.csv, first '2016-07-01T00:00, 0.5, 0.0'": LINES[1:],
    f"{NAMES} 41 lines in mine.csv, first 'date, load, load'": spoilt(1, "date,load,load"),
    "values must have 3 entries, as the first line, got 2 in line 5": spoilt(5, "2016-07-01T03:00,3.5"),
    "values must have 3 entries, as the first line, got 4 in line 5": spoilt(5, "2016-07-01T03:00,3,5,9"),
    f"{FINITE} 'broken' in line 5, column 'load'": spoilt(5, "2016-07-01T03:00,broken,9"),
    f"{FINITE} '-inf' in line 5, column 'heat'": spoilt(5, "2016-07-01T03:00,3.5,-inf"),
    f"{GAP} none in line 5, column 'heat'": spoilt(5, "2016-07-01T03:00,3.5,"),
    f"{GAP} none in line 6, column 'load'": spoilt(6, "2016-07-01T04:00,NaN,16"),
    f"{GAP} no row for 2016-07-01T03:00:00, behind line 4": spoilt(5, None),
    "dates must ascend, each once, got 2016-07-01T02:00:00 in line 5 behind .*T02:00:00": spoilt(5, LINES[3]),
    "dates must ascend, .*, got 2016-06-01T03:00:00 in line 5 behind 2016-07-": spoilt(5, "2016-06-01T03:00,3.5,9"),
    "dates must be regular, 1 hour apart, got .*T03:20:00 in line 5 behind": spoilt(5, "2016-07-01T03:20,3.5,9"),
    "dates must be 1 hour apart, with few gaps, got 9016-.* in line 41": spoilt(41, "9016-07-02T15:00,4.5,9"),
    "dates must be written as 2016-07-01 05:00, or False, got '01.07.2016' in line 2": spoilt(2, "01.07.2016,0.5,0"),
    "dates must be written as .*, got '2016-13-01' in line 5": spoilt(5, "2016-13-01,3.5,9"),
    "dates must be written as .*, got '' in line 5": spoilt(5, ",3.5,9"),
    "dates must be written as .*, got '20160701' in line 2": [LINES[0], "20160701,1,2", "20160702,2,3"],
    r"dates must be written as .*, got '2016-07-01T03:00\+02:00' in line 5": spoilt(5, "2016-07-01T03:00+02:00,3.5,9"),
    r"values must be a CSV in UTF-8, got mine.csv \(unexpected end of data\)": spoilt(5, '2016-07-01T03:00,"3.5,9'),
    r"values must be a CSV in UTF-8, got mine.csv \('utf-8' codec can't decode": ["date,\udcff", "2016,1"],
    "values must vary in each channel of 'train', got 5.0 throughout in line 2 to line 29, column 'heat'": heat("5"),
    "values must vary in .*, got none in line 2 to line 29, column 'heat'": heat(""),
    r"lookback \+ horizon must be at most 4, the rows of 'train' \(of 6 in all\), got 6": LINES[:7],
    "horizon must be at most 1, the rows of 'test' .*, got 2": LINES[:10],
    r"channels must be columns, one .*, among date, .*, got \[\] and \['date'\]": [at.split(",")[0] for at in LINES],
}


@pytest.mark.parametrize("message", BROKEN)
def test_what_is_said_of_broken_files(write, message):
    path = write(BROKEN[message], errors="surrogateescape")
    with pytest.raises(ValueError, match=f"^{message}") as error:
        SeriesTask(path, 4, 2, missing="previous" if "got none in line 2" in message else "refuse")
    assert "\n" not in str(error.value)


COLUMNS = "channels must be columns, one at least, among"
WRONG = {
    rf"{COLUMNS} date, load, heat, and so must dates, got \['cold'\] and \['date'\]": {"channels": ["cold"]},
    rf"{COLUMNS} date, load, heat, and so must dates, got .* and \['day'\]": {"dates": "day"},
    rf"{COLUMNS} 0, 1, and so must dates, got \[2\] and \[\]": {"values": VALUES, "channels": [2]},
    "dates must have an entry for each of the 40 rows of values, got shape": {"values": VALUES, "dates": HOURS[:3]},
    "values must be the path of a CSV, .*, got dict of shape": {"values": {}},
    r"values must be .*, got ndarray of shape \(2, 2, 2\)": {"values": np.ones((2, 2, 2))},
    r"values must be .*, with two rows at least, got list of shape \(1, 1\)": {"values": [7]},
    "values must have rows of one length, got others": {"values": [[1, 2], [3]]},
    f"{FINITE} inf in row 1, column 0": {"values": [1, np.inf]},
    f"{FINITE} 'a' in row 1, column 0": {"values": np.asarray([[1], ["a"]], object)},
}


@pytest.mark.parametrize("message", WRONG)
def test_what_is_refused(write, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        read_dated(**{"values": write(LINES)} | WRONG[message])
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_dated("nowhere.csv")
