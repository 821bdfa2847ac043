"""One page of a book with an extension of ours in it, built as strictly as the site."""

import subprocess
import sys
from pathlib import Path

from support.helpers import ROOT


def build_page(root: Path, page: str, extension: str, text: str) -> tuple[str, str]:
    """Build `text` as ``book/PAGE.md`` under `root`, warnings as errors.

    Returns what was said on standard error, nothing where all is well, and the page as HTML.
    """
    (root / "conf.py").write_text(
        f"import sys\nsys.path[:0] = [{str(ROOT / 'book')!r}, {str(ROOT)!r}]\n"
        f"extensions = ['myst_parser', 'rtx_book.sphinx.{extension}']\nhtml_theme = 'basic'\n"
        "myst_enable_extensions = ['attrs_block', 'colon_fence', 'dollarmath']\n"
        f"exclude_patterns = ['out', 'notebooks']\nhtml_static_path = [{str(ROOT / 'book' / 'assets')!r}]\n"
    )
    (root / "book").mkdir(exist_ok=True)
    (root / "index.md").write_text(f"# Start\n\n```{{toctree}}\nbook/{page}\n```\n")
    (root / "book" / f"{page}.md").write_text(f"# A page\n\n## All\n\n{text}\n")
    command = [sys.executable, "-m", "sphinx", "-W", "-n", "--keep-going", "-q", str(root), str(root / "out")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert bool(done.returncode) == bool(done.stderr), done
    html = root / "out" / "book" / f"{page}.html"
    return done.stderr, html.read_text() if html.exists() else ""
