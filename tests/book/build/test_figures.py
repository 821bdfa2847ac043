"""The edition: the sources with pictures, no solution, and each picture as a file, of which a PDF has one page."""

import json
import re
import subprocess
import xml.etree.ElementTree as ET

from matplotlib import pyplot as plt
from support import needs
from support.helpers import code_cell

from rtx_book.build import figures, node
from rtx_book.page.figure import to_svg


def test_the_edition_is_the_source_with_figures_as_pictures_and_no_solution(tmp_path, browser):
    fig, ax = plt.subplots()
    ax.set_ylabel("turned")
    alt, said = "It <rises> & falls.", "It &lt;rises&gt; &amp; falls."
    html = f'<p class="fig-title">T</p><script>x</script>{to_svg(fig, alt)}<figcaption>C</figcaption>'
    drawn = {"output_type": "display_data", "data": {"text/html": html}}
    cells = [code_cell(name, name, outputs=[drawn]) | {"id": name} for name in ("figure", "hide-cell", "remove-input")]
    for name, own in (("ran", cells), ("source", [cell | {"outputs": []} for cell in cells])):
        (tmp_path / name).mkdir()
        (tmp_path / name / "one.ipynb").write_text(json.dumps({"cells": own}))
    program = [*(node.command("node") or needs.lack("Node")), figures.__file__.replace("figures.py", "edition.js")]
    subprocess.run([*program, "ran", "source", "out"], cwd=tmp_path, check=True)
    made = json.loads((tmp_path / "out" / "one.ipynb").read_text())["cells"]
    assert [cell | {"outputs": []} for cell in made] == [cell | {"outputs": []} for cell in cells]
    title, picture, caption = [one["data"] for one in made[0]["outputs"]]
    assert (title, caption) == ({"text/markdown": "**T**"}, {"text/markdown": "C"})
    assert made[1]["outputs"] == made[2]["outputs"] == []

    first, *_ = paths = sorted((tmp_path / "out" / "figures").glob("*.svg"))
    text = first.read_text()
    assert picture == {"image/svg+xml": text, "text/plain": said}
    assert (first.parent / "figures.md").read_text().splitlines()[2:] == [f"- `{path.name}`: {said}" for path in paths]
    assert [path.read_text() for path in paths] == [text] * 3
    root = ET.fromstring(text)
    assert root[0].text == alt and "CC BY" in root[1].text
    assert re.search(r"translate\([^)]*\) rotate\(-90\)|rotate\(-90 \S+ \S+\)", text)
    assert not re.search(r"transform-origin: \d|var\(", text)
    figures.print_pdf(first, browser.new_page())
    assert len(re.findall(rb"/Type /Page\b", first.with_suffix(".pdf").read_bytes())) == 1
