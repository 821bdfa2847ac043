"""Sentences and rows of a race: hand-made records with known answers."""

import pytest

from rtx_book.race import race_words as words
from rtx_book.race.race import Race, rate_effect
from rtx_book.race.ranking import Pairs, Rank, Ranking, ranking
from rtx_book.records.seeds import summarise

LANES = {"one": "One", "two": "Two"}
NAMES = {"digits": "Digits", "adding": "Adding"}


def record(metric, value, seed=0, reached=True, recipe="race-x"):
    metrics = {} if value is None else {metric: value, "loss": 1.0}
    row = {"step": 50, metric: value if reached and value is not None else (0.0 if metric == "accuracy" else 1.0)}
    found = {"recipe": recipe, "seed": seed, "metrics": metrics, "evaluations": [row], "seconds": 1.0, "parameters": 10}
    return found | {"diverged": None if value is not None else {"step": 3}, "configuration": {"lr": 0.01}}


@pytest.fixture
def race():
    own = {
        "digits": {"one": [0.95, 0.96, 0.97], "two": [0.5, None, 0.6]},
        "adding": {"one": [0.001234, 0.0022, 0.0031], "two": [0.2, 0.2, 0.2]},
    }
    metrics = {"digits": ("accuracy", 0.9), "adding": ("mse", 0.01)}
    runs = {
        (task, lane): [record(metrics[task][0], value, seed, lane == "one") for seed, value in enumerate(values)]
        for task, lanes in own.items()
        for lane, values in lanes.items()
    }
    names = ("seconds_per_step", "flops_per_step", "parameters")
    timed = {"one": (0.02, 4e12, 10_000), "two": (0.05, 1e12, 10_000)}
    costs = {("digits", lane): dict(zip(names, own, strict=True)) for lane, own in timed.items()}
    return Race(LANES, metrics, runs, costs, {})


def test_names_stand_as_in_a_sentence_and_most_are_said_by_those_left_out():
    told = {"": "none", "A": "A", "AB": "A and B", "ABC": "A, B and C"}
    assert {names: words.listed(list(names)) for names in told} == told
    told = {"ABC": "all but D", "ABCD": "all", "AB": "A and B", "": "none"}
    assert {names: words.most_of(list(names), "ABCD") for names in told} == told
    told = {"ABCD": "A, B, C and D", "ABCDE": "5 models"}
    assert {names: words.listed_few(list(names)) for names in told} == told


def test_who_crosses_the_lines(race):
    assert words.crossings(race) == "One crosses all 2 lines every time"
    harder = Race(LANES, race.finish | {"digits": ("accuracy", 0.96)}, race.runs)
    told = "No model crosses all 2 lines every time; One crosses 1"
    assert words.crossings(harder) == told


def test_who_crosses_both_of_two_lines(race):
    told = "Of 2 models One (3 and 3 of 3 seeds) crosses the lines of both digits and adding"
    assert words.told_both(race, "digits", "adding", NAMES) == told
    harder = Race(LANES, race.finish | {"digits": ("accuracy", 0.99)}, race.runs)
    assert words.told_both(harder, "digits", "adding", NAMES).startswith("Of 2 models none crosses")
    easy = Race(LANES, {"digits": ("accuracy", 0.55), "adding": ("mse", 0.3)}, race.runs)
    told = "Of 2 models One (3 and 3 of 3 seeds) and Two (1 and 3 of 3 seeds) cross"
    assert words.told_both(easy, "digits", "adding", NAMES).startswith(told)


def test_how_many_runs_of_some_lanes_cross_a_line(race):
    assert words.told_solved(race, "digits", ["one"]) == "3 of 3 runs"
    assert words.told_solved(race, "digits", ["one", "two"]) == "3 of 6 runs"


def test_where_one_lane_is_ahead_of_another_and_a_rival_that_misses_the_baseline_is_no_trophy(race):
    known = Race(LANES, race.finish, race.runs, race.costs, {"adding": 1 / 6})
    void = " Not ranked, because the loser has a seed that has not learned it: Adding."
    for found, both, end in ((race, "Digits, Adding", ""), (known, "Digits", void)):
        for one, other, won, lost in (("one", "two", both, "none"), ("two", "one", "none", both)):
            told = f"Ahead in every seed on: {won}. Behind in every seed on: {lost}.{end}"
            assert words.lead_changes(found, NAMES, one, other) == told


def test_wide_ranges_are_told_with_their_rates(race):
    for run in race.runs["digits", "two"]:
        run["configuration"] = {"lr": 0.003}
    told = words.told_widest(race, NAMES, lambda value: f"{value:.2g}", 2)
    assert told == "Two on digits, 0.5 to 0.6, rate 0.003; One on digits, 0.95 to 0.97, rate 0.01"


def test_some_folds_are_set_against_all():
    by_seed = {"one": [0.9, 0.5, 0.5], "two": [0.6, 0.6, 0.6], "three": [0.1, 0.1, 0.1]}
    runs = {
        ("digits", lane): [record("accuracy", value, seed) for seed, value in enumerate(own)]
        for lane, own in by_seed.items()
    }
    found = Race(LANES | {"three": "Three"}, {"digits": ("accuracy", 0.9)}, runs)
    assert words.told_folds(found, "digits", (0, 1)) == "33% of all pairs of models change places"
    assert words.told_folds(found, "digits", (0, 1, 2)).startswith("0%")
    assert words.told_folds(found, "digits", (0, 7)).startswith("0%"), "a lane without a fold is left out"


def test_what_a_rate_is_worth_fills_rows():
    effect = rate_effect({"one": {1.0: 0.1, 2.0: 0.9}, "two": {1.0: 0.5, 2.0: 0.6}})
    told = {"digits": {"name": "Digits", "metric": "accuracy"}, "adding": {"name": "Adding", "metric": "mse"}}
    rows = words.rate_rows({"digits": effect, "adding": effect}, told, LANES, "{:.2f}".format)
    assert rows[0] == ("Digits", "nats", "0.45", "0.45", "0.40", "One would fall behind 1 of 1")
    assert rows[1][:2] == ("Adding", "MSE")


def test_hours_are_told_by_part_and_in_all():
    def took(seconds, name="a CPU"):
        return {"seconds": seconds, "device": {"name": name}}

    told = words.told_hours([[took(1800), took(1800)], [took(7200, "another")]])
    assert told == "3.0 hours of one thread (1.0 + 2.0; a CPU, another)"


def test_costs_of_a_step(race):
    assert words.cost_rows(race, "digits", positions=2048)[0] == ("One", "20", "4000.00", "32552.08", "200000")
    assert words.cost_factor(race, "digits", "seconds_per_step") == (2.5, "One", "Two")
    assert words.cost_factor(race, "digits", "flops_per_step") == (4.0, "Two", "One")
    told = "in time by a factor of 2.5 (One least, Two most), in arithmetic by a factor of 4.0 (Two least, One most)"
    assert words.told_factors(race, "digits") == told


def test_rows_of_the_table(race):
    rows = words.table_rows(race, NAMES, lambda value: f"{value:.4g}", page="records.html")
    assert {len(row) for row in rows} == {len(words.COLUMNS)}
    assert [row[:2] for row in rows] == [["One", "Digits"], ["Two", "Digits"], ["One", "Adding"], ["Two", "Adding"]]
    assert rows[0][2:5] == [(0.96, "0.96", "records.html#recipe-race-x"), (0.95, "0.95 to 0.97"), (3, "3/3")]
    assert rows[0][5:] == [50, (1.0, "1"), (200e12, "200.00"), 0.01]
    assert rows[1][4] == (0, "0/3, 1 diverged") and rows[1][5:8] == [None, None, None], "it never got there"
    assert rows[2][3] == (0.001234, "0.0012 to 0.0031"), "ends of errors have two digits"
    assert rows[2][6] is None, "nobody timed it"


def test_a_lane_whose_runs_all_diverged_has_a_row(race):
    lost = Race(LANES, race.finish, race.runs | {("adding", "two"): [record("mse", None)] * 3})
    row = next(row for row in words.table_rows(lost, NAMES, str) if row[:2] == ["Two", "Adding"])
    assert row[2][:2] == (None, "diverged") and row[3] is None and row[4] == (0, "0/3, 3 diverged")


def test_lengths_are_told_of_three_seeds_only():
    def of(*values):
        return summarise([record("mse", value) for value in values], "mse", 0.01)

    good, bad = (0.001, 0.002, 0.003), (0.1, 0.001, 0.002)
    found = {50: {"one": of(*good), "two": of(0.001)}, 100: {"one": of(*good), "two": of(*good)}}
    found[200] = {"one": of(*bad), "two": of(0.5, 0.5)}
    assert words.told_lengths(found, LANES) == (
        "From 100 to 200 these lose the line: One. Beyond it with every seed: at 50 One; at 100 all; "
        "at 200 none. Not judged, with fewer than 3 seeds: at 50 Two; at 200 Two."
    )
    assert words.told_lengths({50: {"one": of(*good)}, 100: {"one": of(*good)}}, {"one": "One"}) == (
        "From 50 to 100 no lane with 3 seeds at both loses the line. Beyond it with every seed: at 50 all; at 100 all."
    )
    with pytest.raises(ValueError, match="two lengths or more"):
        words.told_lengths({50: {"one": of(*good)}}, LANES)


# ---- how sure it is

TIE = "One and Two share the first place"
FOUR = {"one": "One", "two": "Two", "three": "Three", "four": "Four"}


def ranks(*rows, tasks=("digits",), kind=None, amount=None):
    """A ranking of as many lanes as there are rows, each the place and the ends of its interval."""
    own = {lane: Rank(*row, first=0.5) for lane, row in zip([*FOUR, "five", "six"], rows, strict=False)}
    return Ranking(own, tasks, "test" if kind is None else "validation", kind, amount)


def test_pairs_that_separate_are_set_against_chance():
    told = "179 of 275 pairs of models separate with every seed; by chance about 2 would."
    assert words.told_pairs(Pairs(275, 179, 0, 2.18)) == told
    void = " In 12 more a seed of the loser has not learned the task; these show who learns."
    assert words.told_pairs(Pairs(275, 179, 12, 2.18)) == told + void
    ends = {0.3: "by chance fewer than one would.", 0.0: "by chance none would."}
    for chance, end in ends.items():
        assert words.told_pairs(Pairs(3, 1, 0, chance)).endswith(end)


def test_a_test_says_when_it_can_say_no_more(race):
    told = words.told_test(race, NAMES, "adding", "one", "two")
    assert told == (
        "Adding, One against Two: 1 of 20 ways to deal the seeds would rank One at least as high, p = 0.05, the least "
        "that so many seeds can show"
    )
    turned = words.told_test(race, NAMES, "adding", "two", "one")
    assert turned == "Adding, Two against One: 20 of 20 ways to deal the seeds would rank Two at least as high, p = 1"


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([(1, 1, 1), (2, 2, 3), (3, 2, 3)], "One is first, apart from all others"),
        ([(1, 1, 1), (1, 1, 1), (3, 3, 3)], f"{TIE}, apart from all others"),
        (
            [(1, 1, 2), (1, 1, 3), (3, 2, 4), (4, 4, 4)],
            "One and Two share the first place; Three cannot be told from them",
        ),
        ([(1, 1, 1)] * 5, "5 models share the first place"),
        ([(1, 1, 2), (2, 1, 2), (3, 3, 4), (4, 2, 4)], "One is first; Two and Four cannot be told from it"),
        ([(1, 1, 3), (2, 1, 3), (3, 2, 3)], "One is first, and no other model can be told from it"),
        ([(n, 1, 5) for n in range(1, 6)] + [(6, 6, 6)], "One is first; 4 of 5 others cannot be told from it"),
    ],
)
def test_who_leads_and_who_cannot_be_told_from_the_leader(rows, told):
    lanes = FOUR | {"five": "Five", "six": "Six"}
    assert words.told_lead(ranks(*rows), lanes) == told
    assert words.told_ranking(ranks(*rows), lanes, NAMES) == f"Digits: {told}"
    within = ranks(*rows, kind="FLOPs", amount=2.1e12)
    assert words.told_ranking(within, lanes, NAMES) == f"Digits, after 2.1 TFLOPs: {told}"


def test_over_tasks_mean_ranks_are_told_with_their_ends():
    both = ("digits", "adding")
    found = ranks((1.5, 1.0, 2.0), (3.0, 2.5, 3.5), tasks=both)
    start = "Over 2 tasks One has the best mean rank, 1.5 (1.0 to 2.0)"
    assert words.told_ranking(found, FOUR, NAMES) == f"{start}, apart from all others"
    found = ranks((1.5, 1.0, 2.0), (2.0, 1.5, 2.5), (2.1, 2.0, 2.5), tasks=both, kind="seconds")
    told = words.told_ranking(found, FOUR, NAMES)
    assert told == f"{start.replace('tasks', 'tasks, at equal seconds,')}, and Two and Three cannot be told from it"
    many = ranks((1.5, 1.0, 2.0), *[(2.0, 1.5, 2.5)] * 4, tasks=both)
    assert words.told_ranking(many, FOUR, NAMES) == f"{start}, and 4 other models cannot be told from it"


def test_budgets_of_one_leader_are_told_together():
    one, two = ranks((1, 1, 1), (2, 2, 2)), Ranking({"two": Rank(1, 1, 1, 1.0), "one": Rank(2, 2, 2, 0.0)}, (), "")
    end = "is first, apart from all others"
    told = f"At equal steps and FLOPs One {end}. At equal seconds Two {end}"
    assert words.told_kinds({"steps": one, "FLOPs": one, "seconds": two}, FOUR) == told
    assert words.told_kinds({"steps": two}, FOUR) == "At equal steps Two is first, apart from all others"


def test_amounts_are_written_with_their_unit():
    told = {
        "steps": {1000: "1,000 steps"},
        "seconds": {35.2: "35 seconds", 0.25: "0.25 seconds", 1234.5: "1,234 seconds"},
    }
    told["FLOPs"] = {2.1e12: "2.1 TFLOPs", 956e9: "956 GFLOPs", 12.0: "12 FLOPs"}
    for kind, own in told.items():
        assert {amount: words.told_amount(kind, amount) for amount in own} == own


def test_frames_hold_what_the_rankings_say(race):
    found = words.rank_frames(race, NAMES)
    assert {name: list(own) for name, own in found.items()} == {
        "Digits": ["steps", "FLOPs", "seconds"],
        "Adding": ["steps"],
    }
    (frame,) = found["Digits"]["steps"]
    want = ranking(race, "digits", "steps", 50)
    assert frame["amount"] == "50 steps" and frame["said"] == words.told_ranking(want, LANES, NAMES)
    assert frame["ranks"] == want.rows and frame["ranks"]["one"] | {"first": 1} == {
        **{"place": 1, "low": 1, "high": 1, "first": 1, "group": 1}
    }
    assert [frame["amount"] for frame in found["Digits"]["seconds"]] == ["1 second"]


def test_the_link_to_all_runs_is_relative():
    told = words.csv_link(1234)
    assert told == ('<a href="../book/results/race.csv" download="race.csv">All 1,234 runs as one table, race.csv</a>')
    assert 'href="x&amp;y.csv"' in words.csv_link(1, file="x&y.csv")
