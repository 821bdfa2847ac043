"""The drawings of gated cells: every stage adds its part, and stands out by more than colour."""

import pytest
from matplotlib.patches import Circle, FancyBboxPatch
from support.drawn import words

from rtx_book.pictures.gates import CELL_STAGES, draw_cell


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
    fig = draw_cell(stage)
    assert (len(fig.findobj(FancyBboxPatch)), len(fig.findobj(Circle))) == (boxes, circles)


@pytest.mark.parametrize(("gate", "first"), [("i_t", 2), ("o_t", 3), ("f_t", 4)])
def test_a_gate_comes_with_its_stage_and_stays(gate: str, first: int) -> None:
    named = [f"${gate}$" in words(draw_cell(stage)) for stage in CELL_STAGES[:6]]
    assert named == [index >= first for index in range(6)]
