"""The drawings of gated cells: every stage adds its part, and stands out by more than colour."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch
from matplotlib.text import Text

from rtx_lib.plots import CELL_STAGES, CYCLE, INK, describe_cell, draw_cell, explorer, style, to_svg


@pytest.fixture(autouse=True)
def book_style() -> Iterator[None]:
    with mpl.rc_context({"backend": "agg"}), style():
        yield
    plt.close("all")


def words(fig: Figure) -> list[str]:
    return [text.get_text() for text in fig.findobj(Text) if text.get_text()]


def parts(fig: Figure) -> tuple[int, int]:
    """Numbers of boxes and of circles."""
    return len(fig.findobj(FancyBboxPatch)), len(fig.findobj(Circle))


@pytest.mark.parametrize(
    ("stage", "boxes", "circles"),
    [
        ("recurrent step", 1, 0),
        ("cell state", 2, 1),
        ("input gate", 3, 2),
        ("output gate", 4, 3),
        ("forget gate", 5, 4),
        ("way back", 5, 4),
        ("update gate", 2, 4),
        ("reset gate", 3, 5),
    ],
)
def test_a_stage_has_its_parts(stage: str, boxes: int, circles: int) -> None:
    assert parts(draw_cell(stage)) == (boxes, circles)


def test_every_stage_is_tested_above() -> None:
    assert len(CELL_STAGES) == 8


@pytest.mark.parametrize(("gate", "first"), [("i_t", 2), ("o_t", 3), ("f_t", 4)])
def test_a_gate_comes_with_its_stage_and_stays(gate: str, first: int) -> None:
    named = [f"${gate}$" in words(draw_cell(stage)) for stage in CELL_STAGES[:6]]
    assert named == [index >= first for index in range(6)]


@pytest.mark.parametrize("stage", CELL_STAGES)
def test_the_new_part_is_coloured_and_thick(stage: str) -> None:
    fig = draw_cell(stage)
    wide = {line.get_color() for line in fig.axes[0].get_lines() if line.get_linewidth() > 2}
    thin = {line.get_color() for line in fig.axes[0].get_lines() if line.get_linewidth() < 2}
    assert wide and wide <= set(CYCLE[:2])
    assert thin == {INK}


@pytest.mark.parametrize("stage", CELL_STAGES)
def test_a_drawing_stays_inside_its_frame(stage: str) -> None:
    fig = draw_cell(stage)
    fig.draw_without_rendering()
    for text in (*fig.axes[0].texts, fig.axes[0].title):
        box = text.get_window_extent()
        assert not text.get_text() or (box.x0 >= 0 and box.x1 <= fig.bbox.width), text.get_text()
        assert not text.get_text() or (box.y0 >= 0 and box.y1 <= fig.bbox.height), text.get_text()


def test_all_stages_make_one_explorer() -> None:
    page = explorer(draw_cell, CELL_STAGES, "stage", alt=describe_cell).data
    assert all(describe_cell(stage) in page for stage in CELL_STAGES)
    assert len({describe_cell(stage) for stage in CELL_STAGES}) == 8


def test_the_drawing_follows_the_page() -> None:
    picture = to_svg(draw_cell("forget gate"), "cell")
    assert "currentColor" in picture and INK not in picture


@pytest.mark.parametrize("function", [draw_cell, describe_cell])
def test_an_unknown_stage_is_refused(function: object) -> None:
    with pytest.raises(ValueError, match=r"stage must be one of .*'peephole'"):
        function("peephole")  # type: ignore[operator]
