"""The temporal convolutional network: the reach, the state and how it starts.

That it computes what the authors' code computes is tested in tests/reference/test_official.py.
"""

import math

import pytest
import torch
from support.compare import draw, ids
from support.helpers import drawn, relative_error

from rtx_lib.models.tcn import TCN, CausalConv

pytestmark = pytest.mark.usefixtures("double")


def build(inputs=3, outputs=2, channels=(5, 5), kernel=3, **options):
    """A network with generic weights, so that no channel is dead for all inputs."""
    model = drawn(0, TCN, inputs, outputs, channels, kernel, **options)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(draw(*parameter.shape, seed=len(parameter)) / 2)
    return model


def test_ids_are_rows_of_a_table():
    model, x = build(6, 4, (5, 3), vocabulary=6), ids(2, 9)
    floats_in = build(3, 4, (5, 3))
    floats_in.load_state_dict({n: v for n, v in model.state_dict().items() if not n.startswith("embedding")})
    assert model.embedding.weight.shape == (6, 3)
    assert torch.equal(model(x)[0], floats_in(model.embedding.weight[x])[0])


def test_filters_are_normalised_once_a_forward(monkeypatch):
    made = []
    weight = CausalConv.weight
    monkeypatch.setattr(CausalConv, "weight", property(lambda self: made.append(self) or weight.fget(self)))
    build()(draw(2, 50, 3))
    assert len(made) == len(set(made)) == 4


@pytest.mark.parametrize("channels, kernel, field", [((5,), 3, 5), ((4, 4), 2, 7), ((3, 3, 3), 4, 43), ((4, 4), 1, 1)])
def test_the_receptive_field(channels, kernel, field):
    """The last output has a gradient at its border and none beyond."""
    model = build(2, 1, channels, kernel)
    for parameter in model.parameters():
        parameter.data.abs_()  # no ReLU closes
    x = draw(1, field + 6, 2).abs().requires_grad_()
    (gradient,) = torch.autograd.grad(model(x)[0][:, -1].sum(), x)
    reached = gradient.abs().sum(-1)[0]
    assert model.receptive_field == field
    assert reached[-field] > 0 and not reached[:-field].any()


def test_the_state_is_the_last_inputs():
    model, x = build(2, 1, (4, 4), 3), draw(2, 9, 2)
    state = model(x)[1]
    assert [tuple(part.shape) for part in state] == [(2, 2, 2), (2, 4, 2), (2, 4, 4), (2, 4, 4)]
    assert torch.equal(state[0], x[:, -2:].transpose(1, 2))
    assert all(part.untyped_storage().nbytes() == part.numel() * 8 for part in state), "a view keeps the whole input"


def weights_of(model):
    """The effective weights of all convolutions: what acts, not what is stored."""
    found = {name: module.weight.detach() for name, module in model.named_modules() if isinstance(module, CausalConv)}
    return found | {"readout": model.readout.weight.detach()}


@pytest.mark.parametrize("init", ["effective", "published"])
def test_the_first_weights(init):
    """Torch's default, or the authors' normal distribution."""
    model = drawn(0, TCN, 40, 50, (60, 60), 3, init=init).requires_grad_(False)
    for name, weight in weights_of(model).items():
        bound = 1 / math.sqrt(weight[0].numel())
        std = bound / math.sqrt(3) if init == "effective" else 0.01
        assert weight.std() == pytest.approx(std, rel=0.05) and abs(weight.mean()) < std / 15, name
        assert (weight.abs().max() < bound * 1.0001) if init == "effective" else (weight.abs().max() > 0.03), name
    level = model.network[0]
    assert level.downsample.weight.std() == pytest.approx(0.01, rel=0.05) and model.network[1].downsample is None
    assert 0.09 < level.conv1.bias.abs().max() * math.sqrt(120) * 0.1 <= 0.1
    assert 0.09 < level.downsample.bias.abs().max() * math.sqrt(40) * 0.1 <= 0.1
    assert 0.099 < drawn(0, TCN, 90, 50, (60, 60), 3, vocabulary=90).embedding.weight.abs().max() <= 0.1


def test_where_dropout_acts():
    """With all values dropped only the ways around are left."""
    model, x = build(3, 2, (5, 5), dropout=1.0), draw(2, 9, 3)
    level, dropped = model.network[0], []
    level.conv2.register_forward_pre_hook(lambda _, args: dropped.append(args[0]))
    around = torch.relu(level.downsample(x.transpose(1, 2))).transpose(1, 2)
    assert relative_error(model(x)[0], model.readout(around)) < 1e-12
    assert not dropped[0].any()
