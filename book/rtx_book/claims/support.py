"""What each sentence with numbers rests on: ``python -m rtx_book.claims.support`` lists those that rest on nothing.

Its exit status is 1 if there is one. With ``--draw 20 --seed 1`` it prints twenty sentences, drawn by the seed, each
with its support, for a person to check: a number that stands in a run's code need not mean the same there.

=============  =====================================================================================================
support        of a number
=============  =====================================================================================================
``record``     it stands in a ``data-record`` mark
``formula``    its sentence computes it
``statement``  an entry of ``book/statements.yml`` says its sentence, or a part of it
``finding``    it stands in the sentence or the bound of a finding within three cells, or of one that is named
``proof``      it stands in a cell with an ``assert`` within three cells
``run``        it stands in the code within three cells
``program``    it stands in a program or a record that ``PROGRAMS`` names for its page
``asked``      a question, an option or an instruction of its cell sets it
``citation``   its paragraph cites a source, and its sentence says nothing of ours
``setting``    it is a number in the code of another cell of its page
=============  =====================================================================================================

A number that counts runs, as in "five seeds" or "4 of 5", stands in no run by chance: it takes a finding, a proof, a
program, a citation, or a line of the page's code that speaks of seeds or runs (``seeds``).
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rtx_book.claims.claims import as_roles
from rtx_book.claims.findings import STUDY, load_study
from rtx_book.claims.statements import Statement, read_statements
from rtx_book.paths import PACKAGE, cells_of, chapters_of, solution_text, texts
from rtx_book.records.measured import MARK

KINDS = ("finding", "proof", "run", "seeds", "program", "asked", "citation", "setting")
"""What a number in no mark, formula or statement may rest on, the strongest first."""
FAR = ("seeds", "setting")
"""What may stand anywhere on the page; the other kinds that are code, within ``NEAR`` cells."""
NEAR = 3
"""Cells to either side in which code is a sentence's own."""
PAGES = ("intro", "findings", "speed")
"""Pages of ``book`` that are read besides the chapters."""
_TOLD = texts("claims/support.yml")
PROGRAMS: dict[str, list[str]] = _TOLD["programs"]
"""By page what made the numbers that it tells, under ``book``."""

WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_FIGURES = r"\d+(?:,\d{3})*(?:\.\d+)?"
_ONE = rf"{_FIGURES}|\b(?:{'|'.join(WORDS)})\b"
_RUNS = r"(?:seeds?|runs?|times|tries)\b"
NUMBER = re.compile(rf"({_FIGURES}|(?:{_ONE})(?= (?:of|{_RUNS})))", re.IGNORECASE)
COUNT = re.compile(rf"({_ONE}) (?:{_RUNS}|of ({_ONE}))", re.IGNORECASE)
CITED = re.compile(r"\{cite(?::\w+)?\}`([^`]*)`")
OURS = re.compile(r"\b(?:we|ours?|here)\b", re.IGNORECASE)
BREAK = re.compile(r"(?<=[.!?:])\s+(?=[A-Z*\[<(])|\n(?=\||- )")
# An instruction's number is the author's choice, unless it goes on to say what comes of it.
VERBS = "add|choose|do so|let|move|press|put|set|take|tick|write"
INSTRUCTION = re.compile(rf"(?is)\W*(?:In \*[^*]+\*, |Then |Now )?(?:{VERBS})\b(?!.*(?:\b(?:our|we|where)\b|: then))")
BLOCKS, QUIET, LOOKS = (re.compile(_TOLD[name]) for name in ("blocks", "quiet", "looks"))


class Sentence(NamedTuple):
    """A sentence with numbers, what they rest on (a kind and what it is), and the numbers that rest on nothing."""

    page: str
    text: str
    rests: Sequence[str]
    bare: Sequence[str]


def digits(text: str) -> str:
    """A text with its number words as digits and without separators in its numbers."""
    for place, word in enumerate(WORDS, start=2):
        text = re.sub(rf"\b{word}\b", str(place), text, flags=re.IGNORECASE)
    return re.sub(r"(?<=\d)[,_](?=\d{3})", "", text)


def numbers(text: str, pattern: re.Pattern[str] = NUMBER) -> list[str]:
    """The numbers that a text claims, or those of a ``pattern``; none of a question or an instruction."""
    if text.rstrip().endswith("?") or INSTRUCTION.match(text):
        return []
    return [digits(one) for found in pattern.finditer(QUIET.sub(" ", text)) for one in found.groups() if one]


def asked(text: str) -> str:
    """The questions, the options and the instructions of a cell of Markdown."""
    options = re.findall(r"<summary>.*?</summary>", text)
    parts = (one for paragraph in re.split(r"\n\s*\n", text) for one in BREAK.split(paragraph))
    return digits(" ".join([*options, *(one for one in parts if one.rstrip().endswith("?") or INSTRUCTION.match(one))]))


def stands(number: str, text: str) -> bool:
    return bool(re.search(rf"(?<![\w.]){re.escape(number)}(?!\d|\.\d)", text))


def typed(code: str) -> str:
    """The numbers of Python code, each as one is printed."""
    nodes = ast.walk(ast.parse(code))
    return " ".join(str(n.value) for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, int | float))


def finding_calls(code: str) -> list[list[str]]:
    """Of each call of ``finding`` in Python code what it is given, its id first; nothing for what is no constant."""
    calls = (node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call))
    of_findings = (call for call in calls if getattr(call.func, "attr", "") == "finding")
    return [[str(one.value) if isinstance(one, ast.Constant) else "" for one in call.args] for call in of_findings]


def sources(number: int, code: str) -> list[tuple[str, str, str]]:
    """What numbers may rest on in one cell of code: kinds, names, and the texts in which a number must stand."""
    texts = {"run": code, "seeds": "\n".join(re.findall(rf"^.*{_RUNS}.*$", code, re.M)), "setting": typed(code)}
    if "assert " in code:
        texts["proof"] = code
    cell = [(kind, f"{kind} in cell {number}", digits(text)) for kind, text in texts.items()]
    return [*(("finding", f"finding {name}", digits(" ".join(rest))) for name, *rest in finding_calls(code)), *cell]


def with_solution(page: str, kind: str, text: str) -> list[tuple[str, str]]:
    """A cell, and what it shows if it is one of a solution or a field: their code, and what the solution says."""
    if kind != "code" or not (asked := re.search(r"^checks\.(solution|ask)\((\d+)\)$", text, re.M)):
        return [(kind, text)]
    parts = re.split(r"^```python.*?\n(.*?)^```$", solution_text(page, asked[2]), flags=re.M | re.S)
    told = [("markdown", part) for part in parts[::2] if part.strip() and asked[1] == "solution"]
    return [(kind, "\n".join([text, *parts[1::2]])), *told]


def read_page(root: Path, name: str) -> list[tuple[str, str]]:
    """The cells of a page with their kinds, then what else supports it: programs, and on their page all findings."""
    prose = root / "book" / f"{name}.md"
    found = [("markdown", prose.read_text(encoding="utf-8"))] if prose.exists() else cells_of(root, name)
    found = [shown for kind, text in found for shown in with_solution(name, kind, as_roles(text))]
    for program in (own for pattern in PROGRAMS.get(name, ()) for own in sorted((root / "book").glob(pattern))):
        text = program.read_text(encoding="utf-8")
        found.append((f"program {program.name}", f"{text} {typed(text) if program.suffix == '.py' else ''}"))
    study = load_study(root / "book" / "results" / STUDY) if name == "findings" else {}
    known = [one for chapter in study.get("chapters", {}).values() for one in chapter["findings"].items()]
    return [*found, *((f"finding {id}", f"{own['sentence']} {own['bound']}") for id, own in known)]


def sentences(page: str, cells: Sequence[tuple[str, str]], statements: Sequence[Statement]) -> list[Sentence]:
    """The sentences with numbers of one page in order, with their support.

    Parameters
    ----------
    page
        Its name.
    cells
        As :func:`read_page` gives them.
    statements
        All of the book; those of other pages support nothing here.
    """
    said = [(BREAK.split(" ".join(one.says.split())), one) for one in statements if page in (one.chapter, one.page)]
    code = {n: sources(n + 1, LOOKS.sub(r"\1=None", text)) for n, (kind, text) in enumerate(cells) if kind == "code"}
    texts = [(place, BLOCKS.sub("", text)) for place, (kind, text) in enumerate(cells) if kind == "markdown"]
    sets = {place: asked(text) for place, (kind, text) in enumerate(cells) if kind == "markdown"}
    made = [(kind.split()[0], kind, digits(text.replace(",", ", "))) for kind, text in cells if " " in kind]
    found = []
    for place, paragraph in ((place, part) for place, text in texts for part in re.split(r"\n\s*\n", text)):
        near = [thing for other, own in code.items() for thing in own if abs(other - place) <= NEAR or thing[0] in FAR]
        near += [own for own in made if own[0] == "program" or f"`{own[1].split()[1]}`" in paragraph]
        near += [("asked", f"what cell {place + 1} asks", sets[place])]
        near += [("citation", f"citation {key}", "") for key in CITED.findall(paragraph)]
        things = sorted(near, key=lambda thing: KINDS.index(thing[0]))
        for sentence in filter(numbers, BREAK.split(paragraph)):
            text, counts = " ".join(sentence.split()), numbers(sentence, COUNT)
            bare: list[str] = []
            shown = " ".join(re.findall(r"\$[^$]*(?:=|approx)[^$]*\$", sentence))
            rests = [f"record {path}" for path, _ in MARK.findall(sentence)]
            own = [one for parts, one in said if any(part in text or text in part for part in parts)]
            rests += [f"statement {one.says!r}: {'; '.join(one.rules)}" for one in own]
            for number in [] if own else numbers(MARK.sub(" ", sentence)):
                void = {"run", "asked", "setting"} if number in counts else {"seeds"}
                void |= {"citation"} if OURS.search(text) else set()
                names = (n for k, n, t in things if k not in void and (k == "citation" or stands(number, t)))
                name = f"formula {shown}" if stands(number, digits(shown)) else next(names, "")
                rests, bare = rests + [f"{name} ({number})"] * bool(name), bare + [number] * (not name)
            found.append(Sentence(page, text, list(dict.fromkeys(rests)), bare))
    return found


def of_book(root: Path) -> list[Sentence]:
    """The sentences with numbers of all chapters and of some pages, page by page."""
    statements = read_statements(root / "book" / "statements.yml")
    return [one for page in (*chapters_of(root), *PAGES) for one in sentences(page, read_page(root, page), statements)]


def main(words: Sequence[str] | None = None, root: Path | None = None) -> int:
    """Print what is asked for of the checkout ``root``, the book's own if None."""
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m rtx_book.claims.support", description=about)
    parser.add_argument("--draw", type=int, default=0, help="print so many sentences, with what each rests on")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    asked = parser.parse_args(words)
    found = of_book(root or PACKAGE.parents[1])
    bare = [one for one in found if one.bare]
    for one in random.Random(asked.seed).sample(found, min(asked.draw, len(found))) if asked.draw else bare:
        print(f"{one.page}: {one.text}", *one.rests, *(f"NOTHING ({number})" for number in one.bare), sep="\n    ")
    print(f"{len(bare)} of {len(found)} sentences with numbers rest on nothing.")
    return bool(bare)


if __name__ == "__main__":
    sys.exit(main())
