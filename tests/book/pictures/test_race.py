"""The race: the numbers given are the numbers drawn, better is to the right, and what is missing is said."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rtx_book.page.figure import show
from rtx_book.pictures.race import arrange, draw_lane, draw_lengths, over_seeds
from rtx_book.pictures.race_explorer import race_explorer
from rtx_lib.plots import FAMILIES

LANES = {
    "rnn": "RNN",
    "irnn": "IRNN",
    "lstm": "LSTM",
    "gru": "GRU",
    "deep-gru": "Deep-transition GRU",
    "indrnn": "IndRNN",
    "tcn": "TCN",
    "transformer": "Transformer",
    "transformer-none": "Transformer without positions",
    "r-transformer": "R-Transformer",
    "transformer-xl": "Transformer-XL",
}


def described(name: str, metric: str, line: float | None, **baselines: float) -> dict[str, Any]:
    return {"name": name, "metric": metric, "line": line, "label": metric, "baselines": baselines}


TASKS = {
    "adding": described("Adding", "mse", 0.01, constant=1 / 6),
    "copy": described("Copy memory", "loss", 0.02, memoryless=0.416),
    "digits": described("Digits", "accuracy", 0.9, commonest=0.1),
    "text": described("Characters", "loss", 1.9, bigram=2.48),
    "chorales": described("Chorales", "loss", None),
}
STEPS = list(range(50, 1501, 50))
COSTS = {(task, lane): {"seconds_per_step": 0.02, "flops_per_step": 2e9} for task in TASKS for lane in LANES}


def summary(values: list[float], task: dict[str, Any], diverged: int = 0) -> dict[str, Any]:
    line, higher = task["line"], task["metric"] == "accuracy"
    solved = None if line is None else sum(v >= line if higher else v <= line for v in values)
    middle, low, high = (float(np.median(values)), min(values), max(values)) if values else (None, None, None)
    told = {"seeds": len(values) + diverged, "values": values, "solved": solved, "diverged": diverged}
    return told | {"median": middle, "low": low, "high": high}


def results() -> dict[str, dict[str, Any]]:
    rng = np.random.default_rng(0)
    ends = {"adding": (0.17, 1e-4), "copy": (0.4, 1e-3), "digits": (0.3, 0.99), "text": (2.4, 1.6), "chorales": (11, 8)}
    made: dict[str, dict[str, Any]] = {}
    for task, (worst, best) in ends.items():
        shares = np.linspace(0, 1, len(LANES))
        middles = [worst * (best / worst) ** share for share in shares]
        made[task] = {
            lane: summary(list(m * rng.uniform(0.99, 1.01, 5)), TASKS[task])
            for lane, m in zip(LANES, middles, strict=True)
        }
    return made


def runs(seeds: int = 5, **names: str) -> dict[str, list[dict[str, Any]]]:
    rng = np.random.default_rng(1)
    return {
        task: [
            {"lane": lane, "name": names.get(lane, name), "seed": seed, "steps": STEPS, "values": values.tolist()}
            for i, (lane, name) in enumerate(LANES.items())
            for seed in range(seeds)
            for values in [np.linspace(0.1, 0.5 + i / 25, 30) * rng.uniform(0.95, 1.05, 30)]
        ]
        for task in TASKS
    }


def labelled(ax: Axes, label: str) -> list[Any]:
    return [line for line in ax.get_lines() if line.get_label() == label]


def words(of: Figure | Axes) -> list[str]:
    return [text.get_text() for text in of.findobj(mpl.text.Text) if text.get_text().strip()]


# ---- lanes


def test_lanes_are_in_their_families_order_and_strangers_come_last() -> None:
    groups = arrange({"new": "New", **LANES})
    assert list(groups) == ["recurrent", "convolution", "between", "attention", "other"]
    assert groups["other"] == ["new"] and groups["attention"][0] == "transformer"
    assert sorted(lane for own in groups.values() for lane in own) == sorted(["new", *LANES])
    assert arrange({"tcn": "TCN"}) == {"convolution": ["tcn"]}
    assert set(LANES) <= {model for own in FAMILIES.values() for model in own}


def test_a_run_that_ends_early_counts_as_worst() -> None:
    whole = [{"steps": [1, 2, 3], "values": [3.0, 2.0, v]} for v in (1.0, 1.5)]
    ended = {"steps": [1, 2], "values": [3.5, 9.0]}
    steps, middle, low, high = over_seeds([*whole, ended], higher=False)
    assert steps.tolist() == [1, 2, 3] and middle.tolist() == [3, 2, 1.5]
    assert low.tolist() == [3, 2, 1] and high.tolist() == [3.5, 9, 1.5]
    assert over_seeds([*whole, ended], higher=True)[1].tolist() == [3, 2, 1]
    steps, middle, *_ = over_seeds([whole[0], ended], higher=False)
    assert middle[:2].tolist() == [3.25, 5.5] and np.isnan(middle[2]), "the median ends where half of the runs have"
    nan = {"steps": [1, 2, 3], "values": [1.0, None, float("nan")]}
    assert over_seeds([nan], higher=False)[0].tolist() == [1]
    assert len(over_seeds([{"steps": [], "values": []}], higher=False)[0]) == 0
    with pytest.raises(ValueError, match="2 steps and 1 values"):
        over_seeds([{"steps": [1, 2], "values": [1]}], higher=True)
    with pytest.raises(ValueError, match="at least one run"):
        over_seeds([], higher=True)


# ---- the reader's own run, live


def test_your_run_is_strong_and_labelled(ax: Axes) -> None:
    yours = {"name": "GRU, my rate", "steps": [50, 100], "values": [0.2, 0.6]}
    draw_lane(ax, runs(2)["digits"], yours, ("accuracy", 0.9))
    assert len(ax.get_lines()) == len(LANES) + 2 and set(words(ax)) >= set(LANES.values())
    (mine,) = labelled(ax, "your run: GRU, my rate")
    assert mine.get_ydata().tolist() == [0.2, 0.6] and mine.get_linewidth() > 2 * ax.get_lines()[0].get_linewidth()
    assert "finish line 0.9" in words(ax) and "higher is better" in ax.get_ylabel()
    ax = plt.subplots()[1]
    draw_lane(ax, [], None, ("mse", None))
    draw_lane(ax, [], {"name": "x", "steps": [], "values": []}, ("mse", None))
    assert not ax.get_lines() and ax.get_yscale() == "log"
    with pytest.raises(ValueError, match="got 1 and 2"):
        draw_lane(ax, [], {"name": "x", "steps": [1], "values": [1, 2]}, ("mse", None))


# ---- lengths and costs


def test_lengths_one_panel_a_lane() -> None:
    given = {
        length: {
            lane: summary([v * length / 100] * 3, TASKS["adding"])
            for lane, v in zip(LANES, np.geomspace(1e-3, 0.1, 11), strict=True)
        }
        for length in (200, 50, 100)
    }
    del given[200]["gru"], given[50]["tcn"], given[100]["tcn"], given[200]["tcn"]
    fig = draw_lengths(TASKS["adding"], LANES, given, x_label="T")
    panels = {ax.get_title().replace("\n", " "): ax for ax in fig.axes if ax.get_visible()}
    assert list(panels)[6:8] == ["TCN", "R-Transformer"] and set(panels) == set(LANES.values())
    (line,) = labelled(panels["RNN"], "_lane")
    assert line.get_xdata().tolist() == [50, 100, 200] and np.allclose(line.get_ydata(), [5e-4, 1e-3, 2e-3])
    assert len(labelled(panels["GRU"], "_median")) == 2
    assert "no records" in words(panels["TCN"]) and "no records" not in words(panels["GRU"])
    fills = {name: [m.get_fillstyle() for m in labelled(ax, "_median")] for name, ax in panels.items()}
    assert fills["RNN"] == ["full"] * 3 and fills["Transformer-XL"] == ["none"] * 3
    assert panels["RNN"].get_yscale() == "log"
    assert len(show(fig, "all lengths", wide=True).data) < 160_000
    with pytest.raises(ValueError, match="must not be empty"):
        draw_lengths(TASKS["adding"], LANES, {}, x_label="T")


# ---- the explorer


def data_of(text: str) -> dict[str, Any]:
    (found,) = re.findall(r'data-race="([^"]*)"', text)
    return json.loads(html.unescape(found))


def test_the_explorer_holds_the_numbers_given() -> None:
    given = runs()
    given["digits"] = [run for run in given["digits"] if run["lane"] != "tcn"]
    data = data_of(text := race_explorer(given, TASKS, COSTS).data)
    names = [lane["name"] for lane in data["lanes"]]
    assert sorted(names) == sorted(LANES.values())
    gru, tcn = str(names.index("GRU")), str(names.index("TCN"))
    own = np.array([run["values"] for run in given["digits"] if run["lane"] == "gru"])
    entry = data["tasks"][2]["lanes"][gru]
    assert entry["s"] == STEPS
    assert np.allclose(entry["m"], np.median(own, axis=0), rtol=1e-3)
    assert np.allclose(entry["l"], own.min(axis=0), rtol=1e-3) and np.allclose(entry["h"], own.max(axis=0), rtol=1e-3)
    assert entry["cost"] == [0.02, 2_000_000_000] and entry["n"] == 5 and entry["reach"] is None
    assert tcn not in data["tasks"][2]["lanes"] and tcn in data["tasks"][0]["lanes"]
    best = data["tasks"][2]["best"]
    assert [names[k] for k in best] == ["IndRNN", "R-Transformer", "Transformer-XL"]
    low, high = data["tasks"][2]["y"]
    assert low <= 0.1 and 0.9 <= high <= 1.05
    assert len(text.encode()) < 150_000
    assert "http" not in text and "<script" not in text


def test_the_finish_line_is_reached_from_the_right_side() -> None:
    tasks = {"a": described("A", "accuracy", 0.5), "b": described("B", "loss", 0.5)}
    gru = {"lane": "gru", "name": "GRU", "steps": [10, 20, 30]}
    rising = [gru | {"seed": seed, "values": [0.2, 0.4 + 0.2 * seed, 0.6]} for seed in range(2)]
    falling = [dict(run, values=run["values"][::-1]) for run in rising]
    drawn = data_of(race_explorer({"a": rising, "b": falling}, tasks, {}).data)["tasks"]
    for task, higher in zip(drawn, (True, False), strict=True):
        lane = task["lanes"]["0"]
        assert (task["higher"], lane["reach"], lane["reached"], lane["cost"]) == (higher, 25, 2, [None, None])


def test_long_curves_are_thinned_and_the_ends_stay() -> None:
    steps = list(range(1, 5001))
    long = {"adding": [{"lane": "gru", "name": "GRU", "seed": 0, "steps": steps, "values": [1 / s for s in steps]}]}
    (entry,) = data_of(race_explorer(long, TASKS, {}).data)["tasks"][0]["lanes"].values()
    assert len(entry["s"]) == len(entry["m"]) == 60
    assert (entry["s"][0], entry["s"][-1], entry["m"][-1]) == (1, 5000, 0.0002)


def test_runs_that_diverged_or_are_not_there() -> None:
    gone = {"lane": "rnn", "name": "RNN", "seed": 1, "steps": [50, 100], "values": [0.2, float("inf")]}
    text = race_explorer({"digits": [gone], "text": [dict(gone, values=[None, None])]}, TASKS, COSTS).data
    data = data_of(text)
    entry = data["tasks"][2]["lanes"]["0"]
    assert (entry["s"], entry["m"], entry["off"], entry["end"]) == ([50, 100], [0.2, None], 1, [None] * 3)
    assert data["tasks"][3]["lanes"]["0"]["m"] == [None] and data["tasks"][0]["lanes"] == {}
    assert "no value yet" in text
    assert "no value yet" in race_explorer({}, TASKS, {}).data


def with_ended(*lasts: int) -> dict[str, Any]:
    """The entry of a lane whose runs end with these evaluations, on a task where another lane runs to step 300."""
    steps, rising = [100, 200, 300], [0.3, 0.5, 0.7]
    mine = [
        {"lane": "irnn", "name": "IRNN", "seed": s, "steps": steps[:n], "values": [v + s / 100 for v in rising[:n]]}
        for s, n in enumerate(lasts)
    ]
    other = {"lane": "gru", "name": "GRU", "seed": 0, "steps": steps, "values": rising}
    (task,) = data_of(race_explorer({"digits": [*mine, other]}, {"digits": TASKS["digits"]}, {}).data)["tasks"]
    assert task["best"] == [1], "what has no end is not the best of its family"
    return task["lanes"]["0"]  # type: ignore[no-any-return]


def test_a_lane_whose_every_run_ends_early_ends_there() -> None:
    """As runs do that diverge between two evaluations, all between the same two or not: no value stays for later."""
    for lasts, steps in (((1, 1), [100, 200]), ((2, 1, 1), [100, 200, 300]), ((0, 0), [100])):
        entry = with_ended(*lasts)
        assert entry["off"] == len(lasts) and entry["end"] == [None] * 3
        assert entry["s"] == steps and entry["m"][-1] is None


def test_a_lane_of_which_half_ends_early_has_no_median_at_the_end() -> None:
    entry = with_ended(3, 1)
    assert (entry["off"], entry["end"]) == (1, [None, 0.7, 0.7])
    assert entry["s"] == [100, 200, 300] and entry["m"] == [0.305, None, None]


def test_your_runs_come_first_and_are_named() -> None:
    yours = [{"task": "text", "name": "mine <b>", "steps": [50, 100], "values": [2.0, 1.8], "seconds_per_step": 0.5}]
    data = data_of(text := race_explorer(runs(1), TASKS, COSTS, yours=yours).data)
    assert data["lanes"][-1]["name"] == "your run: mine <b>" and data["lanes"][-1]["family"] == "yours"
    assert data["tasks"][3]["lanes"]["11"]["cost"] == [0.5, None] and 11 in data["tasks"][3]["best"]
    assert "11" not in data["tasks"][0]["lanes"]
    assert data["start"] == 3, "the explorer opens on your task"
    assert "your run: mine &lt;b&gt;" in text and "<b>" not in text


def test_the_lines_of_two_of_your_runs_differ() -> None:
    yours = [{"task": "text", "name": str(k), "steps": [50], "values": [2.0], "seconds_per_step": 0.5} for k in (1, 2)]
    one, other = data_of(race_explorer(runs(1), TASKS, COSTS, yours=yours).data)["lanes"][-2:]
    assert one["dash"] != other["dash"] and one["mark"] != other["mark"]


def test_names_are_escaped_everywhere() -> None:
    sly = '<img src=x onerror="a()">'
    tasks = {"a": described(sly, "loss", 1.0, **{sly: 2.0}) | {"label": sly}}
    given = {"a": [{"lane": "gru", "name": sly, "seed": 0, "steps": [1, 2], "values": [2.0, 1.0]}]}
    text = race_explorer(given, tasks, {}).data
    assert "<img" not in text
    assert data_of(text)["lanes"][0]["name"] == sly


def test_without_a_script_there_is_a_picture_of_all_lanes_and_your_run() -> None:
    """And it says who is first."""
    yours = [{"task": "digits", "name": "mine", "steps": [50, 1500], "values": [0.4, 0.97]}]
    text = race_explorer(runs(1), TASKS, COSTS, yours=yours).data
    (alt,) = re.findall(r'role="img" aria-label="([^"]+)"', text)
    assert alt.startswith("accuracy (higher is better) of 12 models on Digits, over steps; first: your run: mine 0.97")
    assert set(re.findall(r">([^<]+)</text>", text)) >= {*LANES.values(), "your run: mine", "finish line 0.9"}


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        ({"golf": []}, {}, "got 'golf'"),
        ({}, {"yours": [{"task": "golf", "name": "x", "steps": [], "values": []}]}, "got 'golf'"),
        ({"text": [{"lane": "gru", "name": "GRU", "steps": [1], "values": []}]}, {}, "1 steps and 0 values"),
    ],
)
def test_bad_explorers(given: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        race_explorer(given, TASKS, {}, **options)
