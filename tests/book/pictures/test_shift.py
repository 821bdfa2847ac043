"""The shift, cell by cell: what is drawn is what relative_shift does, the garbage included."""

import re

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from support.drawn import hatched

from rtx_book.pictures.transformer_xl import SHIFT_STEPS, describe_shift, draw_shift, shifted_cells
from rtx_lib.layers.positions import relative_shift

Place = tuple[float, float]


def name(query: int, distance: int) -> str:
    return f"{'abcdefgh'[query]}{distance}"


def shifted_names() -> list[list[str]]:
    """What relative_shift makes of the numbers 1, 2, ..., as names; a 0 stays a 0."""
    names = ["0", *(name(i, 4 - c) for i in range(3) for c in range(5))]
    return [[names[number] for number in row] for row in relative_shift(torch.arange(1, 16).view(3, 5)).tolist()]


def places(fig: Figure) -> dict[Place, str]:
    """The cells by their place; headings are bold."""
    return {
        (round(x, 3), round(y, 3)): text.get_text()
        for text in fig.axes[0].texts
        for x, y in [text.get_position()]
        if re.fullmatch(r"0|[a-h]\d+", text.get_text()) and text.get_fontweight() != "bold"
    }


def tables(fig: Figure) -> tuple[list[dict[float, str]], dict[float, str], list[dict[float, str]]]:
    """The cells by their place in a row: the rows on top, the line in the middle, the rows below."""
    rows: dict[float, dict[float, str]] = {}
    for (x, y), word in places(fig).items():
        rows.setdefault(y, {})[x] = word
    key = next(text.get_position()[1] for text in fig.axes[0].texts if text.get_text() == "key")
    line = [row for row in rows.values() if min(row) == 0]  # it alone begins at the left edge
    top = [row for y, row in sorted(rows.items()) if y < key and min(row) > 0]
    return top, line[0] if line else {}, [row for y, row in sorted(rows.items()) if y > key]


def spoken(row: dict[float, str]) -> list[str]:
    return [row[x] for x in sorted(row)]


def struck(fig: Figure) -> list[str]:
    found = []
    for line in fig.axes[0].get_lines():
        ends = np.asarray(line.get_xydata())
        if line.get_linewidth() == 1.6:
            middles = ends.reshape(-1, 3, 2)[:, :2].mean(1)
            found += [places(fig)[round(x, 3), round(y, 3)] for x, y in middles.tolist()]
    return found


# ---- the cells


@pytest.mark.parametrize(("queries", "keys"), [(3, 5), (2, 2), (4, 5), (1, 1), (1, 4), (7, 30), (12, 12)])
def test_cells_are_those_of_the_shift_and_hold_their_distance(queries: int, keys: int) -> None:
    numbers = torch.arange(1, queries * keys + 1).view(queries, keys)
    shifted, cells = relative_shift(numbers), shifted_cells(queries, keys)
    past = keys - queries
    for i in range(queries):
        for j in range(keys):
            cell = cells[i][j]
            assert shifted[i, j] == (0 if cell is None else numbers[cell[0], keys - 1 - cell[1]])
            if j <= past + i:
                assert cell == (i, past + i - j)


# ---- the frames


def test_the_last_frame_is_the_shift_and_strikes_what_the_mask_hides() -> None:
    fig = draw_shift("masked")
    top, line, below = tables(fig)
    expected = shifted_names()
    assert [spoken(row) for row in below] == expected
    padded = [["0", *(name(i, d) for d in range(4, -1, -1))] for i in range(3)]
    assert [spoken(row) for row in top] == padded
    flat = [word for row in padded for word in row]
    assert spoken(line) == flat
    hidden = [expected[i][j] for i in range(3) for j in range(5) if j > 2 + i]
    assert sorted(struck(fig)) == sorted(hidden + flat[:3])


@pytest.mark.parametrize("step", SHIFT_STEPS[1:])
def test_hatched_is_what_no_query_needs(step: str) -> None:
    fig = draw_shift(step)
    needless = {"0", *(name(i, d) for i in range(3) for d in range(3 + i, 5))}
    assert hatched(fig.axes[0]) == {place for place, word in places(fig).items() if word in needless}


@pytest.mark.parametrize(("shown", "step"), [(1, "first row"), (2, "second row"), (3, "last row")])
def test_a_reading_and_its_row_are_framed_and_the_same(shown: int, step: str) -> None:
    fig = draw_shift(step)
    read = []
    for frame in (patch for patch in fig.axes[0].patches if isinstance(patch, Rectangle)):
        inside = {
            x: word
            for (x, y), word in places(fig).items()
            if frame.get_x() < x < frame.get_x() + frame.get_width() and abs(y - frame.get_y() - 0.5) < 0.1
        }
        read.append(spoken(inside))
    expected = shifted_names()
    assert read == [expected[shown - 1]] * 2
    assert [spoken(row) for row in tables(fig)[2]] == expected[:shown]


def test_what_is_wanted_is_written_before_anything_moves() -> None:
    top, line, below = tables(draw_shift("wanted"))
    assert [spoken(row) for row in below] == [
        ["a2", "a1", "a0"],
        ["b3", "b2", "b1", "b0"],
        ["c4", "c3", "c2", "c1", "c0"],
    ]
    assert not line and len(top[0]) == 5
    assert not tables(draw_shift("zero column"))[2] and not tables(draw_shift("by distance"))[2]
    assert not hatched(draw_shift("by distance").axes[0])


def test_rows_keep_their_columns_from_step_to_step() -> None:
    """So that a move to the left is seen: below, cells stand under the columns of the table on top."""
    (first, *_), _, _ = tables(draw_shift("by distance"))
    (padded, *_), _, (row, *_) = tables(draw_shift("first row"))
    columns = sorted(first)
    assert sorted(padded)[1:] == columns == sorted(row)
    moved = {word: columns.index(x) for x, word in row.items() if word[0] == "a"}
    assert {word: columns.index(x) - moved[word] for x, word in first.items() if word in moved} == dict.fromkeys(
        moved, 2
    )


# ---- words


@pytest.mark.parametrize(("row", "step"), [(0, "first row"), (1, "second row"), (2, "last row")])
def test_what_is_said_of_a_row_is_what_the_shift_does(row: int, step: str) -> None:
    padded, read = ["0", *(name(row, d) for d in range(4, -1, -1))], shifted_names()[row]
    skipped = padded[: 3 - row]
    title, told = draw_shift(step).axes[0].get_title(), describe_shift(step)
    said = ", ".join(skipped[:-1]) + " and " * (row < 2) + skipped[-1]
    assert title.startswith(f"row {'abc'[row]} skips {said}, so it {'stays' if row == 2 else 'moves'}")
    assert row == 2 or title.endswith(f"{2 - row} to the left")
    assert f"skips {said} of row" in told and f"It reads {', '.join(read)}: the first is distance {read[0][1]}" in told
    beside = next(text.get_text() for text in draw_shift(step).axes[0].texts if "begins with" in text.get_text())
    assert f"begins with {read[0]}:\nkey 0 is {2 + row} before it" in beside
    assert (f"ends with {' and '.join(read[3 + row :])}:" in beside) == (row < 2)


def test_the_hidden_garbage_is_told_as_it_is() -> None:
    first, second, _ = shifted_names()
    assert f"{' and '.join(first[3:])} in row a and {second[4]} in row b" in describe_shift("masked")
