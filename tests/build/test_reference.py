"""The reference pages: every module is in the API reference, every key in the bibliography is one."""

import re

from helpers import ROOT

BIB = (ROOT / "book" / "references.bib").read_text(encoding="utf-8")


def missing_modules(page, library=ROOT / "rtx_lib"):
    """The modules of the library that the page does not document; a room's __init__ only hands names on."""
    inner = {"rtx_lib.plots.control", "rtx_lib.tasks.files", "rtx_lib.tasks.splits"}  # for their neighbours only
    names = {
        ".".join(("rtx_lib", *path.relative_to(library).with_suffix("").parts))
        for path in library.rglob("*.py")
        if path.name != "__init__.py"
    }
    return sorted(names - inner - set(re.findall(r"automodule:: (\S+)", page)))


def test_every_module_is_in_the_api_reference():
    page = (ROOT / "book" / "api.md").read_text(encoding="utf-8")
    assert missing_modules(page) == []
    assert missing_modules(page.replace("automodule:: rtx_lib.training", "")) == ["rtx_lib.training"]


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
