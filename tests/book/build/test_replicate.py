"""The study resumes, keeps what no change of code has touched, and is of one piece with the notebooks."""

import ast
import contextlib
import json

import pytest
from support import built
from support.built import NOTEBOOKS
from support.helpers import ROOT, code_cell

from rtx_book.build import execute, fingerprint, replicate
from rtx_book.claims.findings import ALMOST_ALWAYS, Bound, Finding, rate_of, values_of

CHAPTER = (
    'from rtx_book.claims import Evidence\nimport os\nevidence = Evidence("one", profile, seed, device)',
    "end = fit(seed)",
    'evidence.finding("one-end", "The seed is small.", end, "< 102")',
    'set_so = [os.environ.get(name) for name in ("ATEN_CPU_CAPABILITY", "OMP_NUM_THREADS", "RTX_DOWNLOAD")]',
    'odd = len(os.listdir(os.environ["RTX_DATA"])) + 10 * (set_so != ["default", "2", "0"])',
    'evidence.finding("one-odd", "The setting arrives.", odd, "< 1")',
)
FIT = "def fit(seed):\n    return seed / 1"


def chapter(tree, *cells):
    parameters = code_cell("profile = 'book'\nseed = 0\ndevice = 'cpu'", "parameters")
    content = {"cells": [parameters, *map(code_cell, cells)], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    tree.write("notebooks/one.ipynb", json.dumps(content))


@pytest.fixture
def study(tree, monkeypatch):
    """A tree with one chapter that trains in no time; a call makes the runs of the settings named."""
    monkeypatch.setattr(replicate, "RECIPES", {})
    monkeypatch.setattr(replicate, "available", lambda *names: True)
    monkeypatch.setenv("RTX_DATA", str(tree.write("data/one.bin", "1").parent))
    chapter(tree, FIT, *CHAPTER)

    def make(*settings, **options):
        return replicate.replicate(tree.root, ["one"], settings, **options)

    make.tree = tree
    make.runs = lambda: {run["seed"]: run for run in replicate.read_study(tree.root)["chapters"]["one"]["runs"]}
    return make


def setting(seed, **changes):
    known = {"part": "first", "data": "true", "instructions": "default", "threads": 1}
    return replicate.Setting(seed=seed, **known | changes)


@pytest.mark.weekly
def test_a_study_is_made_resumed_and_kept(study, capsys):
    assert study(setting(1), setting(102, part="second")) == 0
    assert "seed=102" in capsys.readouterr().out
    first = study.runs()
    assert {seed: run["values"]["one-end"] for seed, run in first.items()} == {1: 1.0, 102: 102.0}
    assert first[1]["instructions"] == "default" and first[1]["cpu_seconds"] > 0
    assert not any(str(study.tree.root) in json.dumps(run) for run in first.values()), "no path of the machine"

    chapter(study.tree, FIT, "import math  # a figure came", *CHAPTER)  # decides nothing: the runs are kept
    assert study(setting(1), setting(2)) == 0
    assert "1 runs to make, 1 are there" in capsys.readouterr().out and len(study.runs()) == 3

    chapter(study.tree, FIT.replace("/ 1", "/ 2"), *CHAPTER)
    assert study(setting(1)) == 0
    assert {seed: run["values"]["one-end"] for seed, run in study.runs().items()} == {1: 0.5}


@pytest.mark.weekly
def test_a_run_that_fails_is_told_and_not_kept(study, capsys):
    chapter(study.tree, FIT, *CHAPTER, "assert seed != 2, 'a proof that fails'")
    assert study(setting(1), setting(2)) == 1
    assert list(study.runs()) == [1] and "a proof that fails" in capsys.readouterr().out


@pytest.mark.weekly
def test_a_setting_reaches_its_run(study):
    """The value is 0 in the second run alone: an empty folder of data, one instruction set, two threads."""
    assert study(setting(1), setting(2, data="embedded", threads=2), setting(3, threads=2), jobs=2) == 0
    assert {seed: run["values"]["one-odd"] for seed, run in study.runs().items()} == {1: 12.0, 2: 0.0, 3: 2.0}


@pytest.mark.weekly
def test_what_is_edited_while_runs_are_made_belongs_to_none(study, monkeypatch):
    root = study.tree.root
    frozen = replicate.frozen

    @contextlib.contextmanager
    def edit_after(start):
        with frozen(start) as tree:
            chapter(study.tree, FIT.replace("/ 1", "/ 4"), *CHAPTER)
            yield tree

    monkeypatch.setattr(replicate, "frozen", edit_after)
    study(setting(1))
    assert study.runs()[1]["values"]["one-end"] == 1.0
    assert replicate.read_study(root)["chapters"]["one"]["fingerprint"] != replicate.key_of(root, "one")


@pytest.mark.weekly
@pytest.mark.parametrize(
    "rewritten, clocks, status, said",
    [
        ("def fit(seed):\n    end = seed\n    return end / 1", [], 0, "every value as before"),
        (FIT.replace("/ 1", "/ 2"), [], 1, "other values: one-end"),
        (FIT.replace("/ 1", "/ 2"), ["one-odd"], 1, "other values: one-end"),
        (FIT.replace("/ 1", "/ 2"), ["one-end"], 0, "every value as before"),
        (FIT.replace("/ 1", "/ 0"), ["one-end"], 1, "FAILED"),
    ],
)
def test_rewritten_code_that_gives_every_value_again_keeps_the_runs(study, capsys, rewritten, clocks, status, said):
    root = study.tree.root
    study(setting(1))
    chapter(study.tree, rewritten, *CHAPTER)
    before = replicate.read_study(root)
    assert replicate.confirm(root, ["one"], [setting(1)], clocks) == status
    assert said in capsys.readouterr().out
    key = before["chapters"]["one"]["fingerprint"] if status else replicate.key_of(root, "one")
    assert replicate.read_study(root)["chapters"]["one"] == before["chapters"]["one"] | {"fingerprint": key}
    assert replicate.key_of(root, "one") != before["chapters"]["one"]["fingerprint"]


def test_a_confirmation_needs_runs_and_stamps_none_that_another_call_has_replaced(study, monkeypatch):
    root = study.tree.root
    with pytest.raises(execute.BuildError, match="one has no run to confirm with seed 1"):
        replicate.confirm(root, ["one"], [setting(1)])
    kept_run(study.tree, ("older", None), 1)

    def meanwhile(tree, plan, jobs, timeout):
        kept_run(study.tree, ("newer", "older"), 1)
        yield *plan[0], execute.Took(1.0, 1.0), [FOUND]

    monkeypatch.setattr(replicate, "made", meanwhile)
    assert replicate.confirm(root, ["one"], [setting(1)]) == 0
    assert replicate.read_study(root)["chapters"]["one"]["fingerprint"] == "newer"


def test_a_clock_that_no_finding_has_is_refused_before_anything_runs(study):
    kept_run(study.tree, ("older", None), 1)
    with pytest.raises(execute.BuildError, match="No finding of one is called 'one-time'"):
        replicate.confirm(study.tree.root, ["one"], [setting(1)], ["one-end", "one-time"])


@pytest.mark.parametrize("arguments", [["--confirm", "0"], ["--clock", "one-end"]])
def test_a_confirmation_without_a_run_is_refused(monkeypatch, arguments):
    monkeypatch.setattr("sys.argv", ["replicate.py", *arguments])
    with pytest.raises(SystemExit, match="2"):
        replicate.main()


def test_true_data_are_asked_for_before_anything_runs(study, monkeypatch):
    monkeypatch.setattr(replicate, "available", lambda *names: False)
    with pytest.raises(execute.BuildError, match="make data"):
        study(setting(1))


FOUND = {"id": "one-end", "sentence": "It is small.", "value": 1.0, "bound": "< 2", "held": True}


def kept_run(tree, keys, seed, part="first"):
    run = {"part": part, "seed": seed, "values": {"one-end": 1.0}}
    replicate.keep(tree.root, "one", keys, [FOUND], run)


def test_a_call_that_began_with_older_code_takes_no_newer_run_away(tree):
    kept_run(tree, ("new", "old"), 1)  # the file had old ones, and gets new ones
    kept_run(tree, ("new", "old"), 2)
    with pytest.raises(execute.BuildError, match="another call"):
        kept_run(tree, ("old", "old"), 3)
    chapter = replicate.read_study(tree.root)["chapters"]["one"]
    assert chapter["fingerprint"] == "new" and [run["seed"] for run in chapter["runs"]] == [1, 2]


@pytest.mark.weekly
@pytest.mark.parametrize("part, looked", [("first", False), ("second", True)])
def test_words_and_bounds_are_taken_over_and_a_late_bound_is_marked(study, part, looked):
    root = study.tree.root
    study(setting(1, part=part))
    chapter(study.tree, FIT, *(one.replace("The seed is small.", "Small.").replace("< 102", "< 7") for one in CHAPTER))
    replicate.refresh(root, ["one"])
    told = replicate.read_study(root)["chapters"]["one"]
    assert told["findings"]["one-end"] == {"sentence": "Small.", "bound": "< 7"} | ({"looked": True} if looked else {})
    assert "looked" not in told["findings"]["one-odd"] and len(told["runs"]) == 1
    rate = rate_of(replicate.read_study(root), Finding("one-end", "one", "Small.", None, "< 7", True), "second")
    assert rate is None


def test_a_refresh_of_stale_runs_is_refused(study):
    kept_run(study.tree, ("older", None), 1)
    with pytest.raises(execute.BuildError, match="no run of today's code"):
        replicate.refresh(study.tree.root, ["one"])


def test_rounding_never_crosses_a_bound():
    found = [FOUND | {"bound": "< 1", "value": 0.99999996}, FOUND | {"id": "one-far", "value": 0.123456789}]
    values = replicate.run_of(setting(1), found, execute.Took(1, 1), {})["values"]
    assert values == {"one-end": 0.99999996, "one-far": 0.123457}


def test_settings_are_balanced_and_no_seed_occurs_twice():
    settings = replicate.settings()
    assert len({one.seed for one in settings}) == len(settings) == 26
    first = [one for one in settings if one.part == "first"]
    assert len(first) == 20 and sum(one.data == "embedded" for one in first) >= 6
    assert {one.instructions for one in first} == set(replicate.INSTRUCTIONS)
    assert {one.threads for one in first} == {1, 2}
    older = replicate.settings(["avx2", "default"])
    assert [one.seed for one in older] == [one.seed for one in settings], "no seed is left out on an older processor"
    assert {one.instructions for one in older} == {"avx2", "default"}


def test_embedded_data_means_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("RTX_DATA", "elsewhere")
    assert replicate.environment(setting(1, data="embedded"), tmp_path)["RTX_DATA"] == str(tmp_path)
    assert "RTX_DATA" not in replicate.environment(setting(1), tmp_path)


# ------------------------------------------------------------------------------------------ the book's own study


@pytest.fixture(scope="module")
def kept():
    return replicate.read_study(ROOT)["chapters"]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_study_is_of_todays_trainings(kept, name):
    key = fingerprint.fingerprint(execute.read_notebook(NOTEBOOKS[name]), replicate.RECIPES)
    assert kept[name]["fingerprint"] == key, "make replicate"


@pytest.mark.slow
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_study_has_the_sentences_and_bounds_of_the_notebooks(kept, name):
    found = {
        one["id"]: {"sentence": one["sentence"], "bound": one["bound"]}
        for one in execute.findings_of(built.execution().folder / f"{name}.ipynb")
    }
    kept = {id: {"sentence": one["sentence"], "bound": one["bound"]} for id, one in kept[name]["findings"].items()}
    assert {id: kept.get(id) for id in found} == found, "python book/rtx_book/build/replicate.py --refresh"


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_study_has_the_findings_of_the_notebooks_and_no_others(kept, name):
    cells = execute.read_notebook(NOTEBOOKS[name])["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    ids = {
        ast.literal_eval(call.args[0])
        for call in ast.walk(ast.parse(code))
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "evidence.finding"
    }
    assert set(kept[name]["findings"]) == ids
    assert {id for run in kept[name]["runs"] for id in run["values"]} == ids


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_study_is_whole_and_every_finding_holds_almost_always(kept, name):
    planned = {(one.part, one.seed, one.data) for one in replicate.settings()}
    assert {(run["part"], run["seed"], run["data"]) for run in kept[name]["runs"]} == planned, "make replicate"
    assert kept[name]["findings"]
    for id, one in kept[name]["findings"].items():
        values = values_of(kept[name]["runs"], id)
        assert values, f"{id} is in no run"
        held = sum(map(Bound(one["bound"]).holds, values))
        assert held >= ALMOST_ALWAYS * len(values), f"{id} held in {held} of {len(values)} runs"
