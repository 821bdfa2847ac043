"""Recipes of the comparison: every model on every task, with equal parameters and equal tuning.

How a lane comes to its rate:

1. a *trial* of each rate of ``RATES``, one seed, shorter and at the least length; where the best one is the last of its
   side, one more rate beyond it, and so on;
2. the two best rates, and the one between them if there is one, with three seeds, as in the race itself; the third is
   spared where two decide;
3. the best of these, by the median on the validation split, with two seeds more.

What follows from records is in :mod:`rtx_book.runs.tuning`, and what has raced in
:mod:`rtx_book.runs.raced`.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rtx_book.race.race import BASELINES

from .recipe import AGAIN_SETS, COSINE, Recipe, again, table
from .recurrence import rate_of_u

_TABLE = table("race")
"""Of each lane its name, its sizes and its ways; of each task what figures call it, its metric and its finish line, its
settings, and those of its trials, which are made at the least length: on the others too many lanes stay on the plateau
for long."""

LANES: dict[str, str] = {lane: own["name"] for lane, own in _TABLE["lanes"].items()}
"""The models that race, and their names.

"IndRNN" is treated as all others are: one rate for all parameters, one arrangement on all tasks. "IndRNN (published)"
has what its authors give it: a small rate for the recurrent weights, the length of the sequences, and on each task the
norm and the start of theirs. Three lanes are controls: an LSTM in the blocks that the newer cells come in, and
Transformers with rotary positions, without and with the short convolution that those cells have in front of them.
A step of "DeltaNet up to 2" can turn a direction round. "RNN above attention" is the last control with an RNN on top.
"""

WINDOWED = tuple(lane for lane, own in _TABLE["lanes"].items() if own.get("windowed"))
"""Lanes whose state grows with the sequence: they do not run on "stream"."""

TASKS: dict[str, dict[str, Any]] = {task: own["settings"] for task, own in _TABLE["tasks"].items()}
"""The tasks and their budgets.

Of "text" every model reads windows of 64 characters, each from an empty state; of "stream", the same text, those whose
state has a fixed size keep it from piece to piece, and Transformer-XL has a memory. The folds of the digits are those
of the seeds, so that five seeds are tested on all digits.
"""

FINISH: dict[str, tuple[str, float]] = {task: (own["metric"], own["line"]) for task, own in _TABLE["tasks"].items()}
"""The finish line of each task: a test metric and its value, a share to be reached from below, others from above.

The generated tasks have an end. The other lines are marks on a long road: those of the digits and the text were set
from trials, and that of the chorales is what Bai et al. (2018, table 1) report of a tanh RNN.
"""

LENGTHS = {"adding": (50, 100, 200), "copy": (10, 30, 100)}
"""The lengths, T of adding and the pause of copy memory, that are swept. The second of each is that of the race."""

SYMBOLS = 5  # to be remembered in copy memory

SEEDS = (0, 1, 2, 3, 4)
FINAL_SEEDS = SEEDS[:3]
RATES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
"""The rates that each lane tries first."""

BEYOND = (1e-5, 3e-5, 3e-1, 1.0)
"""Further ones, for a lane that is best at an end."""

# The size of each lane on adding, copy, digits, text and stream, chorales, parity, recall and selective copying: units,
# channels, the width of a stack, or, of the last six, hidden units of the feed-forward networks, with which it comes
# closest to the 50,000 to 62,000 parameters that a Transformer of width 64 with as wide a feed-forward network has,
# embeddings not counted.
_SIZED = [task for task in TASKS if task != "stream"]
_SIZES = {lane: dict(zip(_SIZED, own["sizes"], strict=True)) for lane, own in _TABLE["lanes"].items()}
SIZES: dict[str, dict[str, int]] = {lane: sizes | {"stream": sizes["text"]} for lane, sizes in _SIZES.items()}


LARGE = {"gru": 230, "mamba": 121, "delta-net": 93, "transformer": 423}
"""Lanes that also run with four times the parameters, and their sizes then."""

LARGE_TASKS = ("text", "recall")


def runs_on(task: str, lane: str) -> bool:
    """Whether the lane runs on this task."""
    return task != "stream" or lane not in WINDOWED


CELLS = [(task, lane) for task in TASKS for lane in LANES if runs_on(task, lane)]
"""All pairs of a task and a lane."""

AGAIN = {(t, m): AGAIN_SETS[:sets] for t, own in _TABLE["tasks"].items() for m, sets in own["again"].items()}
"""The cells that run again, with fresh seeds, and the sets of instructions: twenty seeds on each of two, or ten on one.

On two what sentences name of parity and recall, which a run solves or does not; on one the first four of each task, of
a tie those of the least loss.
"""


def race(task: str, lane: str, lr: float, length: int | None = None) -> Recipe:
    """A lane on one task with a rate, at the length of the race unless another is given."""
    name, about, arguments = f"race-{task}-{lane}", f"{LANES[lane]} on the race's task {task!r}", None
    if task in LENGTHS:
        asked = length or LENGTHS[task][1]
        arguments = {"length": asked} if task == "adding" else {"delay": asked, "length": SYMBOLS}
        if asked != LENGTHS[task][1]:
            name, about = f"{name}-{asked}", f"{about}, length {asked}"
    settings = {"steps": TASKS[task]["steps"], "curve_points": 100}
    return _recipe(f"{name}-{lr:g}", f"{about}, rate {lr:g}", task, lane, lr, arguments, settings)


def trial(task: str, lane: str, lr: float) -> Recipe:
    """The shorter run with which a lane tries a rate."""
    name, about = f"trial-{task}-{lane}-{lr:g}", f"{LANES[lane]} on the race's task {task!r}, rate {lr:g}"
    own = _TABLE["tasks"][task]["trial"]
    settings: dict[str, Any] = {"steps": own["steps"], "curve_points": 20}
    settings |= {"elsewhere": {}} if "arguments" in own else {}
    return _recipe(name, about, task, lane, lr, own.get("arguments"), settings)


def large(task: str, lane: str, lr: float) -> Recipe:
    """A lane of ``LARGE`` on one of ``LARGE_TASKS``, four times as large."""
    plain = race(task, lane, lr)
    wider = {"transformer": {"width": 88, "inner": LARGE[lane]}, "gru": {"hidden_size": LARGE[lane]}}
    arguments = plain.model_arguments | wider.get(lane, {"width": LARGE[lane]})
    name, about = plain.name.replace("race", "large", 1), f"{plain.about}, four times as large"
    return replace(plain, name=name, about=about, model_arguments=arguments)


def _recipe(
    name: str, about: str, task: str, lane: str, lr: float, arguments: dict[str, Any] | None, changes: dict[str, Any]
) -> Recipe:
    settings = TASKS[task] | COSINE | changes
    settings["warmup"] = settings["steps"] // 30
    if arguments is not None:
        settings["task_arguments"] = arguments
    steps_read = _steps_read(task, settings["task_arguments"])
    if lane == "indrnn-published":
        # As in the IndRNN's own recipes: for adding, the second layer sums T inputs.
        settings["slow"] = ["units.*.u", "linears.1.*"] if task == "adding" else ["units.*.u"]
        settings["slow_lr"] = rate_of_u(steps_read)
    model, own = _model(task, lane, steps_read)
    return Recipe(name, about, model, model_arguments=own, batch_size=32, lr=lr, **settings)


def _steps_read(task: str, arguments: dict[str, Any]) -> int:
    """T, of the chorales that of the longest."""
    if task == "copy":
        return arguments["delay"] + 2 * SYMBOLS
    if task == "selective":
        return arguments["places"] + arguments["tokens"]
    return {"digits": 64, "chorales": 160}.get(task) or arguments["length"]


def _model(task: str, lane: str, length: int) -> tuple[str, dict[str, Any]]:
    """The model's name and its arguments for sequences of ``length`` steps."""
    size = SIZES[lane][task]
    hidden: dict[str, Any] = {"hidden_size": size}
    # Feed-forward networks are about four times as wide as their layers, as in the papers.
    attention = {"width": 44, "heads": 4, "layers": 2, "inner": size}
    stack: dict[str, Any] = {"mixer": lane, "width": size, "layers": 2}
    # Rotary positions need heads of an even width.
    rotary = stack | {"mixer": "attention", "width": 48, "mlp": size / 48, "options": {"heads": 4}}
    # The authors normalise nothing for adding, after the recurrence for pixels, before it in language models.
    norm = {"adding": None, "digits": "after"}.get(task, "before")
    published = {"num_layers": 2, "norm": norm, "last_near_one": task in ("adding", "digits")}
    published["length"] = None if task in ("text", "stream") else length  # a stream has no end: no u above 1
    # As the other lanes with attention, not post-norm as in the paper.
    xl = {"memory": 64 if task == "stream" else 0, "tied": False, "norm": "pre"}
    return {
        "rnn": ("rnn", hidden),
        "irnn": ("rnn", hidden | {"nonlinearity": "relu", "init": "identity", "input_std": 0.03}),
        "lstm": ("lstm", hidden | {"backend": "torch", "forget_bias": 1.0}),
        "lstm-blocks": ("mixers", stack | {"mixer": "lstm", "mlp": 4, "options": {"forget_bias": 1.0}}),
        "gru": ("gru", hidden | {"backend": "torch"}),
        "deep-gru": ("deep-gru", hidden | {"transitions": 1}),
        "indrnn": ("indrnn", hidden | {"num_layers": 2, "norm": "before", "last_near_one": False}),
        "indrnn-published": ("indrnn", hidden | published),
        "qrnn": ("qrnn", hidden | {"num_layers": 2}),
        "min-gru": ("mixers", stack | {"mlp": 4}),
        "mamba": ("mixers", stack | {"mlp": 0}),  # of these two the block is the whole layer
        "mlstm": ("mixers", stack | {"mlp": 0, "options": {"heads": 4}}),
        "delta-net": ("mixers", stack | {"mlp": 4}),
        "delta-net-signed": ("mixers", stack | {"mixer": "delta-net-2", "mlp": 4}),
        "tcn": ("tcn", {"channels": [size] * 6, "kernel_size": 3}),  # reads 253 steps
        "transformer": ("causal-transformer", attention | {"positions": "sinusoidal"}),
        "transformer-none": ("causal-transformer", attention | {"positions": "none"}),
        "transformer-rotary": ("mixers", rotary),
        "transformer-convolution": ("mixers", rotary | {"kernel_size": 4}),
        "attention-rnn": ("mixers", rotary | {"mixer": ["attention-convolved", "rnn"], "options": [{"heads": 4}, {}]}),
        "r-transformer": ("r-transformer", attention | {"width": 36, "window": 6}),
        "transformer-xl": ("transformer-xl", attention | xl),
    }[lane]


def described(task: str, baselines: Mapping[str, float]) -> dict[str, Any]:
    """A task as the figures of :mod:`rtx_book.pictures.race` want it: name, metric, line and what needs no learning.

    ``task`` may name another length, "adding-50". ``baselines`` are those of a record of the task; what they lack is
    left out.
    """
    task, _, length = task.partition("-")
    called = _TABLE["tasks"][task]
    name, label = called["name"], called["label"]
    if length:
        name = f"{name}, {'T =' if task == 'adding' else 'pause'} {length}"
    metric, line = FINISH[task]
    known = BASELINES[task]
    value = baselines.get(known) if isinstance(known, str) else known
    lines = {} if value is None else {called["nothing learned"]: value}
    return {"name": name, "metric": metric, "line": line, "label": label, "baselines": lines}


def shape(task: str, lane: str) -> str:
    """Layers and width of a lane: "2 layers of 64"."""
    own = race(task, lane, RATES[0]).model_arguments
    if lane == "tcn":
        return f"{len(own['channels'])} levels of {own['channels'][0]}"
    layers = own.get("layers", own.get("num_layers", 1))
    return f"{layers} layer{'s' * (layers > 1)} of {own.get('width', own.get('hidden_size'))}"


def own_ways(lane: str) -> str:
    """How a lane is built where its paper leaves a choice, or what it is given beside its rate; empty for plain ones.

    Widths are those for adding.
    """
    own, inner = race("adding", lane, RATES[0]).model_arguments, SIZES[lane]["adding"]
    more = {"inner": inner, "wide": 4 * own.get("width", 0)}
    return str(_TABLE["lanes"][lane].get("ways", "").format(**own | more))


_GRID = (*RATES, *BEYOND)
TRIALS = [trial(*cell, lr) for cell in CELLS for lr in _GRID]
CANDIDATES = [race(*cell, lr) for cell in CELLS for lr in _GRID]
LENGTHENED = [race(t, m, lr, own[n]) for t, own in LENGTHS.items() for n in (0, 2) for m in LANES for lr in _GRID]
ENLARGED = [large(task, lane, lr) for task in LARGE_TASKS for lane in LARGE for lr in _GRID]
REPEATED = [again(race(*cell, lr), own) for cell, sets in AGAIN.items() for lr in _GRID for own in sets]
RECIPES = TRIALS + CANDIDATES + LENGTHENED + ENLARGED + REPEATED
