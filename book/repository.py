"""The address of the repository, in every file that shows it: `python book/repository.py set URL` or `check`.

Standard library only. The address in `_config.yml` is the one in force; `set` replaces it wherever it stands,
so that a second call changes nothing and a later move of the repository is one more call.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACEHOLDER = ("OWNER", "REPOSITORY")
FILES = ("_config.yml", "CITATION.cff", "README.md", "CHANGELOG.md", "pyproject.toml", "book/*.md", "notebooks/*.ipynb")
ADDRESS = re.compile(r"https://github\.com/([\w-]+)/([\w.-]+?)(?:\.git)?/?")


def current(root: Path) -> tuple[str, str]:
    """Owner and name that `_config.yml` holds; `ValueError` when it holds none."""
    found = re.search(r"^\s+url:\s*(\S+)\s*$", (root / "_config.yml").read_text(encoding="utf-8"), flags=re.M)
    match = ADDRESS.fullmatch(found[1]) if found else None
    if not match:
        raise ValueError("_config.yml holds no repository url of the form https://github.com/OWNER/NAME.")
    return match[1], match[2]


def set_repository(root: Path, url: str) -> list[Path]:
    """Write `url` where the address in force stands; the files changed. `ValueError` for a bad address."""
    match = ADDRESS.fullmatch(url.strip())
    if not match:
        raise ValueError(f"URL is {url!r}; allowed is https://github.com/OWNER/NAME: make set-repo URL=...")
    (owner, name), (new_owner, new_name) = current(root), match.groups()
    pairs = [  # every form in which an address names a repository: owner/name, and the site's own
        (rf"(?<![\w.-]){re.escape(owner)}/{re.escape(name)}(?![\w-]|\.(?!git\b)\w)", f"{new_owner}/{new_name}"),
        (
            rf"(?i:(?<![\w.-]){re.escape(owner)}\.github\.io)/{re.escape(name)}(?![\w-])",
            f"{new_owner.lower()}.github.io/{new_name}",
        ),
    ]
    changed = []
    for path in sorted({p for pattern in FILES for p in root.glob(pattern)}):
        before = after = path.read_text(encoding="utf-8")
        for pattern, replacement in pairs:
            after = re.sub(pattern, lambda _, r=replacement: r, after)
        if after != before:
            path.write_text(after, encoding="utf-8")
            changed.append(path)
    return changed


def main(arguments: list[str]) -> int:
    try:
        if arguments[:1] == ["set"] and len(arguments) == 2:
            for path in set_repository(ROOT, arguments[1]):
                print(f"changed {path.relative_to(ROOT)}")
        elif arguments != ["check"]:
            raise ValueError("usage: repository.py set URL | check")
        elif current(ROOT) == PLACEHOLDER:
            raise ValueError("The book does not know its repository yet: make set-repo URL=https://github.com/...")
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
