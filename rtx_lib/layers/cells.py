"""Recurrent layers in the papers' equations, with torch.nn's parameter names.

Weights move both ways between these layers and their ``torch.nn`` namesakes with ``load_state_dict``.
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

NONLINEARITIES: dict[str, Callable[[Tensor], Tensor]] = {"tanh": torch.tanh, "relu": torch.relu}
INITIALISATIONS = ("uniform", "identity", "orthogonal")


class RNN(nn.Module):
    """Simple recurrent network (Elman 1990), stacked and bidirectional if asked.

    Every layer and direction computes, for t = 1..T,

        h_t = f(W_ih x_t + b_ih + W_hh h_{t-1} + b_hh)

    which is the recurrence of Goodfellow, Bengio and Courville, *Deep Learning* (2016), eq. 10.8-10.9,
    with their one bias split in two as torch.nn does. The backward direction reads x_T first, so that its
    state at t depends on x_t..x_T; the two directions are joined as [forward; backward] (Schuster and
    Paliwal 1997). A stacked layer reads the joined states of the layer below.

    Parameters
    ----------
    input_size, hidden_size, num_layers
        D_in, H and the number of stacked layers; each at least 1.
    nonlinearity
        ``"tanh"`` or ``"relu"``.
    bidirectional
        Adds a second set of weights (suffix ``_reverse``) that reads the sequence from its end.
    init
        ``"uniform"``: U(-1/sqrt(H), 1/sqrt(H)) everywhere, torch.nn's rule. ``"identity"``: W_hh = I,
        biases 0, W_ih ~ N(0, input_std^2), the IRNN of Le, Jaitly and Hinton (2015), section 2.
        ``"orthogonal"``: as uniform, but W_hh is a random orthogonal matrix, all of whose singular values
        are 1 (Saxe, McClelland and Ganguli 2014, section 3).
    input_std
        Standard deviation of W_ih under ``init="identity"``.
    generator
        Source of the random initial weights; torch's global one if None.

    Raises
    ------
    ValueError
        For sizes below 1 or an unknown nonlinearity or initialisation; in ``forward`` for an input or a
        state of the wrong shape, or an empty sequence.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        *,
        nonlinearity: str = "tanh",
        bidirectional: bool = False,
        init: str = "uniform",
        input_std: float = 0.001,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        for name, size in (
            ("input_size", input_size),
            ("hidden_size", hidden_size),
            ("num_layers", num_layers),
        ):
            if size < 1:
                raise ValueError(f"{name} must be at least 1, got {size}")
        if nonlinearity not in NONLINEARITIES:
            raise ValueError(f"nonlinearity must be one of {sorted(NONLINEARITIES)}, got {nonlinearity!r}")
        if init not in INITIALISATIONS:
            raise ValueError(f"init must be one of {list(INITIALISATIONS)}, got {init!r}")
        if input_std <= 0:
            raise ValueError(f"input_std must be positive, got {input_std}")
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.nonlinearity, self.bidirectional = nonlinearity, bidirectional
        self.init, self.input_std = init, input_std
        self.output_size = hidden_size * self.directions
        # Parameter-free: each layer and direction hands the tuple of its T states through here once, so
        # that a forward hook can see every h_t and differentiate with respect to it.
        self.tap = nn.Identity()
        for layer in range(num_layers):
            width = input_size if layer == 0 else self.output_size
            for suffix in self._suffixes(layer):
                self.register_parameter(f"weight_ih_{suffix}", nn.Parameter(torch.empty(hidden_size, width)))
                self.register_parameter(f"weight_hh_{suffix}", nn.Parameter(torch.empty(hidden_size, hidden_size)))
                self.register_parameter(f"bias_ih_{suffix}", nn.Parameter(torch.empty(hidden_size)))
                self.register_parameter(f"bias_hh_{suffix}", nn.Parameter(torch.empty(hidden_size)))
        self.reset_parameters(generator)

    @property
    def directions(self) -> int:
        """1, or 2 if bidirectional."""
        return 2 if self.bidirectional else 1

    def _suffixes(self, layer: int) -> list[str]:
        return [f"l{layer}", f"l{layer}_reverse"][: self.directions]

    @torch.no_grad()
    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw all weights anew by the rule named ``init``."""
        bound = 1 / math.sqrt(self.hidden_size)
        for name, parameter in self.named_parameters():
            if self.init == "orthogonal" and name.startswith("weight_hh"):
                nn.init.orthogonal_(parameter, generator=generator)
            elif self.init != "identity":
                parameter.uniform_(-bound, bound, generator=generator)
            elif name.startswith("weight_ih"):
                parameter.normal_(0, self.input_std, generator=generator)
            elif name.startswith("weight_hh"):
                nn.init.eye_(parameter)
            else:
                parameter.zero_()

    def forward(self, x: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Run the whole sequence.

        Parameters
        ----------
        x
            (B, T, D_in), T at least 1.
        state
            (num_layers * directions, B, H), the states before the first step; zeros if None. Carrying a
            state on to the next piece of a sequence is exact for one direction only: the backward direction
            would have to know the future.

        Returns
        -------
        y
            (B, T, H * directions), the states of the last layer.
        state
            (num_layers * directions, B, H), the state in which each layer and direction ended.
        """
        rows = self.num_layers * self.directions
        check_sequence(x, self.input_size)
        if state is None:
            state = x.new_zeros(rows, x.shape[0], self.hidden_size)
        elif state.shape != (rows, x.shape[0], self.hidden_size):
            raise ValueError(f"state must have shape {(rows, x.shape[0], self.hidden_size)}, got {tuple(state.shape)}")
        last: list[Tensor] = []
        for layer in range(self.num_layers):
            halves = []
            for suffix in self._suffixes(layer):
                h, reverse = state[len(last)], suffix.endswith("_reverse")
                states = self._run(x.flip(1) if reverse else x, h, suffix)
                last.append(states[-1])
                halves.append(torch.stack(states[::-1] if reverse else states, dim=1))  # (B, T, H)
            x = torch.cat(halves, dim=-1)
        return x, torch.stack(last)

    def _run(self, x: Tensor, h: Tensor, suffix: str) -> tuple[Tensor, ...]:
        """The states h_1..h_T, each (B, H), of one layer and direction, in the order in which they are made."""
        f = NONLINEARITIES[self.nonlinearity]
        weight_ih, weight_hh, bias_ih, bias_hh = (
            getattr(self, f"{name}_{suffix}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )
        z = F.linear(x, weight_ih, bias_ih + bias_hh)  # (B, T, H): all inputs at once, they wait for nobody
        states = []
        for z_t in z.unbind(1):  # one backward node; z[:, t] would make T of them, each as large as z
            h = f(torch.addmm(z_t, h, weight_hh.T))
            states.append(h)
        tapped: tuple[Tensor, ...] = self.tap(tuple(states))
        return tapped

    def extra_repr(self) -> str:
        """The arguments, as ``print(model)`` shows them."""
        return (
            f"{self.input_size}, {self.hidden_size}, num_layers={self.num_layers}, "
            f"nonlinearity={self.nonlinearity!r}, bidirectional={self.bidirectional}, init={self.init!r}"
        )


def check_sequence(x: Tensor, input_size: int) -> None:
    """Raise ``ValueError`` unless x is (B, T, input_size) with B and T at least 1."""
    if x.ndim != 3 or x.shape[-1] != input_size:
        raise ValueError(f"x must have shape (B, T, {input_size}), got {tuple(x.shape)}")
    if x.shape[0] < 1 or x.shape[1] < 1:
        raise ValueError(f"x must hold at least one sequence of at least one step, got shape {tuple(x.shape)}")
