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
    b_h inside the reset too; where it normalises the gates' sums (layer normalisation), we add a bias.

    ``weight_ih`` (5H, D_in) holds the blocks r, z, l, n and H; ``weight_hh`` (4H, H) and ``bias_hh`` (4H,) the
    blocks r, z, l and n. All are drawn from U(-1/sqrt(H), 1/sqrt(H)).

    Parameters
    ----------
    input_size, hidden_size
        D_in and H, each at least 1.
    """

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.input_size, self.hidden_size = input_size, hidden_size
        self.weight_ih = nn.Parameter(torch.empty(5 * hidden_size, input_size))
        self.weight_hh = nn.Parameter(torch.empty(4 * hidden_size, hidden_size))
        self.bias_hh = nn.Parameter(torch.empty(4 * hidden_size))
        draw_uniform(self, hidden_size)

    def project(self, x: Tensor) -> Tensor:
        """What the inputs (..., D_in) contribute, (..., 5H). It needs no state: all steps can be done at once."""
        return F.linear(x, self.weight_ih)

    def step(self, a: Tensor, h: Tensor) -> Tensor:
        """The next state (B, H) from the projected input a (B, 5H) and the state h (B, H)."""
        size = self.hidden_size
        a_gates, a_n, linear = a.split([3 * size, size, size], dim=-1)
        u_gates, u_n = torch.addmm(self.bias_hh, h, self.weight_hh.T).split([3 * size, size], dim=-1)
        r, z, l = torch.sigmoid(a_gates + u_gates).chunk(3, dim=-1)  # noqa: E741 (the paper's letter)
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
    U(-1/sqrt(H), 1/sqrt(H)). The biases are as in :class:`LGRU`.

    Parameters
    ----------
    hidden_size
        H, at least 1.
    """

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.weight_hh = nn.Parameter(torch.empty(3 * hidden_size, hidden_size))
        self.bias_hh = nn.Parameter(torch.empty(3 * hidden_size))
        draw_uniform(self, hidden_size)

    def forward(self, h: Tensor) -> Tensor:
        """The refined state (B, H) from the state h (B, H)."""
        size = self.hidden_size
        expect(h, ("B", size), "h")
        u_gates, u_n = torch.addmm(self.bias_hh, h, self.weight_hh.T).split([2 * size, size], dim=-1)
        r, z = torch.sigmoid(u_gates).chunk(2, dim=-1)
        return torch.lerp(h, torch.tanh(r * u_n), z)  # (1 - z) * h + z * n


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
    """

    def __init__(self, input_size: int, hidden_size: int, transitions: int) -> None:
        super().__init__()
        expect_each(transitions=(transitions, 0))
        self.input_size = input_size
        self.hidden_size = self.output_size = hidden_size
        self.lgru = LGRU(input_size, hidden_size)
        self.transitions = nn.ModuleList(TGRU(hidden_size) for _ in range(transitions))
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
        h = h.to(a.dtype)  # under autocast, a has less precision
        states = []
        for a_t in a.unbind(1):
            h = self.lgru.step(a_t, h)
            for transition in self.transitions:
                h = transition(h)
            states.append(h)
        states = self.tap(tuple(states))
        return torch.stack(states, dim=1), states[-1].unsqueeze(0)
