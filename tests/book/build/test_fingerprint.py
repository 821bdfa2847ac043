"""What may decide a finding changes a chapter's fingerprint; figures, layout, sentences and bounds do not."""

import pytest
from support.helpers import code_cell

from rtx_book.build.fingerprint import fingerprint

CHAPTER = """
from rtx_lib.training import fit as train
import numpy
---
steps = {"smoke": 1, "book": 10}[profile]
---
def learn(k):
    "Trains."
    return train(build(k, RECIPES["adding"]), steps=steps)
---figure
show(fig, alt="a line")
---
torch.manual_seed(seed)
end = learn(f"copy-{2}")
evidence.finding("a-b", "It learns.", end.loss, "< 1")
---
print(exercise)
"""
RECIPES = {"adding": "a rate", "copy-2": "a rate", "lag": "a rate"}


def hashed(text=CHAPTER, recipes=RECIPES):
    cells = [cell.partition("\n") for cell in ("---" + text).split("---")[1:]]
    return fingerprint({"cells": [code_cell(code, *tag.split()) for tag, _, code in cells]}, recipes)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[profile]", "[\n    profile]  # of the book"),
        ('    "Trains."\n', ""),
        ("show(fig", "show(other"),
        ('"It learns."', '"It learns to copy."'),
        ('"< 1"', '"< 2"'),
        ("rtx_lib.training import fit as train", "rtx_lib.elsewhere import fit as train"),
        ("import numpy", "import scipy"),
        ("print(exercise)", "print(another)"),
    ],
)
def test_the_study_is_kept(old, new):
    assert old in CHAPTER and hashed(CHAPTER.replace(old, new)) == hashed()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"book": 10', '"book": 11'),
        ("seed(seed)", "seed(0)"),
        ("end.loss", "2 * end.loss"),
        ("import fit as", "import fit_side_by_side as"),
        ("---figure", "---"),
    ],
)
def test_the_study_is_stale(old, new):
    assert old in CHAPTER and hashed(CHAPTER.replace(old, new)) != hashed()


def test_recipes_that_the_code_names_count_and_no_others():
    changed = [name for name in RECIPES if hashed(recipes=RECIPES | {name: "another rate"}) != hashed()]
    assert changed == ["adding", "copy-2"]


def test_the_fingerprint_is_one_for_all_versions_of_python():
    """The parsers differ in fields that say nothing here, the writers in brackets."""
    assert hashed() == "3a1e24ef4d2b7ab5"
