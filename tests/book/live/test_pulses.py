"""Pulses by hand: the page's neuron is the library's recurrence, what a pulse is worth is what it changes, and the maps
of its steps join as the library's do."""

import functools
import math
import re

import pytest
import torch
from live.parity import BAR, error, flat
from live.widgets import press, status

from rtx_lib.kernels import relu_recurrence
from rtx_lib.kernels.scan import compose, step_maps
from rtx_lib.models.indrnn import recurrent_bound

WEIGHTS = (-1.1, -1.0, -0.9, -0.3, 0.0, 0.5, 0.9, 0.99, 1.0, 1.01, 1.1)
RUN = "({u, z, h0}) => [...RTX.neuron(u, z, h0)]"


def by_the_library(u, z, h0=0.0):
    def double(value):
        return torch.tensor(value, dtype=torch.float64)

    return relu_recurrence(double(z).view(1, -1, 1), double([u]), double([[h0]]), backend="loop").flatten()


def inputs(seed, length=60):
    return flat(torch.randn(length, generator=torch.Generator().manual_seed(seed)) * 2)


@pytest.mark.parametrize("length", [1, 7, 300])
def test_the_states_are_those_of_the_library(live, length):
    page = live("neuron")
    for seed, u in enumerate(WEIGHTS):
        z, h0 = inputs(seed, length), 0.1 * seed
        assert error(page.evaluate(RUN, {"u": u, "z": z, "h0": h0}), by_the_library(u, z, h0)) < BAR


@pytest.mark.parametrize("bias", [0.0, 1.0])
@pytest.mark.parametrize("u", [-0.9, 0.5, 0.97])
def test_a_pulse_is_worth_what_it_changes(live, u, bias):
    page, T, pulses = live("neuron"), 40, {3: 1.0, 9: -0.5, 20: 2.0, 99: 1.0}  # the last lies beyond the end
    z = torch.full((T,), bias, dtype=torch.float64)
    for step, height in pulses.items():
        if step <= T:
            z[step - 1] += height
    less = z.clone()
    less[8] += 0.5
    rest = bias / (1 - u)
    wanted = by_the_library(u, z.tolist(), rest) - by_the_library(u, less.tolist(), rest)
    given = {"u": u, "pulses": pulses, "bias": bias, "T": T}
    found = page.evaluate("({u, pulses, bias, T}) => [...RTX.worthOf(u, pulses, bias, T, 9)]", given)
    assert (torch.tensor(found, dtype=torch.float64) - wanted).abs().max() < BAR
    alone = page.evaluate("({u, bias, T}) => [...RTX.response(u, {}, bias, T)]", given)
    assert max(abs(h - rest) for h in alone) < BAR  # a neuron at rest stays there


def test_half_lives_and_windows_are_those_of_the_chapter(live):
    page = live("neuron")
    lengths = {u: page.evaluate("(u) => RTX.memoryLength(u)", u) for u in (-0.99, 0.9, 0.99, 1.05)}
    for u, found in lengths.items():
        assert abs(found - abs(math.log(2) / math.log(abs(u)))) < BAR * found
    assert page.evaluate("RTX.memoryLength(1) === Infinity && RTX.memoryLength(-1) === Infinity")
    assert abs(page.evaluate("(u) => RTX.memoryLength(u)", 0.5**0.001) - 1000) < BAR * 1e6  # as exercise 1 asks
    low, high = page.evaluate("RTX.window(784, 0.1, 5)")
    assert abs(low - 0.1 ** (1 / 784)) < BAR and abs(high - recurrent_bound(784, 5.0)) < BAR


ROUNDS = """({u, z}) => RTX.scanRounds(z, u).map((row) => row.map(({from, to, map: {a, u, low, high}}) =>
  ({from, to, map: [a, u, low, high], h: RTX.applyMap({a, u, low, high}, 0)})))"""


def far_off(page, u, z):
    """The largest error of the last round's states and maps, and of every map between, as it is joined there."""
    found = page.evaluate(ROUNDS, {"u": u, "z": z})
    single = step_maps(torch.tensor(z, dtype=torch.float64).view(1, -1, 1), torch.tensor([u], dtype=torch.float64))
    off = [error([box["h"] for box in found[-1]], by_the_library(u, z))]
    for row in found:
        for box in row:
            part = [type(single)(*(one[0, t] for one in single)) for t in range(box["from"] - 1, box["to"])]
            joined = functools.reduce(lambda before, one: compose(one, before), part)
            h = torch.linspace(-3, 3, 61, dtype=torch.float64)
            a, slope, low, high = box["map"]
            off.append(((a + slope * h).clamp(low, high) - joined(h)).abs().max().item())
    return max(off)


@pytest.mark.parametrize("length", [1, 2, 8, 11])
def test_the_rounds_of_a_scan_join_as_the_library_does(live, length):
    page = live("clamps")
    for seed, u in enumerate(WEIGHTS):
        z = inputs(seed, length)
        rows = page.evaluate(ROUNDS, {"u": u, "z": z})
        assert len(rows) == 1 + math.ceil(math.log2(length))
        assert [box["from"] for box in rows[-1]] == [1] * length
        assert [box["to"] for box in rows[0]] == list(range(1, length + 1))
        assert far_off(page, u, z) < BAR


def test_pulses_are_placed_and_u_is_moved(widget):
    page = widget("pulses")
    title, told = (page.locator(f".live-{name}").first.inner_text for name in ("pulses-title", "task"))
    assert title() == "u = 0.9: half is left after 6.6 steps" and "is worth 0.122 at step 23" in told()
    page.get_by_label("exactly").fill("1.05")
    assert title() == "u = 1.05: it grows, to twice as much after 14.2 steps" and "worth 2.65 at step 23" in told()
    assert page.get_by_label("held up by a bias of 1").is_disabled()
    page.get_by_label("exactly").fill("1.2")
    assert told() == status(page)
    assert told() == "1.2 is not taken: u may go from −1.1 to 1.1. The picture still shows u = 1.05."
    page.get_by_label("exactly").fill("-1")
    assert page.get_by_label("exactly").get_attribute("aria-invalid") == "false"
    assert "nothing is lost, with a sign that alternates" in title() and "cut off" in told()
    page.get_by_label("held up by a bias of 1").check()
    assert "cut off" not in told()
    page.get_by_label("at step").fill("9")  # the tenth step
    press(page, "Pulse down")
    assert "The pulse of step 10, −1, is worth" in status(page)
    press(page, "No pulse here")
    assert "There is no pulse at step 10" in told()
    page.locator("svg.live-pulses").click(position={"x": 300, "y": 100})
    assert "The pulse of step" in told()
    press(page, "Clear all")
    assert "pulses at no step" in page.locator("svg.live-pulses").get_attribute("aria-label")
    page.locator(".live-select select").select_option("300")
    assert "over 300 steps" in told()


def test_a_chain_is_joined_round_by_round(widget):
    page = widget("scan-tree")
    for k, full in enumerate((2, 4, 8), start=1):
        press(page, "Next round")
        assert f"Round {k} joined boxes {2 ** (k - 1)} apart. {full} of 8 boxes" in status(page)
    assert page.locator("button:disabled + button:focus").inner_text() == "Start again"
    told = page.locator(".live-task").inner_text
    state = re.search(r"state of step 8: (−?\d+\.\d+). The loop gives (−?\d+\.\d+)", told())
    assert state and state[1] == state[2]
    page.get_by_label("input z of step 8").fill("3")
    changed = re.search(r"state of step 8: (−?\d+\.\d+). The loop gives (−?\d+\.\d+)", told())
    assert changed and changed[1] == changed[2] != state[1]
    page.get_by_role("button", name="round 3: steps 1 to 8").focus()
    page.keyboard.press("ArrowUp")
    assert "The box of steps 5 to 8" in told()
    press(page, "Start again")
    assert page.get_by_role("button", name="round 1: not made yet").count() == 8
