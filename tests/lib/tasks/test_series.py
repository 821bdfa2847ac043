"""Windows of a series: what is read, asked and counted; scaling, heads, metrics, and forecasts of one's own."""

import json
import math
from functools import partial

import numpy as np
import pytest
import torch
from support.compare import generator
from support.data import reads
from support.helpers import refusals

from rtx_lib import fit, load, save
from rtx_lib.layers import GRU, Readout
from rtx_lib.tasks import ETT, SeriesTask, naive

RNG = np.random.default_rng(0)
T = np.arange(120)
WAVE = np.stack([5 + np.sin(T * np.pi / 6), 100 * np.cos(T * np.pi / 6) + T], 1) + RNG.normal(size=(120, 2)) / 9
HOURS = np.datetime64("2024-02-28T20:00", "ms") + T * np.timedelta64(1, "h")
HOLES = np.where((T[:, None] * [1, 3] % 13 == 5) | ((T > 50) & (T < 60))[:, None], np.nan, WAVE)
LEVELS = (0.1, 0.4, 0.9)
SETTINGS = [{}, {"levels": LEVELS}, {"levels": "normal"}]
SPLITS = ("train", "valid", "test")


def whole(task, split):
    return next(task.batches(split, 9999))


class Linear(torch.nn.Linear):
    def __init__(self, task):
        super().__init__(task.lookback * task.input_size, task.horizon * task.output_size)

    def forward(self, x, state=None):
        return super().forward(x.flatten(1)).unflatten(1, (6, -1)), None


@pytest.mark.parametrize(("splits", "stride"), [((0.7, 0.1, 0.2), 1), ((60, 20, 30), 1), ((84, 12, 24), 4)])
def test_every_window_is_used_and_no_target_crosses_a_border(splits, stride):
    task = SeriesTask(WAVE, 10, 5, splits=splits, stride=stride)
    sizes = splits if sum(splits) > 1 else (84, 12, 24)
    scaled = torch.tensor((WAVE - task.middle) / task.width).float()
    for number, split in enumerate(SPLITS):
        begin, end = sum(sizes[:number]), sum(sizes[: number + 1])
        origins = range(max(begin, 10), end - 4, stride if number else 1)
        x, y = whole(task, split)
        assert len(y) == len(origins) and x.shape[1:] == (10, 2) and y.shape[1:] == (5, 2)
        for row, origin in enumerate(origins):
            assert torch.equal(torch.cat([x[row], y[row]]), scaled[origin - 10 : origin + 5])
        assert stride > 1 or torch.equal(y[-1, -1], scaled[end - 1])  # the last is not dropped


def test_scales_and_season_come_from_training_alone():
    task, other = SeriesTask(WAVE, 10, 5), SeriesTask(np.where(T[:, None] < 84, WAVE, 1e6 * WAVE[::-1]), 10, 5)
    assert np.allclose(task.middle, WAVE[:84].mean(0)) and np.allclose(task.width, WAVE[:84].std(0))
    assert task.season == other.season == 12 and task.scale == other.scale
    assert torch.equal(whole(task, "train")[0], whole(other, "train")[0]) and whole(other, "test")[0].abs().max() > 1e4


@pytest.mark.parametrize("rule", ["previous", "season"])
def test_what_is_missing_is_marked_filled_from_before_and_asked_nowhere(rule):
    task = SeriesTask(HOLES, 10, 5, missing=rule, season=12)
    assert task.input_size == 4 and str(task).endswith("season 12, some gaps")
    known = torch.tensor(~np.isnan(HOLES))
    for split in SPLITS:
        (origins,) = task.splits.finite(split)
        x, y = whole(task, split)
        assert x.isfinite().all() and torch.equal(~y.isnan(), known[origins[:, None] + torch.arange(5)])
        assert torch.equal(x[..., 2:].bool(), known[origins[:, None] + torch.arange(-10, 0)])
    later = SeriesTask(np.where(T[:, None] < 100, HOLES, 7.0), 10, 5, missing=rule, season=12)
    until = int((task.splits.finite("test")[0] <= 100).sum())
    assert torch.equal(whole(task, "test")[0][:until], whole(later, "test")[0][:until])  # nothing of what is to come


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_metrics_and_gradients_never_see_what_is_missing(settings):
    task = SeriesTask(HOLES, 10, 5, missing="previous", **settings)
    _, y = whole(task, "train")
    prediction = torch.randn(len(y), 7, task.output_size, generator=generator()).double().requires_grad_()
    task.loss(prediction, y).backward()
    counts = torch.cat([torch.zeros_like(y[:, :2], dtype=torch.bool), ~y.isnan()], 1)  # of 7 positions the last 5
    each = task.output_size // 2
    assert torch.equal(prediction.grad.unflatten(2, (2, each)).abs().sum(-1) > 0, counts)
    other = torch.where(counts.repeat_interleave(each, 2), prediction, 1e6)
    assert task.metrics(other, y) == task.metrics(prediction, y) and task.weight(y) == int(counts.sum())
    empty = torch.full_like(y, math.nan)
    assert task.loss(prediction, empty).item() == 0 == task.weight(empty)


def test_the_calendar_tells_where_in_day_week_and_year():
    x, _ = whole(SeriesTask(WAVE, 24, 5, dates=HOURS, calendar=True), "train")
    assert x.shape[-1] == 2 + 6 and torch.equal(x[..., :2], whole(SeriesTask(WAVE, 24, 5), "train")[0])
    hours = (20 + torch.arange(24)) * math.pi / 12
    assert torch.allclose(x[0, :, [2, 5]], torch.stack([hours.sin(), hours.cos()], 1), atol=1e-5)
    turns = torch.atan2(x[0, :, 2:5], x[0, :, 5:])
    assert torch.allclose((turns[-1] - turns[0])[1:], 23 * math.tau / torch.tensor([168, 365.2425 * 24]), atol=1e-4)
    with pytest.raises(ValueError, match="dates must be given with calendar=True, got None"):
        SeriesTask(WAVE, 24, 5, calendar=True)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_losses_and_metrics_are_their_definitions(settings):
    task, mean = SeriesTask(WAVE, 10, 5, **settings), torch.Tensor.mean
    y = whole(task, "test")[1].double()
    prediction = torch.randn(len(y), 5, task.output_size, generator=generator()).double()
    outputs = prediction.view(*y.shape, -1)
    ordered = outputs.sort(-1).values if settings.get("levels") == LEVELS else outputs
    error = ordered[..., int(settings.get("levels") == LEVELS)] - y  # of LEVELS 0.4 is next to the median
    scaled = (WAVE[:84] - task.middle) / task.width
    expected = {"mse": mean(error.square()), "mae": mean(error.abs())}
    expected |= {"loss": expected["mse"], "mase": naive.mase(error + y, y, scaled, task.season)}
    if settings:
        normal = torch.distributions.Normal(outputs[..., 0], torch.nn.functional.softplus(outputs[..., 1]) + 1e-4)
        if task.normal:
            ordered = torch.stack([normal.icdf(torch.tensor(level)) for level in task.levels], -1)
        levels, over, raw = torch.tensor(task.levels), y[..., None] - ordered, y[..., None] - outputs
        expected["pinball"] = mean(torch.where(over > 0, levels * over, (levels - 1) * over))
        expected["coverage"] = mean(((over[..., 0] >= 0) & (over[..., -1] <= 0)).double())
        expected["width"] = mean(ordered[..., -1] - ordered[..., 0])
        expected["loss"] = -mean(normal.log_prob(y))
        if not task.normal:
            expected["loss"] = mean(torch.where(raw > 0, levels * raw, (levels - 1) * raw))
    found = task.metrics(prediction, y) | {"loss": task.loss(prediction, y).item()}
    assert found == pytest.approx({name: float(value) for name, value in expected.items()}, rel=1e-5)


def test_baselines_by_hand():
    task = SeriesTask(np.where(T[:, None] == 110, np.nan, WAVE), 10, 5, missing="previous", season=12)
    (origins,), (values, y) = task.splits.finite("test"), whole(task, "test")
    values = values[..., :2]
    season = task._x[origins[:, None] - 12 + torch.arange(5), :2]  # further back than the look-back
    guesses = {"last value": naive.last_value(values, 5), "season before": season}
    guesses |= {"drift": naive.drift(values, 5), "mean of the window": naive.mean(values, 5)}
    expected = {name: (guess - y).square().nanmean().item() for name, guess in guesses.items()}
    assert task.baselines() == pytest.approx(expected, rel=1e-5) and min(expected, key=expected.get) == "season before"


def test_from_a_file_to_a_forecast_with_an_interval(tmp_path):
    rows = (f"{day},{a:.3f},{b:.3f}" for day, (a, b) in zip(HOURS.astype("M8[s]"), WAVE, strict=True))
    (tmp_path / "mine.csv").write_text("\n".join(["date,load,heat", *rows]), encoding="utf-8")
    torch.manual_seed(0)

    task = SeriesTask(tmp_path / "mine.csv", lookback=24, horizon=6, levels=(0.1, 0.5, 0.9))
    model = Linear(task)
    fit(model, task, steps=150, batch_size=32, lr=0.01, progress=False)
    found = task.forecast(model)

    low, middle, high = (found["quantiles"][level] for level in (0.1, 0.5, 0.9))
    assert low.shape == (6, 2) and (low <= middle).all() and (middle <= high).all() and model.training
    assert (np.abs(middle - WAVE[-12:-6] - [0, 12]).mean(0) < [0.4, 30]).all()  # in the units of the file
    assert (found["dates"] == HOURS[-1] + np.arange(1, 7) * np.timedelta64(1, "h")).all()


@pytest.mark.parametrize("settings", [*SETTINGS, {"missing": "season", "calendar": True, "season": np.int64(24)}])
def test_a_task_without_its_data_forecasts_what_it_is_given(tmp_path, settings):
    values, dates = (HOLES, HOURS) if "missing" in settings else (WAVE, None)
    task = SeriesTask(values, 24, 6, dates=dates, **settings)
    model = Readout(GRU(task.input_size, 5), task)
    save(tmp_path / "mine.safetensors", model, task)
    model, kept = load(tmp_path / "mine.safetensors")
    assert str(kept) == str(task) and json.dumps(kept.configuration()) == json.dumps(task.configuration(), default=int)
    one, two = task.forecast(model), kept.forecast(model, values, dates)
    assert repr(one) == repr(two) and not model.training
    if "mean" in one:
        outputs = model(task._x[None, -24:])[0][0, -6:].detach().view(6, 2, -1)
        assert np.allclose(one["mean"], outputs[..., 0].numpy() * task.width + task.middle)
    with pytest.raises(ValueError, match=r"task must hold data for this, got 'series-24-6.*'"):
        kept.forecast(model)
    with pytest.raises(ValueError, match="values must have the 24 rows of lookback, got 23"):
        kept.forecast(model, values[:23], None if dates is None else dates[:23])
    if dates is not None:
        with pytest.raises(ValueError, match="dates must be 1 hour apart, as in training, got 1 day"):
            kept.forecast(model, values, np.datetime64("2024-01-01") + T)


BETWEEN = "levels must be None, 'normal' or ascending numbers between 0 and 1, got"
SUM = "splits must be three positive numbers whose sum is 1, or numbers of rows, 120 together at most, got"
WRONG = {
    "lookback must be at least 1, got 0": {"lookback": 0},
    "horizon must be a whole number of at least 1, got 2.5": {"horizon": 2.5},
    "stride must be at least 1, got 0": {"stride": 0},
    r"missing must be one of \['refuse', 'previous', 'season'\], got 'interpolate'": {"missing": "interpolate"},
    "season must be at least 1 and below 84, the rows of training, got 0": {"season": 0},
    f"{BETWEEN} 'quantiles'": {"levels": "quantiles"},
    rf"{BETWEEN} \(0.9, 0.1\)": {"levels": (0.9, 0.1)},
    rf"{BETWEEN} \(0, 0.5\)": {"levels": (0, 0.5)},
    rf"{BETWEEN} \[\]": {"levels": []},
    rf"{SUM} \(0.5, 0.5\)": {"splits": (0.5, 0.5)},
    rf"{SUM} \(0.8, 0.3, -0.1\)": {"splits": (0.8, 0.3, -0.1)},
    rf"{SUM} \(90, 20, 20\)": {"splits": (90, 20, 20)},
    r"lookback \+ horizon must be at most 84, the rows of 'train' \(of 120 in all\), got 85": {"lookback": 80},
    r"horizon must be at most 12, the rows of 'valid' \(of 120 in all\), got 13": {"horizon": 13},
    "values must vary in .*, got 3.0 throughout in row 0 to row 83, column 1": {"values": WAVE * [1, 0] + [0, 3]},
}
GOOD = {"values": WAVE, "lookback": 10, "horizon": 5}
test_what_is_refused = refusals({message: partial(SeriesTask, **GOOD | WRONG[message]) for message in WRONG})


@reads(ETT)
def test_the_published_baselines_with_every_window_and_with_those_that_their_loader_takes():
    """Zeng et al. 2023, table 2, ETTh1 at 96: repeat, 1.295 and 0.713; theirs leaves out what fills no batch of 32."""
    task = ETT()
    assert task.name == "ETTh1-336-96" and task.season == 24 and len(task.channels) == 7
    x, y = whole(task, "test")
    assert len(y) == 2880 - 96 + 1
    for count, near in ((len(y), 0.002), (len(y) // 32 * 32, 0.0005)):
        error = (naive.last_value(x, 96) - y)[:count]
        assert error.square().mean().item() == pytest.approx(1.295, abs=near)
        assert error.abs().mean().item() == pytest.approx(0.713, abs=near)
    found = task.baselines()
    assert found["season before"] == pytest.approx(0.512, abs=0.0005)
    assert found["mean of the window"] == pytest.approx(0.706, abs=0.0005)
    assert (naive.seasonal(x, 96, 168) - y).square().mean().item() == pytest.approx(0.657, abs=0.0005)


@reads(ETT, "ETTh2")
def test_the_other_transformer():
    """As above, ETTh2 at 96: repeat, 0.432."""
    task = ETT("ETTh2", levels="normal")
    assert task.name == "ETTh2-336-96-normal" and task.baselines()["last value"] == pytest.approx(0.432, abs=0.002)
