"""The study resumes, keeps what no change of code has touched, and is of one piece with the notebooks."""

import json
import os

import built
import dependence
import execute
import pytest
import replicate
from helpers import ROOT, code_cell

from rtx_lib.evidence.findings import Bound
from rtx_lib.evidence.study import ALMOST_ALWAYS, values_of

CHAPTER = ('from rtx_lib.evidence import Evidence\nimport os\nevidence = Evidence("one", profile, seed, device)',
           'end = fit(seed)', 'evidence.finding("one-end", "The seed is small.", end, "< 102")')
FIT = "def fit(seed):\n    return seed / 1"


def chapter(tree, *cells):
    parameters = code_cell("profile = 'book'\nseed = 0\ndevice = 'cpu'", "parameters")
    content = {"cells": [parameters, *map(code_cell, cells)], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    tree.write("notebooks/one.ipynb", json.dumps(content))


@pytest.fixture
def study(tree):
    """A tree with one chapter that trains in no time; a call makes the runs of the settings named."""
    os.symlink(ROOT / "rtx_lib" / "evidence", tree.root / "rtx_lib" / "evidence")
    tree.write("rtx_lib/recipes.py", "RECIPES = {}")
    chapter(tree, FIT, *CHAPTER)

    def make(*settings, **options):
        return replicate.replicate(tree.root, ["one"], settings, options.get("jobs", 1), tree.runner())

    make.tree = tree
    make.runs = lambda: {run["seed"]: run for run in replicate.read_study(tree.root)["chapters"]["one"]["runs"]}
    return make


def setting(seed, **changes):
    known = {"part": "first", "data": "true", "instructions": "default", "threads": 1}
    return replicate.Setting(seed=seed, **known | changes)


@pytest.mark.slow
def test_a_study_is_made_resumed_and_kept(study, monkeypatch, capsys):
    monkeypatch.setattr(replicate, "recipes", lambda root: {})
    assert study(setting(1), setting(102, part="second")) == 0
    assert "seed=102" in capsys.readouterr().out
    first = study.runs()
    assert {seed: run["values"] for seed, run in first.items()} == {1: {"one-end": 1.0}, 102: {"one-end": 102.0}}
    assert first[1]["instructions"] == "default" and first[1]["cpu_seconds"] > 0
    assert not any(str(study.tree.root) in json.dumps(run) for run in first.values()), "no path of the machine"

    chapter(study.tree, FIT, "import math  # a figure came", *CHAPTER)  # decides nothing: the runs are kept
    assert study(setting(1), setting(2)) == 0
    assert "1 runs to make, 1 are there" in capsys.readouterr().out and len(study.runs()) == 3

    chapter(study.tree, FIT.replace("/ 1", "/ 2"), *CHAPTER)
    assert study(setting(1)) == 0
    assert {seed: run["values"]["one-end"] for seed, run in study.runs().items()} == {1: 0.5}


@pytest.mark.slow
def test_a_run_that_fails_is_told_and_not_kept(study, monkeypatch, capsys):
    monkeypatch.setattr(replicate, "recipes", lambda root: {})
    chapter(study.tree, FIT, *CHAPTER, "assert seed != 2, 'a proof that fails'")
    assert study(setting(1), setting(2)) == 1
    assert list(study.runs()) == [1] and "a proof that fails" in capsys.readouterr().out


def test_settings_are_balanced_and_no_seed_occurs_twice():
    settings = replicate.settings()
    assert len({one.seed for one in settings}) == len(settings) == 26
    first = [one for one in settings if one.part == "first"]
    assert len(first) == 20 and sum(one.data == "embedded" for one in first) >= 6
    assert {one.instructions for one in first} == set(replicate.INSTRUCTIONS)
    assert {one.threads for one in first} == {1, 2}


def test_embedded_data_means_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("RTX_DATA", "elsewhere")
    assert replicate.environment(setting(1, data="embedded"), tmp_path)["RTX_DATA"] == str(tmp_path)
    assert "RTX_DATA" not in replicate.environment(setting(1), tmp_path)


# ------------------------------------------------------------------------------------------ the book's own study

NOTEBOOKS = {path.stem: path for path in built.notebooks()}


@pytest.fixture(scope="module")
def kept():
    return replicate.read_study(ROOT)["chapters"]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_study_is_of_todays_trainings(kept, name):
    key = dependence.fingerprint(execute.read_notebook(NOTEBOOKS[name]), replicate.recipes(ROOT))
    assert kept[name]["fingerprint"] == key, "make replicate"


@pytest.mark.slow
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_study_has_the_sentences_and_bounds_of_the_notebooks(kept, name):
    found = {one["id"]: {"sentence": one["sentence"], "bound": one["bound"]}
             for one in json.loads((built.execution().folder / f"{name}.findings.json").read_text())}
    kept = kept[name]["findings"]
    assert {id: kept.get(id) for id in found} == found, "python book/replicate.py --refresh"
    code = NOTEBOOKS[name].read_text(encoding="utf-8")
    assert all(id in code for id in kept), "python book/replicate.py --refresh"


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_finding_has_a_rate_and_holds_almost_always(kept, name):
    assert kept[name]["findings"]
    for id, one in kept[name]["findings"].items():
        values = values_of(kept[name]["runs"], id)
        assert values, f"{id} is in no run"
        held = sum(map(Bound(one["bound"]).holds, values))
        assert held >= ALMOST_ALWAYS * len(values), f"{id} held in {held} of {len(values)} runs"
