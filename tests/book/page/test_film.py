"""The film: numbers survive the way into the picture and back, gaps break lines, bad input is refused."""

import json
import re
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure
from page.test_figure import Page

from rtx_book.page.film import at_frame, film

X = np.linspace(0.0, 200.0, 41)
FRAMES = 4


def scene() -> Figure:
    fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3.5))
    left.plot([1], [1], gid="norm")
    left.set(yscale="log", xlim=(0, 200), ylim=(1e-6, 10), xlabel="t")
    left.axvline(0, gid="now")
    left.text(5, 3, "", gid="words")
    right.plot([0], [0], "o", gid="eigenvalues")
    right.set(xlim=(-1.5, 1.5), ylim=(-1.5, 1.5), aspect="equal")
    return fig


def frames() -> list[dict[str, Any]]:
    points, made = np.random.default_rng(0).normal(size=(FRAMES, 2, 6)), []
    for k in range(FRAMES):
        made.append({"norm": (X, np.exp(-(200 - X) / (20 + 10 * k))), "eigenvalues": (points[k, 0], points[k, 1])})
        made[k] |= {"now": ([40 * k, 40 * k], [0, 1]), "words": f"step {k} <&"}
    return made


def make(made: list[dict[str, Any]], fig: Figure | None = None, **settings: Any) -> Page:
    labels = [f"step {k}" for k in range(len(made))]
    arguments: dict[str, Any] = {"labels": labels, "alt": "Gradients reach further back."} | settings
    return Page(film(fig or scene(), made, "training step", **arguments).data)


def data(page: Page) -> dict[str, Any]:
    (found,) = (attrs for attrs in page.all("figure") if "data-film" in attrs)
    loaded: dict[str, Any] = json.loads(found["data-film"])
    return loaded


def numbers(path: str) -> np.ndarray:
    return np.array(re.findall(r"-?[\d.]+", path), dtype=float).reshape(-1, 2)


def frame_of_axes(page: Page, number: int) -> np.ndarray:
    """Corners of the axes' box in the picture, from its clip rectangle: ((x0, y0), (x1, y1)), lower left first."""
    rect = page.all("rect")[number]
    x, y, width, height = (float(rect[key]) for key in ("x", "y", "width", "height"))
    return np.array([[x, y + height], [x + width, y]])


def test_numbers_come_back_from_the_picture() -> None:
    page, made = make(frames()), frames()
    moves = data(page)["moves"]
    log_box, linear_box = frame_of_axes(page, 0), frame_of_axes(page, 1)
    for k in range(FRAMES):
        share = (numbers(moves[0][k]) - log_box[0]) / (log_box[1] - log_box[0])
        x, y = made[k]["norm"]
        np.testing.assert_allclose(200 * share[:, 0], x, atol=0.1)
        np.testing.assert_allclose(-6 + 7 * share[:, 1], np.log10(y), atol=2e-3)
        share = (numbers(moves[1][k]) - linear_box[0]) / (linear_box[1] - linear_box[0])
        np.testing.assert_allclose(-1.5 + 3 * share, np.array(made[k]["eigenvalues"]).T, atol=1e-3)
        share = (numbers(moves[2][k]) - log_box[0]) / (log_box[1] - log_box[0])
        np.testing.assert_allclose(share, [[0.2 * k, 0], [0.2 * k, 1]], atol=1e-3)
    assert moves[3] == [f"step {k} <&" for k in range(FRAMES)]


def test_the_first_picture_is_the_frame_at_start() -> None:
    page = make(frames(), start=2)
    moves = data(page)["moves"]
    paths = {attrs["data-moves"]: attrs["d"] for attrs in page.all("path") if "data-moves" in attrs}
    assert paths["0"] == moves[0][2] and paths["2"] == moves[2][2]
    uses = [attrs for attrs in page.all("use") if attrs.get("display") == "inline"]
    assert len(uses) == 6
    drawn = np.array([[float(attrs["x"]), float(attrs["y"])] for attrs in uses])
    np.testing.assert_allclose(drawn, numbers(moves[1][2]))
    assert "step 2 <&" in page.text
    (slider,) = page.all("input")
    assert slider["value"] == "2" and slider["aria-valuetext"] == "step 2"


def test_gaps_break_the_line_and_drop_the_point() -> None:
    made = frames()
    y = made[1]["norm"][1]
    y[5:8], y[20], y[30] = np.nan, 0.0, -1.0  # the last two cannot be shown on a logarithmic axis
    made[1]["eigenvalues"][0][2], made[0]["eigenvalues"][0][0] = np.inf, 1e300
    page = make(made)
    assert y[30] == -1.0, "the caller's arrays are left alone"
    moves = data(page)["moves"]
    assert moves[0][0].count("M") == 1
    assert moves[0][1].count("M") == 4
    assert len(numbers(moves[0][1])) == len(X) - 5
    assert len(numbers(moves[1][1])) == 5
    assert "n" not in moves[0][1] + moves[1][1] and "100000" in moves[1][0], "values near infinity stay short"


def test_play_and_range_are_named_and_nothing_starts_alone() -> None:
    page = make(frames(), fps=4, wide=True)
    (button,), (slider,), (svg,) = page.all("button"), page.all("input"), page.all("svg")
    assert button["type"] == "button" and data(page)["pause"] == 250
    assert "autoplay" not in str(page.tags) and not page.all("script")
    (style,) = page.all("style")
    assert style["onload"].startswith("((figure) => {") and "prefers-reduced-motion" in style["onload"] + page.text
    assert slider["type"] == "range" and svg["aria-label"] == "Gradients reach further back." and svg["role"] == "img"
    assert any(attrs.get("role") == "region" for attrs in page.all("div"))


def test_a_film_that_is_too_big_is_refused_with_its_size() -> None:
    x = np.linspace(0, 200, 20_000)
    made = [{"norm": (x, np.full_like(x, 0.1))} for _ in range(4)]
    with pytest.raises(ValueError, match=r"the film takes \d+ kB, allowed are 600 kB"):
        make(made)


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"labels": ["one"]}, r"labels must hold one text per frame \(4\), got 1"), ({"alt": " "}, "alt must")],
)
def test_bad_arguments_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(frames(), **settings)


def test_a_name_belongs_to_one_line_or_text() -> None:
    fig = scene()
    fig.axes[1].plot([0], [0], gid="norm")
    with pytest.raises(ValueError, match=r"got \['Line2D', 'Line2D'\]"):
        make(frames(), fig)
    made = frames()
    made[2]["loss"] = ([1], [1])
    with pytest.raises(ValueError, match="frames must all name the same artists"):
        make(made)
    with pytest.raises(ValueError, match=r"gid 'loss' .* got \[\]"):
        at_frame(scene(), {"loss": ([1], [1])})
