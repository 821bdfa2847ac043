"""The shift, cell by cell: what is drawn is what relative_shift does, the garbage included."""

import re

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from support.drawn import hatched

from rtx_lib.layers.positions import relative_shift
from rtx_lib.plots import SHIFT_STEPS, describe_shift, draw_shift, shifted_cells

SIZES = [(3, 5), (2, 2), (2, 7), (3, 3), (4, 5), (3, 7)]
Place = tuple[float, float]


def name(query: int, distance: int) -> str:
    return f"{'abcdefgh'[query]}{distance}"


def shifted_names(queries: int, keys: int) -> list[list[str]]:
    """What relative_shift makes of the numbers 1, 2, ..., as names; a 0 stays a 0."""
    numbers = torch.arange(1, queries * keys + 1).view(queries, keys)
    names = ["0", *(name(i, keys - 1 - c) for i in range(queries) for c in range(keys))]
    return [[names[number] for number in row] for row in relative_shift(numbers).tolist()]


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


@pytest.mark.parametrize(("queries", "keys"), [*SIZES, (1, 1), (1, 4), (7, 30), (12, 12)])
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


@pytest.mark.parametrize(("queries", "keys"), SIZES)
def test_the_last_frame_is_the_shift_and_strikes_what_the_mask_hides(queries: int, keys: int) -> None:
    fig = draw_shift("masked", queries, keys)
    top, line, below = tables(fig)
    expected = shifted_names(queries, keys)
    assert [spoken(row) for row in below] == expected
    padded = [["0", *(name(i, d) for d in range(keys - 1, -1, -1))] for i in range(queries)]
    assert [spoken(row) for row in top] == padded
    flat = [word for row in padded for word in row]
    assert spoken(line) == flat
    hidden = [expected[i][j] for i in range(queries) for j in range(keys) if j > keys - queries + i]
    assert sorted(struck(fig)) == sorted(hidden + flat[:queries])


@pytest.mark.parametrize(("queries", "keys"), SIZES)
@pytest.mark.parametrize("step", SHIFT_STEPS[1:])
def test_hatched_is_what_no_query_needs(step: str, queries: int, keys: int) -> None:
    fig = draw_shift(step, queries, keys)
    needless = {"0", *(name(i, d) for i in range(queries) for d in range(keys - queries + i + 1, keys))}
    assert hatched(fig.axes[0]) == {place for place, word in places(fig).items() if word in needless}


@pytest.mark.parametrize(("queries", "keys"), [(3, 5), (2, 7), (4, 5)])
def test_a_reading_and_its_row_are_framed_and_the_same(queries: int, keys: int) -> None:
    for shown, step in ((1, "first row"), (2, "second row"), (queries, "last row")):
        fig = draw_shift(step, queries, keys)
        frames = [patch for patch in fig.axes[0].patches if isinstance(patch, Rectangle)]
        read = []
        for frame in frames:
            inside = {
                x: word
                for (x, y), word in places(fig).items()
                if frame.get_x() < x < frame.get_x() + frame.get_width() and abs(y - frame.get_y() - 0.5) < 0.1
            }
            read.append(spoken(inside))
        expected = shifted_names(queries, keys)
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


def test_descriptions_follow_the_numbers() -> None:
    assert "Reading 1 skips 0, a4 and a3 of row a" in describe_shift("first row")
    assert "row a moves 2 to the left. It reads a2, a1, a0, 0, b4" in describe_shift("first row")
    assert "row c stays" in describe_shift("last row") and "next row" not in describe_shift("last row")
    assert "0 and b4 in row a and 0 in row b" in describe_shift("masked")
    assert "row d stays" in describe_shift("last row", 4, 5) and "6 long" in describe_shift("rows one shorter", 4, 5)
    assert all(describe_shift(step).strip() for step in SHIFT_STEPS)
    assert len({describe_shift(step) for step in SHIFT_STEPS}) == len(SHIFT_STEPS) <= 20


@pytest.mark.parametrize(("queries", "keys"), SIZES)
def test_titles_say_how_far_a_row_moves(queries: int, keys: int) -> None:
    for row, step in ((0, "first row"), (1, "second row"), (queries - 1, "last row")):
        moved = queries - 1 - row
        title = draw_shift(step, queries, keys).axes[0].get_title()
        assert title.endswith(f"moves {moved} to the left" if moved else "so it stays")
