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

from rtx_lib.plots import (
    INK,
    attention_heatmap,
    attention_view,
    bands,
    baseline,
    error_axes,
    evaluations,
    heatmap_size,
    label_lines,
    live,
    provenance,
    record_bands,
    smooth,
    to_svg,
)
from rtx_lib.plots.attention import LIBRARIES
from rtx_lib.plots.curves import spread

TOKENS = ["the", "cat", "</s>", 'say "hi"']


def attention() -> np.ndarray:
    weights = np.random.default_rng(0).random((3, 2, 4, 4))
    return weights / weights.sum(-1, keepdims=True)


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
    slider, picture = live(draw, [1, 2, 5], "width", "{} units", start=1).children
    assert slider.description == "width" and slider.label == "2 units"
    assert 'aria-label="width = 2 units"' in picture.value
    before = picture.value
    slider.value = 2
    assert picture.value != before and 'aria-label="width = 5 units"' in picture.value
    assert not plt.get_fignums()


def test_an_error_while_drawing_is_seen() -> None:
    slider, picture = live(draw, [1, -1], "width").children
    with pytest.raises(ArithmeticError):
        slider.value = 1
    assert "ArithmeticError: no picture &lt;below&gt; zero" in picture.value


def test_live_refuses_a_start_outside() -> None:
    with pytest.raises(ValueError, match="start must be"):
        live(draw, [1, 2], "width", start=-1)


# ---- attention


def inside(text: str) -> str:
    """The page within the iframe."""
    (source,) = re.findall(r'srcdoc="([^"]*)"', text)
    return html.unescape(source)


@pytest.mark.parametrize("kind", ["head", "model"])
def test_the_view_asks_for_two_libraries_and_nothing_else(kind: Any) -> None:
    page = inside(attention_view(attention(), TOKENS, kind, title="three layers").data)
    assert re.findall(r'<script src="([^"]*)"', page) == list(LIBRARIES)
    assert LIBRARIES == (
        "https://cdn.jsdelivr.net/npm/jquery@3.7.1/dist/jquery.min.js",
        "https://cdn.jsdelivr.net/npm/d3@5.7.0/dist/d3.min.js",
    )
    assert set(re.findall(r"https?://[^\s'\"]+", page)) - set(LIBRARIES) <= {
        "https://github.com/tensorflow/tensor2tensor/blob/master/tensor2tensor/visualization/attention.js"
    }
    assert "require.min.js" not in page and "require.config" not in page
    assert page.count("<script") == page.count("</script>") == 4


def test_the_view_holds_the_weights_once_and_rounded() -> None:
    page = inside(attention_view(attention(), TOKENS, title="three layers").data)
    (found,) = re.findall(r"const params = (\{.*\});", page)
    params = json.loads(found)
    np.testing.assert_array_equal(params["attention"][0]["attn"], attention().round(3))
    assert params["attention"][0]["left_text"] == TOKENS
    assert "PYTHON_PARAMS" not in page and "PYTHON_PARAMS" not in page


def test_the_view_is_the_same_twice_and_for_every_kind_of_input() -> None:
    weights = attention()
    views = [
        attention_view(given, TOKENS, title="t", layer=1).data
        for given in (
            weights,
            list(weights),
            [layer[None] for layer in weights],
            [torch.from_numpy(layer)[None].requires_grad_() for layer in weights],
        )
    ]
    assert len(set(views)) == 1
    assert not views[0].lstrip().startswith("<iframe") and 'title="t"' in views[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "neuron"}, "kind must be 'head' or 'model', got 'neuron'"),
        ({"title": " "}, "title must"),
        ({"tokens": ["one"]}, r"T = 1 tokens, got \(2, 4, 4\) for layer 0"),
        ({"attention": []}, "layers of one shape"),
        ({"attention": [np.full((1, 1, 4, 4), np.nan)]}, "finite"),
        ({"attention": [np.ones((1, 2, 4, 4)), np.ones((1, 3, 4, 4))]}, "layers of one shape"),
    ],
)
def test_the_view_refuses_bad_arguments(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        attention_view(**({"attention": attention(), "tokens": TOKENS, "title": "t"} | change))


SOURCE = ["<s>", "die", "Katze"]


def three_maps() -> dict[str, np.ndarray]:
    """Maps of an encoder-decoder model whose encoder reads 3 tokens and whose decoder reads 4."""
    random = np.random.default_rng(1)
    shapes = {"cross": (4, 3), "encoder": (3, 3), "decoder": (4, 4)}
    return {name: random.dirichlet(np.ones(keys), (3, 2, queries)) for name, (queries, keys) in shapes.items()}


def params(view: Any) -> dict[str, Any]:
    """What the page hands to bertviz's script."""
    (found,) = re.findall(r"const params = (\{.*\});", inside(view.data))
    return json.loads(found)


@pytest.mark.parametrize("kind", ["head", "model"])
def test_a_cross_map_has_queries_on_the_left_and_keys_on_the_right(kind: Any) -> None:
    weights = three_maps()["cross"]
    (shown,) = params(attention_view(weights, TOKENS, kind, source=SOURCE, title="cross"))["attention"]
    np.testing.assert_array_equal(shown["attn"], weights.round(3))
    assert (shown["left_text"], shown["right_text"]) == (TOKENS, SOURCE)


@pytest.mark.parametrize("kind", ["head", "model"])
def test_the_three_maps_of_an_encoder_decoder_model(kind: Any) -> None:
    maps = three_maps()
    view = attention_view(maps, TOKENS, kind, source=SOURCE, title="three maps")
    shown = {entry["name"].lower(): entry for entry in params(view)["attention"]}
    assert set(shown) == set(maps)
    for name, (left, right) in {
        "encoder": (SOURCE, SOURCE),
        "decoder": (TOKENS, TOKENS),
        "cross": (TOKENS, SOURCE),
    }.items():
        np.testing.assert_array_equal(shown[name]["attn"], maps[name].round(3))
        assert (shown[name]["left_text"], shown[name]["right_text"]) == (left, right)
    page = inside(view.data)
    assert re.findall(r"<option value=.(\d).>([^<]*)", page) == [
        ("0", "encoder self-attention"),
        ("1", "masked decoder self-attention"),
        ("2", "encoder-decoder attention"),
    ]
    assert 'aria-label="attention map"' in page and "require.min.js" not in page and "PYTHON_PARAMS" not in page
    assert page.count("<script") == page.count("</script>") == 4
    assert re.findall(r'<script src="([^"]*)"', page) == list(LIBRARIES)
    again = attention_view(maps, TOKENS, kind, source=SOURCE, title="three maps")
    assert again.data == view.data


def test_a_part_of_the_maps_will_do() -> None:
    maps = three_maps()
    tensors = [torch.from_numpy(layer)[None].requires_grad_() for layer in maps["cross"]]
    some = attention_view({"cross": tensors, "encoder": maps["encoder"]}, TOKENS, source=SOURCE, title="t")
    assert [entry["name"] for entry in params(some)["attention"]] == ["Encoder", "Cross"]
    alone = attention_view({"cross": tensors}, TOKENS, source=SOURCE, title="t")
    assert alone.data == attention_view(maps["cross"], TOKENS, source=SOURCE, title="t").data


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"source": ["one"]},
            r"encoder attention must .* \(1, H, S, S\) .* with S = 1 tokens, got \(2, 3, 3\) for layer 0",
        ),
        ({"tokens": SOURCE}, r"decoder attention must .* with T = 3 tokens, got \(2, 4, 4\) for layer 0"),
        ({"source": None}, "source must hold the encoder's tokens, got None"),
        ({"attention": {"self": attention()}}, r"maps named \['encoder', 'decoder', 'cross'\], got \['self'\]"),
        ({"attention": {}}, "attention must hold maps"),
        ({"attention": three_maps() | {"cross": np.ones((3, 1, 4, 3))}}, "as many layers and heads in every map"),
        (
            {"attention": three_maps()["cross"].swapaxes(2, 3)},
            r"T = 4 tokens and S = 3 tokens, got \(2, 3, 4\) for layer 0",
        ),
        ({"attention": three_maps() | {"cross": np.full((3, 2, 4, 3), np.inf)}}, "cross attention must be finite"),
    ],
)
def test_the_encoder_decoder_view_refuses_bad_arguments(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        attention_view(**({"attention": three_maps(), "tokens": TOKENS, "source": SOURCE, "title": "t"} | change))


def test_heatmap_writes_the_numbers_and_stays_small() -> None:
    fig, ax = plt.subplots()
    attention_heatmap(ax, torch.tensor([[1.0, 0.0], [0.25, 0.75]]), ["a", "b"], ["c", "d"])
    assert [text.get_text() for text in ax.texts] == ["1.00", ".25", ".75"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["c", "d"]
    fig, ax = plt.subplots()
    attention_heatmap(ax, np.eye(20), ["a"] * 20, ["b"] * 20)
    assert [text.get_text() for text in ax.texts] == ["fullest colour = 1.00"]
    assert len(to_svg(fig, "a diagonal")) < 30_000


@pytest.mark.parametrize(("queries", "keys"), [(5, 9), (40, 40), (12, 30)])
def test_a_heatmaps_tokens_do_not_touch(queries: int, keys: int) -> None:
    rows, columns = ["hundert"] * queries, ["nineteen", ",", "and"] * (keys // 3) + ["two"] * (keys % 3)
    fig, ax = plt.subplots(figsize=heatmap_size(rows, columns))
    attention_heatmap(ax, np.eye(queries, keys), rows, columns)
    assert max(fig.get_size_inches()) < 6.7  # about the width of a page's column
    fig.draw_without_rendering()
    cell = ax.get_window_extent().height / queries
    assert cell >= ax.get_yticklabels()[0].get_window_extent().height * 0.8  # a line's height holds some air
    assert cell >= ax.get_xticklabels()[0].get_fontsize() * fig.dpi / 72
    assert len(to_svg(fig, "a diagonal")) < 60_000


@pytest.mark.parametrize(("queries", "memory"), [(4, 6), (12, 24), (8, 2), (12, 1)])
def test_a_border_parts_memory_and_segment(queries: int, memory: int) -> None:
    rows, columns = ["a"] * queries, ["b"] * (memory + queries)
    fig, ax = plt.subplots(figsize=heatmap_size(rows, columns, border=memory))
    attention_heatmap(ax, np.tri(queries, memory + queries, memory), rows, columns, border=memory)
    (line,) = (line for line in ax.get_lines() if line.get_gid() == "border")
    assert set(line.get_xdata()) == {memory - 0.5} and line.get_color() == INK
    fig.draw_without_rendering()
    place = ax.transData.transform((memory - 0.5, queries - 0.5))
    named = {text.get_text(): text.get_window_extent() for text in ax.texts if not text.get_text()[0].isdigit()}
    assert named["memory"].x1 < place[0] < named["segment"].x0
    others = [box for word, box in named.items() if word.startswith("fullest")]
    assert len(others) == (memory + queries > 12)
    boxes = [*others, ax.xaxis.label.get_window_extent(), named["memory"], named["segment"]]
    assert all(box.y0 >= 0 and box.y1 <= fig.bbox.height and box.x0 >= 0 for box in boxes)
    assert not any(one.overlaps(other) for i, one in enumerate(boxes) for other in boxes[:i])


def test_a_view_over_memory_and_segment_needs_no_encoder() -> None:
    """Rectangular maps take bertviz's cross-attention form: queries on the left, all keys on the right."""
    keys = ["once", "upon", *TOKENS]
    weights = np.tri(4, 6, 2)[None, None] / np.arange(3, 7)[:, None]
    for kind in ("head", "model"):
        page = html.unescape(attention_view(weights, TOKENS, kind, source=keys, title="memory and segment").data)
        assert "encoder" not in page.partition("<script type")[0] and '"upon"' in page


def test_heatmap_of_nothing_but_zeros() -> None:
    _, ax = plt.subplots()
    attention_heatmap(ax, np.zeros((2, 2)), ["a", "b"], ["c", "d"])
    assert not ax.texts


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
    assert text.startswith("2 recorded runs, seeds 1, 2; 30 steps; cpu, 1 thread; commit 0123456; 3 min in all.")
    assert '<a href="../book/records.html#recipe-adding-T50">adding-T50</a> s2 s1' in text
    other = record(1, seconds=5, device={"name": "<H>", "threads": 2})
    assert provenance([other]).startswith("1 recorded run, seed 1; 30 steps; &lt;H&gt;, 2 threads; commit 0123456; 5 s")
    assert "<details>" not in text
    many = provenance([record(recipe=f"r{i}", configuration={"steps": 10 * i}) for i in (1, 2, 3)])
    assert "; 10 to 30 steps; " in many and "<summary>The 3 records</summary>" in many
