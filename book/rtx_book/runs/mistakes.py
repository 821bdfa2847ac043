"""The museum of mistakes: ``python -m rtx_book.runs.mistakes`` trains ``book/own/sound.py`` with each mistake in it.

``book/mistakes.yml`` names the mistakes, ``book/results/mistakes.json`` holds their losses and what `checkup` says.
"""

import contextlib
import io
import json
import platform
import statistics
import textwrap
from collections.abc import Mapping
from typing import Any

import torch
import yaml

from rtx_book.paths import book_file, results_folder
from rtx_book.runs.runs import commit

MODEL = "model, lr = Net(Recurrence, 1 + len(LETTERS)), 1e-2"
REPORTED = "batch-first"  # whose report the page shows
WINDOW = 10  # steps whose mean loss is a point of a curve


def mistakes() -> dict[str, dict[str, str]]:
    """The mistakes by name, in the order of the page."""
    looks = yaml.safe_load(book_file("mistakes.yml").read_text(encoding="utf-8"))
    return {name: one for own in looks.values() for name, one in own.items()}


def planted(source: str, right: str, wrong: str) -> str:
    """A program, one line of which is another, or several; `ValueError` where the line is not in it just once."""
    (line,) = (line for line in source.splitlines() if line.strip() == right)
    return source.replace(f"{line}\n", textwrap.indent(wrong, line.removesuffix(right)) + "\n")


def trained(source: str) -> dict[str, Any]:
    """What is left of the program when it has run, its losses and its report among it."""
    own: dict[str, Any] = {}
    source = source.replace("lr=lr))", "lr=lr, seconds=600))").replace("mine.txt", str(book_file("own/mine.txt")))
    with contextlib.redirect_stdout(io.StringIO()):
        exec(source, own)
    return own


def points(losses: list[float]) -> list[float]:
    """Means over windows, to three digits."""
    windows = (losses[start : start + WINDOW] for start in range(0, len(losses), WINDOW))
    return [float(f"{statistics.fmean(window):.3g}") for window in windows]


def measured(found: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """The record of these mistakes, and of the sound program with each mixer."""
    torch.set_num_threads(1)
    source = book_file("own/sound.py").read_text(encoding="utf-8")
    versions = {"python": platform.python_version(), "torch": torch.__version__}
    record: dict[str, Any] = {"commit": commit(":/book/own", ":/book/mistakes.yml"), "versions": versions}
    record |= {"device": {"name": "CPU", "threads": 1}, "window": WINDOW, "sound": {}, "mistakes": {}}
    for mixer in ("Recurrence", "Attention"):
        mixed = planted(source, MODEL, MODEL.replace("Recurrence", mixer))
        record["sound"][mixer] = points(trained(mixed)["losses"])
        for name, one in found.items():
            if one.get("mixer", "Recurrence") == mixer:
                own = trained(planted(mixed, one["right"], one["wrong"]))
                wrong = [line for line in own["report"].lines if line.passes is False]
                failed = {line.name: [line.number, line.meaning] for line in wrong}
                record["mistakes"][name] = {"losses": points(own["losses"]), "failed": failed}
                record |= {"report": repr(own["report"])} if name == REPORTED else {}
                print(name, *failed, record["mistakes"][name]["losses"][-1], flush=True)
    return record


if __name__ == "__main__":
    (results_folder() / "mistakes.json").write_text(json.dumps(measured(mistakes()), separators=(",", ":")) + "\n")
