"""How much context a language model uses: losses against context, position and memory, and what the context gains.

The relative effective context length is that of Dai et al. (2019, *Transformer-XL*, section 4.3 and appendix C).

The functions run any model (x, state) -> (y (B, T, V), state) on ids, y being logits or log-probabilities. It runs
where its parameters are, in eval mode and without gradients, and is then put back in the mode it was in. A model
without state, which gives None, sees each piece of a sequence alone. Losses are in nats, float64, on the CPU.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_lib.diagnostics.hooks import frozen
from rtx_lib.shapes import expect, expect_each, expect_ids

Pieces = Iterable[tuple[Tensor, Tensor]]  # x, y (B, T), in which row i goes on in row i of the next


def context_losses(
    model: nn.Module, ids: Tensor, contexts: Sequence[int], targets: Tensor, *, segment: int | None = None
) -> Tensor:
    """-log p(ids[t] | ids[t-c], ..., ids[t-1]) for each context length c and target t: (C, N).

    Parameters
    ----------
    ids, contexts, targets
        The text (L,), the C lengths c, at least 1, and the N places t in the text, from max(contexts) to L - 1.
    segment
        If given, the c tokens are fed in pieces of so many, the state carried on; the first may be shorter, so that
        the last is whole and ends at t - 1. If None, they are one piece.
    """
    ids, targets = ids.cpu().long(), targets.cpu().long()
    expect_ids(ids[None], None, "ids")
    expect_ids(targets[None], len(ids), "targets")
    expect_each(contexts=min(contexts), segment=1 if segment is None else segment)
    if max(contexts) > targets.min():
        raise ValueError(f"targets must not be before the longest of contexts, {max(contexts)}, got {targets.min()}")
    losses = torch.empty(len(contexts), len(targets), dtype=torch.float64)
    with frozen(model):
        for row, c in zip(losses, contexts, strict=True):
            size = segment or c
            sizes = [(c - 1) % size + 1] + [size] * ((c - 1) // size)
            for part, places in zip(row.split(64), targets.split(64), strict=True):  # so many at once
                windows, state = ids[places[:, None] + torch.arange(-c, 0)], None  # (B, c)
                for x in windows.split(sizes, dim=1):
                    y, state = _run(model, x, state)
                part[:] = _nll(y[:, -1:], ids[places, None])[:, 0]
    return losses


def loss_by_position(model: nn.Module, pieces: Pieces, *, skip: int = 0) -> Tensor:
    """The mean loss at each position of a segment, (T,).

    Parameters
    ----------
    pieces
        Segments x and what follows each symbol, y, all (B, T), as ``task.stream`` gives them.
    skip
        How many pieces are read first and not counted: those in which the memory is still filling.
    """
    losses: list[Tensor] = []  # of each piece, (T,)
    state = None
    with frozen(model):
        for x, y in pieces:
            prediction, state = _run(model, x, state)
            losses.append(_nll(prediction, y).mean(0))
    return torch.stack(losses[skip:]).mean(0)


def stream_losses(model: nn.Module, ids: Tensor, *, segment: int, memory: int | None = None) -> Tensor:
    """-log p(ids[t] | all before) of each token, read in segments with the state carried on, (L,); the first has 0.

    Parameters
    ----------
    ids
        The text (L,), at least two tokens.
    segment
        How many tokens are read at once; the last may be fewer.
    memory
        If given, ``model.memory`` is set to it; afterwards it is as before.
    """
    ids = expect_ids(ids.cpu().long()[None], None, "ids")  # (1, L)
    rows, state = [], None
    with frozen(model), _remembering(model, memory):
        for x in ids.split(segment, dim=1):
            y, state = _run(model, x, state)
            rows.append(y)
    return F.pad(_nll(torch.cat(rows, dim=1)[:, :-1], ids[:, 1:])[0], (1, 0))


def loss_against_memory(
    model: nn.Module, pieces: Callable[[], Pieces], memories: Sequence[int], *, skip: int = 0
) -> Tensor:
    """The mean loss with ``model.memory`` set to each length in turn, (len(memories),); afterwards it is as before.

    Parameters
    ----------
    pieces, skip
        A function that gives the same pieces anew in each call; as in :func:`loss_by_position`. All memories are
        compared on the same symbols, those after the first ``skip`` pieces.
    memories
        Whole numbers, at least 0.
    """
    losses = []
    for memory in memories:
        with _remembering(model, memory):
            losses.append(loss_by_position(model, pieces(), skip=skip).mean().item())
    return torch.tensor(losses, dtype=torch.float64)


def gain_per_position(losses: Tensor, memories: Sequence[int]) -> Tensor:
    """What each position of extra memory gains, in nats: -(loss difference) / (memory difference), (..., C - 1).

    ``losses`` (..., C) belong to the C lengths in ``memories``, which increase. Raises ``ValueError`` for others.
    """
    lengths = torch.tensor([*memories], dtype=torch.float64)
    if len(lengths) < 2 or not (lengths.diff() > 0).all() or losses.shape[-1:] != lengths.shape:
        got = f"{list(memories)} for losses {tuple(losses.shape)}"
        raise ValueError(f"memories must be at least two increasing lengths, one for each loss, got {got}")
    return -losses.detach().cpu().double().diff() / lengths.diff()


def relative_gain(losses: Mapping[str, Tensor], c: int, wider: int, *, share: float = 1.0) -> dict[str, float]:
    """By how much each model of a group lowers the group's best perplexity when its context grows from c to c'::

        b(c, t)    = min over models i of l_i(c, t)
        f_i(c, c') = mean over t in T of min(b(c, t), l_i(c', t))
        g_i(c, c') = (exp f_i(c, c) - exp f_i(c, c')) / exp f_i(c, c)        (Dai et al. 2019, appendix C)

    with l_i(c, t) the loss of model i on token t. T holds the hardest tokens, those with the largest b(c, t). A gain is
    never negative, and belongs to the group: a stronger rival lowers the baseline and with it the gain. As the minimum
    is taken token by token, predictions that merely fluctuate with the context gain too.

    Parameters
    ----------
    losses
        By model, (C, N) as :func:`context_losses` gives them for the same tokens.
    c, wider
        The rows of these tables, from 0 to C - 1, for the contexts c and c'.
    share
        The paper's r, above 0 and at most 1: T holds round(share N) tokens and at least one. Of tokens that are
        equally hard the earlier ones are taken.
    """
    table = _stack(losses)  # (models, C, N)
    rows = f"[0, {table.shape[1]})"  # of losses
    expect_each(c=(c, rows), wider=(wider, rows), share=(share, "(0, 1]"))
    baseline = table[:, c].amin(0)  # (N,)
    hardest = baseline.argsort(descending=True, stable=True)[: max(1, round(share * len(baseline)))]
    lowered = (baseline - table[:, wider]).clamp(min=0)[:, hardest].mean(1)  # f_i(c, c) - f_i(c, c')
    return dict(zip(losses, (-torch.expm1(-lowered)).tolist(), strict=True))


def relative_effective_context_length(
    losses: Mapping[str, Tensor], contexts: Sequence[int], *, share: float = 1.0
) -> dict[str, int]:
    """The context length (RECL) from which one step more gains a model less than one per cent.

    As Dai et al. (2019, appendix C) find it: from the first context on, c is returned as soon as the
    :func:`relative_gain` from c to the next context is below the paper's threshold, 0.01. If it never is, the last
    context is returned, and the RECL is at least that. It depends on the group, on the first context and the step.

    Parameters
    ----------
    losses, share
        As in :func:`relative_gain`.
    contexts
        The lengths that the rows of ``losses`` belong to: at least two, increasing in equal steps.
    """
    rows, steps = _stack(losses).shape[1], torch.tensor([*contexts]).diff()
    if len(contexts) != rows or rows < 2 or steps[0] < 1 or (steps != steps[0]).any():
        condition = f"at least two lengths in equal steps upwards, one for each of the {rows} rows of losses"
        raise ValueError(f"contexts must be {condition}, got {list(contexts)}")
    lengths: dict[str, int] = {}
    for row, c in enumerate(contexts[:-1]):
        for name, gain in relative_gain(losses, row, row + 1, share=share).items():
            if gain < 0.01:
                lengths.setdefault(name, c)
    return {name: lengths.get(name, contexts[-1]) for name in losses}


@contextmanager
def _remembering(model: nn.Module, memory: int | None) -> Iterator[None]:
    """With ``model.memory`` set to it, unless it is None; afterwards it is as before."""
    if memory is None:
        yield
        return
    expect_each(memory=(memory, 0))
    before = model.memory
    model.memory = memory  # type: ignore[assignment]
    try:
        yield
    finally:
        model.memory = before


def _run(model: nn.Module, x: Tensor, state: Any) -> tuple[Tensor, Any]:
    y, state = model(x.to(next(model.parameters(), x).device), state)
    return expect(y, (*x.shape, "V"), "the model's y"), state


def _nll(y: Tensor, target: Tensor) -> Tensor:
    """-log p(target) (B, T) under y (B, T, V)."""
    expect_ids(expect(target, y.shape[:2], "the symbols"), y.shape[-1], "the symbols")
    return F.cross_entropy(y.double().mT, target.to(y.device, torch.long), reduction="none").cpu()


def _stack(losses: Mapping[str, Tensor]) -> Tensor:
    """(models, C, N), checked."""
    tables = torch.stack([expect(table, "C N", "losses").detach().cpu().double() for table in losses.values()])
    if not tables.isfinite().all():
        raise ValueError("losses must be finite, got others")
    return tables
