"""Every check of rtx_lib.shapes: what it lets through, and one case of each message."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import nn, tensor

from rtx_lib.shapes import (
    at_hand,
    expect,
    expect_choice,
    expect_fits,
    expect_floats,
    expect_heads,
    expect_ids,
    expect_pair,
    expect_sentences,
    expect_share,
    expect_sizes,
    expect_state,
    expect_tuple,
    map_tensors,
)

X, IDS, WEIGHT = torch.zeros(2, 3, 4), tensor([[1, 2, 3], [4, 5, 0]]), nn.Parameter(torch.zeros(1))
STATE = (X, X[:, :0])
SHAPES = {"k": (2, "M", 4), "v": (2, "M", 4)}
META = X.to("meta")


def test_what_may_come_in_comes_out():
    assert (
        expect(X, "B T D", like=WEIGHT) is X and expect(X, (2, "T", 4)) is X and expect(X[:, :0], "B M D").numel() == 0
    )
    with torch.autocast("cpu", torch.bfloat16):
        assert expect(X.half(), "B T D", like=WEIGHT).dtype == torch.float16
    assert expect_ids(IDS, 6) is IDS and expect_ids(IDS.int() + 100, None).max() == 105
    assert expect_ids((IDS + 100).to("meta"), 6).is_meta, "values far away are not looked at"
    assert expect_pair((IDS[:1], IDS), 6, STATE)[1] is IDS and expect_pair((None, IDS), 6, None)[0] is None
    assert expect_sentences(IDS, 6)[1].tolist() == [[True, True, True], [True, True, False]]
    assert expect_tuple(STATE, 2, "of two") is STATE and expect_state((X, X), SHAPES, X) == (X, X)
    assert [part.shape for part in expect_state(None, SHAPES, X)] == [(2, 0, 4), (2, 0, 4)]
    (inner,) = expect_state(((X, X),), [SHAPES], X)
    assert inner == (X, X) and expect_state(X, (2, 3, 4), X) is X
    assert expect_floats(X, "B T D") is X and expect_floats(X + 0j, "B T D", complex=True).is_complex()
    expect_fits("mask", None, (2, 3))
    expect_fits("mask", torch.ones(1, 3, dtype=torch.bool), (2, 3))
    expect_sizes(width=1, layers=10**9, heads=np.int64(2))
    expect_choice("kind", None, ["a", None])
    expect_share(dropout=0)
    assert expect_heads(6, 2) == 3 and at_hand(X) and not at_hand(META)


REFUSED = {
    r"x must be a tensor of shape \(B, T, D\), got list": lambda: expect([1], "B T D"),
    r"y must have shape \(2,\), got \(2, 3, 4\)": lambda: expect(X, (2,), "y"),
    r"x must have shape \(B, 5, D\), got \(2, 3, 4\)": lambda: expect(X, ("B", 5, "D")),
    r"x must have shape \(B, T, D\) with every size at least 1, got \(2, 0, 4\)": lambda: expect(X[:, :0], "B T D"),
    "x must be on cpu, as the weights are, got meta": lambda: expect(META, "B T D", like=WEIGHT),
    "x must be of torch.float32, as the input is, got torch.float64": lambda: expect(X.double(), "B T D", like=X),
    r"x must hold ids of shape \(B, T\), B and T at least 1, got list": lambda: expect_ids([[1]], 6),
    "x must hold ids .* got torch.float32 of shape": lambda: expect_ids(IDS.float(), 6),
    r"x must hold ids .* got torch.int64 of shape \(3,\)": lambda: expect_ids(IDS[0], 6),
    r"x must hold ids .* got torch.int64 of shape \(2, 0\)": lambda: expect_ids(IDS[:, :0], 6),
    "words must hold ids from 0 to 4, got 5": lambda: expect_ids(IDS, 5, "words"),
    "x must hold ids from 0 to 5, got -1": lambda: expect_ids(IDS - 1, 6),
    "x must hold ids from 0 on, got -1": lambda: expect_ids(IDS - 1, None),
    r"x must be a tuple of 2 entries, \(source, target_in\), got Tensor": lambda: expect_pair(IDS, 6, None),
    "target_in must hold ids from 0 to 4, got 5": lambda: expect_pair((IDS, IDS), 5, None),
    r"source and target_in must be of one batch, got shapes \(1, 3\) and \(2, 3\)": lambda: expect_pair(
        (IDS[:1], IDS), 6, None
    ),
    r"source must hold words first .* got row 1: \[0, 1, 2\]": lambda: expect_sentences(
        tensor([[1, 2, 0], [0, 1, 2]]), 6
    ),
    r"source must hold words first .* got row 0: \[1, 0, 2\]": lambda: expect_sentences(tensor([[1, 0, 2]]), 6),
    r"source must hold words first .* got row 1: \[0, 0\]": lambda: expect_sentences(tensor([[1, 0], [0, 0]]), 6),
    "state must be a tuple of 2 entries, one for each layer, got list": lambda: expect_tuple(
        [X, X], 2, "one for each layer"
    ),
    "state must be a tuple of 3 entries, .* got 2 entries": lambda: expect_tuple(STATE, 3, "one for each layer"),
    r"state\[1\] must have shape \(2, 3, 4\), got \(2, 0, 4\)": lambda: expect_state(STATE, SHAPES, X),
    r"state\[0\] must be of torch.float64": lambda: expect_state(STATE, SHAPES, X.double()),
    r"state must be a tuple of 2 entries, \(k, v\), got Tensor": lambda: expect_state(X, SHAPES, X),
    r"state\[0\]\[1\] must be a tensor": lambda: expect_state(((X, None),), [SHAPES], X),
    "x must hold floats, got torch.int64": lambda: expect_floats(IDS, "B T"),
    "x must hold floats or complex": lambda: expect_floats(IDS, "B T", complex=True),
    "mask must be a bool tensor, True = may attend, got torch.float32": lambda: expect_fits("mask", X, (2, 3, 4)),
    r"mask must be broadcastable to \(2, 3\), got shape \(2, 2\)": lambda: expect_fits(
        "mask", torch.ones(2, 2, dtype=torch.bool), (2, 3)
    ),
    "layers must be at least 1, got 0": lambda: expect_sizes(width=1, layers=0),
    "width must be a whole number of at least 1, got True": lambda: expect_sizes(width=True),
    "width must be a whole number of at least 1, got 2.0": lambda: expect_sizes(width=2.0),
    r"kind must be one of \['a', 'b'\], got 'c'": lambda: expect_choice("kind", "c", ["a", "b"]),
    "dropout must be from 0 to below 1, got 1$": lambda: expect_share(dropout=1),
    "dropout must be from 0 to below 1, got -0.1": lambda: expect_share(dropout=-0.1),
    "heads must divide width = 6, got 4": lambda: expect_heads(6, 4),
    "heads must be at least 1, got 0": lambda: expect_heads(6, 0),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_refused(message):
    with pytest.raises(ValueError, match=f"^{message}"):
        REFUSED[message]()


class Named(NamedTuple):
    h: Any


@dataclass(frozen=True)
class Frozen:
    h: Any


def test_states_of_every_form_are_mapped_and_keep_it():
    for state in (Named(X), Frozen(X), {"h": X}, [X], (X,), [Named({"h": Frozen((X, None, 3))})], None, Named):
        assert repr(map_tensors(state, lambda x: x + 1)) == repr(state).replace("0.", "1.")
