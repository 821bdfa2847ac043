"""The bench measures interleaved and reports rows of one form."""

import getpass
import importlib.util
import json
import platform
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import jsonschema
import pytest
import torch
from support import needs

from rtx_book import __main__ as command_line
from rtx_book import bench
from rtx_book.bench import kept
from rtx_book.bench.between import evaluation_costs
from rtx_book.bench.measuring import that_run
from rtx_book.records import records
from rtx_book.records.records import SPEED_SCHEMA, load_speeds
from rtx_book.runs import build
from rtx_book.runs.recipes import RECIPES
from rtx_book.runs.recipes import race as recipes
from rtx_lib.diagnostics.measuring import count_flops
from rtx_lib.layers.positions import relative_shift
from rtx_lib.training import parameter_count

peers = sys.modules["rtx_book.bench.peers"]  # the case of this name hides it


def txl_rows():
    return bench.txl(sizes=[(2, 3, 4), (1, 5, 2)], width=8, heads=2, lengths=(9, 12), segment=4)


# A case, how many rows it has, in how many of them both sides compute the same, and the kinds of comparison. What the
# rows are called is in the records, and on the page that shows them.
ROWS = {
    "rnn": (partial(bench.rnn, batch=2, time_steps=5, hidden=4), 3, 3, {"torch.nn", "plain loop"}),
    "cells": (partial(bench.cells, batch=2, time_steps=5, hidden=4), 6, 6, {"torch.nn", "plain loop"}),
    "indrnn": (partial(bench.indrnn, sizes=[(2, 5, 3), (1, 20, 3)]), 4, 4, {"plain loop"}),
    "attention": (partial(bench.attention, sizes=[(2, 6, 8, 2)]), 6, 2, {"torch.nn", "ours"}),
    "transformer": (
        partial(bench.transformer, batch=2, steps=6, width=8, layers=1, generated=5), 2, 1, {"torch.nn", "ours"},
    ),
    "local-rnn": (partial(bench.local_rnn, batch=2, steps=6, window=3, widths=[4, 5]), 6, 6, {"original"}),
    "txl": (txl_rows, 8, 8, {"original", "ours"}),
    "linear": (partial(bench.linear, sizes=[(2, 5, 3)]), 7, 6, {"plain loop"}),
    "qrnn": (partial(bench.qrnn, batch=2, time_steps=6, hidden=4), 4, 3, {"torch.nn", "plain loop"}),
    "diagonal": (partial(bench.diagonal, batch=2, time_steps=9, units=3), 4, 4, {"plain loop"}),
    "selective": (partial(bench.selective, batch=2, time_steps=9, channels=3, states=2), 1, 1, {"plain loop"}),
    "matrix-state": (
        partial(bench.matrix_state, batch=2, heads=1, time_steps=9, size=3), 10, 5, {"torch.nn", "plain loop"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ROWS)
def test_rows_of_a_case(case):
    run, count, same, kinds = ROWS[case]
    rows = run()
    assert len(rows) == count and {row["kind"] for row in rows} == kinds
    for row in rows:
        assert row["case"] == case and row["ratio"] > 0 and "one thread" in row["device"]
        assert row.keys() - {"memory_ratio"} == {"case", "variant", "against", "kind", "ratio", "max_error", "device"}
        assert ("memory_ratio" in row) == (case == "local-rnn") and 0 < row.get("memory_ratio", 1) < 2
    errors = [row["max_error"] for row in rows if row["max_error"] is not None]
    assert len(errors) == same and max(errors) < 1e-5


def doubled(x):
    y = relative_shift(x)
    return 2 * y - y.detach()


@pytest.mark.parametrize(
    ("where", "wrong", "seen"),
    [
        ("layers.positions.relative_shift", doubled, [True, False, True, False]),  # a wrong gradient
        # Older segments are lost.
        ("models.transformer_xl.TransformerXL._remember", lambda self, m, h: h.clone(), [False] * 4 + [True] * 4),
    ],
)
def test_the_txl_case_sees_what_is_wrong(monkeypatch, where, wrong, seen):
    monkeypatch.setattr(f"rtx_lib.{where}", wrong)
    assert [row["max_error"] > 0.01 for row in txl_rows()][: len(seen)] == seen


def test_a_token_costs_its_share_of_a_segment(monkeypatch):
    """Every run takes one second here: a token of a segment of four a quarter of it."""
    monkeypatch.setattr("rtx_book.bench.between.measure", lambda variants, **_: dict.fromkeys(variants, 1.0))
    seconds, errors = evaluation_costs((3, 9), segment=4, width=8, heads=2, layers=1)
    assert seconds == {"sliding window": [1, 1], "memory, 4 at a time": [0.25, 0.25], "memory, one by one": [1, 1]}
    assert list(errors) == ["memory, 4 at a time", "memory, one by one"]
    assert all(error < 1e-5 for values in errors.values() for error in values)


def small(task, lane, lr=0.01):
    """A recipe of the race on sequences of a few steps."""
    recipe = race(task, lane, lr)
    arguments = {"copy": {"delay": 2}, "text": {"length": 4}, "stream": {"length": 4}}.get(task, {})
    return replace(recipe, task_arguments=recipe.task_arguments | arguments, stream_length=recipe.stream_length and 4)


race = recipes.race


def test_rows_of_the_race_case(monkeypatch):
    monkeypatch.setattr(recipes, "race", small)
    chosen = ["rnn", "irnn", "lstm", "gru", "mamba", "tcn", "transformer", "r-transformer"]
    rows = bench.race(tasks=["copy"], lanes=chosen, rounds=7)
    assert [row["variant"] for row in rows] == chosen
    told = {"case": "race-copy", "against": "transformer", "kind": "ours", "max_error": None}
    for row in rows:
        assert row.items() >= told.items() and row["ratio"] > 0 and row["seconds_per_step"] > 0
        assert row["parameters"] == parameter_count(build(small("copy", row["variant"]), 0)[0])
    lanes = {row["variant"]: row for row in rows}
    assert lanes["transformer"]["ratio"] == 1
    assert lanes["rnn"]["flops_per_step"] == lanes["irnn"]["flops_per_step"] > 32 * 22 * lanes["rnn"]["parameters"]


def test_a_model_that_reads_streams_has_the_state_of_the_piece_before(monkeypatch):
    """Half of the keys of Transformer-XL are its memory; without a state it would be empty."""
    source = {"task": "text", "task_arguments": {"source": "pydoc", "length": 4}}
    monkeypatch.setattr(recipes, "race", lambda task, lane, lr: replace(small(task, lane), **source))
    monkeypatch.setattr("rtx_book.bench.steps.available", lambda name: True)
    rows = bench.race(tasks=["stream"], lanes=["gru", "transformer", "transformer-xl"], rounds=7)
    assert [(row["variant"], row["against"]) for row in rows] == [("gru", "gru"), ("transformer-xl", "gru")]
    row = rows[1]
    model, task = build(recipes.race("stream", "transformer-xl", 0.01), 0)
    ids, _ = next(task.stream("train", 32, 4))
    without = count_flops(lambda: model(ids)[0].sum().backward())
    assert row["flops_per_step"] > without > 0


def test_rows_of_the_sentiment_case():
    """All readers of SST-2, and about as many parameters in each but the mean."""
    rows = {row["variant"]: row for row in bench.sentiment(batch=2, longest=6, vocabulary=9, rounds=7)}
    assert {f"sst2-{reader}" for reader in rows} == {name for name in RECIPES if name.startswith("sst2-")}
    for row in rows.values():
        assert row["case"] == "sentiment" and row["against"] == "bilstm" and row["max_error"] is None
        assert row["ratio"] > 0 and row["seconds_per_step"] > 0 and row["flops_per_step"] > 0
    sizes = {reader: row["parameters"] for reader, row in rows.items()}
    assert sizes.pop("mean") == 130 and sizes.pop("shaw") == sizes["attention"] + 2 * 21 * 64
    assert all(abs(size / sizes["bilstm"] - 1) < 0.015 for size in sizes.values()), sizes


def test_a_task_without_data_is_left_out_and_said_so(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("RTX_DATA", str(tmp_path))
    assert bench.race(tasks=["text", "chorales"]) == []
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" is left out")[0] for line in lines] == ["race: text", "race: chorales"]


def test_moving_the_bytes_is_a_row_where_there_is_a_gpu(monkeypatch):
    """On the device "meta" nothing is computed, so the backends are replaced."""
    monkeypatch.setattr("rtx_book.bench.kernels.compare", lambda case, variants, pairs, *_: [variants])
    monkeypatch.setattr("rtx_lib.kernels.explain_backend", lambda z: "triton: one kernel")
    monkeypatch.setattr("rtx_lib.kernels.relu_recurrence", lambda z, u, backend: z * u)
    (variants,) = bench.indrnn("meta", sizes=[(2, 5, 3)])
    assert [*variants] == ["loop over unbind", "auto (triton)", "scan", "moving the bytes"]
    assert all(run().shape == (3,) for run in variants.values())


def test_what_does_not_run_costs_no_other_row(capsys):
    def needing():
        raise ImportError("no package\nof that name")

    assert [*that_run({"good": lambda: torch.ones(1), "needing": needing})] == ["good"]
    assert capsys.readouterr().err == "needing is left out: ImportError: no package\n"


def test_a_compiler_has_rows_on_a_gpu(monkeypatch):
    """ "cpu:0" is another name than "cpu"."""
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "A card")
    monkeypatch.setattr(torch, "compile", lambda way: way)
    rows = ROWS["diagonal"][0](device="cpu:0")
    compiled = [row["max_error"] for row in rows if "torch.compile" in row["variant"]]
    assert len(compiled) == 3 and max(compiled) < 1e-5 and {row["device"] for row in rows} == {"A card"}


def test_torchs_layers_are_peers_that_are_always_there(monkeypatch, capsys):
    """Another package, a compiler that fails and a model that breaks cost their own rows and a line each."""

    def absent(*given):
        raise ImportError("no package of that name")

    def broken(sizes, x, ids):
        yield peers.Duel("broken", absent, "whole", torch.ones(1).clone)
        yield peers.Duel("doubled", torch.ones(1).double, "whole", torch.ones(1).clone)

    monkeypatch.setattr(peers, "PEERS", {"torch": peers.PEERS["torch"], "mambapy": absent, "torch.compile": broken})
    monkeypatch.setattr(peers.metadata, "version", lambda package: "9.1+cpu")
    *rows, last = bench.peers(sizes=peers.Sizes(2, 6, 8, 2), again=2)
    left_out = "is left out: ImportError: no package of that name"
    assert capsys.readouterr().err.splitlines() == [f"mambapy {left_out}", f"broken, step, ours {left_out}"]
    names = ["LSTM", "LSTM", "GRU", "RNN", "MultiheadAttention", "TransformerEncoderLayer"]
    assert [row["against"] for row in rows] == [f"torch 9.1, nn.{name}" for name in names]
    shapes = [row["variant"].partition(", B=")[2] for row in rows]
    assert shapes == ["2 T=6 D=8"] * 4 + ["2 T=6 D=8 H=2"] * 2
    for row in rows:
        assert row["case"] == "peers" and row["kind"] == "torch.nn" and 0 <= row["max_error"] < 1e-5
        assert row["seconds_per_step"] > 0 and row["forward_ratio"] > 0
        assert 0 < row["spread"][0] <= row["ratio"] <= row["spread"][1]
        jsonschema.validate(row, SPEED_SCHEMA["properties"]["rows"]["items"])
    assert last["kind"] == "ours" and "forward_ratio" not in last and last["max_error"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("package", [name for name in list(peers.PEERS)[1:] if name != "torch.compile"])
def test_a_peer_that_is_there_has_the_same_weights(package, monkeypatch):
    if not importlib.util.find_spec({"minGRU-pytorch": "minGRU_pytorch"}.get(package, package.replace("-", "_"))):
        needs.lack("a peer")
    monkeypatch.setattr(peers, "PEERS", {package: peers.PEERS[package]})
    rows = bench.peers(sizes=peers.Sizes(2, 6, 8, 2, 1, 9, written=3, words=500), again=1)
    assert rows and all((row["max_error"] or 0) < 1e-5 and row["ratio"] > 0 for row in rows)


def test_the_command_prints_a_line_for_each_row(capsys, monkeypatch):
    for case in ("rnn", "transformer", "local-rnn"):
        monkeypatch.setitem(bench.CASES, case, ROWS[case][0])
    told = {}
    for case in ("rnn", "transformer", "local-rnn"):
        assert command_line.main(["bench", case]) == 0
        told[case] = capsys.readouterr().out
    assert told["rnn"].count("\n") == 3 and "x of torch.nn.RNN" in told["rnn"]
    assert told["transformer"].count("error") == 1, "models that differ have no error"
    assert "memory" not in told["transformer"] and told["local-rnn"].count(" of its memory, error ") == 6


def test_what_was_measured_is_kept(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(kept, "CASES", {"rnn": ROWS["rnn"][0], "race": lambda device: []})
    path = tmp_path / "mine.jsonl"
    measured = ("race", None), ("rnn", None), ("rnn", "A card")
    there = [{"case": case, "machine": {"gpu": gpu}} for case, gpu in measured]
    path.write_text("".join(json.dumps(one) + "\n" for one in there))
    assert command_line.main(["bench", "all", "--record", "--out", str(path)]) == 0
    assert capsys.readouterr().err == "rnn is kept\n", "a case without rows is not"
    before, found, after = load_speeds(path)
    assert (before, after) == (there[0], there[2]), "what it did not measure"
    jsonschema.validate(found, SPEED_SCHEMA)
    assert found["case"] == "rnn" and len(found["rows"]) == 3 and found["machine"]["threads"] == 1
    assert found["clock"] == "processor" and found["machine"]["gpu"] is None
    text = json.dumps(found)
    assert not [name for name in (platform.node(), getpass.getuser(), str(Path.home())) if f'"{name}' in text]
    monkeypatch.setattr(command_line, "results_folder", lambda: tmp_path)
    monkeypatch.setattr(records, "results_folder", lambda: tmp_path)
    assert command_line.main(["bench", "rnn"]) == 0 and load_speeds() == [], "nothing is kept unasked"
    assert command_line.main(["bench", "rnn", "--record"]) == 0 and len(load_speeds()) == 1
