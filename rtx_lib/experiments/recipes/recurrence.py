"""Recipes of the part on recurrence, chapters 1 to 4."""

from typing import Any

from .recipe import Recipe

_LSTM = {"hidden_size": 32, "forget_bias": 1.0, "backend": "torch"}
_IRNN = {"hidden_size": 128, "nonlinearity": "relu", "init": "identity", "input_std": 0.03}


def _adding(kind: str, length: int, about: str, **settings: Any) -> Recipe:
    """The adding problem at one length; all lengths of a kind share one budget."""
    return Recipe(
        name=f"adding-{kind}-t{length}",
        about=f"{about} on the adding problem, T = {length}",
        model="rnn",
        task="adding",
        task_arguments={"length": length},
        batch_size=50,
        **{"clip": 1.0} | settings,
    )


def _long(kind: str, length: int, about: str, model: str, lr: float, **settings: Any) -> Recipe:
    """The adding problem for models of about 4,500 parameters, all with one budget."""
    return Recipe(
        f"long-{kind}-t{length}",
        f"{about} on the adding problem, T = {length}, 4,500 parameters",
        model,
        "adding",
        task_arguments={"length": length},
        steps=2000,
        batch_size=32,
        lr=lr,
        clip=1.0,
        schedule="cosine",
        eval_every=100,
        **settings,
    )


def rate_of_u(length: int) -> float:
    """The learning rate of IndRNN's recurrent weights: those of use for T steps lie in a band of width ln(2) / T."""
    return 0.03 / length


def _long_indrnn(length: int) -> Recipe:
    # The second layer adds up T inputs, so a change of its W or b counts T times. With one rate for all parameters,
    # Adam's first steps silence that layer in some seeds.
    return _long(
        "indrnn",
        length,
        "IndRNN",
        "indrnn",
        1e-2,
        slow=["units.*.u", "linears.1.*"],
        slow_lr=rate_of_u(length),
        model_arguments={"hidden_size": 64, "num_layers": 2, "length": length},
    )


def _copy(name: str, about: str, model: str, lr: float, **arguments: Any) -> Recipe:
    """Copy memory: five symbols over a pause of 20 steps."""
    return Recipe(
        name,
        f"{about} on copy memory",
        model,
        "copy",
        steps=3000,
        batch_size=32,
        lr=lr,
        model_arguments=arguments,
        task_arguments={"delay": 20, "length": 5},
        clip=1.0,
        schedule="cosine",
    )


def _digits(name: str, about: str, model: str, steps: int = 2000, rows: bool = False, **arguments: Any) -> Recipe:
    """The 8 x 8 digits, pixel by pixel or row by row."""
    return Recipe(
        name,
        f"{about} on 8 x 8 digits, {'row by row' if rows else 'pixel by pixel'}",
        model,
        "digits",
        steps=steps,
        batch_size=64,
        lr=5e-3,
        model_arguments=arguments,
        task_arguments={"rows": True} if rows else {},
        clip=1.0,
        schedule="cosine",
    )


def _pixels(name: str, near_one: bool) -> Recipe:
    """The authors' plain network for pixel MNIST, for its first steps."""
    return Recipe(
        name,
        f"IndRNN of 6 layers on MNIST, pixel by pixel, last layer {'near' if near_one else 'not near'} one",
        "indrnn",
        "mnist",
        steps=300,
        batch_size=32,
        lr=2e-4,
        eval_every=100,
        model_arguments={
            "hidden_size": 128,
            "num_layers": 6,
            "length": 784,
            "magnitude": 5.0,
            "norm": "after",
            "keep": 0.2,
            "last_near_one": near_one,
        },
    )


RECIPES = [
    # The tanh RNN's limit lies between 30 and 50 steps.
    *(
        _adding("rnn", length, "tanh RNN", steps=4000, lr=1e-3, model_arguments={"hidden_size": 128})
        for length in (10, 20, 30, 50, 100, 200)
    ),
    # One rate for all lengths: the larger one learns T = 100 sooner and diverges at T = 200.
    *(
        _adding("irnn", length, "IRNN (identity, ReLU)", steps=3000, lr=3e-4, model_arguments=_IRNN)
        for length in (10, 50, 100, 200)
    ),
    _adding("irnn-fast", 200, "IRNN with a larger rate", steps=3000, lr=1e-3, model_arguments=_IRNN),
    _adding(
        "irnn-noclip",
        200,
        "IRNN with a larger rate, not clipped,",
        steps=3000,
        lr=1e-3,
        clip=None,
        model_arguments=_IRNN,
    ),
    _adding(
        "orthogonal",
        50,
        "tanh RNN from an orthogonal start",
        steps=4000,
        lr=1e-3,
        model_arguments={"hidden_size": 128, "init": "orthogonal"},
    ),
    _digits("digits-rnn", "tanh RNN", "rnn", hidden_size=64),
    Recipe(
        "row-mnist-rnn",
        "tanh RNN on MNIST, row by row",
        "rnn",
        "mnist",
        steps=1500,
        batch_size=100,
        lr=2e-3,
        model_arguments={"hidden_size": 128},
        task_arguments={"rows": True},
        clip=1.0,
        schedule="cosine",
    ),
    _digits("digits-lstm", "LSTM", "lstm", hidden_size=64),
    _digits("digits-gru", "GRU", "gru", hidden_size=74),
    _copy("copy-rnn", "tanh RNN", "rnn", 2e-3, hidden_size=128),
    _copy("copy-lstm", "LSTM", "lstm", 1e-2, hidden_size=64, forget_bias=4.0),
    _copy("copy-gru", "GRU", "gru", 1e-2, hidden_size=75),
    *(
        _copy(
            f"forget-bias-{bias}",
            f"LSTM with forget bias {bias}",
            "lstm",
            1e-2,
            hidden_size=64,
            forget_bias=float(bias),
        )
        for bias in (0, 1, 4, 8)
    ),
    # Three recurrent maps a step in each, at equal parameters.
    _digits("depth-transition", "deep-transition GRU", "deep-gru", 1500, hidden_size=49, transitions=2),
    _digits("depth-stacked", "three stacked GRU layers", "gru", 1500, hidden_size=40, num_layers=3),
    _digits("depth-transition-rows", "deep-transition GRU", "deep-gru", 1500, True, hidden_size=48, transitions=2),
    _digits("depth-stacked-rows", "three stacked GRU layers", "gru", 1500, True, hidden_size=40, num_layers=3),
    # Each model's rate is the best of a few for one seed: at T = 100, for the IndRNN at T = 1000.
    *(
        recipe
        for length in (100, 500, 1000)
        for recipe in (
            _long("rnn", length, "tanh RNN", "rnn", 1e-3, model_arguments={"hidden_size": 64}),
            _long("irnn", length, "IRNN", "rnn", 1e-3, model_arguments=_IRNN | {"hidden_size": 64}),
            _long("lstm", length, "LSTM", "lstm", 1e-2, model_arguments=_LSTM),
            _long("gru", length, "GRU", "gru", 1e-2, model_arguments={"hidden_size": 37}),
            _long_indrnn(length),
        )
    ),
    _long_indrnn(5000),
    _pixels("pixel-mnist-indrnn", True),
    _pixels("pixel-mnist-indrnn-first", False),
]
