"""What each sentence with a number rests on: ``python -m rtx_book.claims.support``; status 1 if one rests on nothing.

With ``--draw 20 --seed 1`` it prints twenty sentences, drawn by the seed, each with its support, for a person to check:
the command sees that a number stands in a run's code, a record's mark or a quoted rule, not that it means the same.

=============  =====================================================================================================
support        of a number
=============  =====================================================================================================
``record``     it stands in a ``data-record`` mark
``statement``  an entry of ``book/statements.yml`` says its sentence, or a part of it
``citation``   its paragraph cites a source
``finding``    it stands in the sentence or the bound of a finding within three cells
``proof``      it stands in a cell with an ``assert`` within three cells
``run``        it stands in the code within three cells
``setting``    it is a number in the code of another cell of its page
=============  =====================================================================================================
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rtx_book.claims.statements import Statement, read_statements, strings
from rtx_book.records.measured import MARK

KINDS = ("finding", "proof", "run", "setting")
NEAR = 3
"""Cells to either side in which code is a sentence's own."""
PAGES = ("intro", "findings", "speed")
"""Pages of ``book`` that are read besides the chapters."""

WORDS = dict(zip("two three four five six seven eight nine ten twelve twenty".split(), "2 3 4 5 6 7 8 9 10 12 20".split()))
NUMBER = re.compile(rf"\d[\d,]*(?:\.\d+)?|\b(?:{'|'.join(WORDS)})\b(?= (?:of|seeds|runs|times|tries)\b)", re.IGNORECASE)
COUNT = re.compile(rf"({NUMBER.pattern})(?: (?:seeds|runs|times|tries)\b| of ({NUMBER.pattern.partition('|')[0]}|(?:{'|'.join(WORDS)})\b))", re.IGNORECASE)
COUNTED = re.compile(r"^.*(?:seeds?|runs?|times|tries)\b.*$", re.MULTILINE)
EMPTY = re.compile(r"\n\s*\n")
CITED = re.compile(r"\{cite(?::\w+)?\}`([^`]*)`")
BREAK = re.compile(r"(?<=[.!?:])\s+(?=[A-Z*\[<(])|\n\s*\n")
INSTRUCTION = re.compile(
    r"\W*(?:In \*[^*]+\*, |Then |Now )?(?:add|choose|do so|let|move|press|put|set|take|tick|write)\b"
    r"(?!.*(?:\b(?:our|we|where)\b|: then))",
    re.DOTALL | re.IGNORECASE,
)
BLOCKS = re.compile(
    r"""
    \$\$.*?\$\$ | ^```\w*\n.*?^```$            # equations and code
    | <svg.*?</svg> | <summary>.*?</summary>    # drawings; the options of a guess, of which two in three are wrong
    | ^(?:```\{|\#|:options:|\|[-:\s|]*\|$).*?$  # heads of directives, sections and tables
    """,
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
QUIET = re.compile(
    r"""
    \$[^$]*\$                                 # a formula defines or computes: the sentence itself shows how
    | `[^`]*` | <[^>]*> | \]\([^)]*\)          # code, roles, tags and addresses
    | \b\d+(?:st|nd|rd|th)\b | \b(?:19|20)\d\ds?\b | ^\s*\d+\.\   # ordinals, years, numbers of a list
    | \b(?:appendix|chapter|eq\.|equation|exercise|figure|guess|lemma|section|step|table|theorem)s?\ \(?\d[\d.]*
    | \b[A-Za-z]+-?\d+\b | BY\ 4\.0 | \d+\ [x×]\ \d+   # names, as GPT-2 and a licence's, and sizes of pictures
    """,
    re.MULTILINE | re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True)
class Sentence:
    """A sentence with numbers, what they rest on (a kind and what it is), and the numbers that rest on nothing."""

    page: str
    text: str
    rests: Sequence[str]
    bare: Sequence[str]


def numbers(text: str) -> list[str]:
    """The numbers of a text that it claims, as code writes them; none in a question or an instruction."""
    if text.rstrip().endswith("?") or INSTRUCTION.match(text):
        return []
    found = NUMBER.findall(QUIET.sub(" ", text))
    return [WORDS.get(one.lower(), one.replace(",", "")) for one in found]


def digits(text: str) -> str:
    """A text with its number words as digits, and no separators in numbers."""
    return NUMBER.sub(lambda found: WORDS.get(found[0].lower(), found[0].replace(",", "")), text.replace("_", ""))


def counts(text: str) -> list[str]:
    """The numbers that count runs, as "five seeds" and "4 of 5": the same digit elsewhere in code says nothing of them."""
    pairs = COUNT.findall(QUIET.sub(" ", text))
    return [WORDS.get(one.lower(), one) for pair in pairs for one in pair if one]


def stands(number: str, code: str) -> bool:
    return bool(re.search(rf"(?<![\w.]){re.escape(number)}(?!\d|\.\d)", re.sub(r"(?<=\d)[,_](?=\d)", "", code)))


def sources(number: int, code: str) -> dict[str, list[tuple[str, str]]]:
    """What a number may rest on in one cell of code, by kind: the names of these things, and their text."""
    nodes = list(ast.walk(ast.parse(code)))
    calls = [node for node in nodes if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "finding"]
    told = [[str(one.value) for one in call.args if isinstance(one, ast.Constant)] for call in calls]
    typed = [str(n.value) for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, int | float)]
    return {
        "finding": [(f"finding {id}", " ".join(rest)) for id, *rest in told],
        "proof": [(f"proof in cell {number}", code)] if "assert " in code else [],
        "run": [(f"run in cell {number}", code)],
        "setting": [(f"setting in cell {number}", " ".join(typed))],
        "seeds": [(f"seeds in cell {number}", digits("\n".join(COUNTED.findall(code))))],
    }


def read_page(root: Path, name: str) -> list[tuple[str, str]]:
    """The cells of a chapter or of a page, each with its kind; a page has one."""
    path = root / "notebooks" / f"{name}.ipynb"
    if not path.exists():
        return [("markdown", (root / "book" / f"{name}.md").read_text(encoding="utf-8"))]
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [(cell["cell_type"], "".join(cell["source"])) for cell in cells]


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
    said = [(" ".join(one.says.split()), one) for one in statements if page in (one.chapter, one.page)]
    code = {place: sources(place + 1, text) for place, (kind, text) in enumerate(cells) if kind == "code"}
    found = []
    for place, paragraph in ((i, p) for i, (kind, s) in enumerate(cells) if kind != "code" for p in EMPTY.split(BLOCKS.sub("", s))):
        cited = [f"citation {key}" for key in CITED.findall(paragraph)]
        near = {i: kinds for i, kinds in code.items() if abs(i - place) <= NEAR}
        for sentence in filter(numbers, BREAK.split(paragraph)):
            one = " ".join(sentence.split())
            quoted = [own for says, own in said if any(part in one or one in part for part in BREAK.split(says))]
            rests = [f"record {path}" for path, _ in MARK.findall(sentence)]
            rests += [f"statement {own.says!r}: {'; '.join(own.rules)}" for own in quoted] or cited
            shown = "".join(re.findall(r"\$[^$]*(?:=|approx)[^$]*\$", sentence))
            bare = [] if quoted or cited else numbers(MARK.sub(" ", sentence))
            bare = [number for number in bare if not stands(number, shown)]
            for number in [*bare]:
                for kind in ("finding", "proof", "seeds") if number in counts(sentence) else KINDS:
                    there = near if kind in KINDS[:3] else code
                    if names := [name for kinds in there.values() for name, text in kinds[kind] if stands(number, text)]:
                        rests.append(f"{names[0]} ({number})")
                        bare.remove(number)
                        break
            found.append(Sentence(page, one, list(dict.fromkeys(rests)), bare))
    return found


def of_book(root: Path) -> list[Sentence]:
    """The sentences with numbers of all chapters and of some pages, page by page."""
    statements = read_statements(root / "book" / "statements.yml")
    chapters = sorted(path.stem for path in (root / "notebooks").glob("[a-z]*.ipynb"))
    return [own for name in (*chapters, *PAGES) for own in sentences(name, read_page(root, name), statements)]


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m rtx_book.claims.support", description=__doc__.partition("\n")[0])
    parser.add_argument("--draw", type=int, default=0, help="print so many sentences, with what each rests on")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    asked = parser.parse_args(words)
    found = of_book(book_root())
    bare = [one for one in found if one.bare]
    drawn = random.Random(asked.seed).sample(found, min(asked.draw, len(found))) if asked.draw else bare
    for one in drawn:
        rests = [*one.rests, *(f"NOTHING ({number})" for number in one.bare)]
        print(f"{one.page}: {one.text}", *(f"    {line}" for line in rests), sep="\n")
    print(f"{len(bare)} of {len(found)} sentences with numbers rest on nothing.")
    return bool(bare)


if __name__ == "__main__":
    sys.exit(main())
