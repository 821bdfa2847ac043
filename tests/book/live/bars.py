"""What the trainer in the page must reach, measured in Chromium: `make live`.

It makes what is missing, then the record book/results/live/trainer.json.

seeds: 20 runs of the tanh RNN, the GRU and the IndRNN with the trainer's settings at T = 100, counted in steps.
speed: milliseconds a step beside the book's layers in torch with one thread, in turn.

About twenty minutes of one core. Every run is kept in _build/live as soon as it is done, for as long as the scripts
that it ran stay the same: the command may be stopped at any time, and goes on where it was.
"""

import hashlib
import json
import os
import platform
import statistics
import time
from contextlib import contextmanager
from pathlib import Path

import matplotlib
import torch
from live.parity import PARTS
from live.test_cells import CELLS
from pages import page_checks
from playwright.sync_api import sync_playwright
from support.helpers import ROOT

from rtx_book.runs.runs import commit
from rtx_lib.tasks import AddingProblem

KEPT, RECORD = ROOT / "_build" / "live", ROOT / "book" / "results" / "live" / "trainer.json"
LEARN = ("base", "engine", "random", "scan", "cells", "adding", "trainer")
LENGTH, HIDDEN, BATCH, SEEDS = 100, 32, 16, 20
MOST = {"rnn": 1500, "gru": 600, "indrnn": 600}  # steps
BELOW, STUCK = 0.05, 0.8 / 6  # smoothed errors: what must be reached, and what a tanh RNN must stay above
SETTLED = 19  # steps after which smoothed errors count
POINTS, FIRST = 100, 25  # of a curve in the record; steps of each cell's seed 0 that `make test` makes again
BLOCKS = 7  # of speed

# Trains cells in a worker in turn, and returns all that the trainer said of them.
TRAIN = (ROOT / "tests/book/live/train.js").read_text()

# window.more(n): n further steps of one cell in a worker; milliseconds a step, as the worker's own clock has them.
MORE = Path(__file__).with_name("bars-more.js").read_text()


def seeds(browser):
    """{cell: its runs from all seeds}."""
    runs = {kind: [] for kind in MOST}
    for seed in range(SEEDS):
        for kind, own in runs.items():
            own.append(kept(f"{kind}-{seed}", LEARN, run_seed, browser, kind, seed, MOST[kind]))
    return runs


def run_seed(browser, kind, seed, most):
    with opened(browser, scripts(LEARN)) as page:
        settings = {"length": LENGTH, "hidden": HIDDEN, "batch": BATCH, "seed": seed}
        told = page.evaluate(TRAIN, {"cells": [kind], "settings": settings, "most": most})
    assert told["where"] == "worker", told["where"]
    return told["cells"][kind]


def speed(browser):
    """{cell: milliseconds a step in the page and in torch, and their ratio}; medians of blocks made in turn."""
    return {kind: kept(f"speed-{kind}", LEARN, run_speed, browser, kind) for kind in CELLS}


def run_speed(browser, kind):
    page_ms, torch_ms = [], []
    step = torch_step(kind)
    with opened(browser, scripts(LEARN)) as page:
        page.evaluate(MORE, {"kind": kind, "settings": {"length": LENGTH, "hidden": HIDDEN, "batch": BATCH}})
        for block in range(BLOCKS + 1):
            milliseconds = page.evaluate("() => more(20)")
            start = time.perf_counter()
            for _ in range(20):
                step()
            if block:  # the first is for the compilers
                page_ms.append(milliseconds)
                torch_ms.append((time.perf_counter() - start) * 1000 / 20)
    ratio = statistics.median(own / other for own, other in zip(page_ms, torch_ms, strict=True))
    return {"page": statistics.median(page_ms), "torch": statistics.median(torch_ms), "ratio": ratio}


def torch_step(kind):
    """One training step of the same size in torch: batch, forward, backward, clipping, Adam."""
    torch.set_num_threads(1)
    model, task, generator = CELLS[kind](HIDDEN, LENGTH), AddingProblem(LENGTH), torch.Generator().manual_seed(0)
    for unit in getattr(model, "units", []):
        unit.backend = "loop"
    adam = torch.optim.Adam(model.parameters(), lr=1e-6)

    def step():
        x, y = task.batch("train", BATCH, generator)
        adam.zero_grad()
        task.loss(model(x)[0], y).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        if kind == "indrnn":
            model.constrain_()

    return step


# ---- one page, one kept result, one record


@contextmanager
def opened(browser, html):
    """A page with this HTML, opened from a file."""
    path = KEPT / f"page-{os.getpid()}.html"  # two of these commands may run at once
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"<!doctype html><html lang=en><meta charset=utf-8><title>live</title><body>{html}")
    page = browser.new_page(viewport=page_checks.DESKTOP)
    page.set_default_timeout(0)
    page.goto(path.as_uri())
    yield page
    page.close()


def scripts(parts):
    return "".join(f"<script>{(PARTS / f'{part}.js').read_text()}</script>" for part in parts)


def fingerprint(parts):
    """A name for what these scripts do; comments count too, as they change seldom."""
    return hashlib.sha256(scripts(parts).encode()).hexdigest()[:12]


def kept(name, parts, make, *arguments):
    """What `make` returned for these scripts, from the file if it is there."""
    path = KEPT / f"{name}-{fingerprint(parts)}.json"
    if not path.is_file():
        start, path_while = time.perf_counter(), path.with_suffix(".part")
        found = make(*arguments)
        path.parent.mkdir(parents=True, exist_ok=True)
        path_while.write_text(json.dumps(found))
        path_while.rename(path)
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)
    return json.loads(path.read_text())


def short(value, digits=3):
    return None if value is None else float(f"{value:.{digits}g}")


def thin(run):
    """A run's curve of the smoothed error with about POINTS points: [steps, errors]."""
    steps = sorted({round(1 + i * (run["steps"] - 1) / (POINTS - 1)) for i in range(POINTS)})
    return {"step": steps, "error": [short(run["errors"][step - 1]) for step in steps]}


def record(found, browser):
    """The record: what decides the bars for every seed, and the curves of seed 0."""
    runs = found["seeds"]
    with opened(browser, scripts(LEARN)) as page:
        rates = page.evaluate("() => RTX.RATES")
    setting = {"length": LENGTH, "hidden": HIDDEN, "batch": BATCH, "clip": 1, "most": MOST, "rates": rates}
    return {
        "about": "The trainer in the page: 20 runs of its default setting at T = 100, in Chromium, in a worker",
        "commit": commit(),
        "versions": {"chromium": browser.version, "torch": torch.__version__, "python": platform.python_version()},
        "scripts": fingerprint(LEARN),
        "setting": setting,
        "below": {"error": BELOW, **{kind: [first_below(run) for run in own] for kind, own in runs.items()}},
        "lowest": {"rnn": [short(min(run["errors"][SETTLED:])) for run in runs["rnn"]]},
        "curves": {kind: thin(own[0]) for kind, own in runs.items()},
        "norms": {kind: [short(v) for v in own[0]["norms"]] for kind, own in runs.items()},
        "first": {kind: [short(loss, 9) for loss in own[0]["losses"][:FIRST]] for kind, own in runs.items()},
        "milliseconds": {kind: {key: short(v) for key, v in own.items()} for kind, own in found["speed"].items()},
    }


def first_below(run):
    """The first step at which the smoothed error was below the bar."""
    return next((i + 1 for i, error in enumerate(run["errors"]) if i >= SETTLED and error < BELOW), None)


def say(made):
    """The bars beside what was found."""
    for kind in ("gru", "indrnn"):
        steps = [step for step in made["below"][kind] if step is not None]
        print(f"{kind}: below {BELOW} within {MOST[kind]} steps in {len(steps)} of {SEEDS} (bar 18): {sorted(steps)}")
    stuck = sum(error > STUCK for error in made["lowest"]["rnn"])
    print(f"rnn: never below {STUCK:.3f} in {MOST['rnn']} steps in {stuck} of {SEEDS} (bar {SEEDS})")
    print("milliseconds a step, page against torch:", made["milliseconds"])


def main():
    matplotlib.use("agg")
    with sync_playwright() as playwright:
        browser = page_checks.launch(playwright)
        made = record({"seeds": seeds(browser), "speed": speed(browser)}, browser)
        browser.close()
    RECORD.parent.mkdir(parents=True, exist_ok=True)
    RECORD.write_text(json.dumps(made, separators=(",", ":")).replace(',"', ',\n"') + "\n")
    say(made)


if __name__ == "__main__":
    main()
