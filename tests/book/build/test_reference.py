"""The reference pages: every module is on one page of the API reference, every key in the bibliography is one."""

import re

from support import built
from support.helpers import ROOT

ROOMS = {path.stem: path.read_text(encoding="utf-8") for path in sorted((ROOT / "book" / "api").glob("*.md"))}
BIB = (ROOT / "book" / "references.bib").read_text(encoding="utf-8")


def module_faults(pages):
    """Modules that the pages do not document, or twice; a room's __init__ only hands names on."""
    inner = {"rtx_lib.tasks.splits"}  # for their neighbours only
    names = {
        ".".join(path.relative_to(folder).with_suffix("").parts)
        for folder, package in ((ROOT, "rtx_lib"), (ROOT / "book", "rtx_book"))
        for path in (folder / package).rglob("*.py")
        if path.name != "__init__.py" and path.relative_to(folder).parts[1] not in ("build", "sphinx")
    }
    named = [name for text in pages.values() for name in re.findall(r"automodule:: (\S+)", text)]
    twice = {name for name in named if named.count(name) > 1}
    return [f"{name} is on no page" for name in sorted(names - inner - set(named))] + [
        f"{name} is there twice" for name in sorted(twice)
    ]


def room_faults(index, pages, toc):
    """Pages of the reference that its index does not link, or that the toc, and so the site, leaves out."""
    linked = re.findall(r"^- \{doc\}`api/(\w+)`: ", index, flags=re.M)
    faults = [f"the index links {name}, which is no page" for name in linked if name not in pages]
    for name in pages:
        faults += [f"the index links {name} {linked.count(name)} times"] if linked.count(name) != 1 else []
        faults += [f"_toc.yml leaves out {name}"] if f"book/api/{name}" not in toc else []
    return faults


def test_every_module_is_in_the_api_reference():
    assert module_faults(ROOMS) == []
    changed = ROOMS | {"training": ROOMS["training"].replace("automodule:: rtx_lib.training.loop\n", "")}
    assert module_faults(changed) == ["rtx_lib.training.loop is on no page"]
    changed = ROOMS | {"bench": ROOMS["bench"] + "automodule:: rtx_lib.training.loop\n"}
    assert module_faults(changed) == ["rtx_lib.training.loop is there twice"]


def test_every_room_is_on_the_index_and_in_the_toc():
    index, toc = (ROOT / "book" / "api.md").read_text(encoding="utf-8"), built.toc()
    assert "automodule" not in index, "a module belongs on the page of its room, in book/api/"
    assert ROOMS and room_faults(index, ROOMS, toc) == []
    assert room_faults(index, ROOMS | {"attic": ""}, [*toc, "book/api/attic"]) == ["the index links attic 0 times"]
    without = [page for page in toc if page != "book/api/tasks"]
    assert room_faults(index, ROOMS, without) == ["_toc.yml leaves out tasks"]
    assert room_faults(index.replace("api/tasks", "api/task"), ROOMS, toc) == [
        "the index links task, which is no page",
        "the index links tasks 0 times",
    ]


def bibliography_faults(text):
    """Keys that come twice or name no year, and entries without author, title or year."""
    found = []
    keys = re.findall(r"^@\w+\{([^,]+),", text, flags=re.M)
    found += [f"{key} comes twice" for key in set(keys) if keys.count(key) > 1]
    for key, entry in re.findall(r"^@\w+\{([^,]+),\n(.*?)^\}", text, flags=re.M | re.S):
        year = re.search(r"^ +year +?= *\{(.+?)\}", entry, flags=re.M)
        if not all(re.search(rf"^ +{name} *=", entry, flags=re.M) for name in ("author", "title")) or not year:
            found.append(f"{key} lacks author, title or year")
        elif year[1] != "n.d." and not re.fullmatch(rf"[a-z]+{year[1]}[a-z]?", key):
            found.append(f"{key} is not the first author and the year {year[1]}")
    return found


def test_the_bibliography_is_whole():
    assert bibliography_faults(BIB) == []
    entry = "@misc{doe2001,\n  author = {Doe, Jane},\n  title = {On},\n  year = {2001},\n}\n"
    assert bibliography_faults(entry) == []
    assert bibliography_faults(entry + entry) == ["doe2001 comes twice"]
    later = entry.replace("{2001}", "{2002}")
    assert bibliography_faults(later) == ["doe2001 is not the first author and the year 2002"]
    assert bibliography_faults(entry.replace("  title = {On},\n", "")) == ["doe2001 lacks author, title or year"]
