"""Linear attention, and what makes a memory of its sum: decay, the delta rule, and both.

**Linear attention.** A. Katharopoulos, A. Vyas, N. Pappas and F. Fleuret, *Transformers are RNNs*, ICML 2020 (arXiv
2006.16236). With phi(q) . phi(k) in the place of exp(q . k), attention is read out of two sums over the past,

    S_t = S_{t-1} + phi(k_t) v_t^T,    z_t = z_{t-1} + phi(k_t),    o_t = S_t^T phi(q_t) / (z_t . phi(q_t))

with phi(x) = elu(x) + 1. It is a recurrent network whose state is the matrix S. A sum never forgets: what is written at
a key that was used before is added to what stands there.

**The delta rule.** I. Schlag, K. Irie and J. Schmidhuber, *Linear Transformers Are Secretly Fast Weight Programmers*,
ICML 2021 (arXiv 2102.11174); in chunks, S. Yang et al., NeurIPS 2024 (arXiv 2406.06484). What stands at the key is
replaced:

    S_t = S_{t-1} + beta_t k_t (v_t - S_{t-1}^T k_t)^T = (I - beta_t k_t k_t^T) S_{t-1} + beta_t k_t v_t^T

one step of gradient descent on ``|S^T k_t - v_t|^2 / 2`` with the rate beta_t (Widrow and Hoff 1960). With ``|k| = 1``
its eigenvalues are 1 and 1 - beta_t. A beta up to 2 makes the second negative, a mirror at 2, and with it what no
memory that only fades can do, as parity (R. Grazzi et al., ICLR 2025, arXiv 2411.12537).

**Decay** acts on all of S at once: one number a_t for each head (Mamba-2; with the delta rule Gated DeltaNet, S. Yang,
J. Kautz and A. Hatamizadeh, ICLR 2025, arXiv 2412.06464),

    S_t = a_t (I - beta_t k_t k_t^T) S_{t-1} + beta_t k_t v_t^T,    a_t = exp(-exp(A_log) softplus(W_a x_t + b))

One for each row, as in gated linear attention (S. Yang et al., ICML 2024, arXiv 2312.06635), the kernel takes too
(:func:`rtx_lib.kernels.matrix_state.matrix_recurrence`).

Where the authors' code does otherwise than the papers, and this file than either:

- Linear attention (idiap/fast-transformers) adds 1e-6 to the denominator. Neither q nor k is scaled.
- The layers of flash-linear-attention divide q by sqrt(K), take silu after the short convolution, and give linear
  attention no denominator unless asked; a norm of each head's output takes its place. So do the layers here.
- The delta rule's keys are divided by their sum in Schlag et al., by their length in what came after. So is q.
- Gated DeltaNet draws exp(A_log) from U(0, 16): some heads hardly forget. Its block also has an output gate, silu of
  one more map of x_t, behind the norm. Here there is none.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_lib.kernels import matrix_recurrence
from rtx_lib.layers.short_convolution import ShortConvolution
from rtx_lib.shapes import Shapes, expect, expect_each, expect_heads, expect_like, expect_state, expect_step

DECAYS = (None, "head")
State = tuple[Tensor, Tensor]


def phi(x: Tensor) -> Tensor:
    """elu(x) + 1, which is positive (Katharopoulos et al. 2020, eq. 7)."""
    return F.elu(x) + 1


def linear_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    state: State | None = None,
    *,
    causal: bool = True,
    eps: float = 1e-6,
    backend: str = "auto",
) -> tuple[Tensor, State]:
    """o_t = S^T phi(q_t) / (z . phi(q_t) + eps), S and z the sums of phi(k) v^T and phi(k).

    Parameters
    ----------
    q, k, v
        (B, H, T, K), (B, H, T, K) and (B, H, T, V); every size at least 1.
    state
        S (B, H, K, V) and z (B, H, K) of what came before, in single precision at least; zeros if None.
    causal
        Whether the sums that are read at t end at t, or at T.
    backend
        Of :func:`rtx_lib.kernels.matrix_state.matrix_recurrence`.

    Returns
    -------
    o, state
        (B, H, T, V), and S and z after the last step.
    """
    expect(q, "B H T K", "q")
    expect_like(q, exact=False, k=(k, q.shape), v=(v, (*q.shape[:3], "V")))
    shape = (*q.shape[:2], q.shape[3])
    s, z = expect_state(state, {"S": (*shape, v.shape[3], torch.float32), "z": (*shape, torch.float32)}, q)
    sums = torch.cat([s, z[..., None]], -1)  # z is one more column, of values that are all 1
    q, k, v = phi(q), phi(k), torch.cat([v, torch.ones_like(v[..., :1])], -1)
    if causal:
        o, sums = matrix_recurrence(q, k, v, state=sums, backend=backend)
    else:
        sums = sums + k.mT @ v
        o = q @ sums.to(q.dtype)
    return o[..., :-1] / (o[..., -1:] + eps), (sums[..., :-1].clone(), sums[..., -1].clone())


class LinearAttention(nn.Module):
    """Katharopoulos et al.'s attention as a layer: y = W_O of :func:`linear_attention`, head by head.

    Weights start as torch.nn's; there are no biases.

    Parameters
    ----------
    width, heads
        D and H, which must divide it.
    backend
        Of :func:`linear_attention`.
    """

    def __init__(self, width: int, heads: int = 1, *, backend: str = "auto") -> None:
        super().__init__()
        expect_heads(width, heads)
        self.input_size, self.output_size, self.heads, self.backend = width, width, heads, backend
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Map x (B, T, D) to y (B, T, D).

        The state is S (B, H, K, K) and z (B, H, K); zeros if None.
        """
        expect(x, ("B", "T", self.input_size), like=self.out.weight)
        parts = self.qkv(x).to(self.out.weight.dtype).chunk(3, -1)
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
        o, state = linear_attention(q, k, v, state, backend=self.backend)
        return self.out(o.transpose(1, 2).flatten(2)), state


class DeltaNet(nn.Module):
    """A layer with a matrix for its memory: y_t = W_O norm(S_t^T q_t / sqrt(K)), head by head.

    With ``decay="head"`` it is Gated DeltaNet. q and k are divided by their length, and norm is the root mean square.

    Weights start as torch.nn's, without biases, exp(A_log) from U(0, 16) and a_t so that softplus(b) is log-uniform in
    [0.001, 0.1], as in the authors' code.

    Parameters
    ----------
    width, heads
        D and H, which must divide it.
    decay
        None, or a decay for each ``"head"``, chosen by x_t.
    largest_beta
        beta_t = largest_beta sigmoid(W_b x_t), above 0 and up to 2. Above 1, eigenvalues may be negative.
    kernel_size
        Of the :class:`rtx_lib.layers.short_convolution.ShortConvolution` that q, k and v pass, and silu behind it;
        neither if None.
    backend
        Of :func:`rtx_lib.kernels.matrix_state.matrix_recurrence`.
    """

    def __init__(
        self,
        width: int,
        heads: int = 1,
        *,
        decay: str | None = None,
        largest_beta: float = 1.0,
        kernel_size: int | None = 4,
        backend: str = "auto",
    ) -> None:
        super().__init__()
        size = expect_heads(width, heads)
        expect_each(decay=(decay, DECAYS), largest_beta=(largest_beta, "(0, 2]"))
        self.input_size, self.output_size, self.heads, self.largest_beta = width, width, heads, largest_beta
        self.decay, self.backend = decay, backend
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.conv = None if kernel_size is None else ShortConvolution(3 * width, kernel_size, bias=False)
        self.beta = nn.Linear(width, heads, bias=False)
        if decay:
            self.step = nn.Linear(width, heads, bias=False)
            self.A_log = nn.Parameter(torch.empty(heads).uniform_(0, 16).clamp(min=1e-4).log())
            steps = torch.empty(heads).uniform_(math.log(0.001), math.log(0.1)).exp()
            self.step_bias = nn.Parameter(steps + torch.log(-torch.expm1(-steps)))  # what softplus turns into them
        self.norm = nn.RMSNorm(size, eps=1e-5)
        self.out = nn.Linear(width, width, bias=False)

    def state_shapes(self, batch: int) -> Shapes:
        """S (B, H, K, K), and the last k - 1 inputs of the convolution, none without it."""
        size, reach = self.input_size // self.heads, 1 if self.conv is None else self.conv.kernel_size
        past = (batch, reach - 1, 3 * self.input_size)
        return {"S": (batch, self.heads, size, size, torch.float32), "last inputs": past}

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Map x (B, T, D) to y (B, T, D)."""
        s, past = expect_step(x, self.input_size, state, self.state_shapes, self.out.weight)
        q, k, v, log_decay, beta, past = self.chosen(x, past)
        o, s = matrix_recurrence(
            q / math.sqrt(q.shape[-1]), k, v, log_decay=log_decay, beta=beta, state=s, backend=self.backend
        )
        return self.out(self.norm(o).transpose(1, 2).flatten(2)), (s, past)

    def chosen(self, x: Tensor, past: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor, Tensor]:
        """What x (B, T, D) makes of a step: q, k, v (B, H, T, K), log_decay, None without one, and beta (B, H, T).

        The last is the new past.
        """
        dtype = self.out.weight.dtype  # after autocast too
        qkv = self.qkv(x).to(dtype)
        if self.conv is not None:
            qkv, past = self.conv(qkv, past)
            qkv = F.silu(qkv.to(dtype))
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in qkv.chunk(3, -1))
        wide = torch.promote_types(dtype, torch.float32)  # float16 cannot hold the squares
        q, k = (F.normalize(part.to(wide), dim=-1, eps=1e-6).to(dtype) for part in (q, k))
        beta, log_decay = self.largest_beta * torch.sigmoid(self.beta(x).to(dtype)).transpose(1, 2), None
        if self.decay:
            log_decay = (-self.A_log.exp() * F.softplus(self.step(x).to(dtype) + self.step_bias)).transpose(1, 2)
        return q, k, v, log_decay, beta, past
