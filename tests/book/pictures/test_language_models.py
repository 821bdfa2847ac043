"""The figures of the chapter on language models draw what they are given."""

import numpy as np

from rtx_book.pictures.language_models import draw_cuts, draw_ways


def test_a_cut_stands_where_the_kept_ones_end():
    whole = np.array([0.2, 0.5, 0.3])
    ax = draw_cuts(whole, {"two": whole * [0, 1, 1], "all": whole}, "a b").axes[0]
    widths = [[round(float(bar.get_width()), 9) for bar in row] for row in ax.containers]
    assert widths == [[0.5], [0.3], [0.2], [0.5], [0.3], [0.2], [0]]
    assert [line.get_xdata()[0] for line in ax.get_lines()] == [0.8, 1.0]
    assert [text.get_text() for text in ax.texts] == ["␣", "b", "␣", "b", "a"]


def test_the_dashed_line_is_the_persons():
    found = {"greedy": (1.5, 0.9), "a person": (2.5, 0.02)}
    for ax, greedy, person in zip(draw_ways(found, "a person").axes, *found.values(), strict=True):
        lines = [list(line.get_xdata()) for line in ax.get_lines()]
        assert lines == [[person, person], [person, greedy], [greedy], [person, person], [person]]
