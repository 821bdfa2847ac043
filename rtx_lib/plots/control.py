"""The labelled range control that explorers and films share: native, named, driven by keyboard, no script tag."""

import functools
import html
from collections.abc import Sequence
from importlib import resources

LIMIT = 600_000
"""Largest explorer or film, in bytes: a page with four of them still opens on a phone."""


def check_start(start: int, count: int) -> None:
    """Raise ValueError unless there are at least two positions and ``start`` is one of them."""
    if count < 2:
        raise ValueError(f"values or frames must hold at least 2 positions, got {count}")
    if not 0 <= start < count:
        raise ValueError(f"start must be from 0 to {count - 1}, got {start}")


def check_size(text: str, what: str) -> str:
    """``text`` if it keeps under :data:`LIMIT`.

    Raises
    ------
    ValueError
        If it does not, with its size.
    """
    size = len(text.encode())
    if size > LIMIT:
        much, most = f"{size / 1000:.0f} kB", f"{LIMIT // 1000} kB"
        raise ValueError(f"the {what} takes {much}, allowed are {most}: use fewer positions or points")
    return text


@functools.cache
def beside(name: str) -> str:
    """A script or style sheet of this folder, without whole lines of comment and without indents."""
    lines = resources.files("rtx_lib.plots").joinpath(name).read_text(encoding="utf-8").splitlines()
    return "\n".join(line.strip() for line in lines if line.strip() and not line.strip().startswith(("//", "/*")))


def scripted(script: str, sheet: str) -> str:
    """Call a script of this folder, one function, with the ``<figure>`` around this place as soon as that is there.

    The sheet is part of the page from then on: its arrival is the moment, in Jupyter, in Colab and on a page alike, and
    a script tag would not run in all of them.
    """
    return f'<style onload="{html.escape(f"({beside(script)})(this.closest(`figure`))")}">{sheet}</style>'


def control(name: str, labels: Sequence[str], start: int, oninput: str, button: str = "") -> str:
    """Range input with its label and a text that says where it stands.

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
