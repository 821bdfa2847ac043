"""What a machine may lack that some tests need. They are skipped, and one line at the end of the run says so.

With RTX_REQUIRE_ALL=1, as in CI, that line makes the run red, but for what no run can be asked to have.
"""

import os
import re
from collections import Counter
from collections.abc import Iterable
from typing import NoReturn

import pytest

# What, and what to type for it.
WAYS = {
    "a browser": "install Chromium, or say CHROMIUM=path",
    "Firefox": "install Firefox, or say FIREFOX=path",
    "Node": "install Node with npm",
    "git": "install git",
    "data files": "make data",
    "a compiler": "install g++",
    "a GPU": "make gpu, where there is one",
    "a peer": "pip install what book/speed.md names",
    "something else": "pytest -rs says what",
}
NEVER_REQUIRED = {"a GPU", "a compiler", "a peer"}


def required() -> bool:
    """Whether a run that leaves something out is red."""
    return os.environ.get("RTX_REQUIRE_ALL") == "1"


def reason(what: str) -> str:
    """The words of a skip, which `left_out` counts; `what` is a key of `WAYS`."""
    return f"needs {what}: {WAYS[what]}"


def lack(what: str) -> NoReturn:
    """Leave out the test, or all that share a fixture."""
    pytest.skip(reason(what))


def left_out(skipped: Iterable[str]) -> Counter[str]:
    """How many tests each thing was wanting to, from the words of all skips."""
    found = (re.search(r"needs ([\w ]+): ", words) for words in skipped)
    return Counter(match[1] if match and match[1] in WAYS else "something else" for match in found)


def line(counts: Counter[str]) -> str:
    """The line at the end of a run."""
    told = [f"{count:,} that need {what} ({WAYS[what]})" for what, count in counts.items()]
    return f"Left out: {', '.join(told)}" if told else "Nothing was left out"
