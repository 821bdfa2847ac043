"""What depends on what in a notebook, read from its code without running it.

Which asserts depend on the outcome of a training (`judged_trainings`)? The tests refuse them. `fingerprint.py` asks
which statements may decide the values of the findings.

The unit is the statement at the top of a cell. A statement *binds* names, *changes* objects (``trace.append(...)``,
``fit(model, ...)``) and *uses* names; a function of the notebook uses what its body uses, wherever it is called. A
call changes what it is known to change (`Functions.changes`); where an oversight would be worse than a false alarm, it
may change whatever it is given (`Functions.may_change`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

# Calls whose result is what a training reached: live, or kept in a record, or a time that was measured.
OUTCOMES = {
    "fit",
    "fit_side_by_side",
    "evaluate",
    "run",
    "load_record",
    "load_records",
    "load_costs",
    "finals",
    "summarise",
    "evaluation_costs",
}
TRAINERS = {"fit", "fit_side_by_side"}  # these change the model that they are given
CHANGERS = {
    "append",
    "extend",
    "insert",
    "add",
    "update",
    "setdefault",
    "pop",
    "remove",
    "clear",
    "step",
    "backward",
    "load_state_dict",
    "zero_grad",
    "to",
    "eval",
    "train",
    "double",
    "float",
    "cpu",
    "requires_grad_",
}
READERS = {
    "abs",
    "all",
    "any",
    "dict",
    "enumerate",
    "float",
    "int",
    "isinstance",
    "len",
    "list",
    "max",
    "min",
    "range",
    "reversed",
    "round",
    "set",
    "sorted",
    "str",
    "sum",
    "tuple",
    "zip",
}


@dataclass(frozen=True)
class Statement:
    """One statement at the top of a cell."""

    cell: int
    tree: ast.stmt
    binds: frozenset[str]
    changes: frozenset[str]
    uses: frozenset[str]
    surely: bool  # whether it binds its names whatever happens, and to something new


def statements(notebook: Mapping[str, Any]) -> list[Statement]:
    """All statements of the code cells in their order, without the bootstrap; magics are left out."""
    found = []
    for number, cell in enumerate(notebook["cells"]):
        tags = cell.get("metadata", {}).get("tags", [])
        if cell["cell_type"] != "code" or "bootstrap" in tags or "injected-parameters" in tags:
            continue
        try:
            body = ast.parse("".join(cell["source"])).body
        except SyntaxError:
            continue
        found += [statement_of(number, tree) for tree in body]
    return found


def statement_of(cell: int, tree: ast.stmt) -> Statement:
    binds = frozenset(_bound(tree))
    simple = isinstance(tree, ast.Assign | ast.AnnAssign | ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom)
    return Statement(cell, tree, binds, frozenset(_changed(tree)), frozenset(used(tree)), simple)


def _inside(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of the notebook's own scope: not those in a function's or a comprehension's."""
    scopes = (ast.FunctionDef, ast.ClassDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    for child in ast.iter_child_nodes(tree):
        yield child
        if not isinstance(child, scopes):
            yield from _inside(child)


def _bound(tree: ast.AST) -> Iterator[str]:
    scopes = (ast.FunctionDef, ast.ClassDef)
    for node in [tree, *(() if isinstance(tree, scopes) else _inside(tree))]:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, scopes):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
    for node in ast.walk(tree):  # of assignments in comprehensions and calls: (n := f(x))
        if isinstance(node, ast.NamedExpr) and not isinstance(tree, scopes):
            yield node.target.id


def root_of(node: ast.AST) -> str | None:
    """``a`` of ``a.b[0].c``."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def called(node: ast.Call) -> str:
    """The last name of what is called: ``fit`` of ``training.fit(...)``."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _changed(tree: ast.AST) -> Iterator[str]:
    """Names whose object the statement changes, and for a function those that its body changes."""
    for node in ast.walk(tree):
        targets: Iterable[ast.AST] = ()
        if isinstance(node, ast.Assign | ast.Delete):
            targets = node.targets
        elif isinstance(node, ast.AugAssign):
            targets = [node.target]
        for target in targets:
            if isinstance(target, ast.Attribute | ast.Subscript) or isinstance(node, ast.AugAssign):
                yield from filter(None, [root_of(target)])
        if isinstance(node, ast.Call):
            name = called(node)
            if name in CHANGERS and isinstance(node.func, ast.Attribute):
                yield from filter(None, [root_of(node.func.value)])
            if (name in TRAINERS or name.endswith("_")) and node.args:
                first = node.args[0]
                yield from filter(None, [root_of(first.target if isinstance(first, ast.NamedExpr) else first)])


def _given(tree: ast.AST) -> set[str]:
    """Names that the code gives to calls, or calls a method of: what it might change."""
    found = set[str | None]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and called(node) not in READERS:
            parts = [*node.args, *(keyword.value for keyword in node.keywords)]
            found |= {name.id for part in parts for name in ast.walk(part) if isinstance(name, ast.Name)}
            found |= {root_of(node.func.value)} if isinstance(node.func, ast.Attribute) else set()
    return {name for name in found if name}


def used(tree: ast.AST) -> set[str]:
    """Names that the code reads before it binds them itself: what it needs from outside."""
    read = set[str]()
    _walk(tree, set(), read)
    return read


def _walk(tree: ast.AST, bound: set[str], read: set[str]) -> None:
    """Go through the code in the order in which it runs; `bound` grows by what it surely binds, `read` by the rest."""
    if isinstance(tree, ast.Name):
        (bound if isinstance(tree.ctx, ast.Store) else read).update({tree.id} - bound)
    elif isinstance(tree, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.NamedExpr):
        targets = tree.targets if isinstance(tree, ast.Assign) else [tree.target]
        if isinstance(tree, ast.AugAssign) and isinstance(tree.target, ast.Name):
            read.update({tree.target.id} - bound)
        for part in (tree.value, *targets):
            if part is not None:
                _walk(part, bound, read)
    elif isinstance(tree, ast.For):
        for part in (tree.iter, tree.target, *tree.body, *tree.orelse):
            _walk(part, bound, read)
    elif isinstance(tree, ast.If | ast.While | ast.Try):  # what a branch binds is not sure
        for part in ast.iter_child_nodes(tree):
            _walk(part, bound if isinstance(part, ast.expr) else set(bound), read)
    elif isinstance(tree, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        inside = set(bound)
        for part in (*tree.generators, *(getattr(tree, name, None) for name in ("elt", "key", "value"))):
            if part is not None:
                _walk(part, inside, read)
    elif isinstance(tree, ast.comprehension):
        for part in (tree.iter, tree.target, *tree.ifs):
            _walk(part, bound, read)
    elif isinstance(tree, ast.FunctionDef | ast.Lambda):
        own = {node.arg for node in ast.walk(tree.args) if isinstance(node, ast.arg)}
        body = tree.body if isinstance(tree, ast.FunctionDef) else [tree.body]
        own |= {name for part in body for name in _bound(part)}
        for part in (tree.args, *getattr(tree, "decorator_list", ())):
            _walk(part, set(bound), read)
        inside = bound | own
        for part in body:
            _walk(part, inside, read)
        bound.update({getattr(tree, "name", "")})
    else:
        for part in ast.iter_child_nodes(tree):
            _walk(part, bound, read)


def _calls(tree: ast.AST) -> set[str]:
    return {called(node) for node in ast.walk(tree) if isinstance(node, ast.Call)}


def trains(tree: ast.AST, names: set[str]) -> bool:
    """Whether one of the functions is called, or an optimiser makes a step."""
    bare = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call) and not node.args)
    return bool(_calls(tree) & names) or any(isinstance(f, ast.Attribute) and f.attr == "step" for f in bare)


class Functions:
    """The notebook's functions as they are at some place: what they use and change, those that they call included."""

    def __init__(self, before: Iterable[Statement] = ()) -> None:
        self.known: dict[str, Statement] = {}
        self.steered: dict[str, set[str]] = {}  # by the name of an optimiser: whose parameters it has
        for statement in before:
            self.define(statement)

    def define(self, statement: Statement) -> None:
        if isinstance(statement.tree, ast.FunctionDef | ast.ClassDef):
            self.known[statement.tree.name] = statement
        elif owners := {
            root_of(node.func.value)
            for node in ast.walk(statement.tree)
            if isinstance(node, ast.Call) and called(node) == "parameters" and isinstance(node.func, ast.Attribute)
        }:
            self.steered |= {name: {owner for owner in owners if owner} for name in statement.binds}

    def behind(self, names: Iterable[str]) -> list[Statement]:
        """The definitions that using ``names`` may run."""
        found: dict[str, Statement] = {}
        open_names = list(names)
        while open_names:
            name = open_names.pop()
            if name in self.known and name not in found:
                found[name] = self.known[name]
                open_names += self.known[name].uses
        return list(found.values())

    def uses(self, names: Iterable[str]) -> set[str]:
        names = set(names)
        return names.union(*(function.uses for function in self.behind(names)))

    def changes(self, statement: Statement) -> set[str]:
        """What the statement changes, by the functions that it names too; a definition alone changes nothing."""
        if isinstance(statement.tree, ast.FunctionDef | ast.ClassDef):
            return set()
        behind = self.behind(statement.uses)
        found = set(statement.changes).union(*(function.changes for function in behind))
        for tree in (statement.tree, *(function.tree for function in behind)):
            found |= self._arguments_changed(tree)
        return found.union(*(self.steered.get(name, ()) for name in found))

    def _arguments_changed(self, tree: ast.AST, within: frozenset[str] = frozenset()) -> set[str]:
        """``reader`` of ``train(reader)`` where ``def train(model)`` changes its ``model``."""
        found = set[str | None]()
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and (name := called(node)) in self.known and name not in within:
                function = self.known[name]
                if isinstance(function.tree, ast.FunctionDef):
                    changed = function.changes | self._arguments_changed(function.tree, within | {name})
                    found |= {
                        root_of(value) for parameter, value in _arguments(node, function.tree) if parameter in changed
                    }
        return {name for name in found if name}

    def may_change(self, statement: Statement) -> set[str]:
        """What the statement and the functions that it names bind, change or give away."""
        if isinstance(statement.tree, ast.FunctionDef | ast.ClassDef):
            return set(statement.binds)
        given = _given(statement.tree).union(*(_given(function.tree) for function in self.behind(statement.uses)))
        found = set(statement.binds) | self.changes(statement) | given
        return found.union(*(self.steered.get(name, ()) for name in found))


def _arguments(call: ast.Call, function: ast.FunctionDef) -> Iterator[tuple[str, ast.expr]]:
    """The call's arguments, each with the parameter that takes it."""
    parameters = [one.arg for one in [*function.args.posonlyargs, *function.args.args]]
    yield from zip(parameters, call.args, strict=False)
    yield from ((keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg)


# ------------------------------------------------------------------------------------------------ asserts


def judged_trainings(notebook: Mapping[str, Any]) -> list[str]:
    """Asserts that depend on the outcome of a training, or that stand under a condition on the profile.

    An exact statement about a trained model, such as the equality of two routes, stands in a cell tagged ``proof``,
    which must not train itself.
    """
    faults = []
    functions, outcome = Functions(), set[str]()
    exempt = {n for n, cell in enumerate(notebook["cells"]) if "proof" in cell.get("metadata", {}).get("tags", [])}
    for statement in statements(notebook):
        functions.define(statement)
        where = f"cell {statement.cell + 1}"
        defines = isinstance(statement.tree, ast.FunctionDef | ast.ClassDef)
        behind = functions.behind(statement.uses)
        trained = any(trains(tree, OUTCOMES) for tree in [statement.tree, *(f.tree for f in behind)])
        if statement.cell in exempt and trains(statement.tree, TRAINERS):
            faults.append(f"{where} is tagged proof and trains")
        from_outcome = trained or bool(functions.uses(statement.uses) & outcome)
        if not defines:
            if from_outcome:
                outcome |= statement.binds | (functions.changes(statement) - {"evidence"})
            elif statement.surely or isinstance(statement.tree, ast.For | ast.With):
                outcome -= statement.binds
        for test, guarded in _asserts(statement.tree):
            names = functions.uses(used(test))
            if guarded:
                faults.append(f"{where} asserts under a condition on the profile: {ast.unparse(test)}")
            elif statement.cell not in exempt and (names & outcome or _calls(test) & OUTCOMES):
                faults.append(f"{where} asserts what a training reached: {ast.unparse(test)}")
    return faults


def _asserts(tree: ast.AST, guarded: bool = False) -> Iterator[tuple[ast.expr, bool]]:
    if isinstance(tree, ast.Assert):
        words = {node.id for node in ast.walk(tree.test) if isinstance(node, ast.Name)}
        yield tree.test, guarded or "profile" in words
    guarded = guarded or (isinstance(tree, ast.If) and "profile" in used(tree.test))
    for child in ast.iter_child_nodes(tree):
        yield from _asserts(child, guarded)
