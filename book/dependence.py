"""What depends on what in a notebook, read from its code without running it.

Two questions are asked of it. Which asserts depend on the outcome of a training (`judged_trainings`; the tests refuse
them)? And which statements may decide the values of the findings (`deciding`; the replication study is stale when
they change)?

The unit is the statement at the top of a cell. A statement *binds* names, *changes* objects (``trace.append(...)``,
``fit(model, ...)``) and *uses* names; a function of the notebook uses what its body uses, wherever it is called. The
first question wants no false alarm, so a call changes what it is known to change. The second wants no false calm, so
a call may change whatever it is given.
"""

from __future__ import annotations

import ast
import copy
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

# Calls whose result is what a training reached: live, or kept in a record, or a time that was measured.
OUTCOMES = {
    "fit", "fit_side_by_side", "evaluate", "run", "load_record", "load_records", "load_costs", "finals", "summarise",
    "evaluation_costs",
}
TRAINERS = {"fit", "fit_side_by_side"}  # these change the model that they are given
CHANGERS = {
    "append", "extend", "insert", "add", "update", "setdefault", "pop", "remove", "clear", "step", "backward",
    "load_state_dict", "zero_grad", "to", "eval", "train", "double", "float", "cpu", "requires_grad_",
}
DRAWING = {"plt", "ax", "axes", "fig", "evidence"}
SHOWING = {"print", "display", "show", "finding"}
WORDS = {"alt", "caption", "title", "told", "said"}  # names of what is only read
DRAWING_MODULES = {"plots", "matplotlib", "IPython", "ipywidgets", "bertviz"}
RANDOM = {"torch", "np", "numpy", "random"}  # ``torch.manual_seed(0)`` binds no name, and changes what comes after it
DRAWS = {"manual_seed", "rand", "randn", "randint", "randperm", "multinomial", "bernoulli", "normal", "shuffle"}
READERS = {"abs", "all", "any", "dict", "enumerate", "float", "int", "isinstance", "len", "list", "max", "min", "range",
           "reversed", "round", "set", "sorted", "str", "sum", "tuple", "zip"}


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
        found += [_statement(number, tree) for tree in body]
    return found


def _statement(cell: int, tree: ast.stmt) -> Statement:
    binds = frozenset(_bound(tree))
    simple = isinstance(tree, ast.Assign | ast.AnnAssign | ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom)
    return Statement(cell, tree, binds, frozenset(_changed(tree)), frozenset(_used(tree)), simple)


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


def _root(node: ast.AST) -> str | None:
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
                yield from filter(None, [_root(target)])
        if isinstance(node, ast.Call):
            name = called(node)
            if name in CHANGERS and isinstance(node.func, ast.Attribute):
                yield from filter(None, [_root(node.func.value)])
            if (name in TRAINERS or name.endswith("_")) and node.args:
                first = node.args[0]
                yield from filter(None, [_root(first.target if isinstance(first, ast.NamedExpr) else first)])


def _given(tree: ast.AST) -> set[str]:
    """Names that the code gives to calls, or calls a method of: what it might change."""
    found = set[str | None]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and called(node) not in READERS:
            parts = [*node.args, *(keyword.value for keyword in node.keywords)]
            found |= {name.id for part in parts for name in ast.walk(part) if isinstance(name, ast.Name)}
            found |= {_root(node.func.value)} if isinstance(node.func, ast.Attribute) else set()
    return {name for name in found if name}


def _used(tree: ast.AST) -> set[str]:
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


def _trains(tree: ast.AST, names: set[str]) -> bool:
    """Whether one of the functions is called, or an optimiser makes a step."""
    steps = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute))
    return bool(_calls(tree) & names) or any(call.func.attr == "step" and not call.args for call in steps)


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
        elif owners := {_root(node.func.value) for node in ast.walk(statement.tree)
                        if isinstance(node, ast.Call) and called(node) == "parameters"
                        and isinstance(node.func, ast.Attribute)}:
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
                    found |= {_root(value) for parameter, value in _arguments(node, function.tree)
                              if parameter in changed}
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
        trains = any(_trains(tree, OUTCOMES) for tree in [statement.tree, *(f.tree for f in behind)])
        if statement.cell in exempt and _trains(statement.tree, TRAINERS):
            faults.append(f"{where} is tagged proof and trains")
        from_outcome = trains or bool(functions.uses(statement.uses) & outcome)
        if not defines:
            if from_outcome:
                outcome |= statement.binds | (functions.changes(statement) - {"evidence"})
            elif statement.surely or isinstance(statement.tree, ast.For | ast.With):
                outcome -= statement.binds
        for test, guarded in _asserts(statement.tree):
            names = functions.uses(_used(test))
            if guarded:
                faults.append(f"{where} asserts under a condition on the profile: {ast.unparse(test)}")
            elif statement.cell not in exempt and (names & outcome or _calls(test) & OUTCOMES):
                faults.append(f"{where} asserts what a training reached: {ast.unparse(test)}")
    return faults


def _asserts(tree: ast.AST, guarded: bool = False) -> Iterator[tuple[ast.expr, bool]]:
    if isinstance(tree, ast.Assert):
        words = {node.id for node in ast.walk(tree.test) if isinstance(node, ast.Name)}
        yield tree.test, guarded or "profile" in words
    guarded = guarded or (isinstance(tree, ast.If) and "profile" in _used(tree.test))
    for child in ast.iter_child_nodes(tree):
        yield from _asserts(child, guarded)


# ------------------------------------------------------------------------------------------------ findings

def deciding(notebook: Mapping[str, Any]) -> list[ast.stmt]:
    """The code that may decide the values of the findings: no figures or printing, no budget of another profile.

    Imports tell what a name stands for, and not where it lies: moving a function leaves every value as it was. The
    last lines are the findings' values themselves, each with its id.
    """
    whole = statements(notebook)
    pruner = _Pruner(whole)
    kept = [pruner.visit(copy.deepcopy(statement.tree)) for statement in whole]
    left = [None if tree is None else _statement(statement.cell, tree)
            for statement, tree in zip(whole, kept, strict=True)]
    chosen: set[int] = set()
    wanted_somewhere: set[str] = set()
    values: list[ast.stmt] = []
    for place, statement in enumerate(whole):
        for node in ast.walk(statement.tree):
            if isinstance(node, ast.Call) and called(node) == "finding":
                id, value = _argument(node, 0, "id"), _argument(node, 2, "value")
                values.append(ast.Expr(ast.Call(ast.Name("finding", ast.Load()), [id, value], [])))
                wanted = _used(value)
                if not isinstance(statement.tree, ast.Expr):  # in a loop or a condition: all that stands there
                    wanted |= _used(statement.tree)
                    chosen.add(place)
                indices, wanted = _before(left[:place], wanted)
                chosen |= indices
                wanted_somewhere |= wanted
    imports = [alias for statement in whole if isinstance(statement.tree, ast.Import | ast.ImportFrom)
               for alias in statement.tree.names if (alias.asname or alias.name) in wanted_somewhere]
    code = [left[place].tree for place in sorted(chosen) if left[place]]
    return [*(ast.Import([alias]) for alias in imports), *code, *values]


def _argument(call: ast.Call, place: int, name: str) -> ast.expr:
    if len(call.args) > place:
        return call.args[place]
    return next(keyword.value for keyword in call.keywords if keyword.arg == name)


def _before(before: list[Statement | None], wanted: set[str]) -> tuple[set[int], set[str]]:
    """Indices of the statements that may decide the names ``wanted``, and all names that these want."""
    chosen = set[int]()
    there = [statement for statement in before if statement]
    wanted = Functions(there).uses(wanted)
    all_wanted = set(wanted)
    for index in range(len(before) - 1, -1, -1):
        statement = before[index]
        if statement is None or isinstance(statement.tree, ast.Import | ast.ImportFrom):
            continue
        functions = Functions(one for one in before[:index] if one)
        if not (functions.may_change(statement) & wanted or _sets_the_scene(statement.tree)):
            continue
        chosen.add(index)
        if statement.surely:
            wanted -= statement.binds
        wanted |= functions.uses(statement.uses)
        all_wanted |= wanted
    return chosen, all_wanted


def _sets_the_scene(tree: ast.stmt) -> bool:
    """Whether it calls, for its effect, something that changes what every later line does: a seed, a default."""
    return isinstance(tree, ast.Expr) and isinstance(tree.value, ast.Call) and (
        _root(tree.value.func) in RANDOM or "seed" in called(tree.value))


class _Pruner(ast.NodeTransformer):
    """Takes out what decides nothing: findings, proofs, printing, drawing, docstrings, budgets of other profiles."""

    def __init__(self, whole: Iterable[Statement]) -> None:
        self.drawing = set(DRAWING)
        self.functions = Functions(whole)
        for statement in whole:
            if isinstance(statement.tree, ast.Import | ast.ImportFrom):
                home = getattr(statement.tree, "module", None) or ""
                self.drawing |= {alias.asname or alias.name.partition(".")[0] for alias in statement.tree.names
                                 if DRAWING_MODULES & {*home.split("."), *alias.name.split(".")}}

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
            _root(node.func) in self.drawing or called(node) in SHOWING
            or any(_root(argument) in self.drawing for argument in arguments))

    def _works(self, tree: ast.AST) -> bool:
        """Whether the code binds a name, trains, or takes random numbers: this counts in a figure's argument too."""
        behind = [tree, *(function.tree for function in self.functions.behind(_used(tree)))]
        return (any(isinstance(node, ast.NamedExpr) for node in ast.walk(tree))
                or any(_trains(one, OUTCOMES | DRAWS) for one in behind))


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
        fields = [[name, plain(value)] for name, value in ast.iter_fields(tree)
                  if value not in (None, []) and name not in ("ctx", "kind", "type_comment")]
        return [type(tree).__name__, *fields]
    return [plain(one) for one in tree] if isinstance(tree, list) else repr(tree)
