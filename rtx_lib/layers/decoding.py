"""Decoding: from a model of the next symbol to sequences.

The functions need nothing of a model but the form that all models here share, ``model(x, state) -> (logits, state)``.
A state returned as None means that the model keeps nothing: it then reads the whole sequence again at every step.
A model is used in the mode in which it stands; one with dropout should be in ``eval()``.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from rtx_lib.shapes import expect_each, expect_ids, map_tensors

Model = Callable[[Any, Any], tuple[Tensor, Any]]
PAD = 0


@torch.no_grad()
def greedy(model: Model, source: Tensor, *, start: int, end: int, max_length: int) -> Tensor:
    """Take the most probable symbol at every step, and the one of smallest id where several are.

    Parameters
    ----------
    model
        ``((source, target_in (B, T)), state) -> (logits (B, T, V), state)``.
    source
        (B, S) ids.
    start, end
        Ids of the symbol that the model reads first and of the one with which a sentence ends.
    max_length
        Most symbols of a sentence, ``end`` included; at least 1.

    Returns
    -------
    ids
        (B, L), L <= max_length: the sentences without ``start`` and with ``end``, where they reached it, then 0.
    """
    expect_each(start=(start, 0), end=(end, 0), max_length=max_length)
    ids = torch.full((source.shape[0], 1), start, device=source.device)
    ended, state = ids.new_zeros(source.shape[0], dtype=torch.bool), None
    for step in range(max_length):
        logits, state = _read(model, source, ids, state)
        _expect_logits(logits, step, end)
        chosen = logits.argmax(-1).masked_fill(ended, PAD)  # (B,)
        ids = torch.cat([ids, chosen.unsqueeze(1)], dim=1)
        ended = ended | (chosen == end)
        if ended.all():
            break
    return ids[:, 1:]


@torch.no_grad()
def beam_search(
    model: Model, source: Tensor, *, start: int, end: int, max_length: int, beams: int = 4, length_penalty: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Extend the most probable beginnings of a sentence side by side (Graves 2012; Sutskever et al. 2014, section 3.2).

    Every step extends each beginning by each symbol and keeps the ``beams`` most probable results. Those that end
    with ``end`` leave the search as complete; at ``max_length`` the others count as complete too. The answer is the
    complete sentence of largest

        log p(y | x) / L^length_penalty

    where L is its number of symbols, ``end`` included. With length_penalty = 0 that is the most probable one found;
    as every further symbol costs probability, this favours short sentences. 1 compares the means per symbol.
    (Wu et al. 2016 divide by a power of (5 + L) / 6 instead.) One beam is the greedy choice, and
    V^(max_length - 1) beams are exhaustive.

    Parameters
    ----------
    model, source, start, end, max_length
        As for :func:`greedy`; all tensors in the model's state have the batch as their first axis.
    beams
        Number of beginnings kept, at least 1.
    length_penalty
        Exponent, at least 0.

    Returns
    -------
    ids
        (B, L) as from :func:`greedy`: the best sentence found for each source.
    log_probabilities
        (B,) their log p(y | x) in nats, without the penalty; of a model in half precision in float32.
    """
    most = int(80 / math.log(max(max_length, 2)))  # max_length ** most is within a float32's range
    rules: dict[str, Any] = {"beams": beams, "length_penalty": (length_penalty, f"[0, {most}]")}
    expect_each(start=(start, 0), end=(end, 0), max_length=max_length, **rules)
    batch, device = source.shape[0], source.device
    ids = torch.full((batch, 1), start, device=device)
    logits, state = _read(model, source, ids, None)
    _expect_logits(logits, 0, end)
    # From here on every sentence has `beams` rows, its beginnings. A row with log-probability -inf is empty;
    # at first all rows but one are.
    source, ids, logits = (each.repeat_interleave(beams, dim=0) for each in (source, ids, logits))
    state = _select(state, torch.arange(batch, device=device).repeat_interleave(beams), batch)
    log_p = logits.new_full((batch, beams), -torch.inf)
    log_p[:, 0] = 0
    first_row = torch.arange(batch, device=device).unsqueeze(1) * beams  # (B, 1)
    best_ids = ids.new_full((batch, max_length), PAD)
    best_length = ids.new_zeros(batch)
    best_log_p = best_score = logits.new_full((batch,), -torch.inf)

    for length in range(1, max_length + 1):
        if length > 1:
            logits, state = _read(model, source, ids, state)
        vocabulary = logits.shape[-1]
        _expect_logits(logits.view(batch, beams, vocabulary), length - 1, end, log_p > -torch.inf)
        extended = log_p.unsqueeze(-1) + logits.log_softmax(-1).view(batch, beams, vocabulary)
        log_p, index = _largest(extended.flatten(1), beams)  # (B, beams)
        rows = (first_row + index // vocabulary).flatten()
        symbols = index % vocabulary
        ids = torch.cat([ids[rows], symbols.view(-1, 1)], dim=1)

        complete = symbols == end if length < max_length else torch.ones_like(symbols, dtype=torch.bool)
        found, which = log_p.masked_fill(~complete, -torch.inf).max(1)  # all of one length: no penalty needed
        score = found / length**length_penalty
        better = score > best_score
        best_ids[better, :length] = ids[(first_row.squeeze(1) + which)[better], 1:]
        best_length[better] = length
        best_log_p, best_score = torch.where(better, found, best_log_p), torch.where(better, score, best_score)

        log_p = log_p.masked_fill(complete, -torch.inf)
        # A beginning only loses probability: what it could reach at best is log p / max_length^penalty.
        if (log_p.max(1).values / max_length**length_penalty <= best_score).all():
            break
        state = _select(state, rows, batch * beams)
    return best_ids[:, : int(best_length.max())], best_log_p


@torch.no_grad()
def sample(
    model: Model,
    prompt: Tensor,
    steps: int,
    *,
    temperature: float = 1.0,
    top: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator,
) -> Tensor:
    """Continue a prompt with symbols drawn from softmax(logits / temperature).

    Parameters
    ----------
    model
        Any language model ``(ids (B, T), state) -> (logits (B, T, V), state)``.
    prompt
        (B, T) ids, T at least 1.
    steps
        Number of symbols to draw, at least 1.
    temperature
        Above 0; below 1 it favours the probable symbols, and towards 0 only the most probable one is left.
    top
        If given, draw among this many most probable symbols only; 1 is the greedy choice, V or more all symbols.
    top_p
        If given, draw among the most probable symbols that have this share of the probability together, above 0, and no
        fewer than one (Holtzman et al. 2020). Of the two rules, ``top`` acts first.
    generator
        Source of the draws. They are made on its device, in float64.

    Returns
    -------
    ids
        (B, T + steps), the prompt and its continuation.
    """
    expect_ids(prompt, None, "prompt")
    expect_each(steps=steps, top=1 if top is None else top, temperature=(temperature, "(0, inf)"))
    expect_each(top_p=(top_p, "None or (0, 1]"))
    ids, state = prompt, None
    for step in range(steps):
        logits, state = model(ids if state is None else ids[:, -1:], state)
        _expect_logits(logits[:, -1], step)
        logits, order = _largest(logits[:, -1].double(), logits.shape[-1] if top is None else top)
        logits = (logits - logits[:, :1]) / temperature  # the largest is 0, so that no temperature is too small
        p = logits.softmax(-1)
        if top_p is not None:
            p = p.masked_fill(p.cumsum(-1) - p >= top_p, 0)  # where those before a symbol have the share already
        drawn = torch.multinomial(p.to(generator.device), 1, generator=generator)
        ids = torch.cat([ids, order.gather(1, drawn.to(ids.device))], dim=1)
    return ids


def _read(model: Model, source: Tensor, ids: Tensor, state: Any) -> tuple[Tensor, Any]:
    """The logits (B, V) of the next symbol, in single precision at least, as they are summed up, and the state."""
    x = (source, ids) if state is None else (None, ids[:, -1:])
    logits, state = model(x, state)
    return logits[:, -1].to(torch.promote_types(logits.dtype, torch.float32)), state


def _select(state: Any, rows: Tensor, size: int) -> Any:
    """The state with these rows of all its tensors, which must have ``size`` of them."""

    def selected(part: Tensor) -> Tensor:
        if part.ndim < 1 or len(part) != size:
            got = tuple(part.shape)
            raise ValueError(f"model must keep a state of tensors whose first axis is the batch of {size}, got {got}")
        return part.index_select(0, rows)

    return map_tensors(state, selected)


def _largest(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The largest entries of each row in falling order, and their indices; among equals, the first comes first."""
    values, index = values.sort(dim=-1, descending=True, stable=True)
    return values[:, :count], index[:, :count]


def _expect_logits(logits: Tensor, step: int, end: int = 0, counts: Tensor | None = None) -> None:
    """Raise unless each row (B, V), or each beginning (B, N, V) that counts, says which symbols are likely."""
    expect_each(end=(end, f"[0, {logits.shape[-1]})"))
    largest = logits.amax(-1)  # NaN where one is; -inf where all are
    bad = ~largest.isfinite() if counts is None else ~largest.isfinite() & counts
    if bad.any():
        row = int(bad.nonzero()[0, 0])
        rule = "logits must be finite, or -inf for some symbols that are forbidden"
        raise ValueError(f"{rule}, got a largest one of {float(largest[bad][0])} in row {row} at step {step}")
