"""The words that book/style.md decides: what is never right is on no page, and each pattern finds its own example."""

import ast
import json
import re

import pytest
from support.helpers import ROOT

LISTS = re.split(r"^## .+\n", (ROOT / "book" / "style.md").read_text(encoding="utf-8"), flags=re.M)
NEVER, TWICE = (re.findall(r"^- `([^`]+)`(?: ~~(.+?)~~ → \*(.+?)\*)?", own, flags=re.M) for own in LISTS[1:])
KINDS = ("notebooks/[a-z]*.ipynb", "book/*.md", "book/[cdgm]*.yml", "book/rtx_book/checks/**/*.[my]*[dl]")
PAGES = [p for kind in KINDS for p in sorted(ROOT.glob(kind))]
OTHER = re.compile(r"^(`{3,}).*?^\1[ \t]*$|\$\$.*?\$\$|\$[^$\n]*\$|`[^`\n]*`|(?<=\])\([^)\s]*\)|<[^>]+>", re.M | re.S)


def prose(path):
    """The text of a page; of a notebook also the titles and findings in its code, strings of five words or more."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return OTHER.sub("·", text)
    said = {kind: [] for kind in ("markdown", "code")}
    for cell in json.loads(text)["cells"]:
        said[cell["cell_type"]].append("".join(cell["source"]))
    nodes = [node for code in said["code"] for node in ast.walk(ast.parse(code))]
    typed = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return "\n\n".join([OTHER.sub("·", "\n\n".join(said["markdown"])), *(one for one in typed if one.count(" ") >= 4)])


def test_there_are_pages_and_patterns():
    assert len(PAGES) > 30 and len(NEVER) > 20 and TWICE


@pytest.mark.parametrize("path", [page for page in PAGES if page.name != "style.md"], ids=lambda path: path.stem)
def test_no_page_says_what_is_never_right(path):
    text = prose(path)
    assert [text[max(0, m.start() - 40) : m.end() + 40] for own, *_ in NEVER for m in re.finditer(own, text)] == []
    print({own: len(re.findall(own, text)) for own, *_ in TWICE})


@pytest.mark.parametrize(("pattern", "wrong", "right"), NEVER)
def test_a_pattern_finds_its_example_and_leaves_what_we_write_instead(pattern, wrong, right):
    assert re.search(pattern, wrong) and not re.search(pattern, right)
