"""What is trained for the records: for each recipe a model, a task and a budget.

:mod:`rtx_lib.experiments` runs them.
"""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Recipe:
    """One training run up to its seed: names in ``MODELS`` and ``TASKS`` with their arguments, and the budget.

    ``lr`` is that of the ``optimizer``, "adam" or "sgd", and ``slow_lr`` that of the parameters whose names match a
    pattern in ``slow``, such as "units.*.u"; ``clip`` is the largest gradient norm or None. With a ``weight_decay`` it
    is AdamW, and matrices alone decay. ``schedule`` is "constant", "cosine" (down to ``floor``) or "inverse-sqrt",
    each after ``warmup`` steps, or divides the rate by ``drop``: "staircase" every ``drop_every`` steps, "plateau" when
    an evaluation is no better than the worst of the ``drop_every`` before it.

    Evaluations take all of "valid", or ``eval_batches`` batches of ``eval_batch_size``. With ``keep_best`` the model
    tested is that of the evaluation with the least value of this metric.

    ``elsewhere`` names variants of the task, as changes of its arguments, on which the trained model is tested too.
    ``equal_time`` names a recipe beside which this one is trained step by step, at equal wall time: ``steps`` must be
    that recipe's, and the schedule follows its progress, but how many steps are made depends on their cost.
    """

    name: str
    about: str
    model: str
    task: str
    steps: int
    batch_size: int
    lr: float
    model_arguments: dict[str, Any] = field(default_factory=dict)
    task_arguments: dict[str, Any] = field(default_factory=dict)
    clip: float | None = None
    schedule: str = "constant"
    eval_every: int = 250
    slow: list[str] = field(default_factory=list)
    slow_lr: float | None = None
    warmup: int = 0
    floor: float = 0.0
    betas: list[float] = field(default_factory=lambda: [0.9, 0.999])
    weight_decay: float = 0.0
    elsewhere: dict[str, dict[str, Any]] = field(default_factory=dict)
    equal_time: str | None = None
    optimizer: str = "adam"
    drop: float = 10.0
    drop_every: int = 0
    eval_batches: int | None = None
    eval_batch_size: int = 250
    keep_best: str | None = None


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
        f"long-{kind}-t{length}", f"{about} on the adding problem, T = {length}, 4,500 parameters", model, "adding",
        task_arguments={"length": length}, steps=2000, batch_size=32, lr=lr, clip=1.0, schedule="cosine",
        eval_every=100, **settings,
    )  # fmt: skip


def _long_indrnn(length: int) -> Recipe:
    # The second layer adds up T inputs, so a change of its W or b counts T times, and the useful u lie in a band
    # of width ln(2) / T. With one rate for all parameters, Adam's first steps silence that layer in some seeds.
    return _long(
        "indrnn", length, "IndRNN", "indrnn", 1e-2, slow=["units.*.u", "linears.1.*"], slow_lr=0.03 / length,
        model_arguments={"hidden_size": 64, "num_layers": 2, "length": length},
    )  # fmt: skip


def _copy(name: str, about: str, model: str, lr: float, **arguments: Any) -> Recipe:
    """Copy memory: five symbols over a pause of 20 steps."""
    return Recipe(
        name, f"{about} on copy memory", model, "copy", steps=3000, batch_size=32, lr=lr, model_arguments=arguments,
        task_arguments={"delay": 20, "length": 5}, clip=1.0, schedule="cosine",
    )  # fmt: skip


def _digits(name: str, about: str, model: str, steps: int = 2000, rows: bool = False, **arguments: Any) -> Recipe:
    """The 8 x 8 digits, pixel by pixel or row by row."""
    return Recipe(
        name, f"{about} on 8 x 8 digits, {'row by row' if rows else 'pixel by pixel'}", model, "digits", steps=steps,
        batch_size=64, lr=5e-3, model_arguments=arguments, task_arguments={"rows": True} if rows else {}, clip=1.0,
        schedule="cosine",
    )  # fmt: skip


def _pixels(name: str, near_one: bool) -> Recipe:
    """The authors' plain network for pixel MNIST, for its first steps."""
    return Recipe(
        name, f"IndRNN of 6 layers on MNIST, pixel by pixel, last layer {'near' if near_one else 'not near'} one",
        "indrnn", "mnist", steps=300, batch_size=32, lr=2e-4, eval_every=100,
        model_arguments={
            "hidden_size": 128, "num_layers": 6, "length": 784, "magnitude": 5.0, "norm": "after", "keep": 0.2,
            "last_near_one": near_one,
        },
    )  # fmt: skip


SCHEMES = ("none", "sinusoidal", "learned", "shaw", "xl", "rotary", "alibi")


def _lag(scheme: str, lag: int) -> Recipe:
    """The position lab: trained at length 64, tested from half of it to 16 times as much."""
    return Recipe(
        f"lag{lag}-{scheme}", f"Causal Transformer with positions {scheme!r} on the symbol {lag} steps ago",
        "causal-transformer", "lag", steps=600, batch_size=32, lr=3e-3, clip=1.0, schedule="cosine", warmup=60,
        model_arguments={
            "width": 64, "heads": 4, "layers": 2, "positions": scheme, "length": 1024, "clip": 16,
        },
        task_arguments={"length": 64, "lag": lag}, eval_every=100,
        elsewhere={str(length): {"length": length} for length in (32, 64, 128, 256, 512, 1024)},
    )  # fmt: skip


def _digits_of(attention: str | None, about: str, hidden_size: int = 64, suffix: str = "") -> Recipe:
    """English number words to digits: one to six numbers a sentence, tested on up to sixteen."""
    return Recipe(
        f"numbers-{attention or 'fixed'}{suffix}", f"{about} from number words to digits", "seq2seq", "number-words",
        steps=1500, batch_size=64, lr=3e-3, clip=1.0, schedule="cosine", eval_every=150,
        model_arguments={"width": 32, "hidden_size": hidden_size, "attention": attention},
        task_arguments={"count": [1, 6]},
        elsewhere={str(count): {"count": [count, count]} for count in (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16)},
    )  # fmt: skip


def _german(kind: str, about: str, norm: str, layers: int = 2, warmup: int = 100, smoothing: float = 0.0) -> Recipe:
    """English number words to German ones: one or two numbers of up to six digits."""
    return Recipe(
        f"german-{kind}", f"{about} from English to German number words", "transformer", "number-words", steps=400,
        batch_size=64, lr=2e-3, clip=1.0, schedule="cosine", warmup=warmup, eval_every=50,
        model_arguments={"width": 64, "heads": 4, "layers": layers, "norm": norm},
        task_arguments={"count": [1, 2], "largest": 999_999, "to": "german", "label_smoothing": smoothing},
    )  # fmt: skip


def _shakespeare(
    name: str, about: str, model: str, steps: int = 2000, batch: int = 12, length: int = 64, **settings: Any
) -> Recipe:
    """nanoGPT's recipe on tinyshakespeare, by default that for a CPU; evaluated on the whole validation split."""
    return Recipe(
        name, f"{about} on tinyshakespeare", model, "text", steps=steps, batch_size=batch, lr=1e-3, clip=1.0,
        schedule="cosine", warmup=100, floor=0.1, betas=[0.9, 0.99], weight_decay=0.1, eval_every=steps // 10,
        task_arguments={"source": "shakespeare", "length": length}, **settings,
    )  # fmt: skip


_LSTM = {"hidden_size": 32, "forget_bias": 1.0, "backend": "torch"}
_IRNN = {"hidden_size": 128, "nonlinearity": "relu", "init": "identity", "input_std": 0.03}


def recipe_of(record: dict[str, Any]) -> Recipe:
    """The recipe that a record was made by; settings that are newer than the record have their defaults."""
    return Recipe(**record["configuration"])


RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in [
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
            "irnn-noclip", 200, "IRNN with a larger rate, not clipped,", steps=3000, lr=1e-3, clip=None,
            model_arguments=_IRNN,
        ),
        _adding(
            "orthogonal", 50, "tanh RNN from an orthogonal start", steps=4000, lr=1e-3,
            model_arguments={"hidden_size": 128, "init": "orthogonal"},
        ),
        _digits("digits-rnn", "tanh RNN", "rnn", hidden_size=64),
        Recipe(
            "row-mnist-rnn", "tanh RNN on MNIST, row by row", "rnn", "mnist", steps=1500, batch_size=100, lr=2e-3,
            model_arguments={"hidden_size": 128}, task_arguments={"rows": True}, clip=1.0, schedule="cosine",
        ),
        _digits("digits-lstm", "LSTM", "lstm", hidden_size=64),
        _digits("digits-gru", "GRU", "gru", hidden_size=74),
        _copy("copy-rnn", "tanh RNN", "rnn", 2e-3, hidden_size=128),
        _copy("copy-lstm", "LSTM", "lstm", 1e-2, hidden_size=64, forget_bias=4.0),
        _copy("copy-gru", "GRU", "gru", 1e-2, hidden_size=75),
        *(
            _copy(f"forget-bias-{bias}", f"LSTM with forget bias {bias}", "lstm", 1e-2, hidden_size=64,
                  forget_bias=float(bias))
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
        _digits_of(None, "GRU encoder-decoder with one vector"),
        _digits_of(None, "GRU encoder-decoder with one vector of twice the width", 128, "-wide"),
        _digits_of("additive", "GRU encoder-decoder with additive attention"),
        _digits_of("dot", "GRU encoder-decoder with scaled dot-product attention"),
        *(_lag(scheme, lag) for lag in (5, 1, 20) for scheme in SCHEMES),
        *(
            _german(f"{depth}{norm}{cold}", f"Transformer with {norm}-norm{', deep' * bool(depth)}", norm,
                    layers, warmup)
            for depth, layers in (("", 2), ("deep-", 6))
            for norm in ("pre", "post")
            for cold, warmup in (("", 100), ("-cold", 0))
        ),
        _german("smooth", "Transformer trained on smoothed labels", "pre", smoothing=0.1),
        _shakespeare("shakespeare-gpt", "A plain GPT of torch's own modules", "plain-gpt"),
        _shakespeare(
            "shakespeare-causal", "Causal Transformer", "causal-transformer", equal_time="shakespeare-gpt",
            model_arguments={"width": 128, "heads": 4, "layers": 4, "bias": False, "tied": True},
        ),
        # For a GPU: nanoGPT's larger size.
        _shakespeare(
            "shakespeare-large", "Causal Transformer of 10 million parameters", "causal-transformer", 5000, 64, 256,
            model_arguments={
                "width": 384, "heads": 6, "layers": 6, "bias": False, "tied": True, "dropout": 0.2,
            },
        ),
        _pixels("pixel-mnist-indrnn", True),
        _pixels("pixel-mnist-indrnn-first", False),
    ]
}  # fmt: skip
