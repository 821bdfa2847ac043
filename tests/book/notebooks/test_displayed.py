"""Every figure that a chapter draws reaches its reader, and every figure that its text points at is there."""

import nbformat.v4 as v4
import pytest
from support.built import NOTEBOOKS

from notebooks import displayed
from rtx_book.build.execute import read_notebook as read


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_no_figure_is_lost(name):
    assert not displayed.lost_figures(read(NOTEBOOKS[name]))


def executed(text, *outputs):
    """A section of that text, and a cell that showed these pictures."""
    shown = [v4.new_output("display_data", {"text/html": html}) for html in outputs]
    return v4.new_notebook(cells=[v4.new_markdown_cell(f"## One\n\n{text}"), v4.new_code_cell("1", outputs=shown)])


def test_a_figure_that_was_drawn_or_spoken_of_and_is_not_there_is_missed():
    drawn = [f'<svg id="f{number}-a"></svg>' for number in (1, 2, 3)]
    assert not displayed.numbers_missing(executed("", *drawn))
    assert displayed.numbers_missing(executed("", drawn[0], drawn[2])) == ["figure 2 of 3 was drawn and is nowhere"]
    assert not displayed.text_without_figure(executed("Move the slider.", drawn[0]))
    assert not displayed.text_without_figure(executed("Move the slider above."))
    (fault,) = displayed.text_without_figure(executed("Move the slider."))
    assert fault == "One: no figure for '## One Move the slider.'"


def cells(*texts):
    return v4.new_notebook(cells=[v4.new_code_cell(text) for text in texts])


@pytest.mark.parametrize(
    "text",
    [
        "show(fig, 'a')\nassert True",
        "for part in parts:\n    plots.show(part, 'a')",
        "show(fig, 'a');",
        "def picture(x):\n    return film(x, [], 'a', alt='b')\npicture(1)\npicture(2)",
        "def picture(x):\n    attention_view(x, [])\npicture(1)",
    ],
)
def test_a_planted_loss_is_seen(text):
    assert displayed.lost_figures(cells(text))
