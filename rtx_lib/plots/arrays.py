"""What a drawing is given, as arrays, checked before anything is drawn."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np


def floats(
    name: str,
    values: Any,
    *sides: int | str,
    low: float = -np.inf,
    high: float = np.inf,
    finite: bool = True,
    sizes: dict[str, int] | None = None,
) -> np.ndarray:
    """``values``, an array, a tensor or nested lists, as floats of one shape, finite and from ``low`` to ``high``.

    Parameters
    ----------
    sides
        The shape: numbers, or names for any size from 1, the same where the name is. A first one in brackets, such as
        ``"[runs]"``, may be missing and is added.
    finite
        False where values are not looked at, such as where NaN says that something is missing.
    sizes
        Sizes of names that are known; those that are found are added.
    """
    array = np.asarray(values.detach().cpu() if hasattr(values, "detach") else values, dtype=float)
    sizes = {} if sizes is None else sizes
    shape = ", ".join(str(sizes.get(str(side), side)) for side in sides) + "," * (len(sides) == 1)
    given = array.shape
    if str(sides[0]).startswith("[") and array.ndim == len(sides) - 1:
        array = array[None]
    known = []
    for side, size in zip(sides, array.shape, strict=False):
        known.append(side if isinstance(side, int) else sizes.setdefault(side, size))
    if array.shape != tuple(known) or len(sides) != array.ndim or not array.size:
        raise ValueError(f"{name} must have shape ({shape}), got {given}")
    if finite and not (np.isfinite(array) & (low <= array) & (array <= high)).all():
        bounds = f" and from {low:g} to {high:g}" if high < np.inf else f" and at least {low:g}" * (low > -np.inf)
        raise ValueError(f"{name} must be finite{bounds}, got values from {array.min():g} to {array.max():g}")
    return array


def several(
    name: str, given: Mapping[Any, Any], *sides: int | str, same: Collection[str] = (), **bounds: Any
) -> dict[Any, np.ndarray]:
    """:func:`floats` of each array, at least one, by its name; the sizes called ``same`` are those of the first."""
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
