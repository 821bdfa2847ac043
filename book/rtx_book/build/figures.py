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
from rtx_book.paths import PACKAGE, in_order

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
            title, licence = ET.Element("title"), ET.Element("metadata")
            title.text, licence.text = root.get("aria-label"), LICENCE
            root[:0] = [title, licence]
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
    for chapter in in_order((path.stem for path in executed.glob("*.ipynb")), PACKAGE.parents[1]):
        (folder / chapter).mkdir(parents=True, exist_ok=True)
        for place, root in enumerate(pictures(read_notebook(executed / f"{chapter}.ipynb")), start=1):
            made[path := folder / chapter / f"{chapter}-{place:02}.svg"] = root
            path.write_text(ET.tostring(root, encoding="unicode"), encoding="utf-8")
    rows = [f"- `{path.relative_to(folder)}`: {root.get('aria-label')}" for path, root in made.items()]
    (folder / "figures.md").write_text("\n".join([f"Figures: {LICENCE}\n", *rows, ""]), encoding="utf-8")
    return made


def print_pdf(made: Mapping[Path, ET.Element]) -> None:
    """A PDF beside each SVG."""
    from playwright.sync_api import sync_playwright  # which only tests need

    path = next(filter(None, map(shutil.which, [os.environ.get("CHROMIUM", ""), *CHROMIUM.split()])), None)
    with sync_playwright() as playwright:
        page = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"]).new_page()
        for file, root in made.items():
            page.set_content(
                PAGE.format(html.escape(root.get("aria-label", "")), ET.tostring(root, encoding="unicode"))
            )
            page.pdf(path=file.with_suffix(".pdf"), width=f"{root.get('width')}px", height=f"{root.get('height')}px")


if __name__ == "__main__":
    executed, folder = map(Path, sys.argv[1:])
    made, told = write(executed, folder), "each as SVG and PDF"
    try:
        print_pdf(made)
    except Exception as error:
        told = f"as SVG alone, since there is no Chromium to print them: {str(error).strip().splitlines()[0]}"
    print(f"{len(made)} figures, {told}: {folder}")
