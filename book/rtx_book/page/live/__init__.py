"""Figures whose model runs, or learns, in the reader's page: in Jupyter, in Colab and on the site.

``play`` makes the figure. A widget is a file ``widget-KIND.js`` of this folder (its own style sheet, if it needs one,
lies beside it as ``widget-KIND.css``) and a row of ``parts.json``. In Jupyter the output carries every script that it
needs; for the site ``rtx_book.build`` takes them out again (:func:`for_site`), keeps each once below ``_static/live``,
and ``start.js`` loads them by script tags when the figure comes near.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from rtx_book.page.figure import as_json, bare, boxed, data_attributes, in_figure, require_alt, svg_tree
from rtx_book.page.live.packing import LIMIT, pack

FRAME = ("base", "engine", "weights", "controls", "chart", "start")
"""The files that every kind needs, in order."""

FIGURE = '<figure class="book-fig live"'
"""How such a figure begins on a page."""

PARTS: dict[str, Sequence[str]] = json.loads(Path(__file__).with_name("parts.json").read_text(encoding="utf-8"))
"""The files of each kind after those of :data:`FRAME`, in order, from ``parts.json``."""

_MARKED = re.compile(r'<(style|script) data-part="([\w-]*)">(.*?)</\1>', re.S)


class Live:
    """What a cell ends with. Jupyter shows the figure with all that it needs; the site takes :attr:`figure` alone."""

    def __init__(self, kind: str, figure: str, weights: Mapping[str, str]) -> None:
        self.kind, self.figure, self.weights = kind, figure, dict(weights)

    def __repr__(self) -> str:
        return f"<live figure: {self.kind}>"

    def _repr_html_(self) -> str:
        names = parts_of(self.kind)
        styles = "".join(_tag("style", name, bare(folder() / f"{name}.css")) for name in styles_of(self.kind))
        scripts = [_tag("script", name, bare(folder() / f"{name}.js")) for name in names]
        scripts += [_tag("script", f"weights-{digest}", text) for digest, text in self.weights.items()]
        return f"{styles}{self.figure}{''.join(scripts)}{_tag('script', '', 'RTX.start()')}"


def play(
    kind: str,
    models: Mapping[str, Any] | None = None,
    *,
    still: Figure,
    alt: str,
    title: str | None = None,
    caption: str | None = None,
    form: str = "float16",
    **options: Any,
) -> Live:
    """A figure with a model that the reader plays with; needs no kernel and asks no server.

    Parameters
    ----------
    kind
        One of :data:`PARTS`.
    models
        From the names that the widget asks for to modules, or to mappings of arrays. All together take at most
        750 kB as the page loads them.
    still
        What stands there until the scripts run, in print, and where none may run. It carries the finding. Closed.
    alt
        What ``still`` shows, in words: the finding.
    title
        Line above, as HTML: the finding.
    caption
        Line below, as HTML: which model, trained on what, in how many steps.
    form
        ``"float16"``, or ``"int8"`` with a scale for each tensor.
    **options
        What the widget takes; plain JSON.

    Returns
    -------
    Live
        For a cell to end with.
    """
    name = require_alt(alt)
    told = as_json(options)
    packed = {model: pack(model, weights, form) for model, weights in (models or {}).items()}
    scripts = dict(packed.values())
    if (size := sum(len(text) for text in scripts.values())) > LIMIT:
        cure = "a smaller model" if form == "int8" else "form=`int8` or a smaller model"
        raise ValueError(f"weights must take at most {LIMIT // 1000} kB, got {size / 1000:.0f} kB: take {cure}")
    hashes = {model: digest for model, (digest, _) in packed.items()}
    return Live(kind, figure(kind, boxed(svg_tree(still), name), told, hashes, title, caption), scripts)


def figure(
    kind: str, picture: str, options: str, weights: Mapping[str, str], title: str | None, caption: str | None
) -> str:
    """The ``<figure>`` of a kind: what it needs by name, and ``picture`` until the widget stands."""
    said = {"live": kind, "parts": " ".join(parts_of(kind)), "styles": " ".join(styles_of(kind))}
    said |= {"weights": as_json(weights), "options": options}
    return in_figure(f'<div class="live-still">{picture}</div>', caption, title, " live", data_attributes(said))


def parts_of(kind: str) -> tuple[str, ...]:
    """The scripts of a kind in order, each once, without ``.js``."""
    return tuple(dict.fromkeys((*FRAME, *PARTS[kind])))


def styles_of(kind: str) -> tuple[str, ...]:
    """The style sheets of a kind in order, without ``.css``: that of all, and those beside its scripts."""
    return ("live", *(name for name in parts_of(kind) if folder().joinpath(f"{name}.css").is_file()))


def folder() -> Path:
    """Where the scripts and style sheets lie."""
    return Path(__file__).parent


def for_site(output: str) -> tuple[str, dict[str, str]]:
    """An output for a page of the site: without its scripts and styles; and the weights by the names of their files."""
    taken: dict[str, str] = {}

    def take(found: re.Match[str]) -> str:
        if found[2].startswith("weights-"):
            taken[f"{found[2]}.js"] = found[3]
        return ""

    return _MARKED.sub(take, output), taken


def _tag(kind: str, name: str, text: str) -> str:
    """An inline script or style sheet, marked so that :func:`for_site` finds it; nothing in it ends it early."""
    escaped = text.replace("</", "<\\/").replace("<!--", "<\\!--")
    return f'<{kind} data-part="{name}">{escaped}</{kind}>'
