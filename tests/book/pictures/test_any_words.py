"""Words of any kind are drawn as they are, in every figure that takes words."""

import io
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pytest

from rtx_book.page.figure import to_svg
from rtx_book.pictures.language_models import draw_cuts, draw_passage
from rtx_book.pictures.orders import draw_order
from rtx_book.pictures.pretraining import draw_fillings
from rtx_book.pictures.reading import draw_hops
from rtx_book.pictures.recurrence_returns import draw_states
from rtx_book.pictures.transformer_xl import draw_expected
from rtx_lib.plots import attention_heatmap, attention_panels, attention_stack, draw_alignment
from rtx_lib.plots.style import literal, style

WORDS = ["$", "$5", "$x$", "$$", r"$\frac$", r"a_$b_1$", r"\$", "x^2", "<b>", "&", "a\x00b", "\x0c", "\ud800", "\ufffe"]
WORDS += ["שלום", "300" * 100]
EVEN = np.full((16, 16), 1 / 16)


def heatmap(words):
    fig, ax = plt.subplots()
    attention_heatmap(ax, EVEN, words, words)
    return fig


FIGURES = {
    "heatmap": heatmap,
    "panels": lambda w: attention_panels({"a": (EVEN, w, w)}, xlabel="x", ylabel="y"),
    "stack": lambda w: attention_stack({"a": EVEN}, w, w, border=3),
    "alignment": lambda w: draw_alignment(w, w, EVEN + np.eye(16), marked=[1], rows=3),
    "fillings": lambda w: draw_fillings(w, 1, w, {"m": EVEN[0]}, rows=16),
    "cuts": lambda w: draw_cuts(EVEN[0], {"all": EVEN[0]}, w),
    "passage": lambda w: draw_passage(w, EVEN[0]),
    "order": lambda w: draw_order(w, [3, 0, 1]),
    "hops": lambda w: draw_hops(w, EVEN[:2], " ".join(w), w[0], right=w[1]),
    "states": lambda w: draw_states({"m": EVEN}, w, w, row=w[2]),
    "expected": lambda w: draw_expected("".join(x[0] for x in w), [EVEN[:2]], "".join(x[-1] for x in w), EVEN[0])[
        "still"
    ],
}


@pytest.mark.filterwarnings("ignore:Glyph:UserWarning", "ignore:.*layout:UserWarning")
@pytest.mark.parametrize("name", FIGURES)
def test_any_word_is_drawn_as_it_is(name):
    with style():
        fig = FIGURES[name](WORDS)
        fig.savefig(io.BytesIO(), format="png")
        drawn = {text._preprocess_math(text.get_text()) for text in fig.findobj(plt.Text)}
        assert not any(math for _, math in drawn)
        ElementTree.fromstring(to_svg(fig, f"The words {' '.join(WORDS)}"))
    whole = "\n".join(text for text, _ in drawn)
    wanted = [literal(word).replace(r"\$", "$") for word in WORDS]
    assert all(word in whole for word in (wanted if name != "expected" else [word[0] for word in wanted]))


def test_the_words_are_themselves():
    shown = [text._preprocess_math(text.get_text())[0] for text in heatmap(WORDS).axes[0].get_yticklabels()]
    for word, seen in zip(WORDS, shown, strict=True):
        assert seen == "".join("\ufffd" if c in "\x00\x0c\ud800\ufffe" else c for c in word)
