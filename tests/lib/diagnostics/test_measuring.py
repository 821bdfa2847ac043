"""Variants take turns, a median leaves the warm-up out; bytes held at once and matrix products are counted."""

import itertools
import warnings

import pytest
import torch
from torch import nn

from rtx_lib.diagnostics import measuring
from rtx_lib.layers import GRU, LSTM, MultiHeadAttention


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


def test_on_a_gpu_its_own_count_is_taken(monkeypatch):
    calls = []
    answers = {"memory_allocated": 100, "reset_peak_memory_stats": None, "max_memory_allocated": 350}
    for name, answer in answers.items():
        monkeypatch.setattr(torch.cuda, name, lambda device, name=name, answer=answer: calls.append(name) or answer)
    assert measuring.peak_memory(lambda: calls.append("run"), "cuda") == 250
    assert calls == ["memory_allocated", "reset_peak_memory_stats", "run", "max_memory_allocated"]


@pytest.mark.parametrize("device, threads, taken", [("cpu", 1, 1.0), ("cpu", 2, 9.0), ("cuda", 1, 9.0), (None, 1, 9.0)])
def test_other_programs_count_only_where_they_must(monkeypatch, device, threads, taken):
    """Each reading of the wall's clock is nine seconds after the last, of the processor's one."""
    for name, tick in (("perf_counter", 9.0), ("process_time", 1.0)):
        ticks = itertools.count(step=tick)
        monkeypatch.setattr(measuring.time, name, lambda ticks=ticks: next(ticks))
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    assert measuring.measure({"a": lambda: None}, device=device) == {"a": taken}


B, T, D, H = 3, 5, 4, 6


def both_ways(forward, *inputs):
    return lambda: forward(*inputs).sum().backward()


def test_flops_of_a_linear_layer():
    layer, x = nn.Linear(D, H), torch.randn(B, D)
    product = 2 * B * D * H  # a multiplication and an addition for each weight and row
    assert measuring.count_flops(lambda: layer(x)) == product
    assert measuring.count_flops(both_ways(layer, x)) == 2 * product, "the gradient of x is not asked for"
    assert measuring.count_flops(both_ways(layer, x.requires_grad_())) == 3 * product


@pytest.mark.parametrize("layer, gates", [(LSTM, 4), (GRU, 3)])
def test_flops_of_a_fused_layer_are_those_of_its_loop(layer, gates):
    x = torch.randn(B, T, D)
    counts = []
    for model in (layer(D, H, backend="loop"), layer(D, H, backend="torch")):
        ways = (lambda model=model: model(x), both_ways(lambda x, model=model: model(x)[0], x))
        counts.append([measuring.count_flops(way) for way in ways])
    assert counts[0] == counts[1]
    assert counts[0][0] == 2 * B * T * gates * H * (D + H)


def test_flops_of_attention_know_no_mask():
    heads, width = 2, 8
    q, k, v = (torch.randn(B, heads, T, width, requires_grad=True) for _ in range(3))
    products = 2 * 2 * B * heads * T * T * width  # with the keys, then with the values

    def attend(causal):
        return nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

    assert measuring.count_flops(lambda: attend(False)) == measuring.count_flops(lambda: attend(True)) == products
    assert measuring.count_flops(both_ways(attend, True)) == 3 * products
    layer, x = MultiHeadAttention(H, 2), torch.randn(B, T, H)
    assert measuring.count_flops(lambda: layer(x, causal=True)) == 4 * 2 * B * T * H * H + 4 * B * T * T * H


def test_counting_leaves_torch_as_it_was():
    def flags():
        cudnn, mkldnn = torch.backends.cudnn, torch.backends.mkldnn
        names = ("enabled", "deterministic", "allow_tf32")
        fused = torch.backends.cuda.flash_sdp_enabled()
        return fused, [getattr(part, name) for part in (cudnn, mkldnn) for name in names]

    def plant():
        warnings.warn("seen", stacklevel=1)
        raise RuntimeError("planted")

    before = flags()
    with pytest.raises(RuntimeError, match="planted"), pytest.warns(UserWarning, match="seen"):
        measuring.count_flops(plant)
    assert flags() == before
