"""Every check of rtx_lib.shapes: what it lets through, and one case of each message."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from support.helpers import refusals
from torch import nn, tensor

from rtx_lib.shapes import (
    at_hand,
    expect,
    expect_each,
    expect_fits,
    expect_floats,
    expect_heads,
    expect_ids,
    expect_like,
    expect_no_state,
    expect_pair,
    expect_sentences,
    expect_state,
    expect_tuple,
    map_tensors,
)

X, IDS, WEIGHT = torch.zeros(2, 3, 4), tensor([[1, 2, 3], [4, 5, 0]]), nn.Parameter(torch.zeros(1))
STATE = (X, NO := X[:, :0])
SHAPES = {"k": (2, "M", 4), "v": (2, "M", 4)}
META, EYE = X.to("meta"), torch.eye(2) > 0


def test_what_may_come_in_comes_out():
    assert expect(X, "B T D", like=WEIGHT) is expect(X, (2, "T", 4)) is X and expect(NO, "B M D").numel() == 0
    with torch.autocast("cpu", torch.bfloat16):
        assert expect(X.half(), "B T D", like=WEIGHT).dtype == torch.float16
    assert expect_ids(IDS, 6) is IDS and expect_ids(IDS.int() + 100, None).max() == 105
    assert expect_ids((IDS + 100).to("meta"), 6).is_meta, "values far away are not looked at"
    assert expect_pair((IDS[:1], IDS), 6, STATE)[1] is IDS and expect_pair((None, IDS), 6, STATE)[0] is None
    assert expect_sentences(IDS, 6, "x")[1].tolist() == [[True, True, True], [True, True, False]]
    assert expect_tuple(STATE, 2, "of two") is STATE and expect_state((X, X), SHAPES, X) == (X, X)
    assert [part.shape for part in expect_state(None, SHAPES, X)] == [(2, 0, 4), (2, 0, 4)]
    (inner,) = expect_state(((X, X),), [SHAPES], X)
    assert inner == (X, X) and expect_state(X, (2, 3, 4), X) is X
    assert expect_floats(X, "B T D") is X and expect_floats(X + 0j, "B T D", complex=True).is_complex()
    expect_fits("mask", None, (2, 3))
    expect_fits("mask", torch.ones(1, 3, dtype=torch.bool), (2, 3))
    expect_each(width=np.int64(1), layers=10**9, count=tensor(2), length=(3, 3))
    expect_each(kind=(None, ["a", None]), heads=(2, "divisor of 6"))
    expect_each(dropout=(0, "[0, 1)"), keep=(1, "(0, 1]"), limit=(None, "None or (0, inf)"), size=(6, "multiple of 2"))
    expect_each(channels=([3, 1], "sizes"), filters=(((1, 2), [3, 4]), "pairs of sizes"), bias=(-1e9, "(-inf, inf)"))
    assert expect_heads(6, 2) == 3 and at_hand(X) and not at_hand(META)


REFUSED = {
    r"x must be a tensor of shape \(B, T, D\), got list": lambda: expect([1], "B T D"),
    r"y must have shape \(2,\), got \(2, 3, 4\)": lambda: expect(X, (2,), "y"),
    r"x must have shape \(B, 5, D\), got \(2, 3, 4\)": lambda: expect(X, ("B", np.int64(5), "D")),
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
    r"source must have shape \(2, S\), got \(1, 3\)": lambda: expect_pair((IDS[:1], IDS), 6, None),
    r"y must hold words first .* got row 1: \[0, 1\]": lambda: expect_sentences(tensor([[1, 0], [0, 1]]), 6, "y"),
    r"y must hold words first .* got row 0: \[1, 0, 2\]": lambda: expect_sentences(tensor([[1, 0, 2]]), 6, "y"),
    r"y must hold words first .* got row 1: \[0, 0\]": lambda: expect_sentences(tensor([[1, 0], [0, 0]]), 6, "y"),
    "state must be a tuple of 2 entries, all for one, got list": lambda: expect_tuple([X, X], 2, "all for one"),
    "state must be a tuple of 3 entries, .* got 2 entries": lambda: expect_tuple(STATE, 3, "all for one"),
    r"state\[1\] must have shape \(2, 3, 4\), got \(2, 0, 4\)": lambda: expect_state(STATE, SHAPES, X),
    r"state\[0\] must be of torch.float64": lambda: expect_state(STATE, SHAPES, X.double()),
    r"state must be a tuple of 2 entries, \(k, v\), got Tensor": lambda: expect_state(X, SHAPES, X),
    r"state\[0\]\[1\] must be a tensor": lambda: expect_state(((X, None),), [SHAPES], X),
    "x must hold floats, got torch.int64": lambda: expect_floats(IDS, "B T"),
    "x must hold floats or complex": lambda: expect_floats(IDS, "B T", complex=True),
    "mask must be a bool tensor, True = may attend, got torch.float32": lambda: expect_fits("mask", X, (2, 3, 4)),
    r"mask must be broadcastable to \(2, 3\), got shape \(2, 2\)": lambda: expect_fits("mask", EYE, (2, 3)),
    "layers must be at least 1, got 0": lambda: expect_each(width=1, layers=0),
    "width must be a whole number of at least 1, got True": lambda: expect_each(width=True),
    "width must be a whole number of at least 1, got 2.0": lambda: expect_each(width=2.0),
    "length must be at least 3, got 2": lambda: expect_each(length=(2, 3)),
    r"kind must be one of \['a', 'b'\], got 'c'": lambda: expect_each(kind=("c", ["a", "b"])),
    "dropout must be at least 0 and below 1, got 1$": lambda: expect_each(dropout=(1, "[0, 1)")),
    "dropout must be at least 0 and below 1, got -0.1": lambda: expect_each(dropout=(-0.1, "[0, 1)")),
    "dropout must be at least 0 and below 1, got nan": lambda: expect_each(dropout=(float("nan"), "[0, 1)")),
    "dropout must be at least 0 and below 1, got None": lambda: expect_each(dropout=(None, "[0, 1)")),
    "length must be at least 1 and at most 0, got 1": lambda: expect_each(length=(1, "[1, 0]")),
    "share must be above 0 and at most 1, got 0": lambda: expect_each(share=(0, "(0, 1]")),
    "limit must be above 0 or None, got 0": lambda: expect_each(limit=(0, "None or (0, inf]")),
    "limit must be above 0 and finite, got inf": lambda: expect_each(limit=(float("inf"), "(0, inf)")),
    "width must be a multiple of 2, got 3": lambda: expect_each(width=(3, "multiple of 2")),
    "heads must be a divisor of 6, got 4": lambda: expect_heads(6, 4),
    "heads must be a divisor of 6, got 0": lambda: expect_heads(6, 0),
    r"channels must be a sequence of sizes, with one at least, got \[\]": lambda: expect_each(channels=([], "sizes")),
    r"channels must be a sequence of sizes, .* got \[3, 0\]": lambda: expect_each(channels=([3, 0], "sizes")),
    r"x must be a sequence of pairs of sizes, .* got \[\(1,\)\]": lambda: expect_each(x=([(1,)], "pairs of sizes")),
    "state must be None, a text is read as a whole, got tuple": lambda: expect_no_state(()),
    r"k must have shape \(2, 3, 5\), got \(2, 3, 4\)": lambda: expect_like(X, k=(X, (2, 3, 5))),
    r"v must have shape \(2, 3, V\), got \(2, 0, 4\)": lambda: expect_like(
        X, k=(X, (2, "S", 4)), v=(NO, (2, "S", "V"))
    ),
    "k must be of torch.float32, as the input is, got torch.float64": lambda: expect_like(X, k=(X.double(), X.shape)),
    r"state\[0\] must be of torch.bool": lambda: expect_state((X,), {"real": (2, 3, 4, torch.bool)}, X),
}


test_what_is_refused = refusals(REFUSED)


class Named(NamedTuple):
    h: Any


@dataclass(frozen=True)
class Frozen:
    h: Any


def test_states_of_every_form_are_mapped_and_keep_it():
    for state in (Named(X), Frozen(X), {"h": X}, [X], (X,), [Named({"h": Frozen((X, None, 3))})], None, Named):
        assert repr(map_tensors(state, lambda x: x + 1)) == repr(state).replace("0.", "1.")
