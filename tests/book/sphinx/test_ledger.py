"""The ledger: what it says of rules, and that proofs and findings are in the code of their chapters."""

import json

import pytest
from support.helpers import ROOT
from support.made_records import ENTRY, records

from rtx_book.claims import claims
from rtx_book.sphinx import ledger

UNRULED = {key: value for key, value in ENTRY.items() if key not in ("ours", "unit", "rules")}


def write_chapter(root, code, text="# One"):
    (root / "notebooks").mkdir()
    cells = [{"cell_type": "markdown", "source": text}, {"cell_type": "code", "source": code}]
    (root / "notebooks" / "recurrence.ipynb").write_text(json.dumps({"cells": cells}))


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
