"""Where the book lives: `python book/rtx_book/build/repository.py set URL`, or `check` before it is published.

Standard library only. `set` replaces the address that `_config.yml` holds wherever it stands, so that a later move of
the repository is one more call. In the notebooks links to files of `book/`, which a clone finds beside them and Colab
does not, become absolute; with OWNER/REPOSITORY, which is no address, they are relative again. The pages of the site
have relative ones in any case (:func:`rtx_book.claims.claims.as_roles`).
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FILES = ("_config.yml", "CITATION.cff", "README.md", "CHANGELOG.md", "pyproject.toml", "book/*.md", "notebooks/*.ipynb")
UNNAMED = "The rtx_lib authors"
ADDRESS = r"https://github\.com/([\w-]+)/([\w.-]+?)(?:\.git)?/?"
UNKNOWN = ("OWNER", "REPOSITORY")
LINK = re.compile(r"(?<=\]\()(?:\.\.|https://github\.com/[\w-]+/[\w.-]+/blob/main)/book/")


def current(root: Path) -> tuple[str, str]:
    """Owner and name of the repository that `_config.yml` holds."""
    found = re.search(rf"^\s+url:\s*{ADDRESS}\s*$", (root / "_config.yml").read_text(encoding="utf-8"), flags=re.M)
    if not found:
        raise ValueError("_config.yml holds no repository url of the form https://github.com/OWNER/NAME.")
    return found[1], found[2]


def with_address(root: Path, url: str) -> dict[Path, str]:
    """All files with `url` in place of the address in force; `ValueError` for a bad address."""
    match = re.fullmatch(ADDRESS, url.strip())
    if not match:
        raise ValueError(f"URL is {url!r}; allowed is https://github.com/OWNER/NAME: make set-repo URL=...")
    owner, name = map(re.escape, current(root))
    home = ".." if match.groups() == UNKNOWN else f"https://github.com/{match[1]}/{match[2]}/blob/main"
    texts = {}
    paths = {path for pattern in FILES for path in root.glob(pattern)}
    # What names the address in force comes last, so that an interrupted change can be made again.
    for path in sorted(paths, key=lambda path: (path.name == "_config.yml", path)):
        text = path.read_text(encoding="utf-8")
        text = re.sub(rf"(?<![\w.-]){owner}/{name}(?![\w-]|\.(?!git\b)\w)", f"{match[1]}/{match[2]}", text)
        site = f"{match[1].lower()}.github.io/{match[2]}"
        text = re.sub(rf"(?i:(?<![\w.-]){owner}\.github\.io)/{name}(?![\w-])", site, text)
        texts[path] = LINK.sub(f"{home}/book/", text) if path.suffix == ".ipynb" else text
    return texts


def check(root: Path) -> None:
    """`ValueError` with a line for each thing that a publisher has to fill in first."""
    lines = []
    if current(root) == UNKNOWN:
        lines.append("The book does not know its repository yet: make set-repo URL=https://github.com/...")
    if any(UNNAMED in (root / name).read_text(encoding="utf-8") for name in ("_config.yml", "CITATION.cff")):
        lines.append("The book does not know its author yet: put the names into _config.yml and CITATION.cff")
    if lines:
        raise ValueError("\n".join(lines))


def main(command: str = "", argument: str = "") -> int:
    try:
        if command == "check":
            check(ROOT)
            return 0
        for path, text in with_address(ROOT, argument).items():
            if text != path.read_text(encoding="utf-8"):
                path.write_text(text, encoding="utf-8")
                print(f"changed {path.relative_to(ROOT)}")
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
