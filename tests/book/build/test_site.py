"""Staging, publishing and the address of the repository."""

import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.helpers import ROOT, code_cell

from rtx_book.build import __main__ as line
from rtx_book.build import gpu, node, repository, serving
from rtx_book.build import website as build
from rtx_book.build.execute import BuildError
from rtx_book.claims import claims, findings
from rtx_book.sphinx import book_site

WIDGET = {"output_type": "display_data", "metadata": {}, "data": {build.WIDGET: {"model_id": "1"}, "text/plain": "x"}}
TEXT = {"output_type": "stream", "name": "stdout", "text": "kept"}


def test_pages_carry_no_trace_of_the_run_and_no_dead_widget():
    notebook = {
        "metadata": {"papermill": {"input_path": "/x"}, "widgets": {"state": {}}, "kernelspec": {"name": "other"}},
        "cells": [
            code_cell("profile = 'book'", "parameters"),
            code_cell("profile = 'smoke'", "injected-parameters"),
            code_cell("import rtx_lib", "bootstrap"),
            code_cell("slider()", "live", outputs=[TEXT]),
            code_cell("progress()", outputs=[WIDGET, TEXT]),
        ],
    }
    for cell in notebook["cells"]:
        cell["metadata"] |= {"papermill": {"status": "completed"}, "execution": {}}
    page = build.clean_notebook(notebook)
    assert page["metadata"]["kernelspec"]["name"] == "python3"
    assert set(page["metadata"]) == {"kernelspec", "language_info"}
    assert "papermill" not in json.dumps(page)
    assert ["remove-cell" in c["metadata"].get("tags", []) for c in page["cells"]] == [True, True, True, False, False]
    assert [c["outputs"] for c in page["cells"][3:]] == [[build.LIVE_NOTE], [TEXT]]
    assert "papermill" in notebook["metadata"], "the argument itself is left alone"


def test_paths_of_the_machine_are_taken_out(tmp_path, monkeypatch):
    monkeypatch.setenv("RTX_DATA", "/some/where/data")
    monkeypatch.setattr(build.tempfile, "gettempdir", lambda: "/scratch")
    text = f"{tmp_path}/rtx_lib/x.py /scratch/ipykernel_12/345.py:3 /some/where/data/file {sys.prefix}/lib/y.py"
    assert build.without_paths(text, tmp_path) == "rtx_lib/x.py cell:3 $RTX_DATA/file .venv/lib/y.py"


def test_stage_writes_what_changed_and_removes_what_is_stale(tmp_path):
    build.stage({"a/b.md": b"1", "c.md": b"2"}, tmp_path)
    kept = (tmp_path / "c.md").stat().st_mtime_ns
    (tmp_path / "_build").mkdir()
    (tmp_path / "_build/page.html").touch()
    build.stage({"c.md": b"2", "d.md": b"3"}, tmp_path)
    assert sorted(p.name for p in tmp_path.rglob("*") if p.is_file()) == ["c.md", "d.md", "page.html"]
    assert (tmp_path / "c.md").stat().st_mtime_ns == kept


@pytest.fixture
def html(tmp_path):
    pages = tmp_path / "html"
    (pages / "_sources/notebooks").mkdir(parents=True)
    (pages / "index.html").write_text("new")
    (pages / "_sources/notebooks/one.ipynb").write_text("executed")
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks/one.ipynb").write_text("clean")
    return pages


def test_publish_swaps_the_whole_site_and_offers_the_clean_notebook(tmp_path, html, monkeypatch):
    site = tmp_path / "site"
    site.mkdir()
    (site / "index.html").write_text("old")
    (site / "stale.html").touch()

    def stop(*arguments, **options):
        (tmp_path / "site.new").mkdir()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(build.shutil, "copytree", stop)
        with pytest.raises(KeyboardInterrupt):
            build.publish(html, tmp_path, site)
    assert (site / "index.html").read_text() == "old", "an interrupted copy leaves the old site"
    site.rename(tmp_path / "site.old")  # as if stopped between the two renames
    build.publish(html, tmp_path, site)
    assert sorted(p.name for p in site.iterdir()) == [".nojekyll", "_sources", "index.html"]
    assert (site / "index.html").read_text() == "new"
    assert (site / "_sources/notebooks/one.ipynb").read_text() == "clean"
    assert sorted(p.name for p in tmp_path.glob("site*")) == ["site"]


def test_old_addresses_of_chapters_lead_to_the_new_ones(tmp_path, html):
    (tmp_path / "notebooks/01_one.ipynb").write_text("{}")
    (tmp_path / "site").mkdir()
    build.publish(html, tmp_path, tmp_path / "site")
    page = (tmp_path / "site/notebooks/01_one.html").read_text()
    assert page.count('"one.html"') == 3 and "location.hash" in page
    moved = {path.stem: json.loads(path.read_text()) for path in (ROOT / "notebooks").glob("[0-9]*.ipynb")}
    assert len(moved) == 14 and {n[3:] for n in moved} <= {p.stem for p in (ROOT / "notebooks").glob("[a-z]*.ipynb")}
    for name, notebook in moved.items():
        (cell,) = notebook["cells"]
        assert f"]({name[3:]}.ipynb)" in "".join(cell["source"]) and "/blob/main/notebooks/" in cell["source"][-1]


def test_jupyter_book_2_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(build.metadata, "version", lambda name: "2.1.7")
    with pytest.raises(BuildError, match=r"has jupyter-book 2\.1\.7; the book needs 1\.x"):
        build.build_site(tmp_path, tmp_path, None)


def test_without_npm_there_is_a_warning_and_no_library(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(node, "command", lambda tool: None)
    assert build.libraries(ROOT, tmp_path) == {}
    assert capsys.readouterr().out.startswith("Warning: npm is missing")


def test_lock_file_holds_no_addresses():
    lock = (ROOT / "book/package-lock.json").read_text()
    assert "://" not in lock and "resolved" not in lock and "integrity" in lock
    versions = json.loads((ROOT / "book/package.json").read_text())
    for version in [*versions["dependencies"].values(), *versions["devDependencies"].values()]:
        assert re.fullmatch(r"\d+\.\d+\.\d+", version), "exact versions only"


CONFIG = "author: The rtx_lib authors  # nobody yet\nrepository:\n  url: https://github.com/OWNER/REPOSITORY\n"
NOTEBOOK = '{"source": ["https://github.com/OWNER/REPOSITORY", "[a](../book/a.md#b) [c](c.ipynb) [d](../book/d.md)"]}'
CITATION = "title: A book\nauthors:\n  - name: The rtx_lib authors\nlicense: MIT\n"


@pytest.fixture
def repo(tmp_path, monkeypatch):
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "_config.yml").write_text(CONFIG)
    (tmp_path / "CITATION.cff").write_text(CITATION)
    (tmp_path / "README.md").write_text(
        "https://colab.research.google.com/github/OWNER/REPOSITORY/blob/main/x "
        "https://owner.github.io/REPOSITORY/ git+https://github.com/OWNER/REPOSITORY.git CO-OWNER/REPOSITORY"
    )
    (tmp_path / "notebooks/one.ipynb").write_text(NOTEBOOK)
    monkeypatch.setattr(repository, "ROOT", tmp_path)
    return tmp_path


def test_set_repo_writes_every_place_and_a_second_call_nothing(repo, capsys):
    assert repository.main("set", "https://github.com/Some-One/my.book.git") == 0
    assert capsys.readouterr().out.count("changed") == 3 and repository.current(repo) == ("Some-One", "my.book")
    assert (repo / "README.md").read_text() == (
        "https://colab.research.google.com/github/Some-One/my.book/blob/main/x "
        "https://some-one.github.io/my.book/ git+https://github.com/Some-One/my.book.git CO-OWNER/REPOSITORY"
    )
    text = (repo / "notebooks/one.ipynb").read_text()
    assert text.count("](https://github.com/Some-One/my.book/blob/main/book/") == 2 and "](c.ipynb)" in text
    assert claims.as_roles(text) == NOTEBOOK.replace("OWNER/REPOSITORY", "Some-One/my.book"), "a page links to pages"
    assert repository.main("set", "https://github.com/Some-One/my.book/") == 0 and not capsys.readouterr().out
    assert repository.main("set", "https://github.com/OWNER/REPOSITORY") == 0, "a later move is one more call"
    last = [*repository.with_address(repo, "https://github.com/a/b")][-1]
    assert last.name == "_config.yml", "a move that was interrupted can be made again"
    assert (repo / "_config.yml").read_text() == CONFIG and (repo / "notebooks/one.ipynb").read_text() == NOTEBOOK


@pytest.mark.parametrize("address", ["github.com/a/b", "https://github.com/a/b/c", ""])
def test_what_is_no_address_is_refused(repo, capsys, address):
    assert repository.main("set", address) == 1 and "; allowed " in capsys.readouterr().err
    assert (repo / "_config.yml").read_text() == CONFIG


def test_publishing_without_a_repository_or_an_author_fails(repo, capsys):
    assert repository.main("check") == 1
    said = capsys.readouterr().err
    assert "make set-repo" in said and "CITATION.cff" in said
    assert repository.main("set", "https://github.com/a/b") == 0 and repository.main("check") == 1
    assert "make set-repo" not in capsys.readouterr().err
    for name in ("_config.yml", "CITATION.cff"):
        (repo / name).write_text((repo / name).read_text().replace("The rtx_lib authors", "Ada Lovelace"))
    assert repository.main("check") == 0


@pytest.mark.parametrize(("slug", "buttons"), [("OWNER/REPOSITORY", False), ("some-one/book", True)])
def test_buttons_and_previews_need_a_repository(tmp_path, slug, buttons):
    options = {"repository_url": f"https://github.com/{slug}", "launch_buttons": {"colab_url": "x"}}
    options |= {"use_repository_button": True, "use_download_button": True}
    config = SimpleNamespace(html_theme_options=options, mathjax_path="cdn", html_baseurl="", ogp_image="site.png")
    book_site.configure(SimpleNamespace(confdir=tmp_path), config)
    assert ("launch_buttons" in options, "repository_url" in options) == (buttons, buttons)
    assert options["use_download_button"] and config.mathjax_path == "cdn"
    assert config.ogp_site_url == config.html_baseurl == ("https://some-one.github.io/book/" if buttons else "")
    assert bool(config.ogp_image) == buttons, "no picture without the address that a preview needs"


def test_help_lists_every_public_target():
    text = (ROOT / "Makefile").read_text()
    shown = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    targets = set(re.search(r"^\.PHONY: (.*)$", text, flags=re.M)[1].split()) - {"help", "setup", "setup-tests"}
    assert not [target for target in targets if f"make {target}" not in shown]


@pytest.mark.parametrize("script", [gpu, repository, serving], ids=lambda script: script.__name__)
def test_what_runs_before_anything_is_installed_imports_the_standard_library_only(script):
    names = re.findall(r"^(?:import|from) (\w+)", Path(script.__file__).read_text(), flags=re.M)
    assert names and set(names) <= sys.stdlib_module_names


def finding(value, held, id="one-end"):
    known = {"chapter": "one", "sentence": "It learns.", "bound": "< 1", "judged": True}
    return {"id": id, "value": value, "held": held, **known}


@pytest.fixture
def command(tree, monkeypatch, capsys):
    """`python -m rtx_book.build` for a small book whose chapter has these findings; status, output and errors."""

    def run(*arguments, findings=(), run_notebooks=lambda *rest: None):
        tree.write("_build/executed/one.ipynb", "")
        monkeypatch.setattr(line, "findings_of", lambda executed: findings)
        monkeypatch.setattr(line, "ROOT", tree.root)
        if run_notebooks:
            monkeypatch.setattr(line, "run_notebooks", run_notebooks)
        monkeypatch.setattr(sys, "argv", ["build", *arguments, "--build", str(tree.root / "_build")])
        return line.main(), *capsys.readouterr()

    return run


def test_an_unknown_notebook_is_refused_before_anything_runs(command):
    message = "There is no notebook 'two'; the notebooks are: one."
    assert command("book", "--only", "one", "--only", "two", run_notebooks=None) == (1, "", f"\n{message}\n")


def test_a_failing_notebook_stops_the_build_before_the_site(command, monkeypatch):
    monkeypatch.setattr(line, "build_site", None)

    def fail(*rest):
        raise BuildError("one.ipynb, cell 3: AssertionError")

    assert command("book", run_notebooks=fail) == (1, "", "\none.ipynb, cell 3: AssertionError\n")


def test_a_finding_that_fell_otherwise_is_named_in_the_last_lines_and_stops_nothing(command):
    findings = [finding(0.5, True), finding(1.5, False, "one-late"), finding(None, False, "one-nan")]
    status, said, _ = command("execute", findings=findings)
    assert status == 0
    assert said.splitlines()[-3:] == [
        "2 findings fell otherwise on this machine; the pages say so:",
        "  one, one-late: 1.5 is not < 1",
        "  one, one-nan: not a finite number",
    ]


def test_a_strict_build_fails_instead(command, monkeypatch):
    assert command("execute", "--strict", findings=[finding(0.5, True), finding(1.5, None)]) == (0, "", "")
    status, _, said = command("execute", "--strict", findings=[finding(1.5, False)])
    assert status == 1 and "one, one-end: 1.5 is not < 1" in said
    monkeypatch.setenv("STRICT", "1")
    assert command("execute", findings=[finding(1.5, False)])[0] == 1


def test_rates_and_audits_on_a_page_are_of_todays_study(monkeypatch):
    found = {key: value for key, value in finding(0.5, True).items() if key != "held"}
    run = {"part": "first", "seed": 1, "values": {"one-end": 0.5}}
    monkeypatch.setattr(build.findings, "load_study", lambda: {"chapters": {"one": {"runs": [run]}}})
    monkeypatch.setattr(build, "audit_bundle", lambda chapter, up: {findings.AUDIT: chapter, "text/html": up})
    outputs = [
        {"output_type": "display_data", "metadata": {}, "data": data}
        for data in ({findings.MIME: found, "text/html": "old"}, {findings.AUDIT: "one", "text/html": "old"})
    ]
    page = build.clean_notebook({"metadata": {}, "cells": [code_cell("x", outputs=[*outputs, TEXT])]})
    first, second, text = page["cells"][0]["outputs"]
    assert "held in 1 of 1 run" in first["data"]["text/html"] and findings.MIME not in first["data"]
    assert 'href="../book/findings.html#one-end"' in first["data"]["text/html"]
    assert second["data"] == {"text/html": "../book/results.html"} and text == TEXT
