"""Recipes of the comparison: every model on every task, with equal parameters and equal tuning."""

from collections.abc import Mapping
from typing import Any

from rtx_lib.evidence.race import BASELINES

from .recipe import COSINE, Recipe
from .recurrence import rate_of_u

LANES = {
    "rnn": "RNN",
    "irnn": "IRNN",
    "lstm": "LSTM",
    "gru": "GRU",
    "deep-gru": "Deep-transition GRU",
    "indrnn": "IndRNN",
    "tcn": "TCN",
    "transformer": "Transformer",
    "transformer-none": "Transformer without positions",
    "r-transformer": "R-Transformer",
    "transformer-xl": "Transformer-XL",
}
"""The models that race, and their names."""

TASKS: dict[str, dict[str, Any]] = {
    "adding": {"task": "adding", "steps": 1500, "eval_every": 50, "eval_batches": 2},
    "copy": {"task": "copy", "steps": 1200, "eval_every": 50, "eval_batches": 2},
    "digits": {"task": "digits", "steps": 1000, "eval_every": 50},
    "text": {"task": "text", "task_arguments": {"source": "shakespeare", "length": 64}, "steps": 1000}
    | {"eval_every": 50, "eval_batches": 10, "eval_batch_size": 32},
    "chorales": {"task": "music", "task_arguments": {"source": "jsb"}, "steps": 400}
    | {"eval_every": 20, "eval_batch_size": 32, "keep_best": "loss"},
}
"""The tasks and their budgets."""

FINISH: dict[str, tuple[str, float]] = {
    "adding": ("mse", 0.01),
    "copy": ("accuracy", 0.99),
    "digits": ("accuracy", 0.95),
    "text": ("loss", 1.8),
    "chorales": ("loss", 8.91),
}
"""The finish line of each task: a test metric and its value, an accuracy to be reached from below, others from above.

Adding and copy memory have an end. The other lines are marks on a long road: those of the digits and the text were set
from the trials, and that of the chorales is what Bai et al. (2018, table 1) report of a tanh RNN.
"""

# What figures call the task, its metric and what is reached without learning.
_CALLED = {
    "adding": ("Adding", "MSE", "always 1"),
    "copy": ("Copy", "accuracy", "guess"),
    "digits": ("Digits", "accuracy", "one class"),
    "text": ("Characters", "nats a character", "pairs"),
    "chorales": ("Chorales", "nats a frame", "pairs"),
}

LENGTHS = {"adding": (50, 100, 200), "copy": (10, 30, 100)}
"""The lengths, T of adding and the pause of copy memory, that are swept. The second of each is that of the race."""

SYMBOLS = 5  # to be remembered in copy memory

SEEDS = (0, 1, 2, 3, 4)
RATES = (1e-3, 3e-3, 1e-2, 3e-2)
"""The rates that each lane could choose from, by the validation split, in shorter runs of one seed."""

TRIAL_STEPS = {"adding": 1000, "copy": 500, "digits": 400, "text": 400, "chorales": 133}
TRIAL_LENGTHS = {"adding": 50, "copy": 10}
"""The lengths at which rates were tried, the shortest: on the others too many lanes stay on the plateau for long."""

# Of each lane on adding, copy, digits, text and chorales: the rate that it chose, and its size: the number of units,
# channels or, of the last four, hidden units of the feed-forward networks with which it has the parameters of the
# Transformer, embeddings not counted.
_TUNED: dict[str, tuple[tuple[float, ...], tuple[int, ...]]] = {
    # rates on adding, copy, digits, text, chorales, and sizes on them
    "rnn": ((0.03, 0.001, 0.001, 0.01, 0.01), (223, 216, 220, 177, 175)),
    "irnn": ((0.003, 0.003, 0.001, 0.01, 0.03), (223, 216, 220, 177, 175)),
    "lstm": ((0.03, 0.01, 0.03, 0.03, 0.03), (111, 106, 111, 83, 80)),
    "gru": ((0.03, 0.03, 0.03, 0.01, 0.03), (128, 123, 128, 98, 96)),
    "deep-gru": ((0.03, 0.01, 0.01, 0.01, 0.03), (84, 81, 84, 64, 63)),
    "indrnn": ((0.03, 0.01, 0.01, 0.03, 0.03), (222, 213, 217, 175, 173)),
    "tcn": ((0.01, 0.01, 0.003, 0.03, 0.03), (39, 37, 39, 38, 37)),
    "transformer": ((0.01, 0.01, 0.003, 0.01, 0.01), (64, 64, 64, 64, 64)),
    "transformer-none": ((0.01, 0.01, 0.001, 0.01, 0.01), (64, 64, 64, 64, 64)),
    "r-transformer": ((0.03, 0.01, 0.003, 0.03, 0.03), (59, 59, 59, 65, 78)),
    "transformer-xl": ((0.01, 0.03, 0.03, 0.01, 0.03), (34, 34, 34, 34, 34)),
}
CHOSEN = {task: {lane: rates[number] for lane, (rates, _) in _TUNED.items()} for number, task in enumerate(TASKS)}
"""The rate that each lane chose: :func:`rtx_lib.experiments.sweeps.best_rate` of its trials."""

SIZES = {lane: dict(zip(TASKS, sizes, strict=True)) for lane, (_, sizes) in _TUNED.items()}
_WINDOWED = ("transformer", "transformer-none", "r-transformer")  # their state grows with the sequence
_STEPS = {"digits": 64, "text": 64, "chorales": 160}  # T, of the chorales that of the longest


def race(task: str, lane: str, length: int | None = None) -> Recipe:
    """A lane of the race on one task, at the length of the race unless another is given.

    Of the text, the models with a state of a fixed size read streams and keep it; the others read windows.
    """
    return _recipe(task, lane, length, CHOSEN[task][lane], TASKS[task]["steps"])


def trial(task: str, lane: str, lr: float) -> Recipe:
    """The shorter run with which a lane tried a rate."""
    return _recipe(task, lane, TRIAL_LENGTHS.get(task), lr, TRIAL_STEPS[task], trial=True)


def _recipe(task: str, lane: str, length: int | None, lr: float, steps: int, *, trial: bool = False) -> Recipe:
    settings = TASKS[task] | COSINE | {"steps": steps, "warmup": steps // 30, "curve_points": 20 if trial else 100}
    name, about = f"race-{task}-{lane}", f"{LANES[lane]} on the race's task {task!r}"
    if task in LENGTHS:
        length = length or LENGTHS[task][1]
        settings["task_arguments"] = {"length": length} if task == "adding" else {"delay": length, "length": SYMBOLS}
        if length != LENGTHS[task][1] and not trial:
            name, about = f"{name}-{length}", f"{about}, length {length}"
    if trial:
        name, about = f"rate-{task}-{lane}-{lr:g}", f"{about}, rate {lr:g}"
    steps_read = _STEPS[task] if length is None else length + 2 * SYMBOLS * (task == "copy")
    if lane == "indrnn":
        # As in chapter 4: for adding, the second layer sums T inputs.
        settings["slow"] = ["units.*.u", "linears.1.*"] if task == "adding" else ["units.*.u"]
        settings["slow_lr"] = rate_of_u(steps_read)
    if task == "text" and lane not in _WINDOWED:
        settings["stream_length"] = settings["task_arguments"]["length"]
    model, arguments = _model(task, lane, steps_read)
    return Recipe(name, about, model, model_arguments=arguments, batch_size=32, lr=lr, **settings)


def _model(task: str, lane: str, length: int) -> tuple[str, dict[str, Any]]:
    """The model's name and its arguments for sequences of ``length`` steps."""
    size = SIZES[lane][task]
    hidden: dict[str, Any] = {"hidden_size": size}
    attention = {"width": 64, "heads": 4, "layers": 2, "inner": size}
    # The authors normalise nothing for adding, after the recurrence for pixels, before it in language models.
    norm = {"adding": None, "digits": "after"}.get(task, "before")
    until = None if task == "text" else length  # a stream has no end: no u above 1
    indrnn = {"num_layers": 2, "norm": norm, "last_near_one": task in ("adding", "digits"), "length": until}
    # As the other lanes with attention, not post-norm as in the paper: on the chorales that never left the plateau.
    xl = {"memory": 64 if task == "text" else 0, "tied": False, "norm": "pre"}
    return {
        "rnn": ("rnn", hidden),
        "irnn": ("rnn", hidden | {"nonlinearity": "relu", "init": "identity", "input_std": 0.03}),
        "lstm": ("lstm", hidden | {"backend": "torch", "forget_bias": 1.0}),
        "gru": ("gru", hidden | {"backend": "torch"}),
        "deep-gru": ("deep-gru", hidden | {"transitions": 1}),
        "indrnn": ("indrnn", hidden | indrnn),
        "tcn": ("tcn", {"channels": [size] * 6, "kernel_size": 3}),  # reads 253 steps
        "transformer": ("causal-transformer", attention | {"positions": "sinusoidal"}),
        "transformer-none": ("causal-transformer", attention | {"positions": "none"}),
        "r-transformer": ("r-transformer", attention | {"width": 44, "window": 6}),
        "transformer-xl": ("transformer-xl", attention | xl),
    }[lane]


def described(task: str, baselines: Mapping[str, float]) -> dict[str, Any]:
    """A task as the figures of :mod:`rtx_lib.plots.lanes` want it: name, metric, line and what needs no learning.

    ``baselines`` are those of a record of the task; what they lack is left out.
    """
    name, label, short = _CALLED[task]
    metric, line = FINISH[task]
    known = BASELINES[task]
    value = baselines.get(known) if isinstance(known, str) else known
    lines = {} if value is None else {short: value}
    return {"name": name, "metric": metric, "line": line, "label": label, "baselines": lines}


def privileges(lane: str) -> str:
    """What a lane has that the others have not, apart from its size; empty for the plain ones."""
    own, inner = race("adding", lane).model_arguments, SIZES[lane]
    return {
        "irnn": f"starts from the identity; input weights of {own.get('input_std')}, in the paper 0.001",
        "lstm": f"forget bias {own.get('forget_bias', 0):g}",
        "deep-gru": "one transition layer behind each step",
        "indrnn": "a small rate of its own for the recurrent weights, not tuned, on adding also for the input of the "
        "second layer; told the length, except on text; recurrent weights that start near 1 on adding and digits; "
        "batch norm, except on adding",
        "tcn": f"kernel {own.get('kernel_size')}; reads 253 steps",
        "transformer": "inner width 64, where papers take 4 times the width; sinusoids",
        "transformer-none": "inner width 64",
        "r-transformer": f"window {own.get('window')}; inner width {min(inner.values())} to {max(inner.values())}",
        "transformer-xl": "inner width 34; relative positions; a memory of 64 on text, none elsewhere; norm before "
        "each part, chosen after a look at the chorales",
    }.get(lane, "")


def shape(task: str, lane: str) -> str:
    """Layers and width of a lane: "2 layers of 64"."""
    own = race(task, lane).model_arguments
    if lane == "tcn":
        return f"{len(own['channels'])} levels of {own['channels'][0]}"
    layers = own.get("layers", own.get("num_layers", 1))
    return f"{layers} layer{'s' * (layers > 1)} of {own.get('width', own.get('hidden_size'))}"


RACE = [race(task, lane) for task in TASKS for lane in LANES]
LENGTHENED = [race(task, lane, own[n]) for task, own in LENGTHS.items() for n in (0, 2) for lane in LANES]
RECIPES = RACE + LENGTHENED
TRIALS = [trial(task, lane, lr) for task in TASKS for lane in LANES for lr in RATES]
