"""Recipes: what they name exists, and what they repeat is the same."""

import inspect
from dataclasses import asdict, replace
from types import SimpleNamespace

import pytest
import torch

from rtx_book.runs import MODELS, TASKS, build
from rtx_book.runs.builders import files_of
from rtx_book.runs.recipes import BESIDE, NEAR, RECIPES, orders, race
from rtx_book.runs.recipes.attention import SCHEMES
from rtx_book.runs.recipes.recipe import around
from rtx_lib.layers import positions
from rtx_lib.tasks import CopyMemory
from rtx_lib.training import parameter_count


def test_the_lab_has_every_position_scheme():
    assert set(SCHEMES) == set(positions.SCHEMES)


def test_a_recipe_says_only_what_differs_from_its_defaults():
    """So that a setting which comes later leaves the fingerprints of older recipes as they were."""
    recipe = orders.RECIPES[0]
    said = repr(recipe)
    assert "probed" not in said and f"lr={recipe.lr!r}" in said and recipe.name in said
    assert "probed={'senses': {}}" in repr(replace(recipe, probed={"senses": {}}))


def test_names_exist():
    for recipe in (*RECIPES.values(), *(trial for one in NEAR for trial in around(one).values())):
        assert recipe.model in MODELS and recipe.task in TASKS
        for changes in ({}, *recipe.elsewhere.values()):
            inspect.signature(TASKS[recipe.task]).bind(**recipe.task_arguments | changes)
        assert recipe.equal_time is None or RECIPES[recipe.equal_time].steps == recipe.steps


def test_a_recipe_reads_the_files_of_all_its_tasks():
    recipe = replace(RECIPES["adding-rnn-t10"], task="text", task_arguments={"source": "pydoc"})
    assert files_of(recipe) == ()
    recipe = replace(recipe, elsewhere={"plays": {"source": "shakespeare"}}, probed={"a": {"task": "word-sense"}})
    assert files_of(recipe) == ("tinyshakespeare.txt", "senseval/senseval.zip")


def made(recipe, *sizes):
    task = SimpleNamespace(**dict(zip(("input_size", "output_size", "vocabulary"), sizes, strict=True)))
    return MODELS[recipe.model](task, **recipe.model_arguments)


@pytest.mark.parametrize(
    ("prefix", "first", "sizes"),
    [
        ("nottingham-", "r-transformer", (88, 88, None)),
        ("jsb-", "r-transformer", (88, 88, None)),
        ("ptb-char-", "r-transformer", (49, 49, 49)),
        ("addition-", "neural-gpu", (5, 2, 5)),
    ],
)
def test_models_that_are_compared_have_equal_parameters(prefix, first, sizes):
    recipes = [recipe for name, recipe in RECIPES.items() if name.startswith(prefix) and not recipe.stream_length]
    counts = {r.name: parameter_count(made(r, *sizes)) for r in recipes}
    ours = counts[prefix + first]
    assert len(counts) > 3 and all(abs(count / ours - 1) < 0.03 for count in counts.values()), counts


def live_parameters(model, task, recipe):
    """How many parameters outside embedding tables get a gradient from one batch, and the names of the others."""
    if recipe.stream_length:
        x, y = next(iter(task.stream("train", 4, recipe.stream_length)))
    else:
        x, y = task.batch("train", 4, torch.Generator().manual_seed(0))
    task.loss(model(x)[0], y).backward()
    tables = {id(m.weight) for m in model.modules() if isinstance(m, torch.nn.Embedding)}
    named = {name: p for name, p in model.named_parameters() if id(p) not in tables}
    dead = [name for name, p in named.items() if p.grad is None or not p.grad.any()]
    return sum(p.numel() for name, p in named.items() if name not in dead), dead


def param(task):
    return pytest.param(task, marks=pytest.mark.data(*files_of(race.race(task, "gru", 0.01))))


@pytest.mark.parametrize("task", [param(task) for task in race.TASKS])
def test_the_models_that_race_have_equally_many_live_parameters(task):
    counts = {}
    for lane in race.LANES:
        if race.runs_on(task, lane):
            recipe = race.race(task, lane, 0.01)
            counts[lane], dead = live_parameters(*build(recipe, 0), recipe)
            assert dead == [], lane
    assert max(counts.values()) < 1.04 * min(counts.values()), counts


@pytest.mark.parametrize("task", [param(task) for task in ("text", "recall")])
def test_larger_models_have_four_times_the_parameters(task):
    for lane in race.LARGE:
        small, large = (make(task, lane, 0.01) for make in (race.race, race.large))
        of_small, of_large = (live_parameters(*build(recipe, 0), recipe)[0] for recipe in (small, large))
        assert abs(of_large / of_small / 4 - 1) < 0.04, lane


def test_the_two_lanes_of_delta_net_differ_in_the_largest_beta_alone():
    recipes = [race.race("parity", lane, 0.01) for lane in ("delta-net", "delta-net-signed")]
    plain, signed = (build(recipe, 0)[0] for recipe in recipes)
    largest = [{m.largest_beta for m in net.modules() if hasattr(m, "largest_beta")} for net in (plain, signed)]
    assert largest == [{1.0}, {2.0}]
    assert all(torch.equal(a, b) for a, b in zip(plain.parameters(), signed.parameters(), strict=True))
    told = {"name", "about", "model_arguments"}
    settings = [{key: value for key, value in asdict(recipe).items() if key not in told} for recipe in recipes]
    assert settings[0] == settings[1]


def test_trials_around_a_rate_are_whole_trainings_that_only_the_validation_split_judges():
    for whole in NEAR:
        free = {"lr", "name", "about", "tested_with", "elsewhere", "curve_points"}
        free |= {"task"} if whole.task == "text" else set()
        free |= set() if whole.keep_best else {"eval_every"}
        for lr, recipe in around(whole).items():
            assert BESIDE[recipe.name] == recipe and recipe.lr == lr
            assert {key for key, value in asdict(recipe).items() if value != asdict(whole)[key]} <= free


@pytest.mark.data("shakespeare")
def test_a_text_without_a_validation_split_gets_one_that_is_in_front_of_its_test_text():
    ours, trial = (TASKS[name](source="shakespeare", length=8) for name in ("text", "text-in-three"))
    train, valid = ours.splits.finite("train"), trial.splits.finite("valid")
    assert torch.equal(train[1 - len(valid) :], valid[:-1])  # 0.9 of the text, rounded or cut


def test_transformer_xls_that_are_compared_have_equal_parameters():
    streams = {n: recipe for n, recipe in RECIPES.items() if recipe.stream_length and n.startswith("shakespeare-")}
    counts = {name: parameter_count(made(recipe, 65, 65, 65)) for name, recipe in streams.items()}
    ours = counts["shakespeare-xl-64"]
    exact = {name for name, count in counts.items() if count == ours}
    assert len(counts) > 10 and all(abs(count / ours - 1) < 0.015 for count in counts.values()), counts
    assert set(counts) - exact == {"shakespeare-xl-64-shaw", "shakespeare-stream-lstm"}


@pytest.mark.parametrize(
    ("name", "sizes", "live"),
    [
        ("mnist", (1, 10, None), 204_426),
        ("nottingham", (88, 88, None), 1_420_888),
        ("ptb-char", (49, 49, 49), 14_213_169 - 49),  # a tied readout of ours has no bias
        ("ptb-word", (10_000, 10_000, 10_000), 2_281_872 - 10_000),
    ],
)
def test_published_sizes_are_those_of_the_authors_live_parameters(name, sizes, live):
    recipe = RECIPES[f"paper-{name}"]
    with torch.device("meta"):
        model = made(recipe, *sizes)
    assert sum(p.numel() for p in model.parameters()) == live
    wrapped = name.startswith("ptb")  # the authors' wrappers drop embedded ids
    assert recipe.model_arguments.get("embedding_dropout") == (0.15 if wrapped else None)


def test_what_is_said_of_the_lanes_is_in_their_recipes():
    for task in race.TASKS:
        told = race.described(task, {"predict 1": 1 / 6, "bigram loss": 2.5})
        assert (told["metric"], told["line"]) == race.FINISH[task]
    assert race.described("adding", {"predict 1": 1 / 6})["baselines"] == {"always 1": 1 / 6}
    assert race.described("copy", {})["baselines"] == {"guess": 1 / CopyMemory(1).symbols}
    assert list(race.BASELINES) == list(race.TASKS)
    own = {cell: race.race(*cell, 0.01).model_arguments for cell in race.CELLS}
    published = {task: own[task, "indrnn-published"] for task in race.TASKS}
    assert [task for task, found in published.items() if found["norm"] is None] == ["adding"], "batch norm but there"
    assert {task for task, found in published.items() if found["last_near_one"]} == {"adding", "digits"}
    assert [task for task, found in published.items() if found["length"] is None] == ["text", "stream"]
    memories = {task: own[task, "transformer-xl"]["memory"] for task in race.TASKS}
    assert memories == dict.fromkeys(race.TASKS, 0) | {"stream": 64}
    assert race.own_ways("rnn") == race.own_ways("gru") == ""
    assert race.own_ways("lstm") == "forget bias 1" and "window 6; inner width 161" in race.own_ways("r-transformer")
    assert 1 + 2 * (3 - 1) * (2**6 - 1) == 253 and race.own_ways("tcn") == "kernel 3; reads 253 steps"
    assert race.shape("adding", "tcn") == "6 levels of 39" and race.shape("adding", "rnn") == "1 layer of 223"
    assert race.shape("digits", "transformer") == "2 layers of 44"
    pair = [own["recall", f"transformer-{end}"] for end in ("convolution", "rotary")]
    assert pair[0] | {"kernel_size": 0, "mlp": 0} == pair[1] | {"kernel_size": 0, "mlp": 0}, "nothing else differs"
