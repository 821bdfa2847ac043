"""The drawings of segments: what is lit reaches the output of a real model, and gradients go where lines are solid."""

import numpy as np
import pytest
import torch
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch
from support.drawn import words
from torch import Tensor

from rtx_book.pictures.transformer_xl import describe_segments, draw_clash, draw_segments
from rtx_lib.models.transformer_xl import TransformerXL
from rtx_lib.plots import CYCLE

OWN, STORED = CYCLE[:2]


def nodes(ax: Axes) -> dict[str, set[tuple[int, int]]]:
    """(row, position) of the nodes of each look; the rows counted from the inputs."""
    found = {str(dots.get_gid()): np.asarray(dots.get_offsets()) for dots in ax.collections}
    heights = sorted({y for places in found.values() for y in places[:, 1].tolist()})
    return {look: {(heights.index(y), round(x)) for x, y in places.tolist()} for look, places in found.items()}


def links(ax: Axes, colour: str, *, thick: bool) -> set[tuple[int, int, int]]:
    """(row, position, position below) of the lines of a colour."""
    heights = sorted({y for dots in ax.collections for y in np.asarray(dots.get_offsets())[:, 1].tolist()})
    found = set()
    for line in ax.get_lines():
        if line.get_color() == colour and (line.get_linewidth() > 2) == thick and len(line.get_xdata()) != 2:
            for (x0, y0), (x1, _), _ in np.asarray(line.get_xydata()).reshape(-1, 3, 2).tolist():
                found.add((min(range(len(heights)), key=lambda n: abs(heights[n] - y0)), round(x0), round(x1)))
    return found


# ---- the reach, in a model


def read(layers: int, memory: int, x: Tensor) -> Tensor:
    """Outputs (B, L, 3) of a model for x (B, L, 4), a segment of 4 at a time."""
    torch.manual_seed(0)
    model = TransformerXL(4, 3, width=8, heads=2, layers=layers, memory=memory).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 0.5)
    state, outputs = None, []
    for piece in x.split(4, dim=1):
        y, state = model(piece, state)
        outputs.append(y)
    return torch.cat(outputs, dim=1)


@pytest.mark.parametrize(("layers", "memory"), [(3, 4), (3, 0), (3, 1), (2, 5), (2, 8), (1, 2), (1, 0)])
def test_what_is_lit_changes_the_output_of_a_model(layers: int, memory: int) -> None:
    """Each input of a long text is changed in turn, in a model that reads it in segments."""
    earlier, output = 32, 47  # the text that the drawing leaves out on the left
    x = torch.randn(1, earlier + 16, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    changed = x.repeat(output + 2, 1, 1)
    changed[range(1, output + 2), range(output + 1)] += 1
    y = read(layers, memory, changed)[:, output]
    reached = {p - earlier for p in range(output + 1) if (y[p + 1] - y[0]).abs().max() > 1e-12}

    ax = draw_segments(layers, memory).axes[0]
    drawn = nodes(ax)
    lit = {p for look in ("own", "stored") for n, p in drawn.get(look, set()) if n == 0}
    assert lit == {p for p in reached if p >= 0}
    reach = 15 - min(reached)
    assert f"{reach} positions back" in "\n".join(words(ax))
    assert memory == 0 or f"reaches {reach} positions" in describe_segments(layers, memory)
    assert (f"← {-min(reached)} more" in words(ax)) == (min(reached) < 0)


@pytest.mark.parametrize(("layers", "memory"), [(3, 4), (2, 5), (2, 0)])
def test_gradients_go_where_it_is_solid(layers: int, memory: int) -> None:
    x = torch.randn(1, 16, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).requires_grad_()
    read(layers, memory, x)[0, -1].sum().backward()
    assert x.grad is not None
    felt = {p for p in range(16) if x.grad[0, p].abs().max() > 0}
    assert {p for n, p in nodes(draw_segments(layers, memory).axes[0])["own"] if n == 0} == felt


# ---- the lines


@pytest.mark.parametrize(("layers", "memory"), [(3, 4), (2, 1), (3, 7), (1, 0)])
def test_lines_join_a_node_with_all_that_it_attends_to(layers: int, memory: int) -> None:
    ax = draw_segments(layers, memory).axes[0]
    edges, row = set(), {15}
    for n in range(layers, 0, -1):
        here = {(n, p, k) for p in row for k in range(p + 1) if p // 4 * 4 - memory <= k}
        edges |= here  # those that begin and end in the drawing
        row = {k for _, _, k in here}
    solid, dashed = links(ax, OWN, thick=False), {e for e in links(ax, STORED, thick=False) if e[2] >= 0}
    assert solid == {edge for edge in edges if edge[2] >= 12}
    assert dashed == {edge for edge in edges if edge[2] < 12}
    assert not any(line.get_linestyle() == "-" for line in ax.get_lines() if line.get_color() == STORED)


def test_the_thick_path_is_one_of_the_lines_and_the_longest() -> None:
    fig = draw_segments()
    path = sorted(links(fig.axes[0], STORED, thick=True))[::-1]
    assert path == [(3, 15, 8), (2, 8, 4), (1, 4, 0)]
    assert any("7 + 4 + 4 = 15" in text for text in words(fig.axes[0]))
    without = draw_segments(memory=0)
    assert sorted(links(without.axes[0], OWN, thick=True)) == [(1, 12, 12), (2, 12, 12), (3, 15, 12)]
    assert not links(without.axes[0], STORED, thick=True) and not links(without.axes[0], STORED, thick=False)
    assert any("no path crosses the border: 3 + 0 + 0 = 3" in text for text in words(without.axes[0]))


def test_nodes_differ_without_colour() -> None:
    looks = {str(dots.get_gid()): dots for dots in draw_segments().axes[0].collections}
    assert looks["own"].get_linewidths()[0] > 1.5 * looks["stored"].get_linewidths()[0]
    own, stored, none = (looks[name].get_facecolor() for name in ("own", "stored", "none"))
    assert own[0, 3] > 2 * stored[0, 3] > 0 and (len(none) == 0 or none[0, 3] == 0)
    assert looks["stored"].get_linestyles()[0][1] is not None and looks["own"].get_linestyles()[0][1] is None


def test_descriptions_count() -> None:
    assert "no path crosses the border" in describe_segments(memory=0)
    assert "itself and 3 positions before it" in describe_segments(memory=0)
    told = describe_segments(layers=1)
    assert told.startswith("1 layer reads") and "reaches 7 positions back: 7, layer by layer. 3 of them" in told
    assert "the other 4 come" in told


# ---- the clash


def test_restarting_numbers_repeat_and_distances_do_not() -> None:
    (ax,) = draw_clash().axes
    rows: dict[float, dict[int, str]] = {}
    for text in ax.texts:
        if text.get_text().isdigit():
            x, y = text.get_position()
            rows.setdefault(y, {})[round(x)] = text.get_text()
    restart, distances = rows[max(rows)], rows[min(rows)]
    assert "".join(restart[p] for p in range(8)) == "01230123"
    assert "".join(distances[p] for p in range(8)) == "76543210"
    filled = [box for box in ax.patches if isinstance(box, FancyBboxPatch) and box.get_facecolor()[3] > 0]
    above, below = ({round(b.get_x() + 0.38) for b in filled if (b.get_y() > 2) == top} for top in (True, False))
    assert above == below == {1, 5}
    same, near = (text for text in words(ax) if " and " in text)
    assert same.startswith("1 and 1: the query cannot") and near.startswith("6 and 2: one is far")
