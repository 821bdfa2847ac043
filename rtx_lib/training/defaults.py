"""The rate, clip and warm-up of a first try, by kind of model: what :func:`rtx_lib.training.loop.fit` takes alone."""

from typing import NamedTuple

from torch import nn

from rtx_lib.training.schedules import Schedule, warmup_constant


class Start(NamedTuple):
    """What a first try takes.

    Attributes
    ----------
    kind
        Of the model.
    lr
        The rate of Adam.
    clip
        The largest gradient norm.
    warmup
        The share of all steps over which the rate rises.
    """

    kind: str
    lr: float
    clip: float
    warmup: float

    def schedule(self, steps: int) -> Schedule | None:
        """The warm-up of a run of so many steps; None if there is none."""
        return warmup_constant(max(1, round(self.warmup * steps))) if self.warmup else None

    def __str__(self) -> str:
        """In words."""
        warmup = f"warm-up over {self.warmup:.0%} of the steps" if self.warmup else "no warm-up"
        return f"lr={self.lr:g}, clip={self.clip:g}, {warmup} (a first try for {self.kind})"


STARTS = {  # by words in the names of the modules; the first that fits
    ("Attention", "GPT", "Transformer"): Start("models with attention", 2e-3, 1.0, 0.1),
    ("LSTM", "GRU"): Start("models with gates", 5e-3, 1.0, 0.0),
    ("",): Start("others", 3e-3, 1.0, 0.0),
}
"""As found on five small tables and two texts, in 100 to 200 steps of width 32."""


def first_try(model: nn.Module) -> Start:
    """What to begin with, by what the model is made of."""
    names = [type(module).__name__ for module in model.modules()]
    return next(start for words, start in STARTS.items() if any(word in name for word in words for name in names))
