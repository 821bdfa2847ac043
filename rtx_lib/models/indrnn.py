"""Independently recurrent networks: every neuron of a layer reads no past but its own.

Li, Li, Cook, Zhu and Gao (CVPR 2018, arXiv 1803.04831) replace the recurrent matrix by a vector u,

    h_t = relu(W x_t + u * h_{t-1} + b)                                                            (their eq. 2)

so that the gradient of one neuron from step T back to t is u^(T-t) times slopes that are 0 or 1: a bound on ``|u|``
bounds it. What is said of the authors' code was read in their PyTorch repository, Sunnydreamrain/IndRNN_pytorch. The
authors read the last step, ``y[:, -1]``; the nets here give y at every step.
"""

import math

import torch
from torch import Tensor, nn

from rtx_lib.kernels import relu_recurrence
from rtx_lib.layers.embedding import table
from rtx_lib.shapes import expect, expect_each, expect_ids, expect_state, expect_step

State = tuple[Tensor, ...]
NORMS = (None, "before", "after")
AUTHORS_SCALE = 65**-0.5  # kaiming_uniform_(a=8) in the authors' nets, as a fraction of He's bound


class Recurrence(nn.Module):
    """h_t = relu(z_t + u * h_{t-1}), with its batch normalisation and dropout; the linear map stands outside.

    The statistics of the normalisation are per neuron, over time and batch together. ``norm`` puts it ``"before"`` the
    recurrence or ``"after"`` it. Dropout comes last and drops a neuron of a sequence at all steps or at none.
    """

    def __init__(self, size: int, norm: str | None = None, dropout: float = 0.0, backend: str = "auto") -> None:
        super().__init__()
        expect_each(norm=(norm, NORMS), dropout=(dropout, "[0, 1)"))
        self.norm, self.dropout, self.backend = norm, dropout, backend
        self.u = nn.Parameter(torch.empty(size))
        self.bn = nn.BatchNorm1d(size) if norm else nn.Identity()
        self.tap = nn.Identity()

    def forward(self, z: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Map z (B, T, N) and the state (B, N) before it, zeros if None, to y (B, T, N) and the last state (B, N)."""
        if self.norm == "before":
            z = self.bn(z.flatten(0, 1)).view_as(z)
        state = None if state is None else state.to(self.u.dtype)
        h = y = self.states(z.to(self.u.dtype), state)  # autocast makes z in half precision
        if self.norm == "after":
            y = self.bn(h.flatten(0, 1)).view_as(h)
        if self.training and self.dropout:
            y = y * torch.empty_like(y[:, :1]).bernoulli_(1 - self.dropout) / (1 - self.dropout)  # one mask for all t
        return y, h[:, -1].clone()  # a view would keep all of h

    def states(self, z: Tensor, state: Tensor | None) -> Tensor:
        """h_1..h_T (B, T, N).

        A kernel makes all states at once, and then no h_t is a node of the graph. While the tap is hooked, the steps
        are made one by one and the tuple of T states (B, N) goes through it, so that a loss can be differentiated with
        respect to each; ``backend`` is not used then.
        """
        if not (self.tap._forward_hooks or self.tap._forward_pre_hooks):
            return relu_recurrence(z, self.u, state, backend=self.backend)
        h = torch.zeros_like(z[:, 0]) if state is None else state
        states = []
        for z_t in z.unbind(1):
            h = torch.relu(z_t + self.u * h)
            states.append(h)
        return torch.stack(self.tap(tuple(states)), dim=1)


class IndRNNLayer(Recurrence):
    """One layer: z_t = W x_t + b for all steps at once, then h_t = relu(z_t + u * h_{t-1}) (Li et al. 2018, eq. 2).

    u starts from U(0, 1), W uniform by the rule of He et al. (2015), b at 0.

    Parameters
    ----------
    input_size, hidden_size
        D_in and N, each at least 1.
    length
        T: :meth:`constrain_` keeps every ``|u|`` within :func:`recurrent_bound` of it.
    backend
        Passed to ``rtx_lib.kernels.relu_recurrence``.
    """

    def __init__(self, input_size: int, hidden_size: int, *, length: int | None = None, backend: str = "auto") -> None:
        super().__init__(hidden_size, backend=backend)
        self.input_size, self.output_size, self.bound = input_size, hidden_size, recurrent_bound(length)
        self.linear = he_linear(input_size, hidden_size)
        initialise_recurrent_(self.u, None)

    def forward(self, x: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Map x (B, T, D_in) and the state (B, N) before it, zeros if None, to h (B, T, N) and its last step (B, N)."""
        state = expect_step(x, self.input_size, state, lambda batch: (batch, self.output_size), self.u)
        return super().forward(self.linear(x), state)

    @torch.no_grad()
    def constrain_(self) -> None:
        """Clamp u to [-bound, bound] in place; call it after each step of the optimiser."""
        self.u.clamp_(-self.bound, self.bound)


class IndRNN(nn.Module):
    """A stack of layers, each a linear map and a recurrence, and a linear readout at every step.

    W is uniform by the rule of He et al. (2015), times the factors below; all biases start at 0.

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
    ) -> None:
        super().__init__()
        expect_each(num_layers=num_layers, input_scale=(input_scale, "None or (0, inf)"))
        self.input_size, self.output_size = input_size, output_size
        self.embedding = None if vocabulary is None else table(vocabulary, input_size, 1.0)
        self.bound = recurrent_bound(length, magnitude)
        first = AUTHORS_SCALE if norm else 1.0
        above = input_scale or (first if norm or length is None else 1 / length)
        self.linears, self.units = nn.ModuleList(), nn.ModuleList()
        for layer in range(num_layers):
            width, scale = (hidden_size, above) if layer else (input_size, first)
            unit = Recurrence(hidden_size, norm, dropout, backend)
            self.linears.append(he_linear(width, hidden_size, scale))
            near_one = last_near_one and layer == num_layers - 1
            initialise_recurrent_(unit.u, length, magnitude, near_one=near_one, keep=keep)
            self.units.append(unit)
        self.readout = he_linear(hidden_size, output_size)

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Map x (B, T, D_in), or ids (B, T), to y (B, T, D_out).

        The state is one (B, N) for each recurrence, zeros if None.
        """
        if self.embedding is not None:
            x = self.embedding(expect_ids(x, self.embedding.num_embeddings))
        expect(x, ("B", "T", self.input_size), like=self.readout.weight)
        before, after = expect_state(state, len(self.units) * [(x.shape[0], self.readout.in_features)], x), []
        for linear, unit, h in zip(self.linears, self.units, before, strict=True):
            x, h = unit(linear(x), h)
            after.append(h)
        return self.readout(x), tuple(after)

    @torch.no_grad()
    def constrain_(self) -> None:
        """Clamp every u to [-bound, bound] in place; call it after each step of the optimiser."""
        for unit in self.units:
            unit.get_parameter("u").clamp_(-self.bound, self.bound)


PlainIndRNN = IndRNN  # its name in the paper, beside a residual and a dense net


def recurrent_bound(length: int | None, magnitude: float = 2.0) -> float:
    """The largest ``|u|`` under which a state, left alone, grows at most ``magnitude`` times in ``length`` steps.

    magnitude^(1/length). Li et al. (2018) take magnitude 2 for the adding problem, their code 5 for pixel MNIST.
    None stands for sequences of any length: the limit 1, which their README calls sufficient.
    """
    expect_each(length=(length, "None or [1, inf]"), magnitude=(magnitude, "[1, inf)"))
    return 1.0 if length is None else magnitude ** (1 / length)


@torch.no_grad()
def initialise_recurrent_(
    u: Tensor, length: int | None, magnitude: float = 2.0, *, near_one: bool = False, keep: float = 0.9
) -> Tensor:
    """Fill u in place from U(0, bound) or, if ``near_one``, from U(keep^(1/length), bound).

    U(0, bound) spreads the neurons over memories of all lengths, and is the rule of the authors' code. Where only
    the last output counts, the last layer needs long memories only, so its u should lie near 1 (S. Li in
    batzner/indrnn, issue 9). There each neuron keeps at least the fraction ``keep`` of a state over ``length`` steps;
    the authors' code takes 1/magnitude. Without a length the interval shrinks to u = 1.
    """
    bound = recurrent_bound(length, magnitude)
    expect_each(keep=(keep, "(0, 1]"))
    shortest = 1.0 if length is None else keep ** (1 / length)
    return u.uniform_(shortest if near_one else 0.0, bound)


def he_linear(inputs: int, outputs: int, scale: float = 1.0) -> nn.Linear:
    """A linear map with weights from ``scale`` times the uniform distribution of He et al. (2015), and biases 0."""
    linear = nn.Linear(inputs, outputs)
    bound = scale * math.sqrt(6 / inputs)
    nn.init.uniform_(linear.weight, -bound, bound)
    nn.init.zeros_(linear.bias)
    return linear
