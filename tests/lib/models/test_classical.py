"""The classical forecasters: what they carry on, what their deviations are, what they find, and refusals."""

import sys

import numpy as np
import pytest
from support.helpers import refusals

from rtx_lib.models import ARIMA, ETS, STL

TRAIN, H = 120, 20
KINDS = {
    "ets": lambda: ETS(6, past=90),
    "ets-linear": lambda: ETS(trend="linear"),
    "arima": lambda: ARIMA((1, 1, 1), past=90),
    "arima-season": lambda: ARIMA((1, 0, 0), 6, (0, 1, 0)),
    "stl": lambda: STL(6, past=90),
}


def series():
    """Two channels: a season of 6 that rises, and a random walk."""
    step, noise = np.arange(200.0), np.random.default_rng(0).normal(size=(2, 200))
    return np.stack([10 * np.sin(step * np.pi / 3) + 0.2 * step + 0.1 * noise[0], noise[1].cumsum()], 1)


@pytest.mark.parametrize("kind", KINDS)
def test_carried_on_it_sees_what_lies_before_an_origin_and_nothing_else(kind):
    """One origin after another gives what each gives alone; none sees its own future, and all see their past."""
    pytest.importorskip("statsmodels")
    values, origins = series(), [TRAIN, 131, 131, 150, 200]
    model = KINDS[kind]().fit(values[:TRAIN])
    mean, deviation = model.forecast(values, origins, H)
    assert mean.shape == deviation.shape == (5, H, 2) and (deviation > 0).all() and np.isfinite(mean).all()
    assert (np.diff(deviation, axis=1) >= -1e-6).all(), "the further, the less certain"
    for n, origin in enumerate(origins):
        changed = np.where(np.arange(200)[:, None] >= origin, 1e3, values)
        assert np.allclose(model.forecast(changed, [origin], H)[0][0], mean[n], atol=1e-6)
    moved = values.copy()
    moved[149] += 5
    assert abs(model.forecast(moved, [150], H)[0] - mean[3]).max() > 0.1
    season = kind in ("ets", "arima-season", "stl")
    assert (abs(mean[0, :, 0] - values[TRAIN : TRAIN + H, 0]).max() < 1) == season
    alone = KINDS[kind]().fit(values[:TRAIN, 0]).forecast(values[:, 0], [131], H)
    assert np.allclose(alone[0][0, :, 0], mean[1, :, 0])


@pytest.mark.parametrize("season, trend", [(None, "damped"), (6, "damped"), (6, None), (None, "linear")])
def test_the_deviation_is_that_of_statsmodels(season, trend):
    pandas = pytest.importorskip("pandas")
    model, values = ETS(season, trend=trend), series()[:TRAIN, 1]
    deviation = model.fit(values).forecast(values, [TRAIN], H)[1]
    theirs = model._model(pandas.Series(values)).smooth(model.fitted[0].params).get_prediction(TRAIN, TRAIN + H - 1)
    assert np.allclose(deviation[0, :, 0] ** 2, theirs.var_pred_mean, rtol=1e-6)


def test_without_statsmodels_a_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "statsmodels.tsa.seasonal", None)
    with pytest.raises(ModuleNotFoundError, match=r"^ETS, ARIMA and STL are those of statsmodels: pip install"):
        STL(6).fit(np.zeros(20))


def fitted():
    model = ETS()
    model.fitted, model.rows, model.first = [None], TRAIN, 0
    return model


test_refusals = refusals(
    {
        "values must have no gaps, fill them first, got nan in row 3": lambda: ETS().fit([0, 1, 2, np.nan]),
        "values must be of shape .* got .2, 2, 2": lambda: ETS().fit(np.zeros((2, 2, 2))),
        "values must have 1 channels, as in training, got 2": lambda: fitted().forecast(series(), [150], H),
        "origins must ascend from 120 to 200": lambda: fitted().forecast(series()[:, 0], [150, 140], H),
        "origins must ascend .* got .119": lambda: fitted().forecast(series()[:, 0], [119], H),
        "season must be": lambda: STL(1),
        "order must be three whole numbers of at least 0, got .1, -1, 0": lambda: ARIMA((1, -1, 0)),
        "seasonal must be": lambda: ARIMA((1, 1, 0), 6, (1, 0)),
    }
)
