"""The board of the race: each cell says what its seeds reached, and nothing else."""

from __future__ import annotations

import re

import matplotlib.pyplot as plt
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle
from support.board import LANES, TASKS, summary

from rtx_book.page.figure import show
from rtx_book.pictures.race import describe_board, draw_board, names_of_rows, short
from rtx_lib.plots.style import GREY

RESULTS = {
    "adding": {"rnn": summary([0.2, 0.2], 0), "indrnn": summary([1e-3, 2e-3], 2), "tcn": summary([0.001, 0.1], 1)},
    "digits": {"rnn": summary([], 0, 2), "indrnn": summary([0.9, 0.9], 0), "tcn": summary([0.96, 0.999], 2)},
    "text": {"tcn": summary([1.25], 0)},
}
FIRSTS = {"adding": ["indrnn", "tcn"], "digits": ["tcn"], "text": ["tcn"]}
MISSING = {"adding": ["rnn"]}


def cells(fig):
    """What stands in the cells: by column and row the text, and how its mark is filled."""
    (ax,) = fig.axes
    rows = [round(y, 3) for y in ax.get_yticks()]
    found = {}
    for text in ax.texts:
        x, y = text.get_position()
        if round(y, 3) in rows:
            found[round(x), rows.index(round(y, 3))] = [text, None]
    for line in ax.get_lines():
        ((x,), (y,)) = line.get_data()
        found[round(x + 0.3), rows.index(round(y, 3))][1] = line.get_fillstyle()
    return found


def test_each_cell_says_what_its_seeds_reached() -> None:
    fig = draw_board(TASKS, LANES, RESULTS, FIRSTS, MISSING)
    found = cells(fig)
    told = {place: (text.get_text(), fill) for place, (text, fill) in found.items()}
    assert told == {
        (0, 0): ("0.2", "none"), (0, 1): ("0.0015", "full"), (0, 2): ("–", None), (0, 3): ("0.051", "right"),
        (1, 0): ("diverged", "none"), (1, 1): ("90.0", "none"), (1, 2): ("–", None), (1, 3): ("98.0", "full"),
        (2, 0): ("–", None), (2, 1): ("–", None), (2, 2): ("–", None), (2, 3): ("1.25", "none"),
    }  # fmt: skip
    bold = {place for place, (text, _) in found.items() if text.get_fontweight() == "bold"}
    assert bold == {(0, 1), (0, 3), (1, 3), (2, 3)}
    (ax,) = fig.axes
    tiles = {(round(p.get_x() + 0.48), round(p.get_y() + 0.47, 3)) for p in ax.patches if isinstance(p, Rectangle)}
    assert tiles == {(x, round(ax.get_yticks()[y], 3)) for x, y in bold}
    grey = {place for place, (text, _) in found.items() if text.get_style() == "italic"}
    assert grey == {(0, 0)} and to_hex(found[0, 0][0].get_color()) == GREY


def test_heads_say_the_metric_and_its_line() -> None:
    (ax,) = draw_board(TASKS, LANES, RESULTS, FIRSTS, MISSING).axes
    heads = {text.get_text() for text in ax.texts}
    assert {"Adding", "MSE ≤ 0.01", "Digits", "% ≥ 95", "Text", "nats"} <= heads


def test_a_variant_below_its_model_says_only_what_differs() -> None:
    assert names_of_rows(LANES) == ["RNN", "IndRNN", "as published", "TCN"]
    assert names_of_rows({"tcn": "TCN", "transformer": "Transformer"}) == ["TCN", "Transformer"]
    more = {"transformer": "T", "transformer-rotary": "T, rotary", "transformer-convolution": "T, rotary and so on"}
    assert names_of_rows(more | {"transformer-none": "T without"}) == ["T", "rotary", "and so on", "without"]
    assert names_of_rows({"transformer": "Transformer", "transformer-xl": "Transformer-XL"})[1] == "Transformer-XL"
    between = more | {"transformer-convolution": "Rotary T", "transformer-none": "T without"}
    assert names_of_rows(between) == ["T", "rotary", "Rotary T", "T without"], "it would be read as one of Rotary T"


@pytest.mark.parametrize(
    ("task", "value", "said"),
    [("adding", 0.000123, "1.2e-4"), ("digits", 0.9996, "100"), ("digits", 0.9994, "99.9"), ("text", 8.567, "8.57")],
)
def test_numbers_are_short(task, value, said) -> None:
    assert short(TASKS[task], value) == said


def test_the_board_in_words() -> None:
    told = describe_board(TASKS, LANES, RESULTS, FIRSTS)
    assert told.startswith("4 models on 3 tasks, medians. Adding: first IndRNN 0.0015, TCN 0.051; ")
    assert "Digits: first TCN 98.0; 1 of 3 reach 0.95 with every seed. Text: first TCN 1.25." in told


def test_it_fits_a_page_between_the_menus_of_a_small_laptop() -> None:
    many = {lane: LANES["tcn"] for lane in LANES}
    text = show(draw_board(TASKS, many, RESULTS, FIRSTS, MISSING), "a board", wide=True).data
    assert int(re.findall(r"min-width:(\d+)px", text)[0]) <= 672, "a window of 1280 px leaves as much"
    assert "currentColor" in text and len(text) < 160_000


@pytest.mark.parametrize(("tasks", "lanes"), [({}, LANES), (TASKS, {}), ({"a": {"name": "A"}}, LANES)])
def test_bad_tasks_and_lanes(tasks, lanes) -> None:
    with pytest.raises(ValueError, match="must hold"):
        draw_board(tasks, lanes, {}, {}, {})
    assert not plt.get_fignums()
