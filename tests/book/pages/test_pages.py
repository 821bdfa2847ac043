"""The HTML of every page; and every check sees a planted mistake."""

import csv
import json
import lzma
import os
import re
import subprocess
import sys

import pytest
from pages import html_checks
from pages.html_checks import Page, Pages
from support import built, views
from support.helpers import PACKAGES, ROOT

from rtx_book.build import repository
from rtx_book.page import live

TOC = [f"{page}.html" for page in built.toc()]
CHAPTERS = [name for name in TOC if name.startswith("notebooks/")]
LARGEST_WEIGHTS = 1_000_000  # bytes of a page
LOADER = "live-loader.js"
# Pages that Jupyter Book adds to those of the toc.
OTHERS = {"404.html", "genindex.html", "index.html", "py-modindex.html", "search.html", f"{views.PAGE}.html"}


def test_site_builds_without_a_warning(site):
    """Sphinx ran with `-W -n --keep-going`; nothing that it wrote is a warning."""
    log = re.sub(r"\x1b\[[0-9;]*m", "", site.log)
    assert "build succeeded" in log
    assert not [line for line in log.splitlines() if re.search(r"\bWARNING\b|\bERROR\b", line)]


def test_pages_are_those_of_the_toc(pages):
    assert not set(TOC) - set(pages)
    assert not set(pages) - set(TOC) - OTHERS
    assert {"404.html", "index.html", "search.html"} <= set(pages)


def runs_of_the_race(folder):
    """How many runs the chapter says that its table has, and how many rows are in it."""
    page = (folder / "notebooks" / "race.html").read_text(encoding="utf-8")
    told = re.findall(r'all ([\d,]+) runs are one table: <a [^>]*download="race\.csv">', page)
    with (folder / "book" / "results" / "race.csv").open(encoding="utf-8", newline="") as file:
        return [int(number.replace(",", "")) for number in told], len(list(csv.DictReader(file)))


def test_the_race_counts_the_rows_of_its_table(site, tmp_path):
    told, rows = runs_of_the_race(site.folder)
    assert told == [rows] and rows > 3000
    for name in ("notebooks/race.html", "book/results/race.csv"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_bytes((site.folder / name).read_bytes())
    with (tmp_path / "book" / "results" / "race.csv").open("a", encoding="utf-8") as file:
        file.write("parity\n")
    told, rows = runs_of_the_race(tmp_path)
    assert told == [rows - 1], "a row more is a row more"


@pytest.mark.parametrize("name", TOC)
def test_page(pages, name):
    page = pages[name]
    checks = [html_checks.one_h1, html_checks.missing_alternatives, html_checks.too_large]
    checks += [html_checks.missing_preview, html_checks.unresolved]
    assert not [fault for check in checks for fault in check(page)]


@pytest.mark.parametrize("name", CHAPTERS)
def test_chapter(pages, name):
    assert not html_checks.chapter_faults(pages[name]) + html_checks.download_faults(pages[name], built.tree())


def test_links_lead_somewhere(pages):
    """The page for missing addresses works at any depth in another way, which the browser tries."""
    faults = {name: html_checks.broken_links(page, pages) for name, page in pages.items() if name != "404.html"}
    assert not {name: found for name, found in faults.items() if found}


def test_index_leads_to_the_first_page(pages):
    (leads,) = pages["index.html"].soup.find_all("meta", attrs={"http-equiv": re.compile("refresh", re.I)})
    assert TOC[0] in leads["content"]


def test_no_file_names_the_place_where_it_was_built(site):
    kinds = (".html", ".js", ".json", ".jsonl", ".xz", ".ipynb", ".md", ".txt")
    texts = [path for path in site.folder.rglob("*") if path.suffix in kinds and "vendor" not in path.parts]
    read = {path: lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes() for path in texts}
    faults = {path.name: html_checks.traces_of_the_build(text.decode("utf-8")) for path, text in read.items()}
    assert not {name: found for name, found in faults.items() if found}


def test_the_search_knows_every_page_and_reads_no_other_index(site, pages):
    known = (site.folder / "_static" / "passages.js").read_text(encoding="utf-8")
    assert not [name for name in TOC if f'["{name.removesuffix(".html")}","' not in known]
    scripts = re.compile(r"passages\.js|searchindex\.js|searchtools\.js")
    asking = {name: scripts.findall(page.text) for name, page in pages.items()}
    assert {name: files for name, files in asking.items() if files} == {"search.html": ["passages.js"]}


def test_one_sheet_and_no_script_come_before_the_first_paint(pages):
    """Formulas are set when the site is built, and the icons that some page has are in the sheet."""
    for name in TOC:
        head = pages[name].soup.head
        sheets = [link["href"] for link in head.select('link[rel="stylesheet"]')]
        assert [re.sub(r"^[./]+|\?.*", "", sheet) for sheet in sheets] == ["_static/all.css"]
        assert not [tag for tag in pages[name].soup.select("script[src]") if not tag.has_attr("defer")], name
        assert not pages[name].soup.select("script[src*=mathjax]"), name
    sheet = (pages[TOC[0]].site / "_static" / "all.css").read_text(encoding="utf-8")
    assert ".fa-magnifying-glass" in sheet and ".fa-people-group" not in sheet
    asked = set(re.findall(r"url\(([^)]+)\)", re.sub(r'url\("?data:[^)]*\)', "", sheet)))
    assert asked and not [path for path in asked if not (pages[TOC[0]].site / "_static" / path.strip("\"'")).is_file()]


def test_bibliography_is_there(pages):
    entries = pages["book/references.html"].article.select(".citation")
    assert entries and all(len(entry.get_text().split()) > 5 for entry in entries)


def test_every_button_opens_a_file_of_the_repository(pages):
    tree = built.tree()
    chapters = [name for name in pages if name.startswith("notebooks/")]
    assert len(chapters) == len(CHAPTERS) + 1
    assert not [fault for name in chapters for fault in html_checks.launch_faults(pages[name], tree, built.SITE_URL)]
    assert not [name for name, page in pages.items() if "OWNER/REPOSITORY" in page.text]
    picture = pages[chapters[0]].soup.find("meta", property="og:image")["content"]
    assert picture.startswith("https://example-org.github.io/example-repo/")
    for name in ("index.html", "book/intro.html"):  # a link to the whole site has a preview, too
        assert pages[name].soup.find("meta", property="og:image")["content"] == picture
        assert pages[name].soup.find("meta", attrs={"name": "twitter:card"})


@pytest.mark.weekly
def test_the_plain_command_builds_the_book_without_execution(tmp_path):
    """`jupyter-book build .` at the top; where the repository is not known, no button leads to it."""
    start = "import sys; from jupyter_book.cli.main import main; sys.exit(main())"
    command = [sys.executable, "-c", start, "build", "-W", "-n", "--keep-going", "--path-output", str(tmp_path), "."]
    known = {**os.environ, "NO_COLOR": "1", "PYTHONPATH": PACKAGES}
    answer = subprocess.run(command, cwd=ROOT, env=known, capture_output=True, text=True)
    assert answer.returncode == 0, [x for x in answer.stderr.splitlines() if "WARNING" in x] or answer.stderr[-2000:]
    pages = Pages(tmp_path / "_build" / "html")
    assert {"index.html", "404.html", *CHAPTERS} <= set(pages)
    if repository.current(ROOT) == ("OWNER", "REPOSITORY"):
        assert not {name: links for name, page in pages.items() if (links := html_checks.repository_links(page))}


# ------------------------------------------- live figures: what a page loads and when, how much it is, what paper gets


def figures(page):
    return page.soup.select("figure[data-live]")


def weights(page):
    """Files of the weights that a page's figures name."""
    named = {digest for figure in figures(page) for digest in json.loads(figure["data-weights"]).values()}
    return [page.site / "_static" / "live" / f"weights-{digest}.js" for digest in sorted(named)]


def test_the_first_page_and_the_chapters_have_something_to_play_with(pages):
    without = [name for name in (TOC[0], *CHAPTERS) if not figures(pages[name])]
    assert not without


def test_a_page_carries_its_figures_and_nothing_of_what_makes_them_live(pages):
    for name in TOC:
        text = (pages[name].site / name).read_text(encoding="utf-8")
        assert "data-part=" not in text and "RTX.part(" not in text, name
        assert (LOADER in text) == bool(figures(pages[name])), f"{name} loads the scripts of live figures"
        assert not re.search(r"<(?:script|link)[^>]*_static/live/", text), name


def test_weights_are_there_once_and_not_too_many(pages):
    there = {path for path in (pages[TOC[0]].site / "_static" / "live").glob("weights-*.js")}
    named = {path for name in TOC for path in weights(pages[name])}
    assert there == named
    for name in TOC:
        size = sum(path.stat().st_size for path in weights(pages[name]))
        assert size <= LARGEST_WEIGHTS, f"{name}: {size / 1000:.0f} kB of weights"


def test_scripts_of_the_figures_are_those_of_the_library(pages):
    folder = pages[TOC[0]].site / "_static" / "live"
    for page in pages.values():
        for figure in figures(page):
            for part in figure["data-parts"].split():
                assert (folder / f"{part}.js").read_text() == (live.folder() / f"{part}.js").read_text()


# ------------------------------------------------------------------------------------------ planted mistakes


def page(tmp_path, body, head="", name="page.html"):
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"<html><head>{head}</head><body><article>{body}</article></body></html>")
    return Page(tmp_path, name)


BODIES = {  # what is right, and what is not
    html_checks.one_h1: ("<h1>One</h1>", "<h1>One</h1><h1>Two</h1>"),
    html_checks.missing_alternatives: (
        '<img alt="loss falls" src="a.png"><svg role="img" aria-label="loss falls"><g><svg/></g></svg>'
        '<span aria-hidden="true"><svg/></span><figure><iframe title="heads"></iframe></figure>',
        '<svg role="img" aria-label="figure"/>',
    ),
    html_checks.too_large: (
        '<figure class="book-explorer">' + 500_000 * "x" + "</figure>" + 1_900_000 * "x",
        '<figure class="book-film">' + 600_001 * "x" + "</figure>",
    ),
    html_checks.unresolved: (
        '<p>By <a href="#equation-a">(1.2)</a>, is it so?</p><pre>{eq}`a`</pre>',
        "<p>{cite:t}`elman1990`</p>",
    ),
}


@pytest.mark.parametrize("check", BODIES, ids=lambda check: check.__name__)
def test_a_planted_mistake_is_seen(tmp_path, check):
    right, wrong = BODIES[check]
    assert not check(page(tmp_path, right))
    assert check(page(tmp_path, wrong))


HEAD = """<title>One</title><meta name="description" content="What a whole chapter is about.">
<meta property="og:description" content="What a whole chapter is about.">
<meta property="og:image" content="https://a.github.io/b/one.png">"""
CHAPTER = f"""<p class="reading-time">9 minutes</p><div class="cell tag_hide-cell"><details>Solved.</details></div>
<span class="math"><span class="eqno">(1)</span></span><a class="reference" href="../book/references.html#x">X</a>
<a class="btn-download-source-button" href="one.ipynb"></a><a class="btn-source-repository" href="{built.SITE_URL}"></a>
<a href="https://colab.research.google.com/github/{built.SITE_URL[19:]}/blob/main/notebooks/one.ipynb"></a>"""
PLANTED = {  # in a chapter without faults, for what sees it
    "preview": [("<title>One", "<title>"), ("b/one.png", "b/two.png"), ('"What a whole', '"$a$, what a whole')],
    "chapter": [("9 minutes", "soon"), ("<details>", "<details open>"), ("(1)", ""), ("references.html#", "")],
    "download": [('"one.ipynb"', '"two.ipynb"'), ("btn-download-source-button", "")],
    "launch": [("blob/main", "tree/main"), ('btn-source-repository"', '"'), ("</a>", '<a href="OWNER/REPOSITORY">')],
    "links": [("../book/references.html#x", "#x"), ('"one.ipynb"', '"/one.ipynb"'), ('"one.ipynb"', '"two.ipynb"')],
    "traces": [("Solved.", f"{ROOT}/a.py"), ("Solved.", '"papermill": {}')],
}


@pytest.mark.parametrize(("check", "change"), [(name, pair) for name, pairs in PLANTED.items() for pair in pairs])
def test_a_mistake_planted_in_a_chapter_is_seen(tmp_path, check, change):
    def faults(changed):
        found = page(tmp_path, changed(CHAPTER), changed(HEAD), "notebooks/one.html")
        return {
            "preview": html_checks.missing_preview(found),
            "chapter": html_checks.chapter_faults(found),
            "download": html_checks.download_faults(found, tmp_path),
            "launch": html_checks.launch_faults(found, tmp_path, built.SITE_URL),
            "links": html_checks.broken_links(found, Pages(tmp_path)),
            "traces": html_checks.traces_of_the_build(found.text),
        }[check]

    page(tmp_path, '<p id="x">X</p>', name="book/references.html")
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "one.ipynb").write_text("{}")
    (tmp_path / "one.png").touch()
    assert not faults(str)
    assert faults(lambda text: text.replace(*change))
