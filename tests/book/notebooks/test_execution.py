"""Every notebook of the toc runs in `smoke`, the same seed gives the same numbers, and what is wrong is seen."""

import json
import subprocess
import sys

import nbformat.v4 as v4
import pytest
from support import built
from support.built import NOTEBOOKS
from support.helpers import PACKAGES, code_cell

from notebooks import displayed, outputs
from rtx_book.build.execute import read_notebook as read
from rtx_book.build.execute import tags


@pytest.mark.slow
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook_runs(name):
    """Without a warning; what was drawn is on the page, and what the text speaks of was drawn."""
    execution = built.execution()
    assert execution.returncode == 0, execution.text
    notebook = read(execution.folder / f"{name}.ipynb")
    assert not outputs.errors(notebook) + outputs.not_run(notebook)
    assert not outputs.warnings(notebook) + outputs.addresses(notebook) + outputs.links(notebook)
    assert not displayed.numbers_missing(notebook) + displayed.text_without_figure(notebook)
    assert execution.took[name]["cpu"] > 0, "reported at the end of the run, and judged by nobody"


@pytest.mark.slow
def test_same_seed_same_numbers(tmp_path):
    """The quickest chapter once more, in another folder and another process."""
    took = built.execution().took
    name = min(NOTEBOOKS, key=lambda name: took[name]["cpu"])
    again = built.build("execute", "--profile", "smoke", "--only", name, root=built.tree(), folder=tmp_path)
    assert again.returncode == 0, again.stdout + again.stderr
    first, second = read(built.execution().folder / f"{name}.ipynb"), read(tmp_path / "executed" / f"{name}.ipynb")
    assert len(outputs.results(first)) > 10
    assert not outputs.differences(first, second)


@pytest.mark.weekly
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_cell_runs_twice_in_a_row(name, tmp_path):
    """As a reader does who changes a line and runs the cell again; the cell of parameters is papermill's own matter."""
    tree = built.copy_tree(tmp_path / "tree")
    path = tree / "notebooks" / f"{name}.ipynb"
    notebook = read(path)
    again = []
    for cell in notebook["cells"]:
        twice = "parameters" not in tags(cell) and cell["cell_type"] == "code"
        again += [cell, cell | {"id": f"{cell['id']}-2"}][: 1 + twice]
    again += [cell | {"id": f"{cell['id']}-3"} for cell in notebook["cells"] if "hide-cell" in tags(cell)]  # solutions
    path.write_text(json.dumps(notebook | {"cells": again}))
    run = built.build("execute", "--profile", "smoke", "--only", name, root=tree, folder=tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr


REFUSAL = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell
for path in sys.argv[1:]:
    shell = InteractiveShell()
    shell.showtraceback = lambda *args, **kwargs: None
    cells = [c for c in json.load(open(path))["cells"] if c["cell_type"] == "code"][:6]
    for cell in cells:
        text = "".join(cell["source"])
        if "parameters" in cell["metadata"].get("tags", []):
            text += '\\nprofile = "huge"'
        if error := shell.run_cell(text).error_in_exec:
            print(f"{type(error).__name__}: {error}")
            break
    else:
        print("no error")
"""


def test_notebooks_refuse_an_unknown_profile_themselves(tmp_path):
    """On Colab nothing stands between the reader and the parameters cell."""
    run = subprocess.run(
        [sys.executable, "-c", REFUSAL, *map(str, NOTEBOOKS.values())],
        cwd=tmp_path,
        env={"PYTHONPATH": PACKAGES, "HOME": str(tmp_path), "PATH": "", "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
    )
    answers = run.stdout.splitlines()
    assert len(answers) == len(NOTEBOOKS), run.stdout + run.stderr
    for answer in answers:
        assert answer.startswith("ValueError") and "huge" in answer, answers
        assert all(profile in answer for profile in ("smoke", "book", "paper")), answers


def executed(*cells):
    """A notebook as papermill leaves it: a parameters cell, and cells of (code, outputs, tags)."""
    injected = ('profile = "smoke"', [], ["injected-parameters"])
    made = [code_cell(t, *marks, outputs=shown) | {"execution_count": 1} for t, shown, marks in (injected, *cells)]
    return {"cells": made}


def test_another_number_is_seen_unless_it_is_a_time_and_so_is_a_link_into_the_site():
    def run(text, *marks, cut=0):  # a kernel sends what is printed in one message or in two
        parts = [text[:cut], text[cut:]] if cut else [text]
        return executed(("print(x)", [v4.new_output("stream", text=part) for part in parts], list(marks)))

    def show(text):
        return executed(("show(x)", [v4.new_output("display_data", data={"text/html": text})], []))

    assert not outputs.differences(run("0.25"), run("0.25", cut=2))
    assert outputs.differences(run("0.25"), run("0.26"))
    assert outputs.differences(show("<svg>1</svg>"), show("<svg>2</svg>"))
    assert not outputs.differences(run("3.1 s", "timing"), run("3.2 s", "timing"))
    assert outputs.differences(run("0.25"), v4.new_notebook())
    assert outputs.links(show('<a href="../book/a.html#b">')) and outputs.links(show("[a](b.ipynb)"))
    assert not outputs.links(show('<a href="https://a.org/b.html">, <use href="#c"/>, [d](#e), <i>f[0](g)</i>'))
