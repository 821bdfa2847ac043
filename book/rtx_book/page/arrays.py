"""What a drawing is given, as arrays, checked before anything is drawn."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from rtx_lib.plots.heatmaps import floats


def several(
    name: str, given: Mapping[Any, Any], *sides: int | str, same: Collection[str] = (), **bounds: Any
) -> dict[Any, np.ndarray]:
    """``floats`` of each array, at least one, by its name; the sizes called ``same`` are those of the first."""
    if not given:
        raise ValueError(f"{name} must hold at least one array, got none")
    arrays, sizes = {}, dict[str, int]()
    for label, values in given.items():
        own = {side: sizes[side] for side in same if side in sizes}
        arrays[label] = floats(f"{name}[{label!r}]", values, *sides, sizes=own, **bounds)
        sizes = own
    return arrays


def check_least(least: int, **sizes: int) -> None:
    """Raise ``ValueError`` for the first size below ``least``."""
    for name, size in sizes.items():
        if size < least:
            raise ValueError(f"{name} must be at least {least}, got {size}")


def true_runs(row: np.ndarray) -> list[tuple[int, int]]:
    """Start and stop of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], row, [False]]).astype(int)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
