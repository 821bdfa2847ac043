"""The matrix of a step, against steps whose matrix is known."""

from dataclasses import dataclass

import pytest
import torch
from support.helpers import refusals
from torch import nn

from rtx_lib.diagnostics.transition import eigenvalues, transition
from rtx_lib.layers import LSTM
from rtx_lib.models.indrnn import IndRNNLayer
from rtx_lib.shapes import map_tensors

pytestmark = pytest.mark.usefixtures("double")


def x(D=3):
    return torch.randn(1, 1, D, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


class Linear(nn.Module):
    """S_t = A S_{t-1} + x, with a counter that is carried over beside it."""

    def __init__(self, A):
        super().__init__()
        self.A = A

    def forward(self, x, state=None):
        B, _, D = x.shape
        S, seen = (torch.zeros(B, D, 1), torch.zeros(B, 1)) if state is None else (state["S"], state["seen"])
        return x, {"S": self.A @ S + x.mT, "seen": 0 * seen + x[:, 0, :1]}


def test_a_linear_step_gives_its_matrix_whatever_the_state():
    A = torch.randn(3, 3)
    for scale in (0.0, 5.0, 500.0):
        state = {"S": scale * torch.randn(1, 3, 1), "seen": torch.ones(1, 1)}
        found = transition(Linear(A), x(), state)
        expected = torch.block_diag(A, torch.zeros(1, 1))
        torch.testing.assert_close(found, expected, atol=1e-9, rtol=0)


@dataclass(frozen=True)
class Kept:
    h: torch.Tensor
    name: str = "h"


@pytest.mark.parametrize("keep", [Kept, lambda h: [None, {"h": Kept(h)}]])
def test_a_state_of_any_form(keep):
    class Step(nn.Module):
        def forward(self, x, state=None):
            found = []
            map_tensors(state, lambda h: found.append(h) or h)
            h = torch.tanh(2 * found[0] + x[:, -1]) if found else x[:, -1]
            return x, keep(h)

    torch.testing.assert_close(transition(Step(), x(), keep(-x()[0] / 2)), 2 * torch.eye(3), atol=1e-9, rtol=0)


def test_an_lstm_has_two_parts():
    torch.manual_seed(0)
    lstm = LSTM(3, 4)
    state = lstm(x())[1]
    right = torch.autograd.functional.jacobian(
        lambda h, c: torch.cat([part.flatten() for part in lstm(x(), (h, c))[1]]), tuple(state)
    )
    expected = torch.cat([part.flatten(1) for part in right], dim=1)
    torch.testing.assert_close(transition(lstm, x(), state), expected, atol=1e-10, rtol=0)


def test_separate_units_have_their_weights_as_eigenvalues():
    layer = IndRNNLayer(3, 4)
    with torch.no_grad():
        layer.u.copy_(torch.tensor([-0.9, -0.2, 0.5, 1.0]))
        layer.linear.bias.fill_(9.0)  # all are held up
    found = eigenvalues(layer, x(), torch.ones(1, 4))
    torch.testing.assert_close(found.real, layer.u.detach(), atol=1e-9, rtol=0)
    assert found.dtype == torch.complex128 and not found.imag.any()


def test_a_rotation_has_a_pair():
    turn = torch.tensor([[0.0, -1.0], [1.0, 0.0]])
    found = eigenvalues(Linear(turn), x(2), {"S": torch.zeros(1, 2, 1), "seen": torch.zeros(1, 1)})
    assert sorted(found.imag.round(decimals=6).tolist()) == [-1.0, 0.0, 1.0]


ONES = torch.ones(2, 4, dtype=torch.float64)
test_bad_input = refusals(
    [
        (lambda layer: transition(layer, x().repeat(1, 2, 1), ONES[:1]), r"x must have shape \(1, 1, D\), got .*2, 3"),
        (lambda layer: transition(layer, x(), ONES[:1].long()), "state must hold tensors of real floats"),
        (lambda layer: transition(layer, x(), ONES), ".*must have shape"),
    ],
    lambda: IndRNNLayer(3, 4),
)
