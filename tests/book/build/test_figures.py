"""Figures as files: what a page needs is undone, the alt text and the licence are inside, and a PDF has one page."""

import json
import re
import xml.etree.ElementTree as ET

from matplotlib import pyplot as plt
from support.helpers import code_cell

from rtx_book.build import figures
from rtx_book.page.figure import to_svg


def test_a_figure_becomes_a_file_with_its_alt_text_and_a_pdf(tmp_path, browser):
    fig, ax = plt.subplots()
    ax.set_ylabel("turned")
    shown = {"data": {"text/html": ["<p>", to_svg(fig, "It <rises> & falls.")]}}
    (tmp_path / "made.ipynb").write_text(json.dumps({"cells": [code_cell("x", outputs=[shown])]}))
    made = figures.write(tmp_path, tmp_path / "out")
    (path,) = made
    root = ET.parse(path).getroot()
    assert [root[place].text for place in (0, 1)] == ["It <rises> & falls.", figures.LICENCE]
    assert f"made/{path.name}`: It <rises> & falls." in (tmp_path / "out" / "figures.md").read_text()
    assert re.search(r"translate\([^)]*\) rotate\(-90\)|rotate\(-90 \S+ \S+\)", path.read_text())
    assert not re.search(r"transform-origin: \d|var\(", path.read_text())
    figures.print_pdf(made, browser.new_page())
    assert len(re.findall(rb"/Type /Page\b", path.with_suffix(".pdf").read_bytes())) == 1
