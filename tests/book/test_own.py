"""The three cases of *Your own sequence* run as they stand, on files that lie in the repository."""

import re
import shutil
import subprocess
import sys

import pytest
from support.helpers import ROOT

OWN = ROOT / "book" / "own"
CASES = ("text", "table", "stream")


@pytest.mark.parametrize("case", CASES)
def test_a_case_runs_and_prints_what_its_page_shows(tmp_path, case):
    shutil.copytree(OWN, tmp_path, dirs_exist_ok=True)
    code, changed = re.subn(r"steps=\d+", "steps=2", (OWN / f"{case}.py").read_text(encoding="utf-8"))
    assert changed == 1 and len([line for line in code.splitlines() if line]) <= 10
    (tmp_path / "case.py").write_text(re.sub(r"eval_every=\d+", "eval_every=2", code), encoding="utf-8")
    done = subprocess.run([sys.executable, "case.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    kept = (OWN / f"{case}.out").read_text(encoding="utf-8")  # the same names; their values are training's
    assert re.findall(r"'([\w ]+)':", done.stdout) == re.findall(r"'([\w ]+)':", kept)


def test_the_page_shows_the_files():
    page = (ROOT / "book" / "own.md").read_text(encoding="utf-8")
    files = [OWN / f"{case}.{end}" for case in CASES for end in ("py", "out")]
    assert all(f"\n{path.read_text(encoding='utf-8').rstrip()}\n```" in page for path in files)
