"""Recipes of the part on recurrence."""

import math
import re
from dataclasses import replace
from typing import Any

from .recipe import COSINE, Recipe

_RNN: dict[str, Any] = {"hidden_size": 128}
_ROWS = {"rows": True}
_IRNN = _RNN | {"nonlinearity": "relu", "init": "identity", "input_std": 0.03}


def _adding(
    kind: str, length: int, about: str, steps: int, lr: float, arguments: dict[str, Any], clip: float | None = 1.0
) -> Recipe:
    """The adding problem at one length; all lengths of a kind share one budget."""
    name, about = f"adding-{kind}-t{length}", f"{about} on the adding problem, T = {length}"
    return Recipe(name, about, "rnn", "adding", steps, 50, lr, arguments, {"length": length}, clip)


def rate_of_u(length: int) -> float:
    """The learning rate of IndRNN's recurrent weights: those of use for T steps lie in a band of width ln(2) / T."""
    return 0.03 / length


# Of about 4,500 parameters. The rates are those of trials at T = 500, which serve longer sequences, too; only the LSTM
# has another at T = 100.
_LONG: dict[str, tuple[str, str, float, dict[str, Any]]] = {
    "rnn": ("tanh RNN", "rnn", 1e-3, {"hidden_size": 64}),
    "irnn": ("IRNN", "rnn", 1e-3, _IRNN | {"hidden_size": 64}),
    "lstm": ("LSTM", "lstm", 1e-2, {"hidden_size": 32, "forget_bias": 1.0, "backend": "torch"}),
    "gru": ("GRU", "gru", 1e-2, {"hidden_size": 37}),
    "indrnn": ("IndRNN", "indrnn", 1e-2, {"hidden_size": 64, "num_layers": 2}),
}


def _long(kind: str, length: int) -> Recipe:
    """The adding problem for models of equal size, all with one budget."""
    about, model, lr, arguments = _LONG[kind]
    lr = 3e-2 if (kind, length) == ("lstm", 100) else lr
    settings: dict[str, Any] = COSINE | {"task_arguments": {"length": length}, "eval_every": 100}
    if kind == "indrnn":
        # The second layer adds up T inputs, so a change of its W or b counts T times. With one rate for all parameters,
        # Adam's first steps silence that layer in some seeds.
        settings |= {"slow": ["units.*.u", "linears.1.*"], "slow_lr": rate_of_u(length)}
        arguments = arguments | {"length": length}
    about = f"{about} on the adding problem, T = {length}, 4,500 parameters"
    return Recipe(f"long-{kind}-t{length}", about, model, "adding", 2000, 32, lr, arguments, **settings)


def _told(length: int) -> Recipe:
    """The LSTM told the length too: it starts with forget bias ln T (Tallec and Ollivier 2018, for one memory)."""
    recipe, bias = _long("lstm", length), math.log(length)
    arguments = {**recipe.model_arguments, "forget_bias": round(bias, 2)}
    about, lr = recipe.about.replace("LSTM", "LSTM with forget bias ln T"), 1e-2
    return replace(recipe, name=f"told-lstm-t{length}", about=about, model_arguments=arguments, lr=lr)


def _copy(name: str, about: str, model: str, lr: float, **arguments: Any) -> Recipe:
    """Copy memory: five symbols over a pause of 20 steps."""
    task = {"delay": 20, "length": 5}
    return Recipe(name, f"{about} on copy memory", model, "copy", 3000, 32, lr, arguments, task, **COSINE)


def _digits(name: str, about: str, model: str, lr: float, steps: int = 2000, rows: bool = False, **how: Any) -> Recipe:
    """The 8 x 8 digits, pixel by pixel or row by row."""
    about = f"{about} on 8 x 8 digits, {'row by row' if rows else 'pixel by pixel'}"
    return Recipe(name, about, model, "digits", steps, 64, lr, how, _ROWS if rows else {}, **COSINE)


def _pixels(name: str, near_one: bool) -> Recipe:
    """The authors' plain network for pixel MNIST, for its first steps."""
    about = f"IndRNN of 6 layers on MNIST, pixel by pixel, last layer {'near' if near_one else 'not near'} one"
    arguments = {"hidden_size": 128, "num_layers": 6, "length": 784, "magnitude": 5.0, "norm": "after", "keep": 0.2}
    arguments |= {"last_near_one": near_one}
    return Recipe(name, about, "indrnn", "mnist", 300, 32, 2e-4, arguments, eval_every=100)


# --- number words to digits: a GRU encoder-decoder with attention, and deep transition

# The hidden size by depth, for 45,170 to 46,246 parameters each, and the rate of each by the rule of the chapter on
# what returned (tuning.TUNED). In the time of the GRU they have the same.
_DEEP = {1: (28, 3e-2), 2: (25, 3e-2), 3: (23, 3e-2), 4: (21, 3e-2)}


def _translator(about: str, name: str, model: str, lr: float, timed: str | None = None, **arguments: Any) -> Recipe:
    """One number of up to four digits, for so many steps, or for as long as another recipe needs for them."""
    settings = COSINE | {"task_arguments": {"count": [1, 1], "largest": 9_999}, "equal_time": timed}
    settings |= {"eval_every": 50, "eval_batch_size": 1000, "curve_points": 20}
    about, arguments = f"{about} from number words to digits", {"width": 24} | arguments
    return Recipe(f"transition-{name}", about, model, "number-words", 150, 32, lr, arguments, **settings)


def _deep(depth: int, end: str = "", timed: str | None = None) -> Recipe:
    """DTMT with so many T-GRUs in each of its transitions."""
    (size, lr), depths = _DEEP[depth], {f"{part}_depth": depth for part in ("encoder", "query", "decoder")}
    about = f"DTMT of depth {depth}{', in the time of the GRU,' * bool(timed)}"
    return _translator(about, f"{depth}{end}", "dtmt", lr, timed, hidden_size=size, heads=1, **depths)


TRANSLATORS = [
    _translator("GRU encoder-decoder", "gru", "seq2seq", 3e-2, hidden_size=42, attention="additive"),
    *(_deep(depth) for depth in _DEEP),
]
RECIPES = [
    # The tanh RNN's limit lies between 30 and 50 steps.
    *(_adding("rnn", length, "tanh RNN", 4000, 1e-3, _RNN) for length in (10, 20, 30, 50, 100, 200)),
    *(_adding("irnn", length, "IRNN (identity, ReLU)", 3000, 3e-3, _IRNN) for length in (10, 50, 100)),
    _adding("irnn", 200, "IRNN (identity, ReLU)", 3000, 1e-4, _IRNN),
    _adding("irnn-fast", 200, "IRNN with a larger rate", 3000, 1e-3, _IRNN),
    _adding("irnn-noclip", 200, "IRNN with a larger rate, not clipped,", 3000, 1e-3, _IRNN, clip=None),
    _adding("orthogonal", 50, "tanh RNN from an orthogonal start", 4000, 1e-3, _RNN | {"init": "orthogonal"}),
    _digits("digits-rnn", "tanh RNN", "rnn", 5e-3, hidden_size=64),
    Recipe("row-mnist-rnn", "tanh RNN on MNIST, row by row", "rnn", "mnist", 1500, 100, 6e-3, _RNN, _ROWS, **COSINE),
    _digits("digits-lstm", "LSTM", "lstm", 1.5e-2, hidden_size=64),
    _digits("digits-gru", "GRU", "gru", 5e-2, hidden_size=74),
    _copy("copy-rnn", "tanh RNN", "rnn", 6e-4, hidden_size=128),
    _copy("copy-lstm", "LSTM", "lstm", 1e-2, hidden_size=64, forget_bias=4.0),
    _copy("copy-gru", "GRU", "gru", 1e-2, hidden_size=75),
    *(
        _copy(f"forget-bias-{b:g}", f"LSTM with forget bias {b:g}", "lstm", 1e-2, hidden_size=64, forget_bias=b)
        for b in (0.0, 1.0, 4.0, 8.0)
    ),
    # Three recurrent maps a step in each, at equal parameters.
    _digits("depth-transition", "deep-transition GRU", "deep-gru", 1.5e-2, 1500, hidden_size=49, transitions=2),
    _digits("depth-stacked", "three stacked GRU layers", "gru", 5e-3, 1500, hidden_size=40, num_layers=3),
    _digits(
        "depth-transition-rows", "deep-transition GRU", "deep-gru", 1.5e-2, 1500, True, hidden_size=48, transitions=2
    ),
    _digits("depth-stacked-rows", "three stacked GRU layers", "gru", 5e-3, 1500, True, hidden_size=40, num_layers=3),
    *(_long(kind, length) for length in (100, 500, 1000) for kind in _LONG),
    _long("indrnn", 5000),
    *(_told(length) for length in (100, 500, 1000)),
    _pixels("pixel-mnist-indrnn", True),
    _pixels("pixel-mnist-indrnn-first", False),
    *TRANSLATORS,
    *(_deep(depth, "-timed", "transition-gru") for depth in _DEEP),
]

# What differs from one of these in its length alone has its rate, and so do LSTMs of other forget biases.
_TRIED = "(long|told)-.*-t(100|500)|copy-.*|digits-.*|row-.*|depth-.*-rows|adding-rnn-t30|adding-irnn-t[12]00"
TUNED = [r for r in RECIPES if re.fullmatch(_TRIED, r.name)]
