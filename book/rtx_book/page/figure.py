"""A matplotlib figure as inline SVG that follows the page's theme.

The page can restyle an inline SVG but not a picture file; so figures go into the output as HTML. What matplotlib
writes for a file of its own is cured on the way: its style sheet would apply to the whole page, its ids would clash
with the next figure's, its dates and hashes would differ from run to run.
"""

import functools
import html
import io
import itertools
import json
import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from IPython.display import HTML
from matplotlib.figure import Figure
from matplotlib.text import Text

from rtx_lib.plots.style import HALO, INK, printable

LEAST_TEXT, PHONE = 10, 358
"""Smallest text of a figure on a phone, and how wide a figure can be there, both in CSS pixels."""

LIMIT = 600_000
"""Largest explorer, film or table, in bytes: a page with four of them still opens on a phone."""

_SAVE: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "rtx", "savefig.bbox": "standard"}
_BASE_STYLE = "stroke-linejoin:round;stroke-linecap:butt"  # what matplotlib's own sheet says, for this SVG alone
_number = itertools.count(1)  # one prefix per figure of the process: the same in every run of a notebook


_GROUND = "var(--pst-color-background,var(--jp-layout-color0,var(--colab-primary-surface-color,Canvas)))"
_HALO_STYLE = f"paint-order:stroke;stroke-width:4px;stroke-linejoin:round;stroke:{_GROUND}"

_LINES = "lines-"
_LONG = re.compile(r"-?\d+\.\d{3,}")
_PLACE = re.compile(r"(?:translate\((\S+) (\S+)\))? ?(?:rotate\((\S+?)(?: (\S+) (\S+))?\))?")
_FONT_SIZE = re.compile(r"font(?:-size)?: [^;\"]*?([\d.]+)px")
_FONT_LIST = re.compile(r"('DejaVu Sans')(, '[^']*')+")


def require_alt(alt: object) -> str:
    """The text alternative, stripped, as a page can hold it."""
    if not isinstance(alt, str) or len(alt.split()) < 2:
        raise ValueError(f"alt must be a text that states what the figure shows, got {alt!r}")
    return printable(alt.strip())


def svg_tree(fig: Figure) -> ET.Element:
    """The figure's SVG as an element tree without metadata, style sheet, namespaces or long decimals; closes it.

    The tree's ``width`` and ``height`` are in CSS pixels, its user unit is the point (1/72 inch). Its class says how
    a page may widen it: what has axes of a fixed aspect is ``square``.
    """
    square = any(ax.get_aspect() != "auto" for ax in fig.axes)
    for words in fig.findobj(lambda artist: isinstance(artist, Text) and "\n" in artist.get_text()):
        words.set_gid(words.get_gid() or _LINES + words.get_horizontalalignment())  # type: ignore[attr-defined]
    buffer = io.BytesIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with mpl.rc_context(_SAVE):
        fig.savefig(buffer, format="svg", metadata=nothing, transparent=True)
    plt.close(fig)
    root = ET.fromstring(buffer.getvalue())
    for parent in list(root.iter()):
        for child in [child for child in parent if child.tag.endswith(("}metadata", "}style"))]:
            parent.remove(child)
    prefix = f"f{next(_number)}-"
    together: set[ET.Element] = set()
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        if element.get("id", "").startswith(_LINES):  # they keep their places to each other
            together.update(element.iter())
            side = element.attrib.pop("id").removeprefix(_LINES)
            element.set("style", f"transform-box: fill-box; transform-origin: {side}")
        if element.get("id") == HALO:
            del element.attrib["id"]
            element.set("style", _HALO_STYLE)
        for text in ("text", "tail"):
            value = getattr(element, text)
            if value is not None and "\n" in value and not value.strip():
                setattr(element, text, None)
        element.attrib = {key.rpartition("}")[2]: _clean(key, value, prefix) for key, value in element.attrib.items()}
        if element not in together:
            _pin(element)
    marks = {use.attrib["href"][1:] for use in root.iter("use") if use.get("x") != "0"}  # 0: a band, not a mark
    for path in [path for path in root.iter("path") if path.get("id") in marks]:
        path.set("class", "plot-mark")
    for side in ("width", "height"):
        root.set(side, f"{float(root.attrib[side].removesuffix('pt')) * 96 / 72:.0f}")
    root.attrib.pop("version", None)
    root.set("class", "plot square" if square else "plot")
    return root


def _pin(element: ET.Element) -> None:
    """Say where a text is fastened: a page that widens the picture (book.css) keeps it there, in its own shape."""
    found = _PLACE.fullmatch(element.get("transform", ""))
    if element.tag not in ("g", "text") or not found or not found.lastindex:
        return
    left, top, angle = found[1] or found[4], found[2] or found[5], float(found[3] or 0)
    turn, shift = f"rotate({angle:g})" if angle else "", f"translate({left} {top})" if found[1] else ""
    element.set("transform", f"{turn} {shift}".strip())
    element.set("style", f"{element.get('style', '')}; transform-origin: {left}px {top}px".lstrip("; "))


def _clean(key: str, value: str, prefix: str) -> str:
    """One attribute's value: prefixed ids and references, the page's ink, two decimals."""
    if key == "id":
        return prefix + value
    if key.endswith("href"):
        return "#" + prefix + value[1:] if value.startswith("#") else value.replace("\n", "")
    value = value.replace("url(#", f"url(#{prefix}").replace(INK, "currentColor")
    if key in ("d", "x", "y") or (key == "transform" and "scale" not in value and "matrix" not in value):
        value = _LONG.sub(lambda found: f"{float(found.group()):.2f}", value.replace("\n", ""))
    return _FONT_LIST.sub(r"\1", value)


def least_width(root: ET.Element, *, wide: bool = False) -> int:
    """How wide the picture must be for its smallest text to be :data:`LEAST_TEXT`; ``wide`` asks for 600 px besides.

    A text counts with its largest part: exponents and indices are smaller by nature. 0 where a phone can show it all.
    """
    width = int(root.attrib["width"])
    texts = [[float(size) for size in _FONT_SIZE.findall(ET.tostring(own, "unicode"))] for own in root.iter("text")]
    sizes = [max(own) for own in texts if own]
    needed = math.ceil(width * LEAST_TEXT / (min(sizes) * 96 / 72)) if sizes else 0
    needed = max(needed, min(600, width) if wide else 0)
    return needed if needed > PHONE else 0


def write_svg(root: ET.Element, alt: str, least: int = 0) -> str:
    """The tree as HTML text: one picture named ``alt``, as wide as the page allows and at least ``least`` px."""
    floor = f"--least:{least}px;min-width:{least}px;" if least else ""
    style = f"--w:{root.get('width')};--h:{root.get('height')};{floor}max-width:100%;height:auto;{_BASE_STYLE}"
    root.attrib.update({"role": "img", "aria-label": alt, "style": style, "preserveAspectRatio": "none"})
    return ET.tostring(root, encoding="unicode")


def scroll_box(content: str, name: str, *, wide: bool = True) -> str:
    """``content`` in a box that scrolls sideways by finger, mouse and keyboard; unchanged unless ``wide``."""
    if not wide:
        return content
    label = html.escape(f"Scrolls sideways: {name[:60]}")
    box = f'<div class="book-scroll" tabindex="0" role="region" aria-label="{label}" style="overflow-x:auto">'
    return f"{box}{content}</div>"


def boxed(root: ET.Element, alt: str, *, wide: bool = False) -> str:
    """The tree as a picture named ``alt``, in a box that scrolls where a phone is too narrow for its text."""
    least = least_width(root, wide=wide)
    return scroll_box(write_svg(root, alt, least), alt, wide=bool(least))


def to_svg(fig: Figure, alt: str) -> str:
    """``fig`` as one ``<svg>`` element for a page; closes the figure.

    Parameters
    ----------
    fig
        The figure. What is drawn in :data:`~rtx_lib.plots.style.INK` follows the page's text colour.
    alt
        What the figure shows, in words: the finding, not the kind of plot.

    Returns
    -------
    str
        The element as text. The same figures in the same order give the same bytes.
    """
    name = require_alt(alt)  # before the figure is closed
    return write_svg(svg_tree(fig), name)


def in_figure(content: str, caption: str | None, title: str | None, kind: str = "", data: str = "") -> str:
    """The ``<figure>`` around ``content``: its finding as a line above, which also names it, and its caption below."""
    title, caption = (re.sub(r"(?<=\d) %", "\N{NO-BREAK SPACE}%", text or "") for text in (title, caption))
    name = html.escape(html.unescape(re.sub(r"<[^>]+>", "", title)).strip())
    named = f' aria-label="{name}"' if name else ""
    line = f'<p class="fig-title" style="font-weight:600;margin:0 0 0.4rem">{title}</p>' if title else ""
    return f'<figure class="book-fig{kind}"{named}{data}>{line}{content}{figcaption(caption)}</figure>'


def figcaption(caption: str | None) -> str:
    """``caption`` (HTML) as a ``<figcaption>``, or nothing."""
    return f"<figcaption>{caption}</figcaption>" if caption else ""


def show(fig: Figure, alt: str, caption: str | None = None, *, title: str | None = None, wide: bool = False) -> HTML:
    """``fig`` as a notebook output that follows the page's theme; closes the figure.

    Parameters
    ----------
    fig
        The figure.
    alt
        What it shows, in words: the finding, not the kind of plot.
    caption
        Line below it, as HTML (write ``&lt;`` for a bare less-than sign).
    title
        Line above it, as HTML: the finding in one sentence.
    wide
        Keep it at least 600 px wide and let it scroll inside its own box; otherwise it shrinks with the page, as far
        as its text can be read.
    """
    name = require_alt(alt)
    return HTML(in_figure(boxed(svg_tree(fig), name, wide=wide), caption, title))


def as_json(value: Any) -> str:
    """Numbers and texts as a page takes them."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def data_attributes(texts: Mapping[str, str]) -> str:
    """What a script finds on its element, by name."""
    return "".join(f' data-{name}="{html.escape(text)}"' for name, text in texts.items())


def in_page(content: str, caption: str | None, kind: str, *, title: str | None = None, **data: Any) -> HTML:
    """A figure of the given kind that answers to the reader; its script finds ``data``, numbers and texts, on it."""
    attributes = data_attributes({name: as_json(own) for name, own in data.items()})
    page = in_figure(content, caption, title, f" book-{kind}", attributes)
    if (size := len(page.encode())) > LIMIT:
        much, most = f"{size / 1000:.0f} kB", f"{LIMIT // 1000} kB"
        raise ValueError(f"the {kind.split()[0]} takes {much}, allowed are {most}: show less")
    return HTML(page)


def beside(name: str) -> str:
    """A script or style sheet of this folder or of ``pictures``, as :func:`bare` has it."""
    press = Path(__file__).parents[1]
    return bare(next(path for room in ("page", "pictures") if (path := press / room / name).is_file()))


@functools.cache
def bare(path: Path) -> str:
    """A script or style sheet without comments that fill a line and without indents."""
    text = path.read_text(encoding="utf-8")
    lines = (line.strip() for line in re.sub(r"^\s*/\*.*?\*/", "", text, flags=re.S | re.M).splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))


def scripted(name: str, around: str = "figure", *more: str) -> str:
    """Call a script of this folder, one function, with the element around this place as soon as that is there.

    The style sheet of the same name is part of the page from then on: its arrival is the moment, in Jupyter, in Colab
    and on a page alike, and a script tag would not run in all of them. It is given what the scripts named in
    ``more`` return as well.
    """
    given = ",".join([f"this.closest(`{around}`)", *(beside(f"{own}.js") for own in more)])
    call = html.escape(f"({beside(f'{name}.js')})({given})")
    return f'<style onload="{call}">{beside(f"{name}.css")}</style>'
