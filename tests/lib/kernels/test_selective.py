"""The selective scan: its equations, its backends against each other, what auto takes, and what it refuses."""

import math

import pytest
import torch
from support.compare import draw, worst
from support.helpers import relative_error

from rtx_lib.kernels import numba_selective, selective, selective_scan

REAL = torch.float64
eigenvalues = pytest.mark.parametrize("eigenvalues", ["positive", "signed"])
SIZES = [(2, 7, 3, 4), (1, 1, 1, 1), (3, 2, 1, 5), (2, 300, 17, 2), (1, 40, 33, 16)]


def sequence(batch=2, steps=7, width=3, states=4, dtype=REAL, seed=0):
    """u, delta, A, B, C and a first state; a step size of 0, a tiny and a huge one are among them."""
    generator = torch.Generator().manual_seed(seed)
    draw = lambda *shape: torch.randn(shape, generator=generator, dtype=REAL)  # noqa: E731
    u, B, C = draw(batch, steps, width), draw(batch, steps, states), draw(batch, steps, states)
    delta, A = (draw(batch, steps, width) - 1).exp(), -(draw(width, states).exp())
    delta[:, steps // 3] = 0
    delta[:, steps // 2, 0] = 300
    delta[:, -1, 0] = 1e-9
    return [x.to(dtype) for x in (u, delta, A, B, C, draw(batch, width, states))]


def fixed(delta, B, C, states=4, width=3):
    """The same in all steps: delta (D,), B and C (D, N), from those of a sequence."""
    return delta[0, 0] + 0.1, B[0, :width, :states].clone(), C[-1, :width, :states].clone()


def results(tensors, backend, **options):
    """y, the last state, and all gradients of a weighted sum of both."""
    tensors = [x.detach().requires_grad_() for x in tensors]
    y, last = selective_scan(*tensors, backend=backend, **options)
    weights = [torch.linspace(-1, 1, x.numel(), dtype=x.dtype, device="cpu").cos().view(x.shape) for x in (y, last)]
    return [y.detach(), last.detach(), *torch.autograd.grad((y, last), tensors, weights)]


@eigenvalues
@pytest.mark.parametrize("discretisation", ["euler", "zoh"])
@pytest.mark.parametrize("backend", ["loop", "auto"])
def test_is_the_equations(eigenvalues, discretisation, backend):
    """One number after the other."""
    u, delta, A, B, C, h0 = sequence()
    options = {"discretisation": discretisation, "eigenvalues": eigenvalues, "backend": backend}
    y, last = selective_scan(u, delta, A, B, C, h0, **options)
    for b, d in ((0, 0), (1, 2)):
        h = h0[b, d].tolist()
        for t in range(u.shape[1]):
            step, out = float(delta[b, t, d]), 0.0
            for n, rate in enumerate(A[d].tolist()):
                a = math.exp(step * rate)
                added = step if discretisation == "euler" else (a - 1) / rate
                a = 2 * a - 1 if eigenvalues == "signed" else a
                h[n] = a * h[n] + added * float(B[b, t, n] * u[b, t, d])
                out += float(C[b, t, n]) * h[n]
            assert float(y[b, t, d]) == pytest.approx(out, rel=1e-12, abs=1e-12)
        assert last[b, d].tolist() == pytest.approx(h, rel=1e-12, abs=1e-12)


@eigenvalues
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("dtype", [REAL, torch.float32], ids=str)
@pytest.mark.parametrize("alike", [False, True])
def test_one_compiled_pass_gives_what_the_loop_gives(eigenvalues, sizes, dtype, alike):
    """With B and C of every step, and with those that all steps share."""
    tensors = sequence(*sizes, dtype=dtype)
    if alike:
        tensors[3:5] = (draw(*tensors[2].shape, seed=k).to(dtype) for k in (1, 2))
    ours, loop = (results(tensors, backend, eigenvalues=eigenvalues) for backend in ("numba", "loop"))
    assert worst(ours[:2], loop[:2]) < (1e-12 if dtype == REAL else 1e-4)
    assert worst(ours[2:], loop[2:]) < (1e-10 if dtype == REAL else 1e-3)
    assert {x.dtype for x in ours} == {dtype}


@eigenvalues
@pytest.mark.parametrize("discretisation", ["euler", "zoh"])
@pytest.mark.parametrize("backend", ["scan", "numba", "auto"])
def test_every_form_by_every_backend(eigenvalues, discretisation, backend):
    """With all that changes from step to step, and with parts that do not."""
    u, delta, A, B, C, h0 = sequence(2, 50)
    of_all = fixed(delta, B, C)
    for given in ((delta, B, C), of_all, (of_all[0], B, C), (delta, of_all[1], C), (delta, B, of_all[2])):
        tensors = [u, given[0], A, *given[1:], h0]
        options = {"discretisation": discretisation, "eigenvalues": eigenvalues}
        ours, loop = (results(tensors, name, **options) for name in (backend, "loop"))
        assert worst(ours[:2], loop[:2]) < 1e-12 and worst(ours[2:], loop[2:]) < 1e-10


@eigenvalues
@pytest.mark.parametrize("backend", ["numba", "loop"])
@pytest.mark.parametrize("alike", [False, True])
def test_gradients_and_theirs(eigenvalues, backend, alike):
    u, delta, A, B, C, h0 = sequence(1, 4, 2, 2)
    B, C = (B[0, :2], C[0, 1:3]) if alike else (B, C)
    tensors = [x.requires_grad_() for x in (u, delta.clamp(0.1, 2), A, B, C, h0)]
    run = lambda *given: selective_scan(*given, eigenvalues=eigenvalues, backend=backend)  # noqa: E731
    assert torch.autograd.gradcheck(run, tensors) and torch.autograd.gradgradcheck(run, tensors)


def test_gradients_of_inputs_that_depend_on_each_other():
    """Pieces that share A and hand a state on, B for C; the gradients are such as may be differentiated, and theirs."""
    u, delta, A, B, _, h0 = (x.requires_grad_() for x in sequence(1, 6, 2, 2))
    found = []
    for backend in ("numba", "loop"):
        y, h = selective_scan(u, delta.clamp(0.1, 2), A, B, B, h0, backend=backend)
        y, _ = selective_scan(u + y.sin(), delta.clamp(0.1, 2), A, B, B.tanh(), h, backend=backend)
        found.append(torch.autograd.grad(y.sin().sum(), (A, B), create_graph=True))
        found[-1] += torch.autograd.grad(sum(g.sin().sum() for g in found[-1]), (A, B))
    assert worst(*found) < 1e-12


def test_some_of_the_gradients():
    """Of each input alone, of y alone, and of the last state alone, which knows nothing of C."""
    tensors = sequence()
    for k in range(len(tensors)):
        for part in (0,) if k == 4 else (0, 1):
            found = []
            for backend in ("numba", "loop"):
                given = [x.clone().requires_grad_(i == k) for i, x in enumerate(tensors)]
                loss = selective_scan(*given, backend=backend)[part].tanh().sum()
                found.append(torch.autograd.grad(loss, given[k])[0])
            assert worst(found[:1], found[1:]) < 1e-12
    assert not selective_scan(*tensors)[0].requires_grad


def test_any_strides():
    tensors = sequence(2, 5, 3, 3)
    turned = [x.transpose(-1, -2).contiguous().transpose(-1, -2) for x in tensors]
    spread = [torch.stack([x, x], -1)[..., 0] for x in tensors]
    constant = [tensors[0], tensors[1][:, :1].expand_as(tensors[1]), *tensors[2:]]
    for given in (turned, spread, constant):
        with torch.device("meta"):  # torch's default is not that of the tensors
            found = results(given, "numba")
        assert worst(found, results(given, "loop")) < 1e-11


@pytest.mark.parametrize("backend", ["numba", "loop", "auto"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_precision_is_computed_in_single(backend, dtype):
    tensors = sequence(2, 30)
    tensors = [x.clamp(-20, 20).to(dtype) for x in tensors]
    wide = selective_scan(*(x.float() for x in tensors), backend="loop")
    ours = selective_scan(*tensors, backend=backend)
    assert {x.dtype for x in ours} == {dtype}
    assert all(relative_error(x.float(), y) < 3 * torch.finfo(dtype).eps for x, y in zip(ours, wide, strict=True))


@pytest.mark.parametrize("dtype", [REAL, torch.float32], ids=str)
def test_the_exponential_is_right_to_the_last_digit(dtype):
    """As the decay of one step from 1: at 0, near it, across its range, and beyond where it is 0."""
    z = torch.cat([-torch.logspace(-20, 2.5, 4001, dtype=REAL), torch.tensor([0.0, -708.0, -745.0, -1e6], dtype=REAL)])
    z = z.to(dtype)
    one, count = torch.ones(1, dtype=dtype), len(z)
    u, A, start = one.expand(1, 1, count) * 0, -one.expand(count, 1), one.expand(1, count, 1)
    powers = selective_scan(u, -z.view(1, 1, count), A, *2 * [one.view(1, 1, 1)], start, backend="numba")[0].flatten()
    right = z.double().exp()
    limits = torch.finfo(dtype)
    assert ((powers.double() - right).abs() <= 3 * limits.eps * right + 2 * limits.tiny).all()
    assert powers[z == 0].eq(1).all()


def test_bad_numbers_stay_bad():
    """Not a number and infinity are not lost in the compiled exponential."""
    for k in range(6):
        tensors = sequence(1, 6, 5, 2)
        tensors[k].view(-1)[0] = float("nan")
        y = selective_scan(*tensors, backend="numba")[0]
        assert y.isnan().any(), k
        assert torch.equal(y.isnan(), selective_scan(*tensors, backend="loop")[0].isnan())


# ---- what auto takes


def test_auto_takes_the_compiled_pass_where_it_may(monkeypatch):
    calls = []
    inner = numba_selective.forward
    monkeypatch.setattr(numba_selective, "forward", lambda *args: calls.append(1) or inner(*args))
    u, delta, A, B, C, h0 = sequence()
    selective_scan(u, delta, A, B, C, h0)
    selective_scan(u, delta, A, B, C, backend="numba")
    constant, rows, columns = fixed(delta, B, C)
    selective_scan(u, constant, A, rows, columns)
    assert len(calls) == 3
    others = [("discretisation", "zoh"), ("B", rows), ("C", columns), ("delta", -delta), ("A", -A), ("u", u / 0)]
    for name, value in (*others, ("backend", "loop"), ("backend", "scan")):
        selective_scan(**{"u": u, "delta": delta, "A": A, "B": B, "C": C, "state": h0} | {name: value})
    monkeypatch.setattr(selective, "problem", lambda package: "not there")
    selective_scan(u, delta, A, B, C, h0)
    assert len(calls) == 3


def test_a_package_that_is_missing_is_named(without):
    without("numba")
    with pytest.raises(ImportError, match="backend 'numba' needs the package numba"):
        selective_scan(*sequence(), backend="numba")
    assert selective_scan(*sequence())[0].isfinite().all()


WRONG = {
    "u": [lambda x: x[:, :0], lambda x: x.long()],
    "delta": [lambda x: x[:, 1:], lambda x: x.float(), lambda x: 0.5],
    "A": [lambda x: x[1:], lambda x: x[:, :0]],
    "B": [lambda x: x[:, 1:], lambda x: x[0, 0]],
    "C": [lambda x: x[..., 1:], lambda x: x[0, :2]],
    "state": [lambda x: x[1:]],
}
WRONG |= {option: [lambda _: "none such"] for option in ("discretisation", "eigenvalues", "backend")}


@pytest.mark.parametrize("name, change", [(name, change) for name, changes in WRONG.items() for change in changes])
def test_wrong_arguments(name, change):
    given = dict(zip(("u", "delta", "A", "B", "C", "state"), sequence(), strict=True))
    with pytest.raises(ValueError, match=rf"^{name} must .*got"):
        selective_scan(**given | {name: change(given.get(name))})
