"""Forecasters: what a window's level and scale do, channels apart, quantiles in order, and any core in patches.

That the linear ones compute what the authors' code computes is tested in tests/reference/test_official.py.
"""

import pytest
import torch
import torch.nn.functional as F
from support.compare import draw
from support.helpers import drawn, refusals, relative_error
from torch import nn

from rtx_lib import load, save
from rtx_lib.layers import GRU, LSTM, RNN, Readout
from rtx_lib.layers.forecast import forecast
from rtx_lib.models import (
    TCN,
    CausalTransformer,
    DeltaNet,
    DenseIndRNN,
    DLinear,
    Encoder,
    IndRNNLayer,
    Linear,
    Mamba,
    NLinear,
    Patched,
    PatchTST,
    PlainIndRNN,
    RTransformer,
)
from rtx_lib.tasks import TableTask

pytestmark = pytest.mark.usefixtures("double")

L, H, C, P, D = 14, 5, 3, 4, 6
SIZE = {"width": 8, "heads": 2, "layers": 1}
CORES = {
    "rnn": lambda: RNN(D, 7),
    "rnn that reads patches": lambda: RNN(P, 7),
    "lstm": lambda: LSTM(D, 7, 2),
    "gru": lambda: GRU(D, 7, bidirectional=True),
    "indrnn": lambda: IndRNNLayer(D, 7),
    "indrnn-plain": lambda: PlainIndRNN(D, 8, 2, 7),
    "indrnn-dense": lambda: DenseIndRNN(D, 4, (2, 1), 7, initial_size=8),
    "tcn": lambda: TCN(D, 7, (6, 6), 3),
    "encoder": lambda: Encoder(D, None, **SIZE),
    "decoder": lambda: CausalTransformer(D, 7, **SIZE),
    "r-transformer": lambda: RTransformer(D, 7, **SIZE, window=3),
    "mamba": lambda: Mamba(D, 4),
    "delta-net": lambda: DeltaNet(D, 2),
}


def patched(core="gru", **options):
    """In eval mode, with weights that let every core see far."""
    model = drawn(
        0, lambda: Patched(CORES[core](), **{"lookback": L, "horizon": H, "channels": C, "patch": P} | options)
    )
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if not name.endswith(".u"):
                parameter.add_(torch.randn_like(parameter) / 3)
    return model.eval()


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("how", [{}, {"norm": "instance", "head": "flat", "stride": 2}], ids=["last", "flat"])
def test_any_core_forecasts(core, how):
    """Every channel from its own window alone, back to its first value; whatever stands in further columns."""
    model, x = patched(core, **how), draw(2, L, C + 2).requires_grad_()
    y, state = model(x)
    assert y.shape == (2, H, C) and state is None and y.isfinite().all()
    (gradient,) = torch.autograd.grad(y[1, :, 1].sin().sum(), x)
    assert gradient[1, : L - 3 * P, 1].all(), "the patch before the last three"
    assert gradient[1, 0, 1] != 0 and not gradient[0].any() and not gradient[1, :, [0, 2, 3, 4]].any()
    same = model(x[..., [1, 1, 1]])[0]
    assert relative_error(same, y[..., [1, 1, 1]]) < 1e-12


FORECASTERS = {
    "nlinear": lambda **how: drawn(0, NLinear, L, H, C, **how),
    "nlinear-individual": lambda **how: drawn(0, NLinear, L, H, C, individual=True, **how),
    "last": lambda **how: patched(**how),
    "instance": lambda **how: patched(norm="instance", **how),
    "patch-tst": lambda **how: drawn(0, PatchTST, L, H, C, patch=P, **how).eval(),
}
OUTPUTS = [1, 3, "normal"]


@pytest.mark.parametrize("outputs", OUTPUTS)
@pytest.mark.parametrize("name", FORECASTERS)
def test_a_level_is_forecast_with_the_window_and_a_scale_too(name, outputs):
    """All quantiles move; of a normal distribution the mean, while its deviation scales."""
    model, x = FORECASTERS[name](outputs=outputs), draw(2, L, C) * 100
    by = torch.tensor([1e3, -7.0, 0.5])

    def said(x):
        y = model(x)[0].unflatten(2, (C, -1))
        return (y[..., :1], F.softplus(y[..., 1:])) if outputs == "normal" else (y, y[..., :0])

    (y, deviation), (moved, same) = said(x), said(x + by)
    assert torch.allclose(moved, y + by[:, None], rtol=0, atol=1e-9) and torch.allclose(same, deviation, rtol=1e-9)
    if name in ("instance", "patch-tst"):  # but for the 1e-5 beside a variance of 10,000
        for ours, theirs in zip(said(7 * x), (7 * y, 7 * deviation), strict=True):
            assert torch.allclose(ours, theirs, rtol=1e-6)


@pytest.mark.parametrize("name", ["nlinear", "last", "instance"])
def test_no_gradient_goes_through_what_is_taken_out_and_put_back(name):
    """As of the authors' code: that of the sum is what the maps alone give."""
    model = FORECASTERS[name]()
    x = draw(2, L, C)
    gradient = torch.autograd.functional.jacobian(lambda x: model(x)[0].sum(), x)
    assert (gradient.sum(1) - H).abs().min() > 1e-3


def test_a_constant_window_is_no_division_by_zero():
    x = torch.full((2, L, C), 3.0, requires_grad=True)
    y = patched(norm="instance", outputs="normal")(x)[0]
    y.sum().backward()
    assert y.isfinite().all() and x.grad.isfinite().all()


def test_quantiles_do_not_cross_and_one_is_the_map():
    y = 30 * draw(2, C, 4 * H)
    levels = forecast(y, 4).unflatten(2, (C, 4))
    assert (levels.diff(dim=-1) >= 0).all() and torch.equal(levels[..., 0], y.unflatten(2, (H, 4))[..., 0].mT)
    assert torch.equal(forecast(y, 1), y.mT)


@pytest.mark.parametrize("raw", [-800.0, -30.0, 0.0, 50.0])
def test_a_raw_scale_of_any_size(raw):
    y = torch.tensor([0.0, raw], requires_grad=True)
    found = forecast(y.view(1, 1, 2), "normal", 5.0, 2.0)[0, 0]
    assert found[0] == 5 and torch.allclose(F.softplus(found[1]), 2 * F.softplus(y[1]), rtol=1e-12, atol=1e-300)
    assert torch.autograd.grad(found.sum(), y)[0].isfinite().all()


def cut(lookback, patch, stride=None):
    model = Patched(GRU(2, 2), lookback, H, 1, patch, stride)
    patches = model.patches(torch.arange(1.0, lookback + 1).view(1, -1, 1))[0, 0]
    assert len(patches) == model.count
    return patches.tolist()


def test_patches_end_in_the_last_value():
    assert cut(6, 3) == [[1, 2, 3], [4, 5, 6]] and cut(3, 1) == [[1], [2], [3]] and cut(3, 3) == [[1, 2, 3]]
    assert cut(5, 3) == [[1, 1, 2], [3, 4, 5]] and cut(4, 3) == [[1, 1, 1], [2, 3, 4]]
    assert cut(6, 3, 2) == [[1, 1, 2], [2, 3, 4], [4, 5, 6]]


def test_patches_of_patch_tst():
    """Section 3.1: S times the last value behind; 512 values in patches of 16, 8 apart, are 64."""
    model = PatchTST(6, H, 1, patch=4)
    assert model.patches(torch.arange(1.0, 7).view(1, -1, 1))[0, 0].tolist() == [
        [1, 2, 3, 4],
        [3, 4, 5, 6],
        [5, 6, 6, 6],
    ]
    assert PatchTST(512, H, 1).count == 64 and PatchTST(513, H, 1)(draw(1, 513, 1))[0].shape == (1, H, 1)


def test_a_core_that_does_not_tell_its_widths():
    for core in (nn.GRU(D, 7, batch_first=True), Readout(GRU(D, 4), 7)):
        assert Patched(core, L, H, C, P, width=(D, 7))(draw(2, L, C))[0].shape == (2, H, C)
        with pytest.raises(ValueError, match=r"^width must be a sequence of sizes.*, got .*None"):
            Patched(core, L, H, C, P)


def test_the_moving_average_by_hand():
    trend, rest = DLinear(4, H, 1, kernel=3).parts(torch.tensor([3.0, 0, 6, 9]).view(1, 4, 1))
    assert trend.flatten().tolist() == [2, 3, 5, 8] and rest.flatten().tolist() == [1, -3, 1, 1]


def test_official_arrays():
    """A shared map does not tell how many channels share it; a name that is missing is said."""
    weights = {"Linear.weight": draw(H, L), "Linear.bias": draw(H)}
    assert NLinear.from_official(weights, channels=4)(draw(2, L, 4))[0].shape == (2, H, 4)
    with pytest.raises(ValueError, match=r"^arrays must hold 'linear\.maps\.0\.weight'"):
        Linear.from_official({"linear": draw(H, L)})
    with pytest.raises(ValueError, match=r"^arrays must be those of a DLinear"):
        DLinear.from_official(weights)


def test_saved_and_loaded(tmp_path):
    task = TableTask(draw(20, L, C).numpy(), draw(20).numpy(), "numbers")
    for model in (patched("mamba"), FORECASTERS["nlinear"](outputs="normal"), FORECASTERS["patch-tst"]()):
        save(tmp_path / "model.safetensors", model, task)
        again, x = load(tmp_path / "model.safetensors")[0], draw(2, L, C)
        assert torch.equal(again(x)[0], model(x)[0]) and again.outputs == model.outputs


test_refusals = refusals(
    {
        "x must have shape (B, 14, D), got (2, 13, 3)": lambda model: model(draw(2, L - 1, C)),
        "x must have at least 3 columns, one a channel, got 2": lambda model: model(draw(2, L, C - 1)),
        "x must be of torch.float64": lambda model: model(draw(2, L, C).float()),
        "state must be None, a window is read as a whole": lambda model: model(draw(2, L, C), torch.zeros(1)),
    },
    lambda: patched("rnn"),
    plain=True,
)
