"""Wiring, decay, half-lives and how steps are joined: what is given or true is what is drawn."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.text import Annotation

from rtx_book.pictures.indrnn import (
    describe_decay,
    draw_composition,
    draw_decay,
    draw_half_lives,
    draw_scan,
    draw_wiring,
)


def arrows(ax: plt.Axes) -> list[tuple[float, float, float, float]]:
    """Where each arrow of the axes begins and ends."""
    return [(*text.xyann, *text.xy) for text in ax.texts if isinstance(text, Annotation)]


def test_an_rnn_joins_every_pair_and_an_indrnn_each_neuron_with_itself() -> None:
    dense, diagonal = (arrows(ax) for ax in draw_wiring().axes)
    assert {(i, j) for _, i, _, j in dense} == {(i, j) for i in range(4) for j in range(4)} and len(dense) == 16
    assert [(i, j) for _, i, _, j in diagonal] == [(i, i) for i in range(4)]


@pytest.mark.parametrize(
    ("u", "change", "words"),
    [
        (0.5, "half after 1.0 steps", "decays"),
        (-0.9, "half after 6.6 steps", "decays, with alternating sign"),
        (1.01, "twice as much after 69.7 steps", "grows"),
        (-1.02, "twice as much after 35.0 steps", "grows"),
        (1.0, "no loss", "keeps its size"),
        (0.0, "nothing left", "nothing is left"),
    ],
)
def test_decay_is_drawn_and_told_as_it_is(u: float, change: str, words: str) -> None:
    held = u ** np.arange(11)
    ax = draw_decay(u, held, np.maximum(held, 0)).axes[0]
    assert np.array_equal(ax.get_lines()[0].get_ydata(), held)
    assert np.array_equal(ax.get_lines()[1].get_ydata(), np.maximum(held, 0))
    assert ax.get_title() == f"u = {u:g}: {change}"
    assert words in describe_decay(u)


def test_a_composition_shows_the_parts_the_chain_and_the_one_function() -> None:
    x = np.linspace(-1, 1, 5)
    fig = draw_composition(x, lambda h: 2 * h, lambda h: h + 1, {"one": lambda h: 2 * h + 1.5}, "u = 2", ylim=(-2, 4))
    left, right = fig.axes
    assert [line.get_label() for line in left.get_lines()] == ["first, $f_1$", "second, $f_2$"]
    assert [line.get_label() for line in right.get_lines()] == ["$f_2(f_1(h))$", "one"]
    assert left.get_ylim() == right.get_ylim() == (-2, 4)
    assert np.array_equal(left.get_lines()[1].get_ydata(), x + 1)
    chain, joined = right.get_lines()
    assert np.array_equal(chain.get_ydata(), 2 * x + 1) and np.array_equal(joined.get_ydata(), 2 * x + 1.5)
    assert chain.get_linewidth() > joined.get_linewidth() and right.get_title() == "u = 2"


def test_every_neuron_is_a_mark_near_its_half_lives() -> None:
    before = [(np.array([1, 7, 90]), np.array([1, 6, 90])), (np.array([50]), np.array([2]))]
    fig = draw_half_lives({"before": before, "after": before[:1]}, 90)
    assert [ax.get_title() for ax in fig.axes] == ["before", "after"]
    first, second, diagonal = fig.axes[0].get_lines()
    for line, pair in ((first, before[0]), (second, before[1])):
        assert np.allclose(line.get_data(), pair, rtol=0.1)  # moved a little
    assert np.array_equal(diagonal.get_data(), [[1, 90], [1, 90]])
    assert fig.axes[0].get_xticklabels()[-1].get_text() == "90+"


def test_a_scan_covers_all_steps_after_the_logarithm_of_their_number() -> None:
    steps, rounds = 8, 3
    ax = draw_scan().axes[0]
    boxes = {
        (round(text.get_position()[0]), -round(text.get_position()[1])): text.get_text()
        for text in ax.texts
        if not isinstance(text, Annotation)
    }
    assert max(row for _, row in boxes) == rounds
    covered = {(t, 0): {t} for t in range(1, steps + 1)}  # a scan done by hand
    for row in range(1, rounds + 1):
        d = 2 ** (row - 1)
        for t in range(1, steps + 1):
            covered[t, row] = covered[t, row - 1] | covered.get((t - d, row - 1), set())
    told = {place: f"{min(c)}" if len(c) == 1 else f"{min(c)}–{max(c)}" for place, c in covered.items()}
    assert boxes == told and covered[steps, rounds] == set(range(1, steps + 1))
    sources = {(begin, -y - 1 + 0.86, t) for begin, y, t, _ in arrows(ax) if begin != t}
    assert len(sources) == sum(max(0, steps - 2**k) for k in range(rounds))
