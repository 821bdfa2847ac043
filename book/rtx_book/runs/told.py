"""The captioners that the book ships: those of the recipes ``scenes-...`` with seed 0, in half precision, in one file."""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from rtx_book.paths import results_folder
from rtx_book.runs.recipes import RECIPES
from rtx_book.runs.recipes.scenes import ABOUT
from rtx_book.runs.runs import run
from rtx_lib.models import Captioner
from rtx_lib.tasks import Scenes
from rtx_lib.training.checkpoints import in_one_step

SHARED = "convolutions."  # all have these from one training


def weights_file() -> Path:
    """Where their weights lie."""
    return results_folder() / "live" / "scenes.npz"


def make() -> None:
    """Train them, write their records, and keep their weights."""
    models: dict[str, Any] = {}
    for way in ABOUT:
        run(RECIPES[f"scenes-{way}"], 0, keep=lambda model, task, way=way: models.update({way: model}))
    keep({way: model.state_dict() for way, model in models.items()})


def keep(weights: dict[str, dict[str, torch.Tensor]]) -> None:
    """Write the weights of each, those that all share once."""
    named = {
        f"{'' if k.startswith(SHARED) else f'{way}.'}{k}": v for way, own in weights.items() for k, v in own.items()
    }
    with in_one_step(weights_file()) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **{name: value.cpu().half().numpy() for name, value in named.items()})


def load() -> dict[str, Captioner]:
    """The three by how they are told: "first", "every" and "attention"."""
    found, task = {}, Scenes
    with np.load(weights_file()) as kept:
        arrays = {name: torch.from_numpy(kept[name]).float() for name in kept.files}
    for way in ABOUT:
        model = found[way] = Captioner(28, len(task.words), told=way)
        model.load_state_dict({k: arrays[k if k.startswith(SHARED) else f"{way}.{k}"] for k in model.state_dict()})
    return found
