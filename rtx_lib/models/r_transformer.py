"""R-Transformer: a short recurrent network at every position, then causal attention (Wang, Ma, Liu and Tang 2019).

Z. Wang, Y. Ma, Z. Liu and J. Tang, *R-Transformer: Recurrent Neural Network Enhanced Transformer*, arXiv 1907.05572.
The file follows the paper: the LocalRNN (section 3.1, eq. 2-3), one layer (sections 3.2-3.3, eq. 4-8), the model.

Where the authors' code differs from the paper, both can be had: ``norm="pre"`` (the code, the default) or ``"post"``
(eq. 8); no norm at the end; ``local_layers`` above 1; ``start="clones"``.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_lib.layers.blocks import Block
from rtx_lib.layers.embedding import embed, input_layer, readout_layer
from rtx_lib.layers.positions import SCHEMES, make_positions
from rtx_lib.layers.stacking import (
    check_choice,
    check_sequence,
    check_sizes,
    check_state,
    draw_uniform,
    register_weights,
    weights,
)

STARTS = ("independent", "clones")
# What a layer continues from: the last M - 1 inputs (B, M-1, D) of each LocalRNN, M its window, and the keys and
# values (B, H, S, K) of the attention.
LayerState = tuple[tuple[Tensor, ...], tuple[Tensor, Tensor]]


class LocalRNN(nn.Module):
    """A recurrent network run over the window of M inputs that ends at each position (section 3.1).

        h_t = LocalRNN(x_{t-M+1}, x_{t-M+2}, ..., x_t)                          eq. 2
        h_1, h_2, ..., h_N = LocalRNN(x_1, x_2, ..., x_N)                       eq. 3

    h_t is the last of the window's M hidden states. Every window starts from the state 0 and knows nothing of the
    others. M - 1 zero inputs stand before the sequence; they are stepped through as any others, so that biases act.

    All windows take their j-th step together. What that step reads is x W_ih^T + b_ih, shifted by j: computed once, it
    serves M windows, and no array of T windows of M inputs is made. The weights have torch.nn's names and order.

    Parameters
    ----------
    input_size, hidden_size
        D_in and H.
    window
        M, at least 1.
    cell
        ``"rnn"`` (tanh), ``"gru"`` or ``"lstm"``, each as ``torch.nn`` defines it.
    generator
        Source of the random initial weights, U(-1/sqrt(H), 1/sqrt(H)); torch's global one if None.

    Raises
    ------
    ValueError
        For sizes below 1, a window that is no whole number from 1 on, or an unknown cell; in ``forward`` for an input
        or a state of the wrong shape or type, or an empty sequence.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        window: int,
        *,
        cell: str = "gru",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        check_sizes(input_size=input_size, hidden_size=hidden_size)
        if not isinstance(window, int) or isinstance(window, bool) or window < 1:
            raise ValueError(f"window must be a whole number from 1 on, got {window!r}")
        check_choice("cell", cell, CELLS)
        self.input_size, self.hidden_size, self.output_size = input_size, hidden_size, hidden_size
        self.window, self.cell = window, cell
        register_weights(self, _GATES[cell], input_size, hidden_size, num_layers=1, directions=1)
        draw_uniform(self, hidden_size, generator)

    def forward(self, x: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Run all windows.

        Parameters
        ----------
        x
            (B, T, D_in), T at least 1.
        state
            (B, M - 1, D_in), the inputs before x; zeros if None.

        Returns
        -------
        h
            (B, T, H).
        state
            (B, M - 1, D_in), the last M - 1 inputs.
        """
        check_sequence(x, self.input_size, self.weight_ih_l0)  # type: ignore[arg-type]
        shape, steps = (x.shape[0], self.window - 1, self.input_size), x.shape[1]
        past = x.new_zeros(shape) if state is None else check_state(state, shape, x)
        x = torch.cat([past, x], dim=1)  # (B, T+M-1, D_in)
        weight_ih, weight_hh, bias_ih, bias_hh = weights(self, "l0")
        z = F.linear(x, weight_ih, bias_ih)  # (B, T+M-1, G H)
        h = _RUN[self.cell]([z[:, j : j + steps] for j in range(self.window)], weight_hh, bias_hh)
        return h, x[:, steps:].clone()  # which, without a copy, would keep all of x

    def extra_repr(self) -> str:
        """The arguments, as ``print(model)`` shows them."""
        return f"{self.input_size}, {self.hidden_size}, window={self.window}, cell={self.cell!r}"


def _rnn(inputs: list[Tensor], weight: Tensor, bias: Tensor) -> Tensor:
    h = torch.tanh(inputs[0] + bias)  # before it the state is 0, and so is its product
    for z in inputs[1:]:
        h = torch.tanh(z + F.linear(h, weight, bias))
    return h


def _gru(inputs: list[Tensor], weight: Tensor, bias: Tensor) -> Tensor:
    h = None
    for a in inputs:
        u = bias.expand_as(a) if h is None else F.linear(h, weight, bias)
        a_rz, a_n = a.split([2 * a.shape[-1] // 3, a.shape[-1] // 3], dim=-1)
        u_rz, u_n = u.split([2 * a.shape[-1] // 3, a.shape[-1] // 3], dim=-1)
        r, z = torch.sigmoid(a_rz + u_rz).chunk(2, dim=-1)
        n = torch.tanh(a_n + r * u_n)
        h = n - z * n if h is None else torch.lerp(n, h, z)
    assert h is not None
    return h


def _lstm(inputs: list[Tensor], weight: Tensor, bias: Tensor) -> Tensor:
    h = c = None
    for z in inputs:
        i, f, g, o = (z + (bias if h is None else F.linear(h, weight, bias))).chunk(4, dim=-1)
        c_new = torch.sigmoid(i) * torch.tanh(g)
        c = c_new if c is None else torch.sigmoid(f) * c + c_new
        h = torch.sigmoid(o) * torch.tanh(c)
    assert h is not None
    return h


_RUN: dict[str, Callable[[list[Tensor], Tensor, Tensor], Tensor]] = {"rnn": _rnn, "gru": _gru, "lstm": _lstm}
_GATES = {"rnn": 1, "gru": 3, "lstm": 4}
CELLS = tuple(_RUN)


class RTransformerBlock(nn.Module):
    """One layer: LocalRNN, multi-head attention and feed-forward network, each with a way around it (eq. 8).

    With ``norm="post"``, as in the paper::

        h = LayerNorm(LocalRNN(x) + x)
        u = LayerNorm(MultiHeadAttention(h) + h)              eq. 4-6, over the position itself and those before it
        m = LayerNorm(FeedForward(u) + u)                     eq. 7

    With ``"pre"``, as in the authors' code, the norm is inside: h = x + LocalRNN(LayerNorm(x)), and so on. Attention
    and feed-forward network are those of :class:`~rtx_lib.layers.blocks.Block`.

    Parameters
    ----------
    width, heads, window, cell
        D, H, and M and the cell of the :class:`LocalRNN`.
    local_layers
        How many LocalRNNs, one on another, each with its own norm and way around it; the paper has 1.
    norm, norm_layer, positions, inner, activation, dropout
        As in :class:`~rtx_lib.layers.blocks.Block`; dropout acts on the LocalRNN's output too.
    generator
        Source of the random initial weights; torch's global one if None.

    Raises
    ------
    ValueError
        For what the LocalRNN and the block refuse, or local_layers below 1.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        window: int,
        *,
        cell: str = "gru",
        local_layers: int = 1,
        norm: str = "pre",
        norm_layer: Callable[..., nn.Module] = nn.LayerNorm,
        positions: nn.Module | None = None,
        inner: int | None = None,
        activation: str = "relu",
        dropout: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        check_sizes(width=width, local_layers=local_layers)
        locals_ = [LocalRNN(width, width, window, cell=cell, generator=generator) for _ in range(local_layers)]
        self.local_rnns = nn.ModuleList(locals_)
        self.local_norms = nn.ModuleList(norm_layer(width) for _ in range(local_layers))
        self.block = Block(
            width, heads, inner=inner, norm=norm, causal=True, positions=positions, activation=activation,
            dropout=dropout, norm_layer=norm_layer, generator=generator,
        )  # fmt: skip
        self.dropout = nn.Dropout(dropout)
        self.norm = norm

    def forward(self, x: Tensor, state: LayerState | None = None) -> tuple[Tensor, LayerState]:
        """Map x (B, T, D) to (B, T, D), and the state that continues it."""
        windows, cache = ((None,) * len(self.local_rnns), None) if state is None else state
        after = []
        for local_rnn, norm, window in zip(self.local_rnns, self.local_norms, windows, strict=True):
            h, window = local_rnn(norm(x) if self.norm == "pre" else x, window)
            x = x + self.dropout(h)
            x = x if self.norm == "pre" else norm(x)
            after.append(window)
        x, cache = self.block(x, cache=cache)
        return x, (tuple(after), cache)


class RTransformer(nn.Module):
    """A stack of layers between an input layer and a readout; no position embedding unless asked for.

    Parameters
    ----------
    input_size, output_size
        Widths of x, if no vocabulary is given, and of y.
    width, heads, layers, window, cell, local_layers
        D, H, the number of layers, and what is in each :class:`RTransformerBlock`.
    vocabulary
        If given, x holds ids below it.
    norm, norm_layer, inner, activation, dropout
        As in :class:`RTransformerBlock`.
    final_norm
        Whether a norm follows the last layer of ``norm="pre"``. The authors' code has none.
    positions, length, clip
        As in :class:`~rtx_lib.layers.blocks.Stack`.
    embedding_dropout
        Probability with which an embedded value is dropped in training.
    tied
        Whether the readout uses the table of the ids, which then needs output_size = vocabulary.
    start
        ``"independent"``: all weights are drawn one by one. ``"clones"``: as the authors' ``deepcopy`` has it, the
        attention's four matrices in a layer start as one, and so do its LocalRNNs. That matrix and its bias are drawn
        from U(-1/sqrt(D), 1/sqrt(D)), the rule of ``torch.nn.Linear``.
    generator
        Source of the random initial weights; torch's global one if None.

    Raises
    ------
    ValueError
        For whatever the layers refuse, unknown positions or start, ``tied`` without equal sizes, or a final_norm with
        ``norm="post"``; in ``forward`` for an input of the wrong shape or type, and a state of another form.
    """

    def __init__(
        self,
        input_size: int,
        output_size: int,
        *,
        width: int,
        heads: int,
        layers: int,
        window: int,
        cell: str = "gru",
        local_layers: int = 1,
        vocabulary: int | None = None,
        norm: str = "pre",
        norm_layer: Callable[..., nn.Module] = nn.LayerNorm,
        final_norm: bool | None = None,
        positions: str = "none",
        length: int = 1024,
        clip: int = 16,
        inner: int | None = None,
        activation: str = "relu",
        dropout: float = 0.0,
        embedding_dropout: float = 0.0,
        tied: bool = False,
        start: str = "independent",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        check_sizes(width=width, heads=heads, layers=layers)
        check_choice("positions", positions, SCHEMES)
        check_choice("start", start, STARTS)
        if final_norm and norm == "post":
            raise ValueError("final_norm must be False with norm='post', whose layers end in a norm, got True")
        self.input_size, self.output_size, self.heads = input_size, output_size, heads
        ends: dict[str, Any] = {"bias": True, "generator": generator}
        self.embedding = input_layer(input_size, width, vocabulary=vocabulary, **ends)
        schemes = [
            make_positions(positions, width=width, heads=heads, length=length, clip=clip, generator=generator)
            for _ in range(1 if positions in ("none", "sinusoidal", "learned") else layers)
        ]
        self.positions = schemes[0] if hasattr(schemes[0], "embed") else None
        own = schemes if len(schemes) == layers and self.positions is None else [None] * layers
        options: dict[str, Any] = {
            "cell": cell, "local_layers": local_layers, "norm": norm, "norm_layer": norm_layer, "inner": inner,
            "activation": activation, "dropout": dropout, "generator": generator,
        }  # fmt: skip
        self.blocks = nn.ModuleList(
            RTransformerBlock(width, heads, window, positions=scheme, **options) for scheme in own
        )
        self.norm = norm_layer(width) if final_norm else None
        self.dropout = nn.Dropout(embedding_dropout)
        self.readout = readout_layer(self.embedding, width, output_size, tied=tied, **ends)
        if start == "clones":
            for block in self.blocks:
                _start_equal(block, generator)

    def forward(self, x: Tensor, state: tuple[LayerState, ...] | None = None) -> tuple[Tensor, tuple[LayerState, ...]]:
        """Map ids (B, T) or floats (B, T, input_size) to y (B, T, output_size), and the state that continues it."""
        x = embed(self.embedding, x)
        if self.positions is not None:
            x = self.positions.embed(x, 0 if state is None else state[0][1][0].shape[2])  # type: ignore[operator]
        x = self.dropout(x)
        after = []
        for block, before in zip(self.blocks, state or [None] * len(self.blocks), strict=True):
            x, end = block(x, before)
            after.append(end)
        return self.readout(x if self.norm is None else self.norm(x)), tuple(after)


@torch.no_grad()
def _start_equal(block: Any, generator: torch.Generator | None) -> None:
    """Make the four attention matrices of a layer one, and its LocalRNNs too."""
    attention, (first, *others) = block.block.self_attention, block.local_rnns
    out = attention.out_proj
    draw_uniform(out, attention.width, generator)
    attention.in_proj_weight.copy_(out.weight.repeat(3, 1))
    attention.in_proj_bias.copy_(out.bias.repeat(3))
    for other in others:
        other.load_state_dict(first.state_dict())
