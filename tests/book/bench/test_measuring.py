"""A row has a ratio, an error and a kind."""

import pytest
import torch

from rtx_book.bench import measuring


def test_a_ratio_above_one_is_faster(monkeypatch):
    monkeypatch.setattr(measuring, "measure", lambda variants, rounds, device: {"slow": 3.0, "fast": 1.5})
    variants = dict.fromkeys(("slow", "fast"), lambda: torch.ones(1))
    (row,) = measuring.compare("case", "slow", variants, "cpu", kind="ours")
    assert row["variant"] == "fast" and row["ratio"] == 2.0


def test_a_wrong_variant_shows_its_error():
    variants = {"right": lambda: torch.ones(3), "wrong": lambda: torch.tensor([1.0, 1.0, 1.5])}
    (row,) = measuring.compare("case", "right", variants, "cpu", kind="ours")
    assert row["max_error"] == pytest.approx(0.5)


def test_memory_is_a_ratio_too():
    small, large = (lambda n=n: torch.zeros(1000 * n)[:1] + 1 for n in (1, 4))
    (row,) = measuring.compare("case", "large", {"large": large, "small": small}, "cpu", kind="ours", memory=True)
    assert row["memory_ratio"] == pytest.approx(0.25, abs=0.03)


def test_a_kind_that_is_none():
    with pytest.raises(ValueError, match="kind must be one of"):
        measuring.compare("case", "a", {}, "cpu", kind="theirs")
