"""Recipes of the chapter on linear recurrences and matrix states: parity, words of S3, recall, selective copying."""

from typing import Any

from .recipe import COSINE, Recipe

# One stack for all, in which only the mixer differs: pre-norm, with MLPs twice as wide as the stack. Those with matrix
# states have one head, and their width inside is such that a layer's state has 1,024 numbers, as Mamba's.
_STACK: dict[str, Any] = {"width": 32, "layers": 2}
_MIXERS: dict[str, tuple[str, dict[str, Any]]] = {
    "rnn": ("tanh RNN", {}),
    "lstm": ("LSTM", {}),
    "slstm": ("sLSTM", {}),
    "indrnn": ("ReLU IndRNN", {"length": 40}),
    "qrnn": ("QRNN", {}),
    "min-gru": ("minGRU", {}),
    "lru": ("LRU", {}),
    "mamba": ("Mamba", {}),
    "mamba-signed": ("Mamba with decays from -1 to 1", {}),
    "mamba-time-invariant": ("Mamba made time-invariant", {}),
    "mamba2": ("Mamba-2", {}),
    "mlstm": ("mLSTM", {"expand": 1.0}),
    "attention": ("Softmax attention", {}),
}
_SETTINGS = COSINE | {"batch_size": 64, "warmup": 50, "eval_every": 100, "eval_batches": 1}


def _mixer(
    task: str, mixer: str, lr: float, settings: dict[str, Any], on: str, *, name: str = "", **options: Any
) -> Recipe:
    """A stack of one mixer on one task; ``options`` are added to the mixer's own."""
    about, own = _MIXERS[mixer]
    arguments = _STACK | {"mixer": mixer}
    if own | options:
        arguments["options"] = own | options
    name = f"{task}-{name or mixer}"
    return Recipe(name, f"{about} on {on}", "mixers", lr=lr, model_arguments=arguments, **_SETTINGS | settings)


# --- parity

_PARITY = {"task": "parity", "task_arguments": {"length": 40}, "steps": 500}
_PARITY |= {"elsewhere": {f"T = {length}": {"length": length} for length in (64, 128, 256)}}
_PARITY_RATES = {
    "rnn": 3e-3,
    "lstm": 3e-3,
    "slstm": 3e-3,
    "indrnn": 3e-3,
    "qrnn": 3e-3,
    "min-gru": 3e-3,
    "lru": 3e-3,
    "mamba": 3e-3,
    "mamba-signed": 3e-3,
    "mamba2": 3e-3,
    "mlstm": 3e-3,
    "attention": 3e-3,
}

# --- words of S3

_WORDS = {"task": "group-words", "task_arguments": {"length": 20}, "steps": 800}
_WORDS |= {"elsewhere": {f"T = {length}": {"length": length} for length in (40, 100)}}
_WORDS_RATES = {"rnn": 3e-3, "lstm": 3e-3, "mamba-signed": 3e-3, "min-gru": 3e-3}

# --- associative recall

_RECALL = {"task": "recall", "task_arguments": {"pairs": 8, "length": 48}, "steps": 800}
_RECALL |= {"elsewhere": {"T = 96": {"length": 96}}}
_RECALL_RATES = {"attention": 3e-3, "mamba2": 3e-3, "mamba": 3e-3, "mlstm": 3e-3, "min-gru": 3e-3, "lstm": 3e-3}

# --- selective copying

_SELECTIVE = {"task": "selective-copying", "task_arguments": {"tokens": 4, "places": 28}, "steps": 600}
_SELECTIVE |= {"elsewhere": {"T = 64": {"places": 60}}}
_SELECTIVE_RATES = {
    "min-gru": 3e-3,
    "mamba": 3e-3,
    "mamba-time-invariant": 3e-3,
    "lstm": 3e-3,
    "attention": 3e-3,
    "mlstm": 3e-3,
}

RECIPES: list[Recipe] = [
    *(_mixer("parity", mixer, lr, _PARITY, "parity") for mixer, lr in _PARITY_RATES.items()),
    *(_mixer("s3", mixer, lr, _WORDS, "words of S3") for mixer, lr in _WORDS_RATES.items()),
    *(_mixer("mqar", mixer, lr, _RECALL, "associative recall") for mixer, lr in _RECALL_RATES.items()),
    *(_mixer("selective", mixer, lr, _SELECTIVE, "selective copying") for mixer, lr in _SELECTIVE_RATES.items()),
]
