"""Comparisons of the chapter on recurrences that came back."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from rtx_book.bench.measuring import Variant, compare, row, that_run
from rtx_lib.diagnostics.measuring import measure
from rtx_lib.kernels import (
    explain_linear_backend,
    explain_matrix_backend,
    linear_recurrence,
    matrix_recurrence,
    selective_scan,
)


def diagonal(device: str = "cpu", batch: int = 8, time_steps: int = 1000, units: int = 64) -> list[dict[str, Any]]:
    """Forward and backward of h_t = a_t h_{t-1} + b_t against its loop, also in log space and by the textbook's scan.

    a is between 0.9 and 1 and b above 0, as log space asks: there the gradient of an a near 0 is lost to rounding. The
    scan of Hillis and Steele joins every entry with the one 1, 2, 4, .. steps before it: few rounds, but all entries
    take part in each. The error is that of the gradient of a.
    """
    generator = torch.Generator().manual_seed(0)
    shape = (batch, time_steps, units)
    a, b = (torch.rand(shape, generator=generator).to(device) for _ in range(2))
    a, b = (0.9 + 0.1 * a).requires_grad_(), b.requires_grad_()
    g = torch.randn(shape, generator=generator).to(device)

    def once(run: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        return torch.autograd.grad(run(a, b), (a, b), g)[0]

    taken = explain_linear_backend(a, b).partition(":")[0]
    ways: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
        "loop over unbind": partial(linear_recurrence, backend="loop"),
        f"auto ({taken})": linear_recurrence,
        "scan": partial(linear_recurrence, backend="scan"),
        "log space": _in_log_space,
        "textbook scan": _textbook_scan,
    }
    variants: dict[str, Variant] = {name: partial(once, way) for name, way in ways.items()}
    if device != "cpu":  # there a compiler makes one kernel of several; on a CPU many machines have none
        compiled = {name: torch.compile(ways[name]) for name in ("scan", "log space", "textbook scan")}
        variants |= that_run({f"{name}, torch.compile": partial(once, way) for name, way in compiled.items()})
    found = compare("diagonal", "loop over unbind", variants, device, kind="plain loop")
    return [each | {"variant": f"{each['variant']}, B={batch} T={time_steps} N={units}"} for each in found]


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

    On a GPU where ``mamba_ssm`` can be imported the kernel of Mamba's authors stands beside ours. The error is that of
    the gradient of delta, to which every step adds.
    """
    generator = torch.Generator().manual_seed(0)
    shape, size = (batch, time_steps, channels), f", B={batch} T={time_steps} D={channels} N={states}"
    u, delta, g = (torch.randn(shape, generator=generator).to(device) for _ in range(3))
    B, C = (torch.randn(batch, time_steps, states, generator=generator).to(device) for _ in range(2))
    A = -torch.arange(1.0, states + 1, device=device).expand(channels, states).contiguous()
    delta = F.softplus(delta - 4).requires_grad_()

    def once(scan: Callable[..., Tensor]) -> Tensor:
        return torch.autograd.grad(scan(u, delta, A, B, C), delta, g)[0]

    def ours(backend: str, *given: Tensor) -> Tensor:
        return selective_scan(*given, backend=backend)[0]

    variants: dict[str, Variant] = {name: partial(once, partial(ours, name)) for name in ("loop", "auto")}
    if device != "cpu":
        variants |= that_run({"mamba_ssm": partial(once, _of_the_authors)})
    found = compare("selective", "loop", variants, device, kind="plain loop")
    return [each | {"variant": each["variant"] + size} for each in found]


def _of_the_authors(u: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor) -> Tensor:
    """The kernel of Gu and Dao's package, which has time last."""
    from mamba_ssm.ops.selective_scan_interface import selective_scan_fn

    y: Tensor = selective_scan_fn(*(x.mT.contiguous() for x in (u, delta)), A, B.mT.contiguous(), C.mT.contiguous())
    return y.mT


FORMS = {
    "linear attention": (),
    "decay of a head": ("decay",),
    "decay of each row": ("rows",),
    "delta rule": ("beta",),
    "gated delta rule": ("beta", "decay"),
}


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
    more = {"beta": 2 * torch.rand(one, generator=generator), "decay": -torch.rand(one, generator=generator)}
    more["rows"] = -torch.rand(*one, size, generator=generator)
    given = {name: x.to(device).requires_grad_() for name, x in more.items()}
    q, k, v = (x.to(device).requires_grad_() for x in (q / math.sqrt(size), F.normalize(k, dim=-1), v))
    g = g.to(device)

    def gradients(o: Tensor, also: list[Tensor]) -> Tensor:
        found = torch.autograd.grad(o, [q, k, v, *also], g)
        return torch.stack(found[:3])

    def once(options: dict[str, Tensor], backend: str) -> Tensor:
        log_decay, beta = options.get("log_decay"), options.get("beta")
        o, _ = matrix_recurrence(q, k, v, log_decay=log_decay, beta=beta, backend=backend)
        return gradients(o, list(options.values()))

    softmax = "softmax attention"
    variants: dict[str, Variant] = {
        softmax: lambda: gradients(F.scaled_dot_product_attention(q, k, v, is_causal=True), [])
    }
    pairs = []
    for form, parts in FORMS.items():
        options = {"beta" if part == "beta" else "log_decay": given[part] for part in parts}
        taken = explain_matrix_backend(q, k, v, **options).partition(":")[0]
        pairs.append((f"{form}, auto ({taken})", f"{form}, loop"))
        variants |= {pairs[-1][0]: partial(once, options, "auto"), pairs[-1][1]: partial(once, options, "loop")}
    if device != "cpu":
        options = {"beta": given["beta"], "log_decay": given["decay"]}
        theirs = "gated delta rule, flash-linear-attention"
        found = that_run({theirs: lambda: gradients(_of_fla(q, k, v, **options), [*options.values()])})
        pairs += [(name, "gated delta rule, loop") for name in found]
        variants |= found
    errors = {}
    for name, loop in pairs:
        truth = variants[loop]()
        errors[name] = float((variants[name]() - truth).abs().max() / truth.abs().max())
    seconds = measure(variants, device=device)
    told = f", B={batch} H={heads} T={time_steps} K={size}"
    rows = []
    for name, loop in pairs:
        for against, error, kind in ((loop, errors[name], "plain loop"), (softmax, None, "torch.nn")):
            ratio = seconds[against] / seconds[name]
            rows.append(row("matrix-state", name + told, against, ratio, error, device, kind))
    return rows


def _of_fla(q: Tensor, k: Tensor, v: Tensor, beta: Tensor, log_decay: Tensor) -> Tensor:
    """The chunked kernel of flash-linear-attention, which has time before heads and computes in half precision."""
    from fla.ops.gated_delta_rule import chunk_gated_delta_rule

    turned = [x.transpose(1, 2).bfloat16() for x in (q, k, v)]
    o, _ = chunk_gated_delta_rule(
        *turned, log_decay.transpose(1, 2).float(), beta.transpose(1, 2).bfloat16(), scale=1.0
    )
    result: Tensor = o.transpose(1, 2).to(q.dtype)
    return result
