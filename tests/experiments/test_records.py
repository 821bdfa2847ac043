"""The file that a run writes: below a size, of JSON, and packed by a command."""

import json

import pytest
from support.made_records import whole, write

from rtx_lib.evidence.records import find, thin
from rtx_lib.experiments.__main__ import main
from rtx_lib.experiments.runs import LIMIT, as_text


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


def test_pack_takes_the_runs_of_the_book_s_sweeps(tmp_path, capsys):
    write(tmp_path / "runs", whole("copy-gru"), whole("race-copy-gru"), whole("mine"))
    assert main(["pack", "--out", str(tmp_path)]) == 0 and capsys.readouterr().out == "recurrence: 1, race: 1\n"
    assert main(["pack", "--out", str(tmp_path)]) == 0 and capsys.readouterr().out == "nothing to pack\n"
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["mine-s0.json"]
    assert find("race-copy-gru", 0, tmp_path)["metrics"] == {"mse": 0.01}
