"""Every figure that a chapter draws reaches its reader, and every figure that its text points at is there."""

import nbformat.v4 as v4
import pytest
from support.built import NOTEBOOKS

from notebooks import displayed
from rtx_book.build.execute import read_notebook as read


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_no_figure_is_lost(name):
    assert not displayed.lost_figures(read(NOTEBOOKS[name]))


# ------------------------------------------------------------------------------------------ planted mistakes


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


@pytest.mark.parametrize(
    "texts",
    [
        ["fig = draw()\nshow(fig, 'a')"],
        ["display(show(fig, 'a'))\nassert True"],
        ["for part in parts:\n    display(show(part, 'a'))"],
        ["display(*[show(part, 'a') for part in parts])\nprint(1)"],
        ["def picture(x):\n    return plots.film(x, [], 'a', alt='b')", "picture(1)"],
        ["def picture(x):\n    display(show(x, 'a'))\npicture(1)\npicture(2)"],
        ["%matplotlib inline"],
    ],
)
def test_what_is_displayed_is_not_lost(texts):
    assert not displayed.lost_figures(cells(*texts))


def executed(*numbers, live=()):
    """A notebook in which figures of these numbers are on the page, and others in a control."""

    def figure(number):
        return f'<figure><svg><g id="f{number}-axes_1"/></svg></figure>'

    outputs = [v4.new_output("display_data", data={"text/html": figure(number)}) for number in numbers]
    return v4.new_notebook(
        cells=[v4.new_code_cell("", outputs=outputs)],
        metadata={"widgets": {"state": [figure(number) for number in live]}},
    )


def test_a_number_that_is_missing_is_seen():
    assert not displayed.numbers_missing(executed(1, 2, 4, live=[3]))
    assert displayed.numbers_missing(executed(1, 2, 4)) == ["figure 3 of 4 was drawn and is nowhere"]
    assert not displayed.numbers_missing(executed())


def section(text, *outputs):
    page = executed(*outputs)
    page["cells"][:0] = [v4.new_markdown_cell("# Title"), v4.new_markdown_cell(f"## Section\n\n{text}")]
    return page


@pytest.mark.parametrize("text", ["The figure shows this.", "Move the slider.", "All is drawn below."])
def test_a_text_without_its_figure_is_seen(text):
    assert not displayed.text_without_figure(section(text, 1))
    (fault,) = displayed.text_without_figure(section(text))
    assert fault.startswith("Section: ") and text[:-1] in fault


@pytest.mark.parametrize("text", ["It rests on figure 2 of the paper.", "As the figure at the top shows, no."])
def test_a_figure_elsewhere_is_not_looked_for(text):
    assert not displayed.text_without_figure(section(text))
