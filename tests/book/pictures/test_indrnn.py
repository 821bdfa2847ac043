"""Wiring, decay and how steps are joined: what is given or true is what is drawn."""

import numpy as np
import pytest
from matplotlib.text import Annotation

from rtx_book.pictures.indrnn import draw_composition, draw_decay, draw_scan, draw_wiring


@pytest.mark.parametrize(
    ("u", "change"),
    [(-0.9, "half after 6.6 steps"), (1.01, "twice as much after 69.7 steps"), (1.0, "no loss"), (0.0, "nothing left")],
)
def test_decay_is_drawn_as_it_is(u: float, change: str) -> None:
    held = u ** np.arange(11)
    ax = draw_decay(u, held, np.maximum(held, 0)).axes[0]
    np.testing.assert_array_equal([line.get_ydata() for line in ax.get_lines()[:2]], [held, np.maximum(held, 0)])
    assert ax.get_title() == f"u = {u:g}: {change}"


def test_a_composition_shows_the_parts_the_chain_and_the_one_function() -> None:
    x = np.linspace(-1, 1, 5)
    fig = draw_composition(x, lambda h: 2 * h, lambda h: h + 1, {"one": lambda h: 2 * h + 1.5}, "u = 2", ylim=(-2, 4))
    lines = {line.get_label(): line.get_ydata() for ax in fig.axes for line in ax.get_lines()}
    assert list(lines) == ["first, $f_1$", "second, $f_2$", "$f_2(f_1(h))$", "one"]
    np.testing.assert_array_equal(list(lines.values()), [2 * x, x + 1, 2 * x + 1, 2 * x + 1.5])


def test_a_scan_covers_all_steps_after_the_logarithm_of_their_number() -> None:
    texts = [text for text in draw_scan().axes[0].texts if not isinstance(text, Annotation)]
    boxes = {(round(text.get_position()[0]), -round(text.get_position()[1])): text.get_text() for text in texts}
    covered = {(t, 0): {t} for t in range(1, 9)}  # a scan done by hand
    for row, d in ((1, 1), (2, 2), (3, 4)):
        covered |= {(t, row): covered[t, row - 1] | covered.get((t - d, row - 1), set()) for t in range(1, 9)}
    assert boxes == {place: f"{min(c)}" if len(c) == 1 else f"{min(c)}–{max(c)}" for place, c in covered.items()}


def test_an_rnn_joins_every_pair_and_an_indrnn_each_neuron_with_itself() -> None:
    arrows = ([text for text in ax.texts if isinstance(text, Annotation)] for ax in draw_wiring().axes)
    joined = [[(arrow.xyann[1], arrow.xy[1]) for arrow in own] for own in arrows]
    assert joined == [[(i, j) for i in range(4) for j in range(4)], [(i, i) for i in range(4)]]
