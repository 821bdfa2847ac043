"""Which part of the library may import which: the floors of the house."""

import ast
from pathlib import Path

# A room, and the rooms of the library that it may import besides itself.
ROOMS: dict[str, set[str]] = {
    "kernels": set(),
    "plots": set(),
    "tasks": set(),
    "evidence": set(),
    "layers": {"kernels"},
    "diagnostics": set(),
    "models": {"layers", "kernels"},
    "training": {"diagnostics"},
    "checks": {"layers", "models", "diagnostics"},
    "experiments": {"tasks", "layers", "diagnostics", "models", "training", "evidence"},
    "bench": {"kernels", "tasks", "layers", "diagnostics", "models", "training", "experiments"},
}
# Packages that belong to one room only.
ONLY: dict[str, set[str]] = {
    "matplotlib": {"plots"},
    "IPython": {"plots", "evidence"},
    "ipywidgets": {"plots"},
    "bertviz": {"plots"},
    "accelerate": {"training"},
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


def violations(library: Path) -> list[str]:
    """One line for each import that goes up or sideways: file, line, and what it may not import."""
    found = []
    for path in sorted(library.rglob("*.py")):
        if path == library / "__init__.py":
            continue
        room = path.relative_to(library).parts[0].removesuffix(".py")
        if room not in ROOMS:
            found.append(f"{path.relative_to(library)}:1: no floor is known for {room}")
            continue
        inside = ".".join(("rtx_lib", *path.relative_to(library).parts[:-1]))
        for line, name in imports(ast.parse(path.read_text(encoding="utf-8")), inside):
            package, *rest = name.split(".")
            where = f"{path.relative_to(library)}:{line}"
            if package == "rtx_lib" and rest and rest[0] in ROOMS and rest[0] not in ROOMS[room] | {room}:
                found.append(f"{where}: {room} may not import {rest[0]}")
            if package in {"tests", "notebooks", "official", "helpers"}:
                found.append(f"{where}: nothing imports {package}")
            if package in ONLY and room not in ONLY[package]:
                found.append(f"{where}: only {', '.join(sorted(ONLY[package]))} may import {package}")
    return found
