"""What a reader brings as sequences and labels, as plain arrays: numpy's, torch's, frames of pandas, and lists.

pandas is not imported: a frame is what has `to_numpy`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from torch import Tensor

MOST = 20  # different whole numbers that are taken for classes
GAPS = ("NoneType", "NAType", "NaTType")


def _array(values: Any, name: str) -> np.ndarray:
    """As a numpy array; of objects, such as frames have, what is common to them."""
    if isinstance(values, Tensor):
        return values.detach().cpu().numpy()
    try:
        found = values.to_numpy() if hasattr(values, "to_numpy") else values
        found = found if isinstance(found, np.ndarray) else np.asarray(found, dtype=object)
        if found.dtype != object:
            return found
        gaps = [
            part for part in found.flat if type(part).__name__ in GAPS or (isinstance(part, float) and part != part)
        ]
        found = np.asarray(found.tolist())
    except ValueError:
        rule = "a list of sequences, or an array whose rows have one length"
        raise ValueError(f"{name} must be {rule}, got rows of unequal length") from None
    if gaps:
        raise ValueError(f"{name} must have no gaps, got {gaps[0]}")
    return found


def _parts(values: Any, name: str, whole: bool = False) -> Any:
    """One array, or a list of those of sequences."""
    if isinstance(values, str | Mapping) or not hasattr(values, "__len__") or not len(values):
        got = "none" if hasattr(values, "__len__") and not len(values) else type(values).__name__
        raise ValueError(f"{name} must be an array, a frame or a list with one entry at least, got {got}")
    if hasattr(values, "shape") or not any(getattr(part, "ndim", isinstance(part, list | tuple)) for part in values):
        whole = True
    return _array(values, name) if whole else [_array(part, f"{name}[{i}]") for i, part in enumerate(values)]


def read_steps(x: Any, length: int | None) -> tuple[np.ndarray, np.ndarray]:
    """All steps (R, D), float64, one behind another, and how many each sequence has: of a long table 1 each."""
    parts, columns = _parts(x, "x", bool(length)), list(getattr(x, "columns", []))
    if isinstance(parts, np.ndarray):
        form = "(R, D) or (R,), as length is given" if length else "(N, T, D) or (N, T), or length be given"
        whole = parts[:, None] if length else parts
        whole = whole[..., None] if whole.ndim == 2 else whole
        if whole.ndim != 3:
            raise ValueError(f"x must have shape {form}, got {parts.shape}")
        flat, sizes = whole.reshape(-1, whole.shape[2]), np.full(len(whole), whole.shape[1])
    else:
        parts = [part[:, None] if part.ndim == 1 else part for part in parts]
        for i, part in enumerate(parts):
            if part.ndim != 2 or not len(part) or part.shape[1] != parts[0].shape[-1]:
                raise ValueError(f"x[{i}] must have shape (T, D), T at least 1 and D as x[0], got {part.shape}")
        flat, sizes = np.concatenate(parts), np.asarray([len(part) for part in parts])
    try:
        flat = flat.astype(np.float64) if flat.dtype.kind in "biuf" else np.asarray(flat.tolist(), np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"x must hold numbers, got {str(error).rpartition(': ')[2]}") from None
    if not np.isfinite(flat).all():
        row, column = np.argwhere(~np.isfinite(flat))[0]
        where = f"x[{np.searchsorted(sizes.cumsum(), row, side='right')}]"
        where += f", column {columns[column]!r}" if length and columns else ""
        raise ValueError(f"x must hold finite numbers, got {flat[row, column]} in {where}")
    return flat, sizes


def read_labels(y: Any, sizes: np.ndarray) -> tuple[np.ndarray, bool]:
    """A label for each step (R,), and whether one a step was given."""
    parts = _parts(y, "y")
    if len(parts) != len(sizes):
        raise ValueError(f"y must have an entry for each of the {len(sizes)} of x, got {len(parts)}")
    if isinstance(parts, np.ndarray):
        parts = parts[:, 0] if parts.ndim == 2 and parts.shape[1] == 1 else parts
        if parts.ndim == 1:
            return _known(np.repeat(parts, sizes)), False
    for i, (part, size) in enumerate(zip(parts, sizes, strict=True)):
        if part.shape != (size,):
            raise ValueError(f"y[{i}] must have shape ({size},), a label for each step of x[{i}], got {part.shape}")
    return _known(np.concatenate(parts)), True


def _known(labels: np.ndarray) -> np.ndarray:
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError(f"y must have no gaps, got {labels[~np.isfinite(labels)][0]}")
    return labels


def kind_of(labels: np.ndarray, kind: str | None) -> tuple[str, np.ndarray]:
    """What they are, and the labels as whole numbers or floats where they are."""
    words = labels.dtype.kind not in "iuf"
    if words and kind == "numbers":
        raise ValueError(f"kind must be 'classes' for labels such as {labels[0].item()!r}, got 'numbers'")
    whole = not words and bool((labels == labels.round()).all())
    kind = kind or ("classes" if words or (whole and len(np.unique(labels)) <= MOST) else "numbers")
    return kind, labels.astype(np.int64 if whole else np.float64) if kind == "numbers" or whole else labels


def read_groups(groups: Any, count: int) -> np.ndarray:
    """The number (N,) of each one's group."""
    found = _array(groups, "groups")
    if found.shape != (count,):
        raise ValueError(f"groups must have shape ({count},), one for each entry of x, got {found.shape}")
    return np.unique(found, return_inverse=True)[1]
