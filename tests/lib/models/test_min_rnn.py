"""minGRU and minLSTM: two routes to one function, and numbers at the edge."""

import pytest
import torch
import torch.nn.functional as F
from support.compare import draw
from support.helpers import relative_error

from rtx_lib.kernels import linear_recurrence
from rtx_lib.models.min_rnn import MinGRU, MinLSTM, log_positive, log_space_recurrence, min_gru, min_lstm, positive

kinds = pytest.mark.parametrize("kind", [MinGRU, MinLSTM])


def maps(kind, length=50):
    return draw(2, length, kind.blocks * 4).double().requires_grad_()


def run(kind, a, h0=None, **how):
    new, *gates = a.chunk(kind.blocks, dim=-1)
    return (min_gru if kind is MinGRU else min_lstm)(*gates, new, h0, **how)


def test_g_is_positive_increasing_and_continuous():
    v = torch.linspace(-40, 40, 4001, dtype=torch.float64)
    value = positive(v)
    assert (value > 0).all() and (value.diff() > 0).all()
    assert relative_error(value, torch.where(v < 0, v.sigmoid(), v + 0.5)) < 1e-15
    assert relative_error(log_positive(v), value.log()) < 1e-14
    at = torch.tensor([-1e-9, 0.0], dtype=torch.float64, requires_grad=True)
    slopes = [torch.autograd.grad(f(at).sum(), at)[0].tolist() for f in (positive, lambda a: log_positive(a).exp())]
    assert slopes[0] == pytest.approx([0.25, 1.0]) and slopes[1] == pytest.approx([0.25, 1.0])


def test_logarithms_where_g_is_too_small_for_a_float():
    far = torch.tensor([-1000.0, 1000.0], requires_grad=True)
    value = log_positive(far)
    assert value[0] == -1000 and value.isfinite().all() and positive(far)[0] == 0
    assert torch.autograd.grad(value.sum(), far)[0][0] == 1


@kinds
@pytest.mark.parametrize("backend", ["auto", "loop"])
def test_gates_that_are_open_or_shut_to_the_last_bit(kind, backend):
    """No NaN in states or gradients, and a shut gate keeps what was there."""
    a = torch.full((1, 6, kind.blocks), 200.0, dtype=torch.float64)
    a[..., 1] = -200.0 if kind is MinGRU else 200.0  # z, or f
    a[..., -1] = -200.0  # z, or i
    a.requires_grad_()
    h0 = torch.full((1, 1), 0.7, dtype=torch.float64).requires_grad_()
    h = run(kind, a, h0, backend=backend)
    assert torch.allclose(h, h0.expand_as(h), rtol=1e-12)
    assert all(grad.isfinite().all() for grad in torch.autograd.grad(h.sum(), [a, h0]))
    h = run(kind, -a, h0, backend=backend)  # z = 1 and a candidate of -200: a new state, all but 0
    assert (h.abs() < 1e-80).all()
    assert all(grad.isfinite().all() for grad in torch.autograd.grad(h.sum(), [a, h0]))


def test_the_route_of_logarithms_goes_to_the_same_states():
    """A state of zeros has no logarithm and needs none."""
    a, zero = maps(MinGRU), torch.zeros(2, 4).double().requires_grad_()
    new, z = a.chunk(2, dim=-1)
    parts = F.logsigmoid(-z), F.logsigmoid(z) + log_positive(new)
    assert torch.equal(log_space_recurrence(*parts, zero), log_space_recurrence(*parts))
    routes = [log_space_recurrence(*parts, zero), run(MinGRU, a, zero)]
    ours, theirs = (torch.autograd.grad(h[:, 3].sum(), [a, zero], retain_graph=True) for h in routes)
    assert relative_error(*routes) < 1e-12 and theirs[1].all()
    assert all(relative_error(one, other) < 1e-12 for one, other in zip(ours, theirs, strict=True))


def test_log_space_recurrence_is_the_kernel():
    log_a, log_b = -draw(2, 30, 3, 2).double().exp(), draw(2, 30, 3, 2, seed=1).double()
    h0 = draw(2, 3, 2, seed=2).double()
    for start in (None, h0):
        expected = linear_recurrence(log_a.exp(), log_b.exp(), start)
        assert relative_error(log_space_recurrence(log_a, log_b, start), expected) < 1e-12
