"""The temporal convolutional network: the loop, the reach, the pieces and how it starts.

That it computes what the authors' code computes is tested in tests/reference/test_official.py.
"""

import itertools
import math

import pytest
import torch
from reference.tcn_loops import levels
from support.helpers import drawn, relative_error

from rtx_lib.models.tcn import TCN, CausalConv

SHAPES = [(3, (5, 5), 3), (2, (4, 4, 6), 2), (1, (7,), 5), (4, (4, 4), 1), (6, (3, 6, 3, 3), 4)]


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def build(inputs=3, outputs=2, channels=(5, 5), kernel=3, **options):
    """A network with generic weights, so that no channel is dead for all inputs."""
    model = drawn(0, TCN, inputs, outputs, channels, kernel, **options).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=seeded(len(parameter))) / 2)
    return model.eval()


def floats(*shape, seed=3):
    return torch.randn(shape, generator=seeded(seed), dtype=torch.double)


def ids(*shape, vocabulary=6):
    return torch.randint(vocabulary, shape, generator=seeded())


# ---- what it computes


@pytest.mark.parametrize("inputs, channels, kernel", SHAPES)
def test_it_is_a_loop(inputs, channels, kernel):
    """Outputs and all gradients."""
    model, x = build(inputs, 2, channels, kernel), floats(2, 9, inputs).requires_grad_()
    p = dict(model.named_parameters())
    h = levels(p, x.transpose(1, 2))[-1]
    loop = h.transpose(1, 2) @ p["readout.weight"].T + p["readout.bias"]
    y, _ = model(x)
    assert relative_error(y, loop) < 1e-12
    parameters = [x, *p.values()]
    ours, theirs = (torch.autograd.grad(out.sin().sum(), parameters) for out in (y, loop))
    assert max(float((a - b).abs().max()) for a, b in zip(ours, theirs, strict=True)) < 1e-12


def test_ids_are_rows_of_a_table():
    model, x = build(6, 4, (5, 3), vocabulary=6, embedding_size=2), ids(2, 9)
    floats_in = build(2, 4, (5, 3))
    floats_in.load_state_dict({n: v for n, v in model.state_dict().items() if not n.startswith("embedding")})
    assert model.embedding.weight.shape == (6, 2)
    assert torch.equal(model(x)[0], floats_in(model.embedding.weight[x])[0])
    assert TCN(6, 4, (5, 3), 2, vocabulary=6).embedding.weight.shape == (6, 3)


def test_tied():
    model = build(6, 6, (5, 3), vocabulary=6, tied=True)
    assert model.readout.weight is model.embedding.weight
    assert "readout.bias" in dict(model.named_parameters()) and "readout.weight" not in dict(model.named_parameters())
    model(ids(2, 9))[0].sum().backward()
    assert model.embedding.weight.grad.all()
    assert not TCN(6, 6, (3,), 2, vocabulary=6, tied=True).readout.bias.any()


def test_the_weight_has_length_g_whatever_v():
    conv = drawn(0, CausalConv, 3, 4, 2, 1)
    before = conv.weight.clone()
    with torch.no_grad():
        conv.weight_v *= torch.tensor([0.5, 2, 3, 100]).view(4, 1, 1)
    assert torch.allclose(conv.weight, before, rtol=1e-6)
    assert torch.allclose(conv.weight.norm(dim=(1, 2)), conv.weight_g.squeeze())
    with torch.no_grad():
        conv.weight_g *= 3
    assert torch.allclose(conv.weight, 3 * before, rtol=1e-6)


def test_equals_torchs_weight_norm():
    conv = drawn(0, CausalConv, 3, 4, 2, 3)
    theirs = torch.nn.Conv1d(3, 4, 2, dilation=3)
    with torch.no_grad():
        theirs.weight.copy_(conv.weight_v)
        theirs.bias.copy_(conv.bias)
    theirs = torch.nn.utils.parametrizations.weight_norm(theirs)
    x = torch.randn(2, 3, 9, generator=seeded())
    assert relative_error(conv(x)[0], theirs(torch.nn.functional.pad(x, (3, 0)))) < 1e-6
    names = {"weight_g": "parametrizations.weight.original0", "weight_v": "parametrizations.weight.original1"}
    assert {names.get(name, name) for name in conv.state_dict()} == set(theirs.state_dict())


def test_filters_are_normalised_once_a_forward(monkeypatch):
    made = []
    weight = CausalConv.weight
    monkeypatch.setattr(CausalConv, "weight", property(lambda self: made.append(self) or weight.fget(self)))
    model = build()
    model(floats(2, 50, 3))
    assert len(made) == len(set(made)) == 4


# ---- time


@pytest.mark.parametrize("channels, kernel, field", [((5,), 3, 5), ((4, 4), 2, 7), ((3, 3, 3), 4, 43), ((4, 4), 1, 1)])
def test_the_receptive_field(channels, kernel, field):
    """The last output has a gradient at its border and none beyond."""
    model = build(2, 1, channels, kernel)
    for parameter in model.parameters():
        parameter.data.abs_()  # no ReLU closes
    x = floats(1, field + 6, 2).abs().requires_grad_()
    (gradient,) = torch.autograd.grad(model(x)[0][:, -1].sum(), x)
    reached = gradient.abs().sum(-1)[0]
    assert model.receptive_field == field
    assert reached[-field] > 0 and not reached[:-field].any()


def test_the_state_is_the_last_inputs():
    model, x = build(2, 1, (4, 4), 3), floats(2, 9, 2)
    state = model(x)[1]
    assert [tuple(part.shape) for part in state] == [(2, 2, 2), (2, 4, 2), (2, 4, 4), (2, 4, 4)]
    assert torch.equal(state[0], x[:, -2:].transpose(1, 2))
    zeros = tuple(torch.zeros_like(part) for part in state)
    assert torch.equal(model(x, zeros)[0], model(x)[0])
    assert all(part.untyped_storage().nbytes() == part.numel() * 8 for part in state), "a view keeps the whole input"


# ---- how it starts


def weights_of(model):
    """The effective weights of all convolutions: what acts, not what is stored."""
    found = {name: module.weight.detach() for name, module in model.named_modules() if isinstance(module, CausalConv)}
    return found | {"readout": model.readout.weight.detach()}


def test_effective_is_torchs_default():
    model = drawn(0, TCN, 40, 50, (60, 60), 3)
    for name, weight in weights_of(model).items():
        bound = 1 / math.sqrt(weight[0].numel())
        assert weight.abs().max() < bound * 1.0001
        assert weight.std() == pytest.approx(bound / math.sqrt(3), rel=0.03), name
    torch.manual_seed(0)
    theirs = torch.nn.Conv1d(40, 60, 3).weight
    assert weights_of(model)["network.0.conv1"].std() == pytest.approx(theirs.std().item(), rel=0.03)


def test_published_takes_effect():
    model = drawn(0, TCN, 40, 50, (60, 60), 3, init="published")
    for name, weight in weights_of(model).items():
        assert weight.std() == pytest.approx(0.01, rel=0.05) and abs(weight.mean()) < 5e-4, name
    assert weights_of(model)["network.1.conv2"].abs().max() > 0.03  # normal, not uniform


@pytest.mark.parametrize("init", ["effective", "published"])
def test_what_both_starts_share(init):
    model = drawn(0, TCN, 40, 50, (60, 60), 3, init=init, vocabulary=90, embedding_size=40)
    model.requires_grad_(False)
    level = model.network[0]
    assert level.downsample.weight.std() == pytest.approx(0.01, rel=0.05) and model.network[1].downsample is None
    assert 0.09 < level.conv1.bias.abs().max() * math.sqrt(120) * 0.1 <= 0.1
    assert 0.09 < level.downsample.bias.abs().max() * math.sqrt(40) * 0.1 <= 0.1
    assert 0.099 < model.embedding.weight.abs().max() <= 0.1


def test_under_published_hardly_anything_of_the_input_comes_through():
    """What two inputs make different in the last output, against "effective": the biases drown it."""

    def spread(init):
        model = drawn(0, TCN, 2, 1, (24,) * 5, 5, init=init)
        x = torch.rand(64, 100, 2, generator=seeded(1))
        return model(x)[0][:, -1].std().item()

    assert spread("effective") > 3e-3 and spread("published") < spread("effective") / 50


def test_the_old_weight_normalisation_undoes_what_is_written_into_weight():
    """Why the two starts differ: the authors' line as it stands, in torch's old API, without effect."""
    conv = torch.nn.Conv1d(40, 60, 3)
    with pytest.warns(FutureWarning):
        conv = torch.nn.utils.weight_norm(conv)
    conv.weight.data.normal_(0, 0.01)
    written = conv.weight.std().item()
    conv(torch.zeros(1, 40, 5))
    assert written == pytest.approx(0.01, rel=0.05)
    assert conv.weight.std().item() == pytest.approx(1 / math.sqrt(3 * 120), rel=0.03)


# ---- dropout


def test_where_dropout_acts():
    """With all values dropped only the ways around are left; with all embedded ones, only the biases."""
    model, x = build(3, 2, (5, 5), dropout=1.0).train(), floats(2, 9, 3)
    level, dropped = model.network[0], []
    level.conv2.register_forward_pre_hook(lambda _, args: dropped.append(args[0]))
    around = torch.relu(level.downsample(x.transpose(1, 2))).transpose(1, 2)
    assert relative_error(model(x)[0], model.readout(around)) < 1e-12
    assert not dropped[0].any()
    model = build(6, 2, (5, 5), vocabulary=6, embedding_dropout=1.0).train()
    assert torch.equal(*(model(x)[0] for x in (ids(2, 9), (ids(2, 9) + 1) % 6)))


# ---- what it refuses


def test_shapes_and_names():
    model = build()
    y, _ = model(floats(4, 1, 3))
    assert y.shape == (4, 1, 2) and (model.input_size, model.output_size, model.channels) == (3, 2, (5, 5))
    assert "dilation=2" in repr(model)
    names = [
        f"network.{i}.conv{j}.{part}"
        for i, j in itertools.product((0, 1), (1, 2))
        for part in ("weight_g", "weight_v", "bias")
    ]
    names += ["network.0.downsample.weight", "network.0.downsample.bias", "readout.weight", "readout.bias"]
    assert set(model.state_dict()) == set(names)
