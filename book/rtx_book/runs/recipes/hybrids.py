"""Recipes of the chapter on looking up and keeping track: stacks of layers that mix, on parity, recall and copying."""

from typing import Any

from .recipe import Recipe, table
from .returns import SETTINGS

_TABLE = table("hybrids")
MIXTURES: dict[str, tuple[str, list[str]]] = _TABLE["mixtures"]
"""What each stack is, and its layers from the lowest to the highest."""

DEEPER: dict[str, tuple[str, list[str]]] = _TABLE["deeper"]
"""Stacks of four layers, of which one is attention; the same on both tasks."""

SEEDS = tuple(range(20))

# On parity and in copying no convolution stands in front of a mixer, and of those with one of their own only Griffin's
# block keeps it; on recall one stands in front of each. "convolved-rnn" is the same on all.
_BARE = ("mamba-signed", "delta-net-2")
_TASKS: dict[str, dict[str, Any]] = {
    "parity": {"task_arguments": {"length": 40}, "elsewhere": {"T = 256": {"length": 256}}},
    "recall": {"task_arguments": {"pairs": 8, "length": 48}, "elsewhere": {"T = 96": {"length": 96}}},
    "copy": {"task_arguments": {"delay": 30, "length": 5}, "elsewhere": {"pause of 60": {"delay": 60}}},
}

_BOTH = ("parity", "recall")

# Each has the rate of the least median loss on "valid" over three seeds of its own, or 0.01 where that comes within
# 0.001 nats of it (tuning.returned): 0.01 where the table has none.
_RATES = {f"hybrid-{name}": float(lr) for lr, names in _TABLE["rates"].items() for name in names.split()}


def _hybrid(task: str, mixture: str, kind: str = "", steps: int = 600) -> Recipe:
    about, layers = (MIXTURES | DEEPER)[mixture]
    name = f"hybrid-{kind}{task}-{mixture}"
    stack: dict[str, Any] = {"width": 32, "mixer": layers}
    if task == "recall" and "attention-convolved" not in layers:
        stack["kernel_size"] = 4
    elif set(layers) & {*_BARE}:
        stack["options"] = [{"kernel_size": None} if layer in _BARE else {} for layer in layers]
    how = {"model_arguments": stack} | _TASKS[task] | SETTINGS
    return Recipe(name, f"{about} on {task}", "mixers", task, steps, lr=_RATES.get(name, 1e-2), **how)


RECIPES = [_hybrid(task, mixture) for task in _TASKS for mixture in MIXTURES]
RECIPES += [_hybrid(task, "rnn-attention", "long-", 3000) for task in _BOTH]
RECIPES += [_hybrid(task, mixture, "deep-") for task in _BOTH for mixture in DEEPER]
