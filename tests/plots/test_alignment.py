"""Words read and written: a line for each weight above the least, between its words, in the colour of its row."""

import numpy as np

from rtx_lib.plots import CYCLE, describe_alignment, draw_alignment

WEIGHTS = np.array([[0.1, 0.9], [0.6, 0.4], [0.0, 0.2]])


def test_lines_join_the_words_of_the_weights_above_the_least() -> None:
    (ax,) = draw_alignment(["fifty", "four"], ["vier", "und", "fünfzig"], WEIGHTS, marked=[2], least=0.3).axes
    height = {text.get_text(): text.get_position()[1] for text in ax.texts}
    assert list(height) == ["read", "fifty", "four", "written", "vier", "und", "fünfzig"]
    assert height["vier"] > height["fifty"] > height["und"] > height["four"] > height["fünfzig"]
    drawn = {tuple(line.get_ydata()): line for line in ax.get_lines()}
    assert set(drawn) == {(height[s], height[t]) for s, t in (("four", "vier"), ("fifty", "und"), ("four", "und"))}
    widths = [drawn[height[s], height["und"]].get_linewidth() for s in ("fifty", "four")]
    assert widths[0] > widths[1] and {line.get_color() for line in drawn.values()} == {CYCLE[0]}


def test_the_words_name_the_greatest_weight_of_each_row() -> None:
    told = describe_alignment(["fifty", "four"], ["vier", "und", "fünfzig"], WEIGHTS)
    assert told == "vier at four, und at fifty, fünfzig at four"


def test_marked_rows_have_the_second_colour_and_few_words_the_height_that_was_asked_for() -> None:
    fig = draw_alignment(["fifty", "four"], ["vier", "und", "fünfzig"], WEIGHTS, marked=[1], rows=9)
    lines = fig.axes[0].get_lines()
    assert [line.get_color() for line in lines] == [CYCLE[0], CYCLE[1], CYCLE[1], CYCLE[0]]
    assert fig.get_figheight() == draw_alignment(["a"], ["b"], [[1.0]], rows=9).get_figheight()
