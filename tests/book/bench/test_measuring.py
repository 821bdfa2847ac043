"""A row has a ratio, an error and a kind."""

import pytest
import torch

from rtx_book.bench import measuring


def compared(monkeypatch=None, seconds=None, kind="ours", **variants):
    """The row of a comparison with the first variant."""
    if seconds:
        monkeypatch.setattr(measuring, "measure", lambda variants, rounds, device: seconds)
    pairs = measuring.pairs(variants, next(iter(variants)), kind)
    return measuring.compare("case", variants, pairs, "cpu", memory=True)[0]


def test_a_ratio_above_one_is_faster(monkeypatch):
    one = dict.fromkeys(("slow", "fast"), lambda: torch.ones(1))
    row = compared(monkeypatch, {"slow": 3.0, "fast": 1.5}, **one)
    assert row["variant"] == "fast" and row["against"] == "slow" and row["ratio"] == 2.0


def test_a_wrong_variant_shows_its_error():
    row = compared(right=lambda: torch.ones(3), wrong=lambda: torch.tensor([1.0, 1.0, 1.5]))
    assert row["max_error"] == pytest.approx(0.5)


def test_memory_is_a_ratio_too():
    small, large = (lambda n=n: torch.zeros(1000 * n)[:1] + 1 for n in (1, 4))
    assert compared(large=large, small=small)["memory_ratio"] == pytest.approx(0.25, abs=0.03)


def test_a_kind_that_is_none():
    with pytest.raises(ValueError, match="kind must be one of"):
        compared(kind="theirs", a=None, b=None)
