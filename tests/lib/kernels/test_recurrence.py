"""Every backend gives what the plain loop gives: states, gradients, NaN and infinity."""

import pytest
import torch
from kernels.against_loop import error, errors, holds, random, results
from support import needs

from rtx_lib.kernels import explain_backend, recurrence, relu_recurrence

BACKENDS = ["scan", "numba"]
# float32: what the docstring of relu_recurrence promises.
SINGLE = {"outputs": 2e-5, "gradients": 1e-4}

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture(params=BACKENDS)
def backend(request):
    return request.param


def weights(steps):
    """Recurrent weights of both signs: zero, tiny, the constraint |u| <= 2^(1/T), and just above 1."""
    bound = min(2 ** (1 / steps), 1.002)
    positive = torch.tensor([1e-30, 1e-4, 0.3, 0.9, 0.99, 0.999, bound**-1, 1.0, bound, 1.002], dtype=torch.float64)
    return torch.cat([torch.zeros(1, dtype=torch.float64), positive, -positive])


def test_the_loop_is_the_equation():
    z, u, h0 = random(2, 5, 3), random(3, seed=1), random(2, 3, seed=2)
    h = relu_recurrence(z, u, h0, backend="loop")
    for b in range(2):
        for n in range(3):
            state = float(h0[b, n])
            for t in range(5):
                state = max(0.0, float(z[b, t, n]) + float(u[n]) * state)
                assert float(h[b, t, n]) == pytest.approx(state, abs=1e-14)


@pytest.mark.parametrize("shift", [0.0, 1.0, -1.0])
@pytest.mark.parametrize("steps", [1, 2, 3, 50, 1000, 5000])
def test_equals_the_loop(backend, steps, shift):
    """Shifted up, states run on for thousands of steps without a zero; shifted down, most of them are zero."""
    u = weights(steps)
    z, h0 = random(2, steps, len(u)) + shift, 2 * random(2, len(u), seed=1)  # h0 of both signs
    assert holds(errors(backend, z, u, h0))
    assert holds(errors(backend, z, u))


@pytest.mark.parametrize("steps", [50, 5000])
def test_equals_the_loop_in_single_precision(backend, steps):
    u = weights(steps).float()
    found = errors(backend, random(2, steps, len(u), dtype=torch.float32), u, random(2, len(u), dtype=torch.float32))
    assert holds(found, **SINGLE)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("size", [1.0, 1e30])
def test_steep_weights_of_both_signs_among_tiny_ones(backend, dtype, size):
    """|u| up to 2.5 over 5,000 steps, where the loop stays finite because its states keep returning to zero."""
    u = torch.cat([torch.linspace(-2.5, 2.5, 21), torch.tensor([1e-30, -1e-30])]).to(dtype)
    z = size * (random(1, 5000, len(u), dtype=dtype) - 0.5).clamp(max=0.5)
    z[..., u > 0] -= size * 1.5  # a start above 1 / (u - 1) would grow without end
    h = relu_recurrence(z, u, backend="loop")
    assert h.isfinite().all() and h.any()
    tolerances = {} if dtype == torch.float64 else SINGLE
    assert holds(errors(backend, z, u, None), **tolerances)


def test_overflow_in_the_loop_is_overflow_in_the_same_places(backend):
    u = torch.linspace(-2.5, 2.5, 11, dtype=torch.float64)
    z = random(2, 3000, 11)
    h = relu_recurrence(z, u, backend="loop")
    assert h.isinf().any()
    g = torch.zeros_like(z)
    g[:, 50] = 1  # before the overflow
    assert holds(errors(backend, z, u, None, g))
    ours = relu_recurrence(z, u, backend=backend)
    assert error(ours, h) < 1e-12


@pytest.mark.parametrize("u", [2.5, 2.0, 1.25])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_an_unstable_fixed_point_is_held(backend, u, dtype):
    """h = 1 for ever, because z = 1 - u: a rounding anywhere would grow by u in each step. Backward likewise."""
    z = torch.full((1, 3000, 1), 1 - u, dtype=dtype)
    g = torch.full_like(z, 1 - u)
    g[0, -1] = 1
    u, h0 = torch.tensor([u], dtype=dtype), torch.ones(1, 1, dtype=dtype)
    found = results(backend, z, u, h0, g)
    assert (found["h"] == 1).all() and (found["dz"] == 1).all()
    assert found["du"].item() == 3000 and found["dh0"].item() == u.item()


def test_huge_values_that_cancel(backend):
    """Products beyond the largest float inside a chunk, none in the loop."""
    z, u = random(1, 400, 4, dtype=torch.float32), torch.tensor([2.5, -2.5, 1.0, 0.5])
    z[:, 10::40] = 1e30
    z[:, 11::40] = -1e30 * u.clamp(min=0)
    z[:, 12::40] -= 5
    assert relu_recurrence(z, u, backend="loop")[..., 1:].isfinite().all()
    assert holds(errors(backend, z, u), **SINGLE)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("every", [3, 40, 700])
def test_exact_ties_at_zero(backend, every, dtype):
    """Where z_t = -u h_{t-1} the state is zero and lets no gradient through; a state of 1e-17 would."""
    u = torch.tensor([0.5, 0.9, 0.999, 1.0, 1.0003, -0.5, -1.0], dtype=dtype)
    z = random(1, 2000, len(u), dtype=dtype).abs() + 0.1
    state = torch.zeros(1, len(u), dtype=dtype)
    ties = 0
    for t in range(z.shape[1]):
        if t % every == every - 1:
            z[:, t] = -(u * state)
            ties += int((state > 0).sum())
        state = torch.relu(z[:, t] + u * state)
    assert ties > 0
    h = relu_recurrence(z, u, backend="loop")
    assert not h[:, every - 1 :: every].any()
    if dtype == torch.float64:
        assert holds(errors(backend, z, u))
    else:
        assert torch.equal(relu_recurrence(z, u, backend=backend) > 0, h > 0)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("where", [0, 37, 299])
def test_what_is_not_finite_stays_in_its_neuron_and_its_sequence(backend, value, where):
    u = torch.tensor([0.9, -0.9, 0.0, 1.0, -1.0, 2.0, -2.0], dtype=torch.float64)
    z = random(2, 300, len(u)) - 1
    clean = relu_recurrence(z, u, backend="loop")
    z[1, where] = value
    found, loop = (relu_recurrence(z, u, backend=name) for name in (backend, "loop"))
    assert error(found, loop) < 1e-12
    assert error(found[:, :where], clean[:, :where]) < 1e-12 if where else True
    assert error(found[0], clean[0]) < 1e-12
    assert found[1, where:].isnan().all() if value != value else True
    assert holds({k: e for k, e in errors(backend, z, u).items() if k != "neuron"})


def test_a_weight_or_a_gradient_that_is_not_finite(backend):
    z, u = random(1, 200, 6).abs(), torch.tensor([0.5, 1, -1, float("nan"), float("inf"), 0], dtype=torch.float64)
    assert holds(errors(backend, z, u)) and holds(errors(backend, z[:, :1], u)) and holds(errors(backend, z[:, :2], u))
    g = random(1, 200, 6)
    g[0, 100] = float("inf")
    assert holds(errors(backend, z, u[[0, 1, 2, 0, 1, 5]], None, g))


@pytest.mark.parametrize("wanted", [(0,), (1,), (2,), (0, 2), (1, 2)])
def test_gradients_of_any_subset(backend, wanted):
    def gradients(name):
        tensors = [random(2, 60, 3), random(3, seed=1), random(2, 3, seed=2)]
        for i in wanted:
            tensors[i].requires_grad_()
        with torch.device("meta"):  # torch's default is not that of the tensors
            return torch.autograd.grad(relu_recurrence(*tensors, backend=name).sum(), [tensors[i] for i in wanted])

    assert max(error(a, b) for a, b in zip(gradients(backend), gradients("loop"), strict=True)) < 1e-10
    assert not relu_recurrence(random(2, 60, 3), random(3), backend=backend).requires_grad


def test_any_strides(backend):
    """z as a transposed, a reversed and an expanded view, and an expanded gradient."""
    u = random(3, seed=1)
    views = [random(60, 2, 3).transpose(0, 1), random(2, 120, 3)[:, ::2], random(1, 60, 3).expand(2, 60, 3)]
    for z in (*views, random(2, 3, 60).mT):
        assert holds(errors(backend, z, u, random(3, 2).T, torch.ones(1, 1, 1, dtype=torch.float64).expand(2, 60, 3)))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", [*BACKENDS, "loop", "auto"])
def test_half_precision_is_computed_in_single(name, dtype):
    z, u = random(2, 300, 4, dtype=dtype), random(4, seed=1, dtype=dtype).clamp(-1, 1)
    wide = relu_recurrence(z.float(), u.float(), backend="loop")
    h = relu_recurrence(z.requires_grad_(), u, backend=name)
    assert h.dtype == dtype and error(h.float(), wide) < 2 * torch.finfo(dtype).eps
    h.sum().backward()
    assert z.grad.dtype == dtype and z.grad.isfinite().all()


def test_differentiating_twice(backend):
    """Also where torch takes a graph that is not there for a zero, as its functions for second derivatives do."""
    tensors = tuple(random(*shape, seed=1) for shape in ((2, 6, 3), (3,), (2, 3)))

    def loss(*tensors, name=backend):
        return relu_recurrence(*tensors, backend=name).pow(3).sum()

    def twice(name):
        blocks = torch.autograd.functional.hessian(lambda *x: loss(*x, name=name), tensors)
        return [block for row in blocks for block in row]

    for ours, expected in zip(twice(backend), twice("loop"), strict=True):
        assert expected.any() and error(ours, expected) < 1e-12
    (gradient,) = torch.autograd.grad(loss(*(x.requires_grad_() for x in tensors)), tensors[:1], create_graph=True)
    once = torch.autograd.grad(loss(*tensors), tensors[:1])
    assert error(gradient, *once) < 1e-12


def test_the_inputs_are_left_alone(backend):
    tensors = [random(2, 60, 3), random(3, seed=1), random(2, 3, seed=2)]
    before = [x.clone() for x in tensors]
    h = relu_recurrence(tensors[0].requires_grad_(), *tensors[1:], backend=backend)
    kept = h.detach().clone()
    h.sum().backward()
    assert all(torch.equal(a, b) for a, b in zip([*tensors, h], [*before, kept], strict=True))


GOOD = {"z": torch.zeros(2, 5, 3), "u": torch.zeros(3), "h0": torch.zeros(2, 3)}


@pytest.mark.parametrize(
    "change, message",
    [
        ({"z": torch.zeros(2, 0, 3)}, r"z must have shape \(B, T, N\) with every size at least 1, got \(2, 0, 3\)"),
        ({"z": torch.zeros(2, 5, 3, dtype=torch.complex64)}, "z must hold floats, got torch.complex64"),
        ({"u": torch.zeros(4)}, r"u must have shape \(3,\), got \(4,\)"),
        ({"h0": torch.zeros(1, 3)}, r"h0 must have shape \(2, 3\)"),
        ({"backend": "cuda"}, "backend must be one of .*'cuda'"),
        ({"backend": "triton"}, "z must be on a GPU"),
        ({name: x.to("meta") for name, x in GOOD.items()} | {"backend": "numba"}, "z must be on the CPU for .*'numba'"),
    ],
)
def test_bad_arguments(change, message):
    for name in {"auto", "loop", *BACKENDS} if "backend" not in change else {change["backend"]}:
        with pytest.raises(ValueError, match=message):
            relu_recurrence(**GOOD | change | {"backend": name})


@pytest.mark.parametrize("name", ["numba", "triton"])
def test_a_package_asked_for_by_name_and_missing(name, without):
    without(name)
    with pytest.raises(ImportError, match=f"backend '{name}' needs the package {name}"):
        relu_recurrence(**GOOD, backend=name)


def test_auto_explains_itself(without):
    small, large = torch.zeros(1, 5000, 64), torch.zeros(50, 1000, 128)
    assert explain_backend(small).startswith("numba: ")
    assert explain_backend(large, torch.zeros(128)).startswith("numba: ")
    without("numba")
    assert explain_backend(small).startswith("scan: numba cannot be imported")
    assert explain_backend(large).startswith("loop: numba cannot be imported")
    assert explain_backend(small[:, :5]).startswith("loop: ")
    with pytest.raises(ValueError, match="z must have shape"):
        explain_backend(torch.zeros(3))


def test_auto_explains_itself_on_other_devices(without, monkeypatch):
    class Elsewhere:
        def __init__(self, kind, shape):
            self.device, self.shape = torch.device(kind), shape

    long, short = (2, 5000, 8), (2, 5, 8)
    assert recurrence._choose(Elsewhere("mps", long))[0] == "loop"
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (8, 0))
    assert recurrence._choose(Elsewhere("cuda", long))[0] == "triton"
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (6, 0))
    backend, reason = recurrence._choose(Elsewhere("cuda", long))
    assert backend == "scan" and "older than Triton supports" in reason
    without("triton")
    backend, reason = recurrence._choose(Elsewhere("cuda", long))
    assert backend == "scan" and "triton cannot be imported" in reason
    assert recurrence._choose(Elsewhere("cuda", short))[0] == "loop"


@pytest.mark.parametrize("missing", [[], ["numba"]])
@pytest.mark.parametrize("shape", [(1, 700, 3), (2, 5, 3)])
def test_auto_runs_what_it_says(missing, shape, without, monkeypatch):
    for package in missing:
        without(package)
    z, u = random(*shape), random(shape[2], seed=1)
    assert holds(errors("auto", z, u))
    taken = explain_backend(z).partition(":")[0]
    called = []
    for module in (recurrence.scan, recurrence._kernels("numba") if not missing else None):
        if module:
            real = module.forward
            monkeypatch.setattr(module, "forward", lambda *a, m=module, f=real: called.append(m.__name__) or f(*a))
    relu_recurrence(z, u)
    ran = {"loop": [], "scan": ["rtx_lib.kernels.scan"]}.get(taken, [f"rtx_lib.kernels.{taken}_kernels"])
    assert called == ran


@pytest.mark.skipif(not torch.cuda.is_available(), reason=needs.reason("a GPU"))
@pytest.mark.parametrize("name", ["scan", "triton"])
@pytest.mark.parametrize("steps", [1, 50, 5000])
def test_on_a_gpu(name, steps):
    u = weights(steps).cuda()
    z, h0 = random(2, steps, len(u)).cuda(), random(2, len(u), seed=1).cuda()
    g = random(2, steps, len(u), seed=2).cuda()
    assert holds(errors(name, z, u, h0, g))
    assert holds(errors(name, *(x.float() for x in (z, u, h0, g))), **SINGLE)
