"""The scripts of the pages: files of their own, short, linted."""

import ast
import re

import pytest
from support import needs
from support.helpers import ROOT

from rtx_book.build import scripts

LONGEST = 220
PRESS = ROOT / "book" / "rtx_book"
FILES = [*PRESS.rglob("*.js"), *(ROOT / "book" / "assets").glob("*.js")]
JAVASCRIPT = re.compile(r"=>|\bfunction\b *\w*\(|\bconst \w+ =|\bdocument\.|\.addEventListener\(|\bquerySelector")


def scripts_in_strings(text: str) -> list[int]:
    """Lines of Python where a text of more than one line holds JavaScript; a statement by itself is documentation."""
    parents = [node for node in ast.walk(ast.parse(text)) if not isinstance(node, ast.Expr)]
    texts = [node for parent in parents for node in ast.iter_child_nodes(parent) if isinstance(node, ast.Constant)]
    texts = [node for node in texts if isinstance(node.value, str)]
    return [node.lineno for node in texts if "\n" in node.value.strip() and JAVASCRIPT.search(node.value)]


def test_no_script_is_long():
    assert len(FILES) > 10
    long = {path.name: lines for path in FILES if (lines := path.read_text().count("\n")) > LONGEST}
    assert not long


def test_scripts_are_no_python_strings():
    found = {str(path.relative_to(ROOT)): scripts_in_strings(path.read_text()) for path in PRESS.rglob("*.py")}
    assert found and not {name: lines for name, lines in found.items() if lines}


def test_a_script_in_a_string_would_be_found():
    assert scripts_in_strings('"""Docs: x => y\n"""\nA = "x => y"\nB = """\nconst a = 1\na()\n"""\n') == [4]


@pytest.mark.weekly  # in every push it goes over all scripts
def test_the_linter_finds_a_planted_fault(tmp_path):
    folder = ROOT / "_build" / "test"
    if not (folder / "npm" / scripts.TOOL).is_file() and not scripts.build.libraries(ROOT, folder):
        needs.lack("Node")
    planted = ROOT / "_build" / "test" / f"{tmp_path.name}.js"
    planted.write_text("RTX.part('a', (RTX) => { RTX.c = unknown })")
    try:
        status, said = scripts.lint([str(planted)])
    finally:
        planted.unlink()
    assert status == 1 and "no-undef" in said


@pytest.mark.parametrize("node", [None, ["node"]])
def test_without_npm_it_is_said_and_fails_only_where_all_is_required(tmp_path, monkeypatch, node):
    monkeypatch.setattr(scripts.node, "command", {"node": node, "npm": None}.get)
    monkeypatch.delenv("RTX_REQUIRE_ALL", raising=False)
    assert scripts.lint((), tmp_path) == (0, "The scripts of the pages are not linted: npm gave no eslint.")
    monkeypatch.setenv("RTX_REQUIRE_ALL", "1")
    assert scripts.lint((), tmp_path)[0] == 1
