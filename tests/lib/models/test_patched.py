"""Forecasters: what a window's level and scale do, channels apart, quantiles in order, and any core in patches.

That the linear ones compute what the authors' code computes is tested in tests/reference/test_official.py.
"""

import pytest
import torch
import torch.nn.functional as F
from lib.models.test_contract import FLOATS, FORECASTS, MODELS, OUT, POINTWISE, D, make, names
from support.compare import draw
from support.helpers import drawn, refusals, relative_error

from rtx_lib import load, save
from rtx_lib.layers import GRU
from rtx_lib.layers.forecast import forecast
from rtx_lib.models import DLinear, Linear, Mamba, NLinear, Patched, PatchTST
from rtx_lib.tasks import TableTask

pytestmark = pytest.mark.usefixtures("double")

L, H, C, P = 11, 5, 3, 4
SIZES = {"lookback": L, "horizon": H, "channels": C}


def patched(core=None, **options):
    return drawn(0, lambda: Patched(core or GRU(3, 7), **SIZES | {"patch": P} | options)).eval()


LANES = ["rnn", "lstm", "gru", "indrnn-layer", "indrnn", "indrnn-dense", "tcn", "encoder", "transformer-rotary"]
LANES += ["r-transformer", "mamba", "delta-net", "readout"]


@names(*FORECASTS, *(set(MODELS) - set(FLOATS)), every_push=LANES)
@pytest.mark.parametrize("how", [{}, {"norm": "instance", "head": "flat", "stride": 2}], ids=["last", "flat"])
def test_any_core_forecasts(name, how):
    """Every channel from its own window alone, back to its first patch; whatever stands in further columns."""
    core = make(name)
    model = patched(core, **how, width=None if hasattr(core, "input_size") else (D, OUT))
    x = draw(2, L, C + 2).requires_grad_()
    y, state = model(x)
    assert y.shape == (2, H, C) and state is None and y.isfinite().all()
    (gradient,) = torch.autograd.grad(y[1, :, 1].sin().sum(), x)
    assert gradient[1, 0, 1] != 0 or (not how and name in [*POINTWISE, "rwkv-channel"])
    assert not gradient[0].any() and not gradient[1, :, [0, 2, 3, 4]].any()
    assert relative_error(model(x[..., [1, 1, 1]])[0], y[..., [1, 1, 1]]) < 1e-10


FORECASTERS = {
    "nlinear": lambda **how: drawn(0, NLinear, **SIZES, individual=True, **how),
    "last": patched,
    "instance": lambda **how: patched(norm="instance", **how),
    "patch-tst": lambda **how: drawn(0, PatchTST, **SIZES, patch=P, **how).eval(),
}


@pytest.mark.parametrize("outputs", [1, 3, "normal"])
@pytest.mark.parametrize("name", FORECASTERS)
def test_a_level_is_forecast_with_the_window_and_a_scale_too(name, outputs):
    """All quantiles move; of a normal distribution the mean, while its deviation scales."""
    model, x = FORECASTERS[name](outputs=outputs), 100 * draw(2, L, C)
    x[1, :, 0] = 3  # a constant window is no division by 0
    by = torch.tensor([1e3, -7.0, 0.5])

    def said(x):
        y = model(x)[0].unflatten(2, (C, -1))
        return (y[..., :1], F.softplus(y[..., 1:])) if outputs == "normal" else (y, y[..., :0])

    (y, deviation), (moved, same) = said(x), said(x + by)
    assert torch.allclose(moved, y + by[:, None], rtol=0, atol=1e-9) and torch.allclose(same, deviation, rtol=1e-9)
    if name in ("instance", "patch-tst"):  # but for the 1e-5 beside a variance of 10,000
        for ours, theirs in zip(said(7 * x), (7 * y, 7 * deviation), strict=True):
            assert torch.allclose(ours[:1], theirs[:1], rtol=1e-6)


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


CUTS = {(6, 3): [[1, 2, 3], [4, 5, 6]], (3, 1): [[1], [2], [3]], (5, 3): [[1, 1, 2], [3, 4, 5]]}
CUTS |= {(6, 3, 2): [[1, 1, 2], [2, 3, 4], [4, 5, 6]], (6, 4): [[1, 2, 3, 4], [3, 4, 5, 6], [5, 6, 6, 6]]}


@pytest.mark.parametrize("sizes", CUTS)
def test_patches(sizes):
    """They end in the last value, or as in the paper (section 3.1) behind it."""
    lookback, *cut = sizes
    model = PatchTST(6, H, 1, patch=4) if cut == [4] else Patched(GRU(2, 2), lookback, H, 1, *cut)
    assert model.patches(torch.arange(1.0, lookback + 1).view(1, -1, 1))[0, 0].tolist() == CUTS[sizes]
    assert model.count == len(CUTS[sizes]) and PatchTST(512, H, 1).count == 64


def shared():
    return {"Linear.weight": draw(H, L), "Linear.bias": draw(H)}


def test_official_arrays():
    """A shared map does not tell how many channels share it."""
    assert NLinear.from_official(shared(), channels=4)(draw(2, L, 4))[0].shape == (2, H, 4)


def test_saved_and_loaded(tmp_path):
    task, x = TableTask(draw(20, L, C).numpy(), draw(20).numpy(), "numbers"), draw(2, L, C)
    for model in (patched(Mamba(3, 4)), FORECASTERS["nlinear"](outputs="normal"), FORECASTERS["patch-tst"]()):
        save(tmp_path / "model.safetensors", model, task)
        assert torch.equal(load(tmp_path / "model.safetensors")[0](x)[0], model(x)[0])


test_refusals = refusals(
    {
        "x must have shape (B, 11, D), got (2, 10, 3)": lambda: patched()(draw(2, L - 1, C)),
        "x must have at least 3 columns, one a channel, got 2": lambda: patched()(draw(2, L, C - 1)),
        "x must be of torch.float64": lambda: FORECASTERS["nlinear"]()(draw(2, L, C).float()),
        "state must be None, a window is read as a whole": lambda: patched()(draw(2, L, C), torch.zeros(1)),
        "arrays must hold 'linear": lambda: Linear.from_official({"b": draw(H)}),
        "arrays must be those of": lambda: DLinear.from_official(shared()),
        "width must be a sequence of sizes": lambda: patched(torch.nn.GRU(D, 7)),
    },
    plain=True,
)
