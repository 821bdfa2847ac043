"""Deep transition equals an explicit loop of the paper's equations; what the contract asks is in test_contract.py."""

import pytest
import torch
from reference.plain_loops import blocks, sigmoid
from support.compare import draw, furthest, random_parameters
from support.helpers import drawn

from rtx_lib.diagnostics.gradients import record_states
from rtx_lib.models.deep_transition import DeepTransitionGRU

pytestmark = pytest.mark.usefixtures("double")


def make(transitions=2, **options):
    return random_parameters(drawn(1, DeepTransitionGRU, 3, 5, transitions, **options))


def gate(a, b, gain):
    """sigmoid(a + b), or with a gain of the normalised a."""
    if gain is None:
        return sigmoid(a + b)
    a = a - a.mean(1, keepdim=True)
    return sigmoid(gain * a / (a.square().mean(1, keepdim=True) + 1e-6).sqrt() + b)


def lgru(weight_ih, weight_hh, bias_hh, x, h, gain=None):
    """The paper's L-GRU, one matrix at a time."""
    w_xr, w_xz, w_xl, w_xh, w_x = blocks(weight_ih, 5)
    w_hr, w_hz, w_hl, w_hh = blocks(weight_hh, 4)
    b_r, b_z, b_l, b_h = blocks(bias_hh, 4)
    g_r, g_z, g_l = [None] * 3 if gain is None else blocks(gain, 3)
    r = gate(x @ w_xr.T + h @ w_hr.T, b_r, g_r)
    z = gate(x @ w_xz.T + h @ w_hz.T, b_z, g_z)
    linear = gate(x @ w_xl.T + h @ w_hl.T, b_l, g_l)
    candidate = torch.tanh(x @ w_xh.T + r * (h @ w_hh.T + b_h)) + linear * (x @ w_x.T)
    return (1 - z) * h + z * candidate


def tgru(weight_hh, bias_hh, h, gain=None):
    """The paper's T-GRU."""
    w_hr, w_hz, w_hh = blocks(weight_hh, 3)
    b_r, b_z, b_h = blocks(bias_hh, 3)
    g_r, g_z = [None] * 2 if gain is None else blocks(gain, 2)
    r, z = gate(h @ w_hr.T, b_r, g_r), gate(h @ w_hz.T, b_z, g_z)
    return (1 - z) * h + z * torch.tanh(r * (h @ w_hh.T + b_h))


def loop(p, transitions, x, state):
    """The whole network, step by step and transition by transition."""
    h, outputs = state[0], []
    for t in range(x.shape[1]):
        h = lgru(p["lgru.weight_ih"], p["lgru.weight_hh"], p["lgru.bias_hh"], x[:, t], h, p.get("lgru.gain"))
        for k in range(transitions):
            at = f"transitions.{k}"
            h = tgru(p[f"{at}.weight_hh"], p[f"{at}.bias_hh"], h, p.get(f"{at}.gain"))
        outputs.append(h)
    return torch.stack(outputs, dim=1), h[None]


@pytest.mark.parametrize("layer_norm", [False, True])
@pytest.mark.parametrize("transitions", [0, 1, 4])
def test_equals_the_loop(transitions, layer_norm):
    model = make(transitions, layer_norm=layer_norm)
    p = dict(model.named_parameters())
    assert len(p) == 3 + 2 * transitions + layer_norm * (1 + transitions)
    x, state = draw(4, 7, 3).requires_grad_(), draw(1, 4, 5, seed=1).requires_grad_()
    assert furthest(model(x, state), loop(p, transitions, x, state), [x, state, *p.values()]) < 1e-12


def test_the_tap_sees_the_state_after_the_last_transition():
    model, x = make(), draw(4, 7, 3)
    with record_states(model) as states:
        y, _ = model(x)
    assert len(states) == 1 and torch.equal(torch.stack(states[0], dim=1), y)


def test_the_first_weights():
    assert all(0.08 < parameter.abs().max() <= 0.1 for parameter in DeepTransitionGRU(3, 100, 1).parameters())
