"""Forecasts without learning, by hand; and the season of series that have one, or none."""

import math

import numpy as np
import pytest
import torch

from rtx_lib.tasks import naive

RNG = np.random.default_rng(0)
X = torch.tensor([[1.0, 10], [2, 30], [4, 20], [7, 70]])[None]
FORECASTS = {
    "last_value": [[7, 70]] * 3,
    "drift": [[9, 90], [11, 110], [13, 130]],
    "mean": [[3.5, 32.5]] * 3,
    "seasonal": [[4, 20], [7, 70], [4, 20]],
}


@pytest.mark.parametrize("name", FORECASTS)
def test_forecasts_by_hand(name):
    settings = {"season": 2} if name == "seasonal" else {}
    assert torch.equal(getattr(naive, name)(X, 3, **settings), torch.tensor(FORECASTS[name]).float()[None])


def test_what_is_refused():
    with pytest.raises(ValueError, match="season must be at most 4, the length of x, got 5"):
        naive.seasonal(X, 3, 5)
    with pytest.raises(ValueError, match="lags must be at least 0 and below 4, got 4"):
        naive.autocorrelation(np.arange(4.0), 4)
    for season in (0, 4):
        with pytest.raises(ValueError, match=f"season must be at least 1 and below 4, .*, got {season}"):
            naive.seasonal_error(np.ones((4, 1)), season)


def test_autocorrelation_is_its_definition():
    values = RNG.normal(size=(50, 3)).cumsum(0)
    rest = values - values.mean(0)
    wanted = [(rest[lag:] * rest[: 50 - lag]).sum(0) / (rest**2).sum(0) for lag in range(21)]
    assert np.allclose(naive.autocorrelation(values, 20), wanted)
    assert np.allclose(naive.autocorrelation(values[:, 0], 20), np.asarray(wanted)[:, 0])
    values[7, 1] = np.nan  # counts as the mean
    filled = np.where(np.isnan(values), np.nanmean(values, 0), values)
    assert np.allclose(naive.autocorrelation(values, 20), naive.autocorrelation(filled, 20))


T = np.arange(700)
WAVE = np.sin(2 * np.pi * T / 24)
SEASONS = {
    "wave": (WAVE, 24),
    "noisy": (WAVE + RNG.normal(size=700), 24),
    "rising": (WAVE + (T / 70) ** 2, 24),
    "two channels": (np.stack([WAVE, RNG.normal(size=700)], 1), 24),
    "gaps": (np.where(T % 11 == 3, np.nan, WAVE), 24),
    "two cycles": (WAVE + 0.5 * np.sin(2 * np.pi * T / 168), 24),
    "months": (np.tile([3.0, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8], 9), 12),
    "noise": (RNG.normal(size=700), 1),
    "random walk": (RNG.normal(size=700).cumsum(), 1),
    "line": (T / 3, 1),
    "constant": (np.ones(60), 1),
    "short": (np.asarray([1.0, 2, 1, 2, 1, 2]), 1),
}


@pytest.mark.parametrize("name", SEASONS)
def test_the_season_is_found(name):
    values, season = SEASONS[name]
    assert naive.season_of(values) == season
    assert naive.season_of(WAVE, most=20) == 1 and naive.season_of(WAVE, most=40) == 24


def test_mase_by_hand():
    train = np.asarray([[0.0, 0], [1, 10], [3, math.nan], [3, 40], [4, 20]])
    assert naive.seasonal_error(train, 2) == pytest.approx([2, 30])  # of 3, 2, 1; and of 30 alone
    y = torch.tensor([[[5.0, 10], [6, math.nan]]])
    guess = torch.tensor([[[4.0, 40], [9, 99]]])
    assert naive.mase(guess, y, train, 2) == pytest.approx((1 / 2 + 30 / 30 + 3 / 2) / 3)
    assert naive.seasonal_error(np.tile([1.0, 5.0], 5)[:, None], 2) > 0  # so that nothing is divided by 0
