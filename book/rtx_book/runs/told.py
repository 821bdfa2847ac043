"""The captioners that the book ships: of the recipes ``scenes-...``, seed 0, in half precision, in one file."""

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
        named |= {key if key.startswith(SHARED) else f"{way}.{key}": w.cpu().half().numpy() for key, w in own.items()}
    with in_one_step(weights_file()) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **named)


def load() -> dict[str, Captioner]:
    """The three by how they are told: "first", "every" and "attention"."""
    found = {}
    with np.load(weights_file()) as kept:
        arrays = {name: torch.from_numpy(kept[name]).float() for name in kept.files}
    for way in ABOUT:
        model = found[way] = Captioner(PICTURE, len(Scenes.words), told=way)
        own = {key: arrays[key if key.startswith(SHARED) else f"{way}.{key}"] for key in model.state_dict()}
        model.load_state_dict(own)
    return found
