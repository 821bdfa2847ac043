"""Speculative decoding: a small model guesses some symbols, and the large one reads all of them at once.

Y. Leviathan, M. Kalman and Y. Matias, *Fast Inference from Transformers via Speculative Decoding*, ICML 2023 (arXiv
2211.17192); C. Chen et al., *Accelerating Large Language Model Decoding with Speculative Sampling*, 2023 (arXiv
2302.01318), who found the same.
"""

from typing import Any

import torch
from torch import Tensor

from rtx_lib.shapes import expect_each, expect_ids, map_tensors

from .decoding import Model


@torch.no_grad()
def speculate(
    model: Model,
    draft: Model,
    prompt: Tensor,
    steps: int,
    *,
    guesses: int = 4,
    temperature: float = 1.0,
    generator: torch.Generator,
) -> tuple[Tensor, Tensor]:
    """Continue a prompt as :func:`~rtx_lib.layers.decoding.sample` does with ``model``, in fewer of its calls.

    A round (Leviathan et al., algorithm 1), with p the large model's and q the draft's distribution at each place::

        x_1, ..., x_gamma ~ q                     the draft, one after another
        p at all gamma + 1 places                 the large model, in one call
        keep x_i with probability                 min(1, p(x_i) / q(x_i)), until the first that is not kept
        in place of that one, draw from           max(0, p - q) / sum max(0, p - q);   after all gamma, from p

    What is written has the distribution of the large model alone, whatever the draft. A guess is kept with probability
    sum_x min(p(x), q(x)).

    Parameters
    ----------
    model, draft
        Language models ``(ids (1, T), state) -> (logits (1, T, V), state)`` of one V, whose numbers do not depend on
        the pieces in which they read. After a guess that is not kept each goes back to its state at the last symbol
        that is: a cache, which grew by one entry a symbol, is cut; of any other state the one before the round is
        kept, from which the large model reads the kept symbols again.
    prompt
        (1, T) ids, T at least 1: one row, since rows would keep different numbers of guesses.
    steps
        Number of symbols to write, at least 1.
    guesses
        gamma, the most guesses of a round, at least 1.
    temperature
        Both models' logits are divided by it; above 0.
    generator
        Source of the draws. They are made on its device, in float64.

    Returns
    -------
    ids
        (1, T + steps), the prompt and its continuation.
    rounds
        (R, 2), of each round the number of guesses and how many of them were kept.
    """
    expect_ids(prompt, None, "prompt")
    expect_each(steps=steps, guesses=guesses, temperature=(temperature, "(0, inf)"))
    if len(prompt) != 1:
        raise ValueError(f"prompt must have one row, got {len(prompt)}")
    ids, length, rounds = prompt, prompt.shape[1] + steps, []
    large, small = _Reader(model, temperature), _Reader(draft, temperature)
    if ids.shape[1] > 1:
        large.read(ids[:, :-1])
    while ids.shape[1] < length:
        start, q = ids.shape[1], []
        for _ in range(min(guesses, length - start - 1)):
            q.append(small.read(ids)[-1])
            ids = _append(ids, _draw(q[-1], generator))
        p = large.read(ids)[-len(q) - 1 :]
        kept = 0
        while kept < len(q):
            symbol = ids[0, start + kept]
            share = (p[kept, symbol] / q[kept][symbol]).clamp(max=1)
            if not _draw(torch.stack([1 - share, share]), generator):
                break
            kept += 1
        rest = (p[kept] - q[kept]).clamp(min=0) if kept < len(q) else p[kept]
        rounds.append((len(q), kept))
        ids = ids[:, : start + kept]
        large.back(ids)
        small.back(ids)
        ids = _append(ids, _draw(rest, generator))
    return ids, torch.tensor(rounds)


def _draw(weights: Tensor, generator: torch.Generator) -> int:
    """A place, drawn in proportion to the weights (V,)."""
    return int(torch.multinomial(weights.to(generator.device), 1, generator=generator))


def _append(ids: Tensor, symbol: int) -> Tensor:
    return torch.cat([ids, ids.new_full((1, 1), symbol)], dim=1)


class _Reader:
    """A model and the states that it can go back to, each with the number of symbols it has read."""

    def __init__(self, model: Model, temperature: float) -> None:
        self.model, self.temperature = model, temperature
        self.states: list[tuple[int, Any]] = [(0, None)]

    def read(self, ids: Tensor) -> Tensor:
        """Read the symbols that the last state has not; the distributions (T, V) behind each of them."""
        count, state = self.states[-1]
        logits, state = self.model(ids[:, count:], state)
        if state is not None:
            self.states.append((ids.shape[1], state))
        logits = logits[0].double()
        return ((logits - logits.amax(-1, keepdim=True)) / self.temperature).softmax(-1)

    def back(self, ids: Tensor) -> None:
        """To the state after ids (1, T), which has been read, or to an earlier one if nothing later has."""
        length, after = ids.shape[1], None
        while self.states[-1][0] > length:
            after = self.states.pop()
        count, before = self.states[-1]
        if after is not None and count < length:
            cut = _cut(before, after[1], after[0] - count, length - count)
            if cut is None:
                self.read(ids)
            else:
                self.states.append((length, cut))
        del self.states[:-1]


def _cut(before: Any, after: Any, read: int, kept: int) -> Any:
    """The state after ``kept`` of the ``read`` symbols; None if not each of its tensors grew by one entry a symbol."""
    if before is None:
        return None
    parts: list[Tensor] = []
    map_tensors(before, lambda part: parts.append(part) or part)  # type: ignore[func-returns-value]
    old, fits = iter(parts), []

    def cut(part: Tensor) -> Tensor:
        sizes = next(old).shape
        axes = [axis for axis, size in enumerate(part.shape) if size != sizes[axis]]
        fits.append(len(axes) == 1 and part.shape[axes[0]] == sizes[axes[0]] + read)
        return part.narrow(axes[0], 0, sizes[axes[0]] + kept) if fits[-1] else part

    state = map_tensors(after, cut)
    return state if all(fits) else None
