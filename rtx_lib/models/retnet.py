"""Multi-scale retention: linear attention that fades, read in chunks.

Y. Sun, L. Dong, S. Huang, S. Ma, Y. Xia, J. Xue, J. Wang and F. Wei, *Retentive Network: A Successor to Transformer for
Large Language Models*, 2023 (arXiv 2307.08621). One function in three forms, for each head with its own decay gamma:

    parallel    O = (Q K^T * D) V,   D_nm = gamma^(n - m) where n >= m, else 0                               (eq. 5)
    recurrent   S_n = gamma S_{n-1} + k_n v_n^T,   o_n = S_n^T q_n                                           (eq. 6)
    chunks      within a chunk as in parallel, from chunk to chunk through S                                 (eq. 7)

    gamma_h = 1 - 2^(-5 - h),   Y = W_o (swish(x W_g) * norm(O))                                             (eq. 8)

q and k are turned by their position before, as in rotary embedding, and k is divided by sqrt(K). Rotation and decay
together are a complex decay: a linear recurrence of fixed eigenvalues, as in :mod:`rtx_lib.models.lru`, on a matrix.

S is handed on as it is seen from the next position: it is turned back by the length of each piece. So the state is S
alone, and no position has to be counted.

Where the authors' code (microsoft/torchscale) does otherwise than the paper:

- Each row of scores is divided by its sum of absolute values, but by 1 if that is less; the paper has no such bound.
  These scales, of which no gradient is taken, differ from form to form. The norm behind takes them out again, but for
  its epsilon: with 1e-6 the three forms differ by 1e-5, with 0 they are one function. Here no scale is taken.
- The angles are 10000^(-linspace(0, 1, K/2)): the slowest is exactly 1/10000, rotary embedding's is faster.
- The norm is a root mean square without weights, for each head, where the paper says group norm.
"""

import math
from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_lib.kernels import matrix_recurrence
from rtx_lib.layers.blocks import xavier_linear
from rtx_lib.layers.official import load_official, reads_official
from rtx_lib.shapes import expect, expect_each, expect_heads, expect_state


def retention_loop(q: Tensor, k: Tensor, v: Tensor, gamma: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    """Equation 6 step by step, gamma (H,): what :func:`retention` must equal."""
    outputs = []
    for q_t, k_t, v_t in zip(q.unbind(2), k.unbind(2), v.unbind(2), strict=True):
        state = gamma[:, None, None] * state + k_t[..., None] * v_t[..., None, :]  # S_n (B, H, K, V)
        outputs.append((q_t[..., None] * state).sum(-2))  # (B, H, V)
    return torch.stack(outputs, 2), state


def retention(q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """What is read at each step from a memory that fades at a constant rate (Sun et al. 2023, eq. 5 to 7).

    Parameters
    ----------
    q, k
        (B, H, T, K), turned by their positions.
    v
        (B, H, T, V).
    log_decay
        (H,), log gamma, at most 0.
    state
        (B, H, K, V), the memory before the first step, in single precision at least; zeros if None.

    Returns
    -------
    o, state
        (B, H, T, V), and (B, H, K, V) after the last step.
    """
    return matrix_recurrence(q, k, v, log_decay=log_decay[:, None].expand(q.shape[:3]), state=state)


class MultiScaleRetention(nn.Module):
    """Retention as a mixer: projections, heads that fade at different rates, a norm of each head and a gate.

    ``q_proj`` and ``k_proj`` (D, D), ``v_proj`` and ``g_proj`` (H V, D) and ``out_proj`` (D, H V) have no biases. All
    are Xavier-uniform, the first four times 2^-2.5, as in the authors' code.

    Parameters
    ----------
    width, heads
        D and H, with K = D/H even.
    value_width
        H V, the width of all values, which the heads must divide; D if None. The paper has 2D.
    eps
        Of the norm.
    """

    def __init__(self, width: int, heads: int = 1, *, value_width: int | None = None, eps: float = 1e-6) -> None:
        super().__init__()
        values = width if value_width is None else value_width
        expect_heads(width, heads)
        expect_each(value_width=(values, f"multiple of {heads}"), width=(width, f"multiple of {2 * heads}"))
        expect_each(eps=(eps, "[0, inf]"))
        self.input_size = self.output_size = width
        self.heads, self.eps = heads, eps
        self.q_proj, self.k_proj = (xavier_linear(width, width, bias=False, gain=2**-2.5) for _ in range(2))
        self.v_proj, self.g_proj = (xavier_linear(width, values, bias=False, gain=2**-2.5) for _ in range(2))
        self.out_proj = xavier_linear(values, width, bias=False)

    def forward(self, x: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Map x (B, T, D) to y (B, T, D); the state is S (B, H, K, V), seen from the next position, zeros if None."""
        expect(x, ("B", "T", self.input_size), like=self.q_proj.weight)
        shape = (x.shape[0], self.heads, self.input_size // self.heads, self.v_proj.out_features // self.heads)
        q, k, v = self.project(x)
        state = expect_state(state, (*shape, torch.float32), x)
        o, after = retention(q, k, v, log_decays(self.heads, like=q), state)
        after = turn(after.transpose(-1, -2), -x.shape[1]).transpose(-1, -2)
        return self.merge(o, x), after

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """q and k (B, H, T, K), turned by their positions from 0 on, and v (B, H, T, V), of x (B, T, D)."""
        maps = (self.q_proj, self.k_proj, self.v_proj)
        q, k, v = (f(x).to(f.weight.dtype).unflatten(-1, (self.heads, -1)).transpose(1, 2) for f in maps)
        step = torch.arange(x.shape[1], device=x.device)[:, None]
        return turn(q, step), turn(k / math.sqrt(k.shape[-1]), step), v

    def merge(self, o: Tensor, x: Tensor) -> Tensor:
        """y (B, T, D) of what was read, o (B, H, T, V), and x: norm, gate and the last map."""
        wide = o.to(torch.promote_types(o.dtype, torch.float32))  # float16 cannot hold the squares
        o = (wide * (wide.square().mean(-1, keepdim=True) + self.eps).rsqrt()).to(o.dtype)
        gate = F.silu(self.g_proj(x)).to(o.dtype)
        y: Tensor = self.out_proj(gate * o.transpose(1, 2).flatten(2))
        return y

    @classmethod
    @reads_official
    def from_official(cls, arrays: Mapping[str, Tensor], *, heads: int, **options: Any) -> "MultiScaleRetention":
        """The mixer with the arrays of microsoft/torchscale, whose names are ours; the heads are no array."""
        values, width = arrays["v_proj.weight"].shape
        return load_official(cls(width, heads, value_width=values, **options), arrays)


def log_decays(heads: int, *, like: Tensor) -> Tensor:
    """log gamma (H,), gamma = 1 - 2^(-5 - h) (Sun et al. 2023, eq. 8)."""
    kind = torch.promote_types(like.dtype, torch.float32)
    return torch.log1p(-(2 ** (-5.0 - torch.arange(heads, dtype=kind, device=like.device)))).to(like.dtype)


def angles(key_size: int, *, like: Tensor) -> Tensor:
    """How far each pair of features is turned in a step, (K/2,): from 1 to 1/10000, in single precision at least."""
    kind = torch.promote_types(like.dtype, torch.float32)
    return 10000 ** -torch.linspace(0, 1, key_size // 2, dtype=kind, device=like.device)


def turn(x: Tensor, step: Tensor | int) -> Tensor:
    """x (..., K) turned by so many steps: each pair (2i, 2i + 1) by the step times its angle."""
    angle = step * angles(x.shape[-1], like=x)
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    one, other = x[..., ::2], x[..., 1::2]
    return torch.stack([one * cos - other * sin, one * sin + other * cos], -1).flatten(-2)
