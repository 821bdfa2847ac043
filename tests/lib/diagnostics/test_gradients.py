"""Gradients through time by three routes, and the spectra."""

import pytest
import torch
from support.helpers import relative_error
from torch import nn

from rtx_lib.diagnostics import gradients
from rtx_lib.layers import GRU, LSTM, RNN, Readout

pytestmark = pytest.mark.usefixtures("double")


@pytest.fixture
def recorded():
    """A small model, its input, its loss on the last step, and its states."""
    torch.manual_seed(0)
    model = Readout(RNN(3, 6), 2)
    with torch.no_grad():
        model.core.weight_hh_l0.mul_(2)
    x = torch.randn(4, 9, 3)
    with gradients.record_states(model) as states:
        y, _ = model(x)
    return model, x, y[:, -1].square().mean(), states[0]


def test_state_gradients_are_total_derivatives(recorded):
    """Against finite differences: nudge h_t, run the rest of the loop."""
    model, x, loss, states = recorded
    rnn = model.core
    t, nudge = 4, 1e-6 * torch.randn(4, 6)
    tails = [rnn(x[:, t + 1 :], (states[t].detach() + sign * nudge).unsqueeze(0))[0] for sign in (1, -1)]
    change = [model.linear(tail[:, -1]).square().mean() for tail in tails]
    predicted = (gradients.state_gradients(loss, states)[t] * nudge).sum()
    assert ((change[0] - change[1]) / 2 / predicted).item() == pytest.approx(1, abs=1e-5)


def test_jacobian_products_carry_the_gradient(recorded):
    model, _, loss, states = recorded
    jacobians = gradients.step_jacobians(states, model.core.weight_hh_l0)
    products = gradients.jacobian_products(jacobians)
    total = gradients.state_gradients(loss, states)
    carried = torch.einsum("tbij,bi->tbj", products, total[-1])
    assert relative_error(carried, total) < 1e-12
    norms = torch.linalg.matrix_norm(products, ord=2)
    bounds = gradients.jacobian_bounds(jacobians)
    assert bounds.shape == norms.shape and (norms <= bounds * (1 + 1e-12)).all()
    assert relative_error(gradients.gradient_norms(loss, states), total.norm(dim=-1).sum(-1)) < 1e-12


def test_a_state_that_does_not_count_has_gradient_zero():
    model = Readout(RNN(3, 6), 2)
    with gradients.record_states(model) as states:
        y, _ = model(torch.randn(4, 9, 3))
    model(torch.randn(4, 9, 3))
    assert len(states) == 1  # the hooks went away
    total = gradients.state_gradients(y[:, 4].sum(), states[0])
    assert (total[:5].norm(dim=-1) > 0).all() and not total[5:].any()


def test_taps_of_other_names():
    """One name at a time, in every core of the model, and only that."""
    model = nn.ModuleList([Readout(LSTM(3, 6, bidirectional=True), 2), Readout(GRU(3, 6), 2), Readout(RNN(3, 6), 2)])
    x = torch.randn(4, 9, 3)
    widths = {"tap": [6, 6, 6, 6], "cell_tap": [6, 6], "gate_tap": [24, 24, 18]}
    for name, expected in widths.items():
        with gradients.record_states(model, name) as recorded:
            loss = sum(part(x)[0].square().sum() for part in model)
        assert [states[0].shape[1] for states in recorded] == expected
        assert all(len(states) == 9 for states in recorded)
        if name != "gate_tap":  # which is there to be read
            assert all((gradients.gradient_norms(loss, states) > 0).all() for states in recorded)
    with pytest.raises(ValueError, match="model must have a submodule named 'cell_tap', Readout has none"):
        gradients.record_states(model[1], "cell_tap").__enter__()


def test_spectrum_of_a_rotation_and_singular_values_of_a_shear():
    rotation = 0.9 * torch.tensor([[0.0, -1.0], [1.0, 0.0]])
    assert gradients.spectrum(rotation).abs() == pytest.approx([0.9, 0.9])
    assert gradients.spectrum(torch.diag(torch.tensor([0.1, -3.0, 2.0]))).real.tolist() == [-3.0, 2.0, 0.1]
    shear = torch.tensor([[0.5, 3.0], [0.0, 0.5]])
    assert gradients.spectrum(shear).abs() == pytest.approx([0.5, 0.5])
    assert gradients.singular_values(shear)[0] > 3
