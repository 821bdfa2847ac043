"""The captioners, forecasters and models of the rope that the book ships: one seed each, in 8 bits, a file a kind."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from rtx_book.paths import results_folder
from rtx_book.runs.builders import build
from rtx_book.runs.made_series import MadeSeries, forecaster
from rtx_book.runs.recipes import RECIPES, drawn, rope
from rtx_book.runs.recipes.scenes import ABOUT
from rtx_book.runs.runs import run
from rtx_lib.models import Captioner
from rtx_lib.tasks.scenes import PICTURE, Scenes
from rtx_lib.training.checkpoints import in_one_step

SHARED = "convolutions."  # all captioners have these from one training


def weights_file(kind: str = "scenes") -> Path:
    """Where the weights of the recipes lie whose names begin with ``kind``."""
    return results_folder() / "live" / f"{kind}.npz"


def make(kind: str = "scenes") -> None:
    """Train them, write their records, and keep their weights."""
    weights: dict[str, Any] = {}
    for name in (name for name in RECIPES if name.startswith(f"{kind}-")):
        way = name.removeprefix(f"{kind}-")
        seed = rope.MODELS[way]["seed"] if kind == "rope" else 0
        run(RECIPES[name], seed, keep=lambda model, task, way=way: weights.update({way: model.state_dict()}))  # type: ignore[misc]
    keep(weights, kind)


def keep(weights: Mapping[str, Mapping[str, torch.Tensor]], kind: str = "scenes") -> None:
    """Write the weights of each, those that all share once."""
    named: dict[str, Any] = {}
    for way, own in weights.items():
        for key, weight in own.items():
            name, scale = _named(kind, way, key), float(weight.abs().max()) / 127 or 1.0
            named |= {name: (weight.cpu() / scale).round().numpy().astype("i1"), f"{name} scale": scale}
    with in_one_step(weights_file(kind)) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **named)


def load() -> dict[str, Captioner]:
    """The three by how they are told: "first", "every" and "attention"."""
    return _with_weights("scenes", {way: Captioner(PICTURE, len(Scenes.words), told=way) for way in ABOUT})


def forecasters() -> dict[str, nn.Module]:
    """Those that go on with what the reader draws, by the names that the panel has for them."""
    found = _with_weights("drawn", {way: forecaster(MadeSeries(), **how) for way, (*_, how) in drawn.ABOUT.items()})
    return {drawn.ABOUT[way][0]: model for way, model in found.items()}


def ropes() -> dict[str, nn.Module]:
    """The models of the rope by their names on the page."""
    found = _with_weights("rope", {way: build(RECIPES[f"rope-{way}"], 0)[0] for way in rope.MODELS})
    return {rope.MODELS[way]["name"]: model for way, model in found.items()}


def _with_weights(kind: str, models: dict[str, Any]) -> dict[str, Any]:
    with np.load(weights_file(kind)) as kept:
        arrays = {name: torch.from_numpy(kept[name]).float() for name in kept.files}
    weights = {name: array * arrays[f"{name} scale"] for name, array in arrays.items() if " " not in name}
    for way, model in models.items():
        model.load_state_dict({key: weights[_named(kind, way, key)] for key in model.state_dict()})
    return models


def _named(kind: str, way: str, key: str) -> str:
    return key if kind == "scenes" and key.startswith(SHARED) else f"{way}.{key}"
