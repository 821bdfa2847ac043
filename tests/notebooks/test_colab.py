"""A chapter runs where there are Colab's packages and nothing of ours but what its bootstrap cell installs."""

import json

import colab
import nbformat.v4 as v4
import outputs
import pytest
from execute import read_notebook as read
from support import built
from support.built import NOTEBOOKS

FIRST, *OTHERS = NOTEBOOKS
CHOSEN = [FIRST, *(pytest.param(name, marks=pytest.mark.weekly) for name in OTHERS)]
# Run after the chapter in its own kernel: the control of `plots.slider` draws again when it is moved.
PROBE = """
import matplotlib.pyplot as plt
from rtx_lib.plots import slider

def draw(value):
    fig, ax = plt.subplots()
    ax.plot([0, value])
    return fig

control, picture = slider(draw, [1, 2], "n").children
before = picture.value
control.value = 1
assert "<svg" in before and "<svg" in picture.value and picture.value != before
"""


@pytest.fixture(scope="session")
def repository(tmp_path_factory):
    """A local clone of the book as it is in the working tree."""
    return colab.repository(built.copy_tree(tmp_path_factory.mktemp("clone")))


@pytest.fixture(scope="session")
def packages():
    """Colab's packages and their versions."""
    return colab.versions(colab.base())


def pictures(notebook):
    """What each control tagged `live` shows: the HTML values among its children."""
    (states,) = notebook["metadata"]["widgets"].values()
    state = states["state"]
    shown = []
    for cell in notebook["cells"]:
        if "live" in outputs.tags(cell):
            views = [o["data"].get("application/vnd.jupyter.widget-view+json") for o in cell["outputs"] if "data" in o]
            for view in filter(None, views):
                children = state[view["model_id"]]["state"]["children"]
                models = [state[child.removeprefix("IPY_MODEL_")] for child in children]
                shown += [m["state"]["value"] for m in models if m["model_name"] == "HTMLModel"]
    return shown


@pytest.mark.slow
@pytest.mark.parametrize("name", CHOSEN)
def test_chapter_runs_with_colabs_packages(packages, repository, tmp_path, name):
    assert not {"rtx-lib", "rtx_lib", "bertviz", "jupyter-book", "papermill"} & set(packages)
    assert packages["ipywidgets"] == "7.7.1" and packages["ipython"] == "7.34.0" and packages["numpy"] == "2.1.3"
    notebook = read(NOTEBOOKS[name])
    live = sum("live" in outputs.tags(cell) for cell in notebook["cells"])
    notebook["cells"].append(v4.new_code_cell(PROBE))
    source, output = tmp_path / "source.ipynb", tmp_path / "executed.ipynb"
    source.write_text(json.dumps(notebook))
    venv = colab.thin(tmp_path / "venv")

    assert not colab.run(source, output, venv, repository)

    executed = read(output)
    assert not outputs.errors(executed) + outputs.not_run(executed)
    after = colab.versions(venv)
    assert set(after) - set(packages) == {"rtx-lib", "bertviz"}, "the bootstrap installs these two and nothing else"
    assert {name: after.get(name) for name in packages} == packages, "the bootstrap changes nothing"
    shown = pictures(executed)
    assert len(shown) == live > 0 and all("<svg" in picture for picture in shown)


def test_without_the_address_the_bootstrap_says_what_to_install(packages, tmp_path):
    """Outside Colab, without RTX_REPO, nothing is installed unasked."""
    cells = read(NOTEBOOKS[FIRST])["cells"]
    bootstrap = next(outputs.source(cell) for cell in cells if "bootstrap" in outputs.tags(cell))
    venv = colab.thin(tmp_path / "venv")
    environment = colab.clean_environment()
    environment.pop("RTX_REPO", None)
    answer = colab.subprocess.run(
        [colab.interpreter(venv), "-c", bootstrap], env=environment, cwd=tmp_path, capture_output=True, text=True
    )
    assert answer.returncode != 0 and "pip install git+https://github.com/" in answer.stderr.splitlines()[-1]
    assert colab.versions(venv) == packages
