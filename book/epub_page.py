"""A page of the site as a page of an EPUB: nothing in it moves, and it is XML."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import posixpath
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bs4 import BeautifulSoup, NavigableString, Tag

# In HTML the names inside an SVG may be written anyhow, and the parser writes them small; in XML they may not.
CAMEL = (
    "attributeName clipPath clipPathUnits gradientTransform gradientUnits lengthAdjust linearGradient markerHeight "
    "markerUnits markerWidth maskContentUnits maskUnits patternContentUnits patternTransform patternUnits "
    "preserveAspectRatio radialGradient refX refY spreadMethod startOffset stdDeviation textLength textPath viewBox"
)
SPELLED = {name.lower(): name for name in CAMEL.split()}
DEAD = "script, noscript, template, link, button, input, select, textarea, output, a.headerlink, [hidden]"
CONTROLS = ".book-control, .book-ask, form"
FOLDS = {"Show the code": "Code", "Show code cell source": "Code", "Show code cell content": "Solution"}


@dataclass
class Page:
    """A page of the EPUB: its place there, its title, and what stands in its body."""

    name: str
    title: str
    body: Tag
    styles: list[str] = field(default_factory=list)

    @property
    def ids(self) -> set[str]:
        return {tag["id"] for tag in self.body.find_all(id=True)}


def read_page(name: str, text: str) -> Page:
    """The body of a page that Sphinx wrote, in a soup of its own."""
    soup = BeautifulSoup(text, "html.parser")
    body = soup.select_one("div.body") or soup.body
    title = body.find("h1")
    return Page(name, " ".join(title.get_text().split()).rstrip("#¶ ") if title else name, body.extract())


def still(body: Tag) -> None:
    """Leave of everything that moves the picture that stands there at first, and the value that it is for."""
    for control in body.select(".book-control"):
        name, value = control.find("span"), control.find("output")
        if name and value:
            control.insert_before(note(f"{name.get_text().strip()}: {value.get_text().strip()}"))
    for frame in body.find_all("iframe"):
        frame.replace_with(note(f"{frame.get('title') or 'A view'}: on the site, and in the notebook."))
    for tag in body.select(f"{DEAD}, {CONTROLS}"):
        if not tag.decomposed:
            tag.decompose()
    for label in body.find_all("label"):
        label.unwrap()


def note(text: str) -> Tag:
    tag = BeautifulSoup("<div class='still'></div>", "html.parser").div
    tag.string = text
    return tag.extract()


def strict(page: Page) -> None:
    """What HTML forgives and XML does not, and what an e-reader ignores."""
    body = page.body
    for style in body.find_all("style"):
        page.styles.append(style.get_text())
        style.decompose()
    for summary in body.find_all("summary"):
        first = summary.select_one("p, .when-closed")
        text = " ".join((first or summary).get_text().split())
        summary.clear()
        summary.attrs = {}
        summary.append(FOLDS.get(text, text))
    for block in body.select("p:has(details, div, figure, table, ul, ol, dl, pre, p)"):
        block.name = "div"
    for fold in body.find_all("details"):
        fold.attrs = {}  # a name would close the others
    for tag in body.find_all(True):
        tag.name = SPELLED.get(tag.name, tag.name)
        kept = {
            SPELLED.get(name, name): value
            for name, value in tag.attrs.items()
            if not name.startswith(("on", "data-")) and name not in ("tabindex", "aria-live", "autocomplete")
        }
        if kept.get("role") == "region" or (tag.name in ("div", "summary") and "role" not in kept):
            kept.pop("role", None)
            kept.pop("aria-label", None)
        if isinstance(kept.get("style"), str):
            kept["style"] = re.sub(r"\b(?:min-width|overflow-x):[^;]*;?", "", kept["style"])
        if re.search(r"\s", kept.get("id", "")):
            kept["id"] = re.sub(r"\s+", "-", kept["id"].strip())
        tag.attrs = kept
    seen = set()
    for tag in body.find_all(id=True):
        if tag["id"] in seen:  # two panels of a drawing may call a line alike
            del tag["id"]
        else:
            seen.add(tag["id"])
    for drawing in body.find_all("svg"):
        drawing["xmlns"] = "http://www.w3.org/2000/svg"
        if drawing.find(lambda tag: any(name.startswith("xlink:") for name in tag.attrs)):
            drawing["xmlns:xlink"] = "http://www.w3.org/1999/xlink"
    for code in [text for text in body.find_all(string=True) if type(text) is not NavigableString]:
        code.extract()  # comments and the like


def formulas(body: Tag) -> list[tuple[Tag, str, bool]]:
    """Each formula of a page: where it stands, its TeX, and whether it is displayed."""
    found = []
    for tag in body.select("span.math, div.math"):
        text = "".join(tag.find_all(string=True, recursive=False)).strip()
        display = tag.name == "div"
        tex = text.removeprefix(r"\[").removesuffix(r"\]") if display else text.removeprefix(r"\(").removesuffix(r"\)")
        found.append((tag, tex.strip(), display))
    return found


def put_formula(tag: Tag, tex: str, mathml: str) -> None:
    """MathML in place of the TeX; the number of a displayed formula stays before it."""
    number = tag.select_one(".eqno")
    tag.clear()
    if number:
        tag.append(number)
    tree = BeautifulSoup(re.sub(r">\s+<", "><", mathml), "html.parser").math
    for one in [tree, *tree.find_all(True)]:
        one.attrs = {name: value for name, value in one.attrs.items() if not name.startswith("data-")}
    for table in tree.find_all("mtable", columnalign=True):  # e-readers that are browsers inside do as CSS says
        sides = table["columnalign"].split()
        for row in table.find_all("mtr", recursive=False):
            for place, entry in enumerate(row.find_all("mtd", recursive=False)):
                entry["style"] = f"text-align: {sides[min(place, len(sides) - 1)]}"
    tree["alttext"] = tex
    tag.append(tree.extract())


def mathml(found: Sequence[tuple[str, bool]], npm: Path) -> list[str]:
    """MathML for each formula, by the package mathjax in the folder `npm`; `BuildError` where one cannot be read."""
    import node
    from execute import BuildError

    if not (npm / "node_modules" / "mathjax").is_dir() or (found_node := node.command("node")) is None:
        raise BuildError("The formulas of an EPUB are made by node and the package mathjax: install node with npm.")
    command = [*found_node, str(Path(__file__).with_name("mathml.js")), str(npm)]
    answer = subprocess.run(command, input=json.dumps(found), capture_output=True, text=True)
    if answer.returncode:
        raise BuildError(f"The formulas could not be made: {answer.stderr[-800:]}")
    made = json.loads(answer.stdout)
    for (tex, _), text in zip(found, made, strict=True):
        if "<merror" in text:
            raise BuildError(f"MathJax cannot read the formula {tex}")
    return made


def mend_links(page: Page, ids: Mapping[str, set[str]], address: str) -> None:
    """Links lead to a place in this book, or out of it; what leads to a file that only the site has becomes text."""
    folder = posixpath.dirname(page.name)
    for link in page.body.find_all("a", href=True):
        if re.match(r"[a-z]+:", link["href"]):
            continue
        path, _, fragment = link["href"].partition("#")
        target = posixpath.normpath(posixpath.join(folder, path)) if path else page.name
        inside = re.sub(r"\.html$", ".xhtml", target)
        if inside in ids:
            there = posixpath.relpath(inside, folder) if path else ""
            link["href"] = f"{there}#{fragment}" if fragment in ids[inside] else (there or posixpath.basename(inside))
        elif address:
            link["href"] = f"{address}{re.sub(r'[.]xhtml$', '.html', target)}" + (f"#{fragment}" if fragment else "")
        else:
            link.unwrap()


def take_pictures(page: Page, folder: Path) -> dict[str, bytes]:
    """The picture files of a page by their place in the EPUB; pictures written into the page become files."""
    files = {}
    for tag in page.body.find_all(["img", "image"]):
        name = next((name for name in ("src", "href", "xlink:href") if name in tag.attrs), None)
        if name is None:
            continue
        inner = re.match(r"data:image/(png|jpeg|gif);base64,(.*)", tag[name], flags=re.S)
        if inner:
            content = base64.b64decode(inner[2])
            target = f"images/{hashlib.sha256(content).hexdigest()[:16]}.{inner[1]}"
        else:
            source = posixpath.normpath(posixpath.join(posixpath.dirname(page.name), tag[name]))
            content, target = (folder / source).read_bytes(), f"images/{posixpath.basename(source)}"
        files[target] = content
        tag[name] = posixpath.relpath(target, posixpath.dirname(page.name))
    return files


def as_xhtml(page: Page) -> str:
    """The page as a file; `style.css` lies at the top."""
    css = posixpath.relpath("style.css", posixpath.dirname(page.name))
    own = "".join(f"<style>{html.escape(style, quote=False)}</style>" for style in page.styles)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE html>\n<html xmlns="http://www.w3.org/1999/xhtml" '
        f'lang="en" xml:lang="en">\n<head><title>{html.escape(page.title)}</title>'
        f'<link rel="stylesheet" type="text/css" href="{css}"/>{own}</head>\n'
        f"<body>{page.body.decode()}</body>\n</html>\n"
    )
