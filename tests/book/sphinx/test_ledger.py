"""The page of the ledger: built from claims, records and notebooks, and red where one of them is amiss."""

import json
from collections import Counter

import pytest
import yaml
from support.helpers import ROOT
from support.made_records import ENTRY, records, write
from support.sphinx_page import build_page

from rtx_book.claims import claims
from rtx_book.sphinx import ledger

UNRULED = {key: value for key, value in ENTRY.items() if key not in ("ours", "unit", "rules")}


def write_chapter(root, code, text="# One"):
    (root / "notebooks").mkdir()
    cells = [{"cell_type": "markdown", "source": text}, {"cell_type": "code", "source": code}]
    (root / "notebooks" / "recurrence.ipynb").write_text(json.dumps({"cells": cells}))


def build(root, *entries, runs=None, study=None, code="assert y"):
    """What was said while the page was built, and the page."""
    folder = root / "book" / "results"
    write(folder, *(record for found in (runs or {}).values() for record in found))
    if study:
        (folder / "study").mkdir()
        (folder / "study" / "replication.json").write_text(json.dumps(study))
    write_chapter(root, code)
    (root / "book" / "claims.yml").write_text(yaml.safe_dump([*entries]))
    return build_page(root, "results", "ledger", "```{ledger}\n```")


def test_the_page_says_what_the_records_say(tmp_path):
    runs = [{"part": "first", "values": {"word-one": 1.0}}] * 10
    findings = {"word-one": {"sentence": "S.", "bound": "> 0"}}
    study = {"chapters": {"recurrence": {"findings": findings, "runs": runs}}}
    entries = (
        ENTRY,
        ENTRY | {"id": "two", "rules": ["every A > B"]},
        ENTRY | {"id": "three", "rules": ["every A < 1.1"]},
        ENTRY | {"id": "four", "ours": {"C": "c.loss"}, "rules": ["every C < 1"], "short": "one step of many"},
        ENTRY | {"id": "five", "rules": ["every A > B"], "nobody": True},
        UNRULED | {"id": "six", "proof": "assert x", "scale": "paper"},
        UNRULED | {"id": "seven", "finding": "word-one"},
    )
    faults, page = build(
        tmp_path,
        *entries,
        runs=records(a=[1, 1.5, 1.2], b=[2, 2.5, 2.25], c=[3, 3, 3]),
        study=study,
        code='assert x\nevidence.finding("word-one", "S.", 1, "> 0")',
    )
    assert not faults
    assert "Of 6 claims, 3 hold, 1 of them in the claim’s own setting and 2 at our scale; 1 is contradicted" in page
    assert "1 is undecided; for 1 our budget is too small. 1 more is a question of our own" in page
    ones = ("contradicted", "undecided", "budget too small", "claimed by nobody")
    assert all(f"> {label}</label>" in page for label in ("all (7)", "holds (3)", *(f"{one} (1)" for one in ones)))
    assert "1.20 [1.00, 1.50]" in page and 'href="../book/records.html#recipe-a"' in page
    assert page.count("Every seed of A below every seed of B: yes.") == 1
    assert page.count("Every seed of A above every seed of B: no, the contrary.") == 2
    assert "Every seed of A below 1.1: not decided." in page and "The seeds do not decide it." in page
    assert "One step of many." in page and "“S”: held in 10 of 10 runs." in page
    assert "3 seeds, 100 to 300 steps, 1,000 parameters." in page
    assert "✓ holds</span>" in page and "✗ contradicted at our scale</span>" in page
    assert 'id="claim-two"' in page and page.count('type="radio"') == 6
    assert page.index('id="claim-five"') > page.index('id="claim-seven"'), "questions of our own stand last"


def test_a_broken_claim_makes_the_build_red_and_is_named(tmp_path):
    faults, _ = build(tmp_path, UNRULED | {"finding": "word-one"})
    assert "claim one: no code cell of its chapter holds its finding" in faults and "Traceback" not in faults


@pytest.mark.parametrize(
    ("kind", "code", "there"),
    [
        ("proof", "assert x", True),
        ("proof", "for x in y:\n    assert x  # as the text says\n", True),
        ("proof", "# assert x", False),
        ("proof", "print('assert x')", False),
        ("proof", "assert x or y", False),
        ("proof", "if z: assert x", False),
        ("finding", 'evidence.finding("word-one", "S.", 1, "> 0")', True),
        ("finding", 'for x in y:\n    evidence.finding(\n        "word-one", "S.", x, "> 0")', True),
        ("finding", 'evidence.finding("word-two", "S.", 1, "> 0")', False),
        ("finding", '# evidence.finding("word-one")', False),
        ("finding", 'print("word-one")', False),
        ("finding", 'evidence.finding(name, "word-one", 1, "> 0")', False),
    ],
)
def test_a_proof_is_a_line_of_code_and_a_finding_a_call_with_its_id(tmp_path, kind, code, there):
    write_chapter(tmp_path, code, text="assert x")
    ledger._code.cache_clear()
    look = {"proof": ledger.proof_is_there, "finding": ledger.finding_is_there}[kind]
    said = {"proof": "assert x", "finding": "word-one"}[kind]
    assert look(claims.Claim(**UNRULED, **{kind: said}), tmp_path) is there


def test_what_a_weak_rival_leaves_of_a_rule_is_said():
    found = records(a=[1, 1, 1], b=[2, 2, 2])
    for record in found["a"] + found["b"]:
        record["baselines"] = {"counting": 1.5}
    one = claims.Claim(**ENTRY | {"rules": ["every A < B", "every A < 3"], "enough": 1, "trivial": "counting"})
    assert ledger.ruled(one, found)[1:] == [
        "Every seed of A below every seed of B: not counted.",
        "Every seed of A below 3: yes.",
    ]
    assert ledger.ruled(one, found)[0] == "1 of these 2 is enough."


def test_every_proof_and_finding_of_the_book_is_in_its_chapter():
    ledger._code.cache_clear()
    assert ledger.absent(claims.all_claims(), ROOT) == []


def test_the_summary_counts_what_the_badges_say():
    judged = [(claims.Claim(**UNRULED), claims.Judgement(verdict)) for verdict in claims.VERDICTS * 2]
    count = Counter(found.verdict for _, found in judged)
    assert set(count.values()) == {2}
    assert ledger.summed_up(judged) == (
        "Of 8 claims, 2 hold, 0 of them in the claim's own setting and 2 at our scale; 2 are contradicted; 2 are "
        "undecided; for 2 our budget is too small. 2 more are questions of our own, on which no source makes a "
        "claim; they count neither for nor against one."
    )
