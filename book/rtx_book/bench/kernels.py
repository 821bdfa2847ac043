"""Comparisons of recurrences: each kernel in several sizes, by several backends, and whole layers of them."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_book.bench.measuring import Pair, Variant, both_ways, compare, gradient, pairs, that_run
from rtx_lib import kernels
from rtx_lib.layers import GRU, LSTM, RNN
from rtx_lib.models.qrnn import QRNNLayer

LOOP = "loop over unbind"


def _named(explained: str) -> str:
    """The backend that a kernel takes by itself, as rows name it: ``auto (numba)``."""
    return f"auto ({explained.partition(':')[0]})"


# ------------------------------------------------------------------------------------------------ layers


def rnn(device: str = "cpu", batch: int = 32, time_steps: int = 200, hidden: int = 128) -> list[dict[str, Any]]:
    """Forward and backward of our RNN, and of the same loop with ``x[:, t]``, against torch.nn.RNN.

    Then ours against that loop, which makes the gradient of each step as large as the whole sequence.
    """
    torch.manual_seed(0)
    x = torch.randn(batch, time_steps, hidden).to(device).requires_grad_()
    ours, theirs = RNN(hidden, hidden).to(device), nn.RNN(hidden, hidden, batch_first=True).to(device)
    theirs.load_state_dict(ours.state_dict())
    weight_ih, weight_hh, bias_ih, bias_hh = ours.parameters()

    def indexed(x: Tensor) -> Tensor:
        z = F.linear(x, weight_ih, bias_ih + bias_hh)
        h, states = z.new_zeros(batch, hidden), []
        for t in range(time_steps):
            h = torch.tanh(torch.addmm(z[:, t], h, weight_hh.T))
            states.append(h)
        return torch.stack(states, 1)

    models: dict[str, Any] = {"torch.nn.RNN": theirs, "rtx_lib RNN": ours, "loop over x[:, t]": indexed}
    rows = [*pairs(models, "torch.nn.RNN", "torch.nn"), Pair("rtx_lib RNN", "loop over x[:, t]", "plain loop")]
    return compare("rnn", {name: both_ways(model, x) for name, model in models.items()}, rows, device)


def cells(device: str = "cpu", batch: int = 32, time_steps: int = 200, hidden: int = 128) -> list[dict[str, Any]]:
    """Forward and backward, all weights included, of our LSTM and GRU against torch.nn's, and against a plain loop.

    ``backend="torch"`` runs the same fused function as torch.nn and should cost the same. The plain loop calls torch's
    LSTMCell or GRUCell for each step, and so multiplies each input by its weights in turn.
    """
    torch.manual_seed(0)
    x = torch.randn(batch, time_steps, hidden).to(device).requires_grad_()
    rows = []
    for layer, twin, single in ((LSTM, nn.LSTM, nn.LSTMCell), (GRU, nn.GRU, nn.GRUCell)):
        ours, theirs = f"rtx_lib {layer.__name__}", f"torch.nn.{layer.__name__}"
        models: dict[str, nn.Module] = {
            theirs: twin(hidden, hidden, batch_first=True),
            ours: layer(hidden, hidden),
            f'{ours}, backend="torch"': layer(hidden, hidden, backend="torch"),
        }
        weights = models[ours].state_dict()
        for model in models.values():
            model.to(device).load_state_dict(weights)
        cell: nn.Module = single(hidden, hidden).to(device)
        cell.load_state_dict({key.removesuffix("_l0"): value for key, value in weights.items()})

        def looped(x: Tensor, cell: nn.Module = cell) -> Tensor:
            state, outputs = None, []
            for x_t in x.unbind(1):
                state = cell(x_t, state)
                outputs.append(state[0] if isinstance(state, tuple) else state)
            return torch.stack(outputs, 1)

        loop = f"loop of torch.nn.{single.__name__}"
        variants = {name: both_ways(model, x, model.parameters()) for name, model in models.items()}
        told = [*pairs(variants, theirs, "torch.nn"), Pair(ours, loop, "plain loop")]
        variants[loop] = both_ways(looped, x, cell.parameters())
        rows += compare("cells", variants, told, device, rounds=15)
    return rows


def qrnn(device: str = "cpu", batch: int = 32, time_steps: int = 500, hidden: int = 128) -> list[dict[str, Any]]:
    """Forward and backward of the QRNN's pooling, and of a whole layer.

    The pooling, from f, z and o, stands against a loop over time; the error is that of the gradient of f. The layer,
    with a window of 2, stands against itself with that loop, and against torch.nn.LSTM, which has 4/3 of its weights.
    """
    torch.manual_seed(0)
    f, z, o = (torch.randn(batch, time_steps, hidden, device=device) for _ in range(3))
    gates = [f.sigmoid().requires_grad_(), z.tanh().requires_grad_(), o.sigmoid().requires_grad_()]
    g, size = torch.randn_like(z), f", B={batch} T={time_steps} N={hidden}"
    rows = []
    for pooling, given in (("f", gates[:2]), ("fo", gates)):
        against = f"loop over time, {pooling}-pooling"
        variants = {against: gradient(partial(_pooled, _pool_step_by_step), given, g)}
        variants[f"rtx_lib, {pooling}-pooling"] = gradient(partial(_pooled, kernels.gated_recurrence), given, g)
        rows += compare("qrnn", variants, pairs(variants, against, "plain loop"), device, size=size)

    x = torch.randn(batch, time_steps, hidden, device=device, requires_grad=True)
    layer, looped = (QRNNLayer(hidden, hidden, backend=backend).to(device) for backend in ("auto", "loop"))
    looped.load_state_dict(layer.state_dict())
    ours, loop, theirs = "rtx_lib QRNN layer", "QRNN layer with a loop", "torch.nn.LSTM"
    models = {loop: looped, ours: layer, theirs: nn.LSTM(hidden, hidden, batch_first=True).to(device)}
    variants = {name: both_ways(model, x, model.parameters()) for name, model in models.items()}
    told = [Pair(ours, loop, "plain loop"), Pair(ours, theirs, "torch.nn", same=False)]
    return rows + compare("qrnn", variants, told, device, size=size)


def _pooled(pool: Callable[[Tensor, Tensor], Tensor], f: Tensor, z: Tensor, o: Tensor | None = None) -> Tensor:
    return pool(f, z) if o is None else o * pool(f, z)


def _pool_step_by_step(f: Tensor, z: Tensor) -> Tensor:
    """Equation 3 of Bradbury et al. (2017) as it is written."""
    h, states = torch.zeros_like(z[:, 0]), []
    for f_t, z_t in zip(f.unbind(1), z.unbind(1), strict=True):
        h = f_t * h + (1 - f_t) * z_t
        states.append(h)
    return torch.stack(states, 1)


# ------------------------------------------------------------------------------------------------ a state of vectors


def indrnn(
    device: str = "cpu",
    sizes: Sequence[tuple[int, int, int]] = ((50, 100, 128), (50, 1000, 128), (50, 5000, 128), (1, 5000, 64)),
) -> list[dict[str, Any]]:
    """Forward and backward of ``relu_recurrence`` against its loop, for several (B, T, N).

    The error is that of the gradient of u, to which every state and every gradient adds. On a GPU one more row
    moves as many bytes as a perfect kernel would (forward z in, h out; backward g, h in, dz out) and does no work.
    """
    rows = []
    for batch, steps, neurons in sizes:
        generator = torch.Generator().manual_seed(0)
        z, g = (torch.randn(batch, steps, neurons, generator=generator).to(device) for _ in range(2))
        u = (torch.rand(neurons, generator=generator) * 2 - 1).to(device) * 2 ** (1 / steps)
        z.requires_grad_(), u.requires_grad_()
        auto = _named(kernels.explain_backend(z))
        backends = {LOOP: "loop", auto: "auto"}
        if z.numel() < 10**7 or device != "cpu":
            backends["scan"] = "scan"
        variants = {
            name: gradient(partial(kernels.relu_recurrence, backend=backend), (z, u), g, slice(1, 2))
            for name, backend in backends.items()
        }
        if device != "cpu":
            variants["moving the bytes"] = partial(_move_five_words, z.detach(), torch.empty_like(z), variants[auto]())
        rounds, size = 7 if steps > 1000 else 15, f", B={batch} T={steps} N={neurons}"
        rows += compare("indrnn", variants, pairs(variants, LOOP, "plain loop"), device, rounds, size)
    return rows


def _move_five_words(z: Tensor, copy: Tensor, result: Tensor) -> Tensor:
    """Read and write five words for each value of z; a copy reads one and writes one."""
    copy.copy_(z)
    copy.copy_(z)
    half = z.numel() // 2
    copy.view(-1)[:half].copy_(z.view(-1)[:half])
    return result


def linear(
    device: str = "cpu", sizes: Sequence[tuple[int, int, int]] = ((32, 500, 128), (1, 5000, 64))
) -> list[dict[str, Any]]:
    """Forward and backward of ``linear_recurrence`` against its loop, for several (B, T, N), real and complex.

    The error is that of the gradient of a, in which every state and every gradient stands. Beside it the recurrence of
    a ReLU IndRNN of the same size: its nonlinearity costs a comparison, and its gradient of u a sum.
    """
    rows = []
    for batch, steps, width in sizes:
        generator = torch.Generator().manual_seed(0)
        shape, size = (batch, steps, width), f", B={batch} T={steps} N={width}"
        for kind, dtype in (("", torch.float32), ("complex ", torch.complex64)):
            a, b, g = (torch.randn(shape, generator=generator, dtype=dtype).to(device) for _ in range(3))
            a = a / (1e-3 + a.abs()) * torch.rand(shape, generator=generator).to(device)
            given = a.requires_grad_(), b.requires_grad_()
            taken = kernels.explain_linear_backend(a, b).partition(":")[0]
            backends = {LOOP: "loop", _named(taken): "auto", "scan": "scan"}
            backends |= {taken: taken} if taken not in ("loop", "scan") else {}
            variants = {
                kind + name: gradient(partial(kernels.linear_recurrence, backend=backend), given, g)
                for name, backend in backends.items()
            }
            told = pairs(variants, kind + LOOP, "plain loop")
            if not kind:
                u = (torch.rand(width, generator=generator) * 2 - 1).to(device).requires_grad_()
                variants["ReLU recurrence"] = gradient(kernels.relu_recurrence, (b, u), g)
                told.append(Pair("ReLU recurrence", LOOP, "plain loop", same=False))
            rows += compare("linear", variants, told, device, size=size)
    return rows


def diagonal(device: str = "cpu", batch: int = 8, time_steps: int = 1000, units: int = 64) -> list[dict[str, Any]]:
    """Forward and backward of h_t = a_t h_{t-1} + b_t against its loop, also in log space and by the textbook's scan.

    a is between 0.9 and 1 and b above 0, as log space asks: there the gradient of an a near 0 is lost to rounding. The
    scan of Hillis and Steele joins every entry with the one 1, 2, 4, .. steps before it: few rounds, but all entries
    take part in each. The error is that of the gradient of a.
    """
    generator = torch.Generator().manual_seed(0)
    shape = (batch, time_steps, units)
    a, b = (torch.rand(shape, generator=generator).to(device) for _ in range(2))
    given = (0.9 + 0.1 * a).requires_grad_(), b.requires_grad_()
    g = torch.randn(shape, generator=generator).to(device)
    ways: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
        LOOP: partial(kernels.linear_recurrence, backend="loop"),
        _named(kernels.explain_linear_backend(*given)): kernels.linear_recurrence,
        "scan": partial(kernels.linear_recurrence, backend="scan"),
        "log space": _in_log_space,
        "textbook scan": _textbook_scan,
    }
    variants = {name: gradient(way, given, g) for name, way in ways.items()}
    if device != "cpu":  # there a compiler makes one kernel of several; on a CPU many machines have none
        compiled = {f"{name}, torch.compile": torch.compile(ways[name]) for name in [*ways][2:]}
        variants |= that_run({name: gradient(way, given, g) for name, way in compiled.items()})
    size = f", B={batch} T={time_steps} N={units}"
    return compare("diagonal", variants, pairs(variants, LOOP, "plain loop"), device, size=size)


def _in_log_space(a: Tensor, b: Tensor) -> Tensor:
    """h_t = exp(A_t) sum over s <= t of exp(log b_s - A_s), A_t = log a_1 + .. + log a_t (Heinsen 2023)."""
    decay = a.log().cumsum(1)
    return (decay + torch.logcumsumexp(b.log() - decay, 1)).exp()


def _textbook_scan(a: Tensor, b: Tensor) -> Tensor:
    """Hillis and Steele's (1986): after the round of distance d each entry stands for the 2 d steps that end at it."""
    distance = 1
    while distance < b.shape[1]:
        before_a, before_b = (
            F.pad(x[:, :-distance], (0, 0, distance, 0), value=identity) for x, identity in ((a, 1.0), (b, 0.0))
        )
        a, b = a * before_a, b + a * before_b
        distance *= 2
    return b


def selective(
    device: str = "cpu", batch: int = 8, time_steps: int = 500, channels: int = 64, states: int = 16
) -> list[dict[str, Any]]:
    """Forward and backward of the selective scan of Mamba against its loop.

    The error is that of the gradient of delta, to which every step adds.
    """
    generator = torch.Generator().manual_seed(0)
    shape, size = (batch, time_steps, channels), f", B={batch} T={time_steps} D={channels} N={states}"
    u, delta, g = (torch.randn(shape, generator=generator).to(device) for _ in range(3))
    B, C = (torch.randn(batch, time_steps, states, generator=generator).to(device) for _ in range(2))
    A = -torch.arange(1.0, states + 1, device=device).expand(channels, states).contiguous()
    delta = F.softplus(delta - 4).requires_grad_()

    def once(scan: Callable[..., Tensor]) -> Variant:
        return gradient(lambda delta: scan(u, delta, A, B, C), [delta], g)

    def ours(*given: Tensor, backend: str) -> Tensor:
        return kernels.selective_scan(*given, backend=backend)[0]

    variants = {name: once(partial(ours, backend=name)) for name in ("loop", "auto")}
    return compare("selective", variants, pairs(variants, "loop", "plain loop"), device, size=size)


# ------------------------------------------------------------------------------------------------ a state of matrices


def matrix_state(
    device: str = "cpu", batch: int = 8, heads: int = 2, time_steps: int = 1000, size: int = 32
) -> list[dict[str, Any]]:
    """Forward and backward of ``matrix_recurrence`` against its loop, and against softmax attention of the same size.

    Keys are of unit length, q scaled by 1 / sqrt(K), beta from 0 to 2. The error is that of the gradients of q, k and
    v. Softmax attention is torch's fused and causal one, which computes something else, and has no error.
    """
    generator = torch.Generator().manual_seed(0)
    one = (batch, heads, time_steps)
    q, k, v, g = (torch.randn(*one, size, generator=generator) for _ in range(4))
    beta, decay, rows = (torch.rand(shape, generator=generator) for shape in (one, one, (*one, size)))
    beta, decay, rows = (x.to(device).requires_grad_() for x in (2 * beta, -decay, -rows))
    given = [x.to(device).requires_grad_() for x in (q / math.sqrt(size), F.normalize(k, dim=-1), v)]
    g = g.to(device)
    forms: dict[str, dict[str, Tensor]] = {
        "linear attention": {},
        "decay of a head": {"log_decay": decay},
        "decay of each row": {"log_decay": rows},
        "delta rule": {"beta": beta},
        "gated delta rule": {"beta": beta, "log_decay": decay},
    }

    def once(run: Callable[..., Tensor], **options: Tensor) -> Variant:
        return gradient(lambda *_: run(*given, **options), [*given, *options.values()], g, slice(3))

    def ours(*given: Tensor, backend: str, **options: Any) -> Tensor:
        return kernels.matrix_recurrence(*given, backend=backend, **options)[0]

    softmax = "softmax attention"
    variants, told = {softmax: once(partial(F.scaled_dot_product_attention, is_causal=True))}, []
    for form, options in forms.items():
        loop, auto = f"{form}, loop", f"{form}, {_named(kernels.explain_matrix_backend(*given, **options))}"
        for name, backend in ((auto, "auto"), (loop, "loop")):
            variants[name] = once(partial(ours, backend=backend), **options)
        told += [Pair(auto, loop, "plain loop"), Pair(auto, softmax, "torch.nn", same=False)]
    return compare("matrix-state", variants, told, device, size=f", B={batch} H={heads} T={time_steps} K={size}")
