"""ESLint over the scripts of the pages: `python book/rtx_book/build/scripts.py [FILE ...]`.

npm installs it with the browser libraries. Where there is no npm that is said, and only `RTX_REQUIRE_ALL=1` makes it a
failure: who writes no script needs none.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from rtx_book.build import node
from rtx_book.build import website as build

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = ("book/rtx_book", "book/assets/*.js")
TOOL = "node_modules/eslint/bin/eslint.js"


def lint(files: Sequence[str] = (), folder: Path = ROOT / "_build" / "test") -> tuple[int, str]:
    """Status and findings of ESLint; `folder` is where npm puts it."""
    tool = folder / "npm" / TOOL
    build.libraries(ROOT, folder)
    program = node.command("node")
    if program is None or not tool.is_file():
        required = os.environ.get("RTX_REQUIRE_ALL") == "1"
        return int(required), "The scripts of the pages are not linted: npm gave no eslint."
    command = [*program, str(tool), "-c", str(ROOT / "book" / "eslint.config.mjs"), *(files or FOLDERS)]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return answer.returncode, (answer.stdout + answer.stderr).strip()


if __name__ == "__main__":
    status, said = lint(sys.argv[1:])
    if said:
        print(said)
    sys.exit(status)
