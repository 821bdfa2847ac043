"""Forecasts that need no learning, the season of a series, and the error that all others are measured by.

Whoever forecasts begins here (Hyndman and Athanasopoulos, Forecasting: Principles and Practice, section 5.2). Each
forecast takes windows x (B, L, C) and gives (B, horizon, C).
"""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rtx_lib.shapes import expect_each


def last_value(x: Tensor, horizon: int) -> Tensor:
    """The last value, again and again: the best that can be done for a random walk."""
    return seasonal(x, horizon, 1)


def seasonal(x: Tensor, horizon: int, season: int) -> Tensor:
    """The last season, again and again: yesterday's value of the hour, with hours and a season of 24."""
    expect_each(horizon=horizon, season=season)
    if season > x.shape[1]:
        raise ValueError(f"season must be at most {x.shape[1]}, the length of x, got {season}")
    return x[:, x.shape[1] - season + torch.arange(horizon) % season]


def drift(x: Tensor, horizon: int) -> Tensor:
    """On along the line from the first value to the last."""
    slope = (x[:, -1:] - x[:, :1]) / max(x.shape[1] - 1, 1)
    return x[:, -1:] + slope * torch.arange(1, horizon + 1).to(x)[:, None]


def mean(x: Tensor, horizon: int) -> Tensor:
    """The mean of the window."""
    return x.mean(1, keepdim=True).expand(-1, horizon, -1)


def autocorrelation(values: np.ndarray, lags: int) -> np.ndarray:
    """The correlation of a series with itself, 0 to ``lags`` steps earlier: (lags + 1,), or (lags + 1, C) of (T, C).

    With the sum over all of the series below the line, whatever the lag (Box and Jenkins), so that it fades where few
    pairs are left. What is missing (NaN) counts as the mean.
    """
    values = np.asarray(values, np.float64)
    expect_each(lags=(lags, f"[0, {len(values)})"))
    centred = np.nan_to_num(values - np.nanmean(values, 0))
    power = np.abs(np.fft.rfft(centred, 2 * len(centred), axis=0)) ** 2  # twice as long, so that no end meets a start
    covariance = np.fft.irfft(power, 2 * len(centred), axis=0)[: lags + 1]
    return covariance / np.maximum(covariance[:1], np.finfo(float).tiny)


def season_of(values: np.ndarray, most: int | None = None) -> int:
    """After how many steps a series (T,) or (T, C) is most like itself again; 1 if it has no season.

    Asked is the autocorrelation up to the lag ``most``, a third of the series if None, the mean over channels, once a
    parabola is taken away for the trend. Of the lags at which it is higher than on both sides, and than any of them is
    in one of twenty series of pure noise, the season is the first that comes within a tenth of the highest.
    """
    values = np.asarray(values, np.float64).reshape(len(values), -1)
    most = min(most or len(values), len(values) // 3)
    if most < 3:
        return 1
    found = autocorrelation(_without_trend(values), most).mean(1)
    peaks = 1 + np.flatnonzero((found[1:-1] > found[:-2]) & (found[1:-1] >= found[2:]))
    peaks = peaks[found[peaks] > math.sqrt(2 * math.log(20 * most) / len(values))]
    return int(peaks[found[peaks] > 0.9 * found[peaks].max()][0]) if len(peaks) else 1


def mase(prediction: Tensor, y: Tensor, train: Any, season: int) -> float:
    """Mean absolute scaled error (Hyndman and Koehler 2006): below 1 is better than the seasonal naive in training.

    Of prediction and y (B, H, C), where y is no NaN, and of training rows (T, C), which give each channel its scale.
    """
    errors = (prediction - y).abs() / torch.as_tensor(seasonal_error(train, season)).to(prediction)
    return errors[~y.isnan()].double().mean().item()


def seasonal_error(values: Any, season: int) -> np.ndarray:
    """The mean absolute change (C,) over a season of a series (T, C), between values that are there."""
    values = np.asarray(values, np.float64)
    if not 0 < season < len(values):
        raise ValueError(f"season must be at least 1 and below {len(values)}, the rows of training, got {season}")
    return np.nanmean(np.abs(values[season:] - values[:-season]), 0).clip(min=1e-12)  # none is left of a perfect wave


def _without_trend(values: np.ndarray) -> np.ndarray:
    """What is left of each channel beside its best parabola, by least squares."""
    rest = values.copy()
    for channel in rest.T:
        known = np.flatnonzero(~np.isnan(channel))
        channel[known] -= np.polynomial.Polynomial.fit(known, channel[known], min(2, len(known) - 1))(known)
    return np.where(np.abs(rest) < 1e-9 * np.nanmax(np.abs(values), 0), 0, rest)  # of a line, nothing but rounding is
