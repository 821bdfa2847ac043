"""The mixers by the names that recipes have for them, each made from its width and what else a recipe says."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from torch import Tensor, nn

from rtx_lib import models
from rtx_lib.layers import LSTM, RNN, AttentionMixer, MixerStack, ShortConvolution


def _square(cell: Callable[..., nn.Module]) -> Callable[..., nn.Module]:
    """A cell that is made from two widths."""
    return lambda width, **how: cell(width, width, **how)


class UngatedMamba(models.Mamba):
    """Mamba all of whose memory is let out."""

    def gated(self, y: Tensor, z: Tensor) -> Tensor:
        return y


class ConvolvedAttention(AttentionMixer):
    """Attention behind a short convolution, which most newer mixers have inside."""

    def __init__(self, width: int, kernel_size: int = 4, **how: Any) -> None:
        super().__init__(width, **how)
        self.convolution = ShortConvolution(width, kernel_size)

    def forward(self, x: Tensor, state: Any = None) -> tuple[Tensor, Any]:
        past, own = state or (None, None)
        x, past = self.convolution(x, past)
        y, own = super().forward(x, own)
        return y, (past, own)


# Those with matrix states have one head, unless the recipe says otherwise.
MIXERS: dict[str, Callable[..., nn.Module]] = {
    "rnn": _square(RNN),
    "lstm": _square(partial(LSTM, backend="torch")),
    "indrnn": _square(models.IndRNNLayer),
    "qrnn": _square(models.QRNNLayer),
    "min-gru": models.MinGRU,
    "min-lstm": models.MinLSTM,
    "lru": models.LRU,
    "s4d": models.S4D,
    "rg-lru": models.RGLRU,
    "griffin": models.GriffinBlock,
    "mamba": models.Mamba,
    "mamba-ungated": UngatedMamba,
    "mamba-signed": partial(models.Mamba, eigenvalues="signed"),
    "mamba-time-invariant": models.TimeInvariantMamba,
    "mamba2": partial(models.Mamba2, heads=1),
    "linear-attention": models.LinearAttention,
    "delta-net": models.DeltaNet,
    "delta-net-2": partial(models.DeltaNet, largest_beta=2.0),
    "gated-delta-net": partial(models.DeltaNet, decay="head"),
    "retention": models.MultiScaleRetention,
    "mlstm": partial(models.MLSTM, heads=1),
    "slstm": models.SLSTM,
    "attention": partial(AttentionMixer, heads=1),
    "attention-convolved": partial(ConvolvedAttention, heads=1),
}


def mixers(
    task: Any, mixer: str | Sequence[str], options: dict[str, Any] | Sequence[dict[str, Any]] | None = None, **how: Any
) -> MixerStack:
    """A stack of these ``MIXERS``, made with these options, for a task: one for all layers, or one and its for each.

    Raises
    ------
    ValueError
        For an unknown name, or options that are not one for each of several mixers.
    """
    one = isinstance(mixer, str)
    names: Sequence[Any] = [mixer] if one else mixer
    each: Any = [options or {}] if one else options or [{}] * len(names)
    if unknown := [name for name in names if name not in MIXERS]:
        raise ValueError(f"mixer must be one of {sorted(MIXERS)}, got {unknown[0]!r}")
    if isinstance(each, dict) or len(each) != len(names):
        raise ValueError(f"options must be {len(names)} dictionaries, one for each mixer, got {each}")
    made = [partial(MIXERS[name], **own) for name, own in zip(names, each, strict=True)]
    return MixerStack(task.input_size, task.output_size, made[0] if one else made, vocabulary=task.vocabulary, **how)
