"""Comparisons of the part on attention."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from rtx_book.bench.measuring import Variant, both_ways, compare, joined, pairs
from rtx_lib.layers import MultiHeadAttention, causal_mask, make_positions
from rtx_lib.models.plain_gpt import PlainGPT
from rtx_lib.models.transformer import CausalTransformer


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

        def torchs(x: Tensor, layer: nn.Module = theirs, mask: Tensor = future) -> Tensor:
            return layer(x, x, x, attn_mask=mask, is_causal=True, need_weights=False)

        size, against = f", B={batch} T={steps} D={width} H={heads}", "torch.nn.MultiheadAttention"
        variants: dict[str, Variant] = {against: both_ways(torchs, x)}
        for name, layer in (("rtx_lib", ours), ("rtx_lib, weights looked at", looked_at)):
            variants[name] = both_ways(partial(layer, causal=True), x)
        rows += compare("attention", variants, pairs(variants, against, "torch.nn"), device, 15, size)
        schemes = {"no positions": variants["rtx_lib"]}
        for scheme in ("shaw", "xl", "rotary", "alibi"):
            positions = make_positions(scheme, width=width, heads=heads)
            layer = MultiHeadAttention(width, heads, positions=positions).to(device)
            schemes[scheme] = both_ways(partial(layer, causal=True), x)
        told = pairs(schemes, "no positions", "ours", same=False)
        rows += compare("attention", schemes, told, device, 15, size)
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
        return joined(torch.autograd.grad(model(ids)[0].logsumexp(-1).sum(), list(model.parameters())))

    size = f", B={batch} T={steps} D={width}, {layers} layers"
    models: dict[str, Variant] = {"plain GPT": partial(once, gpt), "rtx_lib": partial(once, causal)}
    rows = compare("transformer", models, pairs(models, "plain GPT", "torch.nn", same=False), device, 15, size)

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
    return rows + compare("transformer", variants, pairs(variants, "recomputing", "ours"), device)
