"""xLSTM: gates that are exponentials, in a cell with scalar memories (sLSTM) and in one with a matrix (mLSTM).

M. Beck et al., *xLSTM: Extended Long Short-Term Memory*, NeurIPS 2024 (arXiv 2405.04517). The sLSTM has, in each unit,

    c_t = f_t c_{t-1} + i_t z_t,   n_t = f_t n_{t-1} + i_t,   h_t = o_t c_t / n_t                       (eq. 8-10)
    z_t = tanh(a^z_t),   i_t = exp(a^i_t),   f_t = sigmoid(a^f_t),   o_t = sigmoid(a^o_t) (eq. 11-14)

where a_t = W x_t + R h_{t-1} + b, and a head, a block of units, sees the h of its own units alone: "memory mixing". The
mLSTM keeps what it is told to under keys, in a matrix, and its gates see no h:

    C_t = f_t C_{t-1} + i_t k_t v_t^T,   n_t = f_t n_{t-1} + i_t k_t,                                  (eq. 19-20)
    h_t = C_t^T q_t / max(abs(n_t . q_t), 1), k_t scaled by 1/sqrt(K)                                   (eq. 21-23)

with our C the paper's transposed. An exponential overflows, its share in a mean does not. So one divides c, n and C by
e^m, where m_t is the larger of the two exponents that meet,

    m_t = max(log f_t + m_{t-1}, log i_t),  log i'_t = log i_t - m_t,  log f'_t = log f_t + m_{t-1} - m_t  (eq. 15-17)

The quotients stay as they were, if the 1 in the maximum is divided too and becomes e^-m. No output depends on m.

How both are computed, and the equations step by step, stands in :mod:`rtx_lib.kernels.xlstm`.

Where the authors' code (NX-AI/xlstm) does otherwise than the paper:

- It adds 1e-6 to the denominator of the mLSTM after the division by e^m, so that the output does depend on m. Its forms
  then agree to 1e-8 only, as m starts at 0 in the recurrent and the chunked one and at minus infinity in its parallel
  one. Here ``eps`` is 0, and a state may hold m = -inf.
- In the sLSTM's layer the weights called ``fgate`` make i and those called ``igate`` make f.
- Whether anything has been written, n > 0, is asked of the whole batch at once. Here each number is on its own.
- The gates of the mLSTM see [q; k; v], not x. Their weights start at 0.
- The weights of norms are stored as their distance from 1.
- The mLSTM's inner width is rounded up to a multiple of 64.
- With heads of one unit, the first forget biases of the sLSTM are 0/0.
"""

import math
from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_lib.kernels.xlstm import FORMS, State, mlstm, slstm
from rtx_lib.layers.blocks import undrawn
from rtx_lib.layers.official import joined, load_official, reads_official, renamed
from rtx_lib.layers.short_convolution import ShortConvolution
from rtx_lib.shapes import Shapes, expect_each, expect_heads, expect_step


class SLSTM(nn.Module):
    """The sLSTM layer: a short convolution for i and f if asked for, the cell, and a norm over each head.

    ``weight_ih`` and ``weight_hh`` (H, 4 K, K) and ``bias`` (H, 4 K) hold the blocks i, f, z, o of each head. As in the
    authors' code, R starts at 0, W from N(0, 2 / (5 D)), and of the biases only those of f are not 0: over the units
    j = 0..K-1 of a head they fall from 5 to -7, 5 - 12 (j / (K - 1))^0.3. (In a stack theirs have another power in each
    layer.)

    Parameters
    ----------
    width, heads
        D, at least 2, and H, which leaves at least 2 units to a head: the norm makes one number 0.
    kernel_size
        Steps that a convolution shows to i and f, with a SiLU behind it; no convolution if None. The authors have 4.
    """

    def __init__(self, width: int, heads: int = 1, kernel_size: int | None = None) -> None:
        super().__init__()
        size = expect_heads(width, heads)
        expect_each(heads=(heads, f"[1, {width // 2}]"))
        self.input_size = self.output_size = width
        self.heads = heads
        self.conv = None if kernel_size is None else ShortConvolution(width, kernel_size)
        self.weight_ih = nn.Parameter(torch.empty(heads, 4 * size, size).normal_(0, math.sqrt(2 / (5 * width))))
        self.weight_hh = nn.Parameter(torch.zeros(heads, 4 * size, size))
        self.bias = nn.Parameter(torch.zeros(heads, 4 * size))
        self.bias.data[:, size : 2 * size] = 5 - 12 * torch.linspace(0, 1, size) ** 0.3
        self.norm = HeadNorm(width)

    def state_shapes(self, batch: int) -> Shapes:
        """h, c, n and m, and with a convolution its last k - 1 inputs."""
        shapes: Shapes = dict.fromkeys(("h", "c", "n", "m"), (batch, self.input_size))
        return shapes if self.conv is None else shapes | self.conv.state_shapes(batch)

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Map x (B, T, D) to y (B, T, D)."""
        state = expect_step(x, self.input_size, state, self.state_shapes, self.weight_ih)
        memory, past = state[:4], state[4:]
        if self.conv is None:
            a, after = blockwise(x, self.weight_ih), ()
        else:
            seen, *after = self.conv(x, *past)
            gates, others = self.weight_ih.chunk(2, 1)
            a = torch.cat([blockwise(F.silu(seen), gates), blockwise(x, others)], -1)
        a = (a + self.bias).to(self.bias.dtype)  # after autocast too
        y, memory = slstm(a, self.weight_hh, memory)
        return self.norm(y.unflatten(2, (self.heads, -1))), (*memory, *after)

    @classmethod
    @reads_official
    def from_official(cls, arrays: Mapping[str, Tensor], **options: Any) -> "SLSTM":
        """The layer with the arrays of NX-AI/xlstm's, by their names there."""
        weights = official_slstm(arrays)
        heads, _, size = weights["weight_ih"].shape
        taps = weights["conv.weight"].shape[2] if "conv.weight" in weights else None
        return load_official(cls(heads * size, heads, taps, **options), weights)


class MLSTM(nn.Module):
    """The mLSTM layer: up, a short convolution for q and k, the cell, a norm over each head, an output gate, and down.

    With [x'; z] = U x, x'' = silu(conv(x')), and q and k of x'', v of x', by blocks of a few features, the layer is
    y = W (silu(z) * (norm(h) + skip * x'')). The gates of all heads see [q; k; v].

    As in the authors' code, U and the maps to q, k and v start from N(0, 2 / (5 D)), W from N(0, 4 / D), the
    skip at 1, and the gates at their biases: i from N(0, 0.01), f from 3 to 6 over the heads.

    Parameters
    ----------
    width, heads
        D and H.
    expand
        E / D, where E, a whole number, is the width within, of which H leaves at least 2 numbers to a head.
    kernel_size
        Steps that q and k see.
    block_size
        Features of x'' and x' that a feature of q, k or v sees; divides E.
    bias
        Whether the maps have biases, but for the gates, which always have them.
    form, eps
        As in :func:`~rtx_lib.kernels.xlstm.mlstm`.
    """

    def __init__(
        self,
        width: int,
        heads: int = 4,
        expand: float = 2.0,
        kernel_size: int = 4,
        *,
        block_size: int = 4,
        bias: bool = False,
        form: str = "chunked",
        eps: float = 0.0,
    ) -> None:
        super().__init__()
        inner = round(expand * width)
        expect_each(expand=(expand, f"({0.5 / width}, inf)"), heads=(heads, f"divisor of {inner}"))
        expect_each(block_size=(block_size, f"divisor of {inner}"), form=(form, FORMS), eps=(eps, "[0, inf]"))
        expect_each(heads=(heads, f"[1, {inner // 2}]"))  # the norm of a head needs 2 numbers
        self.input_size = self.output_size = width
        self.heads, self.inner, self.form, self.eps = heads, inner, form, eps
        self.up = undrawn(nn.Linear, width, 2 * inner, bias=bias)
        self.conv = ShortConvolution(inner, kernel_size)
        self.qkv_weight = nn.Parameter(torch.empty(3, inner // block_size, block_size, block_size))
        self.qkv_bias = nn.Parameter(torch.zeros(3, inner)) if bias else None
        self.gates = undrawn(nn.Linear, 3 * inner, 2 * heads)  # of i, then of f
        self.norm = HeadNorm(inner)
        self.skip = nn.Parameter(torch.ones(inner))
        self.down = undrawn(nn.Linear, inner, width, bias=bias)
        for weight in (self.up.weight, self.qkv_weight):
            nn.init.normal_(weight, 0, math.sqrt(2 / (5 * width)))
        nn.init.normal_(self.down.weight, 0, 2 / math.sqrt(width))
        nn.init.zeros_(self.gates.weight)
        for module in (self.up, self.down) if bias else ():
            nn.init.zeros_(module.bias)
        self.gates.bias.data[:heads].normal_(0, 0.1)
        self.gates.bias.data[heads:] = torch.linspace(3, 6, heads)

    def state_shapes(self, batch: int) -> Shapes:
        """C, n and m, in single precision at least, K = E / H, and the last k - 1 inputs of the convolution."""
        heads, size, wide = (batch, self.heads), self.inner // self.heads, torch.float32
        shapes: Shapes = {"C": (*heads, size, size, wide), "n": (*heads, size, wide), "m": (*heads, wide)}
        return shapes | self.conv.state_shapes(batch)

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Map x (B, T, D) to y (B, T, D)."""
        state = expect_step(x, self.input_size, state, self.state_shapes, self.up.weight)
        memory, past = state[:3], state[3:]
        size = self.inner // self.heads
        inner, z = self.up(x).chunk(2, -1)
        seen, *after = self.conv(inner, *past)
        seen = F.silu(seen)
        qkv = [blockwise(y, w).flatten(2) for y, w in zip((seen, seen, inner), self.qkv_weight, strict=True)]
        if self.qkv_bias is not None:
            qkv = [y + b for y, b in zip(qkv, self.qkv_bias, strict=True)]
        log_i, f = self.gates(torch.cat(qkv, -1)).to(self.skip.dtype).mT.chunk(2, 1)  # each (B, H, T)
        q, k, v = (y.to(self.skip.dtype).unflatten(2, (self.heads, size)).transpose(1, 2) for y in qkv)
        h, memory = mlstm(q, k, v, log_i, F.logsigmoid(f), memory, form=self.form, eps=self.eps)
        y = self.norm(h.transpose(1, 2)) + self.skip * seen
        return self.down(y * F.silu(z)), (*memory, *after)

    @classmethod
    @reads_official
    def from_official(cls, arrays: Mapping[str, Tensor], *, eps: float = 1e-6, **options: Any) -> "MLSTM":
        """The layer with the arrays of NX-AI/xlstm's, by their names there, and its epsilon."""
        weights = official_mlstm(arrays)
        (width, inner), heads = weights["down.weight"].shape, len(weights["gates.bias"]) // 2
        options |= {"block_size": weights["qkv_weight"].shape[-1], "bias": "up.bias" in weights, "eps": eps}
        taps = weights["conv.weight"].shape[2]
        return load_official(cls(width, heads, inner / width, taps, **options), weights)


def official_slstm(arrays: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Parameters of NX-AI/xlstm's sLSTM by our names: under ``fgate`` are the weights of i, under ``igate`` of f."""
    cell = {"^slstm_cell._recurrent_kernel_": "weight_hh", "^slstm_cell._bias_": "bias", "^group_norm": "norm"}
    weights = renamed(arrays, cell | {"^conv1d.conv": "conv"})
    weights["weight_ih"] = torch.cat([weights.pop(f"{gate}gate.weight") for gate in "fizo"], 1)
    weights["bias"] = weights["bias"].view(4, len(weights["weight_ih"]), -1).transpose(0, 1).flatten(1)
    return weights | {"norm.weight": 1 + weights["norm.weight"]}  # theirs is the distance from 1


def official_mlstm(arrays: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Parameters of NX-AI/xlstm's mLSTM by our names."""
    names = {"^proj_": "", "^conv1d.conv": "conv", "^mlstm_cell.outnorm": "norm", "^learnable_skip": "skip"}
    weights = joined(renamed(arrays, names), ["mlstm_cell.igate.", "mlstm_cell.fgate."], "gates.")
    for kind in ("weight", "bias"):
        if f"q_proj.{kind}" in weights:
            weights[f"qkv_{kind}"] = torch.stack([weights.pop(f"{part}_proj.{kind}") for part in "qkv"])
    return weights | {"norm.weight": 1 + weights["norm.weight"]}  # theirs is the distance from 1


class HeadNorm(nn.Module):
    """Each head's numbers to mean 0 and variance 1, then ``weight`` (D,), which starts at 1; no bias."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        """Map x (B, T, H, K) to (B, T, H K)."""
        return F.layer_norm(x, x.shape[-1:]).flatten(2) * self.weight


def blockwise(x: Tensor, weight: Tensor) -> Tensor:
    """A block-diagonal linear map with weight (N, O, I), of x (B, T, N I) to (B, T, N, O)."""
    return torch.einsum("btni,noi->btno", x.unflatten(2, (len(weight), -1)), weight)
