"""The matrix state in chunks is the loop, whatever fades or is erased, and auto knows when to take it."""

import math

import pytest
import torch
import torch.nn.functional as F
from support import needs
from support.helpers import relative_error
from torch.utils._python_dispatch import TorchDispatchMode

from rtx_lib.kernels import explain_matrix_backend, matrix_chunks, matrix_recurrence

pytestmark = pytest.mark.filterwarnings("error")
REAL = torch.float64
FORMS = ("sum", "decay", "rows", "delta", "delta decay", "delta rows")
forms = pytest.mark.parametrize("form", FORMS)


def sequence(steps, form, *, batch=2, size=6, width=5, strong=None, seed=0, dtype=REAL):
    """The arguments by name: unit keys beside beta, which holds 0, 1, 2 and drawn numbers; a ``strong`` decay at times.

    It is so in every third step, and in one of three rows in all steps, so that strong and weak ones are neighbours.
    """
    generator = torch.Generator().manual_seed(seed)
    random = lambda *shape: torch.randn(*shape, generator=generator, dtype=REAL)  # noqa: E731
    one = (batch, 2, steps)
    given = {"q": random(*one, size), "k": random(*one, size), "v": random(*one, width)}
    given["state"] = random(batch, 2, size, width)
    if "delta" in form:
        given["k"] = F.normalize(given["k"], dim=-1)
        given["beta"] = beta = 2 * torch.rand(one, generator=generator, dtype=REAL)
        for start, value in enumerate((0, 1, 2)):
            beta[..., start::7] = value
    if "decay" in form or "rows" in form:
        shape = (*one, size) if "rows" in form else one
        given["log_decay"] = decay = -torch.rand(shape, generator=generator, dtype=REAL)
        decay[:, :, ::4] = 0
        if strong is not None:
            decay[:, :, 1::3] = strong
        if strong is not None and "rows" in form:
            decay[..., 1::3] = strong
    return {name: x.to(dtype) for name, x in given.items()}


def results(given, backend, chunk=None):
    """o and the last state, and the gradients of drawn products with both, by name."""
    given = {name: x.detach().clone().requires_grad_() for name, x in given.items()}
    o, last = matrix_recurrence(**given, backend=backend, chunk=chunk)
    generator = torch.Generator().manual_seed(9)
    loss = sum((torch.randn(x.shape, generator=generator, dtype=REAL).to(x) * x).sum() for x in (o, last))
    found = torch.autograd.grad(loss, list(given.values()))
    return {"o": o.detach(), "S": last.detach()} | dict(zip(given, found, strict=True))


def errors(given, backend="chunks", chunk=None):
    """The largest error of o and the last state, and of the gradients, against the loop."""
    ours, loop = results(given, backend, chunk), results(given, "loop")
    found = {k: relative_error(ours[k], x) if x.any() else relative_error(1 + ours[k], 1 + x) for k, x in loop.items()}
    return max(found.pop("o"), found.pop("S")), max(found.values())


@forms
def test_the_loop_is_the_equation(form):
    """Number by number: decay acts on what the delta rule has left, and not on what is written."""
    given = sequence(4, form, batch=1, size=3, width=2)
    o, last = matrix_recurrence(**given, backend="loop")
    head = {name: x[0, 1].tolist() for name, x in given.items()}
    s = head["state"]
    for t in range(4):
        k, v = head["k"][t], head["v"][t]
        beta, decay = head.get("beta", [None] * 4)[t], head.get("log_decay", [0.0] * 4)[t]
        decay = [math.exp(x) for x in decay] if isinstance(decay, list) else [math.exp(decay)] * 3
        at_k = [sum(k[i] * s[i][j] for i in range(3)) for j in range(2)]
        erased = [[(beta or 0) * k[i] * at_k[j] for j in range(2)] for i in range(3)]
        rate = 1 if beta is None else beta
        s = [[decay[i] * (s[i][j] - erased[i][j]) + rate * k[i] * v[j] for j in range(2)] for i in range(3)]
        read = [sum(head["q"][t][i] * s[i][j] for i in range(3)) for j in range(2)]
        assert o[0, 1, t].tolist() == pytest.approx(read, abs=1e-13)
    assert relative_error(last[0, 1], torch.tensor(s, dtype=REAL)) < 1e-13


@forms
@pytest.mark.parametrize("steps", [1, 2, 3, 31, 32, 33, 130, 1030])
def test_equals_the_loop(form, steps):
    given = sequence(steps, form)
    without = {name: x for name, x in given.items() if name != "state"}
    for tensors in (given, without):
        outputs, gradients = errors(tensors)
        assert outputs < 1e-12 and gradients < 1e-10


@pytest.mark.parametrize("form", [form for form in FORMS if "decay" in form or "rows" in form])
@pytest.mark.parametrize("strong", [-1e-12, -20.0, -700.0, -1e6, -math.inf])
@pytest.mark.parametrize("chunk", [None, 64])
def test_strong_decays_neither_overflow_nor_cost_digits(form, strong, chunk):
    given = sequence(150, form, strong=strong)
    outputs, gradients = errors(given, chunk=chunk)
    assert outputs < 1e-12 and gradients < 1e-10
    given["log_decay"] = torch.full_like(given["log_decay"], strong)
    outputs, gradients = errors(given, chunk=chunk)
    assert outputs < 1e-12 and gradients < 1e-10


@forms
@pytest.mark.parametrize("chunk", [1, 2, 5, 16, 63, 64, 200])
def test_any_chunk_gives_the_same(form, chunk):
    outputs, gradients = errors(sequence(70, form), chunk=chunk)
    assert outputs < 1e-12 and gradients < 1e-10


@forms
def test_keys_that_repeat_and_turn(form):
    """One key over and over, with its mirror images: the triangular system is as far from the identity as it gets."""
    given = sequence(200, form)
    given["k"] = F.normalize(torch.ones_like(given["k"]), dim=-1)
    given["k"][..., ::5, :] *= -1
    if "beta" in given:
        given["beta"][..., 50:] = 2
    outputs, gradients = errors(given, chunk=64)
    assert outputs < 1e-12 and gradients < 1e-10


@forms
@pytest.mark.parametrize("backend", ["loop", "chunks"])
def test_gradients_and_theirs(form, backend):
    given = sequence(5, form, batch=1, size=2, width=2)
    names = list(given)

    def run(*tensors):
        return matrix_recurrence(**dict(zip(names, tensors, strict=True)), backend=backend, chunk=2)

    tensors = [x.requires_grad_() for x in given.values()]
    assert torch.autograd.gradcheck(run, tensors) and torch.autograd.gradgradcheck(run, tensors)


@forms
def test_in_single_precision_and_in_half(form):
    given = sequence(500, form, dtype=torch.float32)
    assert max(errors(given)) < 1e-4
    for dtype in (torch.float16, torch.bfloat16):
        halves = {name: x if name == "state" else x.to(dtype) for name, x in given.items()}  # a sum, not in half
        wide, _ = matrix_recurrence(**{name: x.float() for name, x in halves.items()}, backend="loop")
        for backend in ("loop", "chunks"):
            o, last = matrix_recurrence(**halves, backend=backend)
            assert o.dtype == dtype and last.dtype == torch.float32
            assert relative_error(o.float(), wide) < 2 * torch.finfo(dtype).eps + 1e-4


@forms
def test_any_strides(form):
    given = sequence(40, form)
    straight = results(given, "chunks")
    turned = {name: x.transpose(0, -1).contiguous().transpose(0, -1) for name, x in given.items()}
    assert all(torch.equal(x, straight[name]) for name, x in results(turned, "chunks").items())


class Largest(TorchDispatchMode):
    """Remembers the largest tensor that any operation made."""

    size = 0

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        found = function(*arguments, **named or {})
        for x in found if isinstance(found, (tuple, list)) else (found,):
            self.size = max(self.size, x.numel() if isinstance(x, torch.Tensor) else 0)
        return found


@pytest.mark.parametrize("form", ["sum", "rows", "delta decay"])
def test_a_long_sequence_takes_no_more_memory_for_what_is_between(form):
    """Without gradients: what is larger than a piece's products of keys is no larger than the sequences themselves."""

    def largest(steps):
        given = {name: x[:, :1] for name, x in sequence(steps, form, batch=1, size=2, width=2).items()}
        with torch.no_grad(), Largest() as seen:
            matrix_recurrence(**given, backend="chunks", chunk=64)
        return seen.size

    sequences, between = 2 * 2 * 10_000, 64 * matrix_chunks.PIECE  # steps may be taken twice, see "delta rows"
    assert largest(10_000) <= max(sequences, between)


# ---- what auto takes


WILD = {
    "q infinite": ("q", math.inf, "chunks are for finite numbers, and q holds others"),
    "k NaN": ("k", math.nan, "chunks are for finite numbers, and k holds others"),
    "v infinite": ("v", -math.inf, "chunks are for finite numbers, and v holds others"),
    "state NaN": ("state", math.nan, "chunks are for finite numbers, and state holds others"),
    "a growing one": ("log_decay", 0.01, "chunks are for a log_decay of at most 0"),
    "decay NaN": ("log_decay", math.nan, "chunks are for a log_decay of at most 0"),
    "beta below 0": ("beta", -0.01, r"chunks are for beta |k|^2 from 0 to 2"),
    "beta beyond 2": ("beta", 2.1, r"chunks are for beta |k|^2 from 0 to 2"),
    "beta NaN": ("beta", math.nan, r"chunks are for beta |k|^2 from 0 to 2"),
    "a longer key": ("k", 3.0, r"chunks are for beta |k|^2 from 0 to 2"),
}


@pytest.mark.parametrize("what", WILD)
@pytest.mark.parametrize("form", ["delta decay", "delta rows"])
def test_auto_takes_the_loop_where_chunks_promise_nothing(what, form):
    name, value, reason = WILD[what]
    given = sequence(40, form)
    given["beta"][1, 0, 17] = 1
    given[name][1, 0, 17 if name != "state" else 2] = value
    assert explain_matrix_backend(**given).startswith(f"loop: {reason}")
    ours, loop = results(given, "auto"), results(given, "loop")
    assert all(torch.equal(ours[name].nan_to_num(7), loop[name].nan_to_num(7)) for name in loop)


@pytest.mark.parametrize("size", [1, 6, 64])
def test_unit_keys_and_a_beta_of_2_count_as_bounded(size):
    given = sequence(100, "delta", size=size, dtype=torch.float32)
    given["beta"][:] = 2
    assert explain_matrix_backend(**given).startswith("chunks: ")


@forms
def test_auto_explains_itself_and_runs_what_it_says(form, monkeypatch):
    given = sequence(40, form)
    told = "chunks: matrix products within chunks, and a state is handed on only between them"
    assert explain_matrix_backend(**given) == told
    few = {name: x if name == "state" else x[:, :, :7] for name, x in given.items()}
    assert explain_matrix_backend(**few) == "loop: so few steps (7) are not worth a chunk"
    called, real = [], matrix_chunks.forward
    monkeypatch.setattr(matrix_chunks, "forward", lambda *tensors, **more: called.append(1) or real(*tensors, **more))
    matrix_recurrence(**few)
    assert not called
    matrix_recurrence(**given)
    assert called


@forms
def test_on_a_device_whose_numbers_cannot_be_looked_at(form):
    given = {name: x.to("meta") for name, x in sequence(40, form).items()}
    o, last = matrix_recurrence(**given)
    assert o.shape == (2, 2, 40, 5) and last.shape == (2, 2, 6, 5) and o.device.type == last.device.type == "meta"


GOOD = {name: x.float() for name, x in sequence(9, "delta decay").items()}
BAD = {  # how each check words it is tested in tests/lib/test_shapes.py
    "no step": ({"q": torch.zeros(2, 2, 0, 6)}, "q must have shape"),
    "other k": ({"k": torch.zeros(2, 2, 9, 5)}, r"k must have shape \(2, 2, 9, 6\), got \(2, 2, 9, 5\)"),
    "other v": ({"v": torch.zeros(2, 2, 8, 5)}, r"v must have shape \(2, 2, 9, V\), got \(2, 2, 8, 5\)"),
    "log_decay": ({"log_decay": torch.zeros(2, 2, 9, 1)}, r"log_decay must have shape \(2, 2, 9, 6\)"),
    "beta": ({"beta": torch.zeros(2, 9)}, r"beta must have shape \(2, 2, 9\), got \(2, 9\)"),
    "state": ({"state": torch.zeros(2, 2, 5, 6)}, r"state must have shape \(2, 2, 6, 5\), got \(2, 2, 5, 6\)"),
    "backend": ({"backend": "scan"}, r"backend must be one of \['auto', 'loop', 'chunks'\], got 'scan'"),
    "chunk": ({"chunk": 0}, "chunk must be at least 1, got 0"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_arguments(what):
    change, message = BAD[what]
    for backend in ("auto", "loop", "chunks"):
        with pytest.raises(ValueError, match=f"^{message}"):
            matrix_recurrence(**{"backend": backend} | GOOD | change)
    if not change.keys() & {"backend", "chunk"}:
        with pytest.raises(ValueError, match=f"^{message}"):
            explain_matrix_backend(**GOOD | change)


@pytest.mark.skipif(not torch.cuda.is_available(), reason=needs.reason("a GPU"))
@forms
@pytest.mark.parametrize("steps", [1, 50, 2000])
def test_on_a_gpu(form, steps):
    outputs, gradients = errors({name: x.cuda() for name, x in sequence(steps, form).items()})
    assert outputs < 1e-12 and gradients < 1e-10
