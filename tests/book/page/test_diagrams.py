"""What holds for every diagram of many frames: one explorer, words for each, inside its frame."""

from functools import partial

import matplotlib.pyplot as plt
import pytest
from support.drawn import check_follows_page, check_inside

from rtx_book.page.explorer import explorer
from rtx_book.pictures.gates import CELL_STAGES, describe_cell, draw_cell
from rtx_book.pictures.r_transformer import describe_reach, draw_reach, draw_windows
from rtx_book.pictures.transformer import TRANSFORMER_STAGES, describe_transformer, draw_transformer
from rtx_book.pictures.transformer_xl import (
    SHIFT_STEPS,
    describe_segments,
    describe_shift,
    draw_clash,
    draw_segments,
    draw_shift,
)
from rtx_lib.plots import CYCLE, INK


def of_memory(function):
    return lambda M: function(memory=M)


# Name: drawing, its frames, their words, the largest page in bytes, whether no two texts may overlap.
DIAGRAMS = {
    "cell": (draw_cell, CELL_STAGES, describe_cell, 400_000, False),
    "transformer": (draw_transformer, TRANSFORMER_STAGES, describe_transformer, 400_000, True),
    "shift": (draw_shift, SHIFT_STEPS, describe_shift, 330_000, True),
    "segments": (of_memory(draw_segments), range(9), of_memory(describe_segments), 270_000, True),
    "reach": (draw_reach, range(1, 9), describe_reach, 300_000, False),
    "reach of two": (partial(draw_reach, layers=2), range(1, 9), partial(describe_reach, layers=2), 300_000, False),
}


@pytest.mark.parametrize("name", DIAGRAMS)
def test_frames_make_one_explorer_inside_their_frame(name):
    draw, values, describe, most, apart = DIAGRAMS[name]
    for value in values:
        check_inside(draw(value), apart=apart)
    plt.close("all")
    page = explorer(draw, values, name, alt=describe).data
    assert len(page) < most and "currentColor" in page and INK not in page
    told = {describe(value) for value in values}
    assert len(told) == len(values) <= 20 and all(words.strip() and words in page for words in told)
    assert not plt.get_fignums()


@pytest.mark.parametrize(
    ("draw", "apart"),
    [
        (draw_windows, True),
        *((partial(draw_reach, *given), False) for given in ((12, 2), (2, 3))),
        *((partial(draw_segments, layers), True) for layers in (1, 2, 4)),
        (draw_clash, True),
    ],
)
def test_other_drawings_stay_inside_their_frame(draw, apart):
    fig = draw()
    check_inside(fig, apart=apart)
    check_follows_page(fig, 80_000)


@pytest.mark.parametrize(("draw", "stages"), [(draw_cell, CELL_STAGES), (draw_transformer, TRANSFORMER_STAGES)])
def test_the_new_part_is_coloured_and_thick(draw, stages):
    for stage in stages:
        lines = draw(stage).axes[0].get_lines()
        thick, thin = (
            {line.get_color() for line in lines if (line.get_linewidth() > 2) == wide} for wide in (True, False)
        )
        last = stage == "three attentions"  # sets off boxes
        expected = set() if last else {CYCLE[0]} | ({CYCLE[1]} if stage == "way back" else set())
        assert thin <= {INK} and thick <= expected and bool(thick) != last
        plt.close("all")
