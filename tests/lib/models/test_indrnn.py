"""Independent neurons: the layer, the net, its initialisation, its constraint and its gradients.

That it computes what the authors' net computes is tested in tests/reference/test_official.py.
"""

import math

import pytest
import torch
from support.compare import draw, furthest
from support.helpers import drawn, relative_error

from rtx_lib.diagnostics.gradients import record_states
from rtx_lib.kernels.recurrence import relu_recurrence_loop
from rtx_lib.models import indrnn
from rtx_lib.models.indrnn import IndRNNLayer, PlainIndRNN, Recurrence, initialise_recurrent_, recurrent_bound

pytestmark = pytest.mark.usefixtures("double")

every_norm = pytest.mark.parametrize("norm", [None, "before", "after"])


def build(**options):
    """A net in eval mode with u of both signs and generic weights, so that no layer is dead."""
    torch.manual_seed(0)
    net = PlainIndRNN(3, 6, 3, 2, **options)
    with torch.no_grad():
        for key, value in [*net.named_parameters(), *net.named_buffers()]:
            if key.endswith(".u"):
                value.uniform_(-0.9, 0.9)
            elif value.ndim == 2:
                value.normal_(0, value.shape[1] ** -0.5)
            elif key.endswith(("bias", "running_mean")):
                value.uniform_(-0.3, 0.7)
            elif key.endswith("running_var"):
                value.uniform_(0.5, 2)
    return net.eval()


def recurrent_weights(net):
    return [p for key, p in net.named_parameters() if key.endswith("u")]


def test_the_layer_is_a_loop():
    layer = drawn(0, IndRNNLayer, 3, 5)
    u = layer.u.detach().mul_(2).sub_(1)  # both signs
    x, state = draw(4, 7, 3).requires_grad_(), draw(4, 5, seed=1).requires_grad_()
    h, last = layer(x, state)
    loop = relu_recurrence_loop(x @ layer.linear.weight.T + layer.linear.bias, layer.u, state)
    assert (u < 0).any() and (u > 0).any() and (h == 0).any()
    assert furthest(h, loop, [x, state, *layer.parameters()]) < 1e-12 and torch.equal(last, h[:, -1])
    assert [key for key, _ in layer.named_parameters()] == ["u", "linear.weight", "linear.bias"]
    assert (layer.input_size, layer.output_size) == (3, 5)


def test_the_layers_initialisation():
    layer = drawn(0, IndRNNLayer, 3, 2000)
    assert 0 <= layer.u.min() < 0.01 and 0.99 < layer.u.max() <= 1
    assert 1.4 < layer.linear.weight.abs().max() <= 2**0.5 and not layer.linear.bias.any()


def test_the_state_is_what_the_recurrence_holds():
    """The last h of each recurrence, before normalisation and dropout, in the order in which they run."""
    net = build(norm="after", dropout=0.5).train()
    with record_states(net) as recorded:
        _, state = net(torch.randn(4, 5, 3))
    assert all(torch.equal(h, states[-1]) for h, states in zip(state, recorded, strict=True))
    assert len(recorded) == 3 and {len(states) for states in recorded} == {5}


@every_norm
def test_dropout_holds_for_a_whole_sequence(norm):
    """One draw for each sequence and neuron, after the normalisation; nothing is dropped in eval mode."""
    unit = Recurrence(400, norm, 0.3, "auto")
    torch.nn.init.uniform_(unit.u, 0, 0.5)
    unit.load_state_dict(unit.state_dict() | {"bn.bias": torch.full((400,), 9.0)} if norm else unit.state_dict())
    z = torch.rand(20, 4, 400) + 0.1
    torch.manual_seed(0)
    y, last = unit(z, None)
    unit.dropout = 0.0
    full, full_last = unit(z, None)
    kept = y != 0
    assert torch.equal(kept, kept[:, :1].expand_as(kept))
    assert kept.double().mean().item() == pytest.approx(0.7, abs=0.02)
    assert 0 < kept[0].double().mean() < 1 and 0 < kept[:, :, 0].double().mean() < 1
    assert relative_error(y, full * kept / 0.7) < 1e-12 and torch.equal(last, full_last)
    unit.dropout = 0.3
    assert torch.equal(unit.eval()(z, None)[0], unit(z, None)[0]) and (unit(z, None)[0] != 0).all()


def test_dropout_acts_after_every_layer_and_not_on_the_input():
    net = build(norm="after", dropout=0.5).train()
    x = torch.randn(4, 5, 3)
    runs = []
    for _ in range(2):
        with record_states(net) as recorded:
            net(x)
        runs.append(recorded)
    first, second = runs
    assert all(torch.equal(a, b) for a, b in zip(first[0], second[0], strict=True))  # reads the input only
    assert not torch.equal(first[1][-1], second[1][-1])
    last_only = PlainIndRNN(3, 6, 1, 2, dropout=0.5)
    assert not torch.equal(last_only(x)[0], last_only.eval()(x)[0])


def test_the_bound_is_a_root():
    assert recurrent_bound(100) ** 100 == pytest.approx(2, rel=1e-12)
    assert recurrent_bound(784, 5) == pytest.approx(1.002055, abs=1e-6)
    assert recurrent_bound(1, 3.5) == 3.5 and recurrent_bound(None, 7) == 1
    assert PlainIndRNN(1, 1, 1, 1, length=12, magnitude=5).bound == pytest.approx(1.1435298360829202, rel=1e-15)


def test_initial_recurrent_weights_lie_in_their_ranges():
    u = torch.empty(5000)
    assert initialise_recurrent_(u, 10, 3) is u
    bound = 3**0.1
    assert 0 <= u.min() < 0.01 * bound and 0.99 * bound < u.max() <= bound
    assert u.mean().item() == pytest.approx(bound / 2, rel=0.03)
    initialise_recurrent_(u, 10, 3, near_one=True, keep=0.5)
    low = 0.5**0.1
    assert low <= u.min() < low + 0.01 and bound - 0.01 < u.max() <= bound
    assert u.mean().item() == pytest.approx((low + bound) / 2, rel=0.01)
    assert (initialise_recurrent_(u, None, 3, near_one=True) == 1).all()
    assert 0.99 < initialise_recurrent_(u, None, 3).max() <= 1 and u.min() >= 0


@pytest.mark.parametrize("near_one", [True, False])
def test_the_last_recurrence_starts_near_one(near_one):
    net = drawn(3, PlainIndRNN, 3, 6, 3, 2, length=20, magnitude=2, keep=0.8, last_near_one=near_one)
    *others, last = recurrent_weights(net)
    low, bound = 0.8 ** (1 / 20), 2 ** (1 / 20)
    assert all(u.min() >= 0 and u.max() <= bound for u in others) and last.max() <= bound
    assert all(u.min() < low for u in others)
    assert (last.min() >= low) == near_one and last.min() >= 0


def test_the_constraint_clamps_u_alone():
    net = build(length=5, norm="after")
    assert net.bound == 2**0.2
    before = recurrent_weights(net)
    with torch.no_grad():
        for k, u in enumerate(before):
            u.mul_(3).sub_(k % 2)
    free = [u.detach().clone() for u in before]
    others = {key: value.clone() for key, value in net.state_dict().items() if not key.endswith("u")}
    net.constrain_()
    assert (torch.cat(free) > net.bound).any() and (torch.cat(free) < -net.bound).any()
    for u, same, unconstrained in zip(recurrent_weights(net), before, free, strict=True):
        assert u is same and torch.equal(u, unconstrained.clamp(-(2**0.2), 2**0.2)) and u.requires_grad
    assert all(torch.equal(net.state_dict()[key], value) for key, value in others.items())


def largest(linear):
    """The largest |w| as a fraction of the bound of He et al., sqrt(6 / fan_in)."""
    return float(linear.weight.detach().abs().max()) / math.sqrt(6 / linear.in_features)


@pytest.mark.parametrize(
    "options, first, above",
    [
        ({"length": 50}, 1, 1 / 50),
        ({}, 1, 1),
        ({"length": 50, "input_scale": 0.3}, 1, 0.3),
        ({"length": 50, "norm": "after"}, 65**-0.5, 65**-0.5),
        ({"length": 50, "norm": "before", "input_scale": 0.3}, 65**-0.5, 0.3),
    ],
)
def test_initial_weights_of_the_plain_net(options, first, above):
    net = drawn(0, PlainIndRNN, 30, 60, 3, 20, **options)
    found = [largest(linear) for linear in (*net.linears, net.readout)]
    for value, expected in zip(found, [first, above, above, 1], strict=True):
        assert 0.95 * expected < value <= expected
    assert not any(linear.bias.any() for linear in (*net.linears, net.readout))


def test_autocast_keeps_the_recurrence_in_full_precision():
    net, x = build(norm="after").float(), torch.randn(2, 6, 3, dtype=torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y, state = net(x)
    assert {h.dtype for h in state} == {torch.float32} and relative_error(y.float(), net(x)[0]) < 0.05


def test_the_backend_is_the_kernels(monkeypatch):
    asked = []

    def kernel(z, u, h0=None, *, backend):
        asked.append(backend)
        return z

    monkeypatch.setattr(indrnn, "relu_recurrence", kernel)
    x = torch.zeros(2, 5, 3)
    PlainIndRNN(3, 6, 3, 2, backend="scan").eval()(x)
    IndRNNLayer(3, 4, backend="loop")(x)
    IndRNNLayer(3, 4)(x)
    layer = IndRNNLayer(3, 4)
    layer.tap.register_forward_pre_hook(lambda *_: asked.append("seen"))
    layer(x)
    assert asked == ["scan", "scan", "scan", "loop", "auto", "seen"]
