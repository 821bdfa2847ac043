"""A figure with a slider: every position drawn beforehand, for a page without a kernel, or drawn anew with one."""

import html
import re
from collections.abc import Callable, Iterable, Sequence
from numbers import Real
from typing import Any

from IPython.display import HTML
from matplotlib.figure import Figure

from rtx_book.page.figure import beside, in_page, least_width, require_alt, scroll_box, show, svg_tree, write_svg

MOVE = f"({beside('explorer.js')})(this)"
"""What a control of an explorer does when it is moved."""


def control(name: str, labels: Sequence[str], start: int, oninput: str = "", button: str = "") -> str:
    """The control that explorers and films share: a native range, named, driven by keyboard, and where it stands.

    Parameters
    ----------
    name
        What is varied.
    labels
        Text of each position, read out by screen readers.
    start
        First position.
    oninput
        JavaScript run on every move, with ``this`` the input; it must set ``aria-valuetext`` itself. Empty where the
        figure has a script of its own.
    button
        HTML put after the text.
    """
    # JupyterLab takes the arrow keys for itself unless they stop here.
    # Firefox restores a slider's place on reload, but not its picture, unless autocomplete is off.
    label = html.escape(labels[start])
    moved = f' oninput="{html.escape(oninput)}"' if oninput else ""
    return (
        '<div class="book-control" onkeydown="event.stopPropagation()">'
        f'<label><span>{html.escape(name)}</span> <input type="range" min="0" max="{len(labels) - 1}" step="1" '
        f'value="{start}" autocomplete="off" aria-valuetext="{label}"{moved}></label> '
        f'<output aria-live="off">{label}</output>{button}</div>'
    )


def explorer(
    draw: Callable[[Any], Figure],
    values: Sequence[Any],
    name: str,
    *,
    alt: Callable[[Any], str],
    fmt: str = "{}",
    start: int = 0,
    caption: str | None = None,
    title: str | None = None,
    wide: bool = False,
    said: bool = False,
) -> HTML:
    """A slider over ``values``, each drawn once; works in Jupyter, in Colab and on a page without a kernel.

    Parameters
    ----------
    draw
        From a value to a new figure; all of one size.
    values
        About 20 at most, since each costs a whole figure. For more, see :func:`rtx_book.page.film.film`.
    name
        What is varied, the control's label.
    alt
        From a value to what its frame shows, in words.
    fmt
        How a value is written.
    start
        Index of the value shown first.
    caption
        Line below, as HTML.
    title
        Line above, as HTML: the finding in one sentence.
    wide
        Keep the frames at least 600 px wide and let them scroll inside their own box.
    said
        Write below each frame what it shows; screen readers have it as the picture's name.
    """
    labels = [_written(fmt, value) for value in values]
    texts = [require_alt(alt(value)) for value in values]
    frames, scrolls = stack_frames(map(draw, values), labels, texts, start, wide, said)
    head = control(name, labels, start, MOVE)
    return in_page(head + scroll_box(frames, name, wide=scrolls), caption, "explorer", title=title)


def stack_frames(
    figures: Iterable[Figure], labels: Sequence[str], texts: Sequence[str], start: int, wide: bool, said: bool
) -> tuple[str, bool]:
    """Frames of which one is shown, as HTML, and whether they need a box that scrolls; closes the figures.

    Parameters
    ----------
    figures
        All of one size.
    labels, texts
        Of each frame: where it stands, and what it shows.
    start, wide, said
        As in :func:`explorer`.
    """
    roots = [svg_tree(fig) for fig in figures]
    least = max(least_width(root, wide=wide) for root in roots)
    frames = ""
    for i, (root, label, text) in enumerate(zip(roots, labels, texts, strict=True)):
        below = f'<p class="frame-said" aria-hidden="true">{html.escape(text)}</p>' if said else ""
        start_tag = f'<div class="frame" data-label="{html.escape(label)}"{"" if i == start else " hidden"}>'
        frames += f"{start_tag}{write_svg(root, text, least)}{below}</div>"
    return frames, bool(least)


def _written(fmt: str, value: Any) -> str:
    """The value as a text; a negative number has a minus sign, not a hyphen."""
    text = fmt.format(value)
    return re.sub(r"(?<!\w)-(?=\d)", "\N{MINUS SIGN}", text) if isinstance(value, Real) else text


def slider(draw: Callable[[Any], Figure], values: Sequence[Any], name: str, fmt: str = "{}", *, start: int = 0) -> Any:
    """A slider over ``values`` that draws on every move; for Jupyter and Colab (ipywidgets 7.7.1 or later).

    On a page without a kernel it is dead: put an :func:`explorer` beside it, or a live figure
    (:func:`rtx_book.page.live.play`).

    Parameters
    ----------
    draw
        From a value to a new figure.
    values
        What the slider runs over.
    name
        What is varied, the control's label.
    fmt
        How a value is written.
    start
        Index of the value shown first.

    Returns
    -------
    Any
        An ``ipywidgets.VBox`` of the slider and the picture.
    """
    import ipywidgets  # only readers with a kernel need it

    labels = [_written(fmt, value) for value in values]
    options = [(label, i) for i, label in enumerate(labels)]
    looks = {"style": {"description_width": "initial"}, "layout": {"width": "95%", "max_width": "30rem"}}
    how = {"value": start, "description": name, "continuous_update": False}
    chooser = ipywidgets.SelectionSlider(options=options, **how, **looks)
    picture = ipywidgets.HTML()

    def redraw(change: dict[str, Any]) -> None:
        i = change["new"]
        try:
            picture.value = str(show(draw(values[i]), f"{name} = {labels[i]}").data)
        except Exception as error:  # a kernel hides what a callback raises: say it where the picture would be
            picture.value = f"<pre>{html.escape(f'{type(error).__name__}: {error}')}</pre>"
            raise

    chooser.observe(redraw, "value")
    redraw({"new": start})
    return ipywidgets.VBox([chooser, picture])
