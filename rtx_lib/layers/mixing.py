"""A stack in which only the mixer changes: what carries information from step to step, between parts that do not.

A *mixer* is a module built from its width, with ``forward(x, state=None) -> (y, state)``, x and y (B, T, D). Recurrent
cells are mixers as they are, and so are Mamba, DeltaNet and the like. Between the mixers stand those parts of a
Transformer that look at one step at a time (Vaswani et al. 2017), with norms in front of them (Ba, Kiros and Hinton
2016):

    x = x + mixer(norm(x))              or mixer(convolution(norm(x)))
    x = x + mlp(norm(x))
    y = readout(norm(x))                after the last layer

so that models which are compared differ in the mixer alone. The layers may have mixers of several kinds, as in Griffin
(De et al. 2024), Jamba (Lieber et al. 2024) and Samba (Ren et al. 2024), where a few layers of attention stand among
recurrent ones.
"""

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor, nn

from rtx_lib.shapes import expect_each, expect_tuple

from .attention import MultiHeadAttention
from .blocks import FeedForward
from .embedding import embed, input_layer, readout_layer
from .positions import make_positions
from .short_convolution import ShortConvolution

MIXER_POSITIONS = ("none", "rotary", "alibi")

Mixer = Callable[[int], nn.Module]


class AttentionMixer(nn.Module):
    """Causal softmax attention as a mixer: its state is all keys and values so far, and grows with time.

    Parameters
    ----------
    width, heads
        D and H, which divides it.
    positions
        ``"none"``, ``"rotary"`` or ``"alibi"``: schemes that act in the scores and need no length.
    bias
        Whether the projections have biases.
    """

    def __init__(self, width: int, heads: int = 1, *, positions: str = "rotary", bias: bool = True) -> None:
        super().__init__()
        expect_each(positions=(positions, MIXER_POSITIONS))
        scheme = make_positions(positions, width=width, heads=heads)
        self.attention = MultiHeadAttention(width, heads, bias=bias, positions=scheme)

    def forward(self, x: Tensor, state: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Map x (B, T, D) to y (B, T, D).

        The state is the pair of keys and values (B, H, M, K) of the M steps before x; none if None.
        """
        return self.attention(x, causal=True, cache=state)


class MixerStack(nn.Module):
    """An embedding, layers of a mixer and an MLP, a norm, and a linear readout at every step.

    Parameters
    ----------
    input_size, output_size
        D_in and D_out.
    mixer
        Makes a mixer from its width, e.g. ``lambda width: RNN(width, width)``; called once a layer. Or one such for
        each layer, the lowest first: ``[AttentionMixer, Mamba]``.
    width, layers
        D and the number of layers; with one mixer for each the number is theirs, and may be left out.
    mlp
        Width of the MLP between its two maps as a multiple of D, rounded; without MLPs if 0.
    kernel_size
        Steps that a :class:`~rtx_lib.layers.short_convolution.ShortConvolution` in front of every mixer sees; none
        if None.
    vocabulary
        If given, x holds ids below it, (B, T), and a table comes first, else a linear map.
    """

    def __init__(
        self,
        input_size: int,
        output_size: int,
        mixer: Mixer | Sequence[Mixer],
        *,
        width: int,
        layers: int | None = None,
        mlp: float = 2,
        kernel_size: int | None = None,
        vocabulary: int | None = None,
    ) -> None:
        super().__init__()
        if callable(mixer):
            expect_each(layers=layers)
            mixer = [mixer] * (layers or 0)
        elif layers not in (None, len(mixer)):
            raise ValueError(f"layers must be {len(mixer)}, one for each mixer, or left out, got {layers}")
        layers = len(mixer)
        expect_each(layers=layers, kernel_size=1 if kernel_size is None else kernel_size, mlp=(mlp, "[0, inf)"))
        self.input_size, self.output_size, self.width = input_size, output_size, width
        self.embedding = input_layer(input_size, width, vocabulary=vocabulary)
        self.mixers = nn.ModuleList(make(width) for make in mixer)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(layers))
        convolved = 0 if kernel_size is None else layers
        self.convolutions = nn.ModuleList(ShortConvolution(width, kernel_size or 1) for _ in range(convolved))
        self.mlps = nn.ModuleList(
            FeedForward(width, round(mlp * width), activation="gelu") for _ in range(layers if mlp else 0)
        )
        self.mlp_norms = nn.ModuleList(nn.LayerNorm(width) for _ in self.mlps)
        self.norm = nn.LayerNorm(width)
        self.readout = readout_layer(self.embedding, width, output_size, tied=False)

    def forward(self, x: Tensor, state: tuple[Any, ...] | None = None) -> tuple[Tensor, tuple[Any, ...]]:
        """Map x (B, T, D_in), or ids (B, T), to y (B, T, D_out).

        The state is the tuple of the mixers' states, each a pair of the convolution's and the mixer's if there is one.
        """
        count = len(self.mixers)
        before = parts_of(state, count, "one for each layer")
        x, after = embed(self.embedding, x), []
        for i in range(count):
            y, own = self._mixed(i, self.norms[i](x), before[i])
            x = x + y
            if self.mlps:
                x = x + self.mlps[i](self.mlp_norms[i](x))
            after.append(own)
        return self.readout(self.norm(x)), tuple(after)

    def _mixed(self, i: int, x: Tensor, state: Any) -> tuple[Tensor, Any]:
        if not self.convolutions:
            return self.mixers[i](x, state)
        past, own = parts_of(state, 2, "(convolution's, mixer's)", f"state[{i}]")
        x, past = self.convolutions[i](x, past)
        y, own = self.mixers[i](x, own)
        return y, (past, own)

    def constrain_(self) -> None:
        """Call ``constrain_`` of every mixer that has it, as an IndRNN's bound needs after each step of training."""
        for mixer in self.mixers:
            if callable(constrain := getattr(mixer, "constrain_", None)):
                constrain()


def parts_of(state: Any, count: int, of: str, name: str = "state") -> tuple[Any, ...]:
    """The parts of a state, none of which may be missing; each None if there is no state."""
    if state is None:
        return count * (None,)
    parts = expect_tuple(state, count, of, name)
    if any(part is None for part in parts):
        raise ValueError(f"{name} must be what the last call returned, {of}, got None for one of them")
    return parts
