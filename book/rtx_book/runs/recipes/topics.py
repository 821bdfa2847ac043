"""Recipes of the chapter on language models: words with a topic beside them, and without."""

from typing import Any

from .recipe import COSINE, Recipe

# The papers' nets have 10 to 300 hidden units and 10,000 words; here 64, and the most frequent words, [UNK] among them.
# Streams of 64 words at a time are the documents of TopicRNN's training. Of PTB 300 steps read a sixth of each stream.
_HIDDEN: dict[str, Any] = {"hidden_size": 64}
_SETTINGS = COSINE | {"batch_size": 8, "stream_length": 64, "eval_every": 100, "eval_batches": 8, "eval_batch_size": 16}
_WORDS, STEPS = {"pydoc": 1_000, "ptb": 2_000}, {"pydoc": 500, "ptb": 300}
# On the help pages every model tried 0.003, 0.01 and 0.03, and the next one where the best was at an end, for the whole
# training and with seeds that the chapter does not show. Each has the rate of the least median loss on "valid"
# (tuning.returned). PTB takes these over.
MODELS: dict[str, tuple[str, str, dict[str, Any], float]] = {
    "rnn": ("tanh RNN", "word-rnn", {}, 1e-2),
    "context-rnn": ("Context-dependent RNN", "context-rnn", {"topics": 20}, 1e-2),
    "topic-rnn": ("TopicRNN", "topic-rnn", {"topics": 20}, 1e-2),
    "lstm": ("LSTM", "word-lstm", {}, 3e-2),
}
SEEDS = (0, 1, 2)


def _recipe(source: str, model: str) -> Recipe:
    about, kind, more, lr = MODELS[model]
    task = {"source": source, "words": _WORDS[source], "length": 64} | ({"told": True} if model == "topic-rnn" else {})
    settings = _SETTINGS | {"elsewhere": {"by word": {"length": 512, "watched": 32}}}
    on = "Penn Treebank, words" if source == "ptb" else "Python's help, words"
    name = f"topics-{source}-{model}"
    how = {"model_arguments": _HIDDEN | more, "task_arguments": task} | settings
    return Recipe(name, f"{about} on {on}", kind, "topics", STEPS[source], lr=lr, **how)


RECIPES = [_recipe(source, model) for source in STEPS for model in MODELS]
TUNED = RECIPES[: len(MODELS)]
