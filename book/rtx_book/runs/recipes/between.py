"""Recipes of the part between recurrence and attention."""

from typing import Any

from .recipe import COSINE, Recipe, table

# About 161,600 parameters on Nottingham and JSB, 153,300 on the characters of the Penn Treebank, each within 3 %.
_R_TRANSFORMER: dict[str, Any] = {"width": 64, "heads": 4, "layers": 2, "window": 6}
_AUTHORS = {"width": 128, "heads": 8, "layers": 3, "window": 9, "cell": "lstm", "tied": True}
_NARROW = {"width": 32, "heads": 2, "layers": 2, "window": 7}
_TRANSFORMER = {"width": 64, "heads": 4, "layers": 3, "activation": "relu"}
_GRU: dict[str, Any] = {"hidden_size": 180, "backend": "torch"}
_LSTM: dict[str, Any] = {"hidden_size": 152, "backend": "torch", "forget_bias": 1.0}
_TCN: dict[str, Any] = {"channels": [60] * 4, "kernel_size": 5}
# 482,945 parameters on tinyshakespeare, whatever the memory. The schemes have no W_kR, u and v: their feed-forward
# networks are wider by as much, and only the tables of "shaw" come on top (1 %).
_XL = {"width": 96, "heads": 4, "layers": 4, "norm": "post"}

_PLACES: dict[str, dict[str, Any]] = table("between")
"""The data, and the budget of all models on each.

Of Nottingham they see whole tunes, about five times its 694, and of JSB, which is small, the best on the validation
tunes is tested. Windows of Penn Treebank have 120 characters, of which the last 80 count, or the authors' 80 words, for
a small part of an epoch. MNIST's budget is that of the IndRNN. The last two read segments of 32 from 16 streams, in
order, 768,000 symbols; all Transformers have one rate there.
"""


def _at(place: str, name: str, about: str, model: str, arguments: dict[str, Any], lr: float, **settings: Any) -> Recipe:
    """A model on the data of `place`, with their budget."""
    budget = COSINE | _PLACES[place]
    settings = budget | settings | {"lr": lr, "model_arguments": arguments}
    return Recipe(f"{place}-{name}", f"{about} on {settings.pop('on')}", model, **settings)


def _r_music(name: str, about: str, changes: dict[str, Any], **settings: Any) -> Recipe:
    """The R-Transformer with one thing changed."""
    name, about = f"r-transformer{name}", f"R-Transformer{about}"
    return _at("nottingham", name, about, "r-transformer", _R_TRANSFORMER | changes, 1e-2, **settings)


def _r_news(name: str, about: str, changes: dict[str, Any]) -> Recipe:
    name, about = f"r-transformer{name}", f"R-Transformer{about}"
    return _at("ptb-char", name, about, "r-transformer", _R_TRANSFORMER | {"window": 7} | changes, 6e-3)


def _transformer(place: str, scheme: str, lr: float) -> Recipe:
    """The Transformer with one of three kinds of positions."""
    name = "transformer" if scheme == "sinusoidal" else f"transformer-{scheme}"
    about = "Transformer without positions" if scheme == "none" else f"Transformer with {scheme} positions"
    return _at(place, name, about, "causal-transformer", _TRANSFORMER | {"positions": scheme}, lr)


def _memories(*lengths: int) -> dict[str, dict[str, int]]:
    """Settings with which a model is tested."""
    return {f"memory {length}": {"memory": length} for length in lengths}


def _xl(memory: int, suffix: str = "", about: str = "", **settings: Any) -> Recipe:
    name, about = f"xl-{memory}{suffix}", f"Transformer-XL{about} with a memory of {memory}"
    arguments = _XL | {"memory": memory} | settings.pop("arguments", {})
    tested = _memories(0, 16, 32, 64, 128, 256, 512, 1024) if memory else {}
    lr = settings.pop("lr", 3e-3)
    return _at("shakespeare", name, about, "transformer-xl", arguments, lr, tested_with=tested, **settings)


def _xl_with(scheme: str, memory: int, lr: float = 3e-3) -> Recipe:
    about, arguments = f" with positions {scheme!r}", {"positions": scheme, "inner": 432}
    return _xl(memory, f"-{scheme}", about, arguments=arguments, lr=lr)


def _xl_news(memory: int) -> Recipe:
    about, tested = f"Transformer-XL with a memory of {memory}", _memories(0, 64, 256) if memory else {}
    arguments = _XL | {"memory": memory}
    return _at("ptb-char-xl", str(memory), about, "transformer-xl", arguments, 3e-3, tested_with=tested)


# R-Transformer with its authors' sizes and budget, for a GPU: their norm, their copies, no norm at the end. Ours are
# still the other maps' first weights (Xavier-uniform; theirs are torch.nn.Linear's), ids that are scaled by sqrt(D),
# with a table from N(0, 1/D) and no bias where it is tied (theirs are not scaled and start from U(-0.1, 0.1) for
# characters and N(0, 0.01) for words), pixels from 0 to 1 (theirs are normalised), and batches drawn at random.
_PUBLISHED = {"norm": "pre", "norm_layer": "sample-std", "start": "clones"}
_PLATEAU = {"optimizer": "sgd", "schedule": "plateau", "drop_every": 3, "drop_after": 5}
_DROPPED = {"dropout": 0.15, "embedding_dropout": 0.15}

# For a GPU, in some minutes.
_LARGE = {"width": 384, "heads": 6, "layers": 6, "memory": 128, "dropout": 0.15}
_LONG: dict[str, Any] = {"steps": 10_000, "batch_size": 64, "clip": 0.25, "warmup": 500, "keep_best": "loss"}
_LONG |= {"floor": 0.0, "betas": [0.9, 0.999], "weight_decay": 0.0, "stream_length": 128, "eval_every": 500}
_LONG |= {"eval_batches": None, "eval_batch_size": 10, "tested_with": _memories(0, 128, 512, 1024)}
_LONG["task_arguments"] = {"level": "characters", "length": 128}


def _published(name: str, about: str, budget: dict[str, Any], sizes: dict[str, Any]) -> Recipe:
    """An epoch is that of the authors' batches: 1,875 of 32 images; 694 tunes; 988 and 1,452 of 16 windows."""
    about = f"R-Transformer on {about}, the authors' configuration"
    return Recipe(f"paper-{name}", about, "r-transformer", model_arguments=_PUBLISHED | sizes, **budget)


RECIPES = [
    _r_music("", "", {}),
    _at("nottingham", "rnn", "tanh RNN", "rnn", {"hidden_size": 323}, 1e-3),
    _at("nottingham", "gru", "GRU", "gru", _GRU, 6e-2),
    _at("nottingham", "lstm", "LSTM", "lstm", _LSTM, 3e-2),
    _at("nottingham", "tcn", "TCN", "tcn", _TCN, 2e-2),
    _transformer("nottingham", "sinusoidal", 3e-3),
    _transformer("nottingham", "none", 3e-3),
    _transformer("nottingham", "rotary", 2e-3),
    *(_r_music(f"-window-{window}", f" with a window of {window}", {"window": window}) for window in (1, 2, 3, 12)),
    _r_music("-rnn", " of tanh RNNs", {"cell": "rnn", "width": 72}),
    _r_music("-lstm", " of LSTMs", {"cell": "lstm", "width": 60}),
    _r_music("-sinusoidal", " with sinusoidal positions", {"positions": "sinusoidal"}),
    _r_music("-rotary", " with rotary positions", {"positions": "rotary"}),
    _r_music("-post", " with post-norm", {"norm": "post"}),
    _r_music("-clones", " with equal matrices at the start", {"start": "clones"}),
    _r_music("-last-norm", " with a last norm", {"final_norm": True}),
    _r_music("-unclipped", " without clipping", {}, clip=None),
    _at("nottingham", "tcn-published", "TCN from N(0, 0.01)", "tcn", _TCN | {"init": "published"}, 2e-2),
    _r_news("", "", {}),
    _at("ptb-char", "rnn", "tanh RNN", "rnn", {"hidden_size": 345}, 1e-2),
    _at("ptb-char", "gru", "GRU", "gru", _GRU | {"hidden_size": 195}, 6e-3),
    _at("ptb-char", "lstm", "LSTM", "lstm", _LSTM | {"hidden_size": 167}, 2e-2),
    _at("ptb-char", "tcn", "TCN", "tcn", _TCN | {"channels": [61] * 4}, 6e-2),
    *(_transformer("ptb-char", scheme, 1e-2) for scheme in ("sinusoidal", "none", "rotary")),
    _r_news("-rotary", " with rotary positions", {"positions": "rotary"}),
    _r_news("-window-1", " with a window of 1", {"window": 1}),
    _at("jsb", "r-transformer", "R-Transformer", "r-transformer", _R_TRANSFORMER, 1e-2),
    _at("jsb", "gru", "GRU", "gru", _GRU, 2e-2),
    _at("jsb", "lstm", "LSTM", "lstm", _LSTM, 1e-2),
    _at("jsb", "tcn", "TCN", "tcn", _TCN, 6e-2),
    _at("ptb-word", "r-transformer", "R-Transformer of the authors' size", "r-transformer", _AUTHORS, 6e-3),
    _at("pixel-mnist", "r-transformer", "R-Transformer", "r-transformer", _NARROW, 1e-2),
    *(_xl(memory) for memory in (0, 16, 32, 64, 128)),
    _xl(0, "-equal-time", " at equal time", equal_time="shakespeare-xl-64"),
    # The same for longer: what a step more is worth falls, and so the price of the memory does.
    _xl(64, "-long", " for 4,000 steps", steps=4000),
    _xl(0, "-equal-time-long", " at equal time for 4,000 steps", steps=4000, equal_time="shakespeare-xl-64-long"),
    *(_xl_with(scheme, 64) for scheme in ("none", "shaw", "rotary", "alibi")),
    _xl_with("sinusoidal", 64, 1e-3),
    _xl_with("sinusoidal", 0),
    _at("shakespeare", "stream-lstm", "LSTM that carries its state", "lstm", _LSTM | {"hidden_size": 308}, 1e-2),
    *(_xl_news(memory) for memory in (0, 64)),
    _published(
        "mnist",
        "MNIST, pixel by pixel,",
        {"task": "mnist", "task_arguments": {"valid": 0}, "schedule": "staircase", "drop_every": 10 * 1875}
        | {"steps": 50 * 1875, "eval_every": 1875, "batch_size": 32, "lr": 1e-3, "eval_batch_size": 100},
        {"width": 32, "heads": 2, "layers": 8, "local_layers": 2, "window": 7, "dropout": 0.05},
    ),
    # Their clipping at 0.15 comes before the backward pass and so does nothing.
    _published(
        "nottingham",
        "Nottingham",
        {"task": "music", "task_arguments": {"source": "nottingham", "summed": True}, "lr": 5e-5, "keep_best": "loss"}
        | _PLATEAU
        | {"steps": 100 * 694, "eval_every": 694, "batch_size": 1, "eval_batch_size": 1, "drop_after": 10},
        {"width": 160, "heads": 4, "layers": 3, "window": 6, "dropout": 0.1},
    ),
    _published(
        "ptb-char",
        "Penn Treebank characters",
        {"task": "ptb", "task_arguments": {"level": "characters", "length": 400, "context": 80}, "clip": 0.15}
        | {"steps": 100 * 988, "eval_every": 988, "batch_size": 16, "eval_batch_size": 16, "lr": 2.0}
        | _PLATEAU,
        {"width": 512, "heads": 8, "layers": 3, "window": 7, "tied": True} | _DROPPED,
    ),
    _published(
        "ptb-word",
        "Penn Treebank words",
        {"task": "ptb", "task_arguments": {"level": "words", "length": 80, "context": 40}, "clip": 0.35}
        | {"steps": 100 * 1452, "eval_every": 1452, "batch_size": 16, "eval_batch_size": 16, "lr": 2.0}
        | _PLATEAU
        | {"drop_every": 5, "drop": 2.0, "keep_best": "loss"},
        _AUTHORS | _DROPPED | {"dropout": 0.35},
    ),
    _at("ptb-char-xl", "large", "Transformer-XL of 10 million parameters", "transformer-xl", _LARGE, 1e-3, **_LONG),
]

# The models whose rates are sought; what is one change away from one of them has its rate.
_ALL = ("r-transformer", "gru", "lstm", "tcn", "rnn", "transformer", "transformer-none", "transformer-rotary")
_TRIED = {
    "shakespeare": ("xl-0", "xl-64", "xl-0-sinusoidal", "stream-lstm"),
    "ptb-char-xl": ("0", "64"),
    "jsb": _ALL[:4],
}
_TRIED |= {"nottingham": _ALL, "ptb-char": _ALL, "ptb-word": _ALL[:1], "pixel-mnist": _ALL[:1]}
_TRIED["shakespeare"] += tuple(f"xl-64-{scheme}" for scheme in ("none", "sinusoidal", "shaw", "rotary", "alibi"))
_NAMED = {recipe.name: recipe for recipe in RECIPES}
TUNED = [_NAMED[f"{place}-{name}"] for place, names in _TRIED.items() for name in names]
