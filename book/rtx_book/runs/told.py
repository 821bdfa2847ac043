"""The captioners that the book ships: of the recipes ``scenes-...``, seed 0, in 8 bits, in one file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from rtx_book.paths import results_folder
from rtx_book.runs.recipes import RECIPES
from rtx_book.runs.recipes.scenes import ABOUT
from rtx_book.runs.runs import run
from rtx_lib.models import Captioner
from rtx_lib.tasks.scenes import PICTURE, Scenes
from rtx_lib.training.checkpoints import in_one_step

SHARED = "convolutions."  # all have these from one training


def weights_file() -> Path:
    """Where their weights lie."""
    return results_folder() / "live" / "scenes.npz"


def make() -> None:
    """Train them, write their records, and keep their weights."""
    weights: dict[str, dict[str, torch.Tensor]] = {}

    def collect(model: nn.Module, task: Any) -> None:
        weights[model.told] = model.state_dict()  # type: ignore[index]

    for way in ABOUT:
        run(RECIPES[f"scenes-{way}"], 0, keep=collect)
    keep(weights)


def keep(weights: Mapping[str, Mapping[str, torch.Tensor]]) -> None:
    """Write the weights of each, those that all share once."""
    named: dict[str, Any] = {}
    for way, own in weights.items():
        for key, weight in own.items():
            name, scale = _named(way, key), float(weight.abs().max()) / 127 or 1.0
            named |= {name: (weight.cpu() / scale).round().numpy().astype("i1"), f"{name} scale": scale}
    with in_one_step(weights_file()) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **named)


def load() -> dict[str, Captioner]:
    """The three by how they are told: "first", "every" and "attention"."""
    found = {}
    with np.load(weights_file()) as kept:
        arrays = {name: torch.from_numpy(kept[name]).float() for name in kept.files}
    weights = {name: array * arrays[f"{name} scale"] for name, array in arrays.items() if " " not in name}
    for way in ABOUT:
        model = found[way] = Captioner(PICTURE, len(Scenes.words), told=way)
        model.load_state_dict({key: weights[_named(way, key)] for key in model.state_dict()})
    return found


def _named(way: str, key: str) -> str:
    return key if key.startswith(SHARED) else f"{way}.{key}"
