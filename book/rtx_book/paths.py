"""Where the book's data lie: in ``book/`` of a checkout, in this package of an installed one."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parent


def book_file(name: str) -> Path:
    """A file of the book, or a folder: ``book/NAME`` of a checkout, else ``rtx_book/NAME``."""
    checkout = PACKAGE.parent / name
    return checkout if checkout.exists() else PACKAGE / name


def texts(name: str) -> Any:
    """What a YAML file of this package says: texts that its modules draw or compare."""
    import yaml  # speed is measured where there may be none

    return yaml.safe_load((PACKAGE / name).read_text(encoding="utf-8"))


def solution_text(chapter: str, which: int | str) -> str:
    """What stands under the heading of an exercise among its chapter's solutions, by its number or name."""
    text = (PACKAGE / "checks" / "solutions" / f"{chapter}.md").read_text(encoding="utf-8")
    _, *parts = re.split(r"^## (.+)\n", text, flags=re.M)
    there = dict(zip(parts[::2], parts[1::2], strict=True))
    for name in there:
        if str(which) in (name, *name.removeprefix("Exercise ").split(": ", 1)):
            return there[name]
    raise ValueError(f"which must be the number or the name of one of {', '.join(there)}; got {which!r}")


def results_folder() -> Path:
    """Where records live."""
    return book_file("results")


def runs_folder() -> Path:
    """Where a run writes its own file."""
    return results_folder() / "runs"


def chapters_of(root: Path) -> list[str]:
    """The chapters by name in the order of ``_toc.yml`` under ``root``."""
    toc = root / "_toc.yml"
    return re.findall(r"file: notebooks/(\w+)", toc.read_text(encoding="utf-8") if toc.is_file() else "")


def cells_of(root: Path, chapter: str) -> list[tuple[str, str]]:
    """The kind and the text of each cell of a chapter's notebook under ``root``."""
    notebook = json.loads((root / "notebooks" / f"{chapter}.ipynb").read_text(encoding="utf-8"))
    return [(cell["cell_type"], "".join(cell["source"])) for cell in notebook["cells"]]


def in_order(chapters: Iterable[str], root: Path) -> list[str]:
    """Names of chapters in the order of the book; what is not in it last, by name."""
    places = {name: place for place, name in enumerate(chapters_of(root))}
    return sorted(chapters, key=lambda name: (places.get(name, len(places)), name))
