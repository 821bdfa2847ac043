"""Solutions and fields of the exercises stand in text files: each notebook finds its own, the page shows the code."""

import re
import symtable

import pytest
from support.built import NOTEBOOKS
from support.helpers import code_cell

import __main__
from rtx_book import paths
from rtx_book.build import website
from rtx_book.build.execute import read_notebook, source
from rtx_book.checks import gates, solutions


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_each_exercise_of_a_chapter_has_its_solution_which_can_be_shown_again_and_no_other_is_there(name):
    notebook = read_notebook(NOTEBOOKS[name])["cells"]
    cells = "\n".join(map(source, notebook))
    asked = {kind: set(re.findall(rf"checks\.{kind}\((\d)\)", cells)) for kind in ("solution", "ask")}
    headings = re.findall(r"^### Exercise (\d): (.+)$", cells, flags=re.M)
    text = (paths.PACKAGE / "checks" / "solutions" / f"{name}.md").read_text(encoding="utf-8")
    assert re.findall(r"^## Exercise (\d): (.+)$", text, flags=re.M) == headings
    assert asked["solution"] == {number for number, _ in headings} and len(asked["ask"]) == text.count("python field")
    code = (source(cell) for cell in notebook if cell["cell_type"] == "code")
    _, *parts = re.split(r"checks\.solution\((\d)\)", "\n".join(code))
    for place, number in enumerate(parts[::2]):  # no cell below it gives a name that it reads to something else
        own = re.findall(r"^```python.*?\n(.*?)^```$", paths.solution_text(name, number), flags=re.M | re.S)
        texts = "".join(own), "\n".join(parts[2 * place + 1 :: 2])
        read, below = (symtable.symtable(text, name, "exec").get_symbols() for text in texts)
        given = {one.get_name() for one in below if one.is_assigned() or one.is_imported()}
        assert not given & {one.get_name() for one in read if not (one.is_assigned() or one.is_imported())}, number


def test_a_solution_is_shown_in_a_fold_and_on_the_page_as_code(monkeypatch, tmp_path):
    text = "## Exercise 1: one\n\n```python\nx = 2\nprint(x)\n```\n\n## Exercise 2: two\n\nSee {cite:t}`gers2000`.\n"
    (folder := tmp_path / "checks" / "solutions").mkdir(parents=True)
    (folder / "made.md").write_text(text)
    solutions.plain("{cite:t}`gers2000`")  # reads the bibliography where it lies
    monkeypatch.setattr(paths, "PACKAGE", tmp_path)
    monkeypatch.setattr(__main__, "x", 1, raising=False)
    shown = []
    monkeypatch.setattr(
        solutions, "display", lambda data, raw: shown.append({"output_type": "display_data", "data": data})
    )
    show, _ = solutions.of_chapter("rtx_book.checks.made")
    show(1)
    show("two")
    code, words = (output["data"]["text/markdown"] for output in shown)
    assert (
        code
        == "<details><summary>Solution</summary>\n\n```python\nx = 2\nprint(x)\n```\n\n```text\n2\n```\n\n</details>"
    )
    assert "See Gers et al. (2000)." in words and __main__.x == 1
    first, second = (website.with_solution(code_cell("show()", outputs=[output]) | {"id": "x"}) for output in shown)
    assert first["source"] == "x = 2\nprint(x)" and [one["text"] for one in first["outputs"]] == ["2\n"]
    assert second["cell_type"] == "markdown" and "See {cite:t}`gers2000`." in second["source"]


@pytest.mark.parametrize("which", [9, "another", ""])
def test_a_solution_that_is_not_there(which):
    with pytest.raises(ValueError, match=r"which must be .* one of Exercise 1: a memory of a hundred steps, .*; got"):
        gates.solution(which)
