"""The drawings of segments: what is lit reaches the output of a real model, and gradients go where lines are solid."""

import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch
from support.drawn import words
from torch import Tensor

from rtx_lib.models.transformer_xl import TransformerXL
from rtx_lib.plots import CYCLE, INK, describe_segments, draw_clash, draw_segments, explorer

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


def read(layers: int, length: int, memory: int, x: Tensor) -> Tensor:
    """Outputs (B, L, 3) of a model for x (B, L, 4), a segment at a time."""
    torch.manual_seed(0)
    model = TransformerXL(4, 3, width=8, heads=2, layers=layers, memory=memory).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 0.5)
    state, outputs = None, []
    for piece in x.split(length, dim=1):
        y, state = model(piece, state)
        outputs.append(y)
    return torch.cat(outputs, dim=1)


CASES = [
    (3, 4, 4, 16),
    (3, 4, 0, 16),
    (3, 4, 1, 16),
    (2, 3, 5, 12),
    (2, 4, 8, 14),
    (1, 4, 2, 16),
    (3, 2, 3, 7),
    (2, 4, 3, 5),
]


@pytest.mark.parametrize(("layers", "length", "memory", "position"), CASES)
def test_what_is_lit_changes_the_output_of_a_model(layers: int, length: int, memory: int, position: int) -> None:
    """Each input of a long text is changed in turn, in a model that reads it in segments."""
    segments = -(-max(16, position) // length)
    earlier = 32 // length * length  # the text that the drawing leaves out on the left
    output = earlier + position - 1
    x = torch.randn(1, earlier + segments * length, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    changed = x.repeat(output + 2, 1, 1)
    changed[range(1, output + 2), range(output + 1)] += 1
    y = read(layers, length, memory, changed)[:, output]
    reached = {p - earlier for p in range(output + 1) if (y[p + 1] - y[0]).abs().max() > 1e-12}

    ax = draw_segments(layers, length, memory, segments, position=position).axes[0]
    drawn = nodes(ax)
    lit = {p for look in ("own", "stored") for n, p in drawn.get(look, set()) if n == 0}
    assert lit == {p for p in reached if p >= 0}
    told = describe_segments(layers, length, memory, segments, position=position)
    reach = position - 1 - min(reached)
    assert f"{reach} position{'' if reach == 1 else 's'} back" in "\n".join(words(ax))
    assert memory == 0 or f"reaches {reach} position" in told
    assert (f"← {-min(reached)} more" in words(ax)) == (min(reached) < 0)


@pytest.mark.parametrize(("layers", "length", "memory"), [(3, 4, 4), (2, 3, 5), (2, 4, 0)])
def test_gradients_go_where_it_is_solid(layers: int, length: int, memory: int) -> None:
    x = torch.randn(1, 4 * length, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).requires_grad_()
    read(layers, length, memory, x)[0, -1].sum().backward()
    assert x.grad is not None
    felt = {p for p in range(4 * length) if x.grad[0, p].abs().max() > 0}
    drawn = nodes(draw_segments(layers, length, memory).axes[0])
    assert {p for n, p in drawn["own"] if n == 0} == felt


# ---- the lines


@pytest.mark.parametrize(("layers", "length", "memory"), [(3, 4, 4), (2, 4, 1), (3, 3, 7), (1, 4, 0), (2, 1, 1)])
def test_lines_join_a_node_with_all_that_it_attends_to(layers: int, length: int, memory: int) -> None:
    ax = draw_segments(layers, length, memory).axes[0]
    start, last = 3 * length, 4 * length - 1
    edges, row = set(), {last}
    for n in range(layers, 0, -1):
        here = {(n, p, k) for p in row for k in range(p + 1) if p // length * length - memory <= k}
        edges |= here  # those that begin and end in the drawing
        row = {k for _, _, k in here}
    solid, dashed = links(ax, OWN, thick=False), {e for e in links(ax, STORED, thick=False) if e[2] >= 0}
    assert solid == {edge for edge in edges if edge[2] >= start}
    assert dashed == {edge for edge in edges if edge[2] < start}
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


def test_nine_memories_make_one_explorer() -> None:
    page = explorer(
        lambda M: draw_segments(memory=M), range(9), "memory M", alt=lambda M: describe_segments(memory=M)
    ).data
    assert len(page) < 9 * 30_000 and "currentColor" in page and INK not in page
    told = [describe_segments(memory=M) for M in range(9)]
    assert len(set(told)) == 9 and "no path crosses the border" in told[0]
    reaches = [int(re.findall(r"reaches (\d+)", text)[0]) for text in told[1:]]
    assert reaches == sorted(reaches) and not plt.get_fignums()


def test_descriptions_count() -> None:
    told = describe_segments(layers=1, position=13)
    assert told.startswith("1 layer reads") and "reaches 4 positions back: 4, layer by layer. 0 of them" in told
    assert "output 2 depends on itself and 1 position before it" in describe_segments(memory=0, position=2)


# ---- the clash


@pytest.mark.parametrize(("length", "segments"), [(4, 2), (2, 2), (3, 4), (5, 3)])
def test_restarting_numbers_repeat_and_distances_do_not(length: int, segments: int) -> None:
    fig = draw_clash(length, segments)
    rows: dict[float, dict[int, str]] = {}
    for text in fig.axes[0].texts:
        if text.get_text().isdigit():
            x, y = text.get_position()
            rows.setdefault(y, {})[round(x)] = text.get_text()
    restart, distances = rows[max(rows)], rows[min(rows)]
    total = length * segments
    assert [restart[p] for p in range(total)] == [str(p % length) for p in range(total)]
    assert [distances[p] for p in range(total)] == [str(total - 1 - p) for p in range(total)]
    filled = [box for box in fig.axes[0].patches if isinstance(box, FancyBboxPatch) and box.get_facecolor()[3] > 0]
    above, below = ({round(b.get_x() + 0.38) for b in filled if (b.get_y() > 2) == top} for top in (True, False))
    one, other = above
    assert above == below and restart[one] == restart[other] and distances[one] != distances[other]
    same, near = (text for text in words(fig.axes[0]) if " and " in text)
    assert same.startswith(f"{restart[one]} and {restart[one]}: the query cannot")
    assert near.startswith(f"{distances[min(above)]} and {distances[max(above)]}: one is far")
    assert total - 1 not in above  # the query itself


# ---- bad arguments
