"""Deep transition equals an explicit loop of the paper's equations, and itself in pieces."""

import pytest
import torch
from support.helpers import relative_error

from rtx_lib.diagnostics.gradients import record_states, state_gradients
from rtx_lib.models.deep_transition import DeepTransitionGRU

pytestmark = pytest.mark.usefixtures("double")


def make(transitions=2, size=3, hidden=5):
    """A model with biases that are not small, so that none can go missing unseen."""
    model = DeepTransitionGRU(size, hidden, transitions, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2)
    return model


def sigmoid(a):
    return 1 / (1 + torch.exp(-a))


def blocks(parameter, size):
    return [parameter[k : k + size] for k in range(0, len(parameter), size)]


def lgru(weight_ih, weight_hh, bias_hh, x, h):
    """The paper's L-GRU, one matrix at a time."""
    size = h.shape[1]
    w_xr, w_xz, w_xl, w_xh, w_x = blocks(weight_ih, size)
    w_hr, w_hz, w_hl, w_hh = blocks(weight_hh, size)
    b_r, b_z, b_l, b_h = blocks(bias_hh, size)
    r = sigmoid(x @ w_xr.T + h @ w_hr.T + b_r)
    z = sigmoid(x @ w_xz.T + h @ w_hz.T + b_z)
    linear = sigmoid(x @ w_xl.T + h @ w_hl.T + b_l)
    candidate = torch.tanh(x @ w_xh.T + r * (h @ w_hh.T + b_h)) + linear * (x @ w_x.T)
    return (1 - z) * h + z * candidate


def tgru(weight_hh, bias_hh, h):
    """The paper's T-GRU."""
    w_hr, w_hz, w_hh = blocks(weight_hh, h.shape[1])
    b_r, b_z, b_h = blocks(bias_hh, h.shape[1])
    r, z = sigmoid(h @ w_hr.T + b_r), sigmoid(h @ w_hz.T + b_z)
    return (1 - z) * h + z * torch.tanh(r * (h @ w_hh.T + b_h))


def loop(parameters, transitions, x, state):
    """The whole network, step by step and transition by transition."""
    h, outputs = state[0], []
    for t in range(x.shape[1]):
        h = lgru(*(parameters[f"lgru.{name}"] for name in ("weight_ih", "weight_hh", "bias_hh")), x[:, t], h)
        for k in range(transitions):
            h = tgru(parameters[f"transitions.{k}.weight_hh"], parameters[f"transitions.{k}.bias_hh"], h)
        outputs.append(h)
    return torch.stack(outputs, dim=1), h[None]


@pytest.mark.parametrize("transitions", [0, 1, 4])
def test_equals_the_loop(transitions):
    """Outputs, last state and all gradients."""
    torch.manual_seed(0)
    model = make(transitions)
    parameters = dict(model.named_parameters())
    assert len(parameters) == 3 + 2 * transitions
    x, state = torch.randn(4, 7, 3, requires_grad=True), torch.randn(1, 4, 5, requires_grad=True)
    both = []
    for y, last in (model(x, state), loop(parameters, transitions, x, state)):
        loss = y.sin().sum() + 2 * last.cos().sum()
        both.append([y, last, *torch.autograd.grad(loss, [x, state, *parameters.values()])])
    assert max(relative_error(a, b) for a, b in zip(*both, strict=True)) < 1e-12


def test_gradients_equal_finite_differences():
    model = make(transitions=2, size=2, hidden=2)
    names = [name for name, _ in model.named_parameters()]
    x, state = torch.randn(2, 3, 2, requires_grad=True), torch.randn(1, 2, 2, requires_grad=True)

    def run(x, state, *values):
        return torch.func.functional_call(model, dict(zip(names, values, strict=True)), (x, state))

    assert torch.autograd.gradcheck(run, (x, state, *model.parameters()))


def test_the_cells_one_step_at_a_time():
    model, x, h = make(), torch.randn(4, 3), torch.randn(4, 5)
    by_hand = model.lgru(x, h)
    for transition in model.transitions:
        by_hand = transition(by_hand)
    assert relative_error(by_hand, model(x[:, None], h[None])[0][:, 0]) < 1e-12
    assert torch.equal(model.lgru(x), model.lgru(x, torch.zeros(4, 5)))


def test_without_transitions_it_is_the_lgru_alone():
    model, x = make(transitions=0), torch.randn(4, 2, 3)
    assert relative_error(model.lgru(x[:, 1], model.lgru(x[:, 0])), model(x)[1][0]) < 1e-12


def test_the_linear_path_leaves_the_range_of_tanh():
    """Inside the tanh, where lecture notes have it too, l * H(x) could not lift a state above 1."""
    model = make(transitions=0)
    assert model(100 * torch.randn(4, 1, 3))[0].abs().max() > 5
    with torch.no_grad():
        model.lgru.weight_ih[-5:] = 0
    assert model(100 * torch.randn(4, 1, 3))[0].abs().max() <= 1


def test_the_tap_sees_the_state_after_the_last_transition():
    model, x = make(), torch.randn(4, 7, 3)
    with record_states(model) as states:
        y, _ = model(x)
    assert len(states) == 1 and torch.equal(torch.stack(states[0], dim=1), y)
    nudge, t = 1e-6 * torch.randn(4, 5), 3
    ends = [model(x[:, t + 1 :], (y[:, t] + sign * nudge).detach()[None])[0][:, -1].sin().sum() for sign in (1, -1)]
    predicted = (state_gradients(y[:, -1].sin().sum(), states[0])[t] * nudge).sum()
    assert ((ends[0] - ends[1]) / 2 / predicted).item() == pytest.approx(1, abs=1e-5)


def test_the_first_weights():
    assert all(0.08 < parameter.abs().max() <= 0.1 for parameter in DeepTransitionGRU(3, 100, 1).parameters())


def test_less_precision():
    model, x = make(), torch.randn(4, 7, 3)
    y = model(x)[0]
    low = make().bfloat16()(x.bfloat16())[0]
    assert low.dtype == torch.bfloat16 and relative_error(low.double(), y) < 0.1
    single = make().float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        state = single(x[:, :3].float())[1]
        mixed = single(x[:, 3:].float(), state)[0]
    assert relative_error(mixed.double(), y[:, 3:]) < 0.1


def test_bad_steps():
    model, x = make(), torch.zeros(4, 7, 3)
    for shape in [(4, 2), (0, 3), (4, 1, 3)]:
        with pytest.raises(ValueError, match=r"x must have shape \(B, 3\)"):
            model.lgru(torch.zeros(shape))
    with pytest.raises(ValueError, match=r"h must have shape \(4, 5\)"):
        model.lgru(x[:, 0], torch.zeros(3, 5))
    for shape in [(4, 4), (0, 5), (4, 1, 5)]:
        with pytest.raises(ValueError, match=r"h must have shape \(B, 5\)"):
            model.transitions[0](torch.zeros(shape))
