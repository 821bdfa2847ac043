"""What the staging takes out of the outputs of live figures, and the live figures of prose pages."""

import json

import matplotlib.pyplot as plt
from bs4 import BeautifulSoup
from support.helpers import code_cell
from support.sphinx_page import build_page

from rtx_book.build import live_files
from rtx_book.page import live
from rtx_book.page.live import play

TEXT = {"output_type": "stream", "name": "stdout", "text": "kept"}


def output(**models):
    fig, _ = plt.subplots()
    shown = play(sorted(live.PARTS)[0], models, still=fig, alt="a picture")
    html = shown._repr_html_().splitlines(keepends=True)  # as a notebook's file has it
    data = {"text/html": html, "text/plain": repr(shown)}
    return shown, {"output_type": "execute_result", "metadata": {}, "data": data}


def test_a_page_keeps_figures_and_each_weights_file_is_there_once(tmp_path, monkeypatch):
    for name in live.parts_of(sorted(live.PARTS)[0]):
        (tmp_path / f"{name}.js").write_text(f"RTX.part('{name}', () => {{}})")
    (tmp_path / "live.css").write_text(".live { margin: 0 }")
    monkeypatch.setattr(live, "folder", lambda: tmp_path)
    shown, first = output(a={"w": [1.0, 2.0]})
    _, second = output(b={"w": [1.0, 2.0]}, c={"w": [[3.0]]})
    theirs = {"output_type": "display_data", "metadata": {}, "data": {"text/html": "<script>theirs()</script>"}}
    page = {"cells": [{"cell_type": "markdown", "source": "x"}, code_cell("play()", outputs=[first, TEXT, theirs]),
                      code_cell("play()", outputs=[second])]}  # fmt: skip
    found = live_files.take_out(page)
    assert len(found) == 2 and all(name.startswith("book/assets/live/weights-") for name in found)
    (digest,) = shown.weights
    assert found[f"book/assets/live/weights-{digest}.js"].decode() == shown.weights[digest]
    kept = [one["data"]["text/html"] for cell in page["cells"][1:] for one in cell["outputs"] if "data" in one]
    assert kept[0] == shown.figure and kept[1] == "<script>theirs()</script>"
    assert "data-part=" not in json.dumps(page) and page["cells"][1]["outputs"][1] == TEXT
    assert live_files.take_out(page) == {}


RECORD = {
    "setting": {"length": 100, "most": {"gru": 600}},
    "below": {"error": 0.05, "gru": [300]},
    "curves": {"gru": {"step": [1, 400], "error": [0.4, 0.004]}},
    "norms": {"gru": [0.5, 1.0]},
}
DIRECTIVE = """```{live} train
:title: It <em>learns</em>
:options: {"cells": ["gru"]}

Trained [here](../index.md), in a page.
```"""


def built(root, text):
    record = root / "book/results/live/trainer.json"
    record.parent.mkdir(parents=True)
    record.write_text(json.dumps(RECORD))
    return build_page(root, "play", "live_figure", text)


def test_a_prose_page_has_a_live_figure(tmp_path):
    said, html = built(tmp_path, DIRECTIVE)
    assert not said
    page = BeautifulSoup(html, "html.parser")
    figure = page.select_one("figure.book-fig.live[data-live=train]")
    assert figure["data-parts"].split() == list(live.parts_of("train"))
    assert json.loads(figure["data-options"])["ghosts"].keys() == {"gru"} and figure["data-weights"] == "{}"
    assert figure.select_one(".fig-title em").text == "learns"
    assert "GRU: 1 of 1 runs below 0.05" in figure.select_one(".live-still svg")["aria-label"]
    assert figure.select_one("figcaption a")["href"] == "../index.html" and "in a page." in figure.figcaption.text
    assert len(page.select("script[src*=live-loader]")) == 1
    assert "live-loader" not in (tmp_path / "out/index.html").read_text(), "only pages with a figure load anything"
    scripts = tmp_path / "out/_static/live"
    assert (scripts / "start.js").read_text() == (live.folder() / "start.js").read_text()
    assert {path.suffix for path in scripts.iterdir()} == {".js", ".css"}


def test_slips_in_the_directive_stop_the_build(tmp_path):
    slips = ("{live} train", "{live} tran"), ('{"cells"', "{cells")
    said, _ = built(tmp_path, "\n\n".join(DIRECTIVE.replace(*slip) for slip in slips))
    assert "the kind must be one of" in said and "the options must be JSON" in said
