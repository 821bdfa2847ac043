"""The press: what prints the book out of :mod:`rtx_lib`. What its chapters use stands here."""

from importlib import import_module
from typing import Any

_PLACES = {
    "claims.page": ["Evidence"],
    "page.answer": ["ask"],
    "page.attention": ["attention_view"],
    "page.explorer": ["explorer", "slider"],
    "page.figure": ["show", "to_svg"],
    "page.film": ["at_frame", "film"],
    "page.live": ["play"],
    "page.runs": ["draw_runs", "draw_side_by_side", "draw_slopes", "draw_strip_panels", "draw_strips"],
    "page.tables": ["plain_table", "sortable_table"],
    "records.records": ["load_records", "load_trainer"],
}
__all__ = sorted(name for names in _PLACES.values() for name in names)


def __getattr__(name: str) -> Any:
    # Loaded when asked for: who only builds or reads records waits neither for torch nor for matplotlib.
    for place, names in _PLACES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{place}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
