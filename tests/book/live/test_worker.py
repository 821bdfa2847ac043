"""The same numbers in a worker as in the page."""

from pathlib import Path

from live.test_train import TRAINING

SETTINGS = {"length": 12, "hidden": 6, "batch": 4, "seed": 3}
CELLS = ["rnn", "irnn", "lstm", "gru", "indrnn"]

TRAIN = Path(__file__).with_name("worker-train.js").read_text()
GIVEN = {"settings": SETTINGS, "cells": CELLS}

# What the trainer must say, from the models without it.
ALONE = """({settings, cells}) => Object.fromEntries(cells.map((kind) => {
  const learner = new RTX.Learner({...settings, kind}), errors = []
  while (learner.steps < 7) { learner.step(RTX.RATES[kind], 1); errors.push(learner.error()) }
  return [kind, {errors, norms: learner.norms, ...RTX.question(learner.model)}]
}))"""


def test_worker_gives_the_models_numbers(live):
    page = live(*TRAINING)
    found = page.evaluate(TRAIN, GIVEN)
    assert found["where"] == "worker"
    assert found["told"] == page.evaluate(ALONE, GIVEN)
    assert len(found["told"]["gru"]["errors"]) == 7 and len(found["told"]["gru"]["norms"]) == 12


def test_missing_part_is_named(live):
    said = live().evaluate("() => { try { RTX.worker(['engine', 'other'], () => {}) } catch (e) { return e.message } }")
    assert "other" in said
