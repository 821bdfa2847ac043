"""What happens at each step of the relative shift, in words, and which score stands where afterwards."""

from collections.abc import Sequence

Cell = tuple[int, int] | None
"""What a cell holds: (query, distance), or None for a zero."""

_STEPS: dict[str, tuple[str, str, str, str]] = {  # step: (title, words on top, words below, description)
    "by distance": (
        "computed: one column for each distance",
        "a{first}: query a meets\ndistance {first}",
        "",
        "A table of {T} rows, queries {names}, and {S} columns, the distances from {first} down to 0. The same "
        "distances serve every query.",
    ),
    "wanted": (
        "wanted: one column for each key",
        "hatched: no key stands\nso far back",
        "row a has to go {most} left,\nthe next row one less,\nthe last row stays",
        "Below, the table that is wanted: a column for each key. Query a stands at position {M}, so key 0 is {M} "
        "before it. Row a has to move by {most} to the left, every next row by one less, the last not at all.",
    ),
    "zero column": (
        "a column of zeros is put in front",
        "rows of {S} become\nrows of {wide}",
        "",
        "A zero is put in front of every row, so that the rows hold {wide} cells instead of {S}.",
    ),
    "in memory": (
        "in memory the rows follow one another",
        "nothing moves: the same\n{cells} numbers in a line",
        "",
        "The {T} rows of {wide} cells in one line of {cells}, as they lie in memory.",
    ),
    "start dropped": (
        "the first {T} numbers are left out",
        "one for each row:\n{cells} − {T} = {left} = {T} × {S}",
        "",
        "The first {T} cells of the line are crossed out: {dropped}. {left} are left, which is {T} rows of {S}.",
    ),
    "rows one shorter": (
        "the same memory is read in rows of {S}, not {wide}",
        "{S} is one less than {wide}:\neach reading begins\none cell earlier in its row",
        "",
        "What is left of the line is cut after every {S} cells, while the rows in memory are {wide} long. Each reading "
        "therefore begins one cell earlier in its row than the one before: it skips {skips} cells.",
    ),
    "first row": ("", "", "", ""),  # rows are told by _row_facts
    "second row": ("", "", "", ""),
    "last row": ("", "", "", ""),
    "by key": (
        "every score stands at its key",
        "",
        "along each diagonal\none distance: ${M} + i - j$\nfor row $i$ and key $j$",
        "Columns are keys now. Up to its own position, query i finds at key j the distance {M} + i - j: the same "
        "number along each diagonal.",
    ),
    "masked": (
        "above the diagonal stands garbage: mask it",
        "",
        "there the key comes after\nthe query; what stands\nthere is what came next\nin memory",
        "Above the diagonal, where a key comes after its query, stands what came next in memory: {garbage}. "
        "It means nothing, and the causal mask hides it.",
    ),
}
SHIFT_STEPS = tuple(_STEPS)
"""The steps of :func:`~rtx_lib.plots.shift.draw_shift` in order."""

ROW_STEPS = ("first row", "second row", "last row")
LETTERS = "abcdefghijkl"
_MOST = 24  # cells in one line


def padded_line(queries: int, keys: int) -> list[Cell]:
    """The padded table as it lies in memory: T rows of S + 1 cells."""
    return [cell for i in range(queries) for cell in (None, *((i, d) for d in range(keys - 1, -1, -1)))]


def shifted_cells(queries: int, keys: int) -> list[list[Cell]]:
    """Which score stands where after the shift, found by shifting names instead of numbers.

    Parameters
    ----------
    queries
        T.
    keys
        S = M + T.

    Returns
    -------
    list[list[Cell]]
        T rows of S cells: (query, distance), or None for a zero that was put in front. Up to its own position, j at
        most M + i, query i has at key j the distance M + i - j; beyond it stands what a mask has to hide.

    Raises
    ------
    ValueError
        If ``queries`` is below 1 or there are fewer keys than queries.
    """
    if not 1 <= queries <= keys:
        raise ValueError(f"queries must be from 1 to keys = {keys}, got {queries}")
    left = padded_line(queries, keys)[queries:]
    return [left[i * keys : (i + 1) * keys] for i in range(queries)]


def cell_name(cell: Cell) -> str:
    """A letter for the query and the distance, or 0."""
    return "0" if cell is None else f"{LETTERS[cell[0]]}{cell[1]}"


def step_facts(step: str, queries: int, keys: int) -> tuple[str, str, str, str]:
    """Title, words and description of a step, with the numbers filled in."""
    if step not in _STEPS:
        raise ValueError(f"step must be one of {SHIFT_STEPS}, got {step!r}")
    if not 2 <= queries <= keys or queries * (keys + 1) > _MOST:
        limits = f"queries must be from 2 to keys, and queries x (keys + 1) at most {_MOST}"
        raise ValueError(f"{limits}, got {queries} and {keys}")
    cells, past, letters = shifted_cells(queries, keys), keys - queries, LETTERS[:queries]
    if step in ROW_STEPS:
        return _row_facts(row_of(step, queries), cells, past)
    tails = [[cell_name(cell) for cell in row[past + i + 1 :]] for i, row in enumerate(cells[:-1])]
    words = {"T": queries, "S": keys, "M": past, "wide": keys + 1, "first": keys - 1, "most": queries - 1}
    words |= {"cells": queries * (keys + 1), "left": queries * keys}
    lists = {
        "names": letters,
        "dropped": [cell_name(cell) for cell in padded_line(queries, keys)[:queries]],
        "garbage": [f"{_and(tail)} in row {letter}" for tail, letter in zip(tails, letters, strict=False)],
        "skips": [str(queries - i) for i in range(queries)],
    }
    facts = words | {name: _and(items) for name, items in lists.items()}
    title, above, below, described = (text.format(**facts) for text in _STEPS[step])
    return title, above, below, described


def row_of(step: str, queries: int) -> int:
    """The row that is read at one of ``ROW_STEPS``."""
    return queries - 1 if step == "last row" else ROW_STEPS.index(step)


def _row_facts(i: int, cells: Sequence[Sequence[Cell]], past: int) -> tuple[str, str, str, str]:
    """The same for the reading of row i."""
    queries, keys, letter = len(cells), len(cells[0]), LETTERS[i]
    names = [cell_name(cell) for cell in cells[i]]
    moved, tail = queries - 1 - i, names[past + i + 1 :]
    skipped = _and(["0", *(f"{letter}{keys - 1 - c}" for c in range(moved))])
    way = f"moves {moved} to the left" if moved else "stays"
    more = f" and {moved} more" if moved else ""
    told = f"begins with {letter}{past + i}:\nkey 0 is {past + i} before it"
    described = (
        f"Reading {i + 1} skips {skipped} of row {letter}, the zero{more}, so row {letter} {way}. It reads "
        f"{', '.join(names)}: the first is distance {past + i}, which is where key 0 stands before query {letter}."
    )
    if tail:
        told += f"\nends with {_and(tail)}:\nthe next row has begun"
        described += f" At its end, {_and(tail)}, the next row has already begun."
    return f"row {letter} skips {skipped}, so it {way}", "", told, described


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def describe_shift(step: str, queries: int = 3, keys: int = 5) -> str:
    """What :func:`~rtx_lib.plots.shift.draw_shift` shows at this step, in words.

    Raises
    ------
    ValueError
        As :func:`~rtx_lib.plots.shift.draw_shift`.
    """
    return step_facts(step, queries, keys)[3]
