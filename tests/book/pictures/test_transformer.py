"""The drawing of the Transformer: every stage adds its part, and what is new stands out by more than colour."""

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import FancyBboxPatch, PathPatch
from support.drawn import centres, check_follows_page, check_inside, words

from rtx_book.pictures.transformer import TRANSFORMER_STAGES, draw_transformer
from rtx_lib.plots import CYCLE

ATTENTIONS = {  # text in the box: stage
    "encoder\nself-attention": "encoder self-attention",
    "masked decoder\nself-attention": "masked decoder self-attention",
    "encoder-decoder\nattention": "encoder-decoder attention",
}


def test_an_attention_comes_with_its_stage_and_stays() -> None:
    texts = [words(draw_transformer(stage)) for stage in TRANSFORMER_STAGES]
    for name, first in ATTENTIONS.items():
        start = TRANSFORMER_STAGES.index(first)
        assert [name in shown for shown in texts] == [index >= start for index in range(len(texts))]


def test_each_attention_shows_its_mask() -> None:
    shapes = [patch for patch in draw_transformer().axes[0].patches if isinstance(patch, PathPatch)]
    masks = list(zip(shapes[::2], shapes[1::2], strict=True))  # the filled cells, and all cells
    counts = [(len(centres(seen)), len(centres(every))) for seen, every in masks]
    assert counts == [(25, 25), (15, 25), (20, 20)]
    heights = np.array(centres(masks[1][0]))[:, 1]
    rows, seen = np.unique(heights, return_counts=True)
    assert len(rows) == 5 and seen.tolist() == [5, 4, 3, 2, 1]  # the last query, lowest, sees all five


def test_the_last_stage_sets_off_the_three_attentions_alone() -> None:
    fig = draw_transformer()
    wide = [box for box in fig.findobj(FancyBboxPatch) if box.get_linewidth() > 2]
    assert sorted(to_hex(box.get_edgecolor()) for box in wide) == sorted(CYCLE[:3])
    assert all(line.get_linewidth() < 2 for line in fig.axes[0].get_lines())


@pytest.mark.parametrize("stage", TRANSFORMER_STAGES)
def test_words_stay_inside_the_frame_and_their_boxes(stage: str) -> None:
    fig = draw_transformer(stage)
    check_inside(fig)
    boxes = [box.get_window_extent() for box in fig.findobj(FancyBboxPatch)]
    grids = [patch.get_window_extent() for patch in fig.axes[0].patches if isinstance(patch, PathPatch)]
    for text in (*fig.axes[0].texts, fig.axes[0].title):
        box = text.get_window_extent()
        if text.get_text():
            assert not any(box.overlaps(mask) for mask in grids), text.get_text()
            around = [other for other in boxes if other.overlaps(box)]
            assert all(other.x0 <= box.x0 and box.x1 <= other.x1 for other in around), text.get_text()


def test_it_follows_the_page() -> None:
    check_follows_page(draw_transformer("decoding"))
