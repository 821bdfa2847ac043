"""What the pages say about themselves: reading times, author, date and citation, link texts, search, light pages."""

import csv
import datetime
import json
import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from docutils import nodes
from docutils.utils import new_document
from sphinx import addnodes
from support import built, needs
from support.helpers import ROOT
from support.made_records import whole, write

from rtx_book.race.race_csv import HEADER
from rtx_book.sphinx import book_site, citing, previews

TIMES = yaml.safe_load((ROOT / "book" / "reading.yml").read_text(encoding="utf-8"))


def stale(times, words):
    """Chapters whose words, 130 a minute with formulas and figures, take longer or shorter than is said."""
    minutes = {
        page: int(re.match(r"About (\d+) minutes to read, [a-z ]+ with the code", text)[1])
        for page, text in times.items()
    }
    return [page for page, count in words.items() if page not in minutes or abs(count / 130 - minutes[page]) > 7]


def test_what_stands_under_a_title_goes_with_the_words_of_the_chapter():
    words = {}
    for page in (page for page in built.toc() if page.startswith("notebooks/")):
        cells = json.loads((ROOT / f"{page}.ipynb").read_text(encoding="utf-8"))["cells"]
        words[page] = sum(len("".join(cell["source"]).split()) for cell in cells if cell["cell_type"] == "markdown")
    assert stale(TIMES, words) == [] and set(TIMES) == set(words)
    one = next(iter(words))
    assert stale(TIMES, {**words, one: 2 * words[one], "notebooks/new": 3000}) == [one, "notebooks/new"]


CFF = {"title": "Recurrence, and more", "version": "1.2", "authors": [{"name": citing.UNNAMED}]}


def test_the_entry_for_bibtex():
    day = datetime.date(2026, 11, 23)
    named = {**CFF, "authors": [{"family-names": "van Beethoven", "given-names": "Ludwig"}, {"name": "The group"}]}
    assert citing.bibtex(named, day, "https://a.github.io/b/").splitlines() == [
        "@misc{beethoven2026,",
        "  title   = {Recurrence, and more},",
        "  author  = {van Beethoven, Ludwig and {The group}},",
        "  year    = {2026},",
        "  month   = nov,",
        "  version = {1.2},",
        "  url     = {https://a.github.io/b/}",
        "}",
    ]
    unnamed = citing.bibtex(CFF, day, "")
    assert unnamed.startswith("@misc{recurrence2026,") and r"{{The rtx\_lib authors}}" in unnamed
    assert "url" not in unnamed


def test_the_citation_of_this_book_parses():
    cff = citing.metadata(ROOT)
    assert (entry := citing.bibtex(cff, datetime.date.today(), "")).count("{") == entry.count("}")
    config = yaml.safe_load((ROOT / "_config.yml").read_text())
    assert (config["author"] == citing.UNNAMED) == (not citing.authors(cff)), "both name somebody, or neither"


@pytest.fixture
def own_days(tmp_path, monkeypatch):
    """A repository with two commits; the function that forgets what git said."""
    if shutil.which("git") is None:
        needs.lack("git")
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    monkeypatch.chdir(tmp_path)

    def commit(name, day):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(day)
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        when = {"GIT_COMMITTER_DATE": f"{day}T12:00:00Z", "GIT_AUTHOR_DATE": "2001-01-01T00:00:00Z"}
        for command in (["add", name], [*who, "commit", "-qm", name]):
            subprocess.run(["git", *command], check=True, env={"PATH": "/usr/bin:/bin", **when})

    subprocess.run(["git", "init", "-q"], check=True)
    commit("book/a.md", "2020-02-03")
    commit("notebooks/b.ipynb", "2021-04-05")
    commit("tests/c.py", "2022-06-07")
    citing.committed.cache_clear()
    yield commit
    citing.committed.cache_clear()


def test_a_page_bears_the_day_of_its_last_commit(own_days, monkeypatch):
    assert citing.day_of("book/a.md") == datetime.date(2020, 2, 3)
    assert citing.last_day() == datetime.date(2021, 4, 5), "a change of a test changes no page"
    assert citing.day_of("book/new.md") == datetime.date.today(), "not committed yet"
    own_days("book/a.md", "2023-01-01")
    citing.committed.cache_clear()
    assert citing.day_of("book/a.md") == citing.last_day() == datetime.date(2023, 1, 1)
    citing.committed.cache_clear()
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert citing.day_of("book/a.md") == citing.last_day() == datetime.date(1970, 1, 2)
    assert citing.spelled(citing.last_day()) == "2 January 1970"


def test_without_git_a_page_bears_the_day_of_the_build(tmp_path, monkeypatch):
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    assert citing.days_of_change(tmp_path) == {}
    monkeypatch.setenv("PATH", "")
    assert citing.git(tmp_path, "log") == ""
    assert citing.today() == datetime.date.today()


def signed(author, doctree=True):
    builder = SimpleNamespace(name="html", format="html", get_relative_uri=lambda start, end: f"../{end}.html")
    env, config = SimpleNamespace(doc2path=lambda name, base: f"{name}.md"), SimpleNamespace(root_doc="book/intro")
    app = SimpleNamespace(builder=builder, env=env, config=config)
    context = {"author": author}
    citing.sign(app, "notebooks/a", "", context, doctree or None)
    return context


def test_the_footer_names_nobody_until_somebody_is_named():
    assert signed(citing.UNNAMED)["author"] == ""
    assert signed("Ada Lovelace")["author"] == "Ada Lovelace"
    assert 'href="../book/intro.html#how-to-cite"' in signed("")["theme_extra_footer"]
    assert signed("", doctree=False)["last_updated"] is None, "the search page was written by nobody"


def test_every_page_has_a_text_of_its_own_that_a_link_can_show():
    texts = yaml.safe_load((ROOT / "book" / "descriptions.yml").read_text(encoding="utf-8"))
    assert set(texts) == set(built.toc()) and len({*texts.values()}) == len(texts)
    assert [page for page, text in texts.items() if not 40 <= len(text) <= 160] == []
    assert not any(text.startswith("Prerequisites") for text in texts.values()), "what a page shows, not needs"


def test_what_the_search_reads_of_a_page():
    """Sections and documented names with their words; of an entry of the glossary the chapter that it names first."""
    link = nodes.reference("", "Gates", refuri="../notebooks/gates.html#the-gru")
    words = nodes.paragraph("", "", nodes.Text("A state "), nodes.math("", "h_t"), nodes.raw("", "<b>"), link)
    page = new_document("page")
    page += nodes.section("", nodes.title("", "State"), words, ids=["state"])
    page += addnodes.desc_signature("fit(model)", ids=["rtx_lib.training.fit"])
    assert previews.passages(page, leads=True) == [
        ["state", "State", "A state $h_t$Gates\n", "notebooks/gates"],
        ["rtx_lib.training.fit", "rtx_lib.training.fit", ""],
    ]


def test_a_page_loads_what_it_needs():
    head = '<script defer src="scripts/fontawesome.js?d"></script><script src="../searchindex.js"></script>'
    own = '<script defer="defer" src="_static/language_data.js"></script><p>text</p>'
    assert book_site.repaired(head + own) == own


def test_a_title_is_not_said_twice_and_a_preview_has_no_relative_address():
    assert book_site.repaired('<meta property="og:url" content="book/a.html" />\n') == ""
    assert book_site.repaired("<title>A book &#8212; A book</title>") == "<title>A book</title>"
    assert book_site.repaired("<title>Gates &#8212; A book</title>") == "<title>Gates &#8212; A book</title>"


def test_a_page_links_what_a_notebook_only_names():
    text = book_site.repaired('<span data-recipe="a">1</span><span data-file="b.csv">b</span><span>c</span>')
    links = '<a href="../book/records.html#recipe-a">1</a><a href="../book/results/b.csv" download="b.csv">b</a>'
    assert text == f"{links}<span>c</span>"


def test_all_runs_of_the_race_are_one_file_beside_the_records(tmp_path):
    runs = [whole(f"race-digits-gru-{lr:g}", seed) for lr in (0.01, 1e-5) for seed in (0, 1)]
    for run in runs:
        run["configuration"]["lr"] = float(run["recipe"].removeprefix("race-digits-gru-"))
    write(tmp_path / "runs", *runs, whole())
    (tmp_path / "chosen.json").write_text('{"race-digits-gru": "race-digits-gru-0.01"}')
    book_site.put_csv(tmp_path, tmp_path / "race.csv")
    rows = list(csv.DictReader((tmp_path / "race.csv").read_text().splitlines()))
    assert tuple(rows[0]) == HEADER
    told = [(row["recipe"], row["seed"], row["chosen"]) for row in rows]
    want = {"race-digits-gru-1e-05": "0", "race-digits-gru-0.01": "1"}
    assert told == [(recipe, seed, chosen) for recipe, chosen in want.items() for seed in "01"]
    book_site.put_csv(tmp_path / "nothing", tmp_path / "none.csv")
    assert not (tmp_path / "none.csv").exists()


def test_idle_files_of_the_theme_are_left_out_and_the_sitemap_needs_an_address(tmp_path):
    kept = ["scripts/bootstrap.js", "vendor/fa/solid.woff2", "styles/theme.css", "scripts/fontawesome.css"]
    idle = ["scripts/bootstrap.js.map", "locales/de/a.po", "scripts/fontawesome.js"]
    for name in [*kept, *idle]:
        (tmp_path / "_static" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "_static" / name).touch()

    def finish(address):
        app = SimpleNamespace(
            builder=SimpleNamespace(name="html", format="html"),
            outdir=tmp_path,
            confdir=tmp_path,
            config=SimpleNamespace(html_baseurl=address),
            env=SimpleNamespace(found_docs={"book/intro", "notebooks/a"}),
        )
        book_site.finish_site(app, None)

    finish("")
    left = [path.relative_to(tmp_path / "_static").as_posix() for path in tmp_path.rglob("*") if path.is_file()]
    assert sorted(left) == sorted(kept)
    finish("https://a.github.io/b/")
    text = (tmp_path / "sitemap.xml").read_text()
    assert "<loc>https://a.github.io/b/book/intro.html</loc>" in text and text.count("<url>") == 2
    assert Path(tmp_path / "_static" / "styles" / "theme.css").is_file()
