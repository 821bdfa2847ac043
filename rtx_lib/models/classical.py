"""Classical rivals: exponential smoothing, ARIMA, and smoothing of what STL leaves, as ``statsmodels`` computes them.

Each is fitted once, on training rows, one model a channel; over later origins only its state is carried on, its
parameters stay. All give normal distributions: a mean and a deviation for each of the next H values::

    ETS      l_t = l_{t-1} + phi b_{t-1} + alpha e_t      b_t = phi b_{t-1} + beta e_t      s_t = s_{t-m} + gamma e_t
             of x_t = l_{t-1} + phi b_{t-1} + s_{t-m} + e_t
    ARIMA    (1 - a_1 B - ... - a_p B^p) (1 - B)^d x_t = (1 + c_1 B + ... + c_q B^q) e_t,   B x_t = x_{t-1}
    STL      x = season + rest: the last season again, and ETS of the rest

R. J. Hyndman, A. B. Koehler, J. K. Ord and R. D. Snyder, *Forecasting with Exponential Smoothing*, 2008, table 2.1 and
chapter 6; R. B. Cleveland et al., *STL*, Journal of Official Statistics 6, 1990. Without ``statsmodels`` (``pip install
rtx-lib[series]``) a fit raises ``ModuleNotFoundError``. These are no modules: nothing learns by gradients.
"""

import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from rtx_lib.shapes import expect_each


class ETS:
    """Exponential smoothing with additive errors, trend and season.

    Parameters
    ----------
    season
        m, the number of steps after which the series repeats; no season if None.
    trend
        ``"damped"``: b shrinks by a fitted phi a step. ``"linear"``: phi = 1. None: no b.
    past
        How many of the last training rows are fitted: more only take longer.
    """

    def __init__(self, season: int | None = None, *, trend: str | None = "damped", past: int = 2000) -> None:
        expect_each(trend=(trend, ("damped", "linear", None)), past=past, season=(2 if season is None else season, 2))
        self.season, self.trend, self.past = season, trend, past

    def fit(self, values: Any) -> "ETS":
        """Find the parameters of every channel of the training rows, (T,) or (T, C); returns itself."""
        values = _columns(values)
        self.rows, self.first = len(values), max(0, len(values) - self.past)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that an optimiser stopped early: what it found is used
            self.fitted = [self._fit(column) for column in values[self.first :].T]
        return self

    def forecast(self, values: Any, origins: Sequence[int], horizon: int) -> tuple[np.ndarray, np.ndarray]:
        """Mean and deviation (N, H, C) of the H values from each of N origins on.

        ``values`` (T, C) or (T,) begin with the training rows. An origin is the row of the first value that is
        forecast, of which the model sees those before it: ascending, from the number of training rows to T.
        """
        values, places = _columns(values), np.asarray(origins)
        expect_each(horizon=horizon)
        if values.shape[1] != len(self.fitted):
            raise ValueError(f"values must have {len(self.fitted)} channels, as in training, got {values.shape[1]}")
        ends = (self.rows, *places, len(values))
        if places.ndim != 1 or not places.size or (np.diff(ends) < 0).any():
            raise ValueError(f"origins must ascend from {self.rows} to {len(values)} at most, got {origins}")
        columns = zip(self.fitted, values[self.first :].T, strict=True)
        each = [self._carry(fitted, column, places - self.first, horizon) for fitted, column in columns]
        mean, deviation = (np.stack(parts, -1) for parts in zip(*each, strict=True))
        return mean, deviation

    def _fit(self, column: np.ndarray) -> Any:
        return self._model(column).fit(disp=False)

    def _carry(self, fitted: Any, column: np.ndarray, origins: np.ndarray, horizon: int) -> tuple[Any, Any]:
        """Means and deviations (N, H) from each origin, counted in rows of the column."""
        states = self._model(column[: origins[-1]]).smooth(fitted.params)  # one pass: all states, up to the last origin
        means = [states.predict(start=at, end=at + horizon - 1, dynamic=True) for at in origins.tolist()]
        return np.stack(means), np.tile(self._deviation(fitted, horizon), (len(origins), 1))

    def _model(self, column: np.ndarray) -> Any:
        options: dict[str, Any] = {"trend": self.trend and "add", "damped_trend": self.trend == "damped"}
        if self.season:
            options |= {"seasonal": "add", "seasonal_periods": self.season}
        return _statsmodels("tsa.exponential_smoothing.ets").ETSModel(column, error="add", **options)

    def _deviation(self, fitted: Any, horizon: int) -> np.ndarray:
        """That of each of the next H values: an error e_t moves the value j steps on by c_j e_t (2008, eq. 6.1)."""
        j = np.arange(1, horizon)
        c = np.full(horizon - 1, fitted.smoothing_level)
        if self.trend:
            c += fitted.smoothing_trend * np.cumsum((fitted.damping_trend if self.trend == "damped" else 1.0) ** j)
        if self.season:
            c += fitted.smoothing_seasonal * (j % self.season == 0)
        return np.sqrt(fitted.mse * (1 + np.cumsum(np.append(0, c**2))))


class ARIMA(ETS):
    """Autoregressive integrated moving average; fit and forecast are those of :class:`ETS`.

    Parameters
    ----------
    order
        p, d and q.
    season, seasonal
        m, and p, d and q of the part whose steps are seasons. With a long season the fit takes minutes.
    past
        As in :class:`ETS`.
    """

    def __init__(
        self,
        order: Sequence[int] = (2, 1, 1),
        season: int | None = None,
        seasonal: Sequence[int] = (0, 0, 0),
        *,
        past: int = 2000,
    ) -> None:
        super().__init__(season, past=past)
        for name, orders in (("order", order), ("seasonal", seasonal)):
            if len(orders) != 3 or min(orders) < 0:
                raise ValueError(f"{name} must be three whole numbers of at least 0, got {orders!r}")
        self.order, self.seasonal = tuple(order), (*seasonal, season or 0)

    def _fit(self, column: np.ndarray) -> Any:
        return _statsmodels("tsa.arima.model").ARIMA(column, order=self.order, seasonal_order=self.seasonal).fit()

    def _carry(self, fitted: Any, column: np.ndarray, origins: np.ndarray, horizon: int) -> tuple[Any, Any]:
        means, deviations, before = [], [], self.rows - self.first
        for at in origins.tolist():
            fitted = fitted.extend(column[before:at]) if at > before else fitted
            said, before = fitted.get_forecast(horizon), at
            means.append(said.predicted_mean)
            deviations.append(said.se_mean)
        return np.stack(means), np.stack(deviations)


class STL(ETS):
    """The last season again, and :class:`ETS` without a season of what is left; fit and forecast are those of ETS.

    At every origin the decomposition is made anew, of what lies before it. The deviation is that of the rest.

    Parameters
    ----------
    season, trend, past
        As in :class:`ETS`.
    """

    def __init__(self, season: int, *, trend: str | None = "damped", past: int = 2000) -> None:
        super().__init__(None, trend=trend, past=past)
        expect_each(season=(season, 2))
        self.period = season

    def _fit(self, column: np.ndarray) -> Any:
        return super()._fit(column - self._season(column))

    def _carry(self, fitted: Any, column: np.ndarray, origins: np.ndarray, horizon: int) -> tuple[Any, Any]:
        means = []
        for at in origins.tolist():
            season = self._season(seen := column[:at])
            again = np.resize(season[-self.period :], horizon)
            means.append(again + self._model(seen - season).smooth(fitted.params).forecast(horizon))
        return np.stack(means), np.tile(self._deviation(fitted, horizon), (len(origins), 1))

    def _season(self, column: np.ndarray) -> np.ndarray:
        jump = max(1, self.period // 5)  # the smoothest parts, at so many steps apart, with straight lines between
        return _statsmodels("tsa.seasonal").STL(column, self.period, trend_jump=jump, low_pass_jump=jump).fit().seasonal


def _columns(values: Any) -> np.ndarray:
    """The values as (T, C), without gaps."""
    table = np.asarray(values, dtype=np.float64)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or not table.size:
        raise ValueError(f"values must be of shape (T,) or (T, C), got {np.shape(values)}")
    if (gaps := np.argwhere(~np.isfinite(table))).size:
        raise ValueError(f"values must have no gaps, fill them first, got {table[tuple(gaps[0])]} in row {gaps[0][0]}")
    return table


def _statsmodels(name: str) -> Any:
    """One of its modules."""
    try:
        return import_module(f"statsmodels.{name}")
    except ImportError as error:
        raise ModuleNotFoundError("ETS, ARIMA and STL are those of statsmodels: pip install statsmodels") from error
