"""The words that book/style.md decides: what is never right is on no page, and each pattern finds its own example."""

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
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        text = "\n\n".join("".join(c["source"]) for c in json.loads(text)["cells"] if c["cell_type"] == "markdown")
    return OTHER.sub("·", text)


@pytest.mark.parametrize("path", [page for page in PAGES if page.name != "style.md"], ids=lambda path: path.stem)
def test_no_page_says_what_is_never_right(path):
    text = prose(path)
    assert [text[max(0, m.start() - 40) : m.end() + 40] for own, *_ in NEVER for m in re.finditer(own, text)] == []
    print({own: len(re.findall(own, text)) for own, *_ in TWICE})


@pytest.mark.parametrize(("pattern", "wrong", "right"), NEVER)
def test_a_pattern_finds_its_example_and_leaves_what_we_write_instead(pattern, wrong, right):
    assert re.search(pattern, wrong) and not re.search(pattern, right)
