"""Mamba: a state space model whose step size, input and read-out are chosen by the input.

A. Gu and T. Dao, *Mamba: Linear-Time Sequence Modeling with Selective State Spaces*, 2023 (arXiv 2312.00752). Every
channel d of u has N states of its own. From the differential equation h' = A h + B u, y = C h with a diagonal A < 0, a
step of size delta makes

    h_t = a_t h_{t-1} + b_t u_t,    y_t = C_t h_t,    a_t = exp(delta_t A),    b_t = (a_t - 1) / A B_t   (eq. 2, 4)

In an S4 model delta, A, B and C are the same in all steps. Here (S6, algorithm 2) they are not:

    B_t = W_B u_t,    C_t = W_C u_t,    delta_t = softplus(W_delta u_t + bias)

A large delta forgets the old and takes the new; delta near 0 lets a step go by as if it had not been. Around it is one
block in place of attention and the feed-forward network, E = 2D channels wide:

    [u; z] = W_in x,    u = silu(convolution of the last k steps of u),    y = W_out ((S6(u) + D u) silu(z))

**A gate is what remains of it** with N = 1, A = -1, B = C = 1 (theorem 1): a_t = exp(-softplus(v)) = 1 - sigmoid(v), so
h_t = (1 - g_t) h_{t-1} + g_t u_t with g_t = sigmoid(v_t), v_t = W_delta u_t + bias.
``selective_scan(u, softplus(v), -ones, ones, ones, discretisation="zoh")`` shows it.

Where the authors' code (state-spaces/mamba) does otherwise than the paper:

- b_t is delta_t B_t, Euler's step, while a_t is exact. The theorem then does not hold: the new comes with the factor
  softplus(v) in place of sigmoid(v). Euler's is the default here too.
- W_delta is of low rank, D / 16 rounded up.
- The state of its convolution holds the last k inputs, of which the first is never read again; here it is k - 1.
- A's logarithm and D are kept in single precision and get no weight decay. That is up to whoever trains.
"""

import math
from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_lib.kernels import selective_scan
from rtx_lib.kernels.selective import DISCRETISATIONS, EIGENVALUES
from rtx_lib.layers.embedding import table
from rtx_lib.layers.mixing import parts_of
from rtx_lib.layers.official import load_official, reads_official, renamed
from rtx_lib.layers.short_convolution import ShortConvolution
from rtx_lib.shapes import Shapes, expect, expect_each, expect_ids, expect_state

STEPS = (0.001, 0.1)  # between which delta begins
STD = 0.02  # of the table of a language model
State = tuple[Tensor, Tensor]


class Mamba(nn.Module):
    """The block of Mamba: S6 behind a short convolution, and a gate beside it.

    :class:`MambaLM` is a language model of it, and ``MixerStack(65, 65, Mamba, width=64, layers=2, vocabulary=65)`` one
    with MLPs. The recurrence itself, step by step, is :func:`~rtx_lib.kernels.selective.selective_scan_loop`.

    Weights start as in the authors' code: A = -(1, ..., N) in every channel, D = 1, delta log-uniform in
    [0.001, 0.1] at u = 0, W_delta from U(-1/sqrt(R), 1/sqrt(R)) without its bias, and all others as torch.nn's.

    Parameters
    ----------
    width
        D, of x and of y.
    state_size
        N, the number of states of a channel.
    expand
        E / D: how many times wider it is inside.
    kernel_size
        k, the number of steps that the convolution sees; None for no convolution.
    step_rank
        R, the rank of W_delta; D / 16, rounded up, if None.
    discretisation, eigenvalues, backend
        Of :func:`~rtx_lib.kernels.selective.selective_scan`: ``"euler"`` or ``"zoh"``; ``"positive"`` decays in (0, 1)
        or ``"signed"`` ones in (-1, 1), which can count parity.
    """

    def __init__(
        self,
        width: int,
        state_size: int = 16,
        *,
        expand: int = 2,
        kernel_size: int | None = 4,
        step_rank: int | None = None,
        discretisation: str = "euler",
        eigenvalues: str = "positive",
        backend: str = "auto",
    ) -> None:
        super().__init__()
        self.step_rank = -(-width // 16) if step_rank is None else step_rank
        expect_each(discretisation=(discretisation, DISCRETISATIONS), eigenvalues=(eigenvalues, EIGENVALUES))
        self.input_size = self.output_size = width
        self.state_size, self.inner = state_size, expand * width
        self.discretisation, self.eigenvalues, self.backend = discretisation, eigenvalues, backend
        self.in_proj = nn.Linear(width, 2 * self.inner, bias=False)
        self.conv = None if kernel_size is None else ShortConvolution(self.inner, kernel_size)
        self.add_selection()
        self.A_log = nn.Parameter(torch.arange(1.0, state_size + 1).log().repeat(self.inner, 1))
        self.D = nn.Parameter(torch.ones(self.inner))
        self.out_proj = nn.Linear(self.inner, width, bias=False)

    def add_selection(self) -> None:
        """The weights of delta, B and C."""
        self.x_proj = nn.Linear(self.inner, self.step_rank + 2 * self.state_size, bias=False)
        self.dt_proj = nn.Linear(self.step_rank, self.inner)
        self.dt_proj.bias = nn.Parameter(first_steps(self.inner))

    def state_shapes(self, batch: int) -> Shapes:
        """The last k - 1 inputs of the convolution, none without it, and h."""
        reach = 1 if self.conv is None else self.conv.kernel_size
        return {"last inputs": (batch, reach - 1, self.inner), "h": (batch, self.inner, self.state_size)}

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Map x (B, T, D) to y (B, T, D)."""
        expect(x, ("B", "T", self.input_size), like=self.in_proj.weight)
        u, z = self.in_proj(x).chunk(2, dim=-1)
        past, h = expect_state(state, self.state_shapes(x.shape[0]), u)
        u, past = (u, past) if self.conv is None else self.conv(u, past)
        u = F.silu(u).to(self.A_log.dtype)  # after autocast too
        delta, B, C = self.selected(u)
        options = {"discretisation": self.discretisation, "eigenvalues": self.eigenvalues, "backend": self.backend}
        y, h = selective_scan(u, delta, -self.A_log.exp(), B, C, h.to(u.dtype), **options)
        return self.out_proj(self.gated(y + self.D * u, z)), (past, h)

    def gated(self, y: Tensor, z: Tensor) -> Tensor:
        """What of y (B, T, E) is let out."""
        return y * F.silu(z)

    def selected(self, u: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """delta (B, T, E), B and C (B, T, N), chosen by u (B, T, E)."""
        low, B, C = self.x_proj(u).split([self.step_rank, self.state_size, self.state_size], dim=-1)
        return F.softplus(self.dt_proj(low).to(u.dtype)), B.to(u.dtype), C.to(u.dtype)

    @classmethod
    @reads_official
    def from_official(cls, arrays: Mapping[str, Tensor], **options: Any) -> "Mamba":
        """The block with the arrays of state-spaces/mamba, by their names there."""
        weights = official_weights(arrays)
        return load_official(cls(**official_sizes(weights), **options), weights)


class TimeInvariantMamba(Mamba):
    """Mamba whose delta (E,), B and C (E, N) are the same in all steps, as in S4 (algorithm 1): nothing is selected.

    B starts at 1 and C from N(0, 1). Convolution and gate stay.
    """

    def add_selection(self) -> None:
        self.dt_bias = nn.Parameter(first_steps(self.inner))
        self.B = nn.Parameter(torch.ones(self.inner, self.state_size))
        self.C = nn.Parameter(torch.randn(self.inner, self.state_size))

    def selected(self, u: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """delta (E,), B and C (E, N), whatever u is."""
        return F.softplus(self.dt_bias), self.B, self.C


class MambaLM(nn.Module):
    """The language model of the paper (section 4.2): blocks alone, each behind a norm, and one table at both ends.

    ::

        h^0    = E[x]
        h      = h + Mamba(RMSNorm(h))       each block
        logits = RMSNorm(h) E^T

    E starts from N(0, 0.02^2), and W_out of each block smaller by 1/sqrt(layers), as in the authors' code.

    Parameters
    ----------
    vocabulary
        V; the table E serves input and output.
    width, layers
        D and the number of blocks.
    options
        Of each :class:`Mamba`.
    """

    def __init__(self, vocabulary: int, *, width: int, layers: int, **options: Any) -> None:
        super().__init__()
        expect_each(layers=layers)
        self.input_size = self.output_size = vocabulary
        self.embedding = table(vocabulary, width, STD)
        self.norms = nn.ModuleList(nn.RMSNorm(width, eps=1e-5) for _ in range(layers))
        self.mixers = nn.ModuleList(Mamba(width, **options) for _ in range(layers))
        self.norm = nn.RMSNorm(width, eps=1e-5)
        mixer: Any
        for mixer in self.mixers:
            mixer.out_proj.weight.data /= math.sqrt(layers)

    def forward(self, x: Tensor, state: tuple[State, ...] | None = None) -> tuple[Tensor, tuple[State, ...]]:
        """Map ids (B, T) to logits (B, T, V) of what comes after each; the state is the tuple of the blocks' states."""
        before, after = parts_of(state, len(self.mixers), "one for each block"), []
        h = self.embedding(expect_ids(x, self.input_size))
        for norm, mixer, own in zip(self.norms, self.mixers, before, strict=True):
            y, own = mixer(norm(h), own)
            h = h + y
            after.append(own)
        return F.linear(self.norm(h), self.embedding.weight), tuple(after)

    @classmethod
    @reads_official
    def from_huggingface(cls, arrays: Mapping[str, Tensor], **options: Any) -> "MambaLM":
        """The model with the arrays of Hugging Face's ``MambaForCausalLM``, or the authors' ``MambaLMHeadModel``.

        ``MambaLM.from_huggingface(theirs.state_dict())``. Where their convolutions have no bias, ours have one of 0.
        """
        weights = official_weights(arrays)
        embedding, layers = weights["embedding.weight"], sum(name.endswith(".A_log") for name in weights)
        if not weights.pop("lm_head.weight", embedding).equal(embedding):
            raise ValueError("arrays must be those of a tied model, got an lm_head.weight that is not the table")
        if not any(name.endswith("conv.bias") for name in weights):
            taps = {name: value for name, value in weights.items() if name.endswith("conv.weight")}
            weights |= {name.replace("weight", "bias"): value.new_zeros(len(value)) for name, value in taps.items()}
        first = {name.removeprefix("mixers.0."): value for name, value in weights.items()}
        return load_official(cls(len(embedding), layers=layers, **official_sizes(first), **options), weights)


# What the authors' and Hugging Face's names are here.
OFFICIAL = {
    r"\bconv1d\.": "conv.",
    r"^backbone\.embeddings?\.": "embedding.",
    r"^backbone\.layers\.(\d+)\.norm\.": r"norms.\1.",
    r"^backbone\.layers\.(\d+)\.mixer\.": r"mixers.\1.",
    r"^backbone\.norm_f\.": "norm.",
}


def official_weights(arrays: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Parameters of state-spaces/mamba, or of a language model of it, by our names."""
    return renamed(arrays, OFFICIAL)


def official_sizes(weights: Mapping[str, Tensor]) -> dict[str, Any]:
    """The arguments of a :class:`Mamba` that has these parameters."""
    (inner, states), width = weights["A_log"].shape, len(weights["out_proj.weight"])
    sizes = {"width": width, "state_size": states, "expand": inner // width}
    return sizes | {"kernel_size": weights["conv.weight"].shape[-1], "step_rank": weights["dt_proj.weight"].shape[1]}


def first_steps(count: int) -> Tensor:
    """Biases v for which softplus(v), the first step sizes, are log-uniform in [0.001, 0.1]."""
    low, high = (math.log(end) for end in STEPS)
    delta = torch.empty(count).uniform_(low, high).exp()
    return delta + torch.log(-torch.expm1(-delta))  # log(e^delta - 1)
