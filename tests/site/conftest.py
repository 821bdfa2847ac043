"""The built sites and the browser, each made once for all tests of a run."""

import contextlib
import json
import os
import shutil
import subprocess
import sys

import nbformat.v4 as v4
import page_checks
import pytest
import yaml
from html_checks import Pages
from site_server import serve
from support import built

# A page of the tests: what no chapter shows yet, and one of everything that moves.
PARTS = [
    ("# Views\n\nPrerequisites: none", None),
    (
        "import matplotlib.pyplot as plt\nimport numpy as np\n"
        "from rtx_lib.plots import attention_heatmap, attention_view, explorer, film, show, slider, use_style\n"
        "use_style()\n"
        "weights = np.random.default_rng(0).dirichlet(np.ones(4), size=(2, 3, 4))\n"
        "tokens = ['a', 'sequence', 'of', '</s>']",
        [],
    ),
    ("attention_view(weights, tokens, source=tokens, title='Attention of a test')", []),
    ("attention_view(weights, tokens, source=tokens, layer=1, title='The second layer of a test')", []),
    (
        "fig, ax = plt.subplots()\nattention_heatmap(ax, weights[0, 0], tokens, tokens)\n"
        "show(fig, 'each row is a distribution', wide=True)",
        [],
    ),
    (
        "def draw(a):\n    fig, ax = plt.subplots()\n    ax.plot([0, a], [0, 1])\n    return fig\n\n"
        "explorer(draw, [1, 2, 3], 'slope', alt='a line whose slope changes')",
        [],
    ),
    ("slider(draw, [1, 2, 3], 'slope')", ["live"]),
    (
        "fig, ax = plt.subplots()\nax.set(xlim=(0, 6), ylim=(-1, 1))\nx = np.linspace(0, 6, 40)\n"
        "ax.plot(x, x, gid='wave')\n"
        "frames = [{'wave': (x, np.sin(x + shift))} for shift in np.arange(30) / 5]\n"
        "film(fig, frames, 'shift', labels=[f'shift {i}' for i in range(30)], alt='a wave that moves to the left')",
        [],
    ),
]
EXTRA = "notebooks/99_views"


def views():
    """The page of the tests as a notebook."""
    parameters = v4.new_code_cell('profile = "book"\nseed = 0\ndevice = "auto"', metadata={"tags": ["parameters"]})
    cells = [
        v4.new_markdown_cell(text) if tags is None else v4.new_code_cell(text, metadata={"tags": tags})
        for text, tags in PARTS
    ]
    return v4.new_notebook(cells=[cells[0], parameters, *cells[1:]])


@pytest.fixture(scope="session")
def site():
    """The site of this tree, built with warnings as errors from the notebooks executed in this run."""
    execution = built.execution()
    assert execution.returncode == 0, execution.text
    result = built.site()
    assert result.returncode == 0, result.text
    return result


@pytest.fixture(scope="session")
def pages(site):
    return Pages(site.folder)


@pytest.fixture(scope="session")
def linked(site, tmp_path_factory):
    """A copy of the book that knows its repository and has one page more; the tree and the built site."""
    folder = tmp_path_factory.getbasetemp()
    folder = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder  # one for all workers
    return built.once("linked", lambda: make_linked(folder / "linked"), folder)


def leave_out_the_api(toc, tree):
    """Half of the time of a build, and none of what `make set-repo` changes; references to it then lead nowhere."""
    for part in toc["parts"]:
        part["chapters"] = [{"file": chapter["file"]} for chapter in part["chapters"]]
    settings = yaml.safe_load((tree / "_config.yml").read_text())
    config = settings["sphinx"]["config"]
    config["suppress_warnings"] += ["myst.xref_missing", "ref"]
    config["nitpick_ignore_regex"].append(["py:.*", ".*"])
    (tree / "_config.yml").write_text(yaml.safe_dump(settings))


def make_linked(tree):
    """The tree, and the site that was built in it."""
    shutil.rmtree(tree, ignore_errors=True)  # what a worker left that failed here
    built.copy_tree(tree)
    subprocess.run(
        [sys.executable, tree / "book" / "repository.py", "set", built.SITE_URL], check=True, capture_output=True
    )
    (tree / f"{EXTRA}.ipynb").write_text(json.dumps(views()))
    toc = yaml.safe_load((tree / "_toc.yml").read_text())
    toc["parts"][0]["chapters"].append({"file": EXTRA})
    leave_out_the_api(toc, tree)
    (tree / "_toc.yml").write_text(yaml.safe_dump(toc))
    folder = tree / "_build"
    folder.mkdir()
    if (built.BUILD / "npm").is_dir():
        (folder / "npm").symlink_to(built.BUILD / "npm")
    run = built.build("execute", "--profile", "smoke", "--only", EXTRA.split("/")[1], root=tree)
    assert run.returncode == 0, run.stdout + run.stderr
    for path in built.execution().folder.iterdir():
        if path.suffix != ".key":
            shutil.copyfile(path, folder / "executed" / path.name)
    result = built.build_site(tree, folder)
    assert result.returncode == 0, result.text
    return tree, result


@pytest.fixture(scope="session")
def contexts(browser):
    """One context for each way of reading: light, dark, and on a phone."""
    settings = {
        "light": {"viewport": page_checks.DESKTOP, "color_scheme": "light"},
        "dark": {"viewport": page_checks.DESKTOP, "color_scheme": "dark"},
        "phone": {"viewport": page_checks.PHONE, "color_scheme": "light", "has_touch": True, "is_mobile": True},
    }
    made = {name: browser.new_context(**options) for name, options in settings.items()}
    yield made
    for context in made.values():
        context.close()


@pytest.fixture(scope="session")
def axe_script(site):
    """axe-core, which npm installs for the tests when the site is built."""
    assert built.AXE.is_file(), f"axe-core is missing: npm installs it from book/package.json\n{site.text}"
    return built.AXE


@pytest.fixture(scope="session")
def address(site):
    """Where the site is served."""
    with serve(site.folder) as top:
        yield top


@pytest.fixture(scope="session")
def views_address(linked):
    """Where the page of the tests is served."""
    with serve(linked[1].folder) as top:
        yield f"{top}{EXTRA}.html"


@pytest.fixture
def opened(contexts):
    """Open addresses in the browser; by the end of the test nothing may have gone wrong on these pages."""
    with contextlib.ExitStack() as stack:
        visits = []

        def open_page(address, look="light"):
            visits.append(stack.enter_context(page_checks.visit(contexts[look], address)))
            return visits[-1].page

        yield open_page
        assert not [fault for one in visits for fault in one.faults]


@pytest.fixture
def planted(tmp_path):
    """Serve small pages made by a test: a function from a body (and a head) to an address."""
    with serve(tmp_path) as top:

        def write(body, head=""):
            name = f"page{len(list(tmp_path.iterdir()))}.html"  # a new address each time: the browser keeps pages
            head = f'<title>Page</title><link rel="icon" href="data:,">{head}'
            html = f'<html lang="en"><head>{head}</head><body>{body}</body></html>'
            (tmp_path / name).write_text(f"<!doctype html>{html}")
            return top + name

        yield write
