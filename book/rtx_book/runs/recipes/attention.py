"""Recipes of the part on attention."""

import re
from typing import Any

from .recipe import COSINE, Recipe

SCHEMES = ("none", "sinusoidal", "learned", "shaw", "xl", "rotary", "alibi")


def _lag(scheme: str, lag: int) -> Recipe:
    """The position lab: trained at length 64, tested from half of it to 16 times as much."""
    name, about = f"lag{lag}-{scheme}", f"Causal Transformer with positions {scheme!r} on the symbol {lag} steps ago"
    arguments = {"width": 64, "heads": 4, "layers": 2, "positions": scheme, "length": 1024, "clip": 16}
    settings = COSINE | {"task_arguments": {"length": 64, "lag": lag}, "warmup": 60, "eval_every": 100}
    settings["elsewhere"] = {str(length): {"length": length} for length in (32, 64, 128, 256, 512, 1024)}
    lr = {"none": 3e-2, "learned": 1e-2, "alibi": 3e-2}.get(scheme, 3e-3)
    return Recipe(name, about, "causal-transformer", "lag", 600, 32, lr, arguments, **settings)


def _digits_of(attention: str | None, about: str, hidden_size: int = 64, suffix: str = "") -> Recipe:
    """English number words to digits: one to six numbers a sentence, tested on up to sixteen."""
    name, about = f"numbers-{attention or 'fixed'}{suffix}", f"{about} from number words to digits"
    arguments = {"width": 32, "hidden_size": hidden_size, "attention": attention}
    settings = COSINE | {"task_arguments": {"count": [1, 6]}, "eval_every": 150}
    settings["elsewhere"] = {str(n): {"count": [n, n]} for n in (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16)}
    lr = 3e-3 if attention == "dot" else 1e-2
    return Recipe(name, about, "seq2seq", "number-words", 1500, 64, lr, arguments, **settings)


# Of those that translate into German; the others have 0.002.
_GERMAN = {"pre": 6e-3, "post": 6e-3, "smooth": 6e-3, "deep-pre": 6e-3, "deep-post-cold": 6e-4}


def _german(kind: str, about: str, norm: str, layers: int = 2, warmup: int = 100, smoothing: float = 0.0) -> Recipe:
    """English number words to German ones: one or two numbers of up to six digits."""
    about = f"{about} from English to German number words"
    arguments = {"width": 64, "heads": 4, "layers": layers, "norm": norm}
    task = {"count": [1, 2], "largest": 999_999, "to": "german", "label_smoothing": smoothing}
    settings = COSINE | {"task_arguments": task, "warmup": warmup, "eval_every": 50}
    lr = _GERMAN.get(kind, 2e-3)
    return Recipe(f"german-{kind}", about, "transformer", "number-words", 400, 64, lr, arguments, **settings)


def _shakespeare(
    name: str, about: str, model: str, arguments: dict[str, Any], size: tuple[int, int, int], **settings: Any
) -> Recipe:
    """nanoGPT's recipe on tinyshakespeare, with its steps, batch and length; tested on all of the validation split."""
    steps, batch_size, length = size
    rule = COSINE | {"warmup": 100, "floor": 0.1, "betas": [0.9, 0.99], "weight_decay": 0.1}
    rule |= {"task_arguments": {"source": "shakespeare", "length": length}, "eval_every": steps // 10}
    name, about = f"shakespeare-{name}", f"{about} on tinyshakespeare"
    return Recipe(name, about, model, "text", steps, batch_size, 1e-3, arguments, **rule | settings)


_SMALL = (2000, 12, 64)
_CAUSAL = {"width": 128, "heads": 4, "layers": 4, "bias": False, "tied": True}
_LARGE = {"width": 384, "heads": 6, "layers": 6, "bias": False, "tied": True, "dropout": 0.2}

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
    _shakespeare("gpt", "A plain GPT of torch's own modules", "plain-gpt", {}, _SMALL),
    _shakespeare("causal", "Causal Transformer", "causal-transformer", _CAUSAL, _SMALL, equal_time="shakespeare-gpt"),
    # For a GPU: nanoGPT's larger size.
    _shakespeare("large", "Causal Transformer of 10 million parameters", "causal-transformer", _LARGE, (5000, 64, 256)),
]

# What is tested on another lag, is wider or learns from smoothed labels has the rate of its like; the Causal
# Transformer has nanoGPT's.
TUNED = [r for r in RECIPES if re.fullmatch("numbers-[^-]+|lag5-.*|german-.*(pre|post|cold)", r.name)]
