"""The course: its tables go with the chapters, and of each assignment the stub fails every test and the sample none."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from support.built import NOTEBOOKS
from support.helpers import PACKAGES, ROOT

from rtx_book.build.execute import read_notebook, source
from rtx_book.sphinx import generated, prerequisites

FOLDER = ROOT / "book" / "mine" / "course"
PAGE = (ROOT / "book" / "course.md").read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in row.split("|")[1:-1]] for row in PAGE.splitlines() if row.startswith("| ")]
NAMES = [path.stem for path in sorted((ROOT / "tests" / "solutions").iterdir())]


def chapters(text):
    return re.findall(r"(?:\{doc\}`/notebooks/|\]\()(\w+)(?:`|\.ipynb)", text)


def test_a_week_names_sections_and_exercises_that_are_there():
    weeks = [row for row in ROWS if len(row) == 6 and chapters(row[1])]
    for _, read, without, _, exercises, _ in weeks:
        text = {name: "\n".join(map(source, read_notebook(NOTEBOOKS[name])["cells"])) for name in chapters(read)}
        headings = re.findall(r"^#+ (.+)$", "\n".join(text.values()), flags=re.M)
        assert not set(re.findall(r"\*(.+?)\*", without)) - set(headings)
        letters = dict(zip(re.findall(r"\((\w)\)", read), text.values(), strict=True))
        for letter, numbers in re.findall(r"(\w) ([\d, ]+)", exercises):
            assert all(f"### Exercise {number}:" in letters[letter] for number in numbers.split(", "))
    assert len(weeks) == 7 and {chapter for row in ROWS for chapter in chapters(row[0])} == set(NOTEBOOKS)


def test_what_builds_on_what_is_drawn_from_what_the_chapters_say():
    rows, lines = prerequisites.arranged({"a": set(), "b": {"a"}, "c": {"a"}, "d": {"c"}, "e": {"b"}, "f": {"a", "e"}})
    assert rows == [["a"], ["b", "c", "a f 1"], ["e", "d", "a f 2"], ["f"]] and ["a", "a f 1", "a f 2", "f"] in lines
    text, pairs, every = generated.rendered("prerequisites", ROOT), prerequisites.context(ROOT)["lines"], {}
    table = dict(re.findall(r"^\| \{doc\}`/notebooks/(\w+)` \| (.+) \|$", text, flags=re.M))
    for name, path in NOTEBOOKS.items():
        first = re.search(r"^Prerequisites: .+$", "\n".join(map(source, read_notebook(path)["cells"])), flags=re.M)
        own = chapters(first[0])
        assert own == re.findall(r"\]\(\.\./notebooks/(\w+)\.ipynb", table[name])
        every[name] = {*own}.union(*(every[one] for one in own))
        near = {one for one in own if not any(one in every[by] for by in own)}
        assert near == {line[0] for line in pairs if line[-1] == name}, "not on what another of these builds on, too"
    drawn = [re.findall(r"[,V]([\d.]+)", line) for line in re.search(r'<path d="M(.+?)"', text)[1].split("M")]
    assert len(drawn) == len(pairs) and all(line == sorted(line, key=float) for line in drawn), "from top to bottom"
    told = f"{sum('attention' in own for own in every.values())} of the {len(every)} chapters build on attention"
    assert f">{told}, and {len(every['race'])} lead to" in text and 'Builds on Gates"><span>Language models' in text
    looks = {name: look for look, name in re.findall(r'<a class="(.*?)" href="../notebooks/(\w+)\.html"', text)}
    path = chapters(re.search(r"\*Language models\*: (.+?)\.", PAGE)[1])
    assert {name for name in looks if "-1" in looks[name]} == {*path}


def test_what_goes_wrong_is_what_the_checks_say_and_the_sheet_has_symbols_of_the_notation():
    said = generated.rendered("misconceptions", ROOT)
    assert said.count("<summary>") > 60 and "f times c\\_\\{t-1\\} is kept" in said and "must return" not in said
    sheet, full = ((ROOT / "book" / f"{name}.md").read_text("utf-8") for name in ("notation_sheet", "notation"))
    symbols = re.findall(r"\$([^$]+?)(?: = [^$]*)?\$", "\n".join(re.findall(r"^\| (\$.*?) \|", sheet, flags=re.M)))
    assert len(symbols) > 60 and not [symbol for symbol in symbols if symbol not in full]


@pytest.mark.slow
@pytest.mark.parametrize("edition", ["stub", "solution"])
def test_assignments_in_both_editions(edition, tmp_path):
    shutil.copytree(FOLDER, tmp_path, dirs_exist_ok=True)
    for name in NAMES if edition == "solution" else ():
        text = (ROOT / "tests" / "solutions" / f"{name}.md").read_text(encoding="utf-8")
        (tmp_path / f"{name}.py").write_text(re.search(r"^```python\n(.*?)^```$", text, re.M | re.S)[1], "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(f"test_{name}.py" for name in NAMES)]
    known = os.environ | {"RTX_GRADING": "7", "PYTHONPATH": PACKAGES}
    ran = subprocess.run(command, cwd=tmp_path, env=known, capture_output=True, text=True)
    told = dict(re.findall(r"(?:^|, )(\d+) (passed|failed|error)s?", ran.stdout.splitlines()[-1]))
    assert set(told.values()) == ({"passed"} if edition == "solution" else {"failed", "error"}), ran.stdout
