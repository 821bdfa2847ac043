"""Independently recurrent networks: every neuron of a layer reads no past but its own.

Li, Li, Cook, Zhu and Gao (CVPR 2018, arXiv 1803.04831) replace the recurrent matrix by a vector u,

    h_t = relu(W x_t + u * h_{t-1} + b)                                                            (their eq. 2)

so that the gradient of one neuron from step T back to t is u^(T-t) times slopes that are 0 or 1: a bound on ``|u|``
bounds it. The residual and dense nets are those of Li, Li, Cook, Gao and Zhu (2019, arXiv 1910.06251). What is
said of the authors' code was read in their PyTorch repository, Sunnydreamrain/IndRNN_pytorch.

The authors read the last step, ``y[:, -1]``; the nets here give y at every step.
"""

import math
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor, nn

from rtx_lib.kernels import relu_recurrence
from rtx_lib.layers.embedding import check_ids
from rtx_lib.layers.stacking import check_sequence, check_sizes, check_state

State = tuple[Tensor, ...]
Run = Callable[[nn.Module, Tensor], Tensor]
NORMS = (None, "before", "after")
AUTHORS_SCALE = 65**-0.5  # kaiming_uniform_(a=8) in the authors' nets, as a fraction of He's bound


def recurrent_bound(length: int | None, magnitude: float = 2.0) -> float:
    """The largest ``|u|`` under which a state, left alone, grows at most ``magnitude`` times in ``length`` steps.

    magnitude^(1/length). Li et al. (2018) take magnitude 2 for the adding problem, their code 5 for pixel MNIST.
    None stands for sequences of any length: the limit 1, which their README calls sufficient.

    Raises
    ------
    ValueError
        For a length or a magnitude below 1.
    """
    if length is not None and length < 1:
        raise ValueError(f"length must be at least 1 or None, got {length}")
    if not 1 <= magnitude < math.inf:
        raise ValueError(f"magnitude must be finite and at least 1, got {magnitude}")
    return 1.0 if length is None else magnitude ** (1 / length)


@torch.no_grad()
def initialise_recurrent_(
    u: Tensor,
    length: int | None,
    magnitude: float = 2.0,
    *,
    near_one: bool = False,
    keep: float = 0.9,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Fill u in place from U(0, bound) or, if ``near_one``, from U(keep^(1/length), bound).

    U(0, bound) spreads the neurons over memories of all lengths, and is the rule of the authors' code. Where only
    the last output counts, the last layer needs long memories only, so its u should lie near 1 (S. Li in
    batzner/indrnn, issue 9). There each neuron keeps at least the fraction ``keep`` of a state over ``length`` steps;
    the authors' code takes 1/magnitude. Without a length the interval shrinks to u = 1.

    Raises
    ------
    ValueError
        As :func:`recurrent_bound`, and for ``keep`` outside (0, 1].
    """
    bound = recurrent_bound(length, magnitude)
    if not 0 < keep <= 1:
        raise ValueError(f"keep must lie in (0, 1], got {keep}")
    shortest = 1.0 if length is None else keep ** (1 / length)
    return u.uniform_(shortest if near_one else 0.0, bound, generator=generator)


def _recur(z: Tensor, u: Tensor, state: Tensor | None, tap: nn.Module, backend: str) -> Tensor:
    """The states h (B, T, N) of h_t = relu(z_t + u * h_{t-1}).

    A kernel makes all states at once, and then no h_t is a node of the graph. While the tap is hooked, the steps
    are made one by one and the tuple of T states (B, N) goes through it, so that a loss can be differentiated with
    respect to each; ``backend`` is not used then.
    """
    z = z.to(u.dtype)  # autocast makes z in half precision
    if not tap._forward_hooks:
        return relu_recurrence(z, u, state, backend=backend)
    h = torch.zeros_like(z[:, 0]) if state is None else state
    states = []
    for z_t in z.unbind(1):
        h = torch.relu(z_t + u * h)
        states.append(h)
    return torch.stack(tap(tuple(states)), dim=1)


class IndRNNLayer(nn.Module):
    """One layer: z_t = W x_t + b for all steps at once, then h_t = relu(z_t + u * h_{t-1}) (Li et al. 2018, eq. 2).

    Parameters
    ----------
    input_size, hidden_size
        D_in and N, each at least 1.
    backend
        Passed to ``rtx_lib.kernels.relu_recurrence``.
    generator
        Source of the initial weights, torch's global one if None: u from U(0, 1), W uniform by the rule of He et al.
        (2015), b = 0.

    Raises
    ------
    ValueError
        For sizes below 1; in ``forward`` for an empty sequence, or an x or a state of the wrong shape or dtype.
    """

    def __init__(
        self, input_size: int, hidden_size: int, *, backend: str = "auto", generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        check_sizes(input_size=input_size, hidden_size=hidden_size)
        self.input_size, self.output_size, self.backend = input_size, hidden_size, backend
        self.linear = _linear(input_size, hidden_size, 1.0, generator)
        self.u = nn.Parameter(initialise_recurrent_(torch.empty(hidden_size), None, generator=generator))
        self.tap = nn.Identity()

    def forward(self, x: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Map x (B, T, D_in) and the state (B, N) before it, zeros if None, to h (B, T, N) and its last step (B, N)."""
        check_sequence(x, self.input_size, self.u)
        if state is not None:
            check_state(state, (len(x), self.output_size), x)
        h = _recur(self.linear(x), self.u, state, self.tap, self.backend)
        return h, h[:, -1]


class Unit(nn.Module):
    """A recurrence with its batch normalisation and dropout; the linear map stands outside.

    The statistics of the normalisation are per neuron, over time and batch together. ``norm`` puts it ``"before"`` the
    recurrence or ``"after"`` it. Dropout comes last and drops a neuron of a sequence at all steps or at none.
    """

    def __init__(self, size: int, norm: str | None, dropout: float, backend: str) -> None:
        super().__init__()
        if norm not in NORMS:
            raise ValueError(f"norm must be one of {list(NORMS)}, got {norm!r}")
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout must lie in [0, 1), got {dropout}")
        self.norm, self.dropout, self.backend = norm, dropout, backend
        self.u = nn.Parameter(torch.empty(size))
        self.bn = nn.BatchNorm1d(size) if norm else nn.Identity()
        self.tap = nn.Identity()

    def forward(self, z: Tensor, state: Tensor | None) -> tuple[Tensor, Tensor]:
        """Map z (B, T, N) and the state (B, N) before it to the output (B, T, N) and the last state (B, N)."""
        if self.norm == "before":
            z = self.bn(z.flatten(0, 1)).view_as(z)
        h = y = _recur(z, self.u, state, self.tap, self.backend)
        if self.norm == "after":
            y = self.bn(h.flatten(0, 1)).view_as(h)
        if self.training and self.dropout:
            y = y * torch.empty_like(y[:, :1]).bernoulli_(1 - self.dropout) / (1 - self.dropout)  # one mask for all t
        return y, h[:, -1]


class PlainIndRNN(nn.Module):
    """A stack of layers, each a linear map and a recurrence, and a linear readout at every step.

    Parameters
    ----------
    input_size, hidden_size, num_layers, output_size
        D_in, N, the number of layers and D_out; each at least 1.
    length, magnitude
        T and the growth that is allowed over it: see :func:`recurrent_bound` and :func:`initialise_recurrent_`.
    norm
        Batch normalisation of each layer over time and batch: ``"after"`` the recurrence (the authors' pixel MNIST),
        ``"before"`` it (their language models) or None (their adding problem).
    last_near_one, keep
        Start the u of the last layer in U(keep^(1/length), bound) instead of U(0, bound). The authors' plain net has
        this option, but it looks for a parameter name that the net does not have and so does nothing; in their
        residual and dense nets it works.
    input_scale
        Factor on the initial W of the layers above the first. By default 1/length without normalisation: a neuron
        with u near 1 adds up ``length`` inputs. That is our choice, made on the adding problem; 1/length to 5/length
        trained. With normalisation it is the scale of the authors' code, which the first layer then has too.
    vocabulary
        If given, x holds ids below it, (B, T), and a table (vocabulary, D_in) from N(0, 1) comes first.
    dropout
        Chance that a neuron of a sequence is dropped, after each layer, in training mode.
    backend
        Passed to ``rtx_lib.kernels.relu_recurrence``.
    generator
        Source of the initial weights; torch's global one if None. W is uniform by the rule of He et al. (2015), times
        the factors above; all biases are 0.

    Raises
    ------
    ValueError
        For arguments out of range; in ``forward`` for an empty sequence, an x or a state of the wrong shape, number or
        dtype, or a single step when statistics are to be taken over it.
    """

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
        vocabulary: int | None = None,
        dropout: float = 0.0,
        backend: str = "auto",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        check_sizes(input_size=input_size, hidden_size=hidden_size, num_layers=num_layers, output_size=output_size)
        if input_scale is not None and not 0 < input_scale < math.inf:
            raise ValueError(f"input_scale must be positive and finite, got {input_scale}")
        self.input_size, self.output_size = input_size, output_size
        self.embedding = None
        if vocabulary is not None:
            check_sizes(vocabulary=vocabulary)
            table = torch.empty(vocabulary, input_size).normal_(generator=generator)
            self.embedding = nn.Embedding.from_pretrained(table, freeze=False)
        self.bound = recurrent_bound(length, magnitude)
        first = AUTHORS_SCALE if norm else 1.0
        above = input_scale or (first if norm or length is None else 1 / length)
        self.linears, self.units = nn.ModuleList(), nn.ModuleList()
        for layer in range(num_layers):
            width, scale = (hidden_size, above) if layer else (input_size, first)
            near_one = last_near_one and layer == num_layers - 1
            unit = Unit(hidden_size, norm, dropout, backend)
            self.linears.append(_linear(width, hidden_size, scale, generator))
            initialise_recurrent_(unit.u, length, magnitude, near_one=near_one, keep=keep, generator=generator)
            self.units.append(unit)
        self.readout = _linear(hidden_size, output_size, 1.0, generator)

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Map x (B, T, D_in), or ids (B, T), to y (B, T, D_out).

        The state is one (B, N) for each recurrence, zeros if None.
        """
        if self.embedding is not None:
            check_ids("x", x, self.embedding.num_embeddings)
            x = self.embedding(x)
        run, last = _runner(self, x, state)
        for linear, unit in zip(self.linears, self.units, strict=True):
            x = run(unit, linear(x))
        return self.readout(x), tuple(last)

    def constrain_(self) -> None:
        """Clamp every u to [-bound, bound] in place; call it after each step of the optimiser."""
        _clamp(self.units, self.bound)


class ResidualIndRNN(nn.Module):
    """A residual net with pre-activation (Li et al. 2019): the shortcut passes no nonlinearity and no recurrence.

    h = fc_0(x); each block adds fc_2(unit_2(fc_1(unit_1(h)))) to h, where a unit is a recurrence with its batch
    normalisation; a last unit and the readout follow. The recurrences number 2 ``num_blocks`` + 1.

    The arguments are those of :class:`PlainIndRNN`, with ``num_blocks``, at least 1, for its layers. All initial
    weights follow the authors' code.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_blocks: int,
        output_size: int,
        *,
        length: int | None = None,
        magnitude: float = 2.0,
        norm: str | None = "after",
        last_near_one: bool = True,
        keep: float = 0.9,
        dropout: float = 0.0,
        backend: str = "auto",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        check_sizes(input_size=input_size, hidden_size=hidden_size, num_blocks=num_blocks, output_size=output_size)
        self.input_size, self.output_size = input_size, output_size
        self.bound = recurrent_bound(length, magnitude)
        widths = [input_size] + [hidden_size] * (2 * num_blocks)
        self.linears = nn.ModuleList(_linear(width, hidden_size, AUTHORS_SCALE, generator) for width in widths)
        self.units = nn.ModuleList(Unit(hidden_size, norm, dropout, backend) for _ in widths)
        for unit in self.units:
            near_one = last_near_one and unit is self.units[-1]
            u = unit.get_parameter("u")
            initialise_recurrent_(u, length, magnitude, near_one=near_one, keep=keep, generator=generator)
        self.readout = _linear(hidden_size, output_size, 1.0, generator)

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """As :class:`PlainIndRNN`."""
        run, last = _runner(self, x, state)
        h = self.linears[0](x)
        for i in range(0, len(self.units) - 1, 2):
            branch = self.linears[i + 1](run(self.units[i], h))
            h = h + self.linears[i + 2](run(self.units[i + 1], branch))
        return self.readout(run(self.units[-1], h)), tuple(last)

    def constrain_(self) -> None:
        """As :class:`PlainIndRNN`."""
        _clamp(self.units, self.bound)


class DenseIndRNN(nn.Module):
    """A densely connected net (Li et al. 2019, after Huang et al. 2017): every layer reads all layers of its block.

    With unit(fc(h)) as a layer, h = layer(x) is ``initial_size`` wide; each dense layer appends ``growth`` features,
    layer(layer(h)) through a bottleneck of 4 ``growth``, to h; after each block a layer halves the width, and after
    the last block that layer is the last layer. The recurrences number 1 + the sum of 2 d + 1 over ``block_config``.

    The arguments are otherwise those of :class:`PlainIndRNN`. All initial weights follow the authors' code.

    Parameters
    ----------
    growth
        Features that a dense layer adds.
    block_config
        Number d of dense layers in each block.
    initial_size
        Width of the first layer.
    """

    def __init__(
        self,
        input_size: int,
        growth: int,
        block_config: Sequence[int],
        output_size: int,
        *,
        initial_size: int,
        length: int | None = None,
        magnitude: float = 2.0,
        norm: str | None = "after",
        last_near_one: bool = True,
        keep: float = 0.9,
        dropout: float = 0.0,
        backend: str = "auto",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        check_sizes(input_size=input_size, growth=growth, output_size=output_size, initial_size=initial_size)
        if not block_config or min(block_config) < 1:
            raise ValueError(f"block_config must hold numbers of at least 1, got {block_config!r}")
        self.input_size, self.output_size, self.block_config = input_size, output_size, tuple(block_config)
        self.bound = recurrent_bound(length, magnitude)
        shapes, width = [(input_size, initial_size)], initial_size
        for depth in block_config:
            for _ in range(depth):
                shapes += [(width, 4 * growth), (4 * growth, growth)]
                width += growth
            shapes.append((width, width // 2))
            width //= 2
        self.linears = nn.ModuleList(_linear(*shape, AUTHORS_SCALE, generator) for shape in shapes)
        self.units = nn.ModuleList(Unit(size, norm, dropout, backend) for _, size in shapes)
        for unit in self.units:
            near_one = last_near_one and unit is self.units[-1]
            u = unit.get_parameter("u")
            initialise_recurrent_(u, length, magnitude, near_one=near_one, keep=keep, generator=generator)
        self.readout = _linear(width, output_size, 1.0, generator)

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """As :class:`PlainIndRNN`; the recurrences have different widths."""
        run, last = _runner(self, x, state)
        pairs = zip(self.linears, self.units, strict=True)

        def layer(h: Tensor) -> Tensor:
            linear, unit = next(pairs)
            return run(unit, linear(h))

        h = layer(x)
        for depth in self.block_config:
            for _ in range(depth):
                h = torch.cat([h, layer(layer(h))], dim=-1)
            h = layer(h)
        return self.readout(h), tuple(last)

    def constrain_(self) -> None:
        """As :class:`PlainIndRNN`."""
        _clamp(self.units, self.bound)


def _linear(inputs: int, outputs: int, scale: float, generator: torch.Generator | None) -> nn.Linear:
    """A linear map with weights from ``scale`` times the uniform distribution of He et al. (2015), and biases 0."""
    linear = nn.Linear(inputs, outputs)
    bound = scale * math.sqrt(6 / inputs)
    nn.init.uniform_(linear.weight, -bound, bound, generator=generator)
    nn.init.zeros_(linear.bias)
    return linear


@torch.no_grad()
def _clamp(units: nn.ModuleList, bound: float) -> None:
    for unit in units:
        unit.get_parameter("u").clamp_(-bound, bound)


def _runner(net: nn.Module, x: Tensor, state: State | None) -> tuple[Run, list[Tensor]]:
    """Check x and state; give ``run(unit, z)``, which hands each unit its state in turn, and the list of last ones."""
    units: list[Unit] = list(net.units)  # type: ignore[arg-type]
    check_sequence(x, int(net.input_size), units[0].u)  # type: ignore[arg-type]
    if net.training and units[0].norm and x.shape[0] * x.shape[1] < 2:
        raise ValueError(f"x must hold at least 2 steps for batch statistics, got shape {tuple(x.shape)}")
    if state is not None:
        if not isinstance(state, tuple | list) or len(state) != len(units):
            what = len(state) if isinstance(state, tuple | list) else type(state).__name__
            raise ValueError(f"state must be a tuple of {len(units)} tensors, one for each recurrence, got {what}")
        for i, (h, unit) in enumerate(zip(state, units, strict=True)):
            check_state(h, (len(x), len(unit.u)), x, f"state[{i}]")
    before: Iterator[Tensor | None] = iter(state or [None] * len(units))
    last: list[Tensor] = []

    def run(unit: nn.Module, z: Tensor) -> Tensor:
        y, h = unit(z, next(before))
        last.append(h)
        return y

    return run, last
