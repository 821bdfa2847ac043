"""Recipes of the part on attention, chapters 5 to 7."""

from typing import Any

from .recipe import Recipe

SCHEMES = ("none", "sinusoidal", "learned", "shaw", "xl", "rotary", "alibi")


def _lag(scheme: str, lag: int) -> Recipe:
    """The position lab: trained at length 64, tested from half of it to 16 times as much."""
    return Recipe(
        f"lag{lag}-{scheme}",
        f"Causal Transformer with positions {scheme!r} on the symbol {lag} steps ago",
        "causal-transformer",
        "lag",
        steps=600,
        batch_size=32,
        lr=3e-3,
        clip=1.0,
        schedule="cosine",
        warmup=60,
        model_arguments={"width": 64, "heads": 4, "layers": 2, "positions": scheme, "length": 1024, "clip": 16},
        task_arguments={"length": 64, "lag": lag},
        eval_every=100,
        elsewhere={str(length): {"length": length} for length in (32, 64, 128, 256, 512, 1024)},
    )


def _digits_of(attention: str | None, about: str, hidden_size: int = 64, suffix: str = "") -> Recipe:
    """English number words to digits: one to six numbers a sentence, tested on up to sixteen."""
    return Recipe(
        f"numbers-{attention or 'fixed'}{suffix}",
        f"{about} from number words to digits",
        "seq2seq",
        "number-words",
        steps=1500,
        batch_size=64,
        lr=3e-3,
        clip=1.0,
        schedule="cosine",
        eval_every=150,
        model_arguments={"width": 32, "hidden_size": hidden_size, "attention": attention},
        task_arguments={"count": [1, 6]},
        elsewhere={str(count): {"count": [count, count]} for count in (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16)},
    )


def _german(kind: str, about: str, norm: str, layers: int = 2, warmup: int = 100, smoothing: float = 0.0) -> Recipe:
    """English number words to German ones: one or two numbers of up to six digits."""
    return Recipe(
        f"german-{kind}",
        f"{about} from English to German number words",
        "transformer",
        "number-words",
        steps=400,
        batch_size=64,
        lr=2e-3,
        clip=1.0,
        schedule="cosine",
        warmup=warmup,
        eval_every=50,
        model_arguments={"width": 64, "heads": 4, "layers": layers, "norm": norm},
        task_arguments={"count": [1, 2], "largest": 999_999, "to": "german", "label_smoothing": smoothing},
    )


def _shakespeare(
    name: str, about: str, model: str, steps: int = 2000, batch: int = 12, length: int = 64, **settings: Any
) -> Recipe:
    """nanoGPT's recipe on tinyshakespeare, by default that for a CPU; evaluated on the whole validation split."""
    return Recipe(
        name,
        f"{about} on tinyshakespeare",
        model,
        "text",
        steps=steps,
        batch_size=batch,
        lr=1e-3,
        clip=1.0,
        schedule="cosine",
        warmup=100,
        floor=0.1,
        betas=[0.9, 0.99],
        weight_decay=0.1,
        eval_every=steps // 10,
        task_arguments={"source": "shakespeare", "length": length},
        **settings,
    )


RECIPES = [
    _digits_of(None, "GRU encoder-decoder with one vector"),
    _digits_of(None, "GRU encoder-decoder with one vector of twice the width", 128, "-wide"),
    _digits_of("additive", "GRU encoder-decoder with additive attention"),
    _digits_of("dot", "GRU encoder-decoder with scaled dot-product attention"),
    *(_lag(scheme, lag) for lag in (5, 1, 20) for scheme in SCHEMES),
    *(
        _german(f"{depth}{norm}{cold}", f"Transformer with {norm}-norm{', deep' * bool(depth)}", norm, layers, warmup)
        for depth, layers in (("", 2), ("deep-", 6))
        for norm in ("pre", "post")
        for cold, warmup in (("", 100), ("-cold", 0))
    ),
    _german("smooth", "Transformer trained on smoothed labels", "pre", smoothing=0.1),
    _shakespeare("shakespeare-gpt", "A plain GPT of torch's own modules", "plain-gpt"),
    _shakespeare(
        "shakespeare-causal",
        "Causal Transformer",
        "causal-transformer",
        equal_time="shakespeare-gpt",
        model_arguments={"width": 128, "heads": 4, "layers": 4, "bias": False, "tied": True},
    ),
    # For a GPU: nanoGPT's larger size.
    _shakespeare(
        "shakespeare-large",
        "Causal Transformer of 10 million parameters",
        "causal-transformer",
        5000,
        64,
        256,
        model_arguments={"width": 384, "heads": 6, "layers": 6, "bias": False, "tied": True, "dropout": 0.2},
    ),
]
