"""Every figure that a chapter draws reaches its reader, and every figure that its text points at is there."""

import nbformat.v4 as v4
import pytest
from support.built import NOTEBOOKS

from notebooks import displayed
from rtx_book.build.execute import read_notebook as read


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_no_figure_is_lost(name):
    assert not displayed.lost_figures(read(NOTEBOOKS[name]))


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
