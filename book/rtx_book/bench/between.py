"""Comparisons of the part between recurrence and attention."""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from rtx_book.bench.measuring import Variant, both_ways, compare, joined, pairs, row
from rtx_lib.diagnostics.measuring import measure
from rtx_lib.layers import causal_mask
from rtx_lib.models.r_transformer import LocalRNN
from rtx_lib.models.transformer_xl import Memory, RelativeAttention, TransformerXL


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
            torch.manual_seed(0)
            x = torch.randn(batch, steps, width).to(device).requires_grad_()
            ours: Any = LocalRNN(width, width, window, cell=cell).to(device)
            theirs: Any = twin(width, width, batch_first=True).to(device)
            theirs.load_state_dict(ours.state_dict())
            index = (torch.arange(steps)[:, None] + torch.arange(window)).flatten().to(device)

            def gathered(x: Tensor, layer: nn.Module = theirs, index: Tensor = index) -> Tensor:
                padded = nn.functional.pad(x, (0, 0, window - 1, 0))
                windows = padded.index_select(1, index).reshape(-1, window, x.shape[-1])
                return layer(windows)[0][:, -1].view(x.shape)

            against, size = f"windows in torch.nn.{twin.__name__}", f", B={batch} T={steps} D={width}"
            variants = {against: both_ways(gathered, x, theirs.parameters())}
            variants[f"rtx_lib, {cell}"] = both_ways(ours, x, ours.parameters())
            rows += compare("local-rnn", variants, pairs(variants, against, "original"), device, size=size, memory=True)
    return rows


def txl(
    device: str = "cpu",
    sizes: Sequence[tuple[int, int, int]] = ((8, 128, 128), (4, 256, 256)),
    width: int = 256,
    heads: int = 8,
    lengths: Sequence[int] = (512,),
    segment: int = 64,
) -> list[dict[str, Any]]:
    """Transformer-XL's attention in two layouts for several (B, T, M), and what its memory saves in evaluation.

    The relative attention runs against the layout of the code of Dai et al. (2019), with the same weights, R and mask:
    forward and backward, of x and of all weights, and without gradients. The layout matters for the scores, so the
    ratio falls where the projections weigh more, as with wider heads. Then, for each attention length, a predicted
    token with memory against one with a sliding window (:func:`evaluation_costs`).
    """
    rows = []
    for batch, queries, past in sizes:
        rows += _layouts(device, batch, queries, past, width, heads)
    seconds, errors = evaluation_costs(lengths, device=device, segment=segment)
    window = seconds["sliding window"]
    for name, found in errors.items():
        for i, length in enumerate(lengths):
            variant, ratio = f"{name}, attention length {length}", window[i] / seconds[name][i]
            rows.append(row("txl", variant, "sliding window", ratio, found[i], device, "ours"))
    return rows


@torch.no_grad()
def evaluation_costs(
    lengths: Sequence[int], *, device: str = "cpu", segment: int = 64, width: int = 64, heads: int = 4, layers: int = 4
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """What a predicted token of one text costs a Transformer-XL, for several attention lengths L.

    ``"sliding window"``: without memory, the last L ids are read anew for every token, and only the last prediction
    counts. ``"memory, 64 at a time"``, or ``segment``, and ``"memory, one by one"``: only new ids are read, with
    ``memory`` = L, ``same_length`` and a full state, so that a query sees L keys too. The weights are the same. Through
    the memory older ids act as well, so that predictions differ from the window's, but not before L ids are read.

    Returns
    -------
    seconds
        For each way of reading, the median seconds per predicted token at each length.
    errors
        For each way with memory, how far the predictions for the end of the first L ids are from those of the window.
    """
    generator = torch.Generator().manual_seed(0)
    settings: dict[str, Any] = {"vocabulary": 65, "width": width, "heads": heads, "layers": layers}
    plain, remembering = (TransformerXL(65, 65, memory=0, **settings).eval() for _ in range(2))
    _spread(plain, generator)
    remembering.load_state_dict(plain.state_dict())
    plain.to(device), remembering.to(device)
    tokens = {"sliding window": 1, f"memory, {segment} at a time": segment, "memory, one by one": 1}
    seconds: dict[str, list[float]] = {name: [] for name in tokens}
    errors: dict[str, list[float]] = {name: [] for name in list(tokens)[1:]}
    for length in lengths:
        ids = torch.randint(65, (1, length + segment), generator=generator).to(device)
        window, new = ids.split([length, segment], dim=1)
        remembering.memory, remembering.same_length = length, True
        *pieces, last = window.split(segment, dim=1)
        _, earlier = _read(remembering, pieces)
        together, state = _read(remembering, [last], earlier)
        one_by_one, _ = _read(remembering, last.split(1, dim=1), earlier)
        truth = plain(window)[0][:, -last.shape[1] :]
        for name, y in zip(errors, (together, one_by_one), strict=True):
            errors[name].append(float((torch.cat(y, 1) - truth).abs().max() / truth.abs().max()))
        runs = (
            lambda window=window: plain.readout(plain.encode(window)[0][:, -1:]),
            lambda new=new, state=state: remembering(new, state)[0],
            lambda new=new[:, :1], state=state: remembering(new, state)[0],
        )
        variants: dict[str, Variant] = dict(zip(tokens, runs, strict=True))
        # All have run before, and the longest windows take seconds.
        medians = measure(variants, rounds=21 if length <= 512 else 7, warmup=0, device=device)
        for name, count in tokens.items():
            seconds[name].append(medians[name] / count)
    return seconds, errors


def _layouts(device: str, batch: int, queries: int, past: int, width: int, heads: int) -> list[dict[str, Any]]:
    """The rows of one size: forward and backward, and without gradients."""
    generator = torch.Generator().manual_seed(0)
    layer = RelativeAttention(width, heads)
    _spread(layer, generator)
    layer.to(device)
    x, memory = (torch.randn(batch, n, width, generator=generator).to(device) for n in (queries, past))
    x_first, memory_first = (z.transpose(0, 1).contiguous() for z in (x, memory))
    x.requires_grad_(), x_first.requires_grad_()
    keys = past + queries
    r = layer.encoding.encode(torch.arange(keys - 1, -1, -1, device=x.device), x.dtype)
    mask = causal_mask(queries, keys, device=x.device)
    hidden = ~mask[..., None, None]

    def ours() -> Tensor:
        return layer(x, memory, r=r, mask=mask)

    def theirs() -> Tensor:
        return _time_major(layer, x_first, memory_first, r, hidden).transpose(0, 1)

    def gradients(forward: Variant, leaf: Tensor) -> Tensor:
        dx, *others = torch.autograd.grad(forward().square().sum(), [leaf, *layer.parameters()])
        return joined([dx if leaf is x else dx.transpose(0, 1), *others])

    against, size = "authors' layout", f", B={batch} T={queries} M={past} D={width} H={heads}"
    variants: dict[str, Variant] = {against: partial(gradients, theirs, x_first)}
    variants["rtx_lib"] = partial(gradients, ours, x)
    rows = compare("txl", variants, pairs(variants, against, "original"), device, 15, size)
    with torch.no_grad():
        variants = {against: theirs, "rtx_lib without gradients": ours}
        return rows + compare("txl", variants, pairs(variants, against, "original"), device, 15, size)


def _time_major(layer: RelativeAttention, x: Tensor, memory: Tensor, r: Tensor, hidden: Tensor) -> Tensor:
    """The relative attention with the scores in the order query i, key j, batch b, head n.

    x is (T, B, D), memory (M, B, D), r (S, D), and hidden (T, S, 1, 1), True where a query may not attend.
    """
    w_q, w_k, w_v = layer.in_proj_weight.chunk(3)
    context = torch.cat([memory, x])
    q, k, v, r = (
        nn.functional.linear(z, weight).unflatten(-1, (layer.heads, -1))
        for z, weight in ((x, w_q), (context, w_k), (context, w_v), (r, layer.r_proj_weight))
    )
    content = torch.einsum("ibnd,jbnd->ijbn", q + layer.u, k)
    position = torch.einsum("ibnd,jnd->ijbn", q + layer.v, r)
    i, j, *rest = position.shape
    padded = torch.cat([position.new_zeros(i, 1, *rest), position], dim=1)
    position = padded.view(j + 1, i, *rest)[1:].view_as(position)
    scores = ((content + position) / math.sqrt(layer.head_width)).masked_fill(hidden, -math.inf)
    return layer.out_proj(torch.einsum("ijbn,jbnd->ibnd", scores.softmax(1), v).flatten(2))


@torch.no_grad()
def _spread(model: nn.Module, generator: torch.Generator) -> None:
    """Draw matrices from N(0, 1 / columns): from N(0, 0.02^2) all keys would get about the same weight."""
    for parameter in model.parameters():
        if parameter.ndim > 1:
            parameter.normal_(0, parameter.shape[-1] ** -0.5, generator=generator)


def _read(net: nn.Module, pieces: Sequence[Tensor], state: Memory | None = None) -> tuple[list[Tensor], Memory | None]:
    """The predictions for pieces that follow each other, and the state after the last."""
    outputs = []
    for piece in pieces:
        y, state = net(piece, state)
        outputs.append(y)
    return outputs, state
