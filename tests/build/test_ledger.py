"""The ledger: verdicts that are computed, claims that are whole, and a page built from both."""

import json
import math
import re
import subprocess
import sys

import pytest
import yaml
from helpers import ROOT

from rtx_lib.recipes import RECIPES
from rtx_lib.sweeps import SWEEPS

sys.path.insert(0, str(ROOT / "book" / "_ext"))
import ledger
from rtx_lib.evidence import measured

CLAIMS = ledger.read_claims(ROOT / ledger.FILE)
RESULTS = measured.load(ROOT / ledger.FOLDER)
ENTRY = {"id": "one", "chapter": "01_recurrence", "claim": "A is better than B.", "source": "A paper",
         "published": "1.0 against 2.0.", "ours": {"A": "a.loss", "B": "b.loss"}, "unit": "nats",
         "rules": ["every A < B"], "differs": "Smaller."}


def run(recipe, seed, loss):
    """A record; a loss of None stands for a run that diverged, NaN for a test whose loss was not finite."""
    diverged = None if loss is not None else {"step": 3, "reason": "nan"}
    metrics = {} if diverged or math.isnan(loss) else {"loss": loss}
    return {"recipe": recipe, "seed": seed, "metrics": metrics, "diverged": diverged,
            "parameters": 1000, "seconds": 1.0, "configuration": {"steps": 100 * (seed + 1)}, "evaluations": []}


def records(**losses):
    return {recipe: [run(recipe, seed, loss) for seed, loss in enumerate(values)] for recipe, values in losses.items()}


def claim(**changes):
    return ledger.Claim(**{**ENTRY, **changes})


@pytest.mark.parametrize(("rule", "a", "b", "expected"), [
    ("every A < B", [1, 2], [3, 4], True), ("every A < B", [1, 3], [3, 4], False),
    ("every A < B", [1, None], [3], False),
    ("every A > 0.5", [1, 2], [0], True), ("every A < 0.5 * B", [1, 1.4], [3], True),
    ("every A < 0.5 * B", [1, 1.6], [3], False),
    ("none A < B", [5, None], [3, 4], True), ("none A < B", [3.5], [3, 4], False), ("none A < 2", [None], [1], True),
    ("none A < B", [5], [3, None], False), ("none A < B", [5], [None], False), ("none A < B", [5, math.nan], [3], True),
    ("some A < B", [1, 9], [3, 4], True), ("some A < B", [3.5, 9], [3, 4], False),
    ("some A < B", [1, None], [3], True), ("some A < B", [1], [3, None], False), ("some A < B", [1], [None], False),
    ("every A < B", [1], [3, math.nan], False),
    ("median A < B", [1, 2, 9], [3, 3, 3], True), ("median A < B", [1, 4, 9], [3, 3, 3], False),
    ("median A < B", [1, None], [3], False),
    ("apart A < B", [1, 1.1, 1.2], [3, 3.1, 3.2], True), ("apart A < B", [1, 1.1, 3.1], [3, 3.1, 3.2], False),
    ("apart A > B", [4, 4.1, 4.2], [3, 3.1, 3.2], True), ("apart A > 3", [4, 4.1, 4.2], [0], True),
    ("apart A < B", [1], [3, 3.1, 3.2], False), ("apart A < B", [1, 1.1, 1.2], [3, 3.1], False),
    ("close A ~ B: 5%", [1.04], [1], True), ("close A ~ B: 5%", [1.06], [1], False),
])  # fmt: skip
def test_a_rule_is_what_it_says(rule, a, b, expected):
    assert ledger.truth(rule, claim(rules=[rule]), records(a=a, b=b)) is expected


def test_verdicts_follow_from_rules_and_records():
    good, bad = records(a=[1, 1], b=[2, 2]), records(a=[3, 1], b=[2, 2])
    assert ledger.verdict(claim(), good) == "holds at our scale"
    assert ledger.verdict(claim(scale="paper"), good) == "holds"
    assert ledger.verdict(claim(), bad) == ledger.verdict(claim(scale="paper"), bad) == "not at our scale"
    assert ledger.verdict(claim(rules=["every A < 9", "every A < B"]), bad) == "not at our scale"
    assert ledger.verdict(claim(), records(a=[1])) == "not tried", "a record is missing"
    assert ledger.verdict(claim(rules=[], ours={}), good) == "not tried"
    proved = claim(rules=[], ours={}, proof="assert x")
    assert ledger.verdict(proved, {}) == "holds at our scale"
    assert ledger.verdict(claim(rules=[], ours={}, proof="assert x", refuted=True), {}) == "not at our scale"


def test_a_claim_waits_for_all_seeds_of_a_sweep_and_for_all_recipes_that_it_names():
    plan = SWEEPS["race"]
    one, other = (recipe.name for recipe in plan.recipes[:2])
    race = claim(ours={"A": f"{one}.loss", "B": f"{other}.loss"})
    whole = records(**{one: [1 for _ in plan.seeds], other: [2 for _ in plan.seeds]})
    assert ledger.verdict(race, whole) == "holds at our scale"
    assert ledger.verdict(race, whole | {other: whole[other][:-1]}) == "not tried"
    extra = claim(ours={"A": "a.loss", "B": "b.loss", "C": "c.loss"})
    assert ledger.verdict(extra, records(a=[1], b=[2])) == "not tried", "the page would show numbers of C"


@pytest.mark.parametrize(("changes", "message"), [
    ({"verdict": "holds"}, "unknown verdict"),
    ({"published": ""}, "published missing"),
    ({"rules": ["each A < B"]}, "is no rule"),
    ({"rules": ["every A ~ B"]}, "is no rule"),
    ({"rules": ["close A ~ B"]}, "is no rule"),
    ({"rules": ["every A < C"]}, "names 'C', which is not one of ours"),
    ({"rules": ["every A < 0.5 * 3"]}, "names '3', which is not one of ours"),
    ({"rules": ["every A < x * B"]}, "has the factor 'x', which is no number"),
    ({"rules": ["every A < 1.2.3"]}, "names '1.2.3'"),
    ({"rules": ["close A ~ B: 1.2.3%"]}, "is no rule"),
    ({"rules": ["every 1 < 2"]}, "names none of ours"),
    ({"scale": "big"}, "scale is 'big'"),
    ({"proof": "assert x"}, "rules and a proof"),
    ({"refuted": True}, "refuted, without the proof"),
])  # fmt: skip
def test_every_planted_fault_is_named(tmp_path, changes, message):
    path = tmp_path / "claims.yml"
    path.write_text(yaml.safe_dump([ENTRY]))
    assert ledger.read_claims(path)[0] == claim()
    path.write_text(yaml.safe_dump([ENTRY | changes]))
    with pytest.raises(ValueError, match=f"claim one: .*{message}"):
        ledger.read_claims(path)
    path.write_text(yaml.safe_dump([ENTRY, ENTRY]))
    with pytest.raises(ValueError, match="two have this id"):
        ledger.read_claims(path)


def test_numbers_in_words():
    def said(values):
        found = records(a=values)
        return ledger.said(measured.series("a.loss", found), found["a"])

    assert said([1.0, 1.1, 1.2]) == "1.10 [1.00, 1.20]" and said([1.0, None]) == "1.00, 1 of 2 diverged"
    assert said([None, None]) == "all 2 diverged" and said([0.9999, 1.0]) == "1.00"
    assert said([float("inf"), 1500.0]) == "never [1,500, never]"
    assert said([1.0, math.nan, None]) == "1.00, 1 of 3 diverged, 1 of 3 without a value"
    assert ledger.spoken("every A < 0.5 * B", claim()) == "every seed of A below every seed of 0.5 * B"
    assert ledger.spoken("none A < 0.1", claim()) == "no seed of A below 0.1"
    assert ledger.spoken("close A ~ B: 5%", claim()) == "the medians of A and B within 5 %"
    assert ledger.budget(claim(), records(a=[1, 2], b=[1, 2, 3])) == "2 to 3 seeds, 100 to 300 steps, 1,000 parameters"


# ------------------------------------------------------------------------------------------ the page

CONF = f"""
import sys
sys.path[:0] = [{str(ROOT / "book" / "_ext")!r}, {str(ROOT)!r}]
extensions = ["myst_parser", "ledger"]
exclude_patterns = ["out"]
html_theme = "basic"
"""


def build(root, *entries, runs=None):
    """Build a page with the directive in it, warnings as errors; the finished process."""
    folder = root / "book" / "results"
    folder.mkdir(parents=True)
    for found in (runs or {}).values():
        for record in found:
            (folder / f"{record['recipe']}-s{record['seed']}.json").write_text(json.dumps(record))
    (root / "conf.py").write_text(CONF)
    (root / "index.md").write_text("# Start\n\n```{toctree}\nbook/results\n```\n")
    (root / "book" / "results.md").write_text("# Ledger\n\n## Claims\n\n```{ledger}\n```\n")
    (root / "book" / "claims.yml").write_text(yaml.safe_dump([*entries]))
    command = [sys.executable, "-m", "sphinx", "-W", "-n", "--keep-going", "-q", str(root), str(root / "out")]
    return subprocess.run(command, capture_output=True, text=True)


def test_the_page_says_what_the_records_say(tmp_path):
    early = SWEEPS["race"].recipes[0].name  # has one seed of its five
    entries = (ENTRY, ENTRY | {"id": "two", "rules": ["every A > B"]},
               ENTRY | {"id": "three", "ours": {"C": f"{early}.loss"}, "rules": ["every C < 1"]})
    done = build(tmp_path, *entries, runs=records(a=[1, 1.5, 1.2], b=[2, 2.5, 2.25], **{early: [0.5]}))
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "out" / "book" / "results.html").read_text()
    assert ("Of 3 claims, 0 hold in their own setting, 1 hold at our scale, 1 do not, and 1 were not tried, or not yet "
            "with all seeds.") in page
    assert page.count("Runs are still missing.") == 1
    for label in ("all (3)", "holds (0)", "holds at our scale (1)", "not at our scale (1)", "not tried (1)"):
        assert f"> {label}</label>" in page
    assert "1.20 [1.00, 1.50]" in page and 'href="../book/records.html#recipe-a"' in page
    assert "Every seed of A below every seed of B: yes." in page
    assert "Every seed of A above every seed of B: no." in page
    assert "3 seeds, 100 to 300 steps, 1,000 parameters." in page and "– not tried" in page
    assert 'id="claim-two"' in page and page.count('type="radio"') == 5


def test_a_broken_claim_or_an_absent_proof_makes_the_build_red_and_is_named(tmp_path):
    (tmp_path / "one").mkdir()
    done = build(tmp_path / "one", ENTRY | {"verdict": "holds"})
    assert done.returncode != 0 and "claim one: unknown verdict" in done.stderr and "Traceback" not in done.stderr
    (tmp_path / "two").mkdir()
    notebook = {"cells": [{"cell_type": "code", "source": "assert y", "metadata": {}, "outputs": []}]}
    (tmp_path / "two" / "notebooks").mkdir()
    (tmp_path / "two" / "notebooks" / "01_recurrence.ipynb").write_text(json.dumps(notebook))
    done = build(tmp_path / "two", {**ENTRY, "rules": [], "ours": {}, "proof": "assert x"})
    assert done.returncode != 0 and "no code cell of its chapter holds its proof" in done.stderr


@pytest.mark.parametrize(("code", "there"), [
    ("assert x", True), ("for x in y:\n    assert x  # as the text says\n", True),
    ("# assert x", False), ("print('assert x')", False), ("assert x or y", False), ("if z: assert x", False),
])  # fmt: skip
def test_a_proof_is_a_line_of_code(tmp_path, code, there):
    (tmp_path / "notebooks").mkdir()
    cells = [{"cell_type": "markdown", "source": "assert x"}, {"cell_type": "code", "source": code}]
    (tmp_path / "notebooks" / "01_recurrence.ipynb").write_text(json.dumps({"cells": cells}))
    assert ledger.proof_is_there(claim(rules=[], ours={}, proof="assert x"), tmp_path) is there


# ------------------------------------------------------------------------------------------ the book itself


def test_all_chapters_have_claims_and_every_paper_is_in_the_bibliography():
    assert len(CLAIMS) >= 35
    chapters = {path.stem for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert chapters <= {one.chapter for one in CLAIMS}
    known = set(re.findall(r"^@\w+\{([^,]+),", (ROOT / "book" / "references.bib").read_text(), flags=re.M))
    cited = {key for one in CLAIMS for key in re.findall(r"\{cite:\w\}`([^`]+)`", f"{one.source} {one.published}")}
    assert cited and cited <= known


@pytest.mark.parametrize("one", CLAIMS, ids=lambda one: one.id)
def test_a_claim_rests_on_recipes_or_proofs_that_exist(one):
    for path in one.ours.values():
        assert any(path.startswith(f"{name}.") for name in RECIPES), path
    outcome = ledger.verdict(one, RESULTS)
    if one.proof:
        assert ledger.proof_is_there(one, ROOT), one.proof
    elif outcome != ledger.UNTRIED:
        assert all(measured.series(path, RESULTS) for path in one.ours.values())
    if one.ours and not one.proof:
        assert one.rules, "numbers of ours without a rule"


def test_no_text_of_a_claim_passes_a_verdict_of_its_own():
    """The badge is computed; a sentence beside it could part from it."""
    told = re.compile(r"\b(?:holds|held|we found|we measured|confirmed|refuted|our result|here it)\b", flags=re.I)
    assert [one.id for one in CLAIMS if told.search(f"{one.claim} {one.published} {one.differs}")] == []
