"""The fingerprint of a chapter: a hash of all that may decide the values of its findings.

The replication study keeps it beside its runs, which are stale where it differs.
"""

from __future__ import annotations

import ast
import copy
import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from rtx_book.build.dependence import (
    OUTCOMES,
    Functions,
    Statement,
    called,
    root_of,
    statement_of,
    statements,
    trains,
    used,
)

DRAWING = {"plt", "ax", "axes", "fig", "evidence", "rtx_book"}
SHOWING = {"print", "display", "show", "finding"}
WORDS = {"alt", "caption", "title", "told", "said"}  # names of what is only read
DRAWING_MODULES = {"plots", "page", "pictures", "matplotlib", "IPython", "ipywidgets", "bertviz"}
READING = {"Evidence", "load_record", "load_records", "load_trainer"}  # what rtx_book hands on besides what draws
RANDOM = {"torch", "np", "numpy", "random"}  # ``torch.manual_seed(0)`` binds no name, and changes what comes after it
MODES = {"train", "eval", "load_state_dict", "requires_grad_"}  # methods that leave a model as another one
RENAMED = {"slider": "live"}  # functions that the runs knew by another name: what they do is the same
DRAWS = {"manual_seed", "rand", "randn", "randint", "randperm", "multinomial", "bernoulli", "normal", "shuffle"}


def deciding(notebook: Mapping[str, Any]) -> list[ast.stmt]:
    """The code that may decide the values of the findings: no figures or printing, no budget of another profile.

    Imports tell what a name stands for, and not where it lies, nor in which order: moving a function leaves every value
    as it was. The last lines are the findings' values themselves, each with its id.
    """
    whole = statements(notebook)
    for node in (node for statement in whole for node in ast.walk(statement.tree)):
        if isinstance(node, ast.Name):
            node.id = RENAMED.get(node.id, node.id)
        elif isinstance(node, ast.alias):
            node.name = RENAMED.get(node.name, node.name)
    pruner = _Pruner(whole)
    kept = [pruner.visit(copy.deepcopy(statement.tree)) for statement in whole]
    left = [
        None if tree is None else statement_of(statement.cell, tree)
        for statement, tree in zip(whole, kept, strict=True)
    ]
    there = [Functions(one for one in left[:place] if one) for place in range(len(left) + 1)]
    chosen: set[int] = set()
    wanted_somewhere: set[str] = set()
    values: list[ast.stmt] = []
    for place, statement in enumerate(whole):
        for node in ast.walk(statement.tree):
            if isinstance(node, ast.Call) and called(node) == "finding":
                id, value = _argument(node, 0, "id"), _argument(node, 2, "value")
                values.append(ast.Expr(ast.Call(ast.Name("finding", ast.Load()), [id, value], [])))
                wanted = used(value)
                if not isinstance(statement.tree, ast.Expr):  # in a loop or a condition: all that stands there
                    wanted |= used(statement.tree)
                    chosen.add(place)
                indices, wanted = _before(left[:place], there, wanted)
                chosen |= indices
                wanted_somewhere |= wanted
    imports = {
        ast.unparse(alias): alias
        for statement in whole
        if isinstance(statement.tree, ast.Import | ast.ImportFrom)
        for alias in statement.tree.names
        if (alias.asname or alias.name) in wanted_somewhere
    }
    code = [one.tree for place in sorted(chosen) if (one := left[place])]
    return [*(ast.Import([imports[name]]) for name in sorted(imports)), *code, *values]


def _argument(call: ast.Call, place: int, name: str) -> ast.expr:
    if len(call.args) > place:
        return call.args[place]
    return next(keyword.value for keyword in call.keywords if keyword.arg == name)


def _before(before: list[Statement | None], there: list[Functions], wanted: set[str]) -> tuple[set[int], set[str]]:
    """Indices of the statements that may decide the names ``wanted``, and all names that these want.

    ``there`` holds the functions that are known at each place.
    """
    chosen = set[int]()
    wanted = there[len(before)].uses(wanted)
    all_wanted = set(wanted)
    for index in range(len(before) - 1, -1, -1):
        statement = before[index]
        if statement is None or isinstance(statement.tree, ast.Import | ast.ImportFrom):
            continue
        if not (there[index].may_change(statement) & wanted or _sets_the_scene(statement.tree)):
            continue
        chosen.add(index)
        if statement.surely:
            wanted -= statement.binds
        wanted |= there[index].uses(statement.uses)
        all_wanted |= wanted
    return chosen, all_wanted


def _sets_the_scene(tree: ast.stmt) -> bool:
    """Whether it calls, for its effect, something that changes what every later line does: a seed, a default."""
    return (
        isinstance(tree, ast.Expr)
        and isinstance(tree.value, ast.Call)
        and (root_of(tree.value.func) in RANDOM or "seed" in called(tree.value))
    )


class _Pruner(ast.NodeTransformer):
    """Takes out what decides nothing: findings, proofs, printing, drawing, docstrings, budgets of other profiles."""

    def __init__(self, whole: Iterable[Statement]) -> None:
        self.drawing = set(DRAWING)
        self.functions = Functions(whole)
        for statement in whole:
            if isinstance(statement.tree, ast.Import | ast.ImportFrom):
                home = getattr(statement.tree, "module", None) or ""
                self.drawing |= {
                    alias.asname or alias.name.partition(".")[0]
                    for alias in statement.tree.names
                    if DRAWING_MODULES & {*home.split("."), *alias.name.split(".")}
                    or (home == "rtx_book" and alias.name not in READING)
                }

    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        names = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
        if {"smoke", "book"} <= set(names):
            node = ast.Dict([node.keys[names.index("book")]], [node.values[names.index("book")]])
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None if isinstance(node.value, ast.Constant) or self._draws(node.value) else self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        words = all(isinstance(target, ast.Name) and target.id in WORDS for target in node.targets)
        return None if self._draws(node.value) or (words and not self._works(node.value)) else self.generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> ast.AST | None:
        return node if self._works(node.test) else None

    def generic_visit(self, node: ast.AST) -> Any:
        """Without what draws inside; a block of which no line is left goes whole, a function stays."""
        super().generic_visit(node)
        if isinstance(node, ast.stmt) and getattr(node, "body", None) == []:
            if not isinstance(node, ast.FunctionDef | ast.ClassDef) and not getattr(node, "orelse", None):
                return None
            node.body = [ast.Pass()]  # type: ignore[attr-defined]
        return node

    def _draws(self, node: ast.AST) -> bool:
        if not isinstance(node, ast.Call):
            return False
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        return not any(map(self._works, arguments)) and (
            root_of(node.func) in self.drawing
            or called(node) in SHOWING
            or any(root_of(argument) in self.drawing for argument in arguments)
        )

    def _works(self, tree: ast.AST) -> bool:
        """Whether code, as a figure's argument may, binds a name, trains, changes a model or draws random numbers."""
        behind = [tree, *(function.tree for function in self.functions.behind(used(tree)))]
        return any(isinstance(node, ast.NamedExpr) for node in ast.walk(tree)) or any(
            trains(one, OUTCOMES | MODES | DRAWS) for one in behind
        )


def fingerprint(notebook: Mapping[str, Any], recipes: Mapping[str, Any]) -> str:
    """Hash of the code that may decide the findings and of the recipes that it names, the same on every Python.

    The library is left out: what is only rewritten keeps every loss, and a change that does not is a change of the
    library's own tests.
    """
    code = deciding(notebook)
    named = set()
    for node in (node for tree in code for node in ast.walk(tree)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            named |= {name for name in recipes if name == node.value}
        elif isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
            start = str(node.values[0].value)
            named |= {name for name in recipes if len(start) > 4 and name.startswith(start)}
    content = json.dumps([plain(code), {name: repr(recipes[name]) for name in sorted(named)}])
    return hashlib.sha256(content.encode()).hexdigest()[:16]


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
