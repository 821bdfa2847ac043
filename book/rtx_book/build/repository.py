"""Whose book it is and where it lives: `python book/rtx_book/build/repository.py set URL`, `author NAMES` or `check`.

Standard library only. `set` replaces the address that `_config.yml` holds wherever it stands, so that a later move of
the repository is one more call. `author` writes the names into `_config.yml` (the pages) and `CITATION.cff` (the
citation); they are written as in BibTeX, "Ada Lovelace and Byron, George and {The group}".
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FILES = ("_config.yml", "CITATION.cff", "README.md", "CHANGELOG.md", "pyproject.toml", "book/*.md", "notebooks/*.ipynb")
UNNAMED = "The rtx_lib authors"
ADDRESS = r"https://github\.com/([\w-]+)/([\w.-]+?)(?:\.git)?/?"


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
    texts = {}
    for path in sorted(path for pattern in FILES for path in root.glob(pattern)):
        text = path.read_text(encoding="utf-8")
        text = re.sub(rf"(?<![\w.-]){owner}/{name}(?![\w-]|\.(?!git\b)\w)", f"{match[1]}/{match[2]}", text)
        site = f"{match[1].lower()}.github.io/{match[2]}"
        texts[path] = re.sub(rf"(?i:(?<![\w.-]){owner}\.github\.io)/{name}(?![\w-])", site, text)
    return texts


def person(name: str) -> dict[str, str]:
    """A name as CITATION.cff has it: one in braces is a group, else small letters begin the family name."""
    if group := re.fullmatch(r"\{([^{}]+)\}", name):
        return {"name": group[1]}
    if not re.fullmatch(r"[^\W\d_][^{}<>@\"\\,]*(, [^{}<>@\"\\,]+)?", name):
        raise ValueError(f'NAME has {name!r}; allowed are names as in BibTeX: NAME="Ada Lovelace and {{The group}}"')
    ordered = name if "," in name else re.sub(r"^(.+?) ((?:[a-z]\S* )*\S+)$", r"\2, \1", name)
    family, _, given = ordered.partition(", ")
    return {"family-names": family} | ({"given-names": given} if given else {})


def with_author(root: Path, names: str) -> dict[Path, str]:
    """Settings and citation with these names; `ValueError` for a bad list."""
    people = [person(name) for name in re.split(r"(?:^| )and(?: |$)", " ".join(names.split()))]
    shown = ", ".join(" ".join([*one.values()][::-1]) for one in people)
    rows = ["\n    ".join(f"{key}: {json.dumps(one[key], ensure_ascii=False)}" for key in one) for one in people]
    texts = {}
    for file, place, new in (
        ("_config.yml", r"^author: .*\n", f"author: {json.dumps(shown, ensure_ascii=False)}\n"),
        ("CITATION.cff", r"^authors:\n(?:[ -].*\n)+", "authors:\n" + "".join(f"  - {row}\n" for row in rows)),
    ):
        before = (root / file).read_text(encoding="utf-8")
        text, count = re.subn(place, new.replace("\\", r"\\"), before, flags=re.M)
        if count != 1:
            raise ValueError(f"{file} has {count} places for the author, must have one.")
        texts[root / file] = text
    return texts


def check(root: Path) -> None:
    """`ValueError` with a line for each thing that a publisher has to fill in first."""
    lines = []
    if current(root) == ("OWNER", "REPOSITORY"):
        lines.append("The book does not know its repository yet: make set-repo URL=https://github.com/...")
    if any(UNNAMED in (root / name).read_text(encoding="utf-8") for name in ("_config.yml", "CITATION.cff")):
        lines.append('The book does not know its author yet: make set-author NAME="Ada Lovelace and {A group}"')
    if lines:
        raise ValueError("\n".join(lines))


def main(command: str = "", argument: str = "") -> int:
    try:
        if command == "check":
            check(ROOT)
            return 0
        for path, text in (with_author if command == "author" else with_address)(ROOT, argument).items():
            if text != path.read_text(encoding="utf-8"):
                path.write_text(text, encoding="utf-8")
                print(f"changed {path.relative_to(ROOT)}")
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
