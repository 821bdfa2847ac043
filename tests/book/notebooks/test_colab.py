"""A chapter runs where there are Colab's packages and nothing of ours but what its bootstrap cell installs."""

import json
import sys

import nbformat.v4 as v4
import pytest
from support import built
from support.built import NOTEBOOKS

import rtx_lib
from notebooks import colab, outputs
from rtx_book.build.execute import read_notebook as read

# Run after the chapter in its own kernel: the control of `rtx_book.slider` draws again when it is moved.
PROBE = """
import matplotlib.pyplot as plt
from rtx_book import slider

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
    """A local copy of the book as it is in the working tree."""
    return built.copy_tree(tmp_path_factory.mktemp("copy"))


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


@pytest.mark.weekly
@pytest.mark.parametrize("name", NOTEBOOKS)
@pytest.mark.parametrize("runtime", colab.PINS)
def test_chapter_runs_with_colabs_packages(repository, tmp_path, runtime, name):
    venv = colab.base(runtime)
    packages = colab.versions(venv)
    assert not {"rtx-lib", "rtx_lib", "bertviz", "jupyter-book", "papermill"} & set(packages)
    notebook = read(NOTEBOOKS[name])
    live = sum("live" in outputs.tags(cell) for cell in notebook["cells"])
    notebook["cells"].append(v4.new_code_cell(PROBE))
    source, output = tmp_path / "source.ipynb", tmp_path / "executed.ipynb"
    source.write_text(json.dumps(notebook))
    thin = colab.thin(venv, tmp_path / "venv")

    assert not colab.run(source, output, thin, repository)

    executed = read(output)
    assert not outputs.errors(executed) + outputs.not_run(executed)
    after = colab.versions(thin)
    assert set(after) - set(packages) == {"rtx-lib", *["bertviz"] * (name == "transformer")}, "and nothing else"
    assert {name: after.get(name) for name in packages} == packages, "the bootstrap changes nothing"
    shown = pictures(executed)
    assert len(shown) == live > 0 and all("<svg" in picture for picture in shown)


def test_the_pins_say_where_they_come_from_and_have_what_is_imported_where_it_is_used():
    for runtime, path in colab.PINS.items():
        first, *rest = path.read_text().splitlines()
        assert runtime.removeprefix("colab-")[:4] in first and "googlecolab/backend-info" in first
        assert all(line.startswith("#") or "==" in line for line in rest) and len(rest) > 10
        assert {"pooch", "safetensors", "statsmodels"} <= {line.partition("==")[0] for line in rest}


# ---- the first cell, without an environment


@pytest.fixture
def bootstrap(monkeypatch):
    """Run the first cell where the library is missing, on Colab or elsewhere: what it would run."""
    cells = read(next(iter(NOTEBOOKS.values())))["cells"]
    text = next(outputs.source(cell) for cell in cells if "bootstrap" in outputs.tags(cell))
    calls = []
    monkeypatch.setattr("subprocess.run", lambda command, **how: calls.append(command[1:]))

    def run(missing=True, on_colab=False, **variables):
        monkeypatch.delenv("RTX_REPO", raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None if missing else name)
        monkeypatch.delitem(sys.modules, "google.colab", raising=False)
        if on_colab:
            monkeypatch.setitem(sys.modules, "google.colab", None)
        exec(text, {})
        return calls

    return run


def test_on_colab_the_first_cell_installs_the_library_and_nothing_that_it_needs(bootstrap):
    ((*pip, source),) = bootstrap(on_colab=True)
    assert pip == ["-m", "pip", "install", "--quiet", "--no-deps"]
    assert source.startswith("git+https://github.com/") and source.endswith(f"@v{rtx_lib.__version__}")


def test_the_first_cell_takes_a_copy_that_is_named_and_elsewhere_does_nothing(bootstrap, tmp_path):
    assert bootstrap(missing=False, on_colab=True) == []
    with pytest.raises(ModuleNotFoundError, match=r"rtx_lib is missing: pip install git\+https://github\.com/"):
        bootstrap()
    assert bootstrap(RTX_REPO=f"file://{tmp_path}")[0][-1] == str(tmp_path)
