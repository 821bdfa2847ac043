"""In Firefox: the numbers are torch's, a training makes steps in a worker, a figure starts from a file."""

from __future__ import annotations

import json

import pytest
from live import test_cells
from live.parity import BAR, IN_THE_PAGE, PARTS, errors

pytestmark = pytest.mark.weekly

HEAD = '<!doctype html><html lang=en><meta charset=utf-8><link rel=icon href="data:,"><title>Page</title>'
TRAIN = """new Promise((done, fail) => {
  const port = RTX.worker(RTX.TRAINER, (RTX, port, inPage) => RTX.trainer(port, inPage))
  setTimeout(fail, 100000, Error('no answer'))
  port.onmessage = ({data}) => {
    if (data.cells.gru.steps >= 20) {
      port.terminate()
      done({steps: data.cells.gru.steps, losses: data.cells.gru.losses, where: port.where})
    }
  }
  port.postMessage({run: 1, on: true, most: 20, clip: 1, rates: RTX.RATES, cells: ['gru'], settings: {length: 20}})
})"""


@pytest.fixture
def opened(firefox, tmp_path):
    """Open a page with these parts in Firefox, from a file."""
    tabs = []

    def open_page(*parts):
        scripts = [(PARTS / f"{part}.js").read_text() for part in dict.fromkeys(["base", "engine", *parts])]
        path = tmp_path / "page.html"
        path.write_text(HEAD + "".join(f"<script>{text}</script>" for text in [*scripts, IN_THE_PAGE]))
        tabs.append(firefox.tab(path.as_uri()))
        return tabs[-1].__enter__()

    yield open_page
    for tab in tabs:
        tab.__exit__(None, None, None)


@pytest.mark.parametrize("kind", test_cells.CELLS)
def test_numbers_and_gradients_are_torchs(opened, double, kind):
    given, wanted = test_cells.in_torch(kind, 4, 20, 8)
    tab = opened(*test_cells.PARTS)
    found = errors(tab.evaluate(f"({test_cells.ONE_BATCH})({json.dumps(given)})"), wanted)
    assert max(found.values()) < BAR, found
    assert not tab.errors


def test_a_training_makes_steps_in_a_worker(opened):
    tab = opened("random", "scan", "cells", "adding", "trainer")
    told = tab.evaluate(TRAIN)
    assert told["steps"] == 20 and told["where"] == "worker" and told["losses"]
    assert not tab.errors and len(tab.requests) <= 1


def test_what_goes_wrong_is_noticed(opened):
    tab = opened()
    with pytest.raises(AssertionError, match="on purpose"):
        tab.evaluate("Promise.reject(Error('on purpose'))")
    tab.evaluate("setTimeout(() => { throw Error('later') })")
    tab.wait("true")
    tab.evaluate("new Promise((done) => setTimeout(done, 200))")
    assert any("later" in error for error in tab.errors)
    with pytest.raises(AssertionError, match="did not come true"):
        tab.wait("false", 0.2)
