"""Recipes of the chapter on linear recurrences and matrix states: parity, words of S3, recall."""

from typing import Any

from .recipe import AGAIN_SETS, COSINE, Recipe, again, table

# One stack for all, in which only the mixer differs: pre-norm, with MLPs twice as wide as the stack. Those with matrix
# states have one head, and their width inside is such that a layer's state has 1,024 numbers, as Mamba's.
_STACK: dict[str, Any] = {"width": 32, "layers": 2}
_MIXERS: dict[str, dict[str, Any]] = table("returns")
"""Of each mixer what it is called, and its rates on the tasks that it runs on."""

_OPTIONS: dict[str, dict[str, Any]] = {"indrnn": {"length": 40}, "mlstm": {"expand": 1.0}}
SETTINGS = COSINE | {"batch_size": 64, "warmup": 50, "eval_every": 100, "eval_batches": 1}


def _mixer(
    task: str,
    mixer: str,
    lr: float,
    settings: dict[str, Any],
    on: str,
    *,
    stack: dict[str, Any] | None = None,
    name: str = "",
    **options: Any,
) -> Recipe:
    """A stack of one mixer on one task; ``options`` are added to the mixer's own."""
    about, own = _MIXERS[mixer]["name"], _OPTIONS.get(mixer, {})
    arguments = _STACK | {"mixer": mixer} | (stack or {})
    if own | options:
        arguments["options"] = own | options
    name = f"{task}-{name or mixer}"
    return Recipe(name, f"{about} on {on}", "mixers", lr=lr, model_arguments=arguments, **SETTINGS | settings)


# Every mixer has the rate of the least loss on the validation split, in a whole training with a seed that is not shown
# (tuning.TUNED), of 0.003, 0.01 and 0.03, and further ones where the best is the last of its side; or 0.01, where it
# comes within 0.001 nats of the best.

# --- parity

# All have 500 steps, as in 300 the RNN gets there with three seeds of five. Mamba has no convolution of its own here:
# with it, its signed form has 0.91 of the last quarter of T = 256 right, and 0.97 after twice the steps (seed 0, rate
# 0.01).
_PARITY = {"task": "parity", "task_arguments": {"length": 40}, "steps": 500}
_PARITY |= {"elsewhere": {f"T = {length}": {"length": length} for length in (64, 128, 256)}}
_BARE: dict[str, dict[str, Any]] = {mixer: {"kernel_size": None} for mixer in ("mamba", "mamba-signed")}

# --- words of S3

_WORDS = {"task": "group-words", "task_arguments": {"length": 20}, "steps": 800}
_WORDS |= {"elsewhere": {f"T = {length}": {"length": length} for length in (40, 100)}}

# --- associative recall

# A short convolution stands in front of every mixer, so that a key and the value behind it are seen together. The bare
# ones have none, and 0.01.
_CONVOLVED = {"kernel_size": 4}
_RECALL = {"task": "recall", "task_arguments": {"pairs": 8, "length": 48}, "steps": 600}
_RECALL |= {"elsewhere": {"T = 96": {"length": 96}}}

# How much a state holds: 16 pairs, and heads of K numbers, of which a layer of width 32 has 32 / K, so that its state
# has 32 K numbers. One rate, that of most above; K = 4 and 32 of DeltaNet were tried with it.
_HEADS = (8, 4, 2, 1)
_MORE = _RECALL | {"task_arguments": {"pairs": 16, "length": 64}, "steps": 480, "elsewhere": {}}


def _state(mixer: str, heads: int) -> Recipe:
    size = _STACK["width"] // heads
    on = f"recall of 16 pairs, K = {size}"
    return _mixer("state", mixer, 1e-2, _MORE, on, stack=_CONVOLVED, name=f"{mixer}-{size}", heads=heads)


def _rates(task: str) -> dict[str, float]:
    return {mixer: own[task] for mixer, own in _MIXERS.items() if task in own}


RECIPES: list[Recipe] = [
    *(_mixer("parity", mixer, lr, _PARITY, "parity", **_BARE.get(mixer, {})) for mixer, lr in _rates("parity").items()),
    *(_mixer("s3", mixer, lr, _WORDS, "words of S3") for mixer, lr in _rates("s3").items()),
    *(
        _mixer("mqar", mixer, lr, _RECALL, "associative recall", stack=_CONVOLVED)
        for mixer, lr in _rates("mqar").items()
    ),
    *(
        _mixer("mqar", mixer, 1e-2, _RECALL, "associative recall, no convolution", name=f"{mixer}-bare", **options)
        for mixer, options in (("attention", {}), ("delta-net", {"kernel_size": None}))  # which has one of its own
    ),
    *(_state(mixer, heads) for mixer in ("linear-attention", "delta-net") for heads in _HEADS),
]

# --- how a mixer comes to its rate

RATES = (3e-3, 1e-2, 3e-2)
"""The rates that each mixer tries first; where the last one on a side is best, the next one is tried, too."""

TUNING_SEEDS = (100, 101, 102)
"""The seeds that try rates; what the chapter shows has others."""


TUNED = [recipe for recipe in RECIPES if not recipe.name.startswith("state-") and not recipe.name.endswith("-bare")]
REPEATED = [again(recipe, own) for recipe in TUNED for own in AGAIN_SETS]
"""Parity, words of S3 and recall, which a run solves or does not, with fresh seeds."""
