"""Whose book it is and where it lives: `python book/rtx_book/build/repository.py set URL`, `author NAMES` or `check`.

Standard library only. The address in `_config.yml` is the one in force; `set` replaces it wherever it stands,
so that a second call changes nothing and a later move of the repository is one more call. `author` writes the names
into `_config.yml` (the pages) and `CITATION.cff` (the citation); they are written as in BibTeX, "Ada Lovelace and
Byron, George and {The group}".
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PLACEHOLDER = ("OWNER", "REPOSITORY")
FILES = ("_config.yml", "CITATION.cff", "README.md", "CHANGELOG.md", "pyproject.toml", "book/*.md", "notebooks/*.ipynb")
UNNAMED = "The rtx_lib authors"
NAMES_IN_CONFIG = re.compile(r"^author: .*$", flags=re.M)
NAMES_IN_CITATION = re.compile(r"^authors:\n(?:(?: .*| *-.*)?\n)+?(?=\S|\Z)", flags=re.M)
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
            after = re.sub(pattern, replacement.replace("\\", r"\\"), after)
        if after != before:
            path.write_text(after, encoding="utf-8")
            changed.append(path)
    return changed


def people(text: str) -> list[dict[str, str]]:
    """The names of a BibTeX list, as CITATION.cff writes them; `ValueError` for a list without a name.

    A name in braces is a group. Else the family name stands before a comma, or last, with what is in small letters
    before it: "Ludwig van Beethoven" is "van Beethoven, Ludwig".
    """
    names = [" ".join(name.split()) for name in re.split(r"(?:^|\s+)and(?:\s+|$)", text.strip())]
    found = []
    for name in names:
        group = re.fullmatch(r"\{([^{}]+)\}", name)
        if not (group or re.fullmatch(r"[^\W\d_][^{}<>@\"\\,]*(,[^{}<>@\"\\,]+)?", name)):
            allowed = 'allowed is a list as in BibTeX: make set-author NAME="Ada Lovelace and {The group}"'
            raise ValueError(f"NAME is {text!r}; {allowed}")
        if group:
            found.append({"name": group[1].strip()})
            continue
        family, comma, given = name.partition(",")
        if not comma:
            parts = name.split(" ")
            start = next((i for i, part in enumerate(parts[1:-1], 1) if part[0].islower()), len(parts) - 1)
            given, family = " ".join(parts[:start]), " ".join(parts[start:])
        person = {"family-names": family.strip(), "given-names": given.strip()}
        found.append({key: value for key, value in person.items() if value})
    return found


def set_author(root: Path, text: str) -> list[Path]:
    """Write the names into the settings and the citation; the files changed. `ValueError` for a bad list."""
    own = people(text)
    shown = ", ".join(one.get("name") or f"{one.get('given-names', '')} {one['family-names']}".strip() for one in own)
    rows = ["authors:"]
    for one in own:
        quoted = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in one.items()]
        rows += [f"  - {quoted[0]}", *(f"    {row}" for row in quoted[1:])]
    changed = []
    for name, pattern, new in (
        ("_config.yml", NAMES_IN_CONFIG, f"author: {json.dumps(shown, ensure_ascii=False)}"),
        ("CITATION.cff", NAMES_IN_CITATION, "\n".join(rows) + "\n"),
    ):
        before = (root / name).read_text(encoding="utf-8")
        after, places = pattern.subn(new.replace("\\", r"\\"), before)
        if places != 1:
            raise ValueError(f"{name} has {places} places for the author, must have one.")
        if after != before:
            (root / name).write_text(after, encoding="utf-8")
            changed.append(root / name)
    return changed


def missing(root: Path) -> list[str]:
    """A line for each thing that a publisher has to fill in first."""
    lines = []
    if current(root) == PLACEHOLDER:
        lines.append("The book does not know its repository yet: make set-repo URL=https://github.com/...")
    if any(UNNAMED in (root / name).read_text(encoding="utf-8") for name in ("_config.yml", "CITATION.cff")):
        lines.append('The book does not know its author yet: make set-author NAME="Ada Lovelace and {A group}"')
    return lines


def main(arguments: list[str]) -> int:
    try:
        steps = {"set": set_repository, "author": set_author}
        if len(arguments) == 2 and arguments[0] in steps:
            for path in steps[arguments[0]](ROOT, arguments[1]):
                print(f"changed {path.relative_to(ROOT)}")
        elif arguments != ["check"]:
            raise ValueError("usage: repository.py set URL | author NAMES | check")
        elif lines := missing(ROOT):
            raise ValueError("\n".join(lines))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
