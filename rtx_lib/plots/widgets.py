"""The explorer's control with a kernel behind it: any draw function, no frame drawn beforehand."""

import html
from collections.abc import Callable, Sequence
from typing import Any

from matplotlib.figure import Figure

from rtx_lib.plots.control import check_start
from rtx_lib.plots.figure import show


def live(draw: Callable[[Any], Figure], values: Sequence[Any], name: str, fmt: str = "{}", *, start: int = 0) -> Any:
    """A slider over ``values`` that draws on every move; for Jupyter and Colab (ipywidgets 7.7.1 or later).

    On a page without a kernel it is dead: put an :func:`~rtx_lib.plots.explorer.explorer` beside it.

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

    Raises
    ------
    ValueError
        If ``start`` is no index of ``values`` or there are fewer than two.
    """
    check_start(start, len(values))
    import ipywidgets  # only readers with a kernel need it

    labels = [fmt.format(value) for value in values]
    slider = ipywidgets.SelectionSlider(
        options=[(label, i) for i, label in enumerate(labels)],
        value=start,
        description=name,
        continuous_update=False,
        style={"description_width": "initial"},
        layout={"width": "95%", "max_width": "30rem"},
    )
    picture = ipywidgets.HTML()

    def redraw(change: dict[str, Any]) -> None:
        i = change["new"]
        try:
            picture.value = str(show(draw(values[i]), f"{name} = {labels[i]}").data)
        except Exception as error:  # a kernel hides what a callback raises: say it where the picture would be
            picture.value = f"<pre>{html.escape(f'{type(error).__name__}: {error}')}</pre>"
            raise

    slider.observe(redraw, "value")
    redraw({"new": start})
    return ipywidgets.VBox([slider, picture])
