"""Recipes of the forecasters that go on in the page with what the reader draws."""

from .recipe import COSINE, Recipe

ABOUT: dict[str, tuple[str, dict[str, str | None]]] = {
    "nlinear": ("NLinear", {"core": "nlinear"}),
    "gru": ("GRU", {"core": "gru", "norm": "instance"}),
    "gru-level": ("GRU, level left in", {"core": "gru", "norm": None}),
    "transformer": ("Transformer", {"core": "transformer", "norm": "instance"}),
}
"""What the panel calls each, and its arguments."""

RATES = {"transformer": 2e-3}

RECIPES = [
    Recipe(f"drawn-{name}", f"{about}, on made series", "forecaster", "made-series", 3000, 128, RATES.get(name, 4e-3),
           how, **COSINE, warmup=100, eval_every=1000)
    for name, (about, how) in ABOUT.items()
]  # fmt: skip
