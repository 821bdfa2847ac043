"""The kernel's slider, and the attention view."""

import html
import json
import re
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from rtx_book.page.attention import LIBRARIES, attention_view
from rtx_book.page.explorer import slider

TOKENS = ["the", "cat", "</s>", 'say "hi"']


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


def test_weights_of_other_words_are_refused() -> None:
    with pytest.raises(ValueError, match=r"T = 4 and S = 3 tokens, got \(3, 2, 3, 4\)"):
        view(attention().swapaxes(2, 3))


def test_the_view_is_the_same_twice_and_for_every_kind_of_input() -> None:
    layers = list(attention())
    tensors = [torch.from_numpy(layer)[None].requires_grad_() for layer in layers]
    views = [view(given, layer=1) for given in (attention(), layers, [layer[None] for layer in layers], tensors)]
    assert len(set(views)) == 1
    assert not views[0].lstrip().startswith("<iframe") and 'title="t"' in views[0]
    assert re.search(r'<p class="fig-title"[^>]*>t</p><iframe', views[0]), "what is shown stands above"
