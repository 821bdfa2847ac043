"""Recipes of the chapter on orders and units: New York, ERNIE's units, tasks told in words."""

from typing import Any

from .recipe import COSINE, Recipe

_SMALL: dict[str, Any] = {"width": 32, "heads": 4, "layers": 2}

# --- New York: the masked model, the permutation model, and the latter's network with the former's objective

_PAIRS = COSINE | {"task": "word-pairs", "steps": 300, "batch_size": 64, "warmup": 15, "eval_every": 50}
_PAIRS |= {"eval_batches": 2}
_BOTH = {"elsewhere": {"both hidden": {"hidden": "both"}}}


def _pairs(name: str, about: str, model: str, form: str, lr: float, **more: Any) -> Recipe:
    settings = _PAIRS | {"lr": lr, "task_arguments": {"form": form}, "model_arguments": _SMALL} | more
    return Recipe(f"pairs-{name}", f"{about} on pairs of words", model, **settings)


# --- ERNIE: what is hidden together

_ATLAS = COSINE | {"task": "atlas", "steps": 600, "batch_size": 64, "warmup": 30, "eval_every": 100}
_ATLAS |= {"lr": 1e-2, "eval_batches": 2, "elsewhere": {kind: {"hidden": kind} for kind in ("name", "piece")}}


def _atlas(hidden: str) -> Recipe:
    about = f"BERT on the made-up atlas, {hidden} hidden"
    return Recipe(f"atlas-{hidden}", about, "bert", task_arguments={"hidden": hidden}, model_arguments=_SMALL, **_ATLAS)


_PHRASES = COSINE | {"task": "masked-text", "steps": 500, "batch_size": 16, "warmup": 25, "eval_every": 100}
_PHRASES |= {"lr": 1e-3, "eval_batches": 2, "elsewhere": {rule: {"rule": rule} for rule in ("tokens", "units")}}


def _phrases(source: str, rule: str) -> Recipe:
    about = f"BERT on {source}, {rule} hidden"
    task = {"sources": source, "length": 32, "size": 1000, "rule": rule}
    arguments = {"width": 64, "heads": 4, "layers": 2}
    return Recipe(f"{source}-{rule}", about, "bert", task_arguments=task, model_arguments=arguments, **_PHRASES)


# --- GPT-2: tasks told in words

_LINES = COSINE | {"task": "instructions", "steps": 600, "batch_size": 64, "warmup": 30, "eval_every": 100}
_LINES |= {"lr": 5e-3, "eval_batches": 2}
_TASKS = ("forwards same", "backwards same", "sorted same", "backwards next", "sorted previous")


def _lines(named: bool) -> Recipe:
    about = f"GPT-2 on lines {'with' if named else 'without'} their task's name"
    task: dict[str, Any] = {} if named else {"named": False}
    arguments = {"width": 48, "heads": 4, "layers": 2, "length": 16, "norm": "pre"}
    elsewhere = {name: {"tasks": name} for name in _TASKS}
    name = "lines-named" if named else "lines-unnamed"
    return Recipe(name, about, "gpt", task_arguments=task, model_arguments=arguments, elsewhere=elsewhere, **_LINES)


RECIPES: list[Recipe] = [
    _pairs("masked", "BERT", "bert", "masked", 3e-3, **_BOTH),
    _pairs("denoising", "XLNet's network with BERT's objective", "xlnet-denoising", "masked", 1e-2, **_BOTH),
    _pairs("permutation", "XLNet", "xlnet", "permutation", 1e-2),
    *(_atlas(hidden) for hidden in ("pieces", "units")),
    *(_phrases("conll2000", rule) for rule in ("tokens", "units")),
    *(_lines(named) for named in (True, False)),
]

TUNED = RECIPES
"""Each has its own best rate (:func:`rtx_book.runs.tuning.nearest`)."""
