"""Recipes of the chapter on models that read in parallel, without recurrence."""

from typing import Any

from .recipe import COSINE, Recipe

# --- binary addition: Neural GPU, GRU, QRNN

# --- stories: memory networks

# 32,000 stories. Rates tried on two facts, one seed: 0.005, 0.01 and 0.02 for 1 and 2 hops without linear start, 2
# hops with it, and the bag (1,200 steps). Of each they differ by 0.05 at most in accuracy, and 0.01 is the one for all.
# With the same rates and 1,200 steps the LSTM stayed below 0.26; with 0.003 and three times as many stories it reached
# 0.46, more than "named last".
_STORIES = COSINE | {"task": "stories", "steps": 1000, "batch_size": 32}
_MEMORY: dict[str, Any] = {"width": 20}
_LINEAR = {"linear_steps": 300}  # without softmax in the hops


def _story(
    kind: str, name: str, about: str, model: str, arguments: dict[str, Any], lr: float = 1e-2, **more: Any
) -> Recipe:
    """A model on one kind of stories; what does not read sentences has all words in a row."""
    settings = _STORIES | {"lr": lr, "model_arguments": arguments} | more
    task = {"kind": kind} | ({} if model == "memory-network" else {"flat": True})
    return Recipe(
        f"stories-{kind.replace(' ', '-')}-{name}", f"{about} on {kind}", model, task_arguments=task, **settings
    )


def _memory(kind: str, hops: int, *, linear: bool = True) -> Recipe:
    """A memory network, with linear start or without."""
    name = f"memory-{hops}" + ("" if linear else "-softmax")
    about = f"Memory network, {hops} {'hop' if hops == 1 else 'hops'}, {'with' if linear else 'without'} linear start,"
    return _story(kind, name, about, "memory-network", _MEMORY | {"hops": hops} | (_LINEAR if linear else {}))


def _readers(kind: str) -> list[Recipe]:
    """What reads word by word, and what forgets the order."""
    lstm = {"hidden_size": 40, "backend": "torch", "forget_bias": 1.0}
    return [
        _story(kind, "lstm", "LSTM", "lstm", lstm, 3e-3, steps=3000),
        _story(kind, "bag", "Bag of words", "bag", {"hidden_size": 40}),
    ]


# --- sentiment

# --- number words: ByteNet and ConvS2S

RECIPES: list[Recipe] = [
    # --- binary addition
    # --- stories
    *(_memory("two facts", hops, linear=False) for hops in (1, 2)),
    *(_memory("two facts", hops) for hops in (2, 3)),
    _memory("one fact", 1, linear=False),
    _memory("deduction", 2),
    *(recipe for kind in ("one fact", "two facts", "deduction") for recipe in _readers(kind)),
    # --- sentiment
    # --- number words
]
