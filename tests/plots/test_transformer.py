"""The drawing of the Transformer: every stage adds its part, and what is new stands out by more than colour."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, PathPatch
from matplotlib.text import Text

from rtx_lib.plots import (
    CYCLE,
    INK,
    TRANSFORMER_STAGES,
    describe_transformer,
    draw_transformer,
    explorer,
    style,
    to_svg,
)

ATTENTIONS = {  # text in the box: stage
    "encoder\nself-attention": "encoder self-attention",
    "masked decoder\nself-attention": "masked decoder self-attention",
    "encoder-decoder\nattention": "encoder-decoder attention",
}


@pytest.fixture(autouse=True)
def book_style() -> Iterator[None]:
    with mpl.rc_context({"backend": "agg"}), style():
        yield
    plt.close("all")


def words(fig: Figure) -> list[str]:
    return [text.get_text() for text in fig.findobj(Text) if text.get_text()]


def masks(fig: Figure) -> list[tuple[np.ndarray, np.ndarray]]:
    """Of each attention in order: the centres of the filled cells of its mask, and of all cells."""
    shapes = [patch for patch in fig.axes[0].patches if isinstance(patch, PathPatch)]
    centres = [shape.get_path().vertices.reshape(-1, 5, 2)[:, :4].mean(1) for shape in shapes]
    return list(zip(centres[::2], centres[1::2], strict=True))


def test_an_attention_comes_with_its_stage_and_stays() -> None:
    texts = [words(draw_transformer(stage)) for stage in TRANSFORMER_STAGES]
    for name, first in ATTENTIONS.items():
        start = TRANSFORMER_STAGES.index(first)
        assert [name in shown for shown in texts] == [index >= start for index in range(len(texts))]


def test_each_attention_shows_its_mask() -> None:
    counts = [(len(seen), len(every)) for seen, every in masks(draw_transformer())]
    assert counts == [(25, 25), (15, 25), (20, 20)]
    heights = np.round(masks(draw_transformer())[1][0][:, 1], 6)
    rows, seen = np.unique(heights, return_counts=True)
    assert len(rows) == 5 and seen.tolist() == [5, 4, 3, 2, 1]  # the last query, lowest, sees all five


@pytest.mark.parametrize("stage", TRANSFORMER_STAGES[:-1])
def test_the_new_part_is_coloured_and_thick(stage: str) -> None:
    fig = draw_transformer(stage)
    wide = {line.get_color() for line in fig.axes[0].get_lines() if line.get_linewidth() > 2}
    thin = {line.get_color() for line in fig.axes[0].get_lines() if line.get_linewidth() < 2}
    assert wide == {CYCLE[0]} and thin <= {INK}


def test_the_last_stage_sets_off_the_three_attentions_alone() -> None:
    fig = draw_transformer()
    wide = [box for box in fig.findobj(FancyBboxPatch) if box.get_linewidth() > 2]
    assert sorted(to_hex(box.get_edgecolor()) for box in wide) == sorted(CYCLE[:3])
    assert all(line.get_linewidth() < 2 for line in fig.axes[0].get_lines())


@pytest.mark.parametrize("stage", TRANSFORMER_STAGES)
def test_words_stay_inside_the_frame_and_their_boxes(stage: str) -> None:
    fig = draw_transformer(stage)
    fig.draw_without_rendering()
    boxes = [box.get_window_extent() for box in fig.findobj(FancyBboxPatch)]
    grids = [patch.get_window_extent() for patch in fig.axes[0].patches if isinstance(patch, PathPatch)]
    for text in (*fig.axes[0].texts, fig.axes[0].title):
        box = text.get_window_extent()
        if text.get_text():
            assert box.x0 >= 0 and box.x1 <= fig.bbox.width, text.get_text()
            assert box.y0 >= 0 and box.y1 <= fig.bbox.height, text.get_text()
            assert not any(box.overlaps(mask) for mask in grids), text.get_text()
            around = [other for other in boxes if other.overlaps(box)]
            assert all(other.x0 <= box.x0 and box.x1 <= other.x1 for other in around), text.get_text()


def test_all_stages_make_one_explorer() -> None:
    page = explorer(draw_transformer, TRANSFORMER_STAGES, "stage", alt=describe_transformer).data
    assert len(page) < 400_000
    assert len({describe_transformer(stage) for stage in TRANSFORMER_STAGES}) == len(TRANSFORMER_STAGES) == 9
    assert not plt.get_fignums()


def test_it_draws_in_given_axes_and_follows_the_page() -> None:
    fig, (left, _) = plt.subplots(1, 2)
    assert draw_transformer("decoding", left) is fig
    picture = to_svg(fig, "the Transformer")
    assert "currentColor" in picture and INK not in picture


@pytest.mark.parametrize("function", [draw_transformer, describe_transformer])
def test_an_unknown_stage_is_refused(function: object) -> None:
    with pytest.raises(ValueError, match=r"stage must be one of .*'convolution'"):
        function("convolution")  # type: ignore[operator]
    assert not plt.get_fignums()
