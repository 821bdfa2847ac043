"""A page of the tests: what no chapter shows yet, and one of everything that moves."""

import json
from pathlib import Path
from typing import Any

import nbformat.v4 as v4
import yaml

PARTS = [
    ("# Views\n\nPrerequisites: none", None),
    (
        "import matplotlib.pyplot as plt\nimport numpy as np\n"
        "from rtx_book import attention_view, explorer, film, show, slider\n"
        "from rtx_lib.plots import attention_heatmap, use_style\n"
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
        "explorer(draw, [1, 2, 3], 'slope', alt=lambda slope: f'a line of slope {slope}')",
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
PAGE = "notebooks/views"


def notebook() -> dict[str, Any]:
    parameters = v4.new_code_cell('profile = "book"\nseed = 0\ndevice = "auto"', metadata={"tags": ["parameters"]})
    cells = [
        v4.new_markdown_cell(text) if tags is None else v4.new_code_cell(text, metadata={"tags": tags})
        for text, tags in PARTS
    ]
    return v4.new_notebook(cells=[cells[0], parameters, *cells[1:]])


def add_to(tree: Path) -> None:
    """Write the page into the tree of a book, at the end of its first part."""
    (tree / f"{PAGE}.ipynb").write_text(json.dumps(notebook()))
    toc = yaml.safe_load((tree / "_toc.yml").read_text())
    toc["parts"][0]["chapters"].append({"file": PAGE})
    (tree / "_toc.yml").write_text(yaml.safe_dump(toc))
