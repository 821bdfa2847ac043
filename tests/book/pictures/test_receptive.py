"""Receptive fields as layers are added: what is lit has a way to the last output, and the explorer says how much."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import torch
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from support.drawn import check_follows_page, check_inside

from rtx_book.pictures.parallel import describe_field, draw_field, field_explorer, seen
from rtx_lib.plots import look
from rtx_lib.plots.style import CYCLE, GREY

T = 16


def taps(k: int, *dilations: int) -> np.ndarray:
    """Causal convolutions of k taps, one layer a dilation."""
    return np.stack([sum(np.eye(T, k=-i * d) for i in range(k)) > 0 for d in dilations])


BYTENET, CONVS2S = taps(2, 1, 2, 4, 8), taps(3, 1, 1, 1, 1)
ATTENTION = np.stack([np.tri(T, dtype=bool)] * 4)
MODELS = {"ByteNet": BYTENET, "ConvS2S": CONVS2S, "QRNN": taps(2, 1, 1, 1, 1), "attention": ATTENTION}


def circles(ax: Axes, colour: str) -> set[tuple[int, int]]:
    """(layer, place) of every circle of this colour; what is lit is filled."""
    found = set()
    for line in ax.get_lines():
        if line.get_marker() == "o" and line.get_markersize() > 3 and to_hex(line.get_markeredgecolor()) == colour:
            assert (line.get_markerfacecolor() == "none") == (colour == GREY)
            found |= {(int(row), int(t)) for t, row in line.get_xydata().tolist()}
    return found


def ways(ax: Axes, colour: str) -> set[tuple[tuple[int, int], tuple[int, int]]]:
    """From (layer, place) down to (layer, place), of every line of this colour."""
    lines = [line for line in ax.get_lines() if line.get_linestyle() == "-" and line.get_color() == colour]
    ends = [pair for line in lines for pair in np.reshape(line.get_xydata(), (-1, 3, 2))[:, :2].astype(int).tolist()]
    return {((row, t), (below, s)) for (t, row), (s, below) in ends}


def test_fields_grow_by_the_dilation_or_by_the_kernel() -> None:
    assert [seen(BYTENET, n)[0].sum() for n in range(1, 5)] == [2, 4, 8, 16]
    assert [seen(CONVS2S, n)[0].sum() for n in range(1, 5)] == [3, 5, 7, 9]
    assert seen(ATTENTION, 1)[0].all() and seen(taps(2, 1), 1, chained=True)[0].all()
    assert seen(taps(2, 4, 1), 2)[0].nonzero()[0].tolist() == [10, 11, 14, 15]  # gaps stay gaps
    assert seen(torch.tensor(BYTENET), 3)[0].sum() == 8


@pytest.mark.parametrize(("reach", "chained"), [(BYTENET, False), (CONVS2S, False), (MODELS["QRNN"], True)])
@pytest.mark.parametrize("layers", [1, 3])
def test_what_is_lit_has_a_way_to_the_last_output(reach: np.ndarray, chained: bool, layers: int) -> None:
    """Against the ways themselves, walked down from it."""
    ax = draw_field(reach, layers, "a model", chained=chained, place=1).axes[0]
    edges = {((n, t), (n - 1, s)) for n in range(1, layers + 1) for t, s in np.argwhere(reach[n - 1]).tolist()}
    if chained:
        edges |= {((n, t), (n, t - 1)) for n in range(1, layers + 1) for t in range(1, T)}
    lit = new = {(layers, T - 1)}
    while new:
        new = {end for start, end in edges if start in new} - lit
        lit = lit | new
    assert circles(ax, CYCLE[1]) == lit
    assert circles(ax, GREY) == {(n, t) for n in range(layers + 1) for t in range(T)} - lit
    assert ways(ax, CYCLE[1]) == {edge for edge in edges if edge[0] in lit}
    assert ways(ax, GREY) == {edge for edge in edges if edge[0] not in lit}


def test_a_model_keeps_its_look_and_the_picture_its_size() -> None:
    figures = [draw_field(taps(3, 1, 2, 4, 8), n, "TCN") for n in range(1, 5)]
    assert circles(figures[0].axes[0], str(look("tcn")["color"]))
    assert len({tuple(fig.get_size_inches()) for fig in figures}) == 1
    assert figures[1].axes[0].get_title() == "TCN, 2 layers: 7 of 16 inputs"
    for fig in figures:
        check_inside(fig)
    check_follows_page(figures[0], 30_000)


def test_it_is_said_in_words() -> None:
    assert (
        describe_field(CONVS2S, 2, "ConvS2S") == "ConvS2S, 2 layers: output 16 sees 5 of 16 inputs, from input 12 on."
    )
    assert describe_field(ATTENTION, 1, "attention") == "attention, 1 layer: output 16 sees all 16 inputs."
    assert describe_field(0 * BYTENET, 1, "deaf") == "deaf, 1 layer: output 16 sees no input."


def test_the_explorer_has_a_frame_for_each_model_and_depth() -> None:
    page = field_explorer(MODELS, chained=["QRNN"], caption="measured").data
    assert len(page) < 400_000
    frames = re.findall(r'<div class="frame" data-label="([^"]*)"( hidden)?>', page)
    assert [label for label, _ in frames[:5]] == [
        *(f"{n} layer{'s' * (n > 1)}: {2**n} of 16" for n in range(1, 5)),
        "1 layer: 3 of 16",
    ]
    assert len(frames) == 16 and [bool(hidden) for _, hidden in frames] == [False] + 15 * [True]
    assert re.findall(r'<option value="(\d+)">(\w+)', page) == [
        ("0", "ByteNet"),
        ("4", "ConvS2S"),
        ("8", "QRNN"),
        ("12", "attention"),
    ]
    assert 'max="3"' in page and page.count("onchange=") == page.count("oninput=") == 1
    title = "After one layer QRNN and attention see all 16 inputs; after 4 layers ByteNet 16 and ConvS2S 9"
    assert ET.fromstring(re.search("<p class=.fig-title.*?</p>", page)[0]).text == title  # type: ignore[index]
    assert 'aria-label="ConvS2S, 4 layers: output 16 sees 9 of 16 inputs, from input 8 on."' in page


def test_the_title_says_what_there_is() -> None:
    def title(*names: str) -> str:
        page = field_explorer({name: MODELS[name] for name in names}).data
        return re.search('fig-title"[^>]*>(.*?)</p>', page)[1]  # type: ignore[index]

    assert title("attention") == "After one layer attention sees all 16 inputs"
    assert title("ByteNet", "ConvS2S") == "Of 16 inputs the last output sees after 4 layers ByteNet 16 and ConvS2S 9"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: seen(BYTENET[0], 1), r"reach must have shape \(L, T, T\), got \(16, 16\)"),
        (lambda: seen(BYTENET[:, 1:], 1), r"reach must have shape .*, got \(4, 15, 16\)"),
        (lambda: seen(-1.0 * BYTENET, 1), "reach must be finite and from 0 to 1, got values from -1 to"),
        (lambda: draw_field(BYTENET, 5, "x", place=0), "layers must be from 1 to 4, got 5"),
        (lambda: describe_field(BYTENET, 0, "x"), "layers must be from 1 to 4, got 0"),
        (lambda: field_explorer({}), "models must hold at least one array, got none"),
        (lambda: field_explorer({"a": BYTENET, "b": BYTENET[:2]}), r"models\['b'\] must have shape \(4, 16, 16\)"),
        (lambda: field_explorer({"a": BYTENET[:1]}), "models must have at least 2 layers, got 1"),
        (lambda: field_explorer(MODELS, chained=["GRU"]), r"chained must be of the models .*, got \['GRU'\]"),
    ],
)
def test_refusals(call, message) -> None:
    with pytest.raises(ValueError, match=message):
        call()
