"""Recipes of the chapter on time series: a patch of values a step, the window's last value taken out, a head."""

from dataclasses import replace
from typing import Any

from .recipe import COSINE, Recipe
from .returns import RATES

SERIES: dict[str, dict[str, Any]] = {
    "etth1-96": {"source": "ETTh1", "lookback": 336, "horizon": 96},
    "etth1-336": {"source": "ETTh1", "lookback": 336, "horizon": 336},
    "etth2-96": {"source": "ETTh2", "lookback": 336, "horizon": 96},
    "etth2-336": {"source": "ETTh2", "lookback": 336, "horizon": 336},
    "co2": {"source": "co2", "lookback": 208, "horizon": 52},
    "elnino": {"source": "elnino", "lookback": 72, "horizon": 12},
    "sunspots": {"source": "sunspots", "lookback": 66, "horizon": 11},
}
"""What is forecast, from how many values, and how far: a season, or four days and two weeks."""

PATCHES = {"co2": 13, "elnino": 12, "sunspots": 11}
"""Values a step: a quarter of a year, a year, a cycle of the sun; of the rest a day."""

_WIDE: dict[str, Any] = {"width": 64, "heads": 4, "layers": 2, "inner": 128}
_STACK: dict[str, Any] = {"width": 64, "layers": 2}
LANES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "rnn": ("RNN", "rnn", {"hidden_size": 64}),
    "lstm": ("LSTM", "lstm", {"hidden_size": 64, "backend": "torch"}),
    "gru": ("GRU", "gru", {"hidden_size": 64, "backend": "torch"}),
    "indrnn": ("IndRNN", "indrnn", {"hidden_size": 64, "num_layers": 2, "norm": "before", "last_near_one": False}),
    "tcn": ("TCN", "tcn", {"channels": [64, 64, 64], "kernel_size": 3}),
    "transformer": ("Transformer", "causal-transformer", _WIDE | {"positions": "sinusoidal"}),
    "r-transformer": ("R-Transformer", "r-transformer", _WIDE | {"window": 4}),
    "mamba": ("Mamba", "mixers", _STACK | {"mixer": "mamba", "mlp": 0}),
    "delta-net": ("DeltaNet", "mixers", _STACK | {"mixer": "delta-net"}),
    "nlinear": ("NLinear", "nlinear", {}),
    "dlinear": ("DLinear", "dlinear", {}),
}
"""The models: what figures call each, a name in ``MODELS``, and its arguments. All but the last two read patches."""

QUANTILES = [0.1, 0.5, 0.9]
SEEDS = (0, 1, 2, 3, 4)
_LINEAR = ("nlinear", "dlinear")
_HOW: dict[str, Any] = COSINE | {"batch_size": 32, "warmup": 20, "eval_every": 100, "curve_points": 50}


def _lane(
    series: str, lane: str, name: str = "", *, patch: int | None = None, norm: str | None = "last", **how: Any
) -> Recipe:
    """A model on a series; ``levels`` asks for quantiles, or for a normal."""
    about, model, own = LANES[lane]
    task, levels = dict(SERIES[series]), how.pop("levels", None)
    if levels:
        task["levels"] = levels
    if lane not in _LINEAR:
        inner = {"core": model, "core_arguments": own, "width": 64}
        model, own = "patched", inner | {"patch": patch or PATCHES.get(series, 24), "norm": norm}
    settings = _HOW | {"steps": 600 if series.startswith("ett") else 300} | how
    name = f"series-{series}-{name or lane}"
    lr = _RATES.get(name.removesuffix("-longer"), RATES[1])
    return Recipe(
        name, f"{about} on {series}", model, "series", lr=lr, model_arguments=own, task_arguments=task, **settings
    )


# Each has the rate of the least loss on "valid" in a whole training with a seed that is not shown, of 0.003, 0.01 and
# 0.03, and further ones where the best is the last of its side (tuning.series_rate): 0.01 where nothing else stands.
# Longer trainings keep the rate.
_TRIED = {
    0.0001: "sunspots-mamba",
    0.0003: "elnino-gru-normal etth2-96-transformer sunspots-rnn",
    0.001: "elnino-delta-net elnino-transformer-intervals etth1-96-delta-net etth1-96-gru-normal "
    "etth1-96-r-transformer etth2-96-lstm etth2-96-r-transformer etth2-96-rnn etth2-96-tcn sunspots-gru "
    "sunspots-lstm",
    0.003: "co2-nlinear-intervals co2-transformer-intervals elnino-gru-intervals elnino-indrnn elnino-lstm "
    "elnino-r-transformer elnino-rnn elnino-transformer etth1-96-gru-level etth1-96-mamba etth1-96-rnn "
    "etth2-96-dlinear sunspots-dlinear",
    0.03: "co2-gru co2-gru-intervals co2-gru-level co2-gru-normal co2-lstm elnino-dlinear elnino-mamba "
    "elnino-nlinear-intervals etth1-96-indrnn sunspots-delta-net",
    0.1: "sunspots-tcn sunspots-transformer",
    0.3: "elnino-nlinear sunspots-r-transformer",
}
_RATES = {f"series-{name}": lr for lr, names in _TRIED.items() for name in names.split()}

# The intervals, with the last value taken out; a normal as DeepAR has it.
_PROBABLE: list[tuple[str, Any, str]] = [
    ("gru", QUANTILES, "intervals"),
    ("nlinear", QUANTILES, "intervals"),
    ("transformer", QUANTILES, "intervals"),
    ("gru", "normal", "normal"),
]

RECIPES: list[Recipe] = [
    *(_lane(series, lane) for series in SERIES for lane in LANES),
    *(_lane(series, "gru", "gru-level", norm=None) for series in ("etth1-96", "co2")),
    *(_lane("etth1-96", "gru", f"gru-step{end}", patch=1, norm=norm) for end, norm in (("", "last"), ("-level", None))),
    *(
        _lane(series, lane, f"{lane}-{end}", levels=levels)
        for series in ("etth1-96", "co2", "elnino")
        for lane, levels, end in _PROBABLE
    ),
    *(_lane("etth1-96", lane, f"{lane}-longer", steps=2400) for lane in ("gru", *_LINEAR)),
]


def trial(recipe: Recipe, lr: float) -> Recipe:
    """The whole training at one rate, which is judged on all of the validation split at its end."""
    short: dict[str, Any] = {"eval_every": recipe.steps, "curve_points": 1}
    return replace(recipe, name=f"rate-{recipe.name}-{lr:g}", about=f"{recipe.about}, rate {lr:g}", lr=lr, **short)


TUNED = [recipe for recipe in RECIPES if not recipe.name.endswith("-longer")]
TRIALS = [trial(recipe, lr) for recipe in TUNED for lr in (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, *RATES, 1e-1, 3e-1, 1.0)]
