"""The forecasters that go on in the page with what the reader draws: of the recipes ``drawn-...``, seed 0."""

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from rtx_book.paths import results_folder
from rtx_book.runs.made_series import HEADS, MadeSeries, forecaster
from rtx_book.runs.recipes import RECIPES
from rtx_book.runs.recipes.drawn import ABOUT
from rtx_book.runs.runs import run
from rtx_lib.training.checkpoints import in_one_step

LENGTH = 144  # values of a series in the panel


def weights_file() -> Path:
    """Where their weights lie, in half precision."""
    return results_folder() / "live" / "series.npz"


def make() -> None:
    """Train them, write their records, and keep their weights."""
    found: dict[str, np.ndarray] = {}
    for name in ABOUT:

        def collect(model: nn.Module, task: Any, name: str = name) -> None:
            found.update({f"{name}/{key}": value.cpu().half().numpy() for key, value in model.state_dict().items()})

        run(RECIPES[f"drawn-{name}"], 0, keep=collect)
    with in_one_step(weights_file()) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **found)


def load() -> dict[str, nn.Module]:
    """All by the names that the panel has for them."""
    found = {}
    with np.load(weights_file()) as kept:
        for name, (about, how) in ABOUT.items():
            model = found[about] = forecaster(MadeSeries(), **how)
            own = {key.partition("/")[2]: kept[key] for key in kept.files if key.startswith(f"{name}/")}
            model.load_state_dict({key: torch.from_numpy(value).float() for key, value in own.items()})
    return found


def panel() -> dict[str, Any]:
    """What the live figure ``forecast`` takes besides models: real series, where statsmodels is, and how each reads."""
    found: dict[str, Any] = {}
    with contextlib.suppress(ImportError):
        from statsmodels import datasets

        co2, nino, sun = (getattr(datasets, name).load_pandas().data for name in ("co2", "elnino", "sunspots"))
        found["CO₂ over Mauna Loa, 1990 to 2001"] = co2["co2"].resample("MS").mean().interpolate(), "ppm", "month"
        found["the sea off Peru, 1999 to 2010"] = nino.to_numpy()[:, 1:].ravel(), "°C", "month"
        found["sunspots, 1865 to 2008"] = sun["SUNACTIVITY"], "", "year"
    series = {
        name: {"values": [round(float(v), 1) for v in values[-LENGTH:]], "unit": unit, "label": label}
        for name, (values, unit, label) in found.items()
    }
    return {"series": series, "reads": reads()}


def reads() -> dict[str, Any]:
    """How each reads a window, by the names that the panel has for them."""
    return {about: {"norm": how.get("norm", "last"), "heads": HEADS} for about, how in ABOUT.values()}
