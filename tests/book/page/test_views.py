"""The kernel's slider, the attention views, and what chapters draw from records."""

import html
import itertools
import json
import re
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from matplotlib.text import Text

from rtx_book.page.attention import LIBRARIES, attention_view
from rtx_book.page.explorer import slider
from rtx_lib.plots import bands, baseline, error_axes, evaluations, label_lines, provenance, record_bands, smooth
from rtx_lib.plots.curves import spread

TOKENS = ["the", "cat", "</s>", 'say "hi"']


def record(seed: int = 1, **changes: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "recipe": "adding-T50",
        "configuration": {"steps": 30},
        "seed": seed,
        "commit": "0123456789abcdef",
        "device": {"name": "cpu", "threads": 1},
        "seconds": 90.0,
    }
    return made | changes


# ---- the kernel's slider


def draw(value: int) -> Figure:
    if value < 0:
        raise ArithmeticError("no picture <below> zero")
    fig, ax = plt.subplots()
    ax.plot([0, value])
    return fig


def test_moving_the_slider_draws_anew() -> None:
    control, picture = slider(draw, [1, 2, 5], "width", "{} units", start=1).children
    assert control.description == "width" and control.label == "2 units"
    assert 'aria-label="width = 2 units"' in picture.value
    before = picture.value
    control.value = 2
    assert picture.value != before and 'aria-label="width = 5 units"' in picture.value
    assert not plt.get_fignums()


def test_an_error_while_drawing_is_seen() -> None:
    control, picture = slider(draw, [1, -1], "width").children
    with pytest.raises(ArithmeticError):
        control.value = 1
    assert "ArithmeticError: no picture &lt;below&gt; zero" in picture.value


def test_slider_refuses_a_start_outside() -> None:
    with pytest.raises(ValueError, match="start must be"):
        slider(draw, [1, 2], "width", start=-1)


# ---- attention

SOURCE = ["<s>", "die", "Katze"]


def attention() -> np.ndarray:
    return np.random.default_rng(0).dirichlet(np.ones(3), (3, 2, 4))


def view(given: Any = None, **changes: Any) -> str:
    return attention_view(attention() if given is None else given, TOKENS, source=SOURCE, title="t", **changes).data


def inside(text: str) -> str:
    """The page within the iframe."""
    (source,) = re.findall(r'srcdoc="([^"]*)"', text)
    return html.unescape(source)


def test_the_view_asks_for_two_libraries_and_nothing_else() -> None:
    page = inside(view())
    assert re.findall(r'<script src="([^"]*)"', page) == list(LIBRARIES)
    assert LIBRARIES == (
        "https://cdn.jsdelivr.net/npm/jquery@3.7.1/dist/jquery.min.js",
        "https://cdn.jsdelivr.net/npm/d3@5.7.0/dist/d3.min.js",
    )
    assert set(re.findall(r"https?://[^\s'\"]+", page)) - set(LIBRARIES) <= {
        "https://github.com/tensorflow/tensor2tensor/blob/master/tensor2tensor/visualization/attention.js"
    }
    assert "require.min.js" not in page and "require.config" not in page and 'aria-label="layer"' in page
    assert page.count("<script") == page.count("</script>") == 4


def test_the_view_holds_the_weights_once_and_rounded_queries_left_and_keys_right() -> None:
    page = inside(view())
    (found,) = re.findall(r"const params = (\{.*\});", page)
    (shown,) = json.loads(found)["attention"]
    np.testing.assert_array_equal(shown["attn"], attention().round(3))
    assert (shown["left_text"], shown["right_text"]) == (TOKENS, SOURCE)
    assert "PYTHON_PARAMS" not in page and "encoder" not in page.partition("<script type")[0]


def test_one_layer_and_one_head_leave_nothing_to_choose() -> None:
    assert 'style="display:none"' not in inside(view())
    page = inside(attention_view(attention()[:1, :1], TOKENS, source=SOURCE, title="t").data)
    assert 'style="display:none"' in page and "if(config.headVis.length>1)drawCheckboxes" in page


def test_the_view_is_the_same_twice_and_for_every_kind_of_input() -> None:
    layers = list(attention())
    tensors = [torch.from_numpy(layer)[None].requires_grad_() for layer in layers]
    views = [view(given, layer=1) for given in (attention(), layers, [layer[None] for layer in layers], tensors)]
    assert len(set(views)) == 1
    assert not views[0].lstrip().startswith("<iframe") and 'title="t"' in views[0]
    assert re.search(r'<p class="fig-title"[^>]*>t</p><iframe', views[0]), "what is shown stands above"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"title": " "}, "title must"),
        ({"tokens": ["one"]}, r"with T = 1 and S = 3 tokens, got \[\(2, 4, 3\), "),
        ({"attention": attention().swapaxes(2, 3)}, r"with T = 4 and S = 3 tokens, got \[\(2, 3, 4\), "),
        ({"attention": []}, "layers of one shape"),
        ({"attention": [np.full((1, 1, 4, 3), np.nan)]}, "finite"),
        ({"attention": [np.ones((1, 2, 4, 3)), np.ones((1, 3, 4, 3))]}, "layers of one shape"),
    ],
)
def test_the_view_refuses_bad_arguments(change: dict[str, Any], message: str) -> None:
    good = {"attention": attention(), "tokens": TOKENS, "source": SOURCE, "title": "t"}
    with pytest.raises(ValueError, match=message):
        attention_view(**(good | change))


# ---- curves


def test_evaluations_of_several_runs_stand_on_common_steps() -> None:
    early = record(evaluations=[{"step": 10, "accuracy": 0.5}, {"step": 20, "accuracy": 0.7, "loss": 1.0}])
    late = record(evaluations=[{"step": 20, "accuracy": 0.6}, {"step": 30, "loss": 2.0}])
    steps, values = evaluations([early, late], "accuracy")
    assert steps.tolist() == [10, 20]
    np.testing.assert_array_equal(values, [[0.5, 0.7], [np.nan, 0.6]])


def test_smooth_is_a_running_mean() -> None:
    np.testing.assert_allclose(smooth([1, 2, 3, 4], 2), [1, 1.5, 2.5, 3.5])
    np.testing.assert_allclose(smooth([1, 2, 3, 4], 9), [1, 1.5, 2, 2.5])
    np.testing.assert_allclose(smooth(np.ones((2, 5)), 1), np.ones((2, 5)))


def test_bands_draw_median_and_range() -> None:
    _, ax = plt.subplots()
    values = np.array([[1, 2, np.nan], [3, 9, np.nan], [5, 4, np.nan]])
    line = bands(ax, values, "T = 10", steps=[10, 20, 30])
    np.testing.assert_array_equal(line.get_xydata(), [[10, 3], [20, 4]])
    (band,) = ax.collections
    assert band.get_datalim(ax.transData).bounds == (10, 1, 10, 8)
    second = bands(ax, [1.0, 2.0], "one run")
    assert len(ax.collections) == 1
    assert (second.get_color(), second.get_marker()) != (line.get_color(), line.get_marker())
    baseline(ax, 1 / 6, "always predict 1")
    assert bands(ax, [1.0, 2.0], "third").get_marker() == "^"  # a baseline uses no colour of the cycle


def test_record_bands_draw_each_name_that_has_records() -> None:
    found = [record(evaluations=[{"step": 10, "mse": mse}, {"step": 20, "mse": mse / 10}]) for mse in (0.1, 0.2, 0.6)]
    _, ax = plt.subplots()
    record_bands(ax, {"none": [], "some": found, "one": found[:1]}, "mse", markevery=1)
    some, one = ax.get_lines()
    assert (some.get_label(), one.get_label(), some.get_markevery()) == ("some", "one", 1)
    np.testing.assert_allclose(some.get_xydata(), [(10, 0.2), (20, 0.02)])
    np.testing.assert_allclose(one.get_xydata(), [(10, 0.1), (20, 0.01)])
    assert len(ax.collections) == 1 and some.get_color() != one.get_color()


def test_error_axes_are_logarithmic_with_levels_and_names() -> None:
    _, ax = plt.subplots()
    bands(ax, [0.1, 0.01], "LSTM")
    error_axes(ax, 1 / 6, 1 / 60, xlim=(0, 3), ylabel="error")
    assert (ax.get_yscale(), ax.get_xlabel(), ax.get_ylabel()) == ("log", "training step", "error")
    assert ax.get_xlim() == (0, 3)
    assert [line.get_ydata()[0] for line in ax.get_lines()[1:]] == [1 / 6, 1 / 60]
    assert [text.get_text() for text in ax.texts if text.get_text()] == ["LSTM"]


def test_labels_stand_at_the_lines_ends_without_overlap() -> None:
    fig, ax = plt.subplots()
    for k in range(4):
        ax.plot([0, 1], [0, 1 + 0.001 * k], label=f"line {k}")
    ax.plot([0, 1], [0, -5], label="_hidden")
    ax.plot([0, 1], [np.nan, np.nan], label="empty")
    label_lines(ax)
    fig.canvas.draw()
    boxes = sorted((Text.get_window_extent(text) for text in ax.texts), key=lambda box: box.y0)
    assert [text.get_text() for text in ax.texts] == [f"line {k}" for k in range(4)]
    assert all(low.y1 <= high.y0 + 1 for low, high in itertools.pairwise(boxes))
    assert all(box.x1 <= fig.bbox.x1 for box in boxes)


def test_spread_moves_as_little_as_need_be() -> None:
    assert spread([10, 50], 12, 0, 100) == [10, 50]
    assert spread([50, 50], 12, 0, 100) == [44, 56]
    assert spread([100, 100], 12, 0, 100) == [88, 100]
    assert spread([0, 0, 40], 12, 0, 100) == [0, 12, 40]
    assert spread([], 12, 0, 100) == []


def test_provenance_says_how_and_links_each_record() -> None:
    text = provenance([record(2), record(1)])
    assert provenance({"a": [record(2)], "none": [], "b": [record(1)]}) == text
    assert text.startswith("2 recorded runs of 30 steps, seeds 1, 2. <details><summary>")
    assert "cpu, 1 thread; commit 0123456; 3 min in all." in text
    assert '<a href="../book/records.html#recipe-adding-T50">adding-T50</a> s2 s1' in text
    other = record(1, seconds=5, device={"name": "<H>", "threads": 2})
    alone = provenance([other])
    assert alone.startswith("1 recorded run of 30 steps, seed 1.")
    assert "&lt;H&gt;, 2 threads; commit 0123456; 5 s" in alone
    many = provenance([record(recipe=f"r{i}", configuration={"steps": 10 * i}) for i in (1, 2, 3)])
    assert " of 10 to 30 steps, " in many and all(f"recipe-r{i}" in many for i in (1, 2, 3))
