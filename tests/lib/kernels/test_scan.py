"""The algebra of clamp maps, and the guards of the chunked scan."""

import itertools

import pytest
import torch
from kernels.against_loop import error, random, results

from rtx_lib.kernels import ClampMap, compose, relu_recurrence, scan, scan_maps, step_maps


def some_maps():
    """Maps with slopes of both signs and zero, and with bounds on every side of zero."""
    bounds = [(-2.0, -1.0), (-1.0, 3.0), (0.0, 0.0), (0.5, 9.0)]
    parts = itertools.product([-1.5, 0.0, 2.0], [-1.25, 0.0, 0.5, 1.0], bounds)
    rows = torch.tensor([(a, u, low, high) for a, u, (low, high) in parts], dtype=torch.float64)
    return ClampMap(*rows.T)


def test_compose_is_one_map_after_the_other():
    maps = some_maps()
    h = torch.linspace(-8, 8, 33, dtype=torch.float64)[:, None, None]
    first = ClampMap(*(part[:, None] for part in maps))
    assert torch.equal(compose(maps, first)(h), maps(first(h)))


@pytest.mark.parametrize("steps", [1, 2, 7, 64, 100])
def test_the_teaching_scan_equals_the_loop(steps):
    z, u, h0 = random(2, steps, 5), torch.tensor([-1.1, -0.5, 0.0, 0.9, 1.02], dtype=torch.float64), random(2, 5).abs()
    maps = scan_maps(step_maps(z, u))
    assert error(maps(h0[:, None]), relu_recurrence(z, u, h0, backend="loop")) < 1e-12


def test_chunk_length():
    for steps, length in ((1, 1), (2, 2), (4, 2), (5, 3), (5000, 71)):
        assert scan.chunk_length(steps, torch.tensor([0.5])) == length
        assert scan.chunk_length(steps, torch.tensor([float("nan")])) == length
    for u in (1.5, -2.5, 100.0, 1e30):
        u = torch.tensor([0.1, u])
        length = scan.chunk_length(10**6, u)
        assert length == 1 or (u.abs().max().double() ** (2 * length) <= torch.finfo(u.dtype).max)
        assert u.abs().max().double() ** (2 * length + 2) > torch.finfo(u.dtype).max
    assert scan.chunk_length(5000, torch.tensor([2.0])) == 63  # the root of float32's largest is 2^64


def runs(monkeypatch):
    """A list that fills with the number of neurons of every run through single steps."""
    found, real = [], scan._run

    def spy(x, u, start, finish):
        if start is None:
            found.append(x.shape[-1])
        return real(x, u, start, finish)

    monkeypatch.setattr(scan, "_run", spy)
    return found


@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_no_neuron_is_run_again_within_the_constraint(monkeypatch, shift):
    """|u| <= 2^(1/T) costs no run through single steps, forward or backward: that would be right, but slow.

    Shifted up no state is zero, so that the composed maps alone have to tell where a chunk starts.
    """
    again = runs(monkeypatch)
    for seed in range(4):
        u = 2 ** (1 / 2000) * torch.cat([torch.linspace(-1, 1, 20), torch.linspace(0.99, 1, 12)]).double()
        results("scan", random(1, 2000, 32, seed=seed) / 2 + shift, u, random(1, 32), random(1, 2000, 32, seed=9))
    assert again == []


def test_only_doubtful_neurons_are_run_again(monkeypatch):
    again = runs(monkeypatch)
    z = random(3, 2000, 8) - 1
    z[1, 100, 2] = float("nan")
    results("scan", z, torch.full((8,), 0.9, dtype=torch.float64), None, random(3, 2000, 8))
    assert again == [1]  # forward; the gradient of z knows nothing of NaN in the states


def test_a_wrong_start_is_noticed():
    """What makes the result trustworthy: chunks that do not join."""
    u = torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64)
    found = random(2, 10, 3).abs() + 1
    assert scan._join(found, found, u, 20).all()
    given = found.clone()
    given[1, 4] += 1e-15 * given[1, 4]
    assert scan._join(given, found, u, 20).tolist() == [[True] * 3, [True, True, False]]
    given[0, 4, 0] *= 1 + 1e-10
    given[0, 9, 1] = float("nan")
    assert scan._join(given, found, u, 20).tolist() == [[False, False, True], [True, True, False]]
