"""How the image of a Neural GPU moves: the numbers given are drawn and told."""

import numpy as np

from rtx_book.page.film import at_frame, film
from rtx_book.pictures import parallel

S, N, W, M = 4, 3, 2, 5
IMAGES, RIGHT = np.random.default_rng(0).normal(size=(S, N, W, M)), [0, 1, 1]
ANSWERS = [[1, 0, 1], [0, 0, 1], [0, 1, 0], [0, 1, 1]]


def test_a_cell_is_drawn_by_how_far_it_moved() -> None:
    _, frames = parallel.image_frames(IMAGES, ANSWERS, RIGHT)
    moved = np.sqrt((np.diff(IMAGES, axis=0, prepend=0) ** 2).mean(-1))
    for frame, levels in zip(frames, np.round(5 * np.clip(moved / moved[1:].max(), 0, 1)), strict=True):
        bars = [len(frame[f"level{k}"][0]) // 3 for k in range(5)]  # a line across each cell, and a gap
        assert bars == [(levels == level).sum() for level in (1, 2, 3, 4, 5)]


def test_wrong_answers_are_crossed_at_their_step_and_place() -> None:
    fig, frames = parallel.image_frames(IMAGES, ANSWERS, RIGHT)
    crosses = fig.axes[0].get_lines()[0].get_xydata().tolist()
    assert sorted(crosses) == [[0, 2], [1, 0], [1, 1], [2, 0]]
    at_frame(fig, frames[2])
    assert [text.get_text() for text in fig.axes[1].texts] == ["0", "0", "1", "1", "0", "1"]
    assert "A carry travels." in film(fig, frames, "Step", labels=list("0123"), alt="A carry travels.").data
