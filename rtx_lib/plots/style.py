"""One look for every figure of the book: it reads in light and dark, without colour, and on a phone.

Axes, ticks and text are drawn in :data:`INK`, a colour that nothing else uses. When a figure becomes inline SVG
(:func:`rtx_book.page.figure.to_svg`), INK turns into ``currentColor``, so that it follows the page's theme.
Lines cannot follow it, so each colour of :data:`CYCLE` has a contrast of at least 3:1 on both backgrounds
(WCAG 2.2, success criterion 1.4.11), and each comes with a dash pattern of its own. A model has one look in the whole
book, :func:`look`; what is no model takes the colours of :data:`CYCLE` in order.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from cycler import cycler

HALO = "halo"
"""A text with this gid has the page's ground around its letters, so that it reads where lines pass below it."""


_UNDRAWN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def printable(text: str) -> str:
    """The text with U+FFFD for what no SVG may hold, as NUL."""
    return _UNDRAWN.sub("\N{REPLACEMENT CHARACTER}", text)


def literal(text: str) -> str:
    """A reader's word for matplotlib, which takes what stands between two ``$`` for a formula."""
    return printable(text).replace("$", r"\$")


INK = "#0a0b0c"
"""A sentinel; whatever is drawn in it follows the page's text colour."""

GREY = "#808080"
"""What stands back: frames, hatching, parts that are not reached. It has the same contrast on both backgrounds."""

CYCLE = ("#1f83d6", "#d9610a", "#149a7d", "#bd3f8c", "#7c6cf0", "#857500")
"""Line colours in order of use (blue, orange, green, magenta, violet, olive)."""

DASHES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (1.2, 1.4)), (0, (6, 1.6, 1.2, 1.6)), (0, (3, 1.4)), (0, (9, 2, 3, 2)))
"""Dash pattern of each colour of :data:`CYCLE`, so that lines are told apart without colour."""

MARKERS = ("o", "s", "^", "D", "v", "P")
"""Marker of each colour of :data:`CYCLE`; given to points, and sparsely to lines of many points."""

LOOKS: dict[str, dict[str, tuple[str, Any, Any]]] = {
    "recurrent": {
        "rnn": (CYCLE[0], "-", "o"),
        "irnn": ("#67829c", DASHES[2], "s"),
        "lstm": (CYCLE[2], DASHES[1], "^"),
        "gru": (CYCLE[5], DASHES[3], "D"),
        "deep-gru": ("#6f9440", DASHES[4], "h"),
        "indrnn": (CYCLE[4], DASHES[5], "v"),
        "qrnn": ("#2b8fa6", (0, (2, 1)), "d"),
    },
    "recurrence returned, vector states": {
        "mingru": ("#257e7e", DASHES[1], "$1$"),
        "minlstm": ("#489784", DASHES[4], "$2$"),
        "rg-lru": ("#6694ad", DASHES[5], (4, 0, 0)),
        "s4d": ("#6479e4", DASHES[2], (6, 2, 0)),
        "lru": ("#517dbd", DASHES[3], (4, 1, 0)),
        "mamba": ("#148a43", "-", (3, 0, 180)),
        "rwkv": ("#1392ae", (0, (4, 1, 1, 1, 1, 1)), (3, 2, 0)),
        "slstm": ("#816dce", DASHES[1], (5, 0, 0)),
    },
    "recurrence returned, matrix states": {
        "linear-attention": ("#d4538a", DASHES[2], (8, 2, 0)),
        "retnet": ("#3f922b", DASHES[4], (6, 1, 0)),
        "mamba-2": ("#439d52", DASHES[5], (3, 1, 0)),
        "mlstm": ("#9f5ff2", DASHES[3], (5, 2, 0)),
        "deltanet": ("#a2505a", "-", (4, 2, 0)),
        "gated-deltanet": ("#c27b38", DASHES[1], (8, 1, 0)),
    },
    "convolution": {
        "tcn": ("#c27a00", DASHES[1], "P"),
        "bytenet": ("#b5703a", DASHES[2], "H"),
        "convs2s": ("#a27d2c", DASHES[4], "8"),
        "neural-gpu": ("#c4622d", "-", "*"),
    },
    "between": {"r-transformer": ("#e2483f", "-", "X"), "attention-rnn": ("#d63a5e", DASHES[1], (7, 1, 0))},
    "attention": {
        "transformer": (CYCLE[3], DASHES[3], ">"),
        "transformer-none": ("#d873ae", DASHES[4], "<"),
        "transformer-xl": ("#a855d8", DASHES[2], "p"),
        "memory-network": ("#c05fb4", DASHES[5], "x"),
        "self-attention": ("#b06ad0", DASHES[1], "+"),
    },
}
"""Colour, dash pattern and marker of every model of the book, by family: cold colours for the recurrent, amber for
convolutions, red for what stands between, from magenta to purple for attention. Of the recurrences after 2018 those
with a matrix for a state that is only added to or faded are green, pink or violet, and those that overwrite it red and
brown. A new model takes a row here."""

ALIASES = {
    "tanh-rnn": "rnn",
    "deep-transition-gru": "deep-gru",
    "dtmt": "deep-gru",
    "transformer-no-positions": "transformer-none",
    "transformer-without-positions": "transformer-none",
    "s6": "mamba",
    "selective": "mamba",
    "min-gru": "mingru",
    "delta-net": "deltanet",
    "rnn-above-attention": "attention-rnn",
}
"""Other names of models, in small letters and with hyphens."""

VARIANTS = ("window-1", "rotary", "signed", "published", "convolution", "blocks")
"""Endings of names of models whose figures show them beside the model itself."""

FAMILIES = {family: tuple(own) for family, own in LOOKS.items()}
"""The models of each family, in the order in which they are drawn."""

_INKED: tuple[str, ...] = ("axes.edgecolor", "axes.labelcolor", "axes.titlecolor", "text.color", "hatch.color")
_INKED += ("xtick.color", "ytick.color", "patch.edgecolor")
# On a phone a figure of 5.8 inches is 358 px wide: 12 points are 10.3 px there, and nothing may be smaller than 10.
STYLE: dict[Any, Any] = {
    "figure.figsize": (5.8, 3.5),
    "figure.constrained_layout.use": True,
    "font.family": ["sans-serif"],
    "font.size": 12,
    "axes.titlesize": 12.5,
    "axes.labelsize": 12,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GREY,
    "grid.alpha": 0.3,
    "lines.linewidth": 2.0,
    "lines.markersize": 5.5,
    "axes.prop_cycle": cycler(color=CYCLE, linestyle=DASHES),
    "xtick.labelsize": 12,
    "ytick.labelsize": 12,
    "legend.fontsize": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    **dict.fromkeys(_INKED, INK),
}
"""The settings, as matplotlib's ``rcParams``."""


def use_style() -> None:
    """Set the book's style for the rest of the session; the first line of a notebook that draws."""
    mpl.rcParams.update(STYLE)


@contextmanager
def style() -> Iterator[None]:
    """The book's style inside a ``with`` block; the settings before it come back afterwards."""
    with mpl.rc_context(STYLE):
        yield


def model_of(name: str) -> tuple[str, str]:
    """The model of :data:`LOOKS` with whose name this one begins, empty if there is none, and what follows it."""
    key = "-".join(re.findall("[a-z0-9]+", name.lower()))
    key = next((model + key.removeprefix(said) for said, model in ALIASES.items() if key.startswith(said)), key)
    known = (model for own in LOOKS.values() for model in own if f"{key}-".startswith(f"{model}-"))
    model = max(known, key=len, default="")
    return model, key.removeprefix(model).lstrip("-")


def look(name: str | int, otherwise: int | None = None) -> dict[str, Any]:
    """Colour, dash pattern and marker of a model, the same in all figures, as ``Axes.plot`` takes them.

    Parameters
    ----------
    name
        A model of :data:`LOOKS`, by its key or as a figure writes it, whatever follows: ``"transformer-sinusoidal"``
        and ``"Transformer + sinusoidal"`` look as ``"transformer"`` does. What ends as one of :data:`VARIANTS` has
        dashes of its own and hollow markers. A number is a place in the cycle, for what is no model.
    otherwise
        Which colour of the cycle to take where the name is no model's.
    """
    if isinstance(name, int):
        otherwise, name = name, ""
    looks = {model: row for own in LOOKS.values() for model, row in own.items()}
    model, rest = model_of(name)
    if model:
        colour, dash, marker = looks[model]
    elif otherwise is not None:
        colour, dash, marker = (own[otherwise % len(own)] for own in (CYCLE, DASHES, MARKERS))
    else:
        raise ValueError(f"name must be, or begin with, one of {list(looks)}, got {name!r}")
    drawn = {"color": colour, "linestyle": dash, "marker": marker}
    if model and rest in VARIANTS:
        place = DASHES.index(dash) + 1 + VARIANTS.index(rest)
        drawn |= {"linestyle": DASHES[place % len(DASHES)], "markerfacecolor": "none"}
    return drawn
