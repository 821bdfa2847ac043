"""RWKV-4: the mean as its sums, the running maximum for all steps at once, and keys that would overflow."""

import math

import pytest
import torch
from reference.rwkv_loops import mean, sums
from support.compare import draw, furthest, worst
from support.helpers import drawn, relative_error

from rtx_lib.kernels import linear
from rtx_lib.models.rwkv import RWKVTimeMixing, wkv


def given(length=40, size=3, scale=1.0):
    """k, v (1, T, D), w and u (D,)."""
    k, v = (scale * draw(1, length, size).double()), draw(1, length, size, seed=1).double()
    w, u = draw(size, seed=2).double().exp() / 3, draw(size, seed=3).double()
    return [x.requires_grad_() for x in (k, v, w, u)]


@pytest.mark.parametrize("backend", ["auto", "loop", "scan", "numba"])
def test_equals_the_sums(backend):
    """Which pass the reference values; all gradients, and the three numbers of the state."""
    k, v, w, u = given()
    ours, state = wkv(k, v, w, u, backend=backend)
    assert furthest(ours[0], mean(k[0], v[0], w, u), [k, v, w, u]) < 1e-10
    assert worst([part[0] for part in state], sums(k[0], v[0], w)) < 1e-12


@pytest.mark.parametrize("scale", [0.1, 5.0, 300.0])
@pytest.mark.parametrize("decay", [1e-4, 0.1, 20.0])
def test_equals_the_steps(scale, decay):
    """Also where powers of the keys would overflow by far; from a state, of which each number counts."""
    k, v, w, u = given(200, scale=scale)
    w, u = (w.detach() * decay).requires_grad_(), (4 * scale * u.detach()).requires_grad_()
    state = tuple(draw(1, 3, seed=seed).double().requires_grad_() for seed in (4, 5))
    state = (state[0], state[1].exp(), scale * draw(1, 3, seed=6).double())
    for start in (None, state):
        (ours, after), (theirs, last) = wkv(k, v, w, u, start), wkv(k, v, w, u, start, backend="loop")
        inputs = [k, v, w, u] + ([] if start is None else [state[0]])
        assert ours.isfinite().all() and theirs.isfinite().all() and furthest(ours, theirs, inputs) < 1e-9
        assert worst(after, last) < 1e-9


def test_no_factor_is_above_1(monkeypatch):
    """So that the kernel's fast forms are allowed; with single precision too."""
    seen = []
    right = linear.linear_recurrence

    def watched(a, b, h0, backend):
        seen.append(float(a.detach().max()))
        return right(a, b, h0, backend=backend)

    monkeypatch.setattr("rtx_lib.models.rwkv.linear_recurrence", watched)
    for decay in (1e-3, 0.1, 3.0):
        k, v, w, u = (x.detach().float() for x in given(2000))
        ours = wkv(k, v, w * decay, u)[0]
        exact = wkv(k.double(), v.double(), (w * decay).double(), u.double(), backend="loop")[0]
        assert relative_error(ours.double(), exact) < 1e-5
    assert len(seen) == 3 and max(seen) <= 1 + 1e-6
    seen.clear()
    k[:, 0] += 500  # by far the largest for all 2,000 steps: its scale falls from 500 to -300
    wkv(k, v, torch.full_like(w, 0.4), u)
    assert seen == [1.0]


def test_first_decays_and_mixes():
    """Decays from e^-5 to e^3."""
    model = drawn(0, RWKVTimeMixing, 9)
    decay = model.time_decay.detach()
    assert decay[0] == -5 and decay[-1] == 3 and (decay.diff() > 0).all()
    assert sorted(set((model.time_first.detach() - math.log(0.3)).round(decimals=4).tolist())) == [-0.5, 0, 0.5]
    assert float(decay[4]) == pytest.approx(-5 + 8 * 0.5**0.7, rel=1e-5)
    assert torch.allclose(model.time_mix_k, torch.arange(9) / 9)
