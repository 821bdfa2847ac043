"""Time series as a task: read the last ``lookback`` values of each channel, and name the next ``horizon``."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_lib.shapes import expect, expect_each
from rtx_lib.tasks import naive
from rtx_lib.tasks.dated import Dated, expect_whole, filled, read_dated
from rtx_lib.tasks.files import fetch
from rtx_lib.tasks.splits import SPLITS, NoData, Rows, draw_batch, run_through

RULES = ("refuse", "previous", "season")  # for what is missing
NORMAL = (0.1, 0.5, 0.9)  # the quantiles that are told of a normal distribution
CYCLES = [86_400_000 * days for days in (1, 7, 365.2425)]  # milliseconds


class SeriesTask:
    """Forecast a series of one or several channels: the next H values of each from the last L.

    ::

        rows      1 2 3 4 5 6 | 7 8 9 | 10 11 12        "train", "valid" and "test", by time
        windows   x x x y y                             lookback L = 3, horizon H = 2
                    x x x y y
                        x x x | y y                     of "valid": its targets lie in it, what is read may be earlier
                          x x | x y y

    A batch is x (B, L, D_in) and y (B, H, C), scaled channel by channel by the mean and standard deviation of the rows
    of "train". The first C columns of x are the channels; behind them stands, if there are gaps, for each channel
    whether its value was there (1) or is filled (0), and the calendar. y is NaN where nothing was measured: that counts
    nowhere. No window is dropped, and none of training has a target behind the border.

    A prediction is (B, T, output_size), T at least H, and its last H positions count, seen as (B, H, C, Q): Q numbers
    for each value.

    ========================  ====================================  ====================================================
    ``levels``                the Q numbers                         loss
    ========================  ====================================  ====================================================
    None                      the value                             squared error
    (0.1, 0.5, 0.9), say      quantiles of these levels             pinball loss, the mean over the levels
    "normal"                  mean, and s: sd = softplus(s) + 1e-4  negative log-likelihood (Salinas et al. 2020, eq. 3)
    ========================  ====================================  ====================================================

    Metrics, of scaled values but "mase": "mse" and "mae" of the value, the median or the mean; "mase", the absolute
    error by that of the seasonal naive in training, channel by channel (Hyndman and Koehler 2006); with levels
    "pinball", the "coverage" of the outer interval, which should be the difference of its levels, and its "width".
    Quantiles that cross are put in order for these and for a forecast (Chernozhukov et al. 2010), not for the loss.

    Baselines, their "mse" on "test": "last value", "season before", "drift" and "mean of the window", as
    `rtx_lib.tasks.naive` has them; the season may reach further back than L.

    Parameters
    ----------
    values, dates, channels
        A path of a CSV, a frame or an array, with dates or without, as `rtx_lib.tasks.dated.read_dated` has them.
    season
        Steps after which the series repeats itself, for the baseline and "mase". None: as found in training by
        `rtx_lib.tasks.naive.season_of`.
    splits
        Three shares, or three numbers of rows from the first on.
    missing
        What is done about gaps: ``"refuse"``, or fill them with the value before (``"previous"``) or that of the season
        before (``"season"``). A line across would tell of what comes behind the window.
    calendar
        Whether x tells where in the day, the week and the year each row is: the sines of the three, and the cosines.
    levels
        As above.
    stride
        Steps from one window of "valid" and "test" to the next.
    """

    vocabulary = None
    batch, batches = draw_batch, run_through  # methods, written once in splits.py

    def __init__(
        self,
        values: Any,
        lookback: int,
        horizon: int,
        *,
        dates: Any = None,
        channels: Sequence[Any] | None = None,
        season: int | None = None,
        splits: Sequence[float] = (0.7, 0.1, 0.2),
        missing: str = "refuse",
        calendar: bool = False,
        levels: Sequence[float] | str | None = None,
        stride: int = 1,
    ) -> None:
        expect_each(lookback=lookback, horizon=horizon, missing=(missing, RULES), stride=stride)
        self.lookback, self.horizon, self.missing, self.calendar = lookback, horizon, missing, calendar
        self.normal, self.levels = levels == "normal", _levels(levels)
        self.column = dates if dates is False or isinstance(dates, str) else None
        self.series = read_dated(values, dates, channels)
        self.channels, self.step = self.series.channels, str(self.series.step or "")
        self.borders = _borders(splits, len(self.series.values), lookback, horizon)
        train = self.series.values[: self.borders[1]]
        self.middle, self.width = _scale(train, self.series)
        self.season = naive.season_of(train) if season is None else season
        self.scale = (naive.seasonal_error(train, self.season) / self.width).tolist()
        self.masked = bool(np.isnan(self.series.values).any())
        self._x, self._y = self._columns(self.series)
        self.input_size = self._x.shape[1]
        self.output_size = len(self.channels) * (2 if self.normal else max(1, len(self.levels)))
        self.name = f"series-{lookback}-{horizon}" + ("-normal" if self.normal else "-quantiles" * bool(self.levels))
        starts, ends = (lookback, *self.borders[1:3]), [end - horizon + 1 for end in self.borders[1:]]
        origins = map(torch.arange, starts, ends, (1, stride, stride))
        self.splits = Rows({name: (part,) for name, part in zip(SPLITS, origins, strict=True)}, lay_out=self._cut)

    def __repr__(self) -> str:
        """What was found, in a line."""
        sizes = ", ".join(f"{n:,} {name}" for name, n in zip(SPLITS, np.diff(self.borders), strict=True))
        found = f"{len(self.channels)} channels, season {self.season}, {'some' if self.masked else 'no'} gaps"
        return f"SeriesTask: {sizes} rows, {self.step or 'a step'} apart; {found}"

    @classmethod
    def from_configuration(cls, configuration: dict[str, Any]) -> "SeriesTask":
        """The task without its data: what ``load`` needs."""
        task = cls.__new__(cls)
        vars(task).update(configuration, splits=NoData(configuration["name"]))
        return task

    def configuration(self) -> dict[str, Any]:
        """What ``save`` keeps: all but the data."""
        return {name: value for name, value in vars(self).items() if name not in ("series", "splits", "_x", "_y")}

    def forecast(self, model: nn.Module, values: Any = None, dates: Any = None) -> dict[str, Any]:
        """What comes behind the last row of a series, given as that of the constructor, in its units.

        Returns "mean" (H, C), but of quantiles; with levels "quantiles", a dict of (H, C) by level; and where there are
        dates, "dates" (H,). Without values, of the series of the task.
        """
        if values is None:
            self.splits.finite("test")  # which says so, if there is none
        series = self.series if values is None else self._read(values, dates)
        x, training = self._columns(series)[0][None, -self.lookback :], model.training
        with torch.no_grad():
            prediction, _ = model.eval()(x.to(next(model.parameters(), x)))
        model.train(training)
        centre, quantiles = self._told(self._outputs(prediction, 1).cpu().double())
        parts = [part[0].numpy() * self.width + self.middle for part in (centre, *quantiles.unbind(-1))]
        found: dict[str, Any] = {"quantiles": dict(zip(self.levels, parts[1:], strict=True))} if self.levels else {}
        found |= {"mean": parts[0]} if self.normal or not self.levels else {}
        if series.dates is not None and series.step:
            found["dates"] = series.step.along(series.dates[-1], np.arange(1, self.horizon + 1))
        return found

    def loss(self, prediction: Tensor, y: Tensor) -> Tensor:
        """The mean over all values that are there, as ``levels`` say."""
        outputs, known, y = self._outputs(prediction, len(y)), ~y.isnan(), y.nan_to_num().to(prediction)
        if self.normal:
            mean, variance = outputs[..., 0], outputs[..., 1].square()
            return _mean(F.gaussian_nll_loss(mean, y, variance, full=True, eps=1e-9, reduction="none"), known)
        return _mean(self._pinball(outputs, y) if self.levels else (outputs[..., 0] - y).square(), known)

    def metrics(self, prediction: Tensor, y: Tensor) -> dict[str, float]:
        """{"loss", "mse", "mae", "mase"}, and with levels {"pinball", "coverage", "width"}."""
        loss = self.loss(prediction.detach(), y)
        centre, quantiles = self._told(self._outputs(prediction.detach(), len(y)))
        known, y = ~y.isnan(), y.nan_to_num().to(prediction)
        error = (centre - y).abs()
        found = {"mse": error.square(), "mae": error, "mase": error / torch.tensor(self.scale).to(error)}
        if self.levels:
            low, high = quantiles[..., 0], quantiles[..., -1]
            inside = ((low <= y) & (y <= high)).to(y)
            found |= {"pinball": self._pinball(quantiles, y), "coverage": inside, "width": high - low}
        return {"loss": loss.item()} | {name: _mean(costs, known).item() for name, costs in found.items()}

    def weight(self, y: Tensor) -> int:
        """How many values of y (B, H, C) are there."""
        return int((~y.isnan()).sum())

    def baselines(self) -> dict[str, float]:
        """What needs no learning: mse on "test" (defined above)."""
        h, back, total = self.horizon, torch.arange(-max(self.lookback, self.season), 0), torch.zeros(5).double()
        for part in self.splits.finite("test")[0].split(256):  # little at a time
            past, y = self._x[part[:, None] + back, : len(self.channels)], self._cut(part)[1]
            x = past[:, -self.lookback :]
            guesses = naive.last_value(x, h), naive.seasonal(past, h, self.season), naive.drift(x, h), naive.mean(x, h)
            total += torch.stack([*((guess - y).square().nansum() for guess in guesses), (~y.isnan()).sum()])
        names = "last value", "season before", "drift", "mean of the window"
        return dict(zip(names, (total[:4] / total[4]).tolist(), strict=True))

    def _read(self, values: Any, dates: Any) -> Dated:
        """A series like that of the constructor."""
        series = read_dated(values, self.column if dates is None else dates, self.channels)
        if series.step and self.step not in ("", str(series.step)):
            raise ValueError(f"dates must be {self.step} apart, as in training, got {series.step}")
        if len(series.values) < self.lookback:
            raise ValueError(f"values must have the {self.lookback} rows of lookback, got {len(series.values)}")
        return series

    def _columns(self, series: Dated) -> tuple[Tensor, Tensor]:
        """The columns of x (T, D_in), filled, and of y (T, C)."""
        if self.missing == "refuse":
            expect_whole(series)
        values = (series.values - self.middle) / self.width
        columns = [filled(values, self.season if self.missing == "season" else 1)]
        columns += [~np.isnan(values)] if self.masked else []
        if self.calendar:
            if series.dates is None:
                raise ValueError("dates must be given with calendar=True, got None")
            turns = 2 * np.pi * series.dates.astype(np.int64)[:, None] / CYCLES
            columns += [np.sin(turns), np.cos(turns)]
        return torch.from_numpy(np.concatenate(columns, 1)).float(), torch.from_numpy(values).float()

    def _cut(self, origins: Tensor) -> tuple[Tensor, Tensor]:
        """x (B, L, D_in) before these origins, and y (B, H, C) from them on."""
        places = origins[:, None] + torch.arange(-self.lookback, self.horizon)
        return self._x[places[:, : self.lookback]], self._y[places[:, self.lookback :]]

    def _outputs(self, prediction: Tensor, batch: int) -> Tensor:
        """The outputs (B, H, C, Q) of a prediction; those of a normal are mean and standard deviation."""
        expect(prediction, (batch, "T", self.output_size), "prediction")
        if prediction.shape[1] < self.horizon:
            form = f"({batch}, T, {self.output_size}), T at least {self.horizon} as the horizon"
            raise ValueError(f"prediction must have shape {form}, got {tuple(prediction.shape)}")
        outputs = prediction[:, -self.horizon :].unflatten(2, (len(self.channels), -1))
        return torch.stack([outputs[..., 0], F.softplus(outputs[..., 1]) + 1e-4], -1) if self.normal else outputs

    def _told(self, outputs: Tensor) -> tuple[Tensor, Tensor]:
        """The value, median or mean (B, H, C), and the quantiles (B, H, C, levels), in order."""
        if self.normal:
            places = torch.special.ndtri(torch.tensor(self.levels)).to(outputs)
            return outputs[..., 0], outputs[..., :1] + outputs[..., 1:] * places
        outputs = outputs.sort(-1).values
        return outputs[..., int(np.abs(np.subtract(self.levels or 0.5, 0.5)).argmin())], outputs

    def _pinball(self, quantiles: Tensor, y: Tensor) -> Tensor:
        """An error costs its level where y is above, and 1 - level where it is below (Koenker and Bassett 1978)."""
        error, level = y[..., None] - quantiles, torch.tensor(self.levels).to(y)
        return torch.maximum(level * error, (level - 1) * error).mean(-1)


class ETT(SeriesTask):
    """The oil temperature of a transformer in a power grid, and six of its loads, hour by hour (Zhou et al. 2021).

    ``source`` is "ETTh1" or "ETTh2", two places. As in the literature, 12, 4 and 4 months of 30 days are "train",
    "valid" and "test"; all else is as `SeriesTask` has it.
    """

    files: ClassVar = {"ETTh1": ("ett/ETTh1.csv",), "ETTh2": ("ett/ETTh2.csv",)}

    def __init__(self, source: str = "ETTh1", lookback: int = 336, horizon: int = 96, **settings: Any) -> None:
        expect_each(source=(source, [*self.files]), lookback=lookback, horizon=horizon)
        super().__init__(fetch(*self.files[source]), lookback, horizon, splits=(8640, 2880, 2880), **settings)
        self.name = self.name.replace("series", source)


def _mean(costs: Tensor, known: Tensor) -> Tensor:
    """Over the values that are there."""
    return costs.where(known, 0).sum() / known.sum().clamp(min=1)


def _levels(levels: Any) -> list[float]:
    """The levels of the quantiles, if there are any."""
    found = NORMAL if levels == "normal" else () if levels is None or isinstance(levels, str) else tuple(levels)
    if (levels is not None and not found) or not all(low < high for low, high in pairwise((0, *found, 1))):
        raise ValueError(f"levels must be None, 'normal' or ascending numbers between 0 and 1, got {levels!r}")
    return [*found]


def _borders(splits: Sequence[float], rows: int, lookback: int, horizon: int) -> list[int]:
    """Where the splits begin, and where the last one ends."""
    shares, whole = abs(sum(splits) - 1) < 1e-6, sum(splits) <= rows and all(part % 1 == 0 for part in splits)
    if len(splits) != 3 or not min(splits) > 0 or not (shares or whole):
        rule = f"three positive numbers whose sum is 1, or numbers of rows, {rows} together at most"
        raise ValueError(f"splits must be {rule}, got {splits!r}")
    train, valid, test = (int(part * (rows if shares else 1) + 1e-9) for part in splits)
    valid = rows - train - test if shares else valid
    for name, size, least in (("train", train, lookback + horizon), ("valid", valid, horizon), ("test", test, horizon)):
        if size < least:
            rule = f"{'lookback + ' * (name == 'train')}horizon must be at most {size}"
            raise ValueError(f"{rule}, the rows of {name!r} (of {rows} in all), got {least}")
    return [0, train, train + valid, train + valid + test]


def _scale(train: np.ndarray, series: Dated) -> tuple[list[float], list[float]]:
    """Mean and standard deviation of each channel in training."""
    for name, column in zip(series.channels, train.T, strict=True):
        there = np.unique(column[~np.isnan(column)])
        if len(there) < 2:
            where = f"{series.place(series.rows[0])} to {series.place(series.rows[: len(train)].max(), name)}"
            got = f"{there[0]} throughout" if len(there) else "none"
            raise ValueError(f"values must vary in each channel of 'train', got {got} in {where}")
    return np.nanmean(train, 0).tolist(), np.nanstd(train, 0).tolist()
