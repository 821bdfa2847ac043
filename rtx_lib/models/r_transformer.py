"""R-Transformer: a short recurrent network at every position, then causal attention (Wang, Ma, Liu and Tang 2019).

Z. Wang, Y. Ma, Z. Liu and J. Tang, *R-Transformer: Recurrent Neural Network Enhanced Transformer*, arXiv 1907.05572.
In the paper's order: the LocalRNN (section 3.1, eq. 2-3), a layer (sections 3.2 and 3.3, eq. 4-8), and the model. Where
the authors' code differs from the paper, both are here: ``norm``, ``final_norm`` and ``local_layers``.
"""

from collections.abc import Callable
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_lib.layers.blocks import Block
from rtx_lib.layers.cells import gru_gates
from rtx_lib.layers.embedding import embed, input_layer, readout_layer
from rtx_lib.shapes import Form, expect_each, expect_state, expect_step

# The cells that a LocalRNN may have, by torch's names for them.
CELLS = {"rnn": "RNN_TANH", "gru": "GRU", "lstm": "LSTM"}
# What a layer continues from: the last inputs (B, window - 1, D) of each LocalRNN, and the keys and values
# (B, H, S, K) of its attention.
LayerState = tuple[tuple[Tensor, ...], tuple[Tensor, Tensor]]


class LocalRNN(nn.RNNBase):
    """A recurrent network that is run over the last few inputs at every position, each time from the state 0.

    With the paper's M for ``window``, h_t is the last of the hidden states in the window that ends at t::

        h_t = LocalRNN(x_{t-M+1}, x_{t-M+2}, ..., x_t)                          (eq. 2)
        h_1, h_2, ..., h_N = LocalRNN(x_1, x_2, ..., x_N)                       (eq. 3)

    M - 1 zero vectors stand before the sequence. They are inputs like any other: the cell steps through them, and its
    biases act. With a window of the whole sequence or more, this is therefore the plain network if a zero input leaves
    its state at 0, and in general only if so: b_ih + b_hh = 0 for the RNN, the same for block g of the LSTM, and
    b_in + r b_hn = 0 with r = sigmoid(b_ir + b_hr) for the GRU. A window that ends in the sequence's last step and
    holds just its T steps needs no zeros: h_T is then the plain network's whatever the biases.

    All windows take their j-th step together. It reads W_ih x + b_ih, shifted by j: that is computed once and serves
    all steps, and no array of windows (B, T, M, D_in) is made. Weights are those of ``torch.nn.RNNBase``.

    Parameters
    ----------
    input_size, hidden_size
        D_in and H.
    window
        The paper's M, at least 1. With 1 there is no step before the last, and W_hh has neither use nor gradient.
    cell
        ``"rnn"`` (with tanh), ``"gru"`` or ``"lstm"``, as defined in ``torch.nn``.
    """

    def __init__(self, input_size: int, hidden_size: int, window: int, *, cell: str = "gru") -> None:
        expect_each(window=window, cell=(cell, tuple(CELLS)))
        super().__init__(CELLS[cell], input_size, hidden_size, batch_first=True)
        self.output_size, self.window, self.cell = hidden_size, window, cell

    def forward(self, x: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Run all windows.

        Parameters
        ----------
        x
            (B, T, D_in), T at least 1.
        state
            (B, window - 1, D_in), the inputs just before x; zeros if None.

        Returns
        -------
        h
            (B, T, H).
        state
            (B, window - 1, D_in), the last inputs.
        """
        weight_ih, weight_hh, bias_ih, bias_hh = self.all_weights[0]
        size = (self.window - 1, self.input_size)
        before = expect_step(x, self.input_size, state, lambda batch: (batch, *size), weight_ih)
        steps = x.shape[1]
        x = torch.cat([before, x], dim=1)  # (B, T + window - 1, D_in)
        # The GRU's b_hn stands inside a product with r, and has to wait.
        z = F.linear(x, weight_ih, bias_ih if self.cell == "gru" else bias_ih + bias_hh)
        inputs = [z[:, j : j + steps] for j in range(self.window)]  # each (B, T, gates * H): views, not copies
        if self.cell == "gru":
            h = _gru(inputs, weight_hh, bias_hh)
        else:
            h = (_rnn if self.cell == "rnn" else _lstm)(inputs, weight_hh)
        return h, x[:, steps:].clone()  # a view would keep all of x


# The cells, from the state 0, whose product with W_hh is 0 as well and is not computed. The equations are those of
# `rtx_lib.layers.cells`, with (B, T, H) for (B, H).


def _rnn(inputs: list[Tensor], weight_hh: Tensor) -> Tensor:
    h = torch.tanh(inputs[0])
    for z in inputs[1:]:
        h = torch.tanh(z + F.linear(h, weight_hh))
    return h


def _gru(inputs: list[Tensor], weight_hh: Tensor, bias_hh: Tensor) -> Tensor:
    h: Any = None
    sizes = [2 * weight_hh.shape[1], weight_hh.shape[1]]
    for a in inputs:
        a_rz, a_n = a.split(sizes, dim=-1)
        u = bias_hh.to(a.dtype).expand_as(a) if h is None else F.linear(h, weight_hh, bias_hh)
        _, z, n = gru_gates(a_rz, a_n, u)
        h = n - z * n if h is None else torch.lerp(n, h, z)  # (1 - z) n + z h
    return h


def _lstm(inputs: list[Tensor], weight_hh: Tensor) -> Tensor:
    h: Any = None
    c: Any = None
    for z in inputs:
        i, f, g, o = (z if h is None else z + F.linear(h, weight_hh)).chunk(4, dim=-1)
        new = torch.sigmoid(i) * torch.tanh(g)
        c = new if c is None else torch.sigmoid(f) * c + new
        h = torch.sigmoid(o) * torch.tanh(c)
    return h


class RTransformerBlock(nn.Module):
    """One layer: LocalRNN, causal multi-head attention and feed-forward network, each with a way around it.

    ``norm="post"`` is the paper's layer (section 3.3)::

        h = LayerNorm(LocalRNN(x) + x)                                          (eq. 2, 3 and 8)
        u = LayerNorm(MultiHeadAttention(h) + h)                                (eq. 4-6 and 8)
        m = LayerNorm(FeedForward(u) + u)                                       (eq. 7 and 8)

    and ``"pre"`` that of the authors' code, in which the norm comes first: h = x + LocalRNN(LayerNorm(x)), and so on.
    Attention and feed-forward network are a :class:`~rtx_lib.layers.blocks.Block`. Dropout acts on the output of all
    three, and inside the two of the block.

    Parameters
    ----------
    width, heads
        D and H, which must divide it.
    window, cell
        As in :class:`LocalRNN`.
    local_layers
        How many LocalRNNs follow one another, each with its own norm and way around it. The paper has one.
    norm, norm_layer, dropout, options
        As in :class:`~rtx_lib.layers.blocks.Block`, with positions, inner and activation among the options;
        ``norm_layer`` is called with the width alone for the LocalRNNs.
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
        dropout: float = 0.0,
        **options: Any,
    ) -> None:
        super().__init__()
        expect_each(local_layers=local_layers)
        self.heads, self.norm = heads, norm
        self.local_rnns = nn.ModuleList(LocalRNN(width, width, window, cell=cell) for _ in range(local_layers))
        self.local_norms = nn.ModuleList(norm_layer(width) for _ in range(local_layers))
        options |= {"norm": norm, "norm_layer": norm_layer, "dropout": dropout}
        self.block = Block(width, heads, causal=True, **options)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, state: LayerState | None = None) -> tuple[Tensor, LayerState]:
        """Map x (B, T, D) to (B, T, D) and the state that continues it: (LocalRNNs' inputs, (keys, values))."""
        first: Any = self.local_rnns[0]
        windows, cache = expect_step(x, first.input_size, state, self.state_shapes, first.weight_ih_l0)
        after = []
        for local_rnn, norm, window in zip(self.local_rnns, self.local_norms, windows, strict=True):
            h, window = local_rnn(norm(x) if self.norm == "pre" else x, window)
            x = x + self.dropout(h)
            x = x if self.norm == "pre" else norm(x)
            after.append(window)
        x, cache = self.block(x, cache=cache)
        return x, (tuple(after), cache)

    def state_shapes(self, batch: int) -> dict[str, Form]:
        """The last inputs of each LocalRNN, and the keys and values of the attention."""
        first: Any = self.local_rnns[0]
        windows = len(self.local_rnns) * [(batch, first.window - 1, first.input_size)]
        cache = (batch, self.block.self_attention.key_heads, "M", first.input_size // self.heads)
        return {"inputs of the LocalRNNs": windows, "(k, v)": {"k": cache, "v": cache}}


class RTransformer(nn.Module):
    """Layers one on another between an input layer and a readout, without positions unless asked for.

    What single experiments change, stands in :mod:`~rtx_lib.models.r_transformer_variants`.

    Parameters
    ----------
    input_size, output_size
        Width of x, if no vocabulary is given, and of y.
    width, heads, layers, window
        D, H, the number of layers, and the window of their LocalRNNs.
    vocabulary
        If given, x holds ids below it.
    final_norm
        Whether a norm follows the last layer of ``norm="pre"``. The authors' code has none.
    embedding_dropout
        Probability with which an embedded value is dropped in training.
    tied
        Whether the readout uses the table of the ids, which then needs output_size = vocabulary, and has no bias.
    norm, norm_layer, options
        As in :class:`RTransformerBlock`, with cell, local_layers, inner, activation and dropout among the options.
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
        vocabulary: int | None = None,
        final_norm: bool | None = None,
        embedding_dropout: float = 0.0,
        tied: bool = False,
        norm: str = "pre",
        norm_layer: Callable[..., nn.Module] = nn.LayerNorm,
        **options: Any,
    ) -> None:
        super().__init__()
        expect_each(layers=layers)
        if final_norm and norm == "post":
            raise ValueError("final_norm must be False with norm='post', whose layers end in a norm, got True")
        self.input_size, self.output_size = input_size, output_size
        self.embedding = input_layer(input_size, width, vocabulary=vocabulary)
        options |= {"norm": norm, "norm_layer": norm_layer}
        self.blocks = nn.ModuleList(self.layers(width, heads, layers, window, **options))
        self.norm = norm_layer(width) if final_norm else None
        self.dropout = nn.Dropout(embedding_dropout)
        self.readout = readout_layer(self.embedding, width, output_size, tied=tied)

    def layers(self, width: int, heads: int, layers: int, window: int, **options: Any) -> list[RTransformerBlock]:
        """The layers."""
        return [RTransformerBlock(width, heads, window, **options) for _ in range(layers)]

    def place(self, x: Tensor, past: int) -> Tensor:
        """The embedded x (B, T, D), which stands behind so many steps, with what tells the positions: nothing."""
        return x

    def forward(self, x: Tensor, state: tuple[LayerState, ...] | None = None) -> tuple[Tensor, tuple[LayerState, ...]]:
        """Map ids (B, T) or floats (B, T, input_size) to y (B, T, output_size).

        The state has, for each layer, the last window - 1 inputs of its LocalRNNs and the keys and values of all steps.
        """
        x = embed(self.embedding, x)
        state = expect_state(state, self.state_shapes(x.shape[0]), x)
        x, after = self.dropout(self.place(x, state[0][1][0].shape[2])), []
        for block, before in zip(self.blocks, state, strict=True):
            x, end = block(x, before)
            after.append(end)
        return self.readout(x if self.norm is None else self.norm(x)), tuple(after)

    def state_shapes(self, batch: int) -> list[Form]:
        """That of every layer, M the same in all."""
        return [block.state_shapes(batch) for block in cast(Any, self.blocks)]
