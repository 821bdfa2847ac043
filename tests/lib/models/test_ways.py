"""Every model under the ways in which PyTorch runs one: compiled, exported, mapped over, differentiated twice.

A way that a model does not go is in its docstring, and in the table of excuses here.
"""

import shutil

import pytest
import torch
from lib.models.test_contract import KINDS, MODELS, B, example, make, names
from support import needs
from support.helpers import relative_error
from torch.func import functional_call, grad, jvp, stack_module_state, vmap

# What torch says of its own means.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning"),
]

EXCUSED = {
    "jvp": ["plain-gpt", "convs2s", "convs2s-last", "rg-lru", "rg-lru-heads", "griffin", "griffin-heads"],
    "second": ["plain-gpt", "convs2s", "convs2s-last"],  # ConvS2S scales some gradients
}
# Of any length once exported; in the others a loop over steps, chunks or words is rolled out, as long as it was.
ANY_LENGTH = ("bag", "mixers-none", "mixers-rotary", "mixers-alibi")
ANY_LENGTH += ("s4d-convolution", "tcn", "local", "r-transformer", "encoder")
ANY_LENGTH += ("transformer", "translator", "xl", "gpt", "plain-gpt", "bert", "bytenet", "convs2s")


def going(way):
    """The models that go this way."""
    return names(*EXCUSED.get(way, ()), every_push=KINDS)


soon = names(every_push=["lstm-fused", "mlstm", "mamba", "xl", "gpt-2", "seq2seq"])  # seconds each


def agree(ours, theirs, bound):
    for a, b in zip(ours, theirs, strict=True):
        assert a.isfinite().all() and (a - b).abs().max() <= bound * b.abs().max().clamp(min=0.1)


def row(x, b):
    """One sequence without its batch axis; of a pair, both."""
    return tuple(part[b] for part in x) if isinstance(x, tuple) else x[b]


@going("vmap")
def test_gradients_of_each_sequence_by_vmap(name):
    model, x = make(name), example(name)
    weights = dict(model.named_parameters())

    def loss(weights, one):
        one = tuple(part[None] for part in one) if isinstance(one, tuple) else one[None]
        return functional_call(model, weights, (one,))[0].sin().sum()

    found = vmap(grad(loss), (None, 0))(weights, x)
    for b in range(B):
        alone = torch.autograd.grad(loss(weights, row(x, b)), list(weights.values()), materialize_grads=True)
        agree([each[b] for each in found.values()], alone, 1e-9)


@going("vmap")
def test_an_ensemble_of_weights_by_vmap(name):
    models, x = [make(name, seed) for seed in range(2)], example(name)
    y = vmap(lambda *weights: functional_call(models[0], weights, (x,))[0])(*stack_module_state(models))
    for ours, model in zip(y, models, strict=True):
        assert relative_error(ours, model(x)[0]) < 1e-10


@going("jvp")
def test_a_forward_derivative_is_the_slope(name):
    model, x = make(name), example(name)
    weights = {key: value.detach() for key, value in model.named_parameters()}
    way = {key: torch.randn_like(value) for key, value in weights.items()}

    def at(step):
        return functional_call(model, {key: value + step * way[key] for key, value in weights.items()}, (x,))[0]

    _, slope = jvp(lambda weights: functional_call(model, weights, (x,))[0], (weights,), (way,))
    agree([slope], [(at(1e-6) - at(-1e-6)) / 2e-6], 1e-4)


@going("second")
def test_a_second_derivative_is_the_slope_of_the_first(name):
    model, x = make(name), example(name)
    keys, values = zip(*model.named_parameters(), strict=True)
    way = [torch.randn_like(value) for value in values]

    def first(step):
        moved = [(v + step * w).detach().requires_grad_() for v, w in zip(values, way, strict=True)]
        y = functional_call(model, dict(zip(keys, moved, strict=True)), (x,))[0]
        return moved, torch.autograd.grad(y.sin().sum(), moved, create_graph=not step, materialize_grads=True)

    moved, gradient = first(0)
    along = sum((g * w).sum() for g, w in zip(gradient, way, strict=True) if g.requires_grad)
    second = torch.autograd.grad(along, moved, materialize_grads=True)
    slopes = [(up - down) / 2e-6 for up, down in zip(first(1e-6)[1], first(-1e-6)[1], strict=True)]
    largest = max(slope.abs().max() for slope in slopes)
    agree([part / largest for part in second], [slope / largest for slope in slopes], 1e-3)


@pytest.mark.slow
@soon
def test_compiled_without_a_break(name):
    torch._dynamo.reset()
    model, x = make(name), example(name)
    y, _ = torch.compile(model, backend="eager", fullgraph=True)(x)
    assert relative_error(y, model(x)[0]) < 1e-10


compiler = pytest.mark.skipif(shutil.which("g++") is None, reason=needs.reason("a compiler"))
WAYS = [("aot_eager", name) for name in MODELS]
WAYS += [
    pytest.param("inductor", n, marks=compiler) for n in ("lstm", "gpt-2", "xl", "mamba", "mlstm", "min-gru", "tcn")
]


@pytest.mark.weekly
@pytest.mark.parametrize("backend, name", WAYS)
def test_compiled_with_its_backward_pass(backend, name):
    torch._dynamo.reset()
    model, x = make(name), example(name)
    weights = list(model.parameters())
    ways = (torch.compile(model, backend=backend, fullgraph=True), model)
    agree(*(torch.autograd.grad(way(x)[0].sin().sum(), weights, materialize_grads=True) for way in ways), 1e-9)


def cut(x, batch, less=0):
    """The first sequences of x, or of both of a pair, and of the steps some less."""
    if isinstance(x, tuple):
        return tuple(cut(part, batch, less) for part in x)
    return x[:batch, : x.shape[1] - less].clone()


def exported(model, x, *free):
    """The program for any size of these axes."""
    sizes = dict.fromkeys(free, torch.export.Dim.AUTO)
    shapes = tuple(sizes for _ in x) if isinstance(x, tuple) else sizes
    return torch.export.export(model, (x,), dynamic_shapes=(shapes,)).module()


@pytest.mark.slow
@soon
def test_exported_for_any_batch(name):
    model, x = make(name), example(name)
    assert relative_error(exported(model, cut(x, 2), 0)(x)[0], model(x)[0]) < 1e-10


@pytest.mark.weekly
@pytest.mark.parametrize("name", [n for n in MODELS if n.startswith(ANY_LENGTH) and n != "bytenet-even"])
def test_exported_for_any_length(name):
    model, x = make(name), example(name)
    short, x = cut(x, 2, 2), cut(x, B, 1)
    assert relative_error(exported(model, short, 0, 1)(x)[0], model(x)[0]) < 1e-10


@pytest.mark.weekly
@pytest.mark.filterwarnings("ignore")  # of the tracer, that numbers become constants
@names()
def test_traced(name):
    model, x = make(name).requires_grad_(False), example(name)
    pair = isinstance(x, tuple)
    traced = torch.jit.trace(lambda *x: model(x if pair else x[0])[0], x if pair else (x,), check_trace=False)
    assert relative_error(traced(*x) if pair else traced(x), model(x)[0]) < 1e-10


@pytest.mark.parametrize("size", [0, 1e-3, 1])
@pytest.mark.parametrize("name", ["delta-net", "delta-net-signed", "retention"])
def test_float16_differentiates_norms_of_small_keys(name, size):
    model, x = make(name).half(), (size * example(name)).half().requires_grad_()
    model(x)[0].sum().backward()
    assert x.grad.isfinite().all()
