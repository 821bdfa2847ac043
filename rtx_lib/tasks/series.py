"""Time series as a task: read the last ``lookback`` values of each channel, and name the next ``horizon``."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_lib.shapes import expect, expect_each
from rtx_lib.tasks import naive
from rtx_lib.tasks.dated import Dated, Step, expect_whole, filled, read_dated
from rtx_lib.tasks.files import fetch
from rtx_lib.tasks.splits import SPLITS, NoData, Rows, draw_batch, run_through

RULES = ("refuse", "interpolate", "previous", "season")  # for what is missing
NORMAL = (0.1, 0.5, 0.9)  # the quantiles that are told of a normal distribution
KEPT: tuple[str, ...] = ("name", "lookback", "horizon", "channels", "column", "season", "missing", "masked", "cycles")
KEPT += ("levels", "step", "middle", "width", "scale", "input_size", "output_size", "found")
DAY, WEEK = 86_400_000, 604_800_000  # milliseconds


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
        What is done about gaps: ``"refuse"``, or fill them along the line across (``"interpolate"``, but from
        ``"previous"`` where the line ends behind the window, since that would tell of what is to come), with the value
        before (``"previous"``), or that of the season before (``"season"``).
    calendar
        Whether x tells, in sine and cosine, the time of the day, of the week and of the year; a cycle is left out that
        is no longer than a step.
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
        expect_each(lookback=lookback, horizon=horizon, season=season or 1, stride=stride, missing=(missing, RULES))
        self.lookback, self.horizon, self.missing, self.levels = lookback, horizon, missing, _levels(levels)
        series = read_dated(values, dates, channels)
        self.values, self.dates, self.channels = series.values, series.dates, series.channels
        self.column, self.step = dates if isinstance(dates, str) else None, series.step
        self.borders = _borders(splits, len(self.values), lookback, horizon)
        train = self.values[: self.borders[1]]
        self.middle, self.width = _scale(train, series)
        self.season = season or naive.season_of(train)
        self.scale = (naive.seasonal_error(train, self.season) / self.width).tolist()
        self.masked = bool(np.isnan(self.values).any())
        self.cycles = _cycles(series.step) if calendar else []
        self.name = f"series-{lookback}-{horizon}"
        count = len(self.channels)
        self.input_size = count * (1 + self.masked) + 2 * len(self.cycles)
        self.output_size = count * (2 if levels == "normal" else len(self.levels or "1"))
        self._x, self._y = self._table(series), torch.from_numpy(self._scaled(self.values)).float()
        origins = {}
        for name, (begin, end) in zip(SPLITS, pairwise(self.borders), strict=True):
            first, every = max(begin, lookback), 1 if name == "train" else stride
            origins[name] = (torch.arange(first, end - horizon + 1, every),)
        self.splits = Rows(origins, lay_out=self._cut)
        self.found = self._tell()

    def __repr__(self) -> str:
        """What was found, in a line."""
        return self.found

    @classmethod
    def from_configuration(cls, configuration: dict[str, Any]) -> "SeriesTask":
        """The task without its data: what ``load`` needs."""
        task = cls.__new__(cls)
        vars(task).update(configuration, splits=NoData(configuration["name"]))
        task.step = Step(*task.step) if task.step else None
        return task

    def configuration(self) -> dict[str, Any]:
        """What ``save`` keeps: all but the data."""
        return {name: getattr(self, name) for name in KEPT}

    def encode(self, values: Any, dates: Any = None) -> Tensor:
        """The last rows of a series, given as that of the constructor, as a model reads them: x (1, L, D_in)."""
        series = self._read(values, dates)
        return self._windows(self._table(series), torch.tensor([len(series.values)]), self.lookback)

    def forecast(self, model: nn.Module, values: Any = None, dates: Any = None) -> dict[str, Any]:
        """What comes behind the end of a series, that of the task if None, in its units.

        Returns "mean" (H, C), but for quantiles; with levels "quantiles", each (H, C) by its level; where there are
        dates, "dates" (H,).
        """
        if values is None and isinstance(self.splits, NoData):
            self.splits.batch()
        series = self._read(self.values if values is None else values, self.dates if values is None else dates)
        x = self._windows(self._table(series), torch.tensor([len(series.values)]), self.lookback)
        training = model.training
        with torch.no_grad():
            prediction, _ = model.eval()(x.to(next(model.parameters(), x)))
        model.train(training)
        centre, quantiles = self._told(self._outputs(prediction, 1).double().cpu())
        found = {} if series.dates is None else {"dates": self.step.along(series.dates[-1], range(1, self.horizon + 1))}
        if quantiles is None or self.levels == "normal":
            found["mean"] = self._unscaled(centre[0])
        if quantiles is not None:
            levels = NORMAL if self.levels == "normal" else self.levels
            found["quantiles"] = {level: self._unscaled(quantiles[0, ..., at]) for at, level in enumerate(levels)}
        return found

    def loss(self, prediction: Tensor, y: Tensor) -> Tensor:
        """The mean over all values that are there, as ``levels`` say."""
        outputs, y, known = self._outputs(prediction, len(y)), y.nan_to_num().to(prediction), ~y.isnan()
        if self.levels is None:
            costs = (outputs[..., 0] - y).square()
        elif self.levels == "normal":
            mean, spread = outputs[..., 0], _spread(outputs)
            costs = ((y - mean) / spread).square() / 2 + spread.log() + math.log(2 * math.pi) / 2
        else:
            costs = _pinball(outputs, y, self.levels)
        return _mean(costs, known)

    def metrics(self, prediction: Tensor, y: Tensor) -> dict[str, float]:
        """{"loss", "mse", "mae", "mase"}, and with levels {"pinball", "coverage", "width"}."""
        prediction, known = prediction.detach(), ~y.isnan()
        found = {"loss": self.loss(prediction, y)}
        centre, quantiles = self._told(self._outputs(prediction, len(y)))
        y = y.nan_to_num().to(prediction)
        error = (centre - y).abs()
        found |= {"mse": _mean(error.square(), known), "mae": _mean(error, known)}
        found["mase"] = _mean(error / torch.tensor(self.scale).to(error), known)
        if quantiles is not None:
            low, high = quantiles[..., 0], quantiles[..., -1]
            levels = NORMAL if self.levels == "normal" else self.levels
            found["pinball"] = _mean(_pinball(quantiles, y, levels), known)
            found["coverage"] = _mean(((low <= y) & (y <= high)).to(y), known)
            found["width"] = _mean(high - low, known)
        return {name: value.item() for name, value in found.items()}

    def weight(self, y: Tensor) -> int:
        """How many values of y (B, H, C) are there."""
        return int((~y.isnan()).sum())

    def baselines(self) -> dict[str, float]:
        """What needs no learning: mse on "test" (defined above)."""
        (origins,), h, total = self.splits.finite("test"), self.horizon, dict[str, float]()
        for part in origins.split(256):
            (x, y), far = self._cut(part), self._windows(self._x, part, self.season)[..., : len(self.channels)]
            x, known = x[..., : len(self.channels)], ~y.isnan()
            guesses = {"last value": naive.last_value(x, h), "season before": naive.seasonal(far, h, self.season)}
            guesses |= {"drift": naive.drift(x, h), "mean of the window": naive.mean(x, h)}
            for name, guess in guesses.items():
                total[name] = total.get(name, 0.0) + (guess - y)[known].double().square().sum().item()
        count = sum(self.weight(self._cut(part)[1]) for part in origins.split(256))
        return {name: value / count for name, value in total.items()}

    def _read(self, values: Any, dates: Any) -> Dated:
        """A series like that of the constructor."""
        series = read_dated(values, self.column if dates is None else dates, self.channels)
        if series.step and self.step and series.step != self.step:
            raise ValueError(f"dates must be {self.step} apart, as in training, got {series.step}")
        if len(series.values) < self.lookback:
            raise ValueError(f"values must have {self.lookback} rows at least, the look-back, got {len(series.values)}")
        return series

    def _table(self, series: Dated) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """The columns of x (T, D_in), and where there are gaps, what is known without looking ahead.

        That is, for each row of each channel, the next row with a value (T, C), and the last value till now (T, C).
        """
        if self.missing == "refuse":
            expect_whole(series)
        values, known = self._scaled(series.values), ~np.isnan(series.values)
        columns, late, before = [filled(values, self.missing, self.season)], None, None
        if not known.all():
            ahead = np.where(known, np.arange(len(known))[:, None], len(known))
            late = torch.from_numpy(np.minimum.accumulate(ahead[::-1], 0)[::-1].copy())
            before = torch.from_numpy(filled(values, "previous", 1)).float()
        columns += [known] if self.masked else []
        if self.cycles:
            if series.dates is None:
                raise ValueError("dates must be given with calendar=True, got None")
            columns += [_phases(series.dates, cycle) for cycle in self.cycles]
        return torch.from_numpy(np.concatenate(columns, 1)).float(), late, before

    def _windows(self, table: tuple[Tensor, Tensor | None, Tensor | None], origins: Tensor, lookback: int) -> Tensor:
        """The rows (B, lookback, D_in) before these origins."""
        rows, late, before = table
        places = origins[:, None] + torch.arange(-lookback, 0)
        x = rows[places]
        if self.missing == "interpolate" and late is not None and before is not None:
            channels = slice(len(self.channels))
            x[..., channels] = torch.where(late[places] < origins[:, None, None], x[..., channels], before[places])
        return x

    def _cut(self, origins: Tensor) -> tuple[Tensor, Tensor]:
        """x (B, L, D_in) before and y (B, H, C) from these origins on."""
        return self._windows(self._x, origins, self.lookback), self._y[origins[:, None] + torch.arange(self.horizon)]

    def _outputs(self, prediction: Tensor, batch: int) -> Tensor:
        """The outputs (B, H, C, Q) of a prediction."""
        expect(prediction, (batch, "T", self.output_size), "prediction")
        if prediction.shape[1] < self.horizon:
            form = f"({batch}, T, {self.output_size}) with T at least {self.horizon}, the horizon"
            raise ValueError(f"prediction must have shape {form}, got {tuple(prediction.shape)}")
        return prediction[:, -self.horizon :].unflatten(2, (len(self.channels), -1))

    def _told(self, outputs: Tensor) -> tuple[Tensor, Tensor | None]:
        """The value, median or mean (B, H, C), and the quantiles (B, H, C, levels) if there are any."""
        if self.levels is None:
            return outputs[..., 0], None
        if self.levels != "normal":
            return outputs[..., min(range(len(self.levels)), key=lambda at: abs(self.levels[at] - 0.5))], outputs
        places = torch.special.ndtri(torch.tensor(NORMAL)).to(outputs)
        return outputs[..., 0], outputs[..., :1] + _spread(outputs)[..., None] * places

    def _scaled(self, values: np.ndarray) -> np.ndarray:
        return (values - self.middle) / self.width

    def _unscaled(self, values: Tensor) -> np.ndarray:
        return values.numpy() * self.width + self.middle

    def _tell(self) -> str:
        sizes = ", ".join(f"{end - begin:,} {name}" for name, (begin, end) in zip(SPLITS, pairwise(self.borders)))
        some = ", ".join(map(str, self.channels[:5])) + ", ..." * (len(self.channels) > 5)
        apart = f", {self.step} apart" if self.step else ""
        gaps = f"; {np.isnan(self.values).sum():,} values missing" if self.masked else ""
        return (
            f"SeriesTask: {sizes} rows{apart}; {len(self.channels)} channels ({some}); a season of {self.season}{gaps}"
        )


class ETT(SeriesTask):
    """The oil temperature of a transformer in a power grid, with six loads, hour by hour (Zhou et al. 2021).

    ``source`` is "ETTh1" or "ETTh2", of two places. 12, 4 and 4 months of 30 days are "train", "valid" and "test", as
    in the literature; all else is as `SeriesTask` has it.
    """

    files = {"ETTh1": ("ett/ETTh1.csv",), "ETTh2": ("ett/ETTh2.csv",)}

    def __init__(
        self,
        source: str = "ETTh1",
        lookback: int = 336,
        horizon: int = 96,
        *,
        levels: Sequence[float] | str | None = None,
        calendar: bool = False,
        stride: int = 1,
    ) -> None:
        expect_each(source=(source, [*self.files]), lookback=lookback, horizon=horizon, stride=stride)
        months = tuple(number * 30 * 24 for number in (12, 4, 4))
        settings = {"levels": levels, "calendar": calendar, "stride": stride, "splits": months}
        super().__init__(fetch(*self.files[source]), lookback, horizon, season=24, **settings)
        self.name = f"{source}-{lookback}-{horizon}"


def _mean(costs: Tensor, known: Tensor) -> Tensor:
    """Over the values that are there."""
    return costs.where(known, 0).sum() / known.sum().clamp(min=1)


def _spread(outputs: Tensor) -> Tensor:
    """The standard deviation (B, H, C)."""
    return F.softplus(outputs[..., 1]) + 1e-4


def _pinball(quantiles: Tensor, y: Tensor, levels: Sequence[float]) -> Tensor:
    """The pinball loss (B, H, C): an error costs its level where y is above, and 1 - level where it is below."""
    error, level = y[..., None] - quantiles, torch.tensor(levels).to(y)
    return torch.maximum(level * error, (level - 1) * error).mean(-1)


def _levels(levels: Any) -> Any:
    """As a list of ascending levels, or the name."""
    if levels is None or (isinstance(levels, str) and levels == "normal"):
        return levels
    found = list(levels) if not isinstance(levels, str) else []
    if not found or found != sorted(set(found)) or not 0 < found[0] <= found[-1] < 1:
        raise ValueError(f"levels must be None, 'normal' or ascending numbers between 0 and 1, got {levels!r}")
    return found


def _borders(splits: Sequence[float], rows: int, lookback: int, horizon: int) -> list[int]:
    """Where the splits begin, and the last one ends."""
    total = sum(splits)
    shares = abs(total - 1) < 1e-6
    if len(splits) != 3 or not min(splits) > 0 or not (shares or all(size == int(size) for size in splits)):
        raise ValueError(
            f"splits must be three positive numbers whose sum is 1, or three numbers of rows, got {splits!r}"
        )
    if total > max(rows, 1 + 1e-6):
        raise ValueError(f"splits must have {rows} rows together at most, those of values, got {splits!r}")
    train, test = (
        (int(share * rows + 1e-9) for share in (splits[0], splits[2])) if shares else (int(splits[0]), int(splits[2]))
    )
    valid = rows - train - test if shares else int(splits[1])
    for name, size, least in (("train", train, lookback + horizon), ("valid", valid, horizon), ("test", test, horizon)):
        if size < least:
            what = "lookback + horizon" if name == "train" else "horizon"
            raise ValueError(f"{what} must be at most {size}, the rows of {name!r} (of {rows} in all), got {least}")
    return [0, train, train + valid, train + valid + test]


def _scale(train: np.ndarray, series: Dated) -> tuple[list[float], list[float]]:
    """Mean and standard deviation of each channel in training."""
    for name, column in zip(series.channels, train.T, strict=True):
        there = column[~np.isnan(column)]
        if not len(there) or there.min() == there.max():
            got = f"{there[0]:g} throughout" if len(there) else "none"
            rows = series.rows[: len(train)]
            where = f"{series.place(rows[0])} to {series.place(rows.max())}, column {name!r}"
            raise ValueError(f"values must vary in each channel of 'train', got {got} in {where}")
    return np.nanmean(train, 0).tolist(), np.nanstd(train, 0).tolist()


def _cycles(step: Step | None) -> list[str]:
    """The cycles of the calendar that are longer than a step."""
    if step is None:
        raise ValueError("dates must be given with calendar=True, got None")
    size = step.count * (30 * DAY if step.unit == "M" else 1)
    return [name for name, length in (("day", DAY), ("week", WEEK), ("year", 360 * DAY)) if size < length]


def _phases(dates: np.ndarray, cycle: str) -> np.ndarray:
    """Where in the cycle each date is, as sine and cosine (T, 2)."""
    if cycle == "year":
        begin = dates.astype("M8[Y]")
        part = (dates - begin) / ((begin + 1).astype("M8[ms]") - begin)
    else:
        part = dates.astype(np.int64) / (DAY if cycle == "day" else WEEK) % 1
    return np.stack([np.sin(2 * np.pi * part), np.cos(2 * np.pi * part)], 1)
