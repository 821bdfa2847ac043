"""Every figure of the executed notebooks as a file: `python -m rtx_book.build.figures EXECUTED FOLDER`.

An SVG each, and a PDF where Playwright finds Chromium. Both bear the figure's alt text as their title, and the SVG the
licence, too; `figures.md` lists them all.
"""

import html
import os
import re
import shutil
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rtx_book.build.execute import read_notebook
from rtx_book.page.figure import GROUND

SVG = re.compile(r'<svg\b[^>]*\brole="img".*?</svg>', re.S)
PINNED = re.compile(r"(?:; )?transform-origin: (\S+)px (\S+)px")
LICENCE = "CC BY 4.0, https://creativecommons.org/licenses/by/4.0/"
CHROMIUM = "chromium-headless-shell chromium chromium-browser google-chrome chrome msedge"
PAGE = "<!doctype html><title>{}</title><style>body{{margin:0}}svg{{display:block}}</style>{}"


def pictures(notebook: Mapping[str, Any]) -> Iterator[ET.Element]:
    """Each picture of a notebook's outputs, as a file of its own has it."""
    for output in (output for cell in notebook["cells"] for output in cell.get("outputs", ())):
        for text in SVG.findall("".join(output.get("data", {}).get("text/html", ""))):
            root = ET.fromstring(text.replace(GROUND, "white"))
            for name in ("style", "class", "preserveAspectRatio"):
                root.attrib.pop(name, None)
            for element in root.iter():
                _unpin(element)
            root[:0] = ET.Element("title"), ET.Element("metadata")
            root[0].text, root[1].text = root.get("aria-label"), LICENCE
            root.set("xmlns", "http://www.w3.org/2000/svg")
            yield root


def _unpin(element: ET.Element) -> None:
    """Undo what only a page needs, which some programs cannot read: a text's turn around the point that holds it."""
    style, turn = element.get("style", ""), element.get("transform", "")
    if pinned := PINNED.search(style):
        element.set("style", style.replace(pinned[0], ""))
        turned, _, moved = turn.partition(" translate")
        around = turned.replace(")", f" {pinned[1]} {pinned[2]})")
        element.set("transform", f"translate{moved} {turned}" if moved else around if "rotate" in turn else turn)


def write(executed: Path, folder: Path) -> dict[Path, ET.Element]:
    """The pictures of all notebooks in `executed` under `folder`, a folder a chapter, and their list."""
    made = {}
    for notebook in sorted(executed.glob("*.ipynb")):
        for place, root in enumerate(pictures(read_notebook(notebook)), start=1):
            made[path := folder / notebook.stem / f"{notebook.stem}-{place:02}.svg"] = root
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(ET.tostring(root, encoding="unicode"), encoding="utf-8")
    rows = [f"- `{path.relative_to(folder)}`: {root.get('aria-label')}" for path, root in made.items()]
    (folder / "figures.md").write_text("\n".join([f"Figures: {LICENCE}\n", *rows, ""]), encoding="utf-8")
    return made


def print_pdf(made: Mapping[Path, ET.Element], page: Any) -> None:
    """A PDF beside each SVG, by a page of Playwright's Chromium."""
    for file, root in made.items():
        page.set_content(PAGE.format(html.escape(root.get("aria-label", "")), file.read_text(encoding="utf-8")))
        page.pdf(path=file.with_suffix(".pdf"), width=f"{root.get('width')}px", height=f"{root.get('height')}px")


if __name__ == "__main__":
    made, told = write(*map(Path, sys.argv[1:])), "each as SVG and PDF"
    path = next(filter(None, map(shutil.which, [os.environ.get("CHROMIUM", ""), *CHROMIUM.split()])), None)
    try:
        from playwright.sync_api import sync_playwright  # which comes with the tests

        with sync_playwright() as playwright:
            print_pdf(made, playwright.chromium.launch(executable_path=path, args=["--no-sandbox"]).new_page())
    except Exception as error:
        told = f"as SVG alone, since there is no Chromium to print them: {str(error).strip().splitlines()[0]}"
    print(f"{len(made)} figures, {told}: {sys.argv[2]}")
