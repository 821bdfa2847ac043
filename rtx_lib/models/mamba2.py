"""Mamba-2: all states of a head share one decay, and are a matrix.

T. Dao and A. Gu, *Transformers are SSMs: Generalized Models and Efficient Algorithms Through Structured State Space
Duality*, ICML 2024 (arXiv 2405.21060). In :mod:`rtx_lib.models.mamba` every state has a decay of its own. Here all
states of a head share one, so that the states of its P channels are a matrix S (N, P), and the recurrence is that of
linear attention with a decay: C for the queries, B for the keys, delta X for the values.

    S_t = exp(delta_t A) S_{t-1} + B_t (delta_t X_t)^T,    y_t = S_t^T C_t
"""

from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_lib.kernels import matrix_recurrence
from rtx_lib.layers.official import load_official, reads_official
from rtx_lib.layers.short_convolution import ShortConvolution
from rtx_lib.models.mamba import State, first_steps, official_weights
from rtx_lib.shapes import Shapes, expect, expect_each, expect_state


class Mamba2(nn.Module):
    """The block of Mamba-2: heads with one decay each, chosen by the input, around a matrix state.

    [z; X, B, C; v] = W_in x, a convolution and silu over X, B and C, delta = softplus(v + bias), and
    y = W_out norm((S's output + D X) silu(z)): a root mean square norm of each group's channels, behind the product
    with the gate. Weights start as in the authors' code: A from U(1, 16) in every head, D = 1, delta log-uniform in
    [0.001, 0.1] at v = 0, and all others as torch.nn's.

    Parameters
    ----------
    width
        D, of x and of y.
    heads
        H, which must divide the E = expand D channels: a head has P = E / H.
    state_size
        N, the number of rows of a head's state.
    expand, kernel_size
        As in :class:`~rtx_lib.models.mamba.Mamba`.
    groups
        G, which must divide H: H / G heads share B and C.
    eps
        Of the norm.
    backend
        Passed to ``rtx_lib.kernels``.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        state_size: int = 16,
        *,
        expand: int = 2,
        kernel_size: int | None = 4,
        groups: int = 1,
        eps: float = 1e-5,
        backend: str = "auto",
    ) -> None:
        super().__init__()
        parts = f"divisor of {expand * width}"
        expect_each(state_size=state_size, heads=(heads, parts), groups=(groups, f"divisor of {heads}"))
        self.input_size = self.output_size = width
        self.heads, self.state_size, self.groups = heads, state_size, groups
        self.inner, self.backend = expand * width, backend
        self.mixed = self.inner + 2 * groups * state_size  # what the convolution sees
        self.in_proj = nn.Linear(width, self.inner + self.mixed + heads, bias=False)
        self.conv = None if kernel_size is None else ShortConvolution(self.mixed, kernel_size)
        self.dt_bias = nn.Parameter(first_steps(heads))
        self.A_log = nn.Parameter(torch.empty(heads).uniform_(1, 16).log())
        self.D = nn.Parameter(torch.ones(heads))
        self.norm = nn.RMSNorm(self.inner, eps)
        self.out_proj = nn.Linear(self.inner, width, bias=False)

    def state_shapes(self, batch: int) -> Shapes:
        """The last k - 1 inputs of the convolution, E + 2 G N channels, none without it, and S (B, H, N, P)."""
        reach = 1 if self.conv is None else self.conv.kernel_size
        S = (batch, self.heads, self.state_size, self.inner // self.heads, torch.float32)
        return {"last inputs": (batch, reach - 1, self.mixed), "S": S}

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Map x (B, T, D) to y (B, T, D)."""
        expect(x, ("B", "T", self.input_size), like=self.in_proj.weight)
        z, mixed, v = self.in_proj(x).split([self.inner, self.mixed, self.heads], dim=-1)
        past, S = expect_state(state, self.state_shapes(x.shape[0]), mixed)
        mixed, past = (mixed, past) if self.conv is None else self.conv(mixed, past)
        mixed = F.silu(mixed).to(self.A_log.dtype)
        X, B, C = mixed.split([self.inner, *2 * [self.groups * self.state_size]], dim=-1)
        X = X.unflatten(-1, (self.heads, -1))  # (B, T, H, P)
        B, C = (part.unflatten(-1, (self.groups, -1)).transpose(1, 2) for part in (B, C))  # (B, G, T, N)
        B, C = (part.repeat_interleave(self.heads // self.groups, 1) for part in (B, C))  # one for all heads of a group
        delta = F.softplus(v + self.dt_bias).to(X.dtype)  # (B, T, H)
        decay = (-self.A_log.exp() * delta).transpose(1, 2)
        values = (delta[..., None] * X).transpose(1, 2)  # (B, H, T, P)
        y, S = matrix_recurrence(C, B, values, log_decay=decay, state=S, backend=self.backend)
        y = (y.transpose(1, 2) + self.D[:, None] * X).flatten(2)
        y = (y * F.silu(z).to(y.dtype)).unflatten(-1, (self.groups, -1))
        return self.out_proj(F.rms_norm(y, y.shape[-1:], eps=self.norm.eps).flatten(2) * self.norm.weight), (past, S)

    @classmethod
    @reads_official
    def from_official(cls, arrays: Mapping[str, Tensor], *, groups: int = 1, **options: Any) -> "Mamba2":
        """The block with the arrays of state-spaces/mamba, by their names there; their groups are no array."""
        (channels, _, kernel_size), inner = arrays["conv1d.weight"].shape, len(arrays["norm.weight"])
        width, states = len(arrays["out_proj.weight"]), (channels - inner) // (2 * groups)
        options |= {"expand": inner // width, "kernel_size": kernel_size, "groups": groups}
        return load_official(cls(width, len(arrays["A_log"]), states, **options), official_weights(arrays))
