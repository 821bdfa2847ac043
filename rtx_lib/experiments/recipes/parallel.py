"""Recipes of the chapter on models that read in parallel, without recurrence."""

from typing import Any

from .recipe import COSINE, Recipe

# --- binary addition: Neural GPU, GRU, QRNN

# --- stories: memory networks

# --- sentiment

# Behind embeddings of width 64, the same in all: RNN 21,047 parameters, BiLSTM 21,170, convolution 20,981,
# self-attention 20,928, and Shaw's tables on top, 23,616. The mean of embeddings has its output layer alone, 130.
_READERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "mean": ("Mean of embeddings", "sentence-mean", {}),
    "rnn": ("tanh RNN", "sentence-rnn", {"hidden_size": 115}),
    "bilstm": ("BiLSTM", "sentence-bilstm", {"hidden_size": 28}),
    "convolution": ("Convolution", "sentence-convolution", {"channels": 27}),
    "attention": ("Self-attention", "self-attention-classifier", {}),
    "sinusoids": ("Self-attention with sinusoids", "self-attention-classifier", {"positions": "sinusoidal"}),
    "shaw": ("Self-attention with Shaw's distances", "self-attention-classifier", {"positions": "shaw"}),
}
_REVIEWS = COSINE | {"task": "sentiment", "steps": 400, "batch_size": 64, "warmup": 20, "eval_every": 50}
_REVIEWS |= {"keep_best": "error"}
_SMALL = COSINE | {"task": "generated-sentiment", "steps": 400, "batch_size": 64, "warmup": 20, "eval_every": 50}
_SMALL |= {"keep_best": "error"}
_REVIEW_RATES = dict.fromkeys(_READERS, 1e-3)
_SMALL_RATES = dict.fromkeys(("mean", "bilstm", "convolution", "attention", "shaw"), 1e-3)


def _review(reader: str, lr: float) -> Recipe:
    about, model, arguments = _READERS[reader]
    arguments = {"width": 64, "dropout": 0.5} | arguments
    return Recipe(f"sst2-{reader}", f"{about} on SST-2", model, lr=lr, model_arguments=arguments, **_REVIEWS)


def _small(reader: str, lr: float) -> Recipe:
    about, model, arguments = _READERS[reader]
    arguments = {"width": 64, "dropout": 0.0} | arguments
    about = f"{about} on generated sentences"
    return Recipe(f"sentences-{reader}", about, model, lr=lr, model_arguments=arguments, **_SMALL)


# --- number words: ByteNet and ConvS2S

RECIPES: list[Recipe] = [
    # --- binary addition
    # --- stories
    # --- sentiment
    *(_review(reader, lr) for reader, lr in _REVIEW_RATES.items()),
    *(_small(reader, lr) for reader, lr in _SMALL_RATES.items()),
    # --- number words
]
