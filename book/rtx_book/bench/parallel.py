"""Comparisons of the chapter on models that read in parallel."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from rtx_book.bench.measuring import Variant, both_ways, compare, row
from rtx_lib.diagnostics.measuring import measure
from rtx_lib.kernels import explain_linear_backend, gated_recurrence, linear_recurrence, relu_recurrence
from rtx_lib.models.qrnn import QRNNLayer


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
            a.requires_grad_(), b.requires_grad_()

            def once(backend: str, a: Tensor = a, b: Tensor = b, g: Tensor = g) -> Tensor:
                da, _ = torch.autograd.grad(linear_recurrence(a, b, backend=backend), (a, b), g)
                return da

            taken = explain_linear_backend(a, b).partition(":")[0]
            names = {"loop over unbind": "loop", f"auto ({taken})": "auto", "scan": "scan"}
            names |= {taken: taken} if taken not in ("loop", "scan") else {}
            variants: dict[str, Variant] = {kind + name: partial(once, backend) for name, backend in names.items()}
            against = f"{kind}loop over unbind"
            found = compare("linear", against, variants, device, kind="plain loop")
            rows += [each | {"variant": each["variant"] + size} for each in found]
            if not kind:
                u = (torch.rand(width, generator=generator) * 2 - 1).to(device).requires_grad_()
                variants = {"ReLU recurrence": partial(_relu, b, u, g), against: variants[against]}
                seconds = measure(variants, device=device)
                ratio = seconds[against] / seconds["ReLU recurrence"]
                rows.append(row("linear", f"ReLU recurrence{size}", against, ratio, None, device, "plain loop"))
    return rows


def _relu(z: Tensor, u: Tensor, g: Tensor) -> Tensor:
    return torch.autograd.grad(relu_recurrence(z, u), (z, u), g)[0]


def qrnn(device: str = "cpu", batch: int = 32, time_steps: int = 500, hidden: int = 128) -> list[dict[str, Any]]:
    """Forward and backward of the QRNN's pooling, and of a whole layer.

    The pooling, from f, z and o, stands against a loop over time; the error is that of the gradient of f. The layer,
    with a window of 2, stands against itself with that loop, and against torch.nn.LSTM, which has 4/3 of its weights.
    """
    torch.manual_seed(0)
    f, z, o = (torch.randn(batch, time_steps, hidden, device=device) for _ in range(3))
    gates = [f.sigmoid().requires_grad_(), z.tanh().requires_grad_(), o.sigmoid().requires_grad_()]
    g, size = torch.randn_like(z), f", B={batch} T={time_steps} N={hidden}"

    def pooled(pool: Any, count: int) -> Tensor:
        return torch.autograd.grad(pool(*gates[:count]), gates[:count], g)[0]

    rows = []
    for pooling, count in (("f", 2), ("fo", 3)):
        against = f"loop over time, {pooling}-pooling"
        variants: dict[str, Variant] = {against: partial(pooled, _loop, count)}
        variants[f"rtx_lib, {pooling}-pooling{size}"] = partial(pooled, _pool, count)
        rows += compare("qrnn", against, variants, device, kind="plain loop")

    x = torch.randn(batch, time_steps, hidden, device=device, requires_grad=True)
    layer, looped = (QRNNLayer(hidden, hidden, backend=backend).to(device) for backend in ("auto", "loop"))
    looped.load_state_dict(layer.state_dict())
    name, lstm = f"rtx_lib QRNN layer{size}", nn.LSTM(hidden, hidden, batch_first=True).to(device)
    whole = both_ways(layer, x, layer.parameters())
    variants = {"QRNN layer with a loop": both_ways(looped, x, looped.parameters()), name: whole}
    rows += compare("qrnn", "QRNN layer with a loop", variants, device, kind="plain loop")
    seconds = measure({"torch.nn.LSTM": both_ways(lstm, x, lstm.parameters()), name: whole}, device=device)
    ratio = seconds["torch.nn.LSTM"] / seconds[name]
    return [*rows, row("qrnn", name, "torch.nn.LSTM", ratio, None, device, "torch.nn")]


def _loop(f: Tensor, z: Tensor, o: Tensor | None = None) -> Tensor:
    """Equations 3 and 4 of Bradbury et al. (2017) as they are written."""
    h, states = torch.zeros_like(z[:, 0]), []
    for f_t, z_t in zip(f.unbind(1), z.unbind(1), strict=True):
        h = f_t * h + (1 - f_t) * z_t
        states.append(h)
    cells = torch.stack(states, 1)
    return cells if o is None else o * cells


def _pool(f: Tensor, z: Tensor, o: Tensor | None = None) -> Tensor:
    cells = gated_recurrence(f, z)
    return cells if o is None else o * cells
