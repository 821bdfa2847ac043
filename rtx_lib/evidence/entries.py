"""Files that a person writes, a list of entries each: claims, advice, statements."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from rtx_lib.evidence import rules


def read_entries(path: Path, kind: type[Any], word: str, needed: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """The entries of a YAML file as objects, each with a name for messages: ``claim tcn-copy``, ``claim number 3``.

    Parameters
    ----------
    path
        The file.
    kind
        A dataclass, whose fields are the keys that an entry may have; one with rules has ``rules`` and ``ours``.
    word
        What an entry is called.
    needed
        The keys that must be filled.

    Raises
    ------
    ValueError
        Naming the first entry that has another key, lacks one, has a rule that is none, or the id of an
        earlier one.
    """
    known, ids = [field.name for field in dataclasses.fields(kind)], set[str]()
    for place, entry in enumerate(yaml.safe_load(path.read_text(encoding="utf-8")) or [], start=1):
        name = f"{word} {entry.get('id', f'number {place}')}"
        if unknown := sorted(set(entry) - set(known)):
            raise ValueError(f"{name}: unknown {', '.join(unknown)}; there are {', '.join(known)}")
        if missing := sorted(key for key in needed if not entry.get(key)):
            raise ValueError(f"{name}: {', '.join(missing)} missing")
        if entry.get("id") in ids:
            raise ValueError(f"{name}: two have this id")
        ids |= {entry["id"]} if "id" in entry else set()
        found = kind(**entry)
        for line in found.rules:
            try:
                rules.parse(line, found.ours)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from error
        yield name, found
