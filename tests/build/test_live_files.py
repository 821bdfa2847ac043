"""What the staging takes out of the outputs of live figures."""

from __future__ import annotations

import json

import live_files
import matplotlib.pyplot as plt
from support.helpers import code_cell

from rtx_lib.plots import live, play

TEXT = {"output_type": "stream", "name": "stdout", "text": "kept"}


def output(**models):
    fig, _ = plt.subplots()
    kind = sorted(live.PARTS)[0]
    shown = play(kind, models, still=fig, alt="a picture")
    html = shown._repr_html_().splitlines(keepends=True)  # as a notebook's file has it
    return shown, {
        "output_type": "execute_result",
        "metadata": {},
        "data": {"text/html": html, "text/plain": repr(shown)},
    }


def test_a_page_keeps_figures_and_each_weights_file_is_there_once(tmp_path, monkeypatch):
    for name in live.parts_of(sorted(live.PARTS)[0]):
        (tmp_path / f"{name}.js").write_text(f"RTX.part('{name}', () => {{}})")
    (tmp_path / "live.css").write_text(".live { margin: 0 }")
    monkeypatch.setattr(live, "folder", lambda: tmp_path)
    live._asset.cache_clear()
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
    live._asset.cache_clear()
