"""xLSTM: the equations, gates far apart, what depends on m and what does not, two forms, and how the layers start."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from reference import xlstm_loops as loops
from support.compare import draw, outcomes, worst
from support.helpers import FIXTURES, drawn, relative_error

from rtx_lib.kernels import slstm_loop
from rtx_lib.models.xlstm import FORMS, MLSTM, SLSTM, mlstm, slstm

forms = pytest.mark.parametrize("form", FORMS)


def gates(batch=2, steps=9, heads=2, size=3, spread=2.0, seed=0):
    """What the sLSTM's cell is given, in double precision: preactivations and R."""
    a = spread * draw(batch, steps, heads, 4 * size, seed=seed).double()
    return a.requires_grad_(), draw(heads, 4 * size, size, seed=seed + 1).double().requires_grad_()


def memories(batch=2, steps=21, heads=2, size=3, width=4, spread=3.0, seed=0):
    """q, k, v, log i and log f of the mLSTM's cell, in double precision."""
    parts = [draw(batch, heads, steps, n, seed=seed + n).double() for n in (size, size + 10, width + 20)]
    q, k, v = parts[0], parts[1][..., :size], parts[2][..., :width]
    i, f = (spread * draw(batch, heads, steps, seed=seed + n).double() for n in (40, 41))
    return [x.clone().requires_grad_() for x in (q, k, v, i, F.logsigmoid(f))]


def state_of(q, v, seed=5, m=1.0):
    (batch, heads, _, size), width = q.shape, v.shape[3]
    shapes = (batch, heads, size, width), (batch, heads, size), (batch, heads)
    c, n, level = (draw(*shape, seed=seed + i).double() for i, shape in enumerate(shapes))
    return c, n, m * level


# ---- the equations


@pytest.mark.parametrize("heads, size", [(1, 4), (2, 3), (3, 1)])
def test_the_slstm_is_its_equations(heads, size):
    """h, (h, c, n, m) and gradients, from nothing and from a state, against the loops that the authors' values pass."""
    a, weight = gates(heads=heads, size=size)
    h, c, n, m = draw(4, 2, heads * size).double()
    bias, x = torch.zeros(4 * heads * size).double(), a.unflatten(3, (4, size)).transpose(2, 3)
    for state in (None, (h, c, n.abs() + 0.1, m)):
        start = 4 * [torch.zeros_like(h)] if state is None else state
        expected, last = loops.slstm(x, weight, bias, start)
        y, after = slstm(a, weight, state)
        assert worst(after, last) < 1e-12
        assert worst(outcomes(y, (a, weight)), outcomes(expected, (a, weight))) < 1e-10
        if state is not None:
            slow, end = slstm_loop(a, weight, tuple(part.unflatten(1, (heads, size)) for part in state))
            assert worst([part.flatten(1) for part in end], last) < 1e-12
            assert worst(outcomes(slow.flatten(2), (a, weight)), outcomes(expected, (a, weight))) < 1e-10


@forms
@pytest.mark.parametrize("eps", [0.0, 1e-6, 0.1])
@pytest.mark.parametrize("steps", [2, 21])
def test_the_mlstm_is_its_equations(form, eps, steps):
    """h, (C, n, m) and gradients, m's included where it matters, with a width of v of its own."""
    given = memories(steps=steps)
    state = [part.requires_grad_() for part in state_of(given[0], given[2])]
    expected, last = loops.mlstm(*given, *state, eps)
    h, after = mlstm(*given, tuple(state), form=form, eps=eps)
    assert worst(after, last) < 1e-12
    assert worst(outcomes(h, [*given, *state]), outcomes(expected, [*given, *state])) < 1e-10


# ---- numbers far apart


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_gates_far_apart_in_the_slstm(dtype):
    """Of preactivations of +-1000 nothing overflows, nor in the gradients, and h stays between -1 and 1."""
    a, weight = gates(steps=60)
    a = torch.cat([1000 * a[..., :6].sign(), a[..., 6:]], -1).to(dtype).detach().requires_grad_()
    weight = weight.to(dtype).detach().requires_grad_()
    y, state = slstm(a, weight)
    assert y.isfinite().all() and y.abs().max() <= 1
    assert all(part.isfinite().all() for part in state) and state[2].min() >= 1
    assert all(gradient.isfinite().all() for gradient in torch.autograd.grad(y.sin().sum(), (a, weight)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@forms
def test_gates_far_apart_in_the_mlstm(form, dtype):
    """All forms agree too, with gates of e^1000 and of e^-1000 in any order, and where m is very low."""
    for i, f in ((1000, 1), (1000, 1000), (-1000, 1000), (1, 1000)):
        given = memories(steps=60)
        signs = 1 if i < 0 else given[3].sign()
        log_i, log_f = i * signs + 0 * given[3], f * (given[4] if f == 1 else -(given[4] < -1).double())
        given = [x.detach().to(dtype).requires_grad_() for x in (*given[:3], log_i, log_f)]
        h, state = mlstm(*given, form=form)
        found = torch.autograd.grad(h.sin().sum(), given)
        assert all(x.isfinite().all() for x in (h, *state, *found))
        expected, _ = mlstm(*(x.double() for x in given), form="recurrent")
        off = (h - expected).detach().abs().max()
        assert off <= (2e-2 if dtype == torch.float32 else 1e-10) * expected.detach().abs().max(), (i, f)


def test_a_shift_of_all_input_gates_changes_nothing():
    """In the sLSTM, whose m takes all of it; in the mLSTM not, where they are compared with 1."""
    a, weight = gates()
    shifted = a.clone()
    shifted[..., :3] += 500
    (y, state), (same, moved) = slstm(a, weight), slstm(shifted, weight)
    assert relative_error(same, y) < 1e-12
    assert worst(moved[:3], state[:3]) < 1e-12 and relative_error(moved[3] - 500, state[3]) < 1e-12
    q, k, v, i, f = memories()
    assert relative_error(mlstm(q, k, v, i + 5, f)[0], mlstm(q, k, v, i, f)[0]) > 0.01


def test_the_forms_agree_up_to_the_authors_epsilon():
    """With it the state before counts, though it is 0: m may be 0, or -inf as in the authors' parallel form."""
    given = memories(spread=1.0)
    q, v = given[0], given[2]
    none = tuple(torch.zeros_like(part) for part in state_of(q, v))
    low = (*none[:2], none[2] - math.inf)
    for eps, most in ((0.0, 1e-12), (1e-6, 1e-4)):
        first, *others = [mlstm(*given, state, form=form, eps=eps)[0] for form in FORMS for state in (None, none, low)]
        errors = [relative_error(other, first) for other in others]
        assert max(errors) < most and (eps == 0 or max(errors) > 1e-10)
    for form in FORMS:
        h = mlstm(*given, low, form=form, eps=1e-6)[0]
        expected = loops.mlstm(*given, *low, 1e-6)[0]
        assert worst(outcomes(h, given), outcomes(expected, given)) < 1e-10


@forms
def test_a_key_of_zeros_under_a_large_gate(form):
    """C^T q, n . q and e^-m are all 0 then, and so is h; its slope, without bound, is cut off."""
    given = [x.detach() for x in memories()]
    given[1] = torch.zeros_like(given[1]).requires_grad_()
    given[3] = given[3] + 1000
    h, _ = mlstm(*given, form=form)
    assert not h.any() and torch.autograd.grad(h.sum(), given[1])[0].isfinite().all()


def test_a_long_sequence_keeps_its_precision():
    """Of 1,000 steps that forget fast, in single precision: sums of log f reach -20,000, and only differences count."""
    q, k, v, i, f = memories(batch=1, steps=1000, heads=1)
    given = [x.detach() for x in (q, k, v, i, 5 * f - 10)]
    expected, _ = mlstm(*given, form="recurrent")
    assert relative_error(mlstm(*(x.float() for x in given))[0].double(), expected) < 1e-3


# ---- states and heads


def test_a_new_sequence_beside_an_old_one():
    """The authors ask of the whole batch whether anything has been written, and a new sequence gets 0/0."""
    a, weight = gates(steps=3)
    old = slstm(*gates(batch=1, seed=3))[1]
    mixed = tuple(torch.cat([part.detach(), torch.zeros_like(part)]) for part in old)
    a = torch.cat([a[..., :3] - 1000, a[..., 3:]], -1)
    y, _ = slstm(a, weight, mixed)
    assert relative_error(y[1:], slstm(a[1:], weight)[0]) < 1e-12
    x, bias = a.unflatten(3, (4, 3)).transpose(2, 3), torch.zeros(24).double()
    theirs, _ = loops.slstm(x, weight, bias, mixed)
    assert theirs[1].isnan().any() and relative_error(theirs[:1], y[:1]) < 1e-12


def test_gradients_of_a_state_of_zeros_are_finite():
    a, weight = gates()
    state = [torch.zeros(2, 6).double().requires_grad_() for _ in range(4)]
    found = torch.autograd.grad(slstm(a, weight, tuple(state))[0].sum(), state, allow_unused=True)
    assert all(gradient is None or gradient.isfinite().all() for gradient in found)


# ---- the layers


def test_the_first_biases_are_the_authors():
    theirs = np.load(FIXTURES / "slstm_cell.npz")["init/bias"]
    heads, _, size = theirs.shape
    bias = SLSTM(heads * size, heads).bias.detach()
    assert np.abs(bias.unflatten(1, (4, size)).numpy() - theirs).max() < 1e-6
    theirs = np.load(FIXTURES / "mlstm_layer.npz")["init/fgate_bias"]
    bias = MLSTM(4 * len(theirs), len(theirs)).gates.bias.detach()
    assert np.abs(bias[len(theirs) :].numpy() - theirs).max() < 1e-6


def test_the_first_weights():
    """R and the weights of the mLSTM's gates are 0, norms and skip 1."""
    cell, layer = drawn(0, SLSTM, 200), drawn(0, MLSTM, 100, 4, bias=True)
    assert not cell.weight_hh.any() and not layer.gates.weight.any()
    assert cell.norm.weight.eq(1).all() and layer.norm.weight.eq(1).all() and layer.skip.eq(1).all()
    deviations = {cell.weight_ih: (2 / 1000) ** 0.5, layer.up.weight: (2 / 500) ** 0.5}
    deviations |= {layer.qkv_weight: (2 / 500) ** 0.5, layer.down.weight: 2 / 10}
    for weight, deviation in deviations.items():
        weight = weight.detach()
        assert float(weight.std()) == pytest.approx(deviation, rel=0.05)
        assert weight.abs().max() > 2.5 * deviation and weight.mean().abs() < deviation / 10
    assert not any(bias.any() for bias in (layer.up.bias, layer.down.bias, layer.qkv_bias))
    assert 0 < layer.gates.bias[:4].abs().max() < 0.5


def test_unknown_options_are_refused():
    for name, value in (("form", "scan"), ("eps", -1e-6)):
        with pytest.raises(ValueError, match=rf"^{name} must be .* got '?{value}"):
            mlstm(*memories(), **{name: value})


@pytest.mark.parametrize("written", [False, True])
def test_the_slstms_second_derivatives_are_the_loops(written):
    """In a loop that starts from something written, else 0/0 is in it; from nothing they are the slope of the first."""
    a, weight = (draw(*shape).double().mul(3).requires_grad_() for shape in ((2, 4, 2, 12), (2, 12, 3)))
    state = tuple(f(draw(2, 6).double()) for f in (abs, abs, abs, torch.neg)) if written else None
    assert torch.autograd.gradgradcheck(lambda *x: slstm(*x, state)[0], (a, weight))
    if written:
        heads = tuple(part.view(2, 2, 3) for part in state)
        ours, loops_ = (
            torch.autograd.functional.hessian(lambda x, run=run: run(x)[0].sin().sum(), a.detach())
            for run in (lambda x: slstm(x, weight, state), lambda x: slstm_loop(x, weight, heads))
        )
        assert relative_error(ours, loops_) < 1e-10
    large = (30 * a.detach().float()).requires_grad_()
    (first,) = torch.autograd.grad(slstm(large, weight.float())[0].square().sum(), large, create_graph=True)
    assert torch.autograd.grad(first.square().sum(), large)[0].isfinite().all()
