"""A figure with a slider that needs no kernel: every position is drawn beforehand, the page shows one at a time."""

import html
from collections.abc import Callable, Sequence
from typing import Any

from IPython.display import HTML
from matplotlib.figure import Figure

from rtx_lib.plots.control import check_size, check_start, control
from rtx_lib.plots.figure import figcaption, require_alt, scroll_box, svg_tree, write_svg

_MOVE = (
    "const s=this,f=s.closest('figure');"
    "f.querySelectorAll('.frame').forEach((e,i)=>{e.hidden=i!=s.value;"
    "if(!e.hidden){f.querySelector('output').textContent=e.dataset.label;"
    "s.setAttribute('aria-valuetext',e.dataset.label)}})"
)


def explorer(
    draw: Callable[[Any], Figure],
    values: Sequence[Any],
    name: str,
    *,
    alt: str | Callable[[Any], str],
    fmt: str = "{}",
    start: int = 0,
    caption: str | None = None,
    wide: bool = False,
) -> HTML:
    """A slider over ``values``, each drawn once; works in Jupyter, in Colab and on a page without a kernel.

    Parameters
    ----------
    draw
        From a value to a new figure; all of one size.
    values
        About 20 at most, since each costs a whole figure. For more, see :func:`rtx_lib.plots.film.film`.
    name
        What is varied, the control's label.
    alt
        What a frame shows, in words; a function of the value, or a text to which the position is added.
    fmt
        How a value is written.
    start
        Index of the value shown first.
    caption
        Line below, as HTML.
    wide
        Keep the frames at least 600 px wide and let them scroll inside their own box.

    Raises
    ------
    ValueError
        If ``start`` is no index of ``values``, if there are fewer than two, if an alternative text is
        empty, or if all frames together exceed 600 kB.
    """
    check_start(start, len(values))
    labels = [fmt.format(value) for value in values]
    texts = [
        require_alt(alt(value)) if callable(alt) else f"{require_alt(alt)} ({name} = {label})"
        for value, label in zip(values, labels, strict=True)
    ]
    frames = "".join(
        f'<div class="frame" data-label="{html.escape(labels[i])}"{"" if i == start else " hidden"}>'
        f"{write_svg(svg_tree(draw(value)), texts[i], wide=wide)}</div>"
        for i, value in enumerate(values)
    )
    controls, picture = control(name, labels, start, _MOVE), scroll_box(frames, name, wide=wide)
    page = f'<figure class="book-fig book-explorer">{controls}{picture}{figcaption(caption)}</figure>'
    return HTML(check_size(page, "explorer"))
