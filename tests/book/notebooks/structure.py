"""What every chapter must look like. Each check takes a notebook and returns its faults, one text each."""

import ast
import itertools
import re
import statistics
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import nbformat

from rtx_book.build import execute
from rtx_book.build.execute import source
from rtx_book.claims.claims import as_roles, papers
from rtx_lib import tasks

Notebook = Mapping[str, Any]

KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
PARAMETERS = {"profile": "book", "seed": 0, "device": "auto"}
TAGS = {
    "bootstrap",  # installs the library on Colab
    "parameters",
    "exercise",  # the reader's cell; it runs as it stands
    "opens",  # a copy of its live figure opens the page
    "live",  # an ipywidgets control, plots.slider: its output is not on the page
    "proof",  # its asserts are exact: they hold for any weights, those that a training reached included
    "figure",  # it only draws: the fingerprint of the chapter leaves it out
    "timing",  # its output holds seconds, which differ from run to run
    "hide-input",
    "hide-output",
    "hide-cell",  # it asks for a solution
    "remove-cell",
    "remove-input",
    "remove-output",
}
WORDS, CODE_CELLS = (2200, 3400), (18, 26)
CORE, FURTHER = (1800, 2600), "## Further: "  # words that everybody reads, where a chapter marks what may be left out
MEDIAN_LINES, MOST_LINES = 8, 25
HIDDEN_LINES, HIDDEN_CELL = 230, 45  # code that a reader of the page does not see: of a chapter, of a cell
LINE_WIDTH = 88  # what a page shows without scrolling sideways
HIDDEN = {"hide-input", "hide-cell", "remove-input", "remove-cell"}
FOLDED_CODE = {"cellView": "form", "jupyter": {"source_hidden": True}}  # so that Colab and JupyterLab fold it, too
FENCE = re.compile(r"^(`{3,}|~{3,}|:{3,}).*?^\1[ \t]*$", flags=re.M | re.S)
FOLDED = re.compile(r"<details.*?</details>", flags=re.S)  # an answer to a guess, until the reader opens it
SPHINX = re.compile(r"\{[\w:]+\}`|^[`:]{3,}\{|^\([\w-]+\)=$|\$\$ *\(\w", flags=re.M)  # a role, a directive, a label
NUMBERED = re.compile(r'^<a id="(eq-[\w-]+)"></a>\n\$\$\n[^$]+\n\\tag\{(\d+)\}\n\$\$$', flags=re.M)
ASKED = {"exercise", "hide-cell"}
SOLUTION = re.compile(r"# @title .*\nchecks\.solution\(\d\)")
ANSWER = re.compile(r"\bask\((?:check|lambda)|\bright=.*(?:slips|label)=|def \w*solution|<summary>(?:Solution|Answer)")
MACHINE_PATH = re.compile(
    r"(?<![\w.~$})/])/(?:home|root|tmp|Users|work|opt|usr|var|mnt|srv|data|content)/\w|(?<!\w)[A-Za-z]:\\\w"
)


def tags(cell: Mapping[str, Any]) -> set[str]:
    return set(execute.tags(cell))


def code_cells(notebook: Notebook) -> list[Mapping[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def is_shown(cell: Mapping[str, Any]) -> bool:
    """Whether a reader of the page sees the cell's code without opening anything."""
    return not any(tag.startswith(("remove", "hide")) or tag in ("bootstrap", "parameters") for tag in tags(cell))


def lines(cell: Mapping[str, Any]) -> int:
    return sum(bool(line.strip()) and not line.startswith("# @title ") for line in source(cell).splitlines())


def calls(code: ast.AST) -> set[str]:
    """Names of the functions that code calls, without what stands before the last dot."""
    functions = [node.func for node in ast.walk(code) if isinstance(node, ast.Call)]
    return {f.id if isinstance(f, ast.Name) else f.attr for f in functions if isinstance(f, ast.Name | ast.Attribute)}


def parsed(cell: Mapping[str, Any]) -> ast.Module:
    return ast.parse(source(cell))


def is_valid(notebook: Notebook) -> list[str]:
    """Jupyter's own schema, in the version that gives every cell an id."""
    try:
        nbformat.validate(nbformat.from_dict(notebook))
    except nbformat.ValidationError as error:
        return [f"not a valid notebook: {str(error).splitlines()[0]}"]
    if (notebook["nbformat"], notebook["nbformat_minor"]) < (4, 5):
        return [f"format {notebook['nbformat']}.{notebook['nbformat_minor']}, which has no cell ids"]
    return []


def has_no_outputs(notebook: Notebook) -> list[str]:
    return [
        f"cell {number} holds outputs or a counter"
        for number, cell in enumerate(notebook["cells"], start=1)
        if cell.get("outputs") or cell.get("execution_count") is not None
    ]


def has_clean_metadata(notebook: Notebook) -> list[str]:
    """The kernel is `python3`; no version of the author's Python, no trace of a run; hidden code is a titled fold."""
    wanted = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    faults = [] if notebook["metadata"] == wanted else [f"metadata is {notebook['metadata']}, must be {wanted}"]
    for number, cell in enumerate(notebook["cells"], start=1):
        others = {key: value for key, value in cell["metadata"].items() if key != "tags"}
        if others != (FOLDED_CODE if tags(cell) & HIDDEN else {}):
            faults.append(f"cell {number} has metadata {others}; a hidden one has {FOLDED_CODE}, others none")
        if source(cell).startswith("# @title ") != bool(tags(cell) & HIDDEN):
            faults.append(f"cell {number}: a hidden cell, and no other, begins with a title: # @title ...")
    return faults


def has_unique_ids(notebook: Notebook) -> list[str]:
    ids = [cell.get("id") for cell in notebook["cells"]]
    return [f"id {name!r} occurs {ids.count(name)} times" for name in sorted(set(map(str, ids))) if ids.count(name) > 1]


def headings(notebook: Notebook) -> list[tuple[int, str]]:
    """Level and text of every heading, without what stands in fenced blocks."""
    text = "\n\n".join(FENCE.sub("", source(c)) for c in notebook["cells"] if c["cell_type"] == "markdown")
    return [(len(marks), title) for marks, title in re.findall(r"^(#{1,6})[ \t]+(.+)$", text, flags=re.M)]


def has_one_title(notebook: Notebook) -> list[str]:
    """One h1, which comes first; no level is left out on the way down."""
    found = headings(notebook)
    if [level for level, _ in found].count(1) != 1:
        return [f"{[level for level, _ in found].count(1)} h1 headings, must be one"]
    faults = [] if found[0][0] == 1 else ["the h1 is not the first heading"]
    pairs = itertools.pairwise(found)
    return faults + [f"{title!r} is of level {b} after level {a}" for (a, _), (b, title) in pairs if b > a + 1]


def begins_as_agreed(notebook: Notebook) -> list[str]:
    """Text first, prerequisites there or below the first figure; the bootstrap, and exactly the known parameters."""
    faults = []
    first, code = notebook["cells"][0], code_cells(notebook)
    texts = [source(cell) for cell in notebook["cells"] if cell["cell_type"] == "markdown"]
    if first["cell_type"] != "markdown":
        faults.append("the first cell is no text")
    if not any("Prerequisites" in text for text in texts[:2]):
        faults.append("neither the first text nor the one below the first figure names the prerequisites")
    if not code or not {"bootstrap", "remove-cell"} <= tags(code[0]):
        faults.append("the first code cell is not tagged bootstrap and remove-cell")
    if len(code) < 2 or "parameters" not in tags(code[1]):
        return [*faults, "the second code cell is not tagged parameters"]
    values = {}
    for node in ast.parse(source(code[1])).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            values[node.targets[0].id] = ast.literal_eval(node.value)
        else:
            faults.append(f"the parameters cell holds more than assignments: {ast.unparse(node)[:60]}")
    if values != PARAMETERS:
        faults.append(f"the parameters are {values}, must be {PARAMETERS}")
    return faults


def has_known_tags(notebook: Notebook) -> list[str]:
    """A tag nobody knows does nothing, and `raises-exception` would let a failing cell pass."""
    return [
        f"cell {number} is tagged {tag!r}; known are {', '.join(sorted(TAGS))}"
        for number, cell in enumerate(notebook["cells"], start=1)
        for tag in sorted(tags(cell) - TAGS)
    ]


def sections(notebook: Notebook) -> list[tuple[str, int, int]]:
    """Of each part of a chapter, from one heading of level 2 to the next: the heading, its words, its open code cells.

    Words are counted in text alone, without answers that are folded there.
    """
    found = [("", 0, 0)]
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            heading, words, code = found.pop()
            found.append((heading, words, code + is_shown(cell)))
            continue
        first, *others = re.split(r"^(?=## )", FOLDED.sub("", as_roles(source(cell))), flags=re.M)
        heading, words, code = found.pop()
        found.append((heading, words + len(first.split()), code))
        found += [(part.splitlines()[0], len(part.split()), 0) for part in others]
    return found


def has_the_size_of_a_chapter(notebook: Notebook) -> list[str]:
    parts = sections(notebook)
    core = [part for part in parts if not part[0].startswith(FURTHER)]
    all_words, words, open_cells = (sum(part[i] for part in of) for of, i in ((parts, 1), (core, 1), (core, 2)))
    shown = [cell for cell in code_cells(notebook) if is_shown(cell)]
    counts = [lines(cell) for cell in shown] or [0]
    faults = []
    if not WORDS[0] <= all_words <= WORDS[1]:
        faults.append(f"{all_words} words, must be {WORDS[0]} to {WORDS[1]}")
    if len(core) < len(parts) and not CORE[0] <= words <= CORE[1]:
        faults.append(f"{words} words are not Further, must be {CORE[0]} to {CORE[1]}")
    if not CODE_CELLS[0] <= open_cells <= CODE_CELLS[1]:
        faults.append(f"{open_cells} code cells on the page, must be {CODE_CELLS[0]} to {CODE_CELLS[1]}")
    if statistics.median(counts) > MEDIAN_LINES:
        faults.append(f"the median code cell has {statistics.median(counts):g} lines, at most {MEDIAN_LINES}")
    faults += [f"a code cell of {n} lines, at most {MOST_LINES}" for n in counts if n > MOST_LINES]
    faults += [
        f"a line of {len(line)} characters, at most {LINE_WIDTH}: {line.strip()[:40]}"
        for cell in shown
        for line in source(cell).splitlines()
        if len(line) > LINE_WIDTH
    ]
    return faults


def marks_what_is_further(notebook: Notebook) -> list[str]:
    """As `## Further: name` alone, which the page folds; another spelling would leave the section open."""
    marked = re.compile(r"further\b", flags=re.I)
    return [
        f"{title!r} of level {level} is not marked as {FURTHER + 'name'!r}"
        for level, title in headings(notebook)
        if marked.match(title) and not re.match(FURTHER + r"\S", f"{level * '#'} {title}")
    ]


def reads_as_words(notebook: Notebook) -> list[str]:
    """No Jupyter shows the marks of Sphinx: a link stands for each (`as_roles`). Formulas are numbered as they come."""
    cells = {n: source(c) for n, c in enumerate(notebook["cells"], start=1) if c["cell_type"] == "markdown"}
    faults = [f"cell {n} shows {raw!r} as it is" for n, text in cells.items() for raw in SPHINX.findall(text)]
    text = "\n".join(cells.values())
    numbers = {label: str(number) for number, (label, _) in enumerate(NUMBERED.findall(text), start=1)}
    said = NUMBERED.findall(text) + [(label, n) for n, label in re.findall(r"\[\((\d+)\)\]\(#(eq-[\w-]+)\)", text)]
    made = as_roles(text)  # where a paper's address is left the words are not as its author and year are
    faults += [f"{name} is not cited so" for name, home in papers().values() if f"]({home})" in made]
    return faults + [f"{label} is called ({n})" for label, n in said if numbers.get(label) != n]


def hides_little(notebook: Notebook) -> list[str]:
    """Code hidden in a notebook is still code: what is long belongs into the library."""
    hidden = [lines(cell) for cell in code_cells(notebook) if tags(cell) & HIDDEN and "bootstrap" not in tags(cell)]
    faults = [f"a hidden cell of {n} lines, at most {HIDDEN_CELL}" for n in hidden if n > HIDDEN_CELL]
    if sum(hidden) > HIDDEN_LINES:
        faults.append(f"{sum(hidden)} hidden lines of code, at most {HIDDEN_LINES}")
    return faults


def keeps_its_answers(notebook: Notebook) -> list[str]:
    """Whoever opens the file in Colab or a clone sees no solution and no answer: both stand in a text of the checks."""
    return [
        f"a solution or an answer stands in cell {number}"
        for number, cell in enumerate(notebook["cells"], start=1)
        if ANSWER.search(source(cell)) or ("hide-cell" in tags(cell) and not SOLUTION.fullmatch(source(cell)))
    ]


def asserts_proofs_only(notebook: Notebook) -> list[str]:
    """What a training reached is a finding; an assert on it would stop a build whose seed fell otherwise.

    So an assert that follows the first training stands in a cell tagged `proof`, and a proof trains nothing. No assert
    asks for the profile: a proof holds in all.
    """
    faults = []
    trainers, trained = {"fit", "fit_side_by_side"}, False
    for number, cell in enumerate(notebook["cells"], start=1):
        if cell["cell_type"] != "code":
            continue
        trains = False
        for statement in parsed(cell).body:
            if calls(statement) & trainers or re.search(r"\.step\(\)", ast.unparse(statement)):
                if isinstance(statement, ast.FunctionDef):
                    trainers.add(statement.name)
                else:
                    trains = trained = True
        if trains and tags(cell) & {"proof", "figure"}:
            faults.append(f"cell {number} trains: it is no {' and no '.join(tags(cell) & {'proof', 'figure'})}")
        asserting = [node for node in ast.walk(parsed(cell)) if isinstance(node, ast.Assert | ast.If)]
        asserting = [node for node in asserting if any(isinstance(one, ast.Assert) for one in ast.walk(node))]
        if trained and asserting and "proof" not in tags(cell):
            faults.append(f"cell {number} asserts after a training and is not tagged proof")
        if any(re.search(r"\bprofile\b", ast.unparse(node.test)) for node in asserting):
            faults.append(f"cell {number} asserts under a condition on the profile")
    return faults


def states_its_findings(notebook: Notebook) -> list[str]:
    """There are findings, each with a sentence that ends, and no remark that something was tried over some seeds."""
    faults = [
        f"cell {number}: {found[0]!r}: a finding carries its rate"
        for number, cell in enumerate(notebook["cells"], start=1)
        if (found := re.search(r"(checked )?over \d+ seeds", source(cell)))
    ]
    found = [
        node
        for cell in code_cells(notebook)
        for node in ast.walk(parsed(cell))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "finding"
    ]
    if not found:
        faults.append("no finding: the headline of a chapter is one")
    for call in found:
        texts = [ast.unparse(argument) for argument in call.args[:2]]
        if len(call.args) != 4:
            faults.append(f"evidence.finding({', '.join(texts)}) does not have id, sentence, value and bound")
        elif not ast.unparse(call.args[1]).rstrip("'\"").endswith("."):
            faults.append(f"the sentence of {texts[0]} does not end with a full stop")
    return faults


def names_no_machine_path(notebook: Notebook) -> list[str]:
    return [
        f"cell {number} names a path of one machine: {found[0]!r}"
        for number, cell in enumerate(notebook["cells"], start=1)
        if (found := MACHINE_PATH.search(source(cell)))
    ]


def solves_its_exercises(notebook: Notebook) -> list[str]:
    """Three to five cells are the reader's, and below each, before the next, one asks for the solution."""
    marks = ["S" if "hide-cell" in own else "E" for c in code_cells(notebook) if (own := tags(c) & ASKED)]
    return [] if re.fullmatch("(ES+){3,5}", "".join(marks)) else [f"exercises and solutions follow as {marks}"]


def has_both_kinds_of_control(notebook: Notebook) -> list[str]:
    """What works on the page, and the control for readers with a kernel, tagged `live`."""
    faults = []
    code = code_cells(notebook)
    if not any({"explorer", "film", "play"} & calls(parsed(cell)) for cell in code):
        faults.append("no explorer, no film and no live figure")
    if not any("live" in tags(cell) for cell in code):
        faults.append("no cell is tagged live")
    for number, cell in enumerate(code, start=1):
        if ("live" in tags(cell)) != ("slider" in calls(parsed(cell))):
            faults.append(f"code cell {number}: the tag live and a call of plots.slider go together")
    return faults


CHECKS: list[Callable[[Notebook], list[str]]] = [
    is_valid,
    has_no_outputs,
    has_clean_metadata,
    has_unique_ids,
    has_one_title,
    begins_as_agreed,
    has_known_tags,
    has_the_size_of_a_chapter,
    marks_what_is_further,
    reads_as_words,
    hides_little,
    keeps_its_answers,
    asserts_proofs_only,
    states_its_findings,
    names_no_machine_path,
    solves_its_exercises,
    has_both_kinds_of_control,
]


def bootstraps_differ(notebooks: Mapping[str, Notebook]) -> list[str]:
    """Notebooks whose bootstrap is not the first one's but for data and bertviz, which are what cells below use."""
    texts, of = {}, tasks.files.names_of
    for name, (first, *others) in {name: [*map(source, code_cells(own))] for name, own in notebooks.items()}.items():
        below = "\n".join(others)
        head, _, fetched = first.partition("\n    from rtx_lib.tasks.download import try_fetch\n\n    print(try_fetch")
        calls = fetched, " ".join(re.findall(r"\bavailable\(.*?\)", below))
        brought, read = ({own for text in re.findall(r'"(\S+?)"', call) for own in of(text)} for call in calls)
        for task, origin in re.findall(r'\b([A-Z]\w+)\((?:"(\w+)")?', below):
            files = getattr(getattr(tasks, task, None), "files", ())  # all that it reads, or by its source
            read.update(files.get(origin, ()) if isinstance(files, Mapping) else files)
        right = brought == read and ("attention_view(" in below) == (', "bertviz"' in head)
        texts[name] = head.replace(', "bertviz"', "") if right else f"{first}\n{read}"
    return [name for name, text in texts.items() if text != next(iter(texts.values()))]


def toc_faults(named: Iterable[Path], there: Iterable[Path]) -> list[str]:
    """Notebooks that the table of contents names and nobody wrote, and the other way round."""
    named, there = list(named), set(there)
    faults = [f"_toc.yml names {path.name}, which is missing" for path in named if path not in there]
    faults += [f"{path.name} is not in _toc.yml" for path in sorted(there - set(named))]
    return faults + [f"_toc.yml names {path.name} twice" for path in sorted({p for p in named if named.count(p) > 1})]
