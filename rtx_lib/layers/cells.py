"""Recurrent layers in the papers' equations, with torch.nn's parameters, and a readout for any recurrent core.

Parameters, their names, order and first draw are those of ``torch.nn.RNNBase``, so that weights move both ways between
these layers and their ``torch.nn`` namesakes with ``load_state_dict``.

All of them read floats (B, T, D_in), or ids (B, T) below D_in: an id stands for its one-hot vector, but what it picks
is a column of the input's matrix, and no such vector is made. ``LSTM(65, 128)`` reads a text of 65 characters.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from rtx_lib.shapes import expect_each, expect_ids, expect_state

from .stacking import BACKENDS, States, first_state, inputs, kernel_runs, run_fused, run_stack, watched

NONLINEARITIES: dict[str, Callable[[Tensor], Tensor]] = {"tanh": torch.tanh, "relu": torch.relu}
INITIALISATIONS = ("uniform", "identity", "orthogonal")


class RNN(nn.RNNBase):
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
    ) -> None:
        expect_each(input_std=(input_std, "(0, inf]"))
        expect_each(nonlinearity=(nonlinearity, sorted(NONLINEARITIES)), init=(init, INITIALISATIONS))
        # `RNNBase.__init__` calls `reset_parameters`, which reads these.
        self.nonlinearity, self.init, self.input_std = nonlinearity, init, input_std
        sizes, options = (input_size, hidden_size, num_layers), {"batch_first": True, "bidirectional": bidirectional}
        super().__init__(f"RNN_{nonlinearity.upper()}", *sizes, **options)
        self.output_size = hidden_size * (1 + bidirectional)
        # Parameter-free: each layer and direction hands the tuple of its T states through here once, so
        # that a forward hook can see every h_t and differentiate with respect to it.
        self.tap = nn.Identity()

    def forward(self, x: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Run the whole sequence.

        Parameters
        ----------
        x
            (B, T, D_in), or ids (B, T), T at least 1.
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
        y, (last,) = run_stack(self, x, (first_state(self, x, state),), self._run)
        return y, last

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draw the weights by the rule named ``init``."""
        bound = 1 / math.sqrt(self.hidden_size)
        for name, parameter in self.named_parameters():
            if self.init == "orthogonal" and name.startswith("weight_hh"):
                nn.init.orthogonal_(parameter)
            elif self.init != "identity":
                parameter.uniform_(-bound, bound)
            elif name.startswith("weight_ih"):
                parameter.normal_(0, self.input_std)
            elif name.startswith("weight_hh"):
                nn.init.eye_(parameter)
            else:
                parameter.zero_()

    def _run(self, x: Tensor, state: States, weights: list[nn.Parameter]) -> tuple[States, States]:
        """The states h_1..h_T, each (B, H), of one layer and direction, in the order in which they are made."""
        f, (h,) = NONLINEARITIES[self.nonlinearity], state
        weight_ih, weight_hh, bias_ih, bias_hh = weights
        z = inputs(x, weight_ih, bias_ih + bias_hh)  # (B, T, H): all inputs at once, they wait for nobody
        states = []
        for z_t in z.unbind(1):  # one backward node; z[:, t] would make T of them, each as large as z
            h = f(torch.addmm(z_t, h, weight_hh.T))
            states.append(h)
        tapped: States = self.tap(tuple(states))
        return tapped, (tapped[-1],)


class LSTM(nn.RNNBase):
    """Long short-term memory with a forget gate, stacked and bidirectional if asked.

    Every layer and direction computes, for t = 1..T::

        i_t = sigmoid(W_ii x_t + b_ii + W_hi h_{t-1} + b_hi)        input gate
        f_t = sigmoid(W_if x_t + b_if + W_hf h_{t-1} + b_hf)        forget gate
        g_t = tanh(W_ig x_t + b_ig + W_hg h_{t-1} + b_hg)           candidate
        o_t = sigmoid(W_io x_t + b_io + W_ho h_{t-1} + b_ho)        output gate
        c_t = f_t * c_{t-1} + i_t * g_t                             cell state
        h_t = o_t * tanh(c_t)

    The cell is that of Hochreiter and Schmidhuber (1997) with the forget gate of Gers, Schmidhuber and
    Cummins (2000), without peepholes and with tanh for both squashing functions. The weights hold the blocks
    i, f, g, o in this order, as torch.nn's do.

    Parameters
    ----------
    input_size, hidden_size, num_layers
        D_in, H and the number of stacked layers; each at least 1.
    bidirectional
        Adds a second set of weights (suffix ``_reverse``) that reads the sequence from its end.
    forget_bias
        The sum of the forget gate's two biases at the start, b_if = forget_bias and b_hf = 0. If None, they are
        drawn as all other weights: U(-1/sqrt(H), 1/sqrt(H)), torch.nn's rule.
    backend
        ``"loop"``: the equations step by step. ``"torch"``: the same weights in torch's fused kernel, which is faster
        and gives the same numbers, to 1e-6 in float32; while a forward hook sits on one of the taps, the loop runs
        instead. On a GPU the kernel is cuDNN's, which has no second derivatives. ``"auto"`` is ``"torch"``.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        *,
        bidirectional: bool = False,
        forget_bias: float | None = None,
        backend: str = "loop",
    ) -> None:
        expect_each(backend=(backend, BACKENDS), forget_bias=(forget_bias, "None or (-inf, inf)"))
        self.forget_bias, self.backend = forget_bias, backend  # the first is read by `reset_parameters`, called here
        super().__init__("LSTM", input_size, hidden_size, num_layers, batch_first=True, bidirectional=bidirectional)
        self.output_size = hidden_size * (1 + bidirectional)
        # Parameter-free: through these go the T states h_t, the T cell states c_t, and the T gate values
        # [i; f; g; o], to be read only, of each layer and direction, for hooks.
        self.tap, self.cell_tap, self.gate_tap = nn.Identity(), nn.Identity(), nn.Identity()

    def reset_parameters(self) -> None:
        """Draw the weights by torch.nn's rule, and set the forget gate's biases if ``forget_bias`` is given."""
        super().reset_parameters()
        for name, parameter in self.named_parameters():
            if self.forget_bias is not None and name.startswith("bias"):
                parameter.data.chunk(4)[1].fill_(self.forget_bias if name.startswith("bias_ih") else 0)

    def forward(self, x: Tensor, state: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Run the whole sequence.

        Parameters
        ----------
        x
            (B, T, D_in), or ids (B, T), T at least 1.
        state
            The pair (h_0, c_0), each (num_layers * directions, B, H); zeros if None.

        Returns
        -------
        y
            (B, T, H * directions), the states h_t of the last layer.
        state
            The pair (h_T, c_T) in which each layer and direction ended.
        """
        zeros = first_state(self, x, None)  # which also checks x
        h, c = expect_state(state, dict.fromkeys("hc", tuple(zeros.shape)), zeros)
        if self.backend != "loop" and kernel_runs(x, self.tap, self.cell_tap, self.gate_tap):
            y, *last = run_fused(torch.lstm, self, x, (h, c))
            return y, tuple(last)
        y, (h, c) = run_stack(self, x, (h, c), self._run)
        return y, (h, c)

    def _run(self, x: Tensor, state: States, weights: list[nn.Parameter]) -> tuple[States, States]:
        """The states h_1..h_T of one layer and direction, in the order in which they are made, and (h_T, c_T)."""
        h, c = state
        weight_ih, weight_hh, bias_ih, bias_hh = weights
        z = inputs(x, weight_ih, bias_ih + bias_hh)  # (B, T, 4H)
        recurrent, watch_gates = weight_hh.T, watched(self.gate_tap)
        states, cells, gates = [], [], []
        for z_t in z.unbind(1):
            i, f, g, o = torch.addmm(z_t, h, recurrent).chunk(4, dim=1)
            i, f, g, o = torch.sigmoid(i), torch.sigmoid(f), torch.tanh(g), torch.sigmoid(o)
            c = f * c + i * g
            h = o * torch.tanh(c)
            states.append(h)
            cells.append(c)
            if watch_gates:
                gates.append(torch.cat([i, f, g, o], dim=1))
        if watch_gates:
            self.gate_tap(tuple(gates))
        tapped_cells: States = self.cell_tap(tuple(cells))
        tapped: States = self.tap(tuple(states))
        return tapped, (tapped[-1], tapped_cells[-1])


class GRU(nn.RNNBase):
    """Gated recurrent unit in its published forms, stacked and bidirectional if asked.

    Every layer and direction computes, for t = 1..T, two gates::

        r_t = sigmoid(W_ir x_t + b_ir + W_hr h_{t-1} + b_hr)        reset gate
        z_t = sigmoid(W_iz x_t + b_iz + W_hz h_{t-1} + b_hz)        update gate

    then a candidate, by ``reset``, and the state, by ``update``::

        "after"     n_t = tanh(W_in x_t + b_in + r_t * (W_hn h_{t-1} + b_hn))
        "before"    n_t = tanh(W_in x_t + b_in + W_hn (r_t * h_{t-1}) + b_hn)
        "keeps"     h_t = (1 - z_t) * n_t + z_t * h_{t-1}
        "replaces"  h_t = (1 - z_t) * h_{t-1} + z_t * n_t

    Cho et al. (2014), eq. 5-8, have "before" and "keeps" without biases; Chung et al. (2014) "before" and
    "replaces"; torch.nn.GRU "after" and "keeps". The weights hold the blocks r, z, n in this order.
    The two meanings of z describe the same functions (:func:`convert_update_gate`). The two places of the
    reset do not: "after" scales each component of W_hn h by its own r, "before" mixes all components of r.

    Parameters
    ----------
    input_size, hidden_size, num_layers
        D_in, H and the number of stacked layers; each at least 1.
    bidirectional
        Adds a second set of weights (suffix ``_reverse``) that reads the sequence from its end.
    reset
        ``"after"`` or ``"before"`` the matrix W_hn.
    update
        What z near 1 does to the old state: ``"keeps"`` or ``"replaces"`` it.
    backend
        As for :class:`LSTM`. torch has no kernel for ``reset="before"``, where ``"auto"`` is the loop.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        *,
        bidirectional: bool = False,
        reset: str = "after",
        update: str = "keeps",
        backend: str = "loop",
    ) -> None:
        expect_each(reset=(reset, ("after", "before")), update=(update, ("keeps", "replaces")))
        # Torch has no kernel for a reset before the map.
        expect_each(backend=(backend, BACKENDS if reset == "after" else ["loop", "auto"]))
        super().__init__("GRU", input_size, hidden_size, num_layers, batch_first=True, bidirectional=bidirectional)
        self.reset, self.update, self.backend = reset, update, backend
        self.output_size = hidden_size * (1 + bidirectional)
        # Parameter-free: through these go the T states h_t and the T gate values [r; z; n], to be read only, of
        # each layer and direction, for hooks.
        self.tap, self.gate_tap = nn.Identity(), nn.Identity()

    def forward(self, x: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Run the whole sequence; shapes and states are those of :meth:`RNN.forward`."""
        h = first_state(self, x, state)
        fused = self.backend != "loop" and self.reset == "after"
        if fused and kernel_runs(x, self.tap, self.gate_tap):
            return run_fused(torch.gru, self, x, h, _negate_update_gate if self.update == "replaces" else None)
        y, (last,) = run_stack(self, x, (h,), self._run)
        return y, last

    def _run(self, x: Tensor, state: States, weights: list[nn.Parameter]) -> tuple[States, States]:
        """The states h_1..h_T, each (B, H), of one layer and direction, in the order in which they are made."""
        weight_ih, weight_hh, bias_ih, bias_hh = weights
        after, watch_gates = self.reset == "after", watched(self.gate_tap)
        # All inputs at once; with the reset after the matrix, b_hn stands inside it and has to wait.
        a = inputs(x, weight_ih, bias_ih if after else bias_ih + bias_hh)  # (B, T, 3H)
        sizes, recurrent = [2 * self.hidden_size, self.hidden_size], weight_hh.T
        recurrent_rz, recurrent_n = recurrent.split(sizes, dim=1)
        (h,) = state
        states, gates = [], []
        for a_rz, a_n in zip(*(half.unbind(1) for half in a.split(sizes, dim=-1)), strict=True):
            if after:
                r, z, n = gru_gates(a_rz, a_n, torch.addmm(bias_hh, h, recurrent))
            else:
                r, z = torch.sigmoid(torch.addmm(a_rz, h, recurrent_rz)).chunk(2, dim=1)
                n = torch.tanh(torch.addmm(a_n, r * h, recurrent_n))
            h = h.to(n.dtype)  # under autocast, n has less precision
            h = torch.lerp(n, h, z) if self.update == "keeps" else torch.lerp(h, n, z)
            states.append(h)
            if watch_gates:
                gates.append(torch.cat([r, z, n], dim=1))
        if watch_gates:
            self.gate_tap(tuple(gates))
        tapped: States = self.tap(tuple(states))
        return tapped, (tapped[-1],)


class Readout(nn.Module):
    """``y_t = V h_t + c`` on top of any recurrent core (*Deep Learning*, 2016, eq. 10.10).

    ``Readout(LSTM(task.vocabulary, 128), task)`` reads the ids of a task as they are, and ``Readout(LSTM(64, 128),
    task)`` through an embedding of width 64, as many words should be. Any other core has an embedding of its own width.

    Parameters
    ----------
    core
        A module ``(x (B, T, D_in), state) -> (h (B, T, D), state)`` with attributes ``input_size`` (D_in)
        and ``output_size`` (D). Its state, a tensor or a tuple of them, passes as it is.
    output_size
        Width of y, at least 1; or the task, which says it, and whether x holds ids.
    vocabulary
        If given, x holds ids below it, (B, T), and an embedding of width D_in comes first.
    """

    def __init__(self, core: nn.Module, output_size: Any, *, vocabulary: int | None = None) -> None:
        super().__init__()
        if hasattr(task := output_size, "output_size"):
            output_size, given, wanted = task.output_size, core.input_size, task.input_size
            if task.vocabulary is None and given != wanted:
                raise ValueError(f"core must read {wanted} numbers per step, as the task has, got {given}")
            if not (isinstance(core, RNN | LSTM | GRU) and given == task.vocabulary):
                vocabulary = vocabulary or task.vocabulary
            self.made_with = {"core": core, "output_size": output_size, "vocabulary": vocabulary}  # without the task
        self.output_size = output_size
        self.embedding = None if vocabulary is None else nn.Embedding(vocabulary, int(core.input_size))  # type: ignore[arg-type]
        self.core = core
        self.linear = nn.Linear(int(core.output_size), output_size)  # type: ignore[arg-type]

    def forward(self, x: Tensor, state: Any = None) -> tuple[Tensor, Any]:
        """Map x (B, T, D_in), or ids (B, T), to y (B, T, output_size) and the core's state."""
        if self.embedding is not None:
            x = self.embedding(expect_ids(x, self.embedding.num_embeddings))
        h, state = self.core(x, state)
        return self.linear(h), state


def gru_gates(a_rz: Tensor, a_n: Tensor, u: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """r, z and the candidate n of a GRU with its reset after the matrix, each (..., H).

    From a = W_i x + b_i, of the gates (..., 2H) and of the candidate (..., H), and u = W_h h + b_h (..., 3H).
    """
    u_rz, u_n = u.split([2 * a_n.shape[-1], a_n.shape[-1]], dim=-1)
    r, z = torch.sigmoid(a_rz + u_rz).chunk(2, dim=-1)
    return r, z, torch.tanh(a_n + r * u_n)


def convert_update_gate(state_dict: dict[str, Tensor]) -> dict[str, Tensor]:
    """The weights of the same function of a :class:`GRU` under the other meaning of its update gate.

    1 - sigmoid(a) = sigmoid(-a), so z's rows change their sign in all weights and biases, in every layer and
    direction. Twice is the identity.
    """
    return {name: _negate_update_gate(value) for name, value in state_dict.items()}


def _negate_update_gate(parameter: Tensor) -> Tensor:
    r, z, n = parameter.chunk(3)
    return torch.cat([r, -z, n])
