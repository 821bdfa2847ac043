"""What holds for every diagram: its words stay inside, each stage adds its part, frames make one explorer."""

from functools import partial

import matplotlib.pyplot as plt
import pytest
from matplotlib.patches import PathPatch
from support.drawn import centres, check_inside, words

from rtx_book.page.explorer import explorer
from rtx_book.pictures.gates import CELL_STAGES, describe_cell, draw_cell, draw_unrolled
from rtx_book.pictures.orders import describe_order, draw_order
from rtx_book.pictures.r_transformer import describe_reach, draw_reach
from rtx_book.pictures.transformer import TRANSFORMER_STAGES, describe_transformer, draw_transformer
from rtx_book.pictures.transformer_xl import SHIFT_STEPS, describe_segments, describe_shift, draw_segments, draw_shift
from rtx_lib.plots import INK


def of_memory(function):
    return lambda M: function(memory=M)


def of_words(function):
    return lambda order: function(["New", "York", "is", "a", "city"], order)


# Name: drawing, its frames, their words, the largest page in bytes, whether no two texts may overlap.
DIAGRAMS = {
    "cell": (draw_cell, CELL_STAGES, describe_cell, 400_000, False),
    "transformer": (draw_transformer, TRANSFORMER_STAGES, describe_transformer, 400_000, True),
    "shift": (draw_shift, SHIFT_STEPS, describe_shift, 330_000, True),
    "segments": (of_memory(draw_segments), range(9), of_memory(describe_segments), 270_000, True),
    "reach": (draw_reach, range(1, 9), describe_reach, 300_000, False),
    "reach of two": (partial(draw_reach, layers=2), range(1, 9), partial(describe_reach, layers=2), 300_000, False),
    "order": (of_words(draw_order), [(0, 1, 2, 3, 4), (4, 3, 2, 0, 1), (3,)], of_words(describe_order), 120_000, True),
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


PARTS = [  # words of a part, and the stages at which it is there
    (draw_cell, CELL_STAGES[:6], "$i_t$", 2),
    (draw_cell, CELL_STAGES[:6], "$o_t$", 3),
    (draw_cell, CELL_STAGES[:6], "$f_t$", 4),
    (draw_cell, CELL_STAGES, "$r_t$", 7),
    (draw_transformer, TRANSFORMER_STAGES, "encoder\nself-attention", 1),
    (draw_transformer, TRANSFORMER_STAGES, "masked decoder\nself-attention", 4),
    (draw_transformer, TRANSFORMER_STAGES, "encoder-decoder\nattention", 5),
]


@pytest.mark.parametrize(("draw", "stages", "part", "first"), PARTS)
def test_a_part_comes_with_its_stage_and_stays(draw, stages, part, first):
    assert [part in words(draw(stage)) for stage in stages] == [at >= first for at in range(len(stages))]


def test_each_attention_shows_its_mask():
    shapes = [patch for patch in draw_transformer().axes[0].patches if isinstance(patch, PathPatch)]
    counts = [len(centres(shape)) for shape in shapes]  # of the filled cells, and of all cells
    assert counts == [25, 25, 15, 25, 20, 20]


def test_the_network_unrolled_names_every_weight_and_every_shape():
    top, low = (words(ax) for ax in draw_unrolled().axes)
    assert [top.count(name) for name in ("$W_{ih}$", "$V$", "$W_{hh}$")] == [5, 5, 3]
    assert [low.count(letter) for letter in "xho"] == [1 + 1 + 3 + 2 + 3, 14, 1 + 3 + 1 + 2 + 3]
