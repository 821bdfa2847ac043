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

Pieces = Iterable[tuple[Tensor, Tensor]]  # x, y (B, T), in which row i goes on in row i of the next


def context_losses(
    model: nn.Module,
    ids: Tensor,
    contexts: Sequence[int],
    targets: Tensor,
    *,
    segment: int | None = None,
    batch: int = 64,
) -> Tensor:
    """-log p(ids[t] | ids[t-c], ..., ids[t-1]) for every context length c and target t: (C, N).

    Parameters
    ----------
    ids
        The text, whole numbers (L,).
    contexts
        The C lengths c, at least 1 each.
    targets
        The N places t in ids of the tokens to be predicted, from max(contexts) to L - 1.
    segment
        If given, the c tokens are fed in pieces of so many, the state carried on; the first may be shorter, so that
        the last is whole and ends at t - 1. If None, they are one piece.
    batch
        How many targets are done at once.

    Raises
    ------
    ValueError
        For what is not as above, or a model that gives something else or not enough symbols for the targets.
    """
    _check_ids(1, ids=ids, targets=targets)
    _check_whole(1, contexts=contexts, batch=[batch], segment=[] if segment is None else [segment])
    first, last = int(targets.min()), int(targets.max())
    if not (contexts and max(contexts) <= first and last < len(ids)):
        lengths = f"contexts {list(contexts)} must be at least one, and targets not before the longest"
        raise ValueError(f"{lengths} and below {len(ids)}, the length of ids, got targets from {first} to {last}")
    ids, targets = ids.cpu().long(), targets.cpu().long()
    losses = torch.empty(len(contexts), len(targets), dtype=torch.float64)
    with _frozen(model):
        for row, c in zip(losses, contexts, strict=True):
            size = segment or c
            sizes = [(c - 1) % size + 1] + [size] * ((c - 1) // size)
            for part, places in zip(row.split(batch), targets.split(batch), strict=True):
                windows, state = ids[places[:, None] + torch.arange(-c, 0)], None  # (B, c)
                for x in windows.split(sizes, dim=1):
                    y, state = _run(model, x, state)
                part[:] = _nll(y[:, -1:], ids[places, None])[:, 0]
    return losses


def loss_by_position(model: nn.Module, pieces: Pieces, *, carry: bool = True, skip: int = 0) -> Tensor:
    """The mean loss at each position of a segment, (T,).

    Parameters
    ----------
    pieces
        Segments x and what follows each symbol, y, both (B, T), as ``task.stream`` gives them.
    carry
        Whether the state of one piece goes on to the next.
    skip
        How many pieces are read first and not counted: those in which the memory is still filling.

    Raises
    ------
    ValueError
        For ``skip`` below 0 or so large that nothing is left, pieces of different or wrong shapes, or a model that
        gives something else.
    """
    _check_whole(0, skip=[skip])
    losses: list[Tensor] = []  # of each piece, (T,)
    state = shape = None
    with _frozen(model):
        for x, y in pieces:
            _check_ids(2, y=y)
            shape = shape or y.shape
            if not x.shape[:2] == y.shape == shape:
                got = f"x {tuple(x.shape)} and y {tuple(y.shape)}"
                raise ValueError(f"pieces must all have the shape of the first y, {tuple(shape)}, got {got}")
            prediction, after = _run(model, x, state)
            losses.append(_nll(prediction, y).mean(0))
            state = after if carry else None
    if len(losses) <= skip:
        raise ValueError(f"skip must leave one of {len(losses)} pieces to count, got {skip}")
    return torch.stack(losses[skip:]).mean(0)


def loss_against_memory(
    model: nn.Module, pieces: Callable[[], Pieces], memories: Sequence[int], *, skip: int = 0
) -> Tensor:
    """The mean loss with ``model.memory`` set to each length in turn, (len(memories),); afterwards it is as before.

    Parameters
    ----------
    pieces
        Gives the same pieces anew in each call, as :func:`loss_by_position` takes them.
    memories
        Whole numbers, at least 0.
    skip
        As in :func:`loss_by_position`, and the same for all memories, so that all are compared on the same symbols.

    Raises
    ------
    ValueError
        For a model without ``memory``, other lengths, and as in :func:`loss_by_position`.
    """
    if not hasattr(model, "memory"):
        raise ValueError(f"model must have an attribute memory, got {type(model).__name__} without")
    _check_whole(0, memories=memories)
    before, losses = model.memory, []
    try:
        for memory in memories:
            model.memory = memory  # type: ignore[assignment]
            losses.append(loss_by_position(model, pieces(), skip=skip).mean().item())
    finally:
        model.memory = before
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

        b(c, t)   = min over models of l_i(c, t)
        f_i(c, c') = mean over t in T of min(b(c, t), l_i(c', t))
        g_i(c, c') = (exp f_i(c, c) - exp f_i(c, c')) / exp f_i(c, c)        (Dai et al. 2019, appendix C)

    T holds the tokens that are hardest for the best of the models with context c, those with the largest b(c, t). The
    gain is from 0 to below 1, and belongs to the group: a stronger rival lowers the baseline, and with it the gain.

    Parameters
    ----------
    losses
        l_i, (C, N) for each model by its name, as :func:`context_losses` gives them for the same tokens.
    c, wider
        The rows of ``losses`` for the context c and for c', from 0 to C - 1.
    share
        How much of the tokens T holds, above 0 and at most 1, the paper's r: round(share N) of them and at least one.
        Of tokens equally hard the earlier ones are taken.

    Raises
    ------
    ValueError
        For no models, losses of different or wrong shapes or not finite, rows that are not there, or another share.
    """
    table = _stack(losses)  # (models, C, N)
    _check_whole(0, c=[c], wider=[wider])
    if max(c, wider) >= table.shape[1]:
        raise ValueError(f"c and wider must be rows of losses, from 0 to {table.shape[1] - 1}, got {c} and {wider}")
    if not 0 < share <= 1:
        raise ValueError(f"share must be above 0 and at most 1, got {share}")
    baseline = table[:, c].amin(0)  # (N,)
    hardest = baseline.argsort(descending=True, stable=True)[: max(1, round(share * len(baseline)))]
    lowered = (baseline - table[:, wider]).clamp(min=0)[:, hardest].mean(1)  # f_i(c, c) - f_i(c, c')
    return dict(zip(losses, (-torch.expm1(-lowered)).tolist(), strict=True))


def relative_effective_context_length(
    losses: Mapping[str, Tensor], contexts: Sequence[int], *, share: float = 1.0, threshold: float = 0.01
) -> dict[str, int]:
    """The context length (RECL) beyond which a step more gains a model less than the threshold.

    As Dai et al. (2019, appendix C) find it: from the first context on, c is returned as soon as the
    :func:`relative_gain` from c to the next context is below the threshold, 0.01 in the paper. If no step is, the last
    context is returned, and the RECL is at least that. It depends on the group of models and on the step.

    Parameters
    ----------
    losses, share
        As in :func:`relative_gain`.
    contexts
        The lengths that the rows of ``losses`` belong to: at least two, increasing in equal steps.
    threshold
        Above 0 and below 1.

    Raises
    ------
    ValueError
        As in :func:`relative_gain`, and for other contexts or another threshold.
    """
    _check_whole(1, contexts=contexts)
    rows, steps = _stack(losses).shape[1], torch.tensor([*contexts]).diff()
    if len(contexts) != rows or rows < 2 or steps[0] < 1 or (steps != steps[0]).any():
        condition = f"at least two lengths in equal steps upwards, one for each of the {rows} rows of losses"
        raise ValueError(f"contexts must be {condition}, got {list(contexts)}")
    if not 0 < threshold < 1:
        raise ValueError(f"threshold must be above 0 and below 1, got {threshold}")
    lengths: dict[str, int] = {}
    for row, c in enumerate(contexts[:-1]):
        for name, gain in relative_gain(losses, row, row + 1, share=share).items():
            if gain < threshold:
                lengths.setdefault(name, c)
    return {name: lengths.get(name, contexts[-1]) for name in losses}


@contextmanager
def _frozen(model: nn.Module) -> Iterator[None]:
    """In eval mode and without gradients; afterwards every part is in the mode it was in."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, mode in modes:
            module.training = mode


def _run(model: nn.Module, x: Tensor, state: Any) -> tuple[Tensor, Any]:
    result = model(x.to(next(model.parameters(), x).device), state)
    if not isinstance(result, tuple) or len(result) != 2:
        raise ValueError(f"model must give a pair (y, state), got {type(result).__name__}")
    if result[0].ndim != 3 or result[0].shape[:2] != x.shape[:2]:
        raise ValueError(f"model must give y of shape {(*x.shape[:2], 'V')}, got {tuple(result[0].shape)}")
    return result


def _nll(y: Tensor, target: Tensor) -> Tensor:
    """-log p(target) (B, T) under y (B, T, V)."""
    if target.min() < 0 or target.max() >= y.shape[-1]:
        wrong = target.min() if target.min() < 0 else target.max()
        raise ValueError(f"model must give a y for every symbol, got {y.shape[-1]} of them and the symbol {wrong}")
    return F.cross_entropy(y.double().mT, target.to(y.device, torch.long), reduction="none").cpu()


def _stack(losses: Mapping[str, Tensor]) -> Tensor:
    """(models, C, N), checked."""
    shapes = [tuple(table.shape) for table in losses.values()]
    if len(set(shapes)) != 1 or len(shapes[0]) != 2 or 0 in shapes[0]:
        raise ValueError(f"losses must be tables of one shape (C, N), one for each model, got {shapes}")
    table = torch.stack([table.detach().cpu().double() for table in losses.values()])
    if not table.isfinite().all():
        raise ValueError("losses must be finite, got some that are not")
    return table


def _check_ids(dimensions: int, **arrays: object) -> None:
    for name, ids in arrays.items():
        is_ids = isinstance(ids, Tensor) and not (ids.is_floating_point() or ids.dtype == torch.bool)
        if not isinstance(ids, Tensor) or not is_ids or ids.ndim != dimensions or not ids.numel():
            got = f"{ids.dtype} of shape {tuple(ids.shape)}" if isinstance(ids, Tensor) else type(ids).__name__
            raise ValueError(f"{name} must be whole numbers in a tensor with {dimensions} axes, not empty, got {got}")


def _check_whole(least: int, **numbers: Sequence[int]) -> None:
    for name, values in numbers.items():
        for value in values:
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ValueError(f"{name} must be whole numbers from {least} on, got {value!r}")
