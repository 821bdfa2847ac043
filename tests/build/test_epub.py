"""The EPUB: a small one from pages as Sphinx writes them, and every fault that an e-reader would stumble over."""

from __future__ import annotations

import re
import zipfile
from xml.etree import ElementTree

import build
import epub
import epub_check
import epub_page
import pytest
import yaml
from execute import BuildError
from support import built
from support.helpers import ROOT

NPM = built.BUILD / "npm"
ABOUT = epub.About(
    "A small book & more", ("Ada Lovelace",), "urn:uuid:1", "2026-11-23T00:00:00Z", "CC BY 4.0", "Two pages."
)
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="  # one point
FIRST = f"""
<h1>First<a class="headerlink" href="#first">¶</a></h1>
<section id="sums"><h2>Sums</h2>
<p>With <span class="math notranslate nohighlight">\\(h_t\\)</span>&nbsp;of
<a href="notebooks/one.xhtml#here">a page</a>, <a href="notebooks/one.html#gone">a place that is gone</a>,
<a href="results/race.jsonl">a file</a>, <a href="https://example.org/a?b=1&amp;c=2">an address</a>.</p>
<div class="math notranslate nohighlight" id="equation-a"><span class="eqno">(1)<a class="headerlink" href="#a">¶</a>
</span>\\[
\\begin{{aligned}} a &amp;= b \\\\ c &amp;&lt; d \\end{{aligned}}\\]</div>
<img src="data:image/png;base64,{PICTURE}" alt="a point"><br>
<script>alert("x < y && z")</script><style onload="go()">.x > .y {{ color: red }}</style>
<details name="guess-1"><summary><p class="collapsed admonition-title">Show code cell source</p><p>Hide</p></summary>
<pre>x &lt; y</pre></details>
<!-- a remark -->
</section>"""
SECOND = """
<h1>Second</h1><p id="here">Text</p><p>Records: <details><summary>The 9</summary>all</details></p>
<figure class="book-fig book-explorer"><div class="book-control" onkeydown="event.stopPropagation()"><label>
<span>slope a</span> <input type="range" min="0" max="1" oninput="go()"></label> <output aria-live="off">0.5</output>
<button type="button">Play</button></div>
<div class="frame" hidden><svg role="img" aria-label="first"><path d="M0 0"/></svg></div>
<div class="frame" data-label="0.5"><svg viewBox="0 0 9 9" style="min-width:600px;max-width:100%" role="img"
 aria-label="second"><defs><clipPath id="a b" clipPathUnits="userSpaceOnUse"><rect/></clipPath></defs>
 <g><path id="m" d="M0 0"/><path id="m" d="M1 1"/></g><use xlink:href="#m"/></svg></div></figure>
<figure class="book-fig live" data-live="train"><div class="live-still"><svg aria-label="still" role="img"></svg></div>
</figure><div class="book-ask" role="group" hidden><input><button>Check</button></div>
<iframe title="Heads" srcdoc="<p>x</p>"></iframe><div role="region" tabindex="0" aria-label="Scrolls">wide</div>"""


def sphinx_writes(folder, **pages):
    """Pages as the epub builder of Sphinx leaves them."""
    for name, body in pages.items():
        path = folder / f"{name.replace('__', '/')}.xhtml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            '<!DOCTYPE html>\n<html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title></head><body>'
            f'<div class="document"><div class="body" role="main">{body}</div></div></body></html>',
            encoding="utf-8",
        )
    return folder


@pytest.fixture
def without_node(monkeypatch):
    """Formulas without node: what is tested here is what becomes of them."""
    made = '<math xmlns="http://www.w3.org/1998/Math/MathML">\n  <mi data-mjx-x="y">x</mi>\n</math>'
    monkeypatch.setattr(epub, "mathml", lambda found, npm: [made for _ in found])


@pytest.fixture
def small(tmp_path, without_node):
    """A book of two pages, packed; its file, and its texts by name."""
    folder = sphinx_writes(tmp_path / "pages", first=FIRST, notebooks__one=SECOND)
    files = epub.assemble(folder, [("", ["first"]), ("Part", ["notebooks/one"])], ABOUT, NPM)
    epub.pack(files, tmp_path / "book.epub")
    return tmp_path / "book.epub", {name: content.decode(errors="replace") for name, content in files.items()}


def test_a_small_book_has_no_fault(small):
    path, files = small
    assert epub_check.faults(path) == []
    assert "<dc:title>A small book &amp; more</dc:title>" in files["content.opf"]
    assert re.search(r'href="images/[0-9a-f]{16}.png"', files["content.opf"])
    assert files["nav.xhtml"].index("First") < files["nav.xhtml"].index("Sums") < files["nav.xhtml"].index("Second")


def test_the_same_book_gives_the_same_bytes(small, tmp_path):
    with zipfile.ZipFile(small[0]) as whole:
        files = {name: whole.read(name) for name in whole.namelist() if name.startswith("EPUB/")}
    epub.pack({name.removeprefix("EPUB/"): content for name, content in files.items()}, tmp_path / "again.epub")
    assert (tmp_path / "again.epub").read_bytes() == small[0].read_bytes()


def test_links_lead_into_the_book_or_out_of_it(small, tmp_path, without_node):
    first = small[1]["first.xhtml"]
    assert 'href="notebooks/one.xhtml#here"' in first and 'href="notebooks/one.xhtml">a place that is gone' in first
    assert "jsonl" not in first and "a file" in first and 'href="https://example.org/a?b=1&amp;c=2"' in first
    parts = [("", ["first"]), ("Part", ["notebooks/one"])]
    files = epub.assemble(tmp_path / "pages", parts, ABOUT, NPM, "https://a.github.io/b/")
    assert 'href="https://a.github.io/b/results/race.jsonl"' in files["first.xhtml"].decode()


def test_what_moves_stands_still_and_what_html_forgives_is_mended(small):
    page = small[1]["notebooks/one.xhtml"]
    assert "slope a: 0.5" in page and 'aria-label="second"' in page and 'aria-label="first"' not in page
    assert 'aria-label="still"' in page and "data-live" not in page
    assert 'viewBox="0 0 9 9"' in page and "<clipPath" in page and "min-width" not in page
    assert 'xmlns:xlink="http://www.w3.org/1999/xlink"' in page and 'id="a-b"' in page
    assert page.count('id="m"') == 1 and "<div>Records: <details>" in page
    assert "Heads: on the site" in page and "Check" not in page
    first = small[1]["first.xhtml"]
    assert "<summary>Code</summary>" in first and ".x &gt; .y" in first and "alert" not in first
    assert "¶" not in first and 'alttext="h_t"' in first and "data-mjx" not in first


def test_formulas_become_mathml():
    assert build.libraries(ROOT, built.BUILD), "npm installs mathjax"
    tex = [
        (r"h_t < \operatorname{diag}(b)", False),
        (r"\begin{aligned} a &= b \\ c &= \overrightarrow h_t \end{aligned}", True),
    ]
    inline, display = (ElementTree.fromstring(text) for text in epub_page.mathml(tex, NPM))
    space = "{http://www.w3.org/1998/Math/MathML}"
    assert inline.find(f".//{space}msub") is not None and "diag" in "".join(inline.itertext())
    assert display.get("display") == "block" and len(display.findall(f".//{space}mtr")) == 2
    with pytest.raises(BuildError, match=r"cannot read the formula \\nosuchcommand"):
        epub_page.mathml([(r"\nosuchcommand{x}", False)], NPM)


def test_without_node_one_line_says_what_to_install(tmp_path):
    with pytest.raises(BuildError, match="install node with npm") as caught:
        epub_page.mathml([("x", False)], tmp_path)
    assert len(str(caught.value).splitlines()) == 1


# ---------------------------------------------------------------------------------------------- planted faults

CHANGES = {
    "is no XML": ("first.xhtml", "</h1>", "</h2>"),
    "<script> does nothing": ("first.xhtml", "<h1>", "<script/><h1>"),
    "<input> does nothing": ("notebooks/one.xhtml", "<h1>", "<input/><h1>"),
    "<p onclick>": ("notebooks/one.xhtml", '<p id="here"', '<p onclick="go()" id="here"'),
    "here is given twice": ("notebooks/one.xhtml", "<h1>", '<h1 id="here">'),
    "#here: no such place": ("notebooks/one.xhtml", 'id="here"', 'id="there"'),
    "no such file": ("first.xhtml", 'href="notebooks/one.xhtml#here"', 'href="notebooks/two.xhtml"'),
    "a picture without words": ("first.xhtml", 'alt="a point"', 'alt=""'),
    "still TeX": ("first.xhtml", "<h1>", '<h1><span class="math">\\(x\\)</span>'),
    "wrong about svg": ("notebooks/one.xhtml", "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"),
    "wrong about mathml": ("content.opf", 'properties="mathml"', ""),
    "no title": ("first.xhtml", "<title>First</title>", "<title></title>"),
    "no creator": ("content.opf", "<dc:creator>Ada Lovelace</dc:creator>", ""),
    "dates of change": ("content.opf", "2026-11-23T00:00:00Z", "yesterday"),
    "no cover": ("content.opf", "cover-image", ""),
    "is listed and not there": ("content.opf", 'href="style.css"', 'href="other.css"'),
    "not in the order of reading": ("content.opf", "<spine><itemref", "<spine><other"),
    "not in the table of contents": ("nav.xhtml", "notebooks/one.xhtml", "first.xhtml"),
    "tables of contents": ("content.opf", 'properties="nav"', ""),
}


@pytest.mark.parametrize("fault", CHANGES)
def test_a_planted_fault_is_seen(small, tmp_path, fault):
    path, files = small
    name, right, wrong = CHANGES[fault]
    assert right in files[name]
    with zipfile.ZipFile(path) as whole:
        content = {entry.removeprefix("EPUB/"): whole.read(entry) for entry in whole.namelist() if "EPUB/" in entry}
    content[name] = files[name].replace(right, wrong).encode()
    epub.pack(content, tmp_path / "broken.epub")
    assert any(fault in line for line in epub_check.faults(tmp_path / "broken.epub"))


def test_a_file_of_another_kind_is_refused(tmp_path, small):
    (tmp_path / "text.epub").write_text("text")
    assert epub_check.faults(tmp_path / "text.epub") == ["it is no zip file"]
    with zipfile.ZipFile(tmp_path / "late.epub", "w") as whole:
        whole.writestr("a", "b")
        whole.writestr("mimetype", "application/epub+zip")
    assert len(epub_check.faults(tmp_path / "late.epub")) == 2


def test_the_parts_are_those_of_the_toc():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
    parts = epub.parts_of(toc)
    assert [name for _, names in parts for name in names] == built.toc()
    assert parts[0][0] == "" and parts[-1][0] == "Reference"
