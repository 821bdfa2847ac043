"""Recipes of the part between recurrence and attention, chapters 8 and 9."""

from typing import Any

from .recipe import Recipe

# About 161,600 parameters on Nottingham and JSB, 153,300 on the characters of the Penn Treebank, each within 3 %.
_R_TRANSFORMER = {"width": 64, "heads": 4, "layers": 2, "window": 6}
_TRANSFORMER = {"width": 64, "heads": 4, "layers": 3, "activation": "relu"}


def _music(name: str, about: str, model: str, arguments: dict[str, Any], lr: float, **settings: Any) -> Recipe:
    """Whole tunes, one budget for all: about five times the 694 of Nottingham."""
    clip: float | None = settings.pop("clip", 1.0)
    return Recipe(
        f"nottingham-{name}",
        f"{about} on Nottingham",
        model,
        "music",
        800,
        4,
        lr,
        arguments,
        {"source": "nottingham"},
        clip,
        "cosine",
        warmup=50,
        eval_every=200,
        eval_batch_size=4,
        **settings,
    )


def _r_music(name: str, about: str, changes: dict[str, Any] | None = None, **settings: Any) -> Recipe:
    """The R-Transformer with one thing changed."""
    arguments = _R_TRANSFORMER | (changes or {})
    return _music(f"r-transformer{name}", f"R-Transformer{about}", "r-transformer", arguments, 1e-2, **settings)


def _chorales(name: str, about: str, model: str, arguments: dict[str, Any], lr: float) -> Recipe:
    """JSB is small: the model that is tested is the best on the validation tunes."""
    return Recipe(
        f"jsb-{name}",
        f"{about} on JSB chorales",
        model,
        "music",
        300,
        8,
        lr,
        arguments,
        {"source": "jsb"},
        1.0,
        "cosine",
        warmup=30,
        eval_every=30,
        eval_batch_size=8,
        keep_best="loss",
    )


def _characters(name: str, about: str, model: str, arguments: dict[str, Any], lr: float) -> Recipe:
    """Windows of 120 characters, of which the last 80 count."""
    return Recipe(
        f"ptb-char-{name}",
        f"{about} on Penn Treebank characters",
        model,
        "ptb",
        1000,
        16,
        lr,
        arguments,
        {"level": "characters", "length": 120, "context": 40},
        1.0,
        "cosine",
        warmup=50,
        eval_every=250,
        eval_batches=10,
        eval_batch_size=64,
    )


def _published(name: str, about: str, task: str, task_arguments: dict[str, Any], **settings: Any) -> Recipe:
    """R-Transformer with its authors' sizes and budget, for a GPU: their norm, their copies, no norm at the end.

    Ours are still the other maps' first weights (Xavier-uniform; theirs are torch.nn.Linear's), ids that are scaled by
    sqrt(D), with a table from N(0, 1/D) and no bias where it is tied (theirs are not scaled and start from U(-0.1, 0.1)
    for characters and N(0, 0.01) for words), pixels from 0 to 1 (theirs are normalised), and batches drawn at random.
    """
    arguments = {"norm": "pre", "norm_layer": "sample-std", "start": "clones"} | settings.pop("model_arguments")
    return Recipe(
        f"paper-{name}",
        f"R-Transformer on {about}, the authors' configuration",
        "r-transformer",
        task,
        task_arguments=task_arguments,
        model_arguments=arguments,
        **settings,
    )


# 482,945 parameters on tinyshakespeare, whatever the memory. The schemes have no W_kR, u and v: their feed-forward
# networks are wider by as much, and only the tables of "shaw" come on top (1 %).
_XL = {"width": 96, "heads": 4, "layers": 4, "norm": "post"}
_MEMORIES = (0, 16, 32, 64, 128, 256, 512, 1024)


def _streams(
    name: str,
    about: str,
    task: str,
    task_arguments: dict[str, Any],
    *,
    memory: int = 0,
    lr: float = 3e-3,
    model: str = "transformer-xl",
    arguments: dict[str, Any] | None = None,
    lengths: tuple[int, ...] = _MEMORIES,
    **settings: Any,
) -> Recipe:
    """Segments of 32 from 16 streams that are read in order: 768,000 symbols in 1,500 steps.

    The rate is the best of three (0.003, 0.006, 0.01; one seed) for the model without memory, and that of all others.
    The LSTM's is the better of 0.005 and 0.01.
    """
    arguments = _XL | {"memory": memory} | (arguments or {}) if model == "transformer-xl" else arguments or {}
    tested_with = {f"memory {length}": {"memory": length} for length in lengths} if memory else {}
    return Recipe(
        name,
        about,
        model,
        task,
        batch_size=16,
        lr=lr,
        model_arguments=arguments,
        task_arguments={**task_arguments, "length": 32},
        clip=1.0,
        schedule="cosine",
        warmup=100,
        floor=0.1,
        betas=[0.9, 0.99],
        weight_decay=0.1,
        stream_length=32,
        eval_batch_size=16,
        tested_with=tested_with,
        **{"steps": 1500, **settings},
    )


def _xl(memory: int, suffix: str = "", about: str = "", **settings: Any) -> Recipe:
    return _streams(
        f"shakespeare-xl-{memory}{suffix}",
        f"Transformer-XL{about} with a memory of {memory} on tinyshakespeare",
        "text",
        {"source": "shakespeare"},
        memory=memory,
        **settings,
    )


def _xl_with(scheme: str, memory: int) -> Recipe:
    return _xl(memory, f"-{scheme}", f" with positions {scheme!r}", arguments={"positions": scheme, "inner": 432})


RECIPES = [
    # Each model's rate is the best of three to five, 0.001 to 0.02 (tanh RNN: 0.0003 to 0.01), 300 steps, one seed.
    _r_music("", ""),
    _music("rnn", "tanh RNN", "rnn", {"hidden_size": 323}, 3e-3),
    _music("gru", "GRU", "gru", {"hidden_size": 180, "backend": "torch"}, 2e-2),
    _music("lstm", "LSTM", "lstm", {"hidden_size": 152, "backend": "torch", "forget_bias": 1.0}, 1e-2),
    _music("tcn", "TCN", "tcn", {"channels": [60] * 4, "kernel_size": 5}, 2e-2),
    *(
        _music(
            f"transformer{name}", f"Transformer{about}", "causal-transformer", _TRANSFORMER | {"positions": scheme}, lr
        )
        for name, about, scheme, lr in (
            ("", " with sinusoidal positions", "sinusoidal", 3e-3),
            ("-none", " without positions", "none", 3e-3),
            ("-rotary", " with rotary positions", "rotary", 6e-3),
        )
    ),
    *(_r_music(f"-window-{window}", f" with a window of {window}", {"window": window}) for window in (1, 2, 3, 12)),
    _r_music("-rnn", " of tanh RNNs", {"cell": "rnn", "width": 72}),
    _r_music("-lstm", " of LSTMs", {"cell": "lstm", "width": 60}),
    _r_music("-sinusoidal", " with sinusoidal positions", {"positions": "sinusoidal"}),
    _r_music("-rotary", " with rotary positions", {"positions": "rotary"}),
    _r_music("-post", " with post-norm", {"norm": "post"}),
    _r_music("-clones", " with equal matrices at the start", {"start": "clones"}),
    _r_music("-last-norm", " with a last norm", {"final_norm": True}),
    _r_music("-unclipped", " without clipping", clip=None),
    _music(
        "tcn-published",
        "TCN from N(0, 0.01)",
        "tcn",
        {"channels": [60] * 4, "kernel_size": 5, "init": "published"},
        2e-2,
    ),
    _characters("r-transformer", "R-Transformer", "r-transformer", _R_TRANSFORMER | {"window": 7}, 2e-2),
    _characters("rnn", "tanh RNN", "rnn", {"hidden_size": 345}, 1e-2),
    _characters("gru", "GRU", "gru", {"hidden_size": 195, "backend": "torch"}, 2e-2),
    _characters("lstm", "LSTM", "lstm", {"hidden_size": 167, "backend": "torch", "forget_bias": 1.0}, 2e-2),
    _characters("tcn", "TCN", "tcn", {"channels": [61] * 4, "kernel_size": 5}, 2e-2),
    _characters(
        "transformer",
        "Transformer with sinusoidal positions",
        "causal-transformer",
        _TRANSFORMER | {"positions": "sinusoidal"},
        1e-2,
    ),
    _characters(
        "transformer-none",
        "Transformer without positions",
        "causal-transformer",
        _TRANSFORMER | {"positions": "none"},
        1e-2,
    ),
    _characters(
        "transformer-rotary",
        "Transformer with rotary positions",
        "causal-transformer",
        _TRANSFORMER | {"positions": "rotary"},
        1e-2,
    ),
    _characters(
        "r-transformer-rotary",
        "R-Transformer with rotary positions",
        "r-transformer",
        _R_TRANSFORMER | {"window": 7, "positions": "rotary"},
        2e-2,
    ),
    _characters(
        "r-transformer-window-1",
        "R-Transformer with a window of 1",
        "r-transformer",
        _R_TRANSFORMER | {"window": 1},
        2e-2,
    ),
    _chorales("r-transformer", "R-Transformer", "r-transformer", _R_TRANSFORMER, 1e-2),
    _chorales("gru", "GRU", "gru", {"hidden_size": 180, "backend": "torch"}, 2e-2),
    _chorales("lstm", "LSTM", "lstm", {"hidden_size": 152, "backend": "torch", "forget_bias": 1.0}, 1e-2),
    _chorales("tcn", "TCN", "tcn", {"channels": [60] * 4, "kernel_size": 5}, 2e-2),
    # The authors' size and windows, for a small part of an epoch.
    Recipe(
        "ptb-word-r-transformer",
        "R-Transformer of the authors' size on Penn Treebank words",
        "r-transformer",
        "ptb",
        400,
        16,
        6e-3,
        {"width": 128, "heads": 8, "layers": 3, "window": 9, "cell": "lstm", "tied": True},
        {"level": "words", "length": 80, "context": 40},
        1.0,
        "cosine",
        warmup=40,
        eval_every=100,
        eval_batches=4,
        eval_batch_size=32,
    ),
    # The budget of the IndRNN's records in chapter 4.
    Recipe(
        "pixel-mnist-r-transformer",
        "R-Transformer on MNIST, pixel by pixel",
        "r-transformer",
        "mnist",
        300,
        32,
        3e-3,
        {"width": 32, "heads": 2, "layers": 2, "window": 7},
        clip=1.0,
        schedule="cosine",
        warmup=30,
        eval_every=100,
        eval_batch_size=50,
        eval_batches=10,
    ),
    *(_xl(memory) for memory in (0, 16, 32, 64, 128)),
    _xl(0, "-equal-time", " at equal time", equal_time="shakespeare-xl-64"),
    # The same for longer: what a step more is worth falls, and so the price of the memory does.
    _xl(64, "-long", " for 4,000 steps", steps=4000),
    _xl(0, "-equal-time-long", " at equal time for 4,000 steps", steps=4000, equal_time="shakespeare-xl-64-long"),
    *(_xl_with(scheme, 64) for scheme in ("none", "sinusoidal", "shaw", "rotary", "alibi")),
    _xl_with("sinusoidal", 0),
    _streams(
        "shakespeare-stream-lstm",
        "LSTM that carries its state on tinyshakespeare",
        "text",
        {"source": "shakespeare"},
        model="lstm",
        arguments={"hidden_size": 308, "backend": "torch", "forget_bias": 1.0},
        lr=1e-2,
    ),
    *(
        _streams(
            f"ptb-char-xl-{memory}",
            f"Transformer-XL with a memory of {memory} on Penn Treebank characters",
            "ptb",
            {"level": "characters"},
            memory=memory,
            lengths=(0, 64, 256),
            eval_batches=40,
        )
        for memory in (0, 64)
    ),
    # An epoch is that of the authors' batches: 1,875 of 32 images; 694 tunes; 988 and 1,452 of 16 windows.
    _published(
        "mnist",
        "MNIST, pixel by pixel,",
        "mnist",
        {"valid": 0},
        steps=50 * 1875,
        batch_size=32,
        lr=1e-3,
        schedule="staircase",
        drop_every=10 * 1875,
        eval_every=1875,
        eval_batch_size=100,
        model_arguments={"width": 32, "heads": 2, "layers": 8, "local_layers": 2, "window": 7, "dropout": 0.05},
    ),
    # Their clipping at 0.15 comes before the backward pass and so does nothing.
    _published(
        "nottingham",
        "Nottingham",
        "music",
        {"source": "nottingham", "summed": True},
        steps=100 * 694,
        batch_size=1,
        lr=5e-5,
        optimizer="sgd",
        schedule="plateau",
        drop_every=3,
        drop_after=10,
        eval_every=694,
        eval_batch_size=1,
        keep_best="loss",
        model_arguments={"width": 160, "heads": 4, "layers": 3, "window": 6, "dropout": 0.1},
    ),
    _published(
        "ptb-char",
        "Penn Treebank characters",
        "ptb",
        {"level": "characters", "length": 400, "context": 80},
        steps=100 * 988,
        batch_size=16,
        lr=2.0,
        clip=0.15,
        optimizer="sgd",
        schedule="plateau",
        drop_every=3,
        drop_after=5,
        eval_every=988,
        eval_batch_size=16,
        model_arguments={
            "width": 512,
            "heads": 8,
            "layers": 3,
            "window": 7,
            "dropout": 0.15,
            "embedding_dropout": 0.15,
            "tied": True,
        },
    ),
    _published(
        "ptb-word",
        "Penn Treebank words",
        "ptb",
        {"level": "words", "length": 80, "context": 40},
        steps=100 * 1452,
        batch_size=16,
        lr=2.0,
        clip=0.35,
        optimizer="sgd",
        schedule="plateau",
        drop_every=5,
        drop_after=5,
        drop=2.0,
        eval_every=1452,
        eval_batch_size=16,
        keep_best="loss",
        model_arguments={
            "width": 128,
            "heads": 8,
            "layers": 3,
            "window": 9,
            "cell": "lstm",
            "dropout": 0.35,
            "embedding_dropout": 0.15,
            "tied": True,
        },
    ),
    # For a GPU: the authors' 12 layers on enwik8, and characters of the Penn Treebank in some minutes.
    Recipe(
        "paper-enwik8-12",
        "Transformer-XL of 12 layers on enwik8, the authors' configuration",
        "transformer-xl",
        "enwik8",
        400_000,
        22,
        2.5e-4,
        {"width": 512, "heads": 8, "layers": 12, "inner": 2048, "memory": 512, "dropout": 0.1},
        {"length": 512, "newlines": False},
        0.25,
        "cosine",
        eval_every=4000,
        eval_batches=10,
        eval_batch_size=10,
        keep_best="loss",
        stream_length=512,
        tested_with={"authors' test": {"memory": 2100, "clamp": 820, "same_length": True, "stream_length": 80}},
    ),
    Recipe(
        "ptb-char-xl-large",
        "Transformer-XL of 10 million parameters on Penn Treebank characters",
        "transformer-xl",
        "ptb",
        10_000,
        64,
        1e-3,
        {"width": 384, "heads": 6, "layers": 6, "memory": 128, "dropout": 0.15},
        {"level": "characters", "length": 128},
        0.25,
        "cosine",
        warmup=500,
        eval_every=500,
        eval_batch_size=10,
        keep_best="loss",
        stream_length=128,
        tested_with={f"memory {length}": {"memory": length} for length in (0, 128, 512, 1024)},
    ),
]
