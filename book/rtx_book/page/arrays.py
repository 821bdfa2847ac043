"""What a drawing is given, as arrays."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rtx_lib.plots.heatmaps import floats


def several(name: str, given: Mapping[Any, Any], *sides: int | str, **bounds: Any) -> dict[Any, np.ndarray]:
    """``floats`` of each array, by its name."""
    return {label: floats(f"{name}[{label!r}]", values, *sides, **bounds) for label, values in given.items()}


def true_runs(row: np.ndarray) -> list[tuple[int, int]]:
    """Start and stop of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], row, [False]]).astype(int)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
