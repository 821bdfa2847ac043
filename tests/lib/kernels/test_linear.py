"""Every backend of the linear recurrences gives what the plain loop gives, and auto knows when to take it."""

import pytest
import torch
from kernels.linear_cases import COMPLEX, FUNCTIONS, REAL, errors, results, sequence
from support import needs
from support.helpers import relative_error

from rtx_lib.kernels import explain_linear_backend, gated_recurrence, linear, linear_recurrence

pytestmark = pytest.mark.filterwarnings("error")
both = pytest.mark.parametrize("function", FUNCTIONS)
fast = pytest.mark.parametrize("backend", ["scan", "numba"])
types = pytest.mark.parametrize("dtype", [REAL, COMPLEX], ids=str)


@types
def test_the_loop_is_the_equation(dtype):
    a, b, h0, _ = sequence(5, dtype)
    h, mean = (function(a, b, h0, backend="loop") for function in FUNCTIONS)
    for at in ((0, 0, 3), (1, 1, 2)):
        state = pooled = h0[at].item()
        for t in range(5):
            now = (at[0], t, *at[1:])
            state = a[now].item() * state + b[now].item()
            pooled = a[now].item() * pooled + (1 - a[now].item()) * b[now].item()
            assert h[now].item() == pytest.approx(state, abs=1e-14)
            assert mean[now].item() == pytest.approx(pooled, abs=1e-14)


@both
@fast
@types
@pytest.mark.parametrize("steps", [1, 2, 3, 50, pytest.param(10_000, marks=pytest.mark.weekly)])
def test_equals_the_loop(function, backend, dtype, steps):
    *tensors, g = sequence(steps, dtype)
    for given in (tensors, tensors[:2]):
        states, gradients = errors(function, backend, given, g)
        assert states < 1e-12 and gradients < 1e-10


@both
@fast
@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64], ids=str)
def test_equals_the_loop_in_single_precision(function, backend, dtype):
    *tensors, g = (x.to(dtype) for x in sequence(1000, COMPLEX if dtype.is_complex else REAL))
    assert max(errors(function, backend, tensors, g)) < 1e-4
    assert function(*tensors, backend=backend).dtype == dtype


@both
@types
@pytest.mark.parametrize("backend", ["scan", "numba", "loop", "auto"])
def test_gradients_and_theirs(function, backend, dtype):
    tensors = [x[..., 2:4].clone().requires_grad_() for x in sequence(4, dtype, batch=1)[:3]]
    run = lambda *given: function(*given, backend=backend)  # noqa: E731
    assert torch.autograd.gradcheck(run, tensors) and torch.autograd.gradgradcheck(run, tensors)


@both
@fast
def test_some_of_the_gradients(function, backend):
    *tensors, g = sequence(20)
    whole = results(function, backend, tensors, g)[1:]
    for k, of_it in enumerate(whole):
        one = tensors[k].clone().requires_grad_()
        h = function(*tensors[:k], one, *tensors[k + 1 :], backend=backend)
        assert torch.equal(torch.autograd.grad(h, one, g)[0], of_it)
    assert not function(*tensors, backend=backend).requires_grad


@both
@fast
@pytest.mark.parametrize("shape", [(5,), (1, 5), (20, 1, 1), (2, 1, 2, 5), ()])
def test_a_factor_that_broadcasts(function, backend, shape):
    _, b, h0, g = sequence(20)
    a = torch.rand(shape, generator=torch.Generator().manual_seed(1), dtype=REAL)
    found = results(function, backend, (a, b, h0), g)
    assert found[1].shape == shape
    for ours, loop in zip(found, results(function, "loop", (a.expand(b.shape), b, h0), g), strict=True):
        assert relative_error(ours, loop.sum_to_size(ours.shape)) < 1e-12


@both
@fast
def test_any_axes_and_strides(function, backend):
    """Without an axis after time, as views of other orders, and as conjugates that are still to be taken."""
    *tensors, g = sequence(30, COMPLEX)
    alone = [x[..., 0, 3] for x in (*tensors, g)]
    turned = [x.transpose(-1, -2).flip(1) for x in (*tensors, g)]
    conjugates = [x.conj() for x in (*tensors, g)]
    parts = [x.conj().imag / 2 for x in (*tensors, g)]
    expanded = [*tensors, g[:, :1].expand_as(g)]
    for *given, of_h in (alone, turned, conjugates, parts, expanded):
        with torch.device("meta"):  # torch's default is not that of the tensors
            states, gradients = errors(function, backend, given, of_h)
        assert states < 1e-12 and gradients < 1e-10


@both
@pytest.mark.parametrize("backend", ["scan", "numba", "loop", "auto"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_precision_is_computed_in_single(function, backend, dtype):
    a, b, h0, _ = (x.to(dtype) for x in sequence(300))
    wide = function(a.float(), b.float(), h0.float(), backend="loop")
    h = function(a, b.requires_grad_(), h0, backend=backend)
    assert h.dtype == dtype and relative_error(h.float(), wide) < 2 * torch.finfo(dtype).eps + 1e-5
    h.sum().backward()
    assert b.grad.dtype == dtype and b.grad.isfinite().all()


# ---- what auto takes

WILD = {
    "beyond 1": (lambda a, b, h0: a[0, 3, 0, 0].fill_(1.001), "a holds a value beyond 1"),
    "beyond -1": (lambda a, b, h0: a[0, 3, 0, 0].fill_(-1.001), "a holds a value beyond 1"),
    "a NaN": (lambda a, b, h0: a[0, 3, 0, 0].fill_(float("nan")), "a holds a value beyond 1"),
    "b infinite": (lambda a, b, h0: b[1, 30, 0, 0].fill_(-float("inf")), "b or h0 holds a value that is not finite"),
    "b NaN": (lambda a, b, h0: b[1, 30, 0, 0].fill_(float("nan")), "b or h0 holds"),
    "h0 NaN": (lambda a, b, h0: h0[1].fill_(float("nan")), "b or h0 holds"),
}


@types
@pytest.mark.parametrize("change", WILD)
def test_auto_takes_the_loop_where_the_fast_forms_promise_nothing(change, dtype):
    spoil, reason = WILD[change]
    *tensors, g = sequence(40, dtype)
    spoil(*tensors)
    told = f"loop: the fast forms are for |a| <= 1 and finite numbers, and {reason}"
    assert explain_linear_backend(*tensors).startswith(told)
    for function in FUNCTIONS:
        for ours, loop in zip(*(results(function, name, tensors, g) for name in ("auto", "loop")), strict=True):
            assert torch.equal(torch.view_as_real(ours + 0j).nan_to_num(7), torch.view_as_real(loop + 0j).nan_to_num(7))


def test_a_rounded_1_counts_as_1():
    a, b, h0, _ = sequence(9)
    assert explain_linear_backend(a * (1 + torch.finfo(REAL).eps), b, h0).startswith("numba: ")


def test_auto_explains_itself_and_runs_what_it_says(without, monkeypatch):
    a, b, h0, _ = sequence(300)
    assert explain_linear_backend(a, b) == "numba: compiled for the CPU, it reads and writes every value once"
    without("numba")
    assert explain_linear_backend(a, b, h0) == "scan: numba cannot be imported"
    assert explain_linear_backend(a[:, :50], b[:, :50]) == "loop: numba cannot be imported"
    expected = linear_recurrence(a, b, backend="loop")
    called, real = [], linear.linear_scan.forward
    monkeypatch.setattr(linear.linear_scan, "forward", lambda *given: called.append(1) or real(*given))
    assert relative_error(linear_recurrence(a, b), expected) < 1e-12 and called
    with pytest.raises(ImportError, match="backend 'numba' needs the package numba"):
        linear_recurrence(a, b, backend="numba")


def test_auto_on_other_devices(without, monkeypatch):
    class Elsewhere:
        def __init__(self, kind):
            self.device, self.shape = torch.device(kind), (2, 300, 4)

    monkeypatch.setattr(linear, "_wild", lambda *_: None)
    choose = lambda kind: linear._choose(Elsewhere(kind), Elsewhere(kind), None)  # noqa: E731
    assert choose("mps") == ("loop", "no faster way is known for the device mps")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (8, 0))
    assert choose("cuda")[0] == "triton"
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (6, 0))
    assert choose("cuda") == ("scan", "the GPU is older than Triton supports")
    without("triton")
    assert choose("cuda") == ("scan", "triton cannot be imported")


GOOD = {"a": torch.zeros(2, 5, 3), "b": torch.zeros(2, 5, 3), "h0": torch.zeros(2, 3)}
BAD = {  # how each check words it is tested in tests/lib/test_shapes.py
    "no step": ({"b": torch.zeros(2, 0, 3)}, r"b must have shape .* got \(2, 0, 3\)"),
    "integers": ({"b": torch.zeros(2, 5, 3, dtype=torch.int64)}, "b must hold floats or complex .* got torch.int64"),
    "larger a": ({"a": torch.zeros(1, 2, 5, 3)}, "a must have shape"),
    "complex h0": ({"h0": torch.zeros(2, 3) + 0j}, "h0 must be of torch.float32"),
    "backend": ({"backend": "cuda"}, r"backend must be one of \['auto', .*\], got 'cuda'"),
    "no GPU": ({"backend": "triton"}, "b must be on a GPU for backend 'triton'"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_arguments(what):
    change, message = BAD[what]
    for backend in ("auto", "loop", "scan", "numba"):
        with pytest.raises(ValueError, match=f"^{message}"):
            linear_recurrence(**{"backend": backend} | GOOD | change)
    if "backend" not in change:
        with pytest.raises(ValueError, match=f"^{message}"):
            explain_linear_backend(**GOOD | change)


def test_autocast_mixes_no_types():
    """Models bring to one type what autocast left in two: a compiled pass would fail, a scan mix them in silence."""
    with torch.autocast("cpu", torch.bfloat16), pytest.raises(ValueError, match=r"a must be of torch\.float32"):
        linear_recurrence(GOOD["a"].bfloat16(), GOOD["b"])


def test_the_gated_form_calls_its_arguments_by_its_own_names():
    with pytest.raises(ValueError, match=r"f must be of torch.float32"):
        gated_recurrence(GOOD["a"].double(), GOOD["b"])
    with pytest.raises(ValueError, match="z must be on the CPU for backend 'numba', got meta"):
        gated_recurrence(GOOD["a"].to("meta"), GOOD["b"].to("meta"), backend="numba")


@pytest.mark.skipif(not torch.cuda.is_available(), reason=needs.reason("a GPU"))
@both
@types
@pytest.mark.parametrize("backend", ["scan", "triton", "auto"])
@pytest.mark.parametrize("steps", [1, 50, 10_000])
def test_on_a_gpu(function, backend, dtype, steps):
    *tensors, g = (x.cuda() for x in sequence(steps, dtype))
    states, gradients = errors(function, backend, tensors, g)
    assert states < 1e-12 and gradients < 1e-10
