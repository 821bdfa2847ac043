"""In which order a text is predicted, and who sees whom: the data of XLNet (Yang et al. 2019, sections 2.2 and 2.3).

An order z lists positions: z_k is predicted k-th. Its inverse is the rank: position t is predicted as the rank_t-th,
counted from 0. A mask ``seen`` (B, T, T) is True where the query at position i may read position j. The input is never
shuffled: :class:`rtx_lib.models.xlnet.XLNet` gets the text as it stands, with such a mask and the positions to predict.

The authors' code (zihangdai/xlnet, ``data_utils.py``) permutes less than the paper's text says, and these functions
follow it. Only targets, about a sixth of the tokens, have an order. The other tokens are in plain sight: they see each
other and never a target. [SEP] and [CLS] have a rank without being targets, so that they see themselves and what was
before them in the order, and plain tokens never see them.
"""

from bisect import bisect_left
from collections.abc import Sequence

import torch
from torch import Tensor

from rtx_lib.shapes import expect, expect_each, expect_fits, expect_ids

NO_LABEL = -100  # which torch's cross-entropy leaves out


def draw_orders(size: int, length: int, generator: torch.Generator) -> Tensor:
    """Orders (B, T), each of the T! equally likely."""
    expect_each(size=size, length=length)
    return torch.rand(size, length, generator=generator, dtype=torch.float64).argsort(1)


def rank_of(order: Tensor) -> Tensor:
    """Ranks (B, T) of orders (B, T), or the other way round; ValueError where a row is no permutation of 0..T-1."""
    rank = expect_ids(order, None, "order").argsort(1)
    if not (order.gather(1, rank) == torch.arange(order.shape[1])).all():
        raise ValueError(f"order must hold permutations of 0..{order.shape[1] - 1}, got {order.tolist()}")
    return rank


def rank_in_windows(rank: Tensor, length: int) -> Tensor:
    """Ranks (B, T) of a text in windows of W tokens, from left to right, each of which has the same ranks (B, W).

    The code draws one permutation of a window and uses it for all.
    """
    rank_of(rank)
    window = rank.shape[1]
    expect_each(length=(length, f"multiple of {window}"))
    return (torch.arange(0, length, window)[:, None] + rank[:, None]).flatten(1)


def seen_under(rank: Tensor, target: Tensor | None = None, functional: Tensor | None = None) -> Tensor:
    """Who sees whom, (B, T, T) bool, under ranks (B, T).

    ::

        plain tokens        see all plain tokens
        targets             and the targets and functional tokens of smaller rank
        functional tokens   and themselves

    Parameters
    ----------
    rank
        Any whole numbers from 0 on. Those of plain tokens are not looked at.
    target, functional
        Bool (B, T). All are targets if None, and none is functional.
    """
    expect_ids(rank, None, "rank")
    expect_fits("target", target, tuple(rank.shape))
    expect_fits("functional", functional, tuple(rank.shape))
    target = torch.ones_like(rank, dtype=torch.bool) if target is None else target
    functional = torch.zeros_like(target) if functional is None else functional
    if (target & functional).any():
        raise ValueError("target must not hold functional tokens, got some that are both")
    rank = torch.where(target | functional, rank, -1)
    own = torch.where(target, rank, rank + 1)  # who is no target sees itself
    return rank[:, None] < own[:, :, None]


def places_of(target: Tensor, count: int) -> Tensor:
    """The positions (B, count) of targets (B, T), in the order of the text, then -1 where a row has fewer."""
    expect_each(count=(count, int(expect(target, "B T", "target").sum(1).max())))
    places = torch.where(target, torch.arange(target.shape[1]), target.shape[1]).sort(1).values[:, :count]
    places = torch.nn.functional.pad(places, (0, count - places.shape[1]), value=target.shape[1])
    return torch.where(places < target.shape[1], places, -1)


def labels_at(ids: Tensor, places: Tensor) -> Tensor:
    """The ids (B, N) at these positions, and -100, which counts in no loss, where there is none."""
    return torch.where(places < 0, NO_LABEL, ids.gather(1, places.clamp(min=0)))


def draw_spans(starts: Tensor, count: int, generator: torch.Generator, *, longest: int = 5, share: int = 6) -> Tensor:
    """Which tokens of a text to predict, (T,) bool: runs of tokens, and single tokens for what is missing in the end.

    A run begins with a word and has n tokens with a probability that falls as 1/n, up to `longest`, and around it
    n * `share` tokens that are not chosen. The authors meant n words, but their loop looks at the first token of the
    run in each turn instead of the next one, and so may cut a word. Where every token is a word, runs thus choose one
    token in `share` + 1, though the authors' comment has one in `share`; and where `count` is T / `share`, a seventh or
    so of the targets comes singly.

    Parameters
    ----------
    starts
        Bool (T,), True where a token begins a word.
    count
        How many tokens to choose, at most T: exactly as many are chosen.
    """
    length, missing = len(expect(starts, "T", "starts")), count
    expect_each(longest=longest, share=share, count=(count, f"[1, {length}]"))
    odds = 1 / torch.arange(1, longest + 1, dtype=torch.float64)
    words = starts.nonzero()[:, 0].tolist()
    chosen, at = torch.zeros(length, dtype=torch.bool), 0
    while at < length and missing:
        n = min(1 + int(odds.multinomial(1, generator=generator)), missing)
        before = int(torch.randint(n * share, (), generator=generator))
        here = bisect_left(words, at + before)
        if here == len(words) or words[here] + n >= length:
            break
        end = words[here] + n
        chosen[words[here] : end] = True
        missing -= n
        at = end + n * share - before
    rest = (~chosen).nonzero()[:, 0]
    chosen[rest[torch.randperm(len(rest), generator=generator)[:missing]]] = True
    return chosen


def lay_out(
    ids: Tensor, chosen: Tensor, count: int, generator: torch.Generator, *, window: int, functional: Sequence[int] = ()
) -> tuple[tuple[Tensor, Tensor, Tensor], Tensor]:
    """What a permutation language model reads and has to answer, as the authors' code lays it out.

    Parameters
    ----------
    ids
        (B, T).
    chosen
        Bool (B, T), from :func:`draw_spans`, say. Functional tokens among them are no targets.
    count
        N, how many places for targets there are.
    window
        Within so many tokens the order is drawn; it divides T.
    functional
        The ids of [SEP] and [CLS].

    Returns
    -------
    x
        (ids, seen (B, T, T), targets (B, N)), what XLNet reads.
    y
        (B, N), the ids at the targets; -100 where there is none.
    """
    special = torch.isin(ids, torch.tensor(functional, dtype=ids.dtype))
    expect_fits("chosen", chosen, tuple(ids.shape))
    rank = rank_in_windows(draw_orders(len(ids), window, generator), ids.shape[1])
    target = chosen & ~special
    targets = places_of(target, count)
    return (ids, seen_under(rank, target, special), targets), labels_at(ids, targets)
