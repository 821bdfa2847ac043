"""Pairs that separate, ranks and equal budgets: against all ways counted one by one, on made-up races."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from rtx_book.race import ranking
from rtx_book.race.race import Race
from rtx_book.race.ranking import Pairs, amounts, chance_apart, largest, over_tasks, pairs, rank_test, scores_within
from rtx_book.records import measured
from rtx_book.records.rules import truth

LANES = {"one": "One", "two": "Two", "three": "Three"}
FINISH = {"digits": ("accuracy", 0.9)}
INF = math.inf


def record(test, curve=(0.2, 0.4), *, metric="accuracy", seed=0, lost=None):
    """A run with an evaluation every 50 steps, tested at ``test``; ``lost`` is the step at which it diverged."""
    rows = [{"step": 50 * i, "split": "valid", metric: value} for i, value in enumerate(curve, start=1)]
    found = {"seed": seed, "evaluations": rows, "configuration": {}, "seconds": 1.0, "parameters": 7, "baselines": {}}
    return found | {"metrics": {} if lost else {metric: test}, "diverged": {"step": lost} if lost else None}


def race(task="digits", line=("accuracy", 0.9), costs=None, baselines=None, **lanes):
    """A race on one task: of each lane the test values, or its records."""
    runs = {
        (task, lane): [own if isinstance(own, dict) else record(own, metric=line[0], seed=i) for i, own in enumerate(v)]
        for lane, v in lanes.items()
    }
    return Race({lane: LANES[lane] for lane in lanes}, {task: line}, runs, costs or {}, baselines or {})


def dealt(ours, theirs):
    """All ways to deal the scores of two lanes."""
    both = [*ours, *theirs]
    for places in itertools.combinations(range(len(both)), len(ours)):
        yield [both[i] for i in places], [both[i] for i in range(len(both)) if i not in places]


# ---- pairs

SIDES = [([1, 2, 3, 4, 5], [6, 7, 8, 9, 10]), ([1, 2, 3, 4, 7], [5, 6, 8, 9, 10]), ([1, 2, 3], [3, 4, INF])]
SIDES += [([5, 5, 5], [5, 5, 5]), ([1, 1, INF], [2, INF, INF, INF]), ([9, 8], [1, 2, 3])]


@pytest.mark.parametrize(("ours", "theirs"), SIDES)
def test_the_test_of_a_pair_counts_all_ways(ours, theirs):
    both = sorted([*ours, *theirs])
    mean = {v: 1 + both.index(v) + (both.count(v) - 1) / 2 for v in both}
    own = sum(mean[v] for v in ours)
    ways = [sum(mean[v] for v in some) <= own + 1e-9 for some, _ in dealt(ours, theirs)]
    assert rank_test(ours, theirs) == pytest.approx(np.mean(ways))
    if len(set(both)) == len(both):
        exact = mannwhitneyu(ours, theirs, alternative="less", method="exact").pvalue
        assert rank_test(ours, theirs) == pytest.approx(exact)


def test_five_against_five_cannot_say_more_than_one_in_252():
    assert rank_test(*SIDES[0]) == pytest.approx(1 / 252) and rank_test(*SIDES[0][::-1]) == pytest.approx(1)
    with pytest.raises(ValueError, match="at least one score each, got 0 and 2"):
        rank_test([], [1, 2])


@pytest.mark.parametrize(("ours", "theirs"), SIDES)
def test_the_chance_to_separate_counts_all_ways(ours, theirs):
    apart = [max(a) < min(b) or max(b) < min(a) for a, b in dealt(ours, theirs)]
    assert chance_apart(ours, theirs) == pytest.approx(np.mean(apart))


def test_pairs_that_separate_are_counted_and_those_without_a_rival_apart():
    values = {"one": [0.9, 0.92, 0.94], "two": [0.7, 0.75, 0.8], "three": [0.05, 0.2, 0.3]}
    found = race(**values)
    assert pairs(found) == pairs(found, "digits") == Pairs(3, 3, 0, pytest.approx(3 * 2 / 20))
    known = race(**values, baselines={"digits": 0.1})
    assert pairs(known) == Pairs(3, 1, 2, pytest.approx(3 * 2 / 20)), "a seed of Three is no better than the baseline"
    few = race(**values | {"two": [0.7, 0.75]})
    assert pairs(few) == Pairs(1, 1, 0, pytest.approx(0.1)), "two runs are too few to be judged"
    same = race(one=[1.0, 1.0, 1.0], two=[1.0, 1.0, 1.0], three=[1.0, 1.0, 0.5])
    assert pairs(same) == Pairs(3, 0, 0, 0), "what ties cannot separate, by chance neither"


# ---- ranks


def counted(lanes, ways):
    """By lane how often it has each rank, over all ways to draw each lane's score, counted one by one."""
    found = {lane: np.zeros(len(lanes)) for lane in lanes}
    drawn = list(itertools.product(*(ways(own) for own in lanes.values())))
    for scores in drawn:
        for lane, score in zip(lanes, scores, strict=True):
            found[lane][sum(other > score for other in scores)] += 1 / len(drawn)  # accuracies: larger is better
    return found


def medians(values):
    return [np.median(draw) for draw in itertools.product(values, repeat=len(values))]


THREE = {"one": [0.9, 0.8, 0.7], "two": [0.85, 0.75, 0.65], "three": [0.1, 0.72, 0.72]}
TWO = {"one": [0.9, 0.8, 0.7, 0.6], "two": [0.85, 0.75], "three": [0.3]}


@pytest.mark.parametrize("values", [THREE, TWO], ids=["odd", "even"])
def test_ranks_are_those_of_all_draws_counted_one_by_one(values):
    found = ranking.ranking(race(**values), "digits")
    want = counted(values, medians)
    for lane, rank in found.ranks.items():
        total = want[lane].cumsum()
        ends = (1 + int(np.argmax(total > level - 1e-9)) for level in (0.025, 0.975))
        assert (rank.low, rank.high) == tuple(ends), lane
        assert rank.first == pytest.approx(want[lane][0]), lane


def test_the_order_is_that_of_the_medians_and_ties_share_the_better_place():
    found = ranking.ranking(race(one=[0.5] * 3, two=[0.9] * 3, three=[0.9] * 3), "digits")
    assert {lane: rank.place for lane, rank in found.ranks.items()} == {"two": 1, "three": 1, "one": 3}
    assert [(rank.low, rank.high, rank.first) for rank in found.ranks.values()] == [(1, 1, 1)] * 2 + [(3, 3, 0)]
    assert found.groups == [["two", "three"], ["one"]] and (found.split, found.tasks) == ("test", ("digits",))


def test_what_learned_nothing_ties_whatever_its_numbers():
    values = {"one": [0.9, 0.91, 0.92], "two": [0.09, 0.1, 0.095], "three": [0.05, 0.06, record(0, lost=60)]}
    found = ranking.ranking(race(**values, baselines={"digits": 0.1}), "digits")
    places = {lane: (rank.place, rank.low, rank.high) for lane, rank in found.ranks.items()}
    assert list(places)[1:] == ["two", "three"] and places["two"] == places["three"] == (2, 2, 2)
    open_end = ranking.ranking(race(**values), "digits")
    assert open_end.ranks["three"].place == 3, "where no baseline is known, numbers count"


def test_lanes_whose_intervals_overlap_are_one_group():
    values = {"one": [0.9, 0.88, 0.86, 0.84, 0.82], "two": [0.89, 0.87, 0.85, 0.83, 0.81], "three": [0.1] * 5}
    assert ranking.ranking(race(**values), "digits").groups == [["one", "two"], ["three"]]
    apart = race(**values | {"two": [0.5] * 5})
    assert ranking.ranking(apart, "digits").groups == [["one"], ["two"], ["three"]]


# ---- budgets

COSTS = {("digits", lane): {"seconds_per_step": s, "flops_per_step": 1e9} for lane, s in (("one", 0.1), ("two", 0.4))}
RISING = [0.3, 0.5, 0.7, 0.9]


def test_the_value_within_a_budget_is_that_of_the_last_evaluation_in_it():
    runs = [record(0.99, RISING), record(0.99, [0.2, 0.1]), record(0.99, [0.4, 0.6], lost=120)]
    found = race(one=runs, two=runs, costs=COSTS)
    for steps, want in ((49, [INF] * 3), (50, [-0.3, -0.2, -0.4]), (119, [-0.5, -0.1, -0.6]), (120, [-0.5, -0.1, INF])):
        assert scores_within(found, "digits", "one", "steps", steps).tolist() == want, steps
    assert scores_within(found, "digits", "two", "seconds", 40.0)[0] == -0.5, "100 steps of 0.4 seconds"
    assert scores_within(found, "digits", "two", "seconds", 39.9)[0] == -0.3
    assert scores_within(found, "digits", "one", "seconds", 0.1 * 150)[0] == -0.7, "rounding takes no evaluation away"
    assert len(scores_within(race(one=runs), "digits", "one", "seconds", 40.0)) == 0, "nobody timed it"
    with pytest.raises(ValueError, match=r"kind must be one of \['steps', 'FLOPs', 'seconds'\], got 'hours'"):
        scores_within(found, "digits", "one", "hours", 1)


def test_validation_and_test_are_never_mixed():
    """Whatever the one split says, a ranking by the other stays as it is."""
    ends = {"one": (0.9, 0.4), "two": (0.6, 0.8)}  # tested, validated
    found = race(**{lane: [record(test, [last])] * 3 for lane, (test, last) in ends.items()})
    tested, validated = ranking.ranking(found, "digits"), ranking.ranking(found, "digits", "steps", 50)
    assert (list(tested.ranks), tested.split) == (["one", "two"], "test")
    assert (list(validated.ranks), validated.split) == (["two", "one"], "validation")
    other = race(**{lane: [record(1 - test, [last])] * 3 for lane, (test, last) in ends.items()})
    assert ranking.ranking(other, "digits", "steps", 50) == validated
    other = race(**{lane: [record(test, [1 - last])] * 3 for lane, (test, last) in ends.items()})
    assert ranking.ranking(other, "digits") == tested
    for half in (("steps", None), (None, 50)):
        with pytest.raises(ValueError, match="kind and amount must be given together"):
            ranking.ranking(found, "digits", *half)


def test_the_dear_lane_falls_behind_where_seconds_are_equal():
    found = race(one=[record(0.9, RISING)] * 3, two=[record(0.9, [v + 0.05 for v in RISING])] * 3, costs=COSTS)
    leaders = {kind: next(iter(ranking.ranking(found, "digits", kind, largest(found, "digits", kind)).ranks))
               for kind in ranking.KINDS}  # fmt: skip
    assert leaders == {"steps": "two", "FLOPs": "two", "seconds": "one"}
    untimed = Race(found.lanes, found.finish, found.runs, {("digits", "one"): COSTS["digits", "one"]}, {})
    assert list(ranking.ranking(untimed, "digits", "seconds", 20).ranks) == ["one"], "who was not timed is left out"


def test_equal_budgets_end_where_the_cheapest_lane_does():
    curve = [0.1] * 20
    found = race(one=[record(0.9, curve)] * 3, two=[record(0.9, curve[:3], lost=160)] * 3, costs=COSTS)
    assert [largest(found, "digits", kind) for kind in ("steps", "FLOPs", "seconds")] == [1000, 1e12, 100]
    steps = amounts(found, "digits", "steps")
    assert steps == sorted(set(steps)) and steps[0] == 50 and steps[-1] == 1000, "those of evaluations, each once"
    seconds = amounts(found, "digits", "seconds")
    assert seconds == sorted(seconds) and seconds[-1] == pytest.approx(100) and seconds[0] == 5
    untimed = race(one=[0.9] * 3)
    assert amounts(untimed, "digits", "seconds") == [] and largest(untimed, "digits", "FLOPs") is None
    with pytest.raises(ValueError, match="task must be one with runs and costs in seconds"):
        ranking.ranking(untimed, "digits", "seconds", 1.0)


# ---- over tasks


def two_tasks(**changes):
    runs = {("a", lane): [record(v) for v in own] for lane, own in THREE.items()}
    runs |= {("b", lane): [record(v) for v in own[::-1]] for lane, own in (THREE | changes).items() if own}
    return Race(LANES, {"a": FINISH["digits"], "b": FINISH["digits"]}, runs, {}, {})


def test_over_tasks_ranks_are_means_with_the_interval_of_their_sum():
    changed = {"one": [0.7, 0.9, 0.2], "three": [0.8, 0.3, 0.9]}
    found = over_tasks(two_tasks(**changed), ties="best")
    own = [counted(values, medians) for values in (THREE, THREE | changed)]
    for lane, rank in found.ranks.items():
        ways = {(i, j): p * q for i, p in enumerate(own[0][lane], 1) for j, q in enumerate(own[1][lane], 1)}
        sums = sorted({i + j for i, j in ways})
        total = np.cumsum([sum(p for (i, j), p in ways.items() if i + j == s) for s in sums])
        ends = [sums[int(np.argmax(total > level - 1e-9))] / 2 for level in (0.025, 0.975)]
        assert [rank.low, rank.high] == ends, lane
    assert found.ranks["one"].place == 2 and found.tasks == ("a", "b") and found.split == "test"
    assert [lane for own in found.groups for lane in own] == list(found.ranks)


TIED = {"one": [0.95] * 3, "two": [0.99] * 3, "three": [0.5, 0.95, 0.6]}  # beyond 0.9 is beyond the line


@pytest.mark.parametrize("ties, shared, third", [("best", 1, (1, 3)), ("mean", 1.5, (2, 3)), ("worst", 2, (3, 3))])
def test_lanes_that_tie_share_the_rank_that_was_asked_for(ties, shared, third):
    """One and two tie beyond the line; three has their score in 7 of 27 ways to draw its seeds anew."""
    runs = {("digits", lane): [record(v) for v in own] for lane, own in TIED.items()}
    ranks = over_tasks(Race(LANES, FINISH, runs, {}, {}, ["digits"]), ties=ties).ranks
    assert [ranks[lane].place for lane in ("one", "two", "three")] == [shared, shared, 3]
    assert (ranks["three"].low, ranks["three"].high) == third
    assert (ranks["one"].low, ranks["one"].high) == {"best": (1, 1), "mean": (1.5, 2), "worst": (2, 3)}[ties]


def test_a_task_that_a_lane_does_not_run_is_left_out_of_the_mean():
    found = over_tasks(two_tasks(three=None), ties="best")
    assert found.tasks == ("a",) and found.ranks == ranking.ranking(two_tasks(), "a").ranks
    with pytest.raises(ValueError, match="all 3 lanes can be ranked, got none"):
        over_tasks(two_tasks(), "seconds")
    within = over_tasks(two_tasks(), "steps", ties="best")
    assert within.split == "validation" and {rank.place for rank in within.ranks.values()} == {1.0}


# ---- for rules


def test_rules_can_name_ranks_and_pairs():
    records = ranking.computed(race(one=[0.9, 0.92, 0.94], two=[0.7, 0.75, 0.8], three=[0.72, 0.76, 0.79]))
    assert measured.series("rank-digits-one.group", records) == [1]
    assert [measured.series(f"rank-digits-{lane}.group", records) for lane in ("two", "three")] == [[2], [2]]
    assert measured.series("rank-two.order", records) == [3] and measured.series("rank-digits.beside", records) == [0]
    assert measured.value("pairs.separate.median", records) == 2
    assert measured.series("pairs-digits.void", records) == [0]
    ours = {"A": "rank-digits-one.high", "B": "rank-digits-two.low", "C": "rank-digits-three.low"}
    assert truth("every A < B", ours, records)
    assert not truth("every B < C", ours | {"B": "rank-digits-two.high"}, records), "these cannot be told apart"
