"""Every chapter has the agreed anatomy, and every check of it sees a planted mistake."""

import copy
import statistics

import nbformat.v4 as v4
import pytest
from notebooks.structure import CHECKS
from support.built import NOTEBOOKS
from support.helpers import ROOT

from notebooks import structure
from rtx_book.build.execute import read_notebook as read


@pytest.mark.parametrize("name", NOTEBOOKS)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_chapter(name, check):
    assert not check(read(NOTEBOOKS[name]))


def test_notebooks_and_toc_agree():
    there = [*(ROOT / "notebooks").glob("[a-z]*.ipynb")]
    assert NOTEBOOKS and not structure.toc_faults(NOTEBOOKS.values(), there)
    assert len(structure.toc_faults([*NOTEBOOKS.values(), there[0]], there)) == 1, "named twice"
    assert structure.toc_faults(there[1:], there) and structure.toc_faults(there, there[1:])


def test_bootstrap_is_the_same_everywhere_but_for_what_a_chapter_uses():
    notebooks = {name: read(path) for name, path in NOTEBOOKS.items()}
    assert not structure.bootstraps_differ(notebooks)
    structure.code_cells(notebooks["race"])[0]["source"] += "\n"
    notebooks["gates"]["cells"] += [code('available("mnist")'), code("Sentiment()")]
    notebooks["attention"]["cells"].append(code("attention_view(x)"))
    assert structure.bootstraps_differ(notebooks) == ["gates", "attention", "race"]


def code(text, *tags):
    folded = structure.FOLDED_CODE if structure.HIDDEN.intersection(tags) else {}
    cell = v4.new_code_cell(f"# @title Fold\n{text}" if folded else text)
    return cell | {"metadata": folded | ({"tags": list(tags)} if tags else {})}


def chapter():
    """The smallest notebook without a fault."""
    cells = [v4.new_markdown_cell("# Title\n\nPrerequisites: none\n\n```\n# no heading\n```\n\n" + 2300 * "word ")]
    cells += [
        code("import sys", "bootstrap", "remove-cell"),
        code('profile = "book"  # or smoke\nseed = 0\ndevice = "auto"', "parameters"),
        v4.new_markdown_cell("## Part"),
        code("explorer(draw, values)"),
        code("plots.slider(draw, values)", "live"),
        *(code(f"x = {i}") for i in range(13)),
        code("\n".join(f"y = {i}" for i in range(25))),
    ]
    for i in range(3):
        cells += [v4.new_markdown_cell(f"### Exercise {i}"), code("answer = None", "exercise")]
        cells += [code(f"checks.solution({i})", "hide-cell")]
    cells += [code("\n".join(f"z = {i}" for i in range(30)), "hide-input")]
    cells += [code('fit(model, task)\nevidence.finding("part-z", "It learns.", 1.0, "> 0")', "hide-input")]
    return v4.new_notebook(cells=cells, metadata={"kernelspec": structure.KERNEL, "language_info": {"name": "python"}})


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_right_chapter_has_no_fault(check):
    assert check(chapter()) == []


def source_of(number, text):
    return lambda cells: cells[number].update(source=text)


def tags_of(number, *tags):
    return lambda cells: cells[number]["metadata"].update(tags=list(tags))


PLANTED = {
    "an unknown cell type": (structure.is_valid, lambda cells: cells[1].update(cell_type="cod")),
    "an output": (structure.has_no_outputs, lambda cells: cells[4].update(outputs=[v4.new_output("stream", text="1")])),
    "cell metadata": (structure.has_clean_metadata, lambda cells: cells[4]["metadata"].update(papermill={})),
    "hidden code that stands open": (structure.has_clean_metadata, lambda cells: cells[-2]["metadata"].pop("cellView")),
    "one id twice": (structure.has_unique_ids, lambda cells: cells[4].update(id=cells[5]["id"])),
    "two h1": (structure.has_one_title, source_of(3, "# Another")),
    "no prerequisites": (structure.begins_as_agreed, source_of(0, "# Title")),
    "an unknown tag": (structure.has_known_tags, tags_of(4, "hide_input")),
    "few words": (structure.has_the_size_of_a_chapter, source_of(0, "# Title\n\nshort")),
    "much that is Core": (
        structure.has_the_size_of_a_chapter,
        lambda cells: [
            cells[3].update(source="## Part\n\n" + 400 * "word "),
            cells.append(v4.new_markdown_cell(f"## Further: more\n\n{300 * 'word '}")),
        ],
    ),
    "Further without a colon": (structure.marks_what_is_further, source_of(3, "## Further beams")),
    "Further of a lower level": (structure.marks_what_is_further, source_of(3, "## Part\n\n### Further: beams")),
    "an open answer": (structure.keeps_its_answers, source_of(4, "ask(check, right=1, label='x')")),
    "an open solution": (structure.keeps_its_answers, source_of(4, "def mask_solution(x):\n    return x")),
    "a solution as code": (structure.keeps_its_answers, source_of(-3, "check(1)")),
    "a solution as text": (structure.keeps_its_answers, source_of(3, "<details><summary>Solution</summary>")),
    "a role": (structure.reads_as_words, source_of(3, "## Part\n\nBy {cite:t}`elman1990`.")),
    "a formula called by another's number": (structure.reads_as_words, source_of(3, "## Part\n\nBy [(2)](#eq-a).")),
    "a path of one machine": (structure.names_no_machine_path, source_of(4, 'open("/home/someone/data.txt")')),
    "a long hidden cell": (structure.hides_little, source_of(-2, "x = 1\n" * 46)),
    "an assert after a training": (structure.asserts_proofs_only, lambda cells: cells.append(code("assert h < 1"))),
    "no finding": (structure.states_its_findings, lambda cells: cells.pop()),
    "no solution": (structure.solves_its_exercises, lambda cells: cells.__delitem__(slice(-3, -2))),
    "slider without its tag": (structure.has_both_kinds_of_control, tags_of(5)),
}


def test_half_of_the_chapters_are_read_in_three_quarters_of_an_hour():
    parts = [structure.sections(read(path)) for path in NOTEBOOKS.values()]
    core = [sum(words for name, words, _ in own if not name.startswith(structure.FURTHER)) for own in parts]
    assert statistics.median(core) <= 2200


def test_what_is_further_is_counted_apart():
    """A section marked so ends at the next heading of its level, in the same cell or another, with its code cells."""
    notebook = chapter()
    text = "a b\n\n## Further: more\n\nc d\n\n### Deeper\n\n<details>x</details>e"
    notebook["cells"][3:3] = [v4.new_markdown_cell(text), code("x = 1"), v4.new_markdown_cell("f\n\n## Next\n\ng")]
    assert structure.sections(notebook)[1:3] == [("## Further: more", 9, 1), ("## Next", 3, 0)]
    assert not structure.has_the_size_of_a_chapter(notebook) and not structure.marks_what_is_further(notebook)


@pytest.mark.parametrize("what", PLANTED)
def test_a_planted_mistake_is_seen(what):
    check, plant = PLANTED[what]
    notebook = copy.deepcopy(chapter())
    plant(notebook["cells"])
    assert check(notebook)
