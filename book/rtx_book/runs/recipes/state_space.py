"""Recipes of the chapter on state space models: what fixed ones keep over a wait, and what a chosen step is for."""

from dataclasses import replace
from typing import Any

from .recipe import Recipe
from .returns import SETTINGS

# Selective copying: Mamba's block alone, without MLPs, and what is left when a part of it goes.
_BLOCKS: dict[str, tuple[str, str, dict[str, Any], float]] = {
    "mamba": ("Mamba", "mamba", {}, 3e-2),
    "fixed": ("Mamba made time-invariant", "mamba-time-invariant", {}, 1e-2),
    "no-convolution": ("Mamba without its convolution", "mamba", {"kernel_size": None}, 3e-2),
    "no-gate": ("Mamba without its gate", "mamba-ungated", {}, 3e-2),
    "s4d": ("S4D", "s4d", {}, 3e-2),
}
_COPYING = SETTINGS | {"task": "selective-copying", "task_arguments": {"tokens": 4, "places": 28}, "steps": 600}
_COPYING |= {"elsewhere": {"T = 64": {"places": 60}}}


def _stack(mixer: str, options: dict[str, Any], mlp: float = 0) -> dict[str, Any]:
    return {"width": 32, "layers": 2, "mlp": mlp, "mixer": mixer} | ({"options": options} if options else {})


def _choice(name: str, about: str, mixer: str, options: dict[str, Any], lr: float) -> Recipe:
    stack = _stack(mixer, options if mixer == "s4d" else {"state_size": 4} | options)
    how = _COPYING | {"lr": lr, "model_arguments": stack}
    return Recipe(f"choice-{name}", f"{about} on selective copying", "mixers", **how)


CHOICE = [_choice(name, *block) for name, block in _BLOCKS.items()]
LONGER = replace(CHOICE[0], name="choice-longer", about="Mamba on selective copying, 1,000 steps", steps=1000)
"""At the rate of the shorter one."""

# Copy memory: five symbols, 100 blanks, the five again. What is kept does not depend on what is read.
_KEEPERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "s4d": ("S4D", "s4d", {}),
    "lru": ("LRU", "lru", {"r_min": 0.9, "r_max": 0.999}),
    "lstm": ("LSTM with forget bias 4", "lstm", {"forget_bias": 4.0}),
}
_WAIT = SETTINGS | {"task": "copy", "task_arguments": {"delay": 100, "length": 5}, "batch_size": 32, "steps": 400}


def _wait(name: str, about: str, mixer: str, options: dict[str, Any]) -> Recipe:
    how = _WAIT | {"lr": 1e-2, "model_arguments": _stack(mixer, options, 2)}
    return Recipe(f"wait-{name}", f"{about}, five symbols after 100 blanks", "mixers", **how)


WAIT = [_wait(name, *keeper) for name, keeper in _KEEPERS.items()]

TUNED = [*CHOICE, *WAIT]
RECIPES = [*TUNED, LONGER]
