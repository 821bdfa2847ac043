"""Imports go down only: which part of the two packages may import which, the floors of the house."""

import ast
import graphlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.helpers import PACKAGES, ROOT

# A room, and the rooms of its package that it may import besides itself.
LIBRARY: dict[str, set[str]] = {
    "shapes": set(),
    "kernels": {"shapes"},
    "layers": {"shapes", "kernels"},
    "models": {"shapes", "layers", "kernels"},
    "tasks": {"shapes"},
    "diagnostics": {"shapes"},
    "training": {"shapes", "layers", "diagnostics"},
    "saving": {"layers", "models", "tasks", "training"},  # makes again what was saved
    "plots": set(),
}
PRESS: dict[str, set[str]] = {
    "paths": set(),
    "words": set(),
    "records": {"paths", "words"},
    "claims": {"paths", "records", "words"},
    "race": {"records", "words"},
    "runs": {"paths", "records", "race"},
    "bench": {"paths", "records", "runs"},
    "checks": {"claims", "page", "paths"},  # show a solution and the field for an answer
    "page": {"words"},
    "pictures": {"page", "paths", "words"},
    "build": {"paths", "records", "claims", "runs", "page"},
    "sphinx": {"paths", "records", "claims", "race", "runs", "checks", "page", "pictures", "words"},
    "__main__": {"paths", "records", "runs", "bench"},
}
# Rooms of the press that must not load torch, and what of the library the others may import.
WITHOUT_LIBRARY = {"paths", "words", "records", "claims", "race"}
ONLY_PLOTS = {"page", "pictures", "sphinx"}
# Packages that belong to some rooms only.
ONLY: dict[str, set[str]] = {
    "matplotlib": {"plots", "page", "pictures"},
    "IPython": {"page", "pictures", "claims", "checks"},
    "ipywidgets": {"page"},
    "bertviz": {"page"},
    "accelerate": {"training"},
    "safetensors": {"saving"},
    "statsmodels": {"models", "runs"},
    "sphinx": {"sphinx"},
}


def imports(tree: ast.AST, package: str) -> list[tuple[int, str]]:
    """(line, dotted name) of everything that a module of `package` imports, wherever in the file."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: package.count(".") + 2 - node.level] if node.level else []
            module = ".".join([*above, *filter(None, [node.module])])
            found += [(node.lineno, f"{module}.{alias.name}") for alias in node.names]
    return found


def refused(room: str, own: str, name: str) -> str:
    """Why a room of the package `own` may not import this; nothing where it may."""
    package, *rest = name.split(".")
    first, floors = rest[0] if rest else "", LIBRARY if own == "rtx_lib" else PRESS
    if package == own and first in floors and first not in floors[room] | {room}:
        return f"{room} may not import {first}"
    if package == "rtx_book" and own == "rtx_lib":
        return "the library imports nothing of the press"
    above = room in WITHOUT_LIBRARY or (room in ONLY_PLOTS and first != "plots")
    if package == "rtx_lib" and own == "rtx_book" and above:
        return f"{room} may not import {name}"
    if package in {"tests", "notebooks", "official", "helpers"}:
        return f"nothing imports {package}"
    if package in ONLY and room not in ONLY[package]:
        return f"only {', '.join(sorted(ONLY[package]))} may import {package}"
    return ""


def modules(package: Path) -> list[tuple[Path, str, ast.Module]]:
    """The files of a package with their dotted names and syntax trees."""
    found = []
    for path in sorted(package.rglob("*.py")):
        parts = [package.name, *path.relative_to(package).with_suffix("").parts]
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found.append((path, name, ast.parse(path.read_text(encoding="utf-8"))))
    return found


def violations(package: Path) -> list[str]:
    """One line for each import that goes up or sideways: file, line, and what it may not import."""
    found = []
    for path, _, tree in modules(package):
        if path == package / "__init__.py":
            continue
        room = path.relative_to(package).parts[0].removesuffix(".py")
        if room not in (LIBRARY if package.name == "rtx_lib" else PRESS):
            found.append(f"{path.relative_to(package)}:1: no floor is known for {room}")
            continue
        inside = ".".join((package.name, *path.relative_to(package).parts[:-1]))
        for line, name in imports(tree, inside):
            if why := refused(room, package.name, name):
                found.append(f"{path.relative_to(package)}:{line}: {why}")
    return found


def circles(packages: list[Path]) -> list[str]:
    """Modules that import each other at module level, in pairs or around; the front doors of rooms hand on only."""
    known = {name: (path, tree) for package in packages for path, name, tree in modules(package)}
    edges: dict[str, set[str]] = {}
    for name, (path, tree) in known.items():
        inside = name if path.name == "__init__.py" else name.rpartition(".")[0]
        top = ast.Module([node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)], [])
        wanted = {imported for _, imported in imports(top, inside)}
        edges[name] = {next((n for n in (w, w.rpartition(".")[0]) if n in known), name) for w in wanted} - {name}
    try:
        graphlib.TopologicalSorter(edges).prepare()
    except graphlib.CycleError as error:
        return [" -> ".join(error.args[1])]
    return []


OURS = [ROOT / "rtx_lib", ROOT / "book" / "rtx_book"]


@pytest.mark.parametrize("package", OURS, ids=lambda package: package.name)
def test_a_package_keeps_its_floors(package):
    assert violations(package) == []


def test_no_modules_import_each_other():
    assert circles(OURS) == []


@pytest.mark.parametrize(
    "file, line, complaint",
    [
        ("rtx_lib/layers/cells.py", "from rtx_lib.models.jordan import JordanRNN", "layers may not import models"),
        ("rtx_lib/layers/a.py", "from ..models import jordan", "layers may not import models"),
        ("rtx_lib/plots/a.py", "from .. import style, training", "plots may not import training"),
        ("rtx_lib/training.py", "from .models import jordan", "training may not import models"),
        ("rtx_lib/training.py", "def f():\n    import matplotlib.pyplot", "only page, pictures, plots may import"),
        ("rtx_lib/training.py", "def f():\n    from rtx_book import show", "the library imports nothing of the press"),
        ("rtx_lib/tasks/a.py", "import official", "nothing imports official"),
        ("rtx_book/race/a.py", "from rtx_lib.training import fit", "race may not import rtx_lib.training.fit"),
        ("rtx_book/build/a.py", "import sphinx", "only sphinx may import sphinx"),
    ],
)
def test_a_planted_import_is_named_with_its_line(tmp_path, file, line, complaint):
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text(f"import math\n{line}\n")
    (found,) = violations(tmp_path / file.partition("/")[0])
    assert file.partition("/")[2] in found and complaint in found


@pytest.mark.parametrize(
    "package, heavy",
    [
        ("rtx_lib", {*ONLY, "scipy", "sklearn", "pooch", "yaml", "pandas", "rtx_book"}),
        ("rtx_book.records.records", {"torch", "matplotlib", "IPython"}),
    ],
)
def test_a_package_loads_nothing_heavy(package, heavy):
    code = f"import sys, {package}; print({heavy!r} & sys.modules.keys())"
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, env=os.environ | {"PYTHONPATH": PACKAGES}, capture_output=True, text=True)
    assert done.stdout.strip() == "set()", done.stdout + done.stderr
