"""Inline figures and the explorer: deterministic, self-contained, named, small."""

import re
from html.parser import HTMLParser
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from rtx_book.page.explorer import explorer
from rtx_book.page.figure import show, to_svg
from rtx_book.pictures.race import draw_looks
from rtx_lib.plots import CYCLE, DASHES, INK, LOOKS, MARKERS, STYLE, baseline, label_lines, look, style, use_style

VOID = {"input", "br", "meta", "img"}


class Page(HTMLParser):
    """Collects start tags; fails where an element is not closed in order or an attribute comes twice."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, Any]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert not self.open, f"left open: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"an attribute of <{tag}> comes twice"
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str) -> list[dict[str, Any]]:
        return [attrs for name, attrs in self.tags if name == tag]

    def ids(self) -> list[str]:
        return [attrs["id"] or "" for _, attrs in self.tags if "id" in attrs]


def sine(period: float = 5.0, points: int = 100) -> Figure:
    fig, ax = plt.subplots()
    x = np.arange(points)
    ax.plot(x, np.sin(x / period), "-o", markevery=10)
    ax.fill_between(x, -1, 0, hatch="//", facecolor="none")
    ax.imshow(np.eye(3), extent=(0, 3, 0, 1), interpolation="none")
    ax.set(xlabel="t", ylabel="$h_t$", title="a < b & c")
    return fig


def test_same_figure_same_bytes_apart_from_the_prefix() -> None:
    open_before = plt.get_fignums()
    first, second = to_svg(sine(), "a sine"), to_svg(sine(), "a sine")
    assert first != second
    assert first.replace("f1-", "f2-") == second
    assert plt.get_fignums() == open_before, "a figure was left open"


def test_ids_are_unique_and_references_resolve_over_two_figures() -> None:
    text = to_svg(sine(), "one sine") + to_svg(sine(), "two sines")
    ids = Page(text).ids()
    assert len(ids) == len(set(ids))
    references = re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', text)
    assert references
    assert {a or b for a, b in references} <= set(ids)


def test_nothing_of_the_file_format_leaks_into_the_page() -> None:
    text = to_svg(sine(), "a sine")
    for leak in ("<style", "<metadata", "xmlns", "<?xml", "<!DOCTYPE", "<!--", INK, "matplotlib.org"):
        assert leak not in text, leak
    assert "currentColor" in text
    assert "a &lt; b &amp; c" in text
    assert not re.search(r' d="[^"]*\d\.\d{3}', text)


def test_a_figure_is_one_named_picture() -> None:
    page = Page(show(sine(), ' loss < 1 & "falls" ', "caption <b>bold</b>").data)
    (svg,) = page.all("svg")
    assert svg["role"] == "img"
    assert svg["aria-label"] == 'loss < 1 & "falls"'
    assert (svg["width"], svg["height"]) == ("557", "336")
    assert len(page.all("figcaption")) == 1 and len(page.all("b")) == 1


@pytest.mark.parametrize("alt", ["  ", "Losses.", None])
def test_alt_is_required(alt: object) -> None:
    with pytest.raises(ValueError, match="alt must"):
        show(sine(), alt)  # type: ignore[arg-type]


def test_only_wide_figures_scroll_and_the_box_takes_the_keyboard() -> None:
    assert "overflow" not in show(sine(), "a sine").data
    (box,) = Page(show(sine(), "a sine", wide=True).data).all("div")
    assert box["tabindex"] == "0" and box["role"] == "region" and box["aria-label"]
    assert box["style"] == "overflow-x:auto"


def test_a_title_stands_above_and_names_the_figure() -> None:
    text = show(sine(), "a sine", "below", title="It falls by 3 &lt; 4 <em>steps</em>").data
    (figure,) = Page(text).all("figure")
    assert figure["aria-label"] == "It falls by 3 < 4 steps"
    assert text.index("fig-title") < text.index("<svg") < text.index("<figcaption")
    assert "<em>steps</em></p>" in text
    assert "aria-label" not in Page(show(sine(), "a sine").data).all("figure")[0]
    moved = explorer(lambda a: sine(), [1, 2], "a", alt=lambda v: "a sine", title="It moves").data
    assert Page(moved).all("figure")[0]["aria-label"] == "It moves"


@pytest.mark.parametrize("size, width, scrolls", [(12, 5.8, False), (9, 5.8, True), (12, 7, True), (14, 6.8, False)])
def test_text_is_large_enough_on_a_phone_or_the_figure_scrolls(size: float, width: float, scrolls: bool) -> None:
    fig, ax = plt.subplots(figsize=(width, 2))
    ax.set_axis_off()
    ax.text(0.5, 0.5, "$10^{-3}$ of it", fontsize=size)
    page = Page(show(fig, "a number").data)
    assert bool(page.all("div")) == scrolls
    (svg,) = page.all("svg")
    found = re.search(r"min-width:(\d+)px", str(svg["style"]))
    assert bool(found) == scrolls
    if found:
        assert int(found[1]) * size / (width * 72) == pytest.approx(10, abs=0.1)


def test_labels_have_the_ground_of_the_page_around_them() -> None:
    fig, ax = plt.subplots()
    ax.plot([0, 1], [0, 1], label="line")
    baseline(ax, 0.5, "level")
    label_lines(ax)
    text = show(fig, "a line").data
    grounds = re.findall(r'<g style="paint-order:stroke[^"]*--pst-color-background[^"]*">', text)
    assert len(grounds) == 2 and 'id="f1-halo"' not in text


def test_style_is_undone_and_use_style_stays() -> None:
    with mpl.rc_context():
        mpl.rcParams["text.color"] = "black"
        with style():
            assert mpl.rcParams["text.color"] == INK
        assert mpl.rcParams["text.color"] == "black"
        use_style()
        assert all(mpl.rcParams[key] == value for key, value in STYLE.items() if key.endswith("labelsize"))
        assert mpl.rcParams["text.color"] == INK


def luminance(colour: str) -> float:
    """Relative luminance of an ``#rrggbb`` colour (WCAG 2.2)."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return float(np.dot((0.2126, 0.7152, 0.0722), linear))


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_colours_reach_three_to_one_on_the_light_background_and_both_dark_ones() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#808080", "#ffffff") == pytest.approx(3.95, abs=0.01)
    for colour in {*CYCLE, *(colour for own in LOOKS.values() for colour, _, _ in own.values())}:
        for background in ("#ffffff", "#121212", "#14181e"):
            assert contrast(colour, background) >= 3, (colour, background)


def test_lines_differ_without_colour() -> None:
    assert len(CYCLE) == len(DASHES) == len(MARKERS)
    assert len(set(map(str, DASHES))) == len(set(MARKERS)) == len(CYCLE)
    looks = {name: tuple(map(str, row)) for own in LOOKS.values() for name, row in own.items()}
    colours, _, markers = zip(*looks.values(), strict=True)
    assert len(set(colours)) == len(set(markers)) == len(looks), "no two models look alike"
    for often in ("rnn irnn lstm gru indrnn", "tcn r-transformer transformer transformer-xl"):
        assert len({looks[name][1] for name in often.split()}) == len(often.split()), f"one dash pattern twice: {often}"


def test_a_model_looks_the_same_under_all_its_names() -> None:
    names = {"rnn": "tanh RNN", "lstm": "LSTM, state carried", "deep-gru": "Deep-transition GRU", "irnn": "IRNN"}
    names |= {"transformer": "Transformer + sinusoidal", "transformer-none": "Transformer,\nno positions"}
    for key, said in names.items():
        assert look(key) == look(said) == look(key, 5)
    variants = [look(name) for name in ("r-transformer", "R-Transformer, window 1", "r-transformer-rotary")]
    assert len({str(one["linestyle"]) for one in variants}) == 3
    assert len({(one["color"], one["marker"]) for one in variants}) == 1
    assert look("memory 64", 7) == look(1) == {"color": CYCLE[1], "linestyle": DASHES[1], "marker": MARKERS[1]}
    assert look("rotary", 0) == look(0), "the ending of a variant alone is no model's"
    for name in ("perceptron", "rnns", ""):
        with pytest.raises(ValueError, match=f"name must be, or begin with, one of .*, got '{name}'"):
            look(name)


def test_the_table_of_looks_shows_every_model() -> None:
    (ax,) = draw_looks().axes
    words, lines = [text.get_text() for text in ax.texts], ax.get_lines()
    assert [word for word in words if word not in LOOKS] == [name for own in LOOKS.values() for name in own]
    assert [line.get_color() for line in lines] == [colour for own in LOOKS.values() for colour, _, _ in own.values()]


def test_explorer_shows_the_start_and_names_every_frame() -> None:
    values = [2, 4, 8]
    made = explorer(sine, values, "period", alt=lambda v: f"sine of period {v}", fmt="{} steps", start=1, caption="c")
    page = Page(made.data)
    frames = [attrs for attrs in page.all("div") if attrs.get("class") == "frame"]
    assert ["hidden" in attrs for attrs in frames] == [True, False, True]
    assert [attrs["data-label"] for attrs in frames] == ["2 steps", "4 steps", "8 steps"]
    assert [attrs["aria-label"] for attrs in page.all("svg")] == [f"sine of period {v}" for v in values]
    (slider,) = page.all("input")
    assert (slider["type"], slider["min"], slider["max"], slider["value"]) == ("range", "0", "2", "1")
    assert slider["aria-valuetext"] == "4 steps"
    assert "aria-valuetext" in (slider["oninput"] or "")
    assert any(attrs.get("onkeydown") == "event.stopPropagation()" for attrs in page.all("div"))
    assert not page.all("script") and not plt.get_fignums()
    assert len(page.ids()) == len(set(page.ids()))


def test_negative_values_have_a_minus_sign_and_texts_keep_their_hyphens():
    made = explorer(lambda a: sine(), [-0.5, 1e-5], "a", alt=lambda v: "a sine").data
    assert ">−0.5</output>" in made and 'data-label="1e-05"' in made
    assert 'data-label="pre-1"' in explorer(lambda a: sine(), ["pre-1", "b"], "a", alt=lambda v: "a sine").data


def test_explorer_can_write_below_each_frame_what_it_shows() -> None:
    made = explorer(sine, [2, 4], "period", alt=lambda v: f"a & {v}", said=True)
    assert [attrs["aria-hidden"] for attrs in Page(made.data).all("p")] == ["true"] * 2  # the picture's name has it
    assert made.data.count(">a &amp; 2</p></div>") == 1


def test_an_explorer_that_is_too_big_is_refused_with_its_size() -> None:
    def heavy(seed: int) -> Figure:
        fig, ax = plt.subplots()
        ax.plot(np.random.default_rng(seed).random(3_000), "o")
        return fig

    with pytest.raises(ValueError, match=r"the explorer takes \d+ kB, allowed are 600 kB"):
        explorer(heavy, range(4), "seed", alt=lambda v: "only noise")
