"""The explorers of the race: they hold the numbers given, and the still picture says the same."""

import html
import json
import re
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from support.board import LANES, TASKS

from rtx_book.pictures.race_explorer import describe_ranks, draw_ranks, race_explorer, rank_explorer

STEPS = list(range(50, 1501, 50))
COSTS = {(task, lane): {"seconds_per_step": 0.02, "flops_per_step": 2e9} for task in TASKS for lane in LANES}


def runs(seeds: int = 5) -> dict[str, list[dict[str, Any]]]:
    rng = np.random.default_rng(1)
    return {
        task: [
            {"lane": lane, "name": name, "seed": seed, "steps": STEPS, "values": values.tolist()}
            for i, (lane, name) in enumerate(LANES.items())
            for seed in range(seeds)
            for values in [np.linspace(0.1, 0.5 + i / 10, 30) * rng.uniform(0.98, 1.02, 30)]
        ]
        for task in TASKS
    }


def data_of(text: str, kind: str = "race") -> dict[str, Any]:
    (found,) = re.findall(f'data-{kind}="([^"]*)"', text)
    return json.loads(html.unescape(found))


def test_the_explorer_holds_the_numbers_given() -> None:
    given = runs()
    given["digits"] = [run for run in given["digits"] if run["lane"] != "tcn"]
    data = data_of(text := race_explorer(given, TASKS, COSTS).data)
    names = [lane["name"] for lane in data["lanes"]]
    assert sorted(names) == sorted(LANES.values())
    own = np.array([run["values"] for run in given["digits"] if run["lane"] == "rnn"])
    digits = data["tasks"][1]
    entry = digits["lanes"][str(names.index("RNN"))]
    assert entry["s"] == STEPS
    curves = [np.median(own, axis=0), own.min(axis=0), own.max(axis=0)]
    np.testing.assert_allclose([entry[letter] for letter in "mlh"], curves, rtol=1e-3)
    assert entry["cost"] == [0.02, 2_000_000_000] and entry["n"] == 5 and entry["reach"] is None
    assert str(names.index("TCN")) not in digits["lanes"]
    assert [names[k] for k in digits["best"]] == ["IndRNN, as published"], "the best of each family"
    assert "http" not in text and "<script" not in text


def test_the_finish_line_is_reached_from_the_right_side() -> None:
    tasks = {key: TASKS[key] | {"line": 0.5} for key in ("digits", "text")}
    rnn = {"lane": "rnn", "name": "RNN", "steps": [10, 20, 30]}
    rising = [rnn | {"seed": seed, "values": [0.2, 0.4 + 0.2 * seed, 0.6]} for seed in range(2)]
    falling = [dict(run, values=run["values"][::-1]) for run in rising]
    drawn = data_of(race_explorer({"digits": rising, "text": falling}, tasks, {}).data)["tasks"]
    told = [(task["higher"], *(task["lanes"]["0"][key] for key in ("reach", "reached", "cost"))) for task in drawn]
    assert told == [(True, 25, 2, [None, None]), (False, 25, 2, [None, None])]


def test_long_curves_are_thinned_and_the_ends_stay() -> None:
    steps = list(range(1, 5001))
    long = {"adding": [{"lane": "rnn", "name": "RNN", "seed": 0, "steps": steps, "values": [1 / s for s in steps]}]}
    (entry,) = data_of(race_explorer(long, TASKS, {}).data)["tasks"][0]["lanes"].values()
    assert len(entry["s"]) == len(entry["m"]) == 60
    assert (entry["s"][0], entry["s"][-1], entry["m"][-1]) == (1, 5000, 0.0002)


@pytest.mark.parametrize(
    ("lasts", "steps", "middle", "off", "end"),
    [
        ((1, 1), [100, 200], [0.305, None], 2, [None] * 3),
        ((2, 1, 1), [100, 200, 300], [0.31, None, None], 3, [None] * 3),
        ((0, 0), [100], [None], 2, [None] * 3),
        ((3, 1), [100, 200, 300], [0.305, None, None], 1, [None, 0.7, 0.7]),
    ],
)
def test_a_lane_ends_where_half_of_its_runs_do(lasts, steps, middle, off, end) -> None:
    """As runs do that diverge between two evaluations: no value stays for later."""
    at, own = [100, 200, 300], {"lane": "irnn", "name": "IRNN"}
    curves = enumerate(lasts)
    mine = [{**own, "seed": s, "steps": at[:n], "values": [0.3 + s / 100, 0.5, 0.7][:n]} for s, n in curves]
    other = {"lane": "gru", "name": "GRU", "seed": 0, "steps": at, "values": [0.3, 0.5, 0.7]}
    (task,) = data_of(race_explorer({"digits": [*mine, other]}, {"digits": TASKS["digits"]}, {}).data)["tasks"]
    entry = task["lanes"]["0"]
    assert task["best"] == [1], "what has no end is not the best of its family"
    assert [entry[key] for key in ("s", "m", "off", "end")] == [steps, middle, off, end]


def test_your_runs_come_first_and_are_named_and_told_apart() -> None:
    yours = [
        {"task": "digits", "name": name, "steps": [50, 1500], "values": [0.4, value], "seconds_per_step": 0.5}
        for name, value in (("mine <b>", 0.9), ("two", 0.97))
    ]
    data = data_of(text := race_explorer(runs(1), TASKS, COSTS, yours=yours).data)
    one, two = data["lanes"][-2:]
    assert one["name"] == "your run: mine <b>" and one["family"] == "yours"
    assert one["dash"] != two["dash"] and one["mark"] != two["mark"]
    assert data["tasks"][1]["lanes"]["4"]["cost"] == [0.5, None] and {4, 5} <= set(data["tasks"][1]["best"])
    assert "4" not in data["tasks"][0]["lanes"] and data["start"] == 1, "the explorer opens on your task"
    assert "<b>" not in text, "names are escaped"
    (alt,) = re.findall(r'role="img" aria-label="([^"]+)"', text)
    assert alt.startswith("accuracy (higher is better) of 6 models on Digits, over steps; first: your run: two 0.97")
    assert set(re.findall(r">([^<]+)</text>", text)) >= {"RNN", "your run: two", "finish line 0.95"}
    assert "no value yet" in race_explorer({}, TASKS, {}).data


# ---- ranks

RANKS = {
    "tcn": {"place": 1, "low": 1.0, "high": 2.0, "group": 1},
    "rnn": {"place": 2, "low": 2.0, "high": 3.0, "group": 1},
    "indrnn": {"place": 3, "low": 3.0, "high": 3.0, "group": 2},
}


def frame(amount: str = "100 steps", split: str = "validation", **ranks: Any) -> dict[str, Any]:
    return {"amount": amount, "said": f"after {amount} <TCN> is first", "split": split, "ranks": ranks or RANKS}


def drawn(fig: Figure) -> dict[str, tuple[float, list[float], bool]]:
    """By name the place, the interval and whether the mark is filled, as drawn; better must be to the right."""
    (ax,) = fig.axes
    assert ax.xaxis_inverted(), "better is not to the right"
    assert ax.yaxis_inverted(), "the first row is not the upper one"
    lines = {kind: [line for line in ax.get_lines() if line.get_label() == kind] for kind in ("_place", "_interval")}
    rows = zip([text.get_text() for text in ax.get_yticklabels()], *lines.values(), strict=True)
    return {
        name: (float(mark.get_xdata()[0]), list(bar.get_xdata()), mark.get_markerfacecolor() != "none")
        for name, mark, bar in rows
    }


def test_ranks_intervals_and_groups_are_drawn_and_told() -> None:
    want = {LANES[k]: (r["place"], [r["low"], r["high"]], r["group"] == 1) for k, r in RANKS.items()}
    fig = draw_ranks(RANKS, LANES, "rank on the test split")
    assert drawn(fig) == want and fig.axes[0].get_xlabel() == "rank on the test split, better →"
    told = "TCN is first. Rank and interval: TCN 1 (1 to 2), RNN 2 (2 to 3), IndRNN 3 (3 to 3)"
    assert describe_ranks("TCN is first", RANKS, LANES) == told


def test_the_rank_explorer_holds_the_numbers_given() -> None:
    other = {"rnn": RANKS["tcn"] | {"low": 1.25}, "tcn": RANKS["rnn"]}
    frames = {"Digits": {"steps": [frame("50 steps", **other), frame()]}}
    frames["Text"] = {"steps": [], "FLOPs": [frame("1 FLOP")]}
    page = rank_explorer(frames, LANES).data
    data = data_of(page, "ranks")
    assert [lane["name"] for lane in data["lanes"]] == list(LANES.values()) and data["split"] == "validation"
    told = {task["name"]: {kind["name"]: kind["frames"] for kind in task["kinds"]} for task in data["tasks"]}
    assert list(told["Text"]) == ["FLOPs"], "what has no budget is no choice"
    first = ["50 steps", "after 50 steps <TCN> is first", [[0, 1, 1.25, 2, 1], [3, 2, 2, 3, 1]]]
    assert told["Digits"]["steps"][0] == first
    assert '<p class="fig-title" style' in page and ">after 100 steps &lt;TCN&gt; is first</p>" in page
    assert "rank on the validation split after 100 steps, better →" in page, "the still picture says the split"
    assert "its mark is filled.</figcaption>" in page
    named = rank_explorer(frames, LANES, "Text").data
    assert [task["name"] for task in data_of(named, "ranks")["tasks"]] == ["Text", "Digits"]
    assert "rank on the validation split after 1 FLOP" in named, "the still picture, too"


def test_budgets_of_two_splits_are_refused() -> None:
    with pytest.raises(ValueError, match=r"one split, got \['test', 'validation'\]"):
        rank_explorer({"Digits": {"steps": [frame()]}, "Text": {"steps": [frame(split="test")]}}, LANES)
