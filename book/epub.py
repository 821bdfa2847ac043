"""The book as one EPUB: `python book/build.py epub` makes `_build/book.epub` out of the staged tree.

Sphinx writes the pages, and epub_page.py makes XHTML of each that an e-reader can show: formulas are MathML, and of
sliders, films and models that run there stays the picture that is there before anybody moves them. Here everything is
packed, and then looked over once more by epub_check.py.
"""

from __future__ import annotations

import html
import io
import posixpath
import sys
import uuid
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from epub_page import Page, as_xhtml, formulas, mathml, mend_links, put_formula, read_page, still, strict, take_pictures

TYPES = {".xhtml": "application/xhtml+xml", ".css": "text/css", ".png": "image/png", ".jpg": "image/jpeg"}
TYPES |= {".jpeg": "image/jpeg", ".gif": "image/gif", ".svg": "image/svg+xml"}
DAY = (1980, 1, 1, 0, 0, 0)  # the oldest that a zip file can name; the same book gives the same file


@dataclass(frozen=True)
class About:
    """What a shelf says of the book."""

    title: str
    authors: tuple[str, ...]
    identifier: str
    modified: str
    rights: str
    description: str


def properties(text: str) -> str:
    """What an e-reader must know of a page beforehand."""
    return " ".join(name for name in ("mathml", "svg") if f"<{'math' if name == 'mathml' else name}" in text)


def package(about: About, files: Mapping[str, bytes], spine: Sequence[str]) -> str:
    """content.opf: what the book is, which files it has, and in which order they are read."""
    said = [
        f'<dc:identifier id="id">{about.identifier}</dc:identifier>',
        f"<dc:title>{html.escape(about.title)}</dc:title>",
        "<dc:language>en</dc:language>",
        *(f"<dc:creator>{html.escape(name)}</dc:creator>" for name in about.authors),
        f"<dc:description>{html.escape(about.description)}</dc:description>",
        f"<dc:rights>{html.escape(about.rights)}</dc:rights>",
        f'<meta property="dcterms:modified">{about.modified}</meta>',
    ]
    items = []
    for number, (name, content) in enumerate(files.items()):
        kind = TYPES[posixpath.splitext(name)[1].lower()]
        extra = {"nav.xhtml": "nav", "images/cover.png": "cover-image"}.get(name, "")
        if name.endswith(".xhtml"):
            extra = f"{extra} {properties(content.decode())}".strip()
        extra = f' properties="{extra}"' if extra else ""
        items.append(f'<item id="f{number}" href="{name}" media-type="{kind}"{extra}/>')
    places = {name: number for number, name in enumerate(files)}
    order = "".join(f'<itemref idref="f{places[name]}"/>' for name in spine)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<package xmlns="http://www.idpf.org/2007/opf" version="3.0" '
        'unique-identifier="id" xml:lang="en">\n<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">\n'
        + "\n".join(said)
        + "\n</metadata>\n<manifest>\n"
        + "\n".join(items)
        + f"\n</manifest>\n<spine>{order}</spine>\n</package>\n"
    )


def navigation(title: str, parts: Iterable[tuple[str, Sequence[Page]]]) -> str:
    """nav.xhtml: parts, their pages, and the sections of each page."""

    def entry(page: Page) -> str:
        own = [(one.parent.get("id"), one.get_text()) for one in page.body.find_all("h2") if one.parent.get("id")]
        inner = "".join(f'<li><a href="{page.name}#{id}">{html.escape(text.strip())}</a></li>' for id, text in own)
        return f'<li><a href="{page.name}">{html.escape(page.title)}</a>{f"<ol>{inner}</ol>" if inner else ""}</li>'

    rows = []
    for caption, pages in parts:
        inner = "".join(map(entry, pages))
        rows.append(f"<li><span>{html.escape(caption)}</span><ol>{inner}</ol></li>" if caption else inner)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE html>\n<html xmlns="http://www.w3.org/1999/xhtml" '
        'xmlns:epub="http://www.idpf.org/2007/ops" lang="en" xml:lang="en">\n<head><title>Contents</title></head>\n'
        f'<body><nav epub:type="toc" id="toc"><h1>Contents</h1><ol>{"".join(rows)}</ol></nav></body>\n</html>\n'
    )


def cover(title: str, authors: Sequence[str]) -> bytes:
    """The cover: the title above what remains of a signal after t steps, by the factor that each step leaves."""
    import numpy as np
    from matplotlib.figure import Figure

    fig = Figure(figsize=(6, 8), dpi=150, facecolor="#14202b")
    ax = fig.add_axes((0.1, 0.2, 0.8, 0.42))
    steps = np.arange(101)
    for factor in (0.80, 0.90, 0.95, 0.98, 0.99, 1.0):
        ax.plot(steps, factor**steps, color="#7fc4f5", alpha=0.35 + 0.65 * factor**30, lw=2.5)
    ax.set_axis_off()
    words, lines = title.split(), [""]
    for word in words:
        if len(lines[-1]) + len(word) > 18:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    fig.text(0.1, 0.92, "\n".join(lines), color="white", fontsize=28, va="top", linespacing=1.3)
    fig.text(0.1, 0.08, "\n".join(authors), color="white", fontsize=14, va="bottom")
    stream = io.BytesIO()
    fig.savefig(stream, format="png", facecolor=fig.get_facecolor(), metadata={"Software": None})
    return stream.getvalue()


def pack(files: Mapping[str, bytes], target: Path) -> None:
    """Write the zip file as EPUB wants it: its type first and not compressed; the same files give the same bytes."""
    target.parent.mkdir(parents=True, exist_ok=True)
    container = (
        '<?xml version="1.0"?>\n<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
        '<rootfiles><rootfile full-path="EPUB/content.opf" media-type="application/oebps-package+xml"/></rootfiles>'
        "</container>\n"
    )
    partial = target.with_suffix(".part")
    with zipfile.ZipFile(partial, "w") as whole:
        whole.writestr(zipfile.ZipInfo("mimetype", DAY), "application/epub+zip")
        for name, content in {"META-INF/container.xml": container.encode(), **files}.items():
            name = name if name.startswith("META-INF") else f"EPUB/{name}"
            whole.writestr(zipfile.ZipInfo(name, DAY), content, zipfile.ZIP_DEFLATED, 9)
    partial.replace(target)


def assemble(
    folder: Path, parts: Sequence[tuple[str, Sequence[str]]], about: About, npm: Path, address: str = ""
) -> dict[str, bytes]:
    """The files of the EPUB from the pages that Sphinx wrote into `folder`, in the order of `parts`."""
    pages = {
        f"{name}.xhtml": read_page(f"{name}.xhtml", (folder / f"{name}.xhtml").read_text(encoding="utf-8"))
        for _, names in parts
        for name in names
    }
    files: dict[str, bytes] = {
        "nav.xhtml": b"",
        "style.css": b"",
        "images/cover.png": cover(about.title, about.authors),
    }
    places = []
    for page in pages.values():
        still(page.body)
        strict(page)
        places += formulas(page.body)
    for (tag, tex, _), text in zip(places, mathml([(tex, d) for _, tex, d in places], npm), strict=True):
        put_formula(tag, tex, text)
    ids = {name: page.ids for name, page in pages.items()}
    for name, page in pages.items():
        mend_links(page, ids, address)
        files |= take_pictures(page, folder)
        files[name] = as_xhtml(page).encode()
    named = [(caption, [pages[f"{name}.xhtml"] for name in names]) for caption, names in parts]
    files["nav.xhtml"] = navigation(about.title, named).encode()
    colours = folder / "_static" / "pygments.css"
    own = Path(__file__).with_name("epub.css").read_text(encoding="utf-8")
    files["style.css"] = ((colours.read_text(encoding="utf-8") if colours.is_file() else "") + own).encode()
    files["content.opf"] = b""  # it does not name itself
    names = {name: content for name, content in files.items() if name != "content.opf"}
    files["content.opf"] = package(about, names, [*pages]).encode()
    return files


def parts_of(toc: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    """The pages of `_toc.yml` in its order, by part; the first page stands alone."""
    parts: list[tuple[str, list[str]]] = [("", [toc["root"]])]
    for part in toc["parts"]:
        files = [one["file"] for chapter in part["chapters"] for one in (chapter, *chapter.get("sections", ()))]
        parts.append((part["caption"], files))
    return parts


def about_book(root: Path) -> tuple[About, str]:
    """What CITATION.cff and git say of the book, and the address of its site."""
    sys.path.append(str(root / "book" / "_ext"))
    import citing
    import repository
    import yaml

    cff, day = citing.metadata(root), citing.last_day()
    owner, name = repository.current(root)
    known = (owner, name) != repository.PLACEHOLDER
    address = f"https://{owner.lower()}.github.io/{name}/" if known else ""
    identifier = uuid.uuid5(uuid.NAMESPACE_URL, f"{address or cff['title']} {cff['version']}")
    authors = tuple(
        one.get("name") or f"{one.get('given-names', '')} {one['family-names']}".strip() for one in cff["authors"]
    )
    rights = "Code: MIT. Text, figures and records: CC BY 4.0."
    text = yaml.safe_load((root / "book" / "descriptions.yml").read_text(encoding="utf-8"))["book/intro"]
    return About(cff["title"], authors, f"urn:uuid:{identifier}", f"{day}T00:00:00Z", rights, text), address


def build_epub(root: Path, build: Path, staged: Path) -> Path:
    """From the staged tree to `book.epub` in the build folder; `BuildError` where it has a fault."""
    import yaml
    from build import run_sphinx
    from epub_check import faults
    from execute import BuildError

    folder = run_sphinx(root, staged, build / "sphinx-epub.log", "epub")
    about, address = about_book(root)
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    target = build / "book.epub"
    pack(assemble(folder, parts_of(toc), about, build / "npm", address), target)
    if found := faults(target):
        raise BuildError(f"{target} has faults:\n" + "\n".join(f"  {line}" for line in found[:40]))
    print(f"Open {target} ({target.stat().st_size / 1e6:.1f} MB)")
    return target
