"""One figure whose named lines, points and texts are moved by numbers: a long run, frame by frame, in few bytes."""

import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from IPython.display import HTML
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from rtx_book.page.explorer import control
from rtx_book.page.figure import boxed, in_page, require_alt, scripted, svg_tree

Frame: TypeAlias = Mapping[str, Any]
"""From an artist's gid to (x, y) in data coordinates for a line, or to its new text."""

_FAR = 1e5  # far outside every figure; keeps a value near infinity from being written out in full


def film(
    fig: Figure,
    frames: Sequence[Frame],
    name: str,
    *,
    labels: Sequence[str],
    alt: str,
    start: int = -1,
    fps: float = 6,
    caption: str | None = None,
    title: str | None = None,
    wide: bool = False,
) -> HTML:
    """A slider and a Play button over ``frames`` of one figure; needs no kernel, never starts by itself.

    Name each moving artist with ``set_gid`` (``ax.plot(x, y, gid="loss")``), set the axes' limits for the whole film,
    and give each frame's numbers in data coordinates. Where they are NaN, or not positive on a logarithmic axis,
    a line breaks and a point disappears. Closes the figure.

    Parameters
    ----------
    fig
        The figure, drawn once. Moving artists are Line2D (line, markers or both) and Text (plain, no formula).
    frames
        One mapping per frame, all with the same gids: to (x, y), two arrays of one length, or to a text.
    name
        What is varied, the control's label.
    labels
        One text per frame that says where the film stands ("step 200").
    alt
        What the film shows, in words: the finding.
    start
        Index of the frame shown first: the last, of which a title speaks, if nothing is said. Play begins anew there.
    fps
        Frames per second when played.
    caption
        Line below, as HTML.
    title
        Line above, as HTML: the finding in one sentence.
    wide
        Keep the picture at least 600 px wide and let it scroll inside its own box; use it above 6.5 inches.
    """
    text = require_alt(alt)
    if len(labels) != len(frames):
        raise ValueError(f"labels must hold one text per frame ({len(frames)}), got {len(labels)}")
    if any(frame.keys() != frames[0].keys() for frame in frames):
        raise ValueError(f"frames must all name the same artists, {sorted(frames[0])}")
    artists = {gid: _find(fig, gid) for gid in frames[0]}
    for gid, artist in artists.items():
        _place(artist, [frame[gid] for frame in frames])

    root = svg_tree(fig)
    fig.set_dpi(72)  # an SVG's user unit: from here on display coordinates are the picture's, upside down
    moves = [[_move(artist, frame[gid]) for frame in frames] for gid, artist in artists.items()]
    for k, (gid, artist) in enumerate(artists.items()):
        (group,) = (element for element in root.iter("g") if element.get("id", "").partition("-")[2] == gid)
        _mark(group, artist, k, moves[k][start])

    head = control(name, labels, range(len(labels))[start], button='<button type="button">Play</button>')
    told = {"labels": list(labels), "moves": moves, "pause": round(1000 / fps)}
    return in_page(f"{head}{boxed(root, text, wide=wide)}{scripted('film')}", caption, "film", title=title, film=told)


def at_frame(fig: Figure, frame: Frame) -> Figure:
    """``fig`` with its named artists where ``frame`` has them: one frame of a :func:`film`, for ``slider``."""
    for gid, value in frame.items():
        artist = _find(fig, gid)
        if isinstance(artist, Text):
            artist.set_text(value)
        else:
            artist.set_data(*value)
    return fig


def _find(fig: Figure, gid: str) -> Line2D | Text:
    """The one line or text of ``fig`` that bears ``gid``."""
    found: list[Artist] = fig.findobj(lambda artist: artist.get_gid() == gid)
    match found:
        case [Line2D() | Text() as artist]:
            return artist
    kinds = [type(artist).__name__ for artist in found]
    raise ValueError(f"gid {gid!r} of the frames must belong to one artist, a Line2D or Text, got {kinds}")


def _place(artist: Line2D | Text, values: Sequence[Any]) -> None:
    """Give the artist a stand-in inside the axes, so that matplotlib draws every element the film will move."""
    if isinstance(artist, Text):
        artist.set_text(artist.get_text() or "-")
        return
    assert artist.axes is not None
    middle = artist.get_transform().inverted().transform(artist.axes.transAxes.transform((0.5, 0.5)))
    artist.set_data(np.tile(middle[:, None], max(1, *(len(x) for x, _ in values))))


def _move(artist: Line2D | Text, value: Any) -> str:
    """One frame of one artist: its text, or its path in the picture's user units with one decimal."""
    if isinstance(artist, Text):
        return str(value)
    axes, transform = artist.axes, artist.get_transform()
    assert axes is not None and axes.figure is not None
    points = np.array([np.asarray(side, dtype=float) for side in value])
    in_data = transform.contains_branch_seperately(axes.transData)  # (sic): axvline's y, say, is in axes units
    for side, axis, data in zip(points, (axes.xaxis, axes.yaxis), in_data, strict=True):
        if data and axis.get_scale() == "log":
            side[~(side > 0)] = np.nan
    points[:, ~np.isfinite(points).all(axis=0)] = np.nan
    x, y = transform.transform(points.T).T
    return _path(np.clip(x, -_FAR, _FAR), np.clip(axes.figure.bbox.height - y, -_FAR, _FAR))


def _path(x: np.ndarray, y: np.ndarray) -> str:
    """SVG path through the points: ``M1 2 3 4``, with a new M after each gap of NaN."""
    words, pen_down = [], False
    for a, b in zip(x, y, strict=True):
        if not np.isnan(a):
            words.append(f"{'' if pen_down else 'M'}{_short(a)} {_short(b)}")
        pen_down = not np.isnan(a)
    return " ".join(words)


def _short(value: float) -> str:
    """A number with one decimal at most, without a trailing zero or a negative zero."""
    return f"{float(f'{value:.1f}') + 0.0:g}"


def _mark(group: ET.Element, artist: Line2D | Text, k: int, first: str) -> None:
    """Mark the elements that artist ``k`` moves, and put them where its first frame has them."""
    if isinstance(artist, Text):
        text = next(iter(group.iter("text")))
        for child in list(text):
            text.remove(child)
        text.text = first
        text.set("data-moves", str(k))
        return
    numbers = first.replace("M", "").split()
    for child in group:
        if child.tag in ("path", "g"):
            child.set("data-moves", str(k))
        if child.tag == "path":
            child.set("d", first)
        elif child.tag == "g":
            for i, use in enumerate(child):
                there = numbers[2 * i : 2 * i + 2]
                use.attrib.update(zip("xy", there, strict=False))
                use.set("display", "inline" if there else "none")
