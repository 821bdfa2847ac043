"""Recipes of the chapter on time series: a patch of values a step, the window's last value taken out, a head."""

from typing import Any

from .recipe import COSINE, Recipe, table
from .returns import RATES

_TABLE = table("series")
SERIES: dict[str, dict[str, Any]] = _TABLE["series"]
"""What is forecast, from how many values, and how far: four days and two weeks, or a season and two."""

PATCHES = {"co2": 13, "elnino": 12, "sunspots": 11}
"""Values a step: a quarter of a year, a year, a cycle of the sun; of the rest a day."""

LANES: dict[str, tuple[str, str, dict[str, Any]]] = _TABLE["lanes"]
"""The models: what figures call each, a name in ``MODELS``, and its arguments. All but the last two read patches."""

SEEDS = (0, 1, 2, 3, 4)
_HOW: dict[str, Any] = COSINE | {"batch_size": 32, "warmup": 20, "eval_every": 100, "curve_points": 50}


def _lane(
    series: str, lane: str, name: str = "", *, patch: int | None = None, norm: str | None = "last", **how: Any
) -> Recipe:
    """A model on a series; ``levels`` asks for quantiles, or for a normal."""
    about, model, own = LANES[lane]
    task, levels = dict(SERIES[series]), how.pop("levels", None)
    if levels:
        task["levels"] = levels
    if not lane.endswith("linear"):
        inner = {"core": model, "core_arguments": own, "width": 64}
        model, own = "patched", inner | {"patch": patch or PATCHES.get(task["source"], 24), "norm": norm}
    how = _HOW | {"steps": 600 if series.startswith("ett") else 300} | how
    name = f"series-{series}-{name or lane}"
    lr = _RATES.get(name.removesuffix("-longer"), RATES[1])
    return Recipe(name, f"{about} on {series}", model, "series", lr=lr, model_arguments=own, task_arguments=task, **how)


# Each has the rate of the least loss on "valid" in a whole training with a seed that is not shown, of 0.003, 0.01 and
# 0.03, and further ones where the best is the last of its side (tuning.series_rate): 0.01 where nothing else stands.
# Longer trainings keep the rate.
_RATES = {f"series-{name}": float(lr) for lr, names in _TABLE["rates"].items() for name in names.split()}

# The intervals, with the last value taken out; a normal as DeepAR has it.
_PROBABLE: list[tuple[str, Any, str]] = [
    ("gru", [0.1, 0.5, 0.9], "intervals"),
    ("nlinear", [0.1, 0.5, 0.9], "intervals"),
    ("transformer", [0.1, 0.5, 0.9], "intervals"),
    ("gru", "normal", "normal"),
]

TRAINED: list[Recipe] = [
    *(_lane(series, lane) for series in SERIES for lane in LANES),
    *(_lane(series, "gru", "gru-level", norm=None) for series in ("etth1-96", "co2")),
    *(_lane("etth1-96", "gru", f"gru-step{end}", patch=1, norm=norm) for end, norm in (("", "last"), ("-level", None))),
    *(
        _lane(series, lane, f"{lane}-{end}", levels=levels)
        for series in ("etth1-96", "co2", "elnino")
        for lane, levels, end in _PROBABLE
    ),
    *(_lane("etth1-96", lane, f"{lane}-longer", steps=2400) for lane in ("gru", "nlinear", "dlinear")),
]

TUNED = [recipe for recipe in TRAINED if not recipe.name.endswith("-longer")]

FITTED = [
    Recipe(f"series-{series}-{lane}", f"{about} on {series}", "statistician", "series", 1, 1, 1.0, how, task)
    for series, own in SERIES.items()
    for lane, (about, forms) in _TABLE["fitted"].items()
    for how in [
        {"forms": forms} | ({"past": 672, "every": 23} if "ETT" in own["source"] else {"past": 2000, "every": 1})
    ]
    for task in [own | {"levels": "normal"}]
]
"""Smoothing and ARIMA, on the same windows: no seed changes them, and steps and rate mean nothing."""

RECIPES = TRAINED + FITTED
