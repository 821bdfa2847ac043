"""The quasi-recurrent network: a convolution makes candidates and gates, and only a gated mean is left to recurrence.

J. Bradbury, S. Merity, C. Xiong and R. Socher, *Quasi-Recurrent Neural Networks*, ICLR 2017 (arXiv 1611.01576). Over k
inputs at a time, all steps at once,

    Z = tanh(W_z * X),   F = sigmoid(W_f * X),   O = sigmoid(W_o * X),   I = sigmoid(W_i * X)           (eq. 1)

where * is a masked convolution, which sees no later input. Then a pooling of T cheap steps, each unit on its own:

    "f"      h_t = f_t h_{t-1} + (1 - f_t) z_t                                                          (eq. 3)
    "fo"     c_t = f_t c_{t-1} + (1 - f_t) z_t,    h_t = o_t c_t                                        (eq. 4)
    "ifo"    c_t = f_t c_{t-1} + i_t z_t,          h_t = o_t c_t                                        (eq. 5)

No gate sees a state. So the pooling is linear in c, and a kernel takes it in one pass or in parallel over time
(:mod:`rtx_lib.kernels.linear`).

Where the authors' code (salesforce/pytorch-qrnn) does otherwise than the paper:

- Its F is the share of the *new*, c_t = f_t z_t + (1 - f_t) c_{t-1}. As 1 - sigmoid(a) = sigmoid(-a), the rows of f
  change their sign.
- Windows are 1, its default, or 2, and there is no ifo-pooling. The state that it returns is c_T, not h_T.
- A sequence in pieces is the sequence as a whole only if ``save_prev_x`` is asked for: else the input before each piece
  is silently 0. And no gradient flows through the input that is kept. Here the state carries the last k - 1 inputs.
- It has biases, and so has this file; the paper writes none.
"""

from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_lib.kernels import gated_recurrence, linear_recurrence
from rtx_lib.layers.blocks import undrawn, uniform_linear
from rtx_lib.layers.embedding import table
from rtx_lib.layers.official import load_official, reads_official, renamed
from rtx_lib.layers.stacking import draw_uniform
from rtx_lib.shapes import Shapes, expect_each, expect_ids, expect_step, expect_tuple

POOLINGS = {"f": "zf", "fo": "zfo", "ifo": "zfoi"}  # and the blocks of rows that each has
State = tuple[Tensor, Tensor]


def pooling_loop(z: Tensor, f: Tensor, c: Tensor, i: Tensor | None = None) -> Tensor:
    """The cells c_t of a pooling step by step (eq. 3-5), all (B, T, H): what every backend must equal."""
    cells = []
    for t in range(z.shape[1]):
        c = f[:, t] * c + (1 - f[:, t] if i is None else i[:, t]) * z[:, t]
        cells.append(c)
    return torch.stack(cells, 1)


class QRNNLayer(nn.Module):
    """One layer: the convolution (Bradbury et al. 2017, eq. 1) and the pooling (eq. 3-5).

    ``conv.weight`` (G H, D_in, k) and ``conv.bias`` (G H,) hold the blocks z, f, o, i, as many as the pooling has. The
    last tap is the present. All start from U(-1/sqrt(n), 1/sqrt(n)), n = k D_in, as in the authors' code.

    Parameters
    ----------
    input_size, hidden_size
        D_in and H.
    window
        k, the number of inputs that candidates and gates see.
    pooling
        ``"f"``, ``"fo"`` or ``"ifo"``.
    backend
        Passed to ``rtx_lib.kernels``.
    """

    def __init__(
        self, input_size: int, hidden_size: int, *, window: int = 2, pooling: str = "fo", backend: str = "auto"
    ) -> None:
        super().__init__()
        expect_each(window=window, pooling=(pooling, list(POOLINGS)))
        self.input_size, self.output_size, self.window = input_size, hidden_size, window
        self.pooling, self.backend = pooling, backend
        self.conv = undrawn(nn.Conv1d, input_size, len(POOLINGS[pooling]) * hidden_size, window)
        draw_uniform(self.conv, window * input_size)

    def state_shapes(self, batch: int) -> Shapes:
        """c, and the last k - 1 inputs."""
        return {"c": (batch, self.output_size), "last inputs": (batch, self.window - 1, self.input_size)}

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Map x (B, T, D_in) to h (B, T, H)."""
        c, past = expect_step(x, self.input_size, state, self.state_shapes, self.conv.weight)
        x = torch.cat([past, x], 1)  # (B, k - 1 + T, D_in)
        z, f, *gates = self.gates(x)
        c = c.to(f.dtype)
        if self.backend == "loop":
            cells = pooling_loop(z, f, c, gates[1] if self.pooling == "ifo" else None)
        elif self.pooling == "ifo":
            cells = linear_recurrence(f, gates[1] * z, c, backend=self.backend)
        else:
            cells = gated_recurrence(f, z, c, backend=self.backend)
        h = cells if self.pooling == "f" else gates[0] * cells
        return h, (cells[:, -1].clone(), x[:, x.shape[1] - self.window + 1 :].clone())  # a view would keep all steps

    def gates(self, x: Tensor) -> tuple[Tensor, ...]:
        """z, f and, if the pooling has them, o and i, each (B, T, H), of x (B, k - 1 + T, D_in): eq. 1."""
        windows = x.unfold(1, self.window, 1).flatten(2)  # (B, T, D_in k): as a matrix product this is fast on a CPU
        a = F.linear(windows, self.conv.weight.flatten(1), self.conv.bias)
        z, *gates = a.to(self.conv.weight.dtype).chunk(len(POOLINGS[self.pooling]), dim=-1)  # after autocast too
        return torch.tanh(z), *map(torch.sigmoid, gates)


class QRNN(nn.Module):
    """Layers one on another, each reading the h of the one below, and a linear readout at every step.

    Parameters
    ----------
    input_size, hidden_size, num_layers, output_size
        D_in, H, the number of layers and D_out; each at least 1.
    vocabulary
        If given, x holds ids below it, (B, T), and a table (vocabulary, D_in) from N(0, 1) comes first.
    options
        Of every :class:`QRNNLayer`: window, pooling and backend.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int,
        output_size: int,
        *,
        vocabulary: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        expect_each(num_layers=num_layers)
        self.input_size, self.output_size = input_size, output_size
        self.embedding = None if vocabulary is None else table(vocabulary, input_size, 1.0)
        self.layers = nn.ModuleList(
            QRNNLayer(width, hidden_size, **options) for width in [input_size] + (num_layers - 1) * [hidden_size]
        )
        self.readout = uniform_linear(hidden_size, output_size)

    def forward(self, x: Tensor, state: tuple[State, ...] | None = None) -> tuple[Tensor, tuple[State, ...]]:
        """Map x (B, T, D_in), or ids (B, T), to y (B, T, D_out).

        The state is that of each layer.
        """
        if self.embedding is not None:
            x = self.embedding(expect_ids(x, self.embedding.num_embeddings))
        before = len(self.layers) * (None,) if state is None else state
        after = []
        for layer, own in zip(self.layers, expect_tuple(before, len(self.layers), "one for each layer"), strict=True):
            x, own = layer(x, own)
            after.append(own)
        return self.readout(x), tuple(after)

    @classmethod
    @reads_official
    def from_official(
        cls, arrays: Mapping[str, Tensor], *, window: int = 2, pooling: str = "fo", **options: Any
    ) -> "QRNN":
        """The layers with the arrays of salesforce/pytorch-qrnn, by their names there; the readout is the identity.

        Window and pooling are no arrays.
        """
        expect_each(pooling=(pooling, list(POOLINGS)))
        weights = official_weights(arrays, window, pooling)
        rows, width, _ = weights["layers.0.conv.weight"].shape
        layers, size = sum(name.endswith("bias") for name in weights), rows // len(POOLINGS[pooling])
        model = cls(width, size, layers, size, window=window, pooling=pooling, **options)
        one = torch.eye(size).to(weights["layers.0.conv.bias"])
        return load_official(model, weights | {"readout.weight": one, "readout.bias": torch.zeros_like(one[0])})


def official_weights(arrays: Mapping[str, Tensor], window: int, pooling: str) -> dict[str, Tensor]:
    """Parameters of salesforce/pytorch-qrnn as ours: its f is the share of the new, its columns begin with the present.

    It has no ``"ifo"``, whose f is taken to be the paper's.
    """

    def ours(rows: Tensor) -> Tensor:
        z, f, *others = rows.chunk(len(POOLINGS[pooling]))
        rows = torch.cat([z, f if pooling == "ifo" else -f, *others])  # 1 - sigmoid(a) = sigmoid(-a)
        return rows if rows.ndim == 1 else torch.stack(rows.chunk(window, 1)[::-1], 2)

    return {name: ours(rows) for name, rows in renamed(arrays, {r"\.linear\.": ".conv."}).items()}
