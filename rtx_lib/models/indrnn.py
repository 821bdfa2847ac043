"""Independently recurrent networks: every neuron of a layer reads its own past only.

Li, Li, Cook, Zhu and Gao (CVPR 2018, arXiv 1803.04831) replace the recurrent matrix by a vector,

    h_t = relu(W x_t + u * h_{t-1} + b)                                                       (their eq. 2)

so that the gradient of one neuron from T back to t is u^(T-t) times a product of slopes that are 0 or 1, and a
bound on |u| bounds it. Deep stacks of such layers, with and without shortcuts, are theirs and those of
Li, Li, Cook, Gao and Zhu (2019, arXiv 1910.06251). Where "the authors' code" is named, it is their PyTorch
repository (Sunnydreamrain/IndRNN_pytorch).
"""

import math

import torch
from torch import Tensor, nn

from rtx_lib.kernels import relu_recurrence
from rtx_lib.layers.cells import check_sequence

NORMS = (None, "before", "after")


def recurrent_bound(length: int | None, magnitude: float = 2.0) -> float:
    """The largest |u| under which nothing grows more than ``magnitude`` times in ``length`` steps.

    magnitude^(1/length) (Li et al. 2018, section 3.2, with magnitude 2 on the adding problem). None stands for
    sequences of any length: the limit 1.

    Raises
    ------
    ValueError
        For a length below 1 or a magnitude below 1.
    """
    if length is not None and length < 1:
        raise ValueError(f"length must be at least 1 or None, got {length}")
    if not (math.isfinite(magnitude) and magnitude >= 1):
        raise ValueError(f"magnitude must be finite and at least 1, got {magnitude}")
    return 1.0 if length is None else magnitude ** (1 / length)


def _recur(z: Tensor, u: Tensor, h: Tensor | None, tap: nn.Module, backend: str) -> Tensor:
    """All states (B, T, N): by the kernel, or step by step through the tap while somebody looks."""
    if not tap._forward_hooks:
        return relu_recurrence(z, u, h, backend=backend)
    h = torch.zeros_like(z[:, 0]) if h is None else h
    states = []
    for z_t in z.unbind(1):
        h = torch.relu(z_t + u * h)
        states.append(h)
    return torch.stack(tap(tuple(states)), dim=1)


class IndRNNLayer(nn.Module):
    """One layer: z_t = W x_t + b for all steps at once, then h_t = relu(z_t + u * h_{t-1}).

    Parameters
    ----------
    input_size, hidden_size
        D_in and N, each at least 1.
    backend
        Passed to ``rtx_lib.kernels.relu_recurrence``.
    generator
        Source of the random initial weights; torch's global one if None.
    """

    def __init__(
        self, input_size: int, hidden_size: int, *, backend: str = "auto", generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        _check_sizes(input_size=input_size, hidden_size=hidden_size)
        self.input_size, self.output_size, self.backend = input_size, hidden_size, backend
        self.linear = _linear(input_size, hidden_size, 1.0, generator)
        self.u = nn.Parameter(torch.empty(hidden_size).uniform_(0, 1, generator=generator))
        self.tap = nn.Identity()

    def forward(self, x: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Map x (B, T, D_in) and the state (B, N) before it to the states (B, T, N) and the last one (B, N)."""
        check_sequence(x, self.input_size)
        h = _recur(self.linear(x), self.u, state, self.tap, self.backend)
        return h, h[:, -1]


class Unit(nn.Module):
    """A recurrence with its batch normalisation and dropout, but without the linear map."""

    def __init__(self, size: int, norm: str | None, dropout: float, backend: str) -> None:
        super().__init__()
        self.norm, self.dropout, self.backend = norm, dropout, backend
        self.u = nn.Parameter(torch.empty(size))
        self.bn = nn.BatchNorm1d(size) if norm else None
        self.tap = nn.Identity()

    def forward(self, z: Tensor, state: Tensor | None) -> tuple[Tensor, Tensor]:
        """Map z (B, T, N) and the state (B, N) to the output (B, T, N) and the last state (B, N)."""
        if self.norm == "before":
            z = self._normalise(z)
        h = _recur(z, self.u, state, self.tap, self.backend)
        y = self._normalise(h) if self.norm == "after" else h
        if self.training and self.dropout:
            keep = 1 - self.dropout
            y = y * (torch.rand_like(y[:, :1]) < keep) / keep
        return y, h[:, -1]

    def _normalise(self, h: Tensor) -> Tensor:
        assert self.bn is not None
        y: Tensor = self.bn(h.flatten(0, 1))
        return y.view_as(h)


class PlainIndRNN(nn.Module):
    """A stack of IndRNN layers with a linear readout at every step."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int,
        output_size: int,
        *,
        length: int | None = None,
        magnitude: float = 2.0,
        norm: str | None = None,
        last_near_one: bool = True,
        keep: float = 0.9,
        input_scale: float | None = None,
        dropout: float = 0.0,
        backend: str = "auto",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        _check_sizes(input_size=input_size, hidden_size=hidden_size, num_layers=num_layers, output_size=output_size)
        self.bound = recurrent_bound(length, magnitude)
        self.input_size, self.output_size = input_size, output_size
        if input_scale is None:
            input_scale = 1.0 if length is None or norm else 1 / length
        self.linears, self.units = nn.ModuleList(), nn.ModuleList()
        low = keep ** (1 / length) if length else 1.0
        for layer in range(num_layers):
            gain = math.sqrt(1 / 65) if norm else 1.0 if layer == 0 else input_scale
            self.linears.append(_linear(hidden_size if layer else input_size, hidden_size, gain, generator))
            self.units.append(unit := Unit(hidden_size, norm, dropout, backend))
            near_one = last_near_one and layer == num_layers - 1
            nn.init.uniform_(unit.u, low if near_one else 0.0, self.bound, generator=generator)
        self.readout = _linear(hidden_size, output_size, 1.0, generator)

    def forward(self, x: Tensor, state: tuple[Tensor, ...] | None = None) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Map x (B, T, D_in) to y (B, T, D_out) and the last states."""
        check_sequence(x, self.input_size)
        last = []
        for i, (linear, unit) in enumerate(zip(self.linears, self.units, strict=True)):
            x, h = unit(linear(x), state[i] if state else None)
            last.append(h)
        return self.readout(x), tuple(last)

    @torch.no_grad()
    def constrain_(self) -> None:
        """Clamp every u to |u| <= bound; call it after each step of the optimiser."""
        for unit in self.units:
            unit.get_parameter("u").clamp_(-self.bound, self.bound)


def _check_sizes(**sizes: int) -> None:
    for name, size in sizes.items():
        if size < 1:
            raise ValueError(f"{name} must be at least 1, got {size}")


def _linear(inputs: int, outputs: int, scale: float, generator: torch.Generator | None) -> nn.Linear:
    """A linear map with the uniform weights of He et al. (2015) times ``scale``, and biases 0."""
    linear = nn.Linear(inputs, outputs)
    bound = scale * math.sqrt(6 / inputs)
    nn.init.uniform_(linear.weight, -bound, bound, generator=generator)
    nn.init.zeros_(linear.bias)
    return linear
