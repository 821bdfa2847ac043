"""A GRU that thinks several times about one input: deep transition (Meng and Zhang 2019).

F. Meng and J. Zhang, *DTMT: A Novel Deep Transition Architecture for Neural Machine Translation*, AAAI 2019
(arXiv 1812.07807). At every step an L-GRU reads x_t, and a chain of T-GRUs, which read nothing but the state,
refines what it wrote. The depth lies between two steps of time, where stacked layers have none.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_lib.layers.stacking import draw_uniform
from rtx_lib.shapes import expect, expect_each, expect_state, expect_step

EPS = 1e-6  # of the layer normalisation


class LGRU(nn.Module):
    """One step of the linear transformation enhanced GRU, from the input x and the state h to the state h'::

        r = sigmoid(W_xr x + W_hr h + b_r)              reset gate
        z = sigmoid(W_xz x + W_hz h + b_z)              update gate
        l = sigmoid(W_xl x + W_hl h + b_l)              linear gate
        n = tanh(W_xh x + r * (W_hh h + b_h)) + l * H(x),    H(x) = W_x x
        h' = (1 - z) * h + z * n

    l * H(x) stands outside the tanh: a linear path from every input to every later state. Lecture notes on the
    paper also write the candidate out with this term inside the tanh and a further matrix times h; the
    authors' code (``rnn_cell.py`` of github.com/fandongmeng/DTMT_InDec) has the form above. It has the bias
    b_h inside the reset too, and it normalises the sums of the gates (layer normalisation, Ba et al. 2016)::

        r = sigmoid(g_r * norm(W_xr x + W_hr h) + b_r),    norm(a) = (a - mean a) / sqrt(var a + 1e-6)

    and so for z and l. Here that is a choice.

    ``weight_ih`` (5H, D_in) holds the blocks r, z, l, n and H; ``weight_hh`` (4H, H) and ``bias_hh`` (4H,) the
    blocks r, z, l and n. All are drawn from U(-1/sqrt(H), 1/sqrt(H)). ``gain`` (3H,), of r, z and l, starts at 1.

    Parameters
    ----------
    input_size, hidden_size
        D_in and H, each at least 1.
    layer_norm
        Whether the gates' sums are normalised; without it there is no gain.
    """

    def __init__(self, input_size: int, hidden_size: int, *, layer_norm: bool = False) -> None:
        super().__init__()
        self.input_size, self.hidden_size = input_size, hidden_size
        self.weight_ih = nn.Parameter(torch.empty(5 * hidden_size, input_size))
        self.weight_hh = nn.Parameter(torch.empty(4 * hidden_size, hidden_size))
        self.bias_hh = nn.Parameter(torch.empty(4 * hidden_size))
        draw_uniform(self, hidden_size)
        self.gain = nn.Parameter(torch.ones(3 * hidden_size)) if layer_norm else None

    def project(self, x: Tensor) -> Tensor:
        """What the inputs (..., D_in) contribute, (..., 5H). It needs no state: all steps can be done at once."""
        return F.linear(x, self.weight_ih)

    def step(self, a: Tensor, h: Tensor) -> Tensor:
        """The next state (B, H) from the projected input a (B, 5H) and the state h (B, H)."""
        size = self.hidden_size
        a_gates, a_n, linear = a.split([3 * size, size, size], dim=-1)
        gates, u_n = _sums(self, h, a_gates)
        r, z, l = torch.sigmoid(gates).chunk(3, dim=-1)  # noqa: E741 (the paper's letter)
        n = torch.tanh(a_n + r * u_n) + l * linear
        return torch.lerp(h, n, z)  # (1 - z) * h + z * n

    def forward(self, x: Tensor, h: Tensor | None = None) -> Tensor:
        """The next state (B, H) from the input x (B, D_in) and the state h (B, H), zeros if None."""
        expect(x, ("B", self.input_size))
        return self.step(self.project(x), expect_state(h, (x.shape[0], self.hidden_size), x, "h"))


class TGRU(nn.Module):
    """One step of the transition GRU, which reads nothing but the state h::

        r = sigmoid(W_hr h + b_r)
        z = sigmoid(W_hz h + b_z)
        n = tanh(r * (W_hh h + b_h))
        h' = (1 - z) * h + z * n

    ``weight_hh`` (3H, H) and ``bias_hh`` (3H,) hold the blocks r, z and n, drawn from
    U(-1/sqrt(H), 1/sqrt(H)). Biases and ``gain`` (2H,) are as in :class:`LGRU`.

    Parameters
    ----------
    hidden_size
        H, at least 1.
    layer_norm
        Whether the gates' sums are normalised.
    """

    def __init__(self, hidden_size: int, *, layer_norm: bool = False) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.weight_hh = nn.Parameter(torch.empty(3 * hidden_size, hidden_size))
        self.bias_hh = nn.Parameter(torch.empty(3 * hidden_size))
        draw_uniform(self, hidden_size)
        self.gain = nn.Parameter(torch.ones(2 * hidden_size)) if layer_norm else None

    def forward(self, h: Tensor) -> Tensor:
        """The refined state (B, H) from the state h (B, H)."""
        expect(h, ("B", self.hidden_size), "h")
        gates, u_n = _sums(self, h)
        r, z = torch.sigmoid(gates).chunk(2, dim=-1)
        return torch.lerp(h, torch.tanh(r * u_n), z)  # (1 - z) * h + z * n


def _sums(cell: LGRU | TGRU, h: Tensor, a_gates: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """What the sigmoids of a cell's gates get, (B, 2H) or (B, 3H), and W_hh h + b_h (B, H).

    ``a_gates`` is what the input contributes to the gates.
    """
    size, gain = cell.hidden_size, cell.gain
    split = [len(cell.bias_hh) - size, size]
    if gain is None:
        u_gates, u_n = torch.addmm(cell.bias_hh, h, cell.weight_hh.T).split(split, dim=-1)
        return u_gates if a_gates is None else a_gates + u_gates, u_n
    (u_gates, u_n), (b_gates, b_n) = F.linear(h, cell.weight_hh).split(split, dim=-1), cell.bias_hh.split(split)
    sums = u_gates if a_gates is None else a_gates + u_gates
    normed = F.layer_norm(sums.unflatten(-1, (-1, size)), (size,), eps=EPS).flatten(-2)  # each gate by itself
    return (gain * normed + b_gates).to(h.dtype), (u_n + b_n).to(h.dtype)  # under autocast, a norm has more precision


class DeepTransitionGRU(nn.Module):
    """At every step one :class:`LGRU` and then a chain of :class:`TGRU`, each with its own weights::

        h_{t,0} = L-GRU(x_t, h_{t-1,L})
        h_{t,k} = T-GRU_k(h_{t,k-1}),    k = 1..L

    The encoder transition of Meng and Zhang (2019), one direction. The output at t is h_{t,L}.

    Parameters
    ----------
    input_size, hidden_size
        D_in and H, each at least 1.
    transitions
        L, the number of T-GRUs; with 0 the L-GRU is alone.
    layer_norm
        Whether the gates' sums are normalised, as in the authors' code.
    """

    def __init__(self, input_size: int, hidden_size: int, transitions: int, *, layer_norm: bool = False) -> None:
        super().__init__()
        expect_each(transitions=(transitions, 0))
        self.input_size = input_size
        self.hidden_size = self.output_size = hidden_size
        self.lgru = LGRU(input_size, hidden_size, layer_norm=layer_norm)
        self.transitions = nn.ModuleList(TGRU(hidden_size, layer_norm=layer_norm) for _ in range(transitions))
        # Parameter-free: the tuple of the T states h_{t,L} goes through here once, for hooks.
        self.tap = nn.Identity()

    def forward(self, x: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Run the whole sequence.

        Parameters
        ----------
        x
            (B, T, D_in), T at least 1.
        state
            (1, B, H), the state before the first step; zeros if None.

        Returns
        -------
        y
            (B, T, H), the state after the last transition of each step.
        state
            (1, B, H), the last of them.
        """
        h = expect_step(x, self.input_size, state, lambda batch: (1, batch, self.hidden_size), self.lgru.weight_ih)[0]
        a = self.lgru.project(x)  # (B, T, 5H): all inputs at once, they wait for nobody
        states = []
        for a_t in a.unbind(1):
            h = self.step(a_t, h)
            states.append(h)
        states = self.tap(tuple(states))
        return torch.stack(states, dim=1), states[-1].unsqueeze(0)

    def step(self, a: Tensor, h: Tensor) -> Tensor:
        """The state (B, H) after all transitions, from ``lgru.project(x)`` (B, 5H) and the state before (B, H)."""
        h = self.lgru.step(a, h.to(a.dtype))  # under autocast, a has less precision
        for transition in self.transitions:
            h = transition(h)
        return h
