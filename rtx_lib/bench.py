"""Speed and memory of one implementation against another: ratios, never pass or fail.

``python -m rtx_lib.bench NAME --json`` runs one case. All variants of a case run interleaved in one process, so
that a busy machine slows them alike; a ratio compares medians.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from rtx_lib.kernels import explain_backend, relu_recurrence
from rtx_lib.layers import GRU, LSTM, RNN, MultiHeadAttention, causal_mask, make_positions
from rtx_lib.measuring import Variant, compare, measure, name_device
from rtx_lib.models.plain_gpt import PlainGPT
from rtx_lib.models.r_transformer import LocalRNN
from rtx_lib.models.transformer import CausalTransformer
from rtx_lib.training import check_device


def rnn(device: str = "cpu", batch: int = 32, time_steps: int = 200, hidden: int = 128) -> list[dict[str, Any]]:
    """Forward and backward of our RNN, and of the same loop with ``x[:, t]``, against torch.nn.RNN."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(batch, time_steps, hidden, generator=generator).to(device).requires_grad_()
    ours = RNN(hidden, hidden, generator=generator).to(device)
    theirs = nn.RNN(hidden, hidden, batch_first=True).to(device)
    theirs.load_state_dict(ours.state_dict())

    weight_ih, weight_hh, bias_ih, bias_hh = ours.parameters()

    def indexed(x: Tensor) -> tuple[Tensor, None]:
        z = nn.functional.linear(x, weight_ih, bias_ih + bias_hh)
        h, states = z.new_zeros(batch, hidden), []
        for t in range(time_steps):
            h = torch.tanh(torch.addmm(z[:, t], h, weight_hh.T))
            states.append(h)
        return torch.stack(states, 1), None

    def step(forward: Callable[[Tensor], tuple[Tensor, Any]]) -> Variant:
        def once() -> Tensor:
            (gradient,) = torch.autograd.grad(forward(x)[0].square().sum(), x)
            return gradient

        return once

    variants = {"torch.nn.RNN": step(theirs), "rtx_lib RNN": step(ours), "loop over x[:, t]": step(indexed)}
    return compare("rnn", "torch.nn.RNN", variants, device)


def cells(device: str = "cpu", batch: int = 32, time_steps: int = 200, hidden: int = 128) -> list[dict[str, Any]]:
    """Forward and backward, all weights included, of our LSTM and GRU against torch.nn's.

    ``backend="torch"`` runs the same fused function as torch.nn and should cost the same.
    """
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(batch, time_steps, hidden, generator=generator).to(device).requires_grad_()
    rows = []
    for kind, twin in ((LSTM, nn.LSTM), (GRU, nn.GRU)):
        name = kind.__name__
        models: dict[str, nn.Module] = {
            f"torch.nn.{name}": twin(hidden, hidden, batch_first=True),
            f"rtx_lib {name}": kind(hidden, hidden, generator=generator),
            f'rtx_lib {name}, backend="torch"': kind(hidden, hidden, backend="torch"),
        }
        for model in models.values():
            model.to(device).load_state_dict(models[f"rtx_lib {name}"].state_dict())

        def once(model: nn.Module) -> Tensor:
            gradients = torch.autograd.grad(model(x)[0].square().sum(), [x, *model.parameters()])
            return torch.cat([gradient.flatten() for gradient in gradients])

        variants: dict[str, Variant] = {variant: partial(once, model) for variant, model in models.items()}
        rows += compare("cells", f"torch.nn.{name}", variants, device, rounds=15)
    return rows


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

        def once(backend: str, z: Tensor = z, u: Tensor = u, g: Tensor = g) -> Tensor:
            _, du = torch.autograd.grad(relu_recurrence(z, u, backend=backend), (z, u), g)
            return du

        names = {"loop over unbind": "loop", f"auto ({explain_backend(z).partition(':')[0]})": "auto"}
        if z.numel() < 10**7 or device != "cpu":
            names["scan"] = "scan"
        variants: dict[str, Variant] = {name: partial(once, backend) for name, backend in names.items()}
        if device != "cpu":
            variants["moving the bytes"] = partial(_move_five_words, z.detach(), torch.empty_like(z), once("auto"))
        for row in compare("indrnn", "loop over unbind", variants, device, rounds=7 if steps > 1000 else 15):
            row["variant"] += f", B={batch} T={steps} N={neurons}"
            rows.append(row)
    return rows


def attention(
    device: str = "cpu", sizes: Sequence[tuple[int, int, int, int]] = ((12, 64, 128, 4), (8, 256, 256, 8))
) -> list[dict[str, Any]]:
    """Forward and backward of causal self-attention for several (B, T, D, H).

    Against torch.nn.MultiheadAttention with the same weights: ours as it runs when nobody looks at the weights, and
    as it runs when somebody does. Then what each position scheme costs against none; as the schemes compute
    different things, the error of those rows is None.
    """
    rows = []
    for batch, steps, width, heads in sizes:
        generator = torch.Generator().manual_seed(0)
        x = torch.randn(batch, steps, width, generator=generator).to(device).requires_grad_()
        future = ~causal_mask(steps, device=x.device)  # torch.nn's mask says what may not be seen
        theirs = nn.MultiheadAttention(width, heads, batch_first=True).to(device)
        ours, looked_at = (MultiHeadAttention(width, heads).to(device) for _ in range(2))
        looked_at.weights_tap.register_forward_hook(lambda module, arguments, weights: None)
        for layer in (ours, looked_at):
            layer.load_state_dict(theirs.state_dict())

        def once(forward: Callable[[Tensor], Tensor], x: Tensor = x) -> Tensor:
            (gradient,) = torch.autograd.grad(forward(x).square().sum(), x)
            return gradient

        def torchs(x: Tensor, layer: nn.Module = theirs, mask: Tensor = future) -> Tensor:
            return layer(x, x, x, attn_mask=mask, is_causal=True, need_weights=False)[0]

        size = f", B={batch} T={steps} D={width} H={heads}"
        variants: dict[str, Variant] = {
            "torch.nn.MultiheadAttention": partial(once, torchs),
            f"rtx_lib{size}": partial(once, partial(_first, ours)),
            f"rtx_lib, weights looked at{size}": partial(once, partial(_first, looked_at)),
        }
        rows += compare("attention", "torch.nn.MultiheadAttention", variants, device, rounds=15)
        schemes: dict[str, Variant] = {"no positions": variants[f"rtx_lib{size}"]}
        for scheme in ("shaw", "xl", "rotary", "alibi"):
            positions = make_positions(scheme, width=width, heads=heads)
            layer = MultiHeadAttention(width, heads, positions=positions).to(device)
            schemes[scheme + size] = partial(once, partial(_first, layer))
        rows += [row | {"max_error": None} for row in compare("attention", "no positions", schemes, device, rounds=15)]
    return rows


def transformer(
    device: str = "cpu", batch: int = 12, steps: int = 64, width: int = 128, layers: int = 4, generated: int = 256
) -> list[dict[str, Any]]:
    """Forward and backward of the causal Transformer against a plain GPT of torch's own modules, both without biases.

    The two have other positions and other initial weights, so that row has no error. Then a text of ``generated``
    ids, drawn with the key-value cache and without it: every token is computed once, or again for each new one.
    """
    torch.manual_seed(0)
    ids = torch.randint(65, (batch, steps)).to(device)
    settings: dict[str, Any] = {"width": width, "heads": 4, "layers": layers}
    gpt = PlainGPT(65, length=steps, **settings).to(device)
    causal = CausalTransformer(65, 65, vocabulary=65, tied=True, bias=False, **settings).to(device)

    def once(model: nn.Module) -> Tensor:
        gradients = torch.autograd.grad(model(ids)[0].logsumexp(-1).sum(), list(model.parameters()))
        return torch.cat([gradient.flatten() for gradient in gradients])

    size = f", B={batch} T={steps} D={width}, {layers} layers"
    models: dict[str, Variant] = {"plain GPT": partial(once, gpt), f"rtx_lib{size}": partial(once, causal)}
    seconds = measure(models, rounds=15)
    names = list(models)
    where = name_device(device)
    rows: list[dict[str, Any]] = [
        {"case": "transformer", "variant": names[1], "against": names[0],
         "ratio": round(seconds[names[0]] / seconds[names[1]], 3), "max_error": None, "device": where}
    ]  # fmt: skip

    @torch.no_grad()
    def cached() -> Tensor:
        y, state = causal(ids[:1, :1])
        logits = [y]
        for _ in range(generated - 1):
            y, state = causal(logits[-1].argmax(-1), state)
            logits.append(y)
        return torch.cat(logits, 1)

    @torch.no_grad()
    def recomputed() -> Tensor:
        text, logits = ids[:1, :1], []
        for _ in range(generated):
            logits.append(causal(text)[0][:, -1:])
            text = torch.cat([text, logits[-1].argmax(-1)], 1)
        return torch.cat(logits, 1)

    variants = {"recomputing": recomputed, f"key-value cache, {generated} tokens": cached}
    return rows + compare("transformer", "recomputing", variants, device)


def local_rnn(
    device: str = "cpu", batch: int = 16, steps: int = 400, window: int = 7, widths: Sequence[int] = (128, 256)
) -> list[dict[str, Any]]:
    """Forward and backward, all weights included, of the LocalRNN against torch.nn's layers run on its windows.

    Those windows are copied out by ``index_select`` to (B T, window, D), with the index made beforehand, as in the code
    of Wang et al. (2019). Both have the same weights.
    """
    rows = []
    for cell, twin in (("rnn", nn.RNN), ("gru", nn.GRU), ("lstm", nn.LSTM)):
        for width in widths:
            generator = torch.Generator().manual_seed(0)
            x = torch.randn(batch, steps, width, generator=generator).to(device).requires_grad_()
            ours = LocalRNN(width, width, window, cell=cell, generator=generator).to(device)
            theirs: Any = twin(width, width, batch_first=True).to(device)
            theirs.load_state_dict(ours.state_dict())
            index = (torch.arange(steps)[:, None] + torch.arange(window)).flatten().to(device)

            def gathered(x: Tensor, layer: nn.Module = theirs, index: Tensor = index) -> Tensor:
                padded = nn.functional.pad(x, (0, 0, window - 1, 0))
                windows = padded.index_select(1, index).reshape(-1, window, x.shape[-1])
                return layer(windows)[0][:, -1].view(x.shape)

            def shifted(x: Tensor, layer: nn.Module = ours) -> Tensor:
                return layer(x)[0]

            def once(forward: Callable[[Tensor], Tensor], weights: list[Tensor], x: Tensor = x) -> Tensor:
                gradients = torch.autograd.grad(forward(x).square().sum(), [x, *weights])
                return torch.cat([gradient.flatten() for gradient in gradients])

            against = f"windows in torch.nn.{twin.__name__}"
            variants: dict[str, Variant] = {
                against: partial(once, gathered, list(theirs.parameters())),
                f"rtx_lib, {cell}, B={batch} T={steps} D={width}": partial(once, shifted, list(ours.parameters())),
            }
            rows += compare("local-rnn", against, variants, device, memory=True)
    return rows


CASES: dict[str, Callable[..., list[dict[str, Any]]]] = {
    "rnn": rnn, "cells": cells, "indrnn": indrnn, "attention": attention, "transformer": transformer,
    "local-rnn": local_rnn,
}  # fmt: skip


def _first(layer: nn.Module, x: Tensor) -> Tensor:
    y: Tensor = layer(x, causal=True)[0]
    return y


def _move_five_words(z: Tensor, copy: Tensor, result: Tensor) -> Tensor:
    """Read and write five words for each value of z; a copy reads one and writes one."""
    copy.copy_(z)
    copy.copy_(z)
    half = z.numel() // 2
    copy.view(-1)[:half].copy_(z.view(-1)[:half])
    return result


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m rtx_lib.bench", description=__doc__)
    parser.add_argument("case", choices=sorted(CASES))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--json", action="store_true", help="print a JSON list instead of a table")
    options = parser.parse_args(arguments)
    check_device(options.device)
    torch.set_num_threads(1)
    rows = CASES[options.case](device=options.device)
    if options.json:
        print(json.dumps(rows, indent=1))
    else:
        for row in rows:
            line = f"{row['case']}: {row['variant']:24} {row['ratio']:.2f}x of {row['against']}"
            memory = f", {row['memory_ratio']:.2f} of its memory" if "memory_ratio" in row else ""
            error = "" if row["max_error"] is None else f", error {row['max_error']:.1e}"
            print(f"{line}{memory}{error} ({row['device']})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
