"""The generated parts of pages: each as kept in ``golden``, parsed without a warning, and red where a file is broken.

After a change that is meant, write them anew: ``GOLDEN=new python -m pytest tests/book/sphinx/test_generated.py``.
"""

import json
import lzma
import os
from pathlib import Path

import pytest
import yaml
from support.made_records import ENTRY, whole, write
from support.sphinx_page import build_page

from rtx_book.sphinx import generated

GOLDEN = Path(__file__).parent / "golden"
PARTS = ("findings", "ledger", "records", "speed rnn", "speed race", "speed-machines")
UNRULED = {key: value for key, value in ENTRY.items() if key not in ("ours", "unit", "rules")}
CODE = 'assert x\nevidence.finding("word-sure", "It *learns*.", 1, "> 0")'


def claims():
    """One of each verdict; by rules, by a proof and by a finding."""
    return [
        ENTRY | {"claim": "A is *better* than `B`.", "differs": "The book's own."},
        ENTRY | {"id": "two", "rules": ["every A > B"]},
        ENTRY | {"id": "three", "rules": ["every A < 1.1"], "unit": ""},
        ENTRY | {"id": "four", "ours": {"C_[1]": "c.loss"}, "rules": ["every C_[1] < 1"], "short": "one step of many"},
        ENTRY | {"id": "five", "rules": ["every A > B"], "nobody": True},
        UNRULED | {"id": "six", "proof": "assert x", "scale": "paper"},
        UNRULED | {"id": "seven", "finding": "word-sure"},
        UNRULED | {"id": "eight", "proof": "assert x", "unpublished": True},
    ]


def study():
    """Findings that always hold, with one value or several, that do not, that have no finite value, that never ran."""
    where = {"processor": "x86_64, AVX2", "python": "3.11.7", "torch": "2.13.0"}
    where |= {"instructions": "avx2", "cpu_seconds": 360}
    told = {
        "word-sure": {"sentence": "It *learns*.", "bound": "> 0"},
        "word-shaky": {"sentence": "It's lost & forgets.", "bound": "> 0"},
        "word-same": {"sentence": "Always so.", "bound": "== 2"},
        "word-lost": {"sentence": "Never finite.", "bound": "> 0"},
        "word-new": {"sentence": "Nobody ran it.", "bound": "> 0"},
    }
    always = {"word-same": 2.0, "word-lost": None}
    runs = [
        {"seed": seed, "data": data, "part": part, "threads": 1 + (seed == 1), "values": always | values, **where}
        for seed, data, part, values in [
            *((seed, "true", "first", {"word-sure": seed / 2, "word-shaky": 2.0}) for seed in range(1, 9)),
            (9, "embedded", "first", {"word-sure": 0.25, "word-shaky": -1.0}),
            (101, "true", "second", {"word-sure": 0.75, "word-shaky": None}),
        ]
    ]
    return {"chapters": {"recurrence": {"findings": told, "runs": runs}}}


def runs():
    """What decides the claims, recipes with a run that diverged, finals of rates that won and lost, and trials."""

    def rated(name, lr, seed=0, loss=0.25, **changes):
        rows = [{"step": 400, "split": "valid", "loss": loss}]
        return whole(f"{name}-{lr:g}", seed, configuration=how | {"lr": lr}, evaluations=rows, **changes)

    how = whole()["configuration"]
    gone = {"metrics": {}, "baselines": {}, "diverged": {"step": 3000, "reason": "loss is nan"}}
    best = how | {"optimizer": "sgd", "keep_best": "loss", "clip": None}
    judged = {"a": (1, 1.5, 1.2), "b": (2, 2.5, 2.25), "c": (3, 3, 3)}
    return [
        *(whole(name, seed, metrics={"loss": loss}) for name, own in judged.items() for seed, loss in enumerate(own)),
        *(whole(f"adding-rnn-t{length}", seed) for length in (10, 100, 50) for seed in (10, 2)),
        whole("adding-rnn-t50", 3, **gone),
        whole("adding-rnn-t0.5", **gone),
        whole(
            "long-lstm-t100", configuration=best, commit=f"{whole()['commit']}-dirty", metrics={"mse": 0.03, "a": 1.0}
        ),
        whole("a-new-thing"),
        rated("race-copy-gru", 0.03),
        *(rated("race-copy-gru", 0.01, seed, loss) for seed, loss in enumerate((0.2, 0.3))),
        rated("race-copy-gru", 0.01, 2, 9.0, **gone),
        rated("rate-adding-lstm", 0.01),
        rated("rate-adding-lstm", 0.0003, loss=0.125),
    ]


def speeds():
    """A case on a processor and on a GPU, and the race in parts, whose rows have no error."""
    machine = {"processor": "A processor", "cores": 2, "threads": 1, "gpu": None, "build": "CPU only, AVX2"}
    versions = {"python": "3.11.7", "torch": "2.13.0", "numpy": "2.4.6", "rtx_lib": "0.1.0"}
    entry = {"format": 1, "date": "2026-11-02", "commit": whole()["commit"], "versions": versions, "clock": "processor"}
    row = {"variant": "rtx_lib RNN", "against": "torch.nn.RNN", "kind": "torch.nn", "device": "cpu, one thread"}
    slow = row | {"variant": 'loop, "plain"', "against": "it", "kind": "plain loop", "memory_ratio": 0.333}
    raced = row | {"kind": "ours", "against": "transformer", "max_error": None}
    cost = {"seconds_per_step": 0.0123, "flops_per_step": 961604544, "parameters": 50845}
    rnn = [
        row | {"case": "rnn", "ratio": 1.5, "max_error": 3.5e-7},
        slow | {"case": "rnn", "ratio": 0.25, "max_error": 0},
    ]
    race = [raced | {"case": "race-copy", "variant": "rnn", "ratio": 38.06, **cost}]
    race += [raced | {"case": "race-digits", "variant": "transformer", "ratio": 1.0}]
    card = {"machine": machine | {"gpu": "A GPU"}, "clock": "wall", "rows": [one | {"device": "A GPU"} for one in rnn]}
    on_cpu = [entry | {"case": case, "machine": machine, "rows": rows} for case, rows in (("race", race), ("rnn", rnn))]
    return [*on_cpu, on_cpu[1] | card]


def planted(root, claims=(), runs=(), speeds=(), study=None):
    """The book's files under `root`."""
    results = root / "book" / "results"
    write(results, *runs)
    (results / "chosen.json").write_text('{"race-copy-gru": "race-copy-gru-0.03"}')
    (results / "speed.jsonl").write_text("".join(json.dumps(one) + "\n" for one in speeds))
    (results / "study").mkdir()
    (results / "study" / "replication.json.xz").write_bytes(lzma.compress(json.dumps(study or {}).encode()))
    (root / "book" / "claims.yml").write_text(yaml.safe_dump([*claims]))
    (root / "notebooks").mkdir()
    cells = [{"cell_type": "markdown", "source": "# One: two"}, {"cell_type": "code", "source": CODE}]
    (root / "notebooks" / "recurrence.ipynb").write_text(json.dumps({"cells": cells}))
    return root


@pytest.fixture
def book(tmp_path):
    return planted(tmp_path, claims(), runs(), speeds(), study())


def page(root):
    """One page with all parts, built as strictly as the site: what was said, and its HTML."""
    fences = ("```{{{}}} {}\n```".format(*part.partition(" ")[::2]) for part in PARTS)
    return build_page(root, "all", "generated", "\n\n".join(f"## Part {fence[4:8]}\n\n{fence}" for fence in fences))


@pytest.mark.parametrize("part", [*PARTS, "ledger unpublished"])  # the latter on a page of its own
def test_a_part_says_what_the_files_say(book, part):
    name, *case = part.split()
    kept, text = GOLDEN / f"{'-'.join([name, *case])}.md", generated.rendered(name, book, *case)
    if os.environ.get("GOLDEN"):
        kept.write_text(text, encoding="utf-8")
    assert text == kept.read_text(encoding="utf-8")


def test_the_parts_are_parsed_without_a_warning(book):
    faults, text = page(book)
    assert not faults
    assert text.count("<table") == 12 and text.count("<table") == text.count("</table>") == text.count("<tbody")
    for found in (
        '<section class="claims" id="claims-recurrence">',
        '<p class="claim-sentence"><span class="verdict verdict-holds">✓ holds at our scale</span> A is <em>better<',
        'href="../book/records.html#recipe-c">C_[1]</a> 3.00 nats.',
        "<p>“It *learns*”: held in 10 of 10 runs.</p>",
        "the claim’s own setting",
        '<section id="records-other-runs">',
        '<p class="speed-part"><strong>Copy</strong></p>',
        '<p class="speed-source">Measured on 2 November 2026 at commit <code',
    ):
        assert found in text


def test_what_is_missing_is_said(tmp_path):
    planted(tmp_path)
    said = [generated.rendered(name, tmp_path, *case) for name, *case in map(str.split, PARTS)]
    sentences = ("no run yet", "Of 0 claims", "no records yet", "Nothing is", "Nothing is", "measured on a GPU yet")
    assert all(sentence in text for sentence, text in zip(sentences, said, strict=True))


def test_a_broken_file_makes_the_build_red_and_is_named(tmp_path):
    odd = [{key: value for key, value in one.items() if key != "commit"} for one in (whole(), speeds()[0])]
    faults, _ = page(planted(tmp_path, [UNRULED | {"finding": "word-two"}], odd[:1], odd[1:]))
    assert "ledger: claim one: no code cell of its chapter holds its finding" in faults
    assert "records: adding-rnn-t10-s0 does not follow the schema" in faults and "'commit' is a required" in faults
    assert faults.count("speed: speed.jsonl, line 1 does not") == 2 and "speed-machines: speed.jsonl, line 1" in faults
    assert faults.count("all.md: ERROR: ") == 5 and "Traceback" not in faults
