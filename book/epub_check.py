"""What an EPUB must be, looked at from outside: `faults(path)`; or `python book/epub_check.py FILE`."""

from __future__ import annotations

import posixpath
import re
import sys
import zipfile
from pathlib import Path
from xml.etree import ElementTree

OPF, DC = "{http://www.idpf.org/2007/opf}", "{http://purl.org/dc/elements/1.1/}"
XHTML, SVG = "{http://www.w3.org/1999/xhtml}", "{http://www.w3.org/2000/svg}"
MATH = "{http://www.w3.org/1998/Math/MathML}"
DEAD = {f"{XHTML}{name}" for name in ("script", "input", "button", "select", "textarea", "form", "iframe", "output")}
ADDRESSES = ("href", "src", "{http://www.w3.org/1999/xlink}href")


def faults(path: Path) -> list[str]:
    """One line for each fault of the file: as a zip, in its list of files, its metadata, and on each page."""
    try:
        with zipfile.ZipFile(path) as whole:
            if broken := whole.testzip():
                return [f"{broken} is damaged"]
            entries = whole.infolist()
            files = {entry.filename: whole.read(entry) for entry in entries}
    except zipfile.BadZipFile:
        return ["it is no zip file"]
    first = entries[0]
    found = []
    if first.filename != "mimetype" or first.compress_type or files["mimetype"] != b"application/epub+zip":
        found.append("the first file must be mimetype, not compressed")
    opf = "EPUB/content.opf"
    if opf not in files or opf.encode() not in files.get("META-INF/container.xml", b""):
        return [*found, f"the container does not lead to {opf}"]
    try:
        package = ElementTree.fromstring(files[opf])
    except ElementTree.ParseError as error:
        return [*found, f"{opf}: {error}"]
    items = {posixpath.join("EPUB", item.get("href", "")): item for item in package.iter(f"{OPF}item")}
    own = set(files) - {"mimetype", "META-INF/container.xml", opf}
    found += [f"{name} is listed and not there" for name in sorted(set(items) - own)]
    found += [f"{name} is there and not listed" for name in sorted(own - set(items))]
    found += missing_metadata(package)
    trees = {}
    for name in sorted(own & set(items)):
        if name.endswith(".xhtml"):
            try:
                trees[name] = ElementTree.fromstring(files[name])
            except ElementTree.ParseError as error:
                found.append(f"{name} is no XML: {error}")
    ids = {name: [one.get("id") for one in tree.iter() if one.get("id")] for name, tree in trees.items()}
    for name, tree in trees.items():
        found += [f"{name}: {line}" for line in page_faults(name, tree, items[name].get("properties") or "", ids, own)]
    return found + navigation_faults(package, trees, items)


def missing_metadata(package: ElementTree.Element) -> list[str]:
    found = []
    for name in ("identifier", "title", "language", "creator", "description", "rights"):
        if not (package.findtext(f".//{DC}{name}") or "").strip():
            found.append(f"no {name}")
    modified = [one.text or "" for one in package.iter(f"{OPF}meta") if one.get("property") == "dcterms:modified"]
    if len(modified) != 1 or not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", modified[0]):
        found.append(f"dates of change: {modified}")
    if not any("cover-image" in (item.get("properties") or "").split() for item in package.iter(f"{OPF}item")):
        found.append("no cover")
    return found


def page_faults(
    name: str, tree: ElementTree.Element, properties: str, ids: dict[str, list[str]], files: set[str]
) -> list[str]:
    """What is dead, doubled, unnamed or leads nowhere on a page."""
    found = []
    if not (tree.findtext(f".//{XHTML}title") or "").strip():
        found.append("no title")
    twice = {one for one in ids[name] if ids[name].count(one) > 1}
    found += [f"id {one} is given twice" for one in sorted(twice)]
    for tag in tree.iter():
        short = tag.tag.rpartition("}")[2] if isinstance(tag.tag, str) else "?"
        if tag.tag in DEAD or short == "script":
            found.append(f"<{short}> does nothing in a book")
        found += [f"<{short} {key}>" for key in tag.attrib if re.match(r"on[a-z]+$", key)]
        if tag.tag == f"{XHTML}img" and not tag.get("alt"):
            found.append("a picture without words")
        if (
            tag.tag == f"{XHTML}span"
            and "math" in (tag.get("class") or "").split()
            and "\\(" in "".join(tag.itertext())
        ):
            found.append(f"a formula is still TeX: {''.join(tag.itertext())[:60]}")
        for key in ADDRESSES:
            address = tag.get(key)
            if address is None or re.match(r"(https?|mailto):", address):
                continue
            path, _, fragment = address.partition("#")
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
            if target not in files:
                found.append(f"{address}: no such file")
            elif fragment and target in ids and fragment not in ids[target]:
                found.append(f"{address}: no such place")
    for kind, space in (("svg", SVG), ("mathml", MATH)):
        there = any(isinstance(tag.tag, str) and tag.tag.startswith(space) for tag in tree.iter())
        if there != (kind in properties.split()):
            found.append(f"the list of files is wrong about {kind}")
    return found


def navigation_faults(
    package: ElementTree.Element, trees: dict[str, ElementTree.Element], items: dict[str, ElementTree.Element]
) -> list[str]:
    """Every page is read in some order, and the table of contents leads to it."""
    places = [name for name, item in items.items() if "nav" in (item.get("properties") or "").split()]
    if len(places) != 1 or places[0] not in trees:
        return [f"tables of contents: {places}"]
    by_id = {item.get("id"): name for name, item in items.items()}
    spine = [by_id.get(one.get("idref")) for one in package.iter(f"{OPF}itemref")]
    links = [link.get("href", "").partition("#")[0] for link in trees[places[0]].iter(f"{XHTML}a")]
    named = {posixpath.normpath(posixpath.join(posixpath.dirname(places[0]), link)) for link in links}
    pages = [name for name in trees if name != places[0]]
    return [f"{name} is not in the order of reading" for name in pages if name not in spine] + [
        f"{name} is not in the table of contents" for name in pages if name not in named
    ]


if __name__ == "__main__":
    lines = faults(Path(sys.argv[1]))
    print("\n".join(lines) or "no fault")
    sys.exit(bool(lines))
