"""A race in numbers: hand-made records with known answers."""

import math

import numpy as np
import pytest

from rtx_book.race.race import NO_RIVAL, Race, changed_places, rate_effect, worse_beside
from rtx_book.records import measured

LANES = {"one": "One", "two": "Two", "three": "Three"}
FINISH = {"digits": ("accuracy", 0.9), "text": ("loss", 1.8)}


def record(metric, value, loss=0.5, steps=(0.0, 1.0)):
    rows = [{"step": 50 * i, metric: v} for i, v in enumerate(steps, start=1)]
    metrics = {} if value is None else {"loss": loss} | {metric: value}
    found = {"metrics": metrics, "evaluations": rows, "seconds": 1.0, "parameters": 7, "seed": 0, "configuration": {}}
    return found | {"diverged": None if value is not None else {"step": 3}}


def of(task, metric="accuracy", **lanes):
    """Records of one task; lanes as lists of the metric, None for a run that diverged."""
    return {(task, lane): [record(metric, value) for value in values] for lane, values in lanes.items()}


def race(costs=None, **lanes):
    """A race on the digits, and on the text."""
    runs = {("text", "one"): [record("loss", 1.7, steps=(1.9, 1.75))] * 3}
    runs |= {("text", "two"): [record("loss", 2.0, steps=(2.5, 2.0))] * 3}
    return Race(LANES, FINISH, runs | of("digits", **lanes), costs or {})


def test_a_run_that_diverged_scores_worse_than_every_other():
    found = race(one=[0.9, None, 0.8])
    assert found.scores("digits", "one").tolist() == [-0.9, math.inf, -0.8]
    assert found.scores("text", "one").tolist() == [1.7] * 3
    assert len(found.scores("digits", "two")) == 0, "no records, no scores"
    assert found.values("digits", "one") == [0.9, 0.8] and found.values("digits", "two") == []


def test_the_best_median_comes_first_and_lanes_without_records_are_left_out():
    found = race(one=[0.5, 0.6, 0.99], three=[0.7, 0.7, 0.7])
    assert found.order("digits") == ["three", "one"] and found.leaders("digits") == ["three"]
    assert (found.place("digits", "three"), found.place("digits", "one")) == (1, 2)
    assert found.order("text") == ["one", "two"], "of a loss the smaller one"


def test_equal_medians_lead_together_and_the_loss_puts_them_in_order():
    runs = {("digits", lane): [record("accuracy", 1.0, loss)] * 3 for lane, loss in (("one", 0.3), ("two", 0.1))}
    found = Race(LANES, FINISH, runs)
    assert found.leaders("digits") == ["two", "one"]
    assert [found.place("digits", lane) for lane in ("one", "two")] == [1, 1]


def test_runs_that_solve_the_task_tie():
    runs = of("digits", one=[0.91, 0.92, 0.93], two=[0.97, 0.98, 0.99], three=[0.7, 0.8, 0.95])
    open_end, ended = (Race(LANES, {"digits": FINISH["digits"]}, runs, {}, {}, solved) for solved in ((), ["digits"]))
    assert open_end.duel("digits", "two", "one") == 1 and ended.duel("digits", "two", "one") == 0
    assert open_end.leaders("digits") == ["two"] and ended.leaders("digits") == ["two", "one"]
    assert ended.order("digits") == ["two", "one", "three"], "in the table they stand by their values"
    assert [ended.place("digits", lane) for lane in LANES] == [1, 1, 3]
    assert ended.values("digits", "two") == [0.97, 0.98, 0.99] and ended.ceiling("digits") == -0.9
    lost = Race(LANES, {"text": ("loss", 1.8)}, of("text", "loss", one=[1.7, 1.9, None]), {}, {}, ["text"])
    assert lost.scores("text", "one").tolist() == [1.8, 1.9, math.inf]


def test_a_duel_is_decided_by_every_seed():
    found = race(one=[0.8, 0.85, 0.9], two=[0.5, 0.6, 0.7], three=[0.6, 0.82, 0.99])
    assert found.duel("digits", "one", "two") == 1 and found.duel("digits", "two", "one") == -1
    assert found.duel("digits", "one", "three") == 0, "seeds overlap"
    assert found.beaten("one", "two") == {1: ["digits", "text"]}
    assert race(one=[0.9, 0.9], two=[0.1, 0.1, 0.1]).duel("digits", "one", "two") is None, "too few runs"
    assert race(one=[0.9, 0.9, None], two=[0.1, 0.1, 0.1]).duel("digits", "one", "two") == 0, "one run diverged"


@pytest.mark.parametrize("worst", [0.1, 0.05, None])
def test_a_rival_with_a_seed_that_misses_the_baseline_decides_nothing(worst):
    runs = of("digits", one=[0.8, 0.85, 0.9], two=[0.5, worst, 0.7], three=[0.6, 0.65, 0.75])
    found = Race(LANES, {"digits": FINISH["digits"]}, runs, baselines={"digits": 0.1})
    assert [lane for lane in LANES if found.misses("digits", lane)] == ["two"], "no better is not better"
    assert found.duel("digits", "one", "two") == found.duel("digits", "two", "one") == NO_RIVAL
    assert found.duel("digits", "one", "three") == 1, "both are better than the baseline"
    assert found.duel("digits", "two", "three") == 0, "overlapping seeds decide nothing anyway"
    assert found.beaten("one", "two") == {NO_RIVAL: ["digits"]}


def test_who_is_hardly_better_than_the_baseline_has_learned_nothing():
    """A formula for the baseline differs from its value on a sample, so models that learned nothing lie around it."""
    runs = of("digits", one=[0.13, 0.13, 0.14], two=[0.12, 0.13, 0.11], three=[0.6, 0.65, 0.75])
    found = Race(LANES, {"digits": FINISH["digits"]}, runs, baselines={"digits": 0.1})
    assert found.floor("digits") == pytest.approx(-0.145), "a twentieth of the way from 0.1 to 1"
    assert [lane for lane in LANES if found.misses("digits", lane)] == ["one", "two"]
    assert [found.place("digits", lane) for lane in LANES] == [2, 2, 1], "they tie"
    lost = of("text", "loss", one=[2.38, 2.38, 2.37], two=[2.36, 2.36, 2.3])
    found = Race(LANES, {"text": FINISH["text"]}, lost, baselines={"text": 2.5})
    assert found.floor("text") == pytest.approx(2.375)
    assert found.misses("text", "one") and not found.misses("text", "two")
    assert Race(LANES, {"text": FINISH["text"]}, lost, baselines={}).floor("text") == math.inf


def test_how_far_a_lane_gets_from_nothing_to_the_best():
    runs = of("digits", one=[0.12, 0.13, 0.14], two=[0.3, 0.3, 0.9], three=[0.5, 0.5, 0.5])
    found = Race(LANES | {"four": "Four"}, {"digits": FINISH["digits"]}, runs, baselines={"digits": 0.1})
    ways = {lane: found.way("digits", lane) for lane in found.lanes}
    assert ways == {"one": 0, "two": pytest.approx(0.5), "three": pytest.approx(1), "four": None}
    lost = of("text", "loss", one=[2.0, 2.0, 2.0], two=[1.0, 1.0, 1.0])
    found = Race(LANES, {"text": FINISH["text"]}, lost, baselines={"text": 3.0})
    assert [found.way("text", lane) for lane in ("one", "two")] == [pytest.approx(0.5), pytest.approx(1)]
    nobody = Race(LANES, {"text": FINISH["text"]}, lost, baselines={"text": 1.01})
    assert nobody.way("text", "two") is None, "none has learned anything"
    assert Race(LANES, {"text": FINISH["text"]}, lost, baselines={}).way("text", "two") is None


def test_the_better_lane_may_have_beaten_the_baseline_alone():
    runs = of("text", "loss", one=[2.4, 2.4, 2.4], two=[2.6, 2.7, 2.8], three=[2.9, 2.9, 2.9])
    runs = {key: [run | {"baselines": {"pairs": 2.5}} for run in own] for key, own in runs.items()}
    found = Race(LANES, {"text": FINISH["text"]}, runs, baselines={"text": "pairs"})
    assert found.baseline("text") == 2.5, "the records know it by its name"
    assert found.duel("text", "one", "two") == found.duel("text", "two", "three") == NO_RIVAL
    for unknown in ({}, {"text": "frequencies"}):
        other = Race(LANES, {"text": FINISH["text"]}, runs, baselines=unknown)
        assert other.baseline("text") is None and other.duel("text", "one", "two") == 1


def test_who_crosses_the_line_and_at_which_cost():
    costs = {("text", "one"): {"seconds_per_step": 0.5, "flops_per_step": 2.0}}
    found = race(costs, one=[0.9, 0.95, 0.9], two=[0.95, 0.95, 0.89])
    assert found.finishers("digits") == ["one"] and found.finishers("text") == ["one"]
    assert found.finishers("digits", 0.51) == ["one", "two"]
    records = found.computed({})
    assert [measured.series(f"most-lines-{lane}.crossed", records) for lane in ("one", "two")] == [[2], [1]]
    assert measured.series("most-lines-two.rivals", records) == [1]
    assert found.spent("text", "one", "seconds_per_step") == 50.0, "step 100 is the first at 1.8"
    assert found.spent("text", "two", "seconds_per_step") is None, "it never got there"
    assert found.spent("digits", "one", "seconds_per_step") is None, "nobody timed it"


def test_the_widest_range_is_measured_against_the_distance_of_the_lanes():
    found = race(one=[0.1, 0.5, 0.9], two=[0.7, 0.7, 0.7])
    assert found.widest(1) == [("digits", "one")] and len(found.widest(9)) == 4


def test_what_was_computed_can_be_named_like_a_record():
    costs = {("text", lane): {"seconds_per_step": s, "flops_per_step": 1.0} for lane, s in (("one", 0.5), ("two", 0.1))}
    found = race(costs, one=[0.9, 0.95, 0.9], two=[0.5] * 3)
    records = found.computed({"text": {"one": {0.1: 1.9, 0.2: 3.0}, "two": {0.1: 2.0, 0.2: 2.1}}})
    assert measured.series("step-text-one.seconds_to_line", records) == [50.0]
    assert measured.series("step-text-one.solved", records) == [3]
    assert measured.series("step-text-one.rank", records) == [1]
    assert measured.value("step-text-one.seconds_per_step.median / step-text-two.seconds_per_step.median", records) == 5
    assert measured.series("step-text.times", records) == [5.0, 1.0]
    assert measured.value("step-text.work.max", records) == 1
    assert measured.series("lines-one.crossed", records) == [2] and measured.series("lines-one.rivals", records) == [0]
    places = [measured.series(f"place-{lane}.place", records) for lane in ("one", "two")]
    assert places == [[1, 1], [2, 2]]
    assert measured.series("place-one.off_by_one", records) == [None, 2], "3.0 is worse than 2.1"
    lost = found.computed({"text": {"one": {0.1: 1.9, 0.2: math.inf}, "two": {0.1: 2.0}}})
    assert measured.series("place-one.off_by_one", lost) == [None, 2], "a trial that diverged is the worst"


def test_how_a_lane_stands_with_a_rate_beside_its_best():
    found = race(one=[0.9, 0.95, 0.9], two=[0.5] * 3)
    tried = {"one": {0.1: 9.0, 0.2: 1.9, 0.3: 1.8, 0.4: 2.2}, "two": {0.1: 2.4, 0.2: 2.0, 0.3: 2.3, 0.4: 99.0}}
    records = found.computed({"text": tried})
    assert measured.series("place-one.off_by_one", records) == [None, 1], "2.2 is better than 2.4"
    assert measured.series("place-two.off_by_one", records) == [None, 2]
    assert worse_beside({1.0: 3.0, 2.0: 1.0, 4.0: 2.0, 8.0: 9.0}) == 3.0
    assert worse_beside({1.0: 1.0, 2.0: 4.0, 4.0: 9.0}) == 4.0, "at an end there is one beside it"
    assert worse_beside({1.0: 5.0}) == 5.0


def test_rates_are_set_against_lanes():
    tried = {"one": {1.0: 1.0, 2.0: 0.9, 3.0: 0.1}, "two": {1.0: 0.5, 2.0: 0.45, 3.0: 0.4}}
    tried["lost"] = {1.0: math.inf, 2.0: 0.9, 3.0: math.inf}
    found = rate_effect(tried)
    assert found.leader == "one" and (found.behind, found.others) == (1, 1), "the lane that was lost does not count"
    assert found.second == pytest.approx((0.8 + 0.05) / 2) and found.lanes == pytest.approx(0.3)
    assert found.beside == pytest.approx((0.8 + 0.05) / 2)
    with pytest.raises(ValueError, match="two lanes with two finite losses"):
        rate_effect({"one": {1.0: 0.9, 2.0: 0.8}})


def test_pairs_that_change_places():
    assert changed_places([1, 2, 3], [1, 3, 2]) == pytest.approx(1 / 3)
    assert changed_places([1, 2], [2, 2]) == 0, "a tie is no change of places"
    assert changed_places([1], [5]) == 0


def test_the_book_s_race_is_whole():
    from rtx_book.runs import recorded
    from rtx_book.runs.recipes import race as plan

    found = recorded()
    assert {cell: len(found.of(*cell)) for cell in plan.CELLS} == dict.fromkeys(plan.CELLS, len(plan.SEEDS))
    assert np.isfinite(found.scores("digits", "tcn")).all()
    assert all(found.baseline(task) is not None for task in plan.TASKS)
    assert not found.misses("digits", "tcn")
    for (task, lane), cost in found.costs.items():
        assert found.of(task, lane)[0]["parameters"] == cost["parameters"], "the costs are of other models"


def test_curves_keep_the_best_where_the_best_is_tested():
    found = race(one=[0.9])
    run = record("loss", 1.7, steps=(2.0, 1.5, 1.8)) | {"configuration": {"keep_best": "loss"}}
    assert found.curve("text", run) == {"steps": [50, 100, 150], "values": [2.0, 1.5, 1.5]}
    assert found.curve("text", run | {"configuration": {"keep_best": None}})["values"] == [2.0, 1.5, 1.8]
    rising = record("accuracy", 0.9, steps=(0.2, 0.8, 0.4)) | {"configuration": {"keep_best": "accuracy"}}
    assert found.curve("digits", rising)["values"] == [0.2, 0.8, 0.8]


def test_every_run_has_its_curve_and_its_seed():
    two = [record("accuracy", value) | {"seed": seed} for seed, value in ((3, 0.9), (5, 0.8))]
    found = Race(LANES, {"digits": FINISH["digits"]}, {("digits", "one"): two})
    told = [(run["lane"], run["name"], run["seed"]) for run in found.curves("digits")]
    assert told == [("one", "One", 3), ("one", "One", 5)]
    assert found.by_seed("digits") == {"one": {3: 0.9, 5: 0.8}, "two": {}, "three": {}}
