"""What the trainer in the page must reach, measured in Chromium: `make live`.

    python tests/live/bars.py            all that is missing, then the record book/results/live/trainer.json
    python tests/live/bars.py seeds      only these: seeds, memory, tasks, speed

It takes an hour of one core. Every run is kept in _build/live as soon as it is done, and kept only as long as the
scripts that made it are the same, so the command may be stopped at any time and goes on where it was.
"""

import argparse
import hashlib
import json

import page_checks
from live.parity import PARTS
from playwright.sync_api import sync_playwright

ROOT = PARTS.parents[2]
KEPT, RECORD = ROOT / "_build" / "live", ROOT / "book" / "results" / "live" / "trainer.json"
LEARN = ("base", "engine", "random", "scan", "cells", "adding", "trainer")
LENGTH, SEEDS, HALF = 100, 20, 0.05
MOST = {"rnn": 1500, "gru": 600, "indrnn": 600}  # steps

# Trains these cells in a worker, in turn, and returns all that the trainer said of them.
TRAIN = """({cells, settings, most}) => new Promise((done, fail) => {
  const told = Object.fromEntries(cells.map((kind) => [kind, {errors: [], shares: []}]))
  const port = RTX.worker(RTX.TRAINER, (RTX, port, inPage) => RTX.trainer(port, inPage))
  port.onerror = fail
  port.onmessage = ({data}) => {
    for (const [kind, of] of Object.entries(data.cells)) {
      told[kind].errors.push(...of.errors)
      if (of.errors.length) told[kind].shares.push([of.steps, of.share])
      Object.assign(told[kind], {steps: of.steps, state: of.state, events: of.events, norms: of.norms})
    }
    if (data.ended) { port.terminate(); done({where: port.where, cells: told}) }
  }
  port.postMessage({run: 1, settings, cells, rates: RTX.RATES, clip: 1, on: true, most})
})"""


def page_text(parts, body=""):
    scripts = "".join(f"<script>{(PARTS / f'{part}.js').read_text()}</script>" for part in parts)
    return f"<!doctype html><html lang=en><meta charset=utf-8><title>live</title><body>{body}{scripts}"


def fingerprint(parts):
    """A name for what these scripts do; comments count, as a change of them is rare and the answer then sure."""
    return hashlib.sha256("".join((PARTS / f"{part}.js").read_text() for part in parts).encode()).hexdigest()[:12]


def kept(name, parts, make):
    """What `make` returned for these scripts, from the file if it is there."""
    path = KEPT / f"{name}-{fingerprint(parts)}.json"
    if not path.is_file():
        found = make()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".part").write_text(json.dumps(found))
        path.with_suffix(".part").rename(path)
    return json.loads(path.read_text())


def open_page(browser, text):
    path = KEPT / "page.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    page = browser.new_page(viewport=page_checks.DESKTOP)
    page.set_default_timeout(0)
    page.goto(path.as_uri())
    return page


def run_seed(browser, seed, kind):
    page = open_page(browser, page_text(LEARN))
    settings = {"length": LENGTH, "seed": seed}
    told = page.evaluate(TRAIN, {"cells": [kind], "settings": settings, "most": MOST[kind]})
    page.close()
    assert told["where"] == "worker", told["where"]
    return told["cells"][kind]


def seeds(browser):
    """{cell: the runs of all seeds}, one after the other."""
    runs = {kind: [] for kind in MOST}
    for seed in range(SEEDS):
        for kind in MOST:
            own = kept(f"{kind}-{seed}", LEARN, lambda seed=seed, kind=kind: run_seed(browser, seed, kind))
            runs[kind].append(own)
            print(
                f"seed {seed} {kind}: {own['steps']} steps, {own['state']}, error {own['errors'][-1]:.4f}, "
                f"{own['events']}",
                flush=True,
            )
    return runs


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("only", nargs="*", default=["seeds"])
    arguments = parser.parse_args()
    with sync_playwright() as playwright:
        browser = page_checks.launch(playwright)
        for name in arguments.only:
            globals()[name](browser)
        browser.close()


if __name__ == "__main__":
    main()
