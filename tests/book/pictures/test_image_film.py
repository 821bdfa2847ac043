"""The film of an image: each cell, digit and cross where it belongs, and nothing that does not fit."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from support.drawn import check_follows_page

from rtx_book.page.film import at_frame, film
from rtx_book.pictures.parallel import image_frames

DRAW = np.random.default_rng(0)
S, N, W, M = 4, 3, 2, 5
IMAGES, RIGHT = DRAW.normal(size=(S, N, W, M)), [0, 1, 1]
ANSWERS = [[1, 0, 1], [0, 0, 1], [0, 1, 0], [0, 1, 1]]


def line(fig: Figure, gid: str) -> np.ndarray:
    (found,) = fig.findobj(lambda artist: artist.get_gid() == gid)
    return np.asarray(found.get_data(), dtype=float)


def cells(fig: Figure) -> dict[tuple[int, int], int]:
    """{(place from the right, column): level, below 0 for a negative value} of the image that stands there."""
    found = {}
    for k in range(10):
        x, y = line(fig, f"level{k}")
        for middle, column in zip(x[::3] + 0.45, y[::3], strict=True):
            found[N - 1 - round(middle), int(column)] = k - 4 if k > 4 else -k - 1
    return found


@pytest.mark.parametrize("channel", [0, 4])
def test_a_channel_is_drawn_by_sign_and_size(channel: int) -> None:
    fig, frames = image_frames(IMAGES, ANSWERS, RIGHT, channel=channel)
    assert len(frames) == S
    most = np.abs(IMAGES[1:, ..., channel]).max()
    for t, frame in enumerate(frames):
        levels = np.round(5 * np.clip(IMAGES[t, ..., channel] / most, -1, 1)).astype(int)
        assert cells(at_frame(fig, frame)) == {place: level for place, level in np.ndenumerate(levels) if level}
    drawn = fig.axes[0].images[0].get_array()[..., 3]
    read = np.abs(IMAGES[:, ::-1, 0, channel])
    assert np.allclose(drawn, np.minimum(read / read[1:].max(), 1))


def test_without_a_channel_it_is_how_far_a_step_moved_the_cells() -> None:
    fig, frames = image_frames(IMAGES, ANSWERS, RIGHT)
    moved = np.sqrt(((IMAGES[1:] - IMAGES[:-1]) ** 2).mean(-1))
    for t in range(1, S):
        levels = np.round(5 * moved[t - 1] / moved.max()).astype(int)
        assert cells(at_frame(fig, frames[t])) == {place: level for place, level in np.ndenumerate(levels) if level}


def test_wrong_answers_are_crossed_at_their_step_and_place() -> None:
    fig, frames = image_frames(IMAGES, ANSWERS, RIGHT)
    crosses = fig.axes[0].get_lines()[0]
    assert set(zip(crosses.get_xdata(), crosses.get_ydata(), strict=True)) == {(2, 0), (1, 0), (1, 1), (0, 2)}
    at_frame(fig, frames[2])
    assert line(fig, "wrong").tolist() == [[0], [W + 1]] and line(fig, "cursor")[1].tolist() == [2, 2]
    assert [text.get_text() for text in fig.axes[1].texts] == ["0", "0", "1", "1", "0", "1"]


def test_it_is_a_film_that_follows_the_page() -> None:
    fig, frames = image_frames(IMAGES, ANSWERS, RIGHT)
    check_follows_page(fig)
    fig, frames = image_frames(IMAGES, ANSWERS, RIGHT)
    page = film(fig, frames, "Step", labels=[str(t) for t in range(S)], alt="A carry travels.").data
    assert page.count("data-moves") >= 10 and "A carry travels." in page


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"images": IMAGES[0]}, r"images must have shape \(S, n, w, m\), got \(3, 2, 5\)"),
        ({"images": IMAGES * np.nan}, "images must be finite"),
        ({"images": IMAGES[:, :, :0]}, r"images must have shape \(S, n, w, m\), got \(4, 3, 0, 5\)"),
        ({"answers": ANSWERS[1:]}, r"answers must have shape \(4, 3\), got \(3, 3\)"),
        ({"right": [0, 1]}, r"right must have shape \(3,\), got \(2,\)"),
        ({"channel": 5}, "channel must be from 0 to 4, got 5"),
        ({"channel": -1}, "channel must be from 0 to 4, got -1"),
    ],
)
def test_what_does_not_fit_is_refused(changes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        image_frames(**{"images": IMAGES, "answers": ANSWERS, "right": RIGHT} | changes)
