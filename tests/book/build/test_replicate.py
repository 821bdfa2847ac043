"""The study resumes, keeps what no change of code has touched, and is of one piece with the notebooks."""

import ast
import importlib.util
import json
import shutil

import pytest
from support import built
from support.built import NOTEBOOKS
from support.helpers import ROOT, code_cell

from rtx_book.build import execute, fingerprint, replicate
from rtx_book.claims.findings import ALMOST_ALWAYS, Bound, Finding, rate_of, values_of
from rtx_book.runs import instructions

CODE = (
    'from rtx_book.claims import Evidence\nimport os\nevidence = Evidence("one", profile, seed, device)',
    "end = seed / 1",
    'evidence.finding("one-end", "The seed is small.", end, "< 102")',
    'set_so = [os.environ.get(name) for name in ("ATEN_CPU_CAPABILITY", "OMP_NUM_THREADS")]',
    'odd = len(os.listdir(os.environ["RTX_DATA"])) + 10 * int(set_so[1]) + 100 * (set_so[0] == "default")',
    'evidence.finding("one-odd", "The setting arrives.", odd, "< 1")',
)


class Study:
    """A book with one chapter that trains in no time."""

    def __init__(self, tree):
        self.tree, self.root = tree, tree.root
        self.chapter(*CODE)

    def chapter(self, *cells):
        parameters = code_cell("profile = 'book'\nseed = 0\ndevice = 'cpu'", "parameters")
        content = {"cells": [parameters, *map(code_cell, cells)], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
        self.tree.write("notebooks/one.ipynb", json.dumps(content))

    def made(self, seed, value=1.0, part="first"):
        """As if Snakemake had made a run of the chapter as it is now."""
        words = {"one-end": {"sentence": "It is small.", "bound": "< 102"}}
        run = {"part": part, "seed": seed, "values": {"one-end": value}}
        one = {"fingerprint": replicate.key_of(self.root, "one"), "findings": words, "run": run}
        self.tree.write(f"_build/study/one-s{seed}.json", json.dumps(one))

    def kept(self):
        return replicate.read_study(self.root)["chapters"]["one"]

    def values(self, id="one-end"):
        return {run["seed"]: run["values"][id] for run in self.kept()["runs"]}


@pytest.fixture
def study(tree, monkeypatch):
    monkeypatch.setattr(replicate, "available", lambda *names: True)
    monkeypatch.setenv("RTX_DATA", str(tree.write("data/one.bin", "1").parent))
    return Study(tree)


def setting(seed, **changes):
    known = {"part": "first", "data": "true", "instructions": "default", "threads": 1}
    return replicate.Setting(seed=seed, **known | changes)


@pytest.mark.weekly
@pytest.mark.skipif(importlib.util.find_spec("snakemake") is None, reason="Snakemake 9 comes with Python 3.11 to 3.13")
def test_a_study_is_made_with_its_settings_and_goes_on_after_a_failure(study, capfd):
    """As planned, seed 2 has an empty folder of data, 3 the plainest instructions, 4 two threads."""
    study.chapter(*CODE, "assert seed != 1, 'a proof that fails'")
    todo = [one for one in replicate.settings(instructions.available()) if one.seed in (1, 2, 3, 4)]
    assert replicate.make(study.root, ["one"], todo, jobs=2) == 1
    replicate.pack(study.root, ["one"])
    assert study.values() == {2: 2.0, 3: 3.0, 4: 4.0} and "a proof that fails" in "".join(capfd.readouterr())
    plain = {one.seed: 100 * (one.instructions == "default") for one in todo}
    assert study.values("one-odd") == {2: plain[2] + 10, 3: plain[3] + 12, 4: plain[4] + 22}
    run = study.kept()["runs"][0]
    assert run["cpu_seconds"] > 0 and str(study.root) not in json.dumps(run), "no path of the machine"
    assert replicate.make(study.root, ["one"], todo, jobs=2) == 1
    assert "1 runs to make, 3 are there" in capfd.readouterr().out


def test_runs_of_todays_code_are_packed_and_replace_those_of_older_code(study):
    study.made(1)
    study.made(2)
    study.chapter(CODE[0], "end = seed / 2", *CODE[2:])
    study.made(2, 0.5)
    study.made(102, 51.0)
    assert [path.name for path in replicate.missing(study.root, ["one"], [setting(2), setting(1)])] == ["one-s1.json"]
    replicate.pack(study.root, ["one"])
    assert study.values() == {2: 0.5, 102: 51.0}
    study.made(2, 7.0)  # a run that is packed stays
    replicate.pack(study.root, ["one"])
    assert study.values() == {2: 0.5, 102: 51.0}


def test_the_books_study_is_written_as_it_is_read(tmp_path):
    shutil.copy(ROOT / "_toc.yml", tmp_path)
    replicate.write_study(tmp_path, replicate.read_study(ROOT))
    assert json.dumps(replicate.read_study(tmp_path)) == json.dumps(replicate.read_study(ROOT))


@pytest.mark.parametrize(
    ("value", "clocks", "status"),
    [(1.0, [], 0), (0.5, [], 1), (0.5, ["one-end"], 0), (None, ["one-end"], 1)],
    ids=["the same", "another", "another time", "none"],
)
def test_rewritten_code_that_gives_every_value_again_keeps_the_runs(study, monkeypatch, value, clocks, status):
    study.made(1)
    study.made(2)
    replicate.pack(study.root, ["one"])
    before = study.kept()
    study.chapter(CODE[0], "end = seed", *CODE[2:])
    monkeypatch.setattr(replicate, "make", lambda *rest: None if value is None else study.made(1, value))
    assert replicate.confirm(study.root, ["one"], [setting(1)], clocks, 2) == status
    key = before["fingerprint"] if status else replicate.key_of(study.root, "one")
    assert study.kept() == before | {"fingerprint": key}


def test_what_others_wrote_while_runs_were_confirmed_stays(study, monkeypatch):
    study.made(1)
    replicate.pack(study.root, ["one"])
    study.chapter(CODE[0], "end = seed", *CODE[2:])

    def make(*rest):
        study.made(1)
        chapters = replicate.read_study(study.root)["chapters"]
        replicate.write_study(study.root, {"chapters": chapters | {"two": chapters["one"]}})

    monkeypatch.setattr(replicate, "make", make)
    replicate.confirm(study.root, ["one"], [setting(1)], [], 2)
    assert {*replicate.read_study(study.root)["chapters"]} == {"one", "two"}


def test_what_cannot_be_made_is_refused_before_anything_runs(study, monkeypatch):
    with pytest.raises(execute.BuildError, match="one has no run to confirm with seed 1"):
        replicate.confirm(study.root, ["one"], [setting(1)], [], 2)
    with pytest.raises(execute.BuildError, match="No finding of one is called 'one-time'"):
        replicate.confirm(study.root, ["one"], [], ["one-time"], 2)
    with pytest.raises(execute.BuildError, match="no run of today's code"):
        replicate.refresh(study.root, ["one"])
    monkeypatch.setattr(replicate, "available", lambda *names: False)
    with pytest.raises(execute.BuildError, match="make data"):
        replicate.make(study.root, ["one"], [setting(1)], 2)


@pytest.mark.parametrize("part, looked", [("first", {}), ("second", {"looked": True})])
def test_words_and_bounds_are_taken_over_and_a_late_bound_is_marked(study, monkeypatch, part, looked):
    study.made(1, part=part)
    replicate.pack(study.root, ["one"])
    found = {"id": "one-end", "sentence": "Small.", "bound": "< 7"}
    monkeypatch.setattr(replicate, "run_chapter", lambda *rest: (1.0, [found]))
    replicate.refresh(study.root, ["one"])
    assert study.kept()["findings"]["one-end"] == {"sentence": "Small.", "bound": "< 7"} | looked
    rate = rate_of(replicate.read_study(study.root), Finding("one-end", "one", "Small.", None, "< 7", True), "second")
    assert rate is None


def test_rounding_never_crosses_a_bound():
    assert replicate.short(0.99999996, Bound("< 1")) == 0.99999996
    assert replicate.short(0.123456789, Bound("< 1")) == 0.123457


def test_settings_are_balanced_and_no_seed_occurs_twice():
    settings = replicate.settings()
    assert len({one.seed for one in settings}) == len(settings) == 26
    first = [one for one in settings if one.part == "first"]
    assert len(first) == 20 and sum(one.data == "embedded" for one in first) >= 6
    assert {one.instructions for one in first} == set(instructions.SETS)
    assert {one.threads for one in first} == {1, 2}
    older = replicate.settings(["avx2", "default"])
    assert [one.seed for one in older] == [one.seed for one in settings], "no seed is left out on an older processor"
    assert {one.instructions for one in older} == {"avx2", "default"}


# ------------------------------------------------------------------------------------------ the book's own study


NEW = {"language_models", "parallel", "reading"}
"""Chapters whose runs are still to be made: their pages say so at each finding. Take a name out with its first runs."""
STUDIED = [name for name in NOTEBOOKS if name not in NEW]


@pytest.fixture(scope="module")
def kept():
    return replicate.read_study(ROOT)["chapters"]


def test_the_study_has_all_chapters_but_the_new_ones(kept):
    assert set(kept) == set(STUDIED)


@pytest.mark.parametrize("name", STUDIED)
def test_the_study_is_of_todays_trainings(kept, name):
    key = fingerprint.fingerprint(execute.read_notebook(NOTEBOOKS[name]), replicate.RECIPES)
    assert kept[name]["fingerprint"] == key, "make replicate"


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIED)
def test_the_study_has_the_sentences_and_bounds_of_the_notebooks(kept, name):
    found = {
        one["id"]: {"sentence": one["sentence"], "bound": one["bound"]}
        for one in execute.findings_of(built.execution().folder / f"{name}.ipynb")
    }
    kept = {id: {"sentence": one["sentence"], "bound": one["bound"]} for id, one in kept[name]["findings"].items()}
    assert {id: kept.get(id) for id in found} == found, "python -m rtx_book.build.replicate --refresh"


@pytest.mark.parametrize("name", STUDIED)
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


@pytest.mark.parametrize("name", STUDIED)
def test_the_study_is_whole_and_every_finding_holds_almost_always(kept, name):
    planned = {(one.part, one.seed, one.data) for one in replicate.settings()}
    assert {(run["part"], run["seed"], run["data"]) for run in kept[name]["runs"]} == planned, "make replicate"
    assert kept[name]["findings"]
    for id, one in kept[name]["findings"].items():
        values = values_of(kept[name]["runs"], id)
        assert values, f"{id} is in no run"
        held = sum(map(Bound(one["bound"]).holds, values))
        assert held >= ALMOST_ALWAYS * len(values), f"{id} held in {held} of {len(values)} runs"
