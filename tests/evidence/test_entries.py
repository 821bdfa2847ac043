"""Files of entries: every one is an object with a name, and a wrong one is named."""

from dataclasses import dataclass, field

import pytest
import yaml

from rtx_lib.evidence.rules import read_entries


@dataclass(frozen=True)
class Said:
    says: str
    id: str = ""
    ours: dict[str, str] = field(default_factory=dict)
    rules: list[str] = field(default_factory=list)


RULED = {"says": "A is low", "ours": {"A": "a.loss"}, "rules": ["every A < 1"]}


def read(tmp_path, *entries):
    path = tmp_path / "said.yml"
    path.write_text(yaml.safe_dump(list(entries)) if entries else "# nothing yet\n")
    return list(read_entries(path, Said, "saying", ["says"]))


def test_entries_are_objects_with_names(tmp_path):
    assert read(tmp_path, {"says": "rain", "id": "weather"}, RULED) == [
        ("saying weather", Said("rain", "weather")),
        ("saying number 2", Said(**RULED)),
    ]
    assert read(tmp_path) == []


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"says": "rain", "sayz": "sun"}, "saying number 2: unknown sayz; there are says, id, ours, rules"),
        ({"id": "silent"}, "saying silent: says missing"),
        ({"says": "", "id": "empty"}, "saying empty: says missing"),
        ({"says": "sun", "id": "first"}, "saying first: two have this id"),
        (RULED | {"rules": ["every A is low"]}, "saying number 2: .*is no rule"),
        (RULED | {"rules": ["every B < 1"]}, "saying number 2: .*names 'B'"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_a_wrong_entry_is_named(tmp_path, entry, message):
    with pytest.raises(ValueError, match=message):
        read(tmp_path, {"says": "rain", "id": "first"}, entry)
