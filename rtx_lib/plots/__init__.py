"""Figures, explorers and films that read in light and dark, by keyboard, on a phone, with a kernel and without."""

from rtx_lib.plots.explorer import explorer
from rtx_lib.plots.figure import show, to_svg
from rtx_lib.plots.film import film
from rtx_lib.plots.style import CYCLE, DASHES, INK, MARKERS, STYLE, style, use_style

__all__ = ["CYCLE", "DASHES", "INK", "MARKERS", "STYLE", "explorer", "film", "show", "style", "to_svg", "use_style"]
