"""Advice under the rules of the claims: entries of ``book/guide.yml``, each given only while the records bear it out.

An entry names a *situation* in the reader's words, the *advice* as Markdown whose numbers are marks
(:mod:`rtx_book.records.measured`), under ``ours`` the numbers that it rests on, and the ``rules`` that must be true of
them (:mod:`rtx_book.records.rules`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rtx_book.paths import book_file
from rtx_book.records import measured
from rtx_book.records.rules import read_entries, truth
from rtx_book.records.seeds import MIN_SEEDS, varies

MOST_NAMED = 4  # of an entry: a line with more is no longer read


@dataclass(frozen=True)
class Advice:
    """One entry of the file."""

    id: str
    situation: str
    advice: str
    ours: Mapping[str, str]
    rules: Sequence[str]


def read_guide(path: Path | None = None) -> list[Advice]:
    """The entries of a file, of the book's where none is named.

    Raises
    ------
    ValueError
        Naming the entry that lacks something or has a rule that is none, or an id that occurs twice.
    """
    found = read_entries(path or book_file("guide.yml"), Advice, "advice", list(Advice.__dataclass_fields__))
    return [advice for _, advice in found]


def supported(entry: Advice, records: measured.Records) -> bool:
    """Whether every rule of the entry is true, with at least `MIN_SEEDS` runs of what a seed changes."""
    try:
        for path in entry.ours.values():
            runs = records[measured.split(path, records)[0]]
            if not runs or (len(runs) < MIN_SEEDS and varies(runs[0])):
                return False
        return all(truth(rule, entry.ours, records) for rule in entry.rules)
    except measured.Unmeasured:
        return False


def told(entry: Advice, records: measured.Records) -> str:
    """The entry as a line of Markdown: its numbers out of the records, some of which are named for the site to link."""
    text = measured.MARK.sub(lambda mark: measured.formatted(measured.value(mark[1], records), mark[2]), entry.advice)
    recipes = dict.fromkeys(measured.split(path, records)[0] for path in entry.ours.values())
    there = [records[recipe][0]["recipe"] for recipe in recipes if not records[recipe][0].get("computed")]
    named = [f'<span data-recipe="{recipe}">{recipe}</span>' for recipe in there[:MOST_NAMED]]
    rest = f"*{entry.situation}* {' '.join(text.split())}"
    return f"{rest} ({', '.join(named)}{', …' * (len(there) > MOST_NAMED)})" if named else rest


def guide(records: measured.Records, path: Path | None = None) -> Any:
    """All advice that the records bear out, as a list; of the rest it is said that they do not.

    Parameters
    ----------
    records
        The runs by recipe, and what was computed from them in the same form.
    path
        Of the file; the book's where none is named.
    """
    from IPython.display import Markdown

    entries = read_guide(path)
    lines = [f"- {told(entry, records)}" for entry in entries if supported(entry, records)]
    if silent := [entry.situation for entry in entries if not supported(entry, records)]:
        lines.append(f"\n*Our records do not decide what to do here:* {' '.join(silent)}")
    return Markdown("\n".join(lines))
