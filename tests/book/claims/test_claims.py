"""Claims: entries that are whole, and verdicts that are computed."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from support.helpers import ROOT
from support.made_records import ENTRY, records
from support.trivial import no_better_than_trivial

from rtx_book.claims import claims, page
from rtx_book.claims.findings import load_study
from rtx_book.records import measured
from rtx_book.records.records import chosen, load
from rtx_book.runs.recipes import RECIPES

BOOK = claims.all_claims()
RESULTS = load()
A_B = records(a=[1, 1, 1], b=[2, 2, 2])
B_A = records(a=[3, 3, 3], b=[2, 2, 2])


def claim(**changes):
    return claims.Claim(**{**ENTRY, **changes})


def judged(one, found=None, study=None):
    judgement = claims.judge(one, found or {}, study)
    return judgement.verdict, judgement.why


def study(values, bound="> 0"):
    runs = [{"part": "first", "values": {"word-one": value}} for value in values]
    return {"chapters": {"recurrence": {"findings": {"word-one": {"sentence": "S.", "bound": bound}}, "runs": runs}}}


ONE, OTHER, TWO = "every A < 9", "every A < B", {"rules": ["every A < 9", "every A < 8", "every A > B"], "enough": 2}
OPEN, CONTRADICTED, HOLDS = "undecided", ("contradicted", ""), ("holds", "")


@pytest.mark.parametrize(
    ("changes", "found", "expected"),
    [
        ({}, A_B, HOLDS),
        ({}, B_A, CONTRADICTED),
        ({}, records(a=[3, 1, 1], b=[2, 2, 2]), (OPEN, "the seeds do not decide it")),
        ({}, records(a=[1, 1], b=[2, 2, 2]), (OPEN, "too few runs: 2 of A")),
        ({}, records(a=[3, 3, 3], b=[2, 2]), (OPEN, "too few runs: 2 of B")),
        ({}, records(a=[3, 3, 3]), (OPEN, "too few runs: none of B")),
        ({"rules": [], "ours": {}}, {}, (OPEN, "not run")),
        ({"rules": ["every A > 9", OTHER]}, B_A, CONTRADICTED),
        ({"rules": [ONE, OTHER]}, B_A, (OPEN, "one part is contradicted, another holds")),
        (
            {"rules": [OTHER, "every A > 2"]},
            records(a=[3, 3, 1.9], b=[1, 1, 1]),
            (OPEN, "one part is contradicted, the seeds do not decide the rest"),
        ),
        ({"rules": [ONE, OTHER], "enough": 1}, B_A, HOLDS),
        (TWO, records(a=[9.5] * 3, b=[2] * 3), CONTRADICTED),
        (TWO, records(a=[1, 8.5, 9.5], b=[2] * 3), (OPEN, "the seeds do not decide it")),
    ],
)
def test_rules_make_a_verdict(changes, found, expected):
    assert judged(claim(**changes), found) == expected


def test_a_small_budget_takes_back_a_refutation_and_a_success_alike():
    short = {"short": "300 steps of 50,000"}
    assert judged(claim(**short), B_A) == ("budget too small", "300 steps of 50,000")
    assert judged(claim(**short, rules=[], ours={}), {}) == ("budget too small", "300 steps of 50,000")
    assert judged(claim(**short), A_B) == ("budget too small", "300 steps of 50,000")


@pytest.mark.parametrize(("found", "answer"), [(A_B, "yes"), (B_A, "no"), ({}, "open")])
def test_what_nobody_claims_is_neither_right_nor_wrong(found, answer):
    assert judged(claim(nobody=True), found) == ("claimed by nobody", f"our answer: {answer}")


def with_baseline(line, **losses):
    found = records(**losses)
    for runs in found.values():
        for one in runs:
            one["baselines"] = {"counting": line}
    return found


@pytest.mark.parametrize(("line", "expected"), [(2.5, "holds"), (2.05, OPEN), (1.5, OPEN), (0.5, OPEN)])
def test_a_rival_that_does_not_beat_the_trivial_baseline_decides_nothing(line, expected):
    found = with_baseline(line, a=[1, 1, 1], b=[2, 2, 2.1])
    assert judged(claim(), found)[0] == "holds", "nobody asked for the baseline"
    assert judged(claim(trivial="counting"), found)[0] == expected
    told = "B does not beat the trivial baseline, counting, with every seed"
    assert line != 1.5 or judged(claim(trivial="counting"), found)[1] == told


def test_a_weak_rival_does_not_hide_that_another_one_contradicts():
    found = with_baseline(5, a=[3, 3, 3], b=[9, 9, 9], c=[2, 2, 2])
    ours = {"A": "a.loss", "B": "b.loss", "C": "c.loss"}
    three = claim(ours=ours, rules=["every A < B", "every A < C"], trivial="counting")
    assert judged(three, found) == CONTRADICTED
    with pytest.raises(ValueError, match="no record of its runs has the baseline 'guessing'"):
        claims.judge(claim(trivial="guessing"), found)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1] * 19 + [-1], HOLDS),
        ([1] * 17 + [-1] * 3, (OPEN, "the finding held in 17 of 20 runs")),
        ([-1] * 20, (OPEN, "the finding held in 0 of 20 runs")),
        ([1] * 9, (OPEN, "too few runs of the study: 9")),
        ([1] * 8 + [None] * 2, (OPEN, "the finding held in 8 of 10 runs")),
        ([1] * 10, HOLDS),
        ([], (OPEN, "not in the replication study yet")),
    ],
)
def test_a_finding_decides_by_its_rate(values, expected):
    found, refuted = (claim(rules=[], ours={}, finding="word-one", refuted=how) for how in (False, True))
    assert judged(found, {}, study(values)) == expected
    assert judged(refuted, {}, study(values)) == (CONTRADICTED if expected == HOLDS else expected)
    assert judged(found, {}, {}) == (OPEN, "not in the replication study yet")


def test_a_finding_that_does_not_reach_all_of_a_claim_leaves_it_open():
    partly = claim(rules=[], ours={}, finding="word-one", open="one unit only")
    assert judged(partly, {}, study([1] * 10)) == (OPEN, "one unit only")
    assert judged(partly, {}, {}) == (OPEN, "one unit only")


def test_a_proof_decides_and_a_label_says_in_which_setting():
    proved = claim(rules=[], ours={}, proof="assert x", scale="paper")
    assert judged(proved) == ("holds", "") and claims.label(proved, claims.judge(proved, {})) == "✓ holds"
    refuted = claim(rules=[], ours={}, proof="assert x", refuted=True)
    assert claims.label(refuted, claims.judge(refuted, {})) == "✗ contradicted at our scale"
    assert claims.label(claim(), claims.judge(claim(), A_B)) == "✓ holds at our scale"
    assert claims.label(claim(), claims.judge(claim(), records(a=[1] * 3))) == "? undecided"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"published": ""}, "published missing"),
        ({"scale": "big"}, "scale is 'big'"),
        ({"proof": "assert x"}, "not two of them"),
        ({"finding": "word-one"}, "not two of them"),
        ({"refuted": True}, "refuted, without the proof or the finding"),
        ({"open": "one unit only", "rules": [], "ours": {}}, "open, without the rules or the finding"),
        ({"enough": 1}, "enough is 1; it must be fewer than its 1 rules"),
    ],
)
def test_every_planted_fault_is_named(tmp_path, changes, message):
    path = tmp_path / "claims.yml"
    path.write_text(yaml.safe_dump([ENTRY]))
    assert claims.read_claims(path) == [claim()]
    path.write_text(yaml.safe_dump([ENTRY | changes]))
    with pytest.raises(ValueError, match=f"claim one: .*{message}"):
        claims.read_claims(path)


def test_numbers_in_words():
    def said(values):
        found = records(a=values)
        return claims.said(measured.series("a.loss", found), found["a"])

    assert said([1.0, 1.1, 1.2]) == "1.10 [1.00, 1.20]" and said([1.0, None]) == "1.00, 1 of 2 diverged"
    assert said([None, None]) == "all 2 diverged" and said([0.9999, 1.0]) == "1.00"
    assert said([999.6]) == "1,000"
    assert said([float("inf"), 1500.0]) == "never [1,500, never]"
    assert said([1.0, float("nan"), None]) == "1.00, 1 of 3 diverged, 1 of 3 without a value"
    assert claims.budget(claim(), records(a=[1, 2], b=[1, 2, 3])) == "2 to 3 seeds, 100 to 300 steps, 1,000 parameters"
    free = {"a": [records(a=[1])["a"][0] | {"baselines": {"mean": 1.0}}]}
    assert claims.budget(claim(ours={"A": "a.baselines.mean"}), free) == "Nothing learned"


def test_a_source_reads_without_sphinx():
    assert claims.plain("{cite:t}`vaswani2017`, table 1") == "Vaswani et al. (2017), table 1"
    assert claims.plain("{cite:p}`hochreiter1997,le2015`") == "Hochreiter and Schmidhuber (1997); Le et al. (2015)"
    assert claims.plain("{doc}`the ledger </book/results>`, {doc}`api`") == "the ledger, api"
    assert claims.as_html("`a < b` & {cite:t}`elman1990`") == "<code>a &lt; b</code> &amp; Elman (1990)"


CHAPTERS = sorted({one.chapter for one in BOOK})


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_chapter_has_an_audit_without_a_trace_of_sphinx(chapter):
    made = page.audit_bundle(chapter, "../book/results.html")
    table, lines = made["text/html"], made["text/plain"]
    for text in (table, lines):
        assert "{cite" not in text and "{doc" not in text and "nan" not in text
    own = [one for one in BOOK if one.chapter == chapter and not one.unpublished]
    assert table.count('<span class="verdict ') == len(lines.splitlines()) == len(own)
    assert all(f'href="../book/results.html#claim-{one.id}"' in table for one in own)
    assert table.count(page.OWN) == any(one.nobody for one in own)


def test_a_notebook_s_links_become_roles():
    papers = [claims.papers()[key] for key in ("elman1990", "le2015")]
    short = "; ".join(f"[{name[:-7]}, {name[-5:-1]}]({home})" for name, home in papers)
    text = f"[{papers[0][0]}]({papers[0][1]}) ({short}) [(2)](#eq-a) [x](y.ipynb)\n\n> **Beware.** It is so."
    made = "{cite:t}`elman1990` {cite:p}`elman1990,le2015` {eq}`eq-a` [x](y.ipynb)\n\n```{admonition} Beware\n"
    assert claims.as_roles(text) == made + ":class: warning\nIt is so.\n```"
    text = '<a id="eq-a"></a>\n$$\nx\n\\tag{1}\n$$\n\n<a id="part"></a>\n## Part'
    assert claims.as_roles(text) == "$$\nx\n$$ (eq-a)\n\n(part)=\n## Part"


def test_a_chapter_without_claims_is_named():
    with pytest.raises(ValueError, match=r"chapter must have claims in claims\.yml, got '99_none'"):
        page.audit_bundle("99_none")


def test_an_installed_library_has_its_claims_papers_and_records(tmp_path):
    """The layout of the wheel, as pyproject.toml names it; nothing of a checkout is near."""
    text = (ROOT / "pyproject.toml").read_text()
    for package in ("rtx_lib", "book/rtx_book"):
        assert f'"{package}"' in text.partition("packages = ")[2].partition("\n")[0]
        target = tmp_path / Path(package).name
        shutil.copytree(ROOT / package, target, ignore=shutil.ignore_patterns("__pycache__"))
    lines = re.findall(r'^"(book/[^"]+)" = "(rtx_book/[^"]+)"$', text, flags=re.M)
    for source, target in lines:
        (tmp_path / target).parent.mkdir(exist_ok=True)
        (tmp_path / target).symlink_to(ROOT / source)
    code = "import rtx_book; from rtx_book.claims.page import audit_bundle as a; print(rtx_book.__file__, a('race'))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    first, _, table = done.stdout.partition(" ")
    assert first.startswith(str(tmp_path)) and table.strip() == repr(page.audit_bundle("race"))


def test_all_chapters_have_claims_and_every_paper_is_in_the_bibliography():
    assert {path.stem for path in (ROOT / "notebooks").glob("[a-z]*.ipynb")} <= set(CHAPTERS)
    texts = " ".join(f"{one.source} {one.published} {one.differs} {one.short}" for one in BOOK)
    cited = {key for keys in re.findall(r"\{cite:\w\}`([^`]+)`", texts) for key in keys.split(",")}
    assert cited and cited <= set(claims.papers())


def test_what_nobody_can_look_up_is_anonymous_and_all_else_has_a_source():
    nameless = r"A (reading of a )?(set of lecture notes|student report)"
    hidden = {one.id for one in BOOK if one.unpublished}
    assert hidden and hidden == {one.id for one in BOOK if re.match(nameless, one.source)}


@pytest.mark.parametrize("one", BOOK, ids=lambda one: one.id)
def test_a_claim_rests_on_recipes_that_exist_and_names_the_baseline_that_a_rival_misses(one):
    """Such a rival decides nothing: under ``trivial`` stands which baseline it is."""
    names = {*RECIPES, *chosen()}
    assert all(any(path.startswith(f"{name}.") for name in names) for path in one.ours.values())
    claims.judge(one, RESULTS, load_study())
    assert bool(one.ours) == bool(one.rules), "numbers of ours without a rule, or a rule without numbers"
    if not one.trivial and not claims.too_few(one, RESULTS):
        assert no_better_than_trivial(one, RESULTS) == set()


def test_a_planted_rival_below_the_trivial_baseline_is_found():
    found = records(a=[1, 1, 1], b=[2, 2, 2.5], **{"rate-b-0.1": [9], "rate-b-0.003": [9], "rate-a-0.1": [9]})
    for run in (run for runs in found.values() for run in runs):
        run["baselines"] = {"note transitions": 2.4, "guessing": 9}
    assert no_better_than_trivial(claim(), found) == {"B"}
    alone = [{"A": "b.loss", "B": "b.loss"}, {"A": "b.baselines.guessing", "B": "b.loss"}]
    alone += [{"A": "rate-b-0.1.loss", "B": "rate-b-0.003.loss"}]
    changes = [{"rules": ["every B > 1"]}, *({"ours": ours} for ours in alone)]
    assert [no_better_than_trivial(claim(**change), found) for change in changes] == [set()] * 4, "against no rival"
    ours = {"A": "rate-a-0.1.loss", "B": "rate-b-0.1.loss"}
    assert no_better_than_trivial(claim(ours=ours), found) == {"A", "B"}


def test_no_text_of_a_claim_passes_a_verdict_of_its_own():
    """The badge is computed; a sentence beside it could part from it."""
    told = re.compile(r"\b(?:holds|held|we found|we measured|confirmed|refuted|our result|here it)\b", flags=re.I)
    assert [one.id for one in BOOK if told.search(f"{one.claim} {one.published} {one.differs} {one.short}")] == []


def test_claims_yml_is_json_like_the_rest(tmp_path):
    """Every value is text, a number, a list of texts or a table of texts: nothing that YAML reads as something else."""
    for entry in yaml.safe_load(claims.book_file("claims.yml").read_text(encoding="utf-8")):
        assert json.loads(json.dumps(entry)) == entry
        others = ("ours", "rules", "refuted", "nobody", "unpublished", "enough")
        texts = [entry[key] for key in entry if key not in others]
        assert all(isinstance(text, str) for text in [*texts, *entry.get("ours", {}).values(), *entry.get("rules", [])])
