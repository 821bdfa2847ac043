"""Recipes of the chapter on models that read in parallel, without recurrence."""

from typing import Any

from .recipe import COSINE, Recipe

# --- binary addition: Neural GPU, GRU, QRNN

# Trained on sums of 1 to 8 bits, tested on longer ones and on one carry that travels. About 14,200 parameters each,
# equal within 2 %. Each rate is the best of 0.002, 0.005 and 0.01 by whole sums of 64 bits, one seed; of the two that
# the GRU finds alike, the larger.
_ADDITION = COSINE | {"task": "binary-addition", "task_arguments": {"bits": 8}, "steps": 400, "batch_size": 32}
_ADDITION |= {
    "eval_every": 50,
    "eval_batches": 1,
    "elsewhere": {f"{bits} bits": {"bits": bits} for bits in (16, 32, 64)}
    | {f"carry through {places}": {"bits": places + 1, "carry": places} for places in (8, 16, 32)},
}
_NEURAL_GPU = {"width": 3, "channels": 16}


def _adder(name: str, about: str, model: str, arguments: dict[str, Any], lr: float) -> Recipe:
    settings = _ADDITION | {"lr": lr, "model_arguments": arguments}
    return Recipe(f"addition-{name}", f"{about} on binary addition", model, **settings)


# --- stories: memory networks

# --- sentiment

# --- number words: ByteNet and ConvS2S

RECIPES: list[Recipe] = [
    # --- binary addition
    _adder("neural-gpu", "Neural GPU", "neural-gpu", _NEURAL_GPU, 1e-2),
    _adder("neural-gpu-dropout", "Neural GPU with dropout", "neural-gpu", _NEURAL_GPU | {"dropout": 0.1}, 5e-3),
    _adder("gru", "GRU", "gru", {"hidden_size": 65, "backend": "torch"}, 1e-2),
    _adder("qrnn", "QRNN of two layers", "qrnn", {"hidden_size": 46, "num_layers": 2}, 1e-2),
    # --- stories
    # --- sentiment
    # --- number words
]
