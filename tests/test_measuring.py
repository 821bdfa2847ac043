"""Variants take turns, a median leaves the warm-up out, and every byte that is held at once is counted."""

import pytest
import torch

from rtx_lib import measuring


def test_variants_take_turns():
    order = []
    measuring.measure({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, rounds=7, warmup=1)
    assert order == ["a", "b"] * 8
    with pytest.raises(ValueError, match="rounds"):
        measuring.measure({}, rounds=3)


def test_the_median_leaves_the_warmup_out(monkeypatch):
    clock, lengths = [0.0], iter([100.0] * 8 + [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    monkeypatch.setattr(measuring.time, "perf_counter", lambda: clock[0])

    def variant():
        clock[0] += next(lengths)

    assert measuring.measure({"a": variant}, rounds=7, warmup=8) == {"a": 4.0}


def test_a_ratio_above_one_is_faster(monkeypatch):
    monkeypatch.setattr(measuring, "measure", lambda variants, rounds: {"slow": 3.0, "fast": 1.5})
    (row,) = measuring.compare("case", "slow", dict.fromkeys(("slow", "fast"), lambda: torch.ones(1)), "cpu")
    assert row["variant"] == "fast" and row["ratio"] == 2.0


def test_a_wrong_variant_shows_its_error():
    variants = {"right": lambda: torch.ones(3), "wrong": lambda: torch.tensor([1.0, 1.0, 1.5])}
    (row,) = measuring.compare("case", "right", variants, "cpu")
    assert row["max_error"] == pytest.approx(0.5)


KILO = 1000  # float32 numbers, 4,000 bytes


def one_after_another():
    for _ in range(3):
        torch.zeros(KILO)
    a = torch.zeros(2 * KILO)
    del a
    return torch.zeros(KILO)


def together():
    return [torch.zeros(KILO) for _ in range(3)] and torch.zeros(KILO)


def inside_an_operation():
    """The median orders a copy, which no operation returns."""
    return torch.zeros(10 * KILO).median()


def kept_for_the_backward_pass():
    x = torch.zeros(KILO, requires_grad=True)
    x.exp().exp().exp().sum().backward()


@pytest.mark.parametrize(
    "run, kilos", [(one_after_another, 2), (together, 3), (inside_an_operation, 20), (kept_for_the_backward_pass, 5)]
)
def test_the_peak_is_what_is_held_at_once(run, kilos):
    held = torch.zeros(9 * KILO)  # from before, and not counted
    assert measuring.peak_memory(run) == pytest.approx(4 * KILO * kilos, rel=0.05)
    assert measuring.peak_memory(lambda: held.add_(1)) < 400


def test_memory_is_a_ratio_too():
    small, large = (lambda n=n: torch.zeros(n * KILO)[:1] + 1 for n in (1, 4))
    (row,) = measuring.compare("case", "large", {"large": large, "small": small}, "cpu", memory=True)
    assert row["memory_ratio"] == pytest.approx(0.25, abs=0.03)
    (row,) = measuring.compare("case", "large", {"large": large, "small": small}, "cpu")
    assert "memory_ratio" not in row


def test_on_a_gpu_its_own_count_is_taken(monkeypatch):
    calls = []
    answers = {"memory_allocated": 100, "reset_peak_memory_stats": None, "max_memory_allocated": 350}
    for name, answer in answers.items():
        monkeypatch.setattr(torch.cuda, name, lambda device, name=name, answer=answer: calls.append(name) or answer)
    assert measuring.peak_memory(lambda: calls.append("run"), "cuda") == 250
    assert calls == ["memory_allocated", "reset_peak_memory_stats", "run", "max_memory_allocated"]
