"""minGRU and minLSTM: the gates no longer see the state, so that a parallel scan can train them.

L. Feng, F. Tung, M. O. Ahmed, Y. Bengio and H. Hajimirsadeghi, *Were RNNs All We Needed?*, 2024 (arXiv 2410.01201).
From a GRU and an LSTM all that reads h_{t-1} inside a gate is taken out, and tanh with it:

    minGRU     z_t = sigmoid(W_z x_t),   h~_t = W_h x_t,
               h_t = (1 - z_t) h_{t-1} + z_t h~_t                                                   (section 3.1)
    minLSTM    f_t = sigmoid(W_f x_t),   i_t = sigmoid(W_i x_t),   h~_t = W_h x_t,
               h_t = f'_t h_{t-1} + i'_t h~_t,   f' = f / (f + i),   i' = i / (f + i)               (section 3.2)

As f' + i' = 1, minLSTM is minGRU with z = sigmoid(log i - log f), and so it is computed here.

minGRU is the f-pooling of a QRNN (Bradbury et al. 2017, :mod:`rtx_lib.models.qrnn`) with a window of 1 and another
candidate, W_h x instead of tanh(W_h x); f is 1 - z. The step is not new. The paper's claim is that it is enough.

For numbers that last, appendix B of the paper keeps the states positive and works with their logarithms,

    g(x) = x + 1/2 where x >= 0, sigmoid(x) elsewhere,   h~_t = g(W_h x_t)
    log h_t = A_t + log sum_{s <= t} exp(log b_s - A_s),   A_t = log a_1 + ... + log a_t

where a is the share of the old state and b what is added (Heinsen 2023). g is continuous; its slope jumps at 0 from 1/4
to 1. The layers take the linear route, which is as good for numbers of either sign and loses less; the other is
:func:`log_space_recurrence`, of log a = log sigmoid(-W_z x) and log b = log sigmoid(W_z x) + log g(W_h x).

Where the authors' code (BorealisAI/minRNNs, after lucidrains/minGRU-pytorch, whose values are the reference) does
otherwise than the paper:

- The maps have no bias, and a wider state has a linear map back to D behind it.
- minLSTM can do without the division by f + i (``normalised=False``).
- Given a state, the parallel minLSTM applies g to it once more, its step does not: two functions in one module. Here
  the state goes on as it is.
- A layer starts from no state, h_0 = 0. Its logarithm has no value, so the state stands outside of the sum here.
"""

from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_lib.kernels import gated_recurrence, linear_recurrence
from rtx_lib.layers.blocks import uniform_linear
from rtx_lib.layers.official import load_official, reads_official, renamed
from rtx_lib.shapes import expect_step


def min_gru_loop(z: Tensor, candidate: Tensor, h: Tensor) -> Tensor:
    """minGRU step by step (section 3.1), z before its sigmoid, candidates as they are: what every form must equal."""
    states = []
    for z_t, new in zip(torch.sigmoid(z).unbind(1), candidate.unbind(1), strict=True):
        h = (1 - z_t) * h + z_t * new
        states.append(h)
    return torch.stack(states, 1)


def min_lstm_loop(f: Tensor, i: Tensor, candidate: Tensor, h: Tensor, normalised: bool = True) -> Tensor:
    """minLSTM step by step (section 3.2), f and i before their sigmoids: what every form must equal."""
    states = []
    for f_t, i_t, new in zip(torch.sigmoid(f).unbind(1), torch.sigmoid(i).unbind(1), candidate.unbind(1), strict=True):
        total = f_t + i_t if normalised else 1
        h = f_t / total * h + i_t / total * new
        states.append(h)
    return torch.stack(states, 1)


def positive(a: Tensor) -> Tensor:
    """g(a) = a + 1/2 where a >= 0, sigmoid(a) elsewhere (appendix B): above 0 everywhere, and increasing."""
    return torch.where(a >= 0, a + 0.5, torch.sigmoid(a))


def log_positive(a: Tensor) -> Tensor:
    """log g(a), also where g(a) is too small for a float."""
    return torch.where(a >= 0, (a.clamp(min=0) + 0.5).log(), F.logsigmoid(a))


def log_space_recurrence(log_a: Tensor, log_b: Tensor, h0: Tensor | None = None) -> Tensor:
    """h_t = a_t h_{t-1} + b_t for a, b > 0, given their logarithms: two cumulative sums and no step waits (appendix B).

    It is ``linear_recurrence(exp(log_a), exp(log_b), h0)``, and as a route less exact: where A_t is large, a difference
    of large numbers tells what is left. In float32 its error is about 3e-6 of the states after 100 steps and 6e-3 after
    100,000, where the linear form stays at 1e-7. Half precision is computed in single.

    Parameters
    ----------
    log_a, log_b
        (B, T, ...), both of one shape.
    h0
        (B, ...), the states before the first step, of either sign; zeros if None.

    Returns
    -------
    h
        (B, T, ...), the states of all steps.
    """
    wide = torch.promote_types(log_b.dtype, torch.float32)
    total = log_a.to(wide).cumsum(1)
    h = (total + torch.logcumsumexp(log_b.to(wide) - total, 1)).exp()
    return (h if h0 is None else h + total.exp() * h0[:, None]).to(log_b.dtype)


def min_gru(z: Tensor, candidate: Tensor, h0: Tensor | None = None, *, backend: str = "auto") -> Tensor:
    """The states of minGRU (section 3.1) with g (appendix B).

    Parameters
    ----------
    z, candidate
        W_z x and W_h x, (B, T, H), before the sigmoid and before g.
    h0
        (B, H), the states before the first step; zeros if None.
    backend
        Of :func:`rtx_lib.kernels.linear.gated_recurrence`.

    Returns
    -------
    h
        (B, T, H).
    """
    if backend == "loop":
        return min_gru_loop(z, positive(candidate), torch.zeros_like(z[:, 0]) if h0 is None else h0)
    return gated_recurrence(torch.sigmoid(-z), positive(candidate), h0, backend=backend)


def min_lstm(
    f: Tensor, i: Tensor, candidate: Tensor, h0: Tensor | None = None, *, normalised: bool = True, backend: str = "auto"
) -> Tensor:
    """The states of minLSTM (section 3.2) with g (appendix B).

    Parameters
    ----------
    f, i, candidate
        W_f x, W_i x and W_h x, (B, T, H), before sigmoids and g.
    normalised
        Whether f and i are divided by their sum.
    h0, backend
        As in :func:`min_gru`, as are the errors.

    Returns
    -------
    h
        (B, T, H).
    """
    if backend == "loop":
        return min_lstm_loop(f, i, positive(candidate), torch.zeros_like(f[:, 0]) if h0 is None else h0, normalised)
    if normalised:
        return min_gru(F.logsigmoid(i) - F.logsigmoid(f), candidate, h0, backend=backend)
    return linear_recurrence(torch.sigmoid(f), torch.sigmoid(i) * positive(candidate), h0, backend=backend)


class MinGRU(nn.Module):
    """minGRU as a mixer: one linear map for candidate and gate, and the recurrence.

    ``linear.weight`` (2H, D) holds the blocks h~, z, ``out.weight`` (D, H), if there is one, leads back. All start from
    U(-1/sqrt(n), 1/sqrt(n)) with n inputs.

    Parameters
    ----------
    width
        D, of x and of y.
    hidden_size
        H, with a linear map to D behind it. If None, H = D and the states are the outputs, as in the paper.
    bias
        Whether both maps have biases.
    backend
        Passed to ``rtx_lib.kernels``.
    """

    blocks = 2

    def __init__(
        self, width: int, hidden_size: int | None = None, *, bias: bool = False, backend: str = "auto"
    ) -> None:
        super().__init__()
        size = width if hidden_size is None else hidden_size
        self.input_size = self.output_size = width
        self.hidden_size, self.backend = size, backend
        self.linear = uniform_linear(width, self.blocks * size, bias=bias)
        self.out = nn.Identity() if hidden_size is None else uniform_linear(size, width, bias=bias)

    def forward(self, x: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Map x (B, T, D) to y (B, T, D); the state is the last h (B, H), zeros if None."""
        state = expect_step(x, self.input_size, state, lambda batch: (batch, self.hidden_size), self.linear.weight)
        maps = self.linear(x).to(self.linear.weight.dtype)  # after autocast too
        h = self.states(maps, state.to(maps.dtype))
        return self.out(h), h[:, -1].clone()  # a view would keep all of h

    @classmethod
    @reads_official
    def from_official(cls, arrays: Mapping[str, Tensor], **options: Any) -> "MinGRU":
        """The layer with the arrays of lucidrains/minGRU-pytorch, by their names there."""
        weights = official_weights(arrays)
        rows, width = weights["linear.weight"].shape
        size = rows // cls.blocks if "out.weight" in weights else None
        return load_official(cls(width, size, bias="linear.bias" in weights, **options), weights)

    def states(self, maps: Tensor, h0: Tensor) -> Tensor:
        """The states (B, T, H) of the linear map's blocks (B, T, 2H)."""
        candidate, z = maps.chunk(2, dim=-1)
        return min_gru(z, candidate, h0, backend=self.backend)


class MinLSTM(MinGRU):
    """minLSTM as a mixer; ``linear.weight`` (3H, D) holds the blocks h~, f, i.

    Parameters
    ----------
    normalised
        Whether f and i are divided by their sum.
    width, hidden_size, options
        As in :class:`MinGRU`: bias and backend.
    """

    blocks = 3

    def __init__(self, width: int, hidden_size: int | None = None, *, normalised: bool = True, **options: Any) -> None:
        super().__init__(width, hidden_size, **options)
        self.normalised = normalised

    def states(self, maps: Tensor, h0: Tensor) -> Tensor:
        """The states (B, T, H) of the linear map's blocks (B, T, 3H)."""
        candidate, f, i = maps.chunk(3, dim=-1)
        return min_lstm(f, i, candidate, h0, normalised=self.normalised, backend=self.backend)


def official_weights(arrays: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Parameters of lucidrains/minGRU-pytorch by our names."""
    return renamed(arrays, {"^to_hidden_and_(f_i_)?gate": "linear", "^to_out": "out"})
