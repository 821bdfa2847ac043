"""The file that a run writes: below a size, and of JSON."""

import json

import pytest
from support.made_records import whole

from rtx_lib.evidence.records import thin
from rtx_lib.experiments.records import LIMIT, as_text


def long_record(evaluations):
    """One with long curves and so many evaluations."""
    curves = {name: [i / 7 for i in range(1000)] for name in ("step", "loss", "gradient_norm", "lr")}
    return whole(curves=curves, evaluations=[{"step": i, "split": "valid", "mse": i / 7} for i in range(evaluations)])


def test_a_record_that_would_be_too_large_has_shorter_curves():
    record = long_record(200)
    assert len(json.dumps(record, indent=1)) > 1.5 * LIMIT
    text = as_text(record)
    kept = json.loads(text)
    assert len(text) < LIMIT and 100 < len(kept["curves"]["loss"]) <= 500
    assert kept["curves"]["loss"] == thin(record["curves"]["loss"], len(kept["curves"]["loss"]))
    assert kept | {"curves": record["curves"]} == record, "only curves are touched"
    with pytest.raises(ValueError, match="eval_every must be larger: a record has less than 40,000 bytes, got"):
        as_text(long_record(600))
    record["metrics"] = {"mse": float("nan")}
    with pytest.raises(ValueError, match="not JSON compliant"):
        as_text(record)
