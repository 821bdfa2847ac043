"""The fingerprint of a chapter: a hash of the code that may decide the values of its findings.

The replication study keeps it beside its runs, which are stale where it differs. All code up to the last finding
counts, but for cells tagged `figure`, which only draw. So a change that decides nothing may make runs stale:
`python -m rtx_book.build.replicate --confirm N` keeps them if N of them, made again, give the very same values.
"""

import ast
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from rtx_book.build.execute import source, tags

LEFT_OUT = {"bootstrap", "figure"}


def fingerprint(notebook: Mapping[str, Any], recipes: Mapping[str, Any]) -> str:
    """Hash of the code that may decide the findings and of the recipes that it names, the same on every Python.

    The library is left out: what is only rewritten keeps every loss, and a change that does not is a change of the
    library's own tests.
    """
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    last = max(place for place, cell in enumerate(cells) if ".finding(" in source(cell))
    normal = _Normal()
    code = [normal.visit(ast.parse(source(one))) for one in cells[: last + 1] if not LEFT_OUT.intersection(tags(one))]
    nodes = [node for tree in code for node in ast.walk(tree)]
    used = {node.id for node in nodes if isinstance(node, ast.Name)}
    imports = {ast.unparse(one) for one in normal.imports if (one.asname or one.name.partition(".")[0]) in used}
    texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    first = [node.values[0] for node in nodes if isinstance(node, ast.JoinedStr)]
    # of f"adding-{kind}" what stands before the brace
    starts = tuple(str(one.value) for one in first if isinstance(one, ast.Constant) and len(str(one.value)) > 4)
    named = {name: repr(recipes[name]) for name in sorted(recipes) if name in texts or name.startswith(starts)}
    return hashlib.sha256(json.dumps([sorted(imports), plain(code), named]).encode()).hexdigest()[:16]


class _Normal(ast.NodeTransformer):
    """Takes out what decides no value: docstrings, where an import lies, sentence and bound of a finding."""

    def __init__(self) -> None:
        self.imports: list[ast.alias] = []

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        self.imports += node.names

    visit_ImportFrom = visit_Import

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "finding":
            node.args = [node.args[0], node.args[2]]
        return self.generic_visit(node)


def plain(tree: Any) -> Any:
    """A syntax tree as nested lists. Neither `ast.dump` nor `ast.unparse` is the same for all versions of Python."""
    if isinstance(tree, ast.AST):
        fields = [
            [name, plain(value)]
            for name, value in ast.iter_fields(tree)
            if value not in (None, []) and name not in ("ctx", "kind", "type_comment")
        ]
        return [type(tree).__name__, *fields]
    return [plain(one) for one in tree] if isinstance(tree, list) else repr(tree)
