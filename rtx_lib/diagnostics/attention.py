"""What a model attends to, and whether that is what its answer depends on.

Attention weights are recorded where they pass through the submodules named ``weights_tap``. Next to them stand two
measures of importance that ask the model itself: the gradient with respect to the embedded tokens (Simonyan, Vedaldi
and Zisserman 2014) and the effect of leaving one token out (Li, Monroe and Jurafsky 2016). Jain and Wallace (2019)
compare the three by Kendall's rank correlation.
"""

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from rtx_lib.diagnostics.hooks import Hook, embedded, hooked, leaf, taps
from rtx_lib.shapes import expect, expect_each

TAP = "weights_tap"
Recorded = tuple[str, Tensor]


@contextmanager
def record_attention(model: nn.Module) -> Iterator[list[Recorded]]:
    """Collect the attention weights of every forward pass made inside the ``with`` block.

    Yields a list that grows by one pair for each call of each ``weights_tap``, in the order of the calls: the name
    of the module the weights belong to (``""`` if it is the model itself) and the weights as the model uses them,
    (B, H, T, S) or (B, T, S). They are nodes of the graph, so a score can be differentiated with respect to them.
    The hooks go away with the block, and the model keeps nothing. Blocks may be nested, in each other and in
    :func:`ablate_heads`.
    """
    recorded: list[Recorded] = []

    def recorder(name: str) -> Hook:
        return lambda module, args, weights: recorded.append((name, weights))

    with hooked((tap, recorder(name)) for name, tap in taps(model, TAP).items()):
        yield recorded


@contextmanager
def ablate_heads(
    model: nn.Module, heads: Sequence[int] | Mapping[str, Sequence[int]], *, to: str = "zero"
) -> Iterator[None]:
    """Take chosen heads out of work inside the ``with`` block.

    Parameters
    ----------
    model
        Any module with submodules named ``weights_tap``.
    heads
        The heads, counted from 0, of every attention; or from names as :func:`record_attention` gives them to the
        heads of those alone. Weights (B, T, S) are those of the one head 0.
    to
        ``"zero"``: the head reads nothing, its weights become 0 (Michel, Levy and Neubig 2019). ``"uniform"``: it
        reads all the keys it may see alike, so that only the choice is lost. A weight of exactly 0 counts as one
        that may not be seen; a float32 softmax also gives 0 to scores about 100 below its largest.
    """
    expect_each(to=(to, ("zero", "uniform")))
    found = taps(model, TAP)
    chosen = dict(heads) if isinstance(heads, Mapping) else dict.fromkeys(found, heads)
    for name in chosen:
        expect_each(heads=(name, sorted(found)))

    def ablation(numbers: Sequence[int]) -> Hook:
        def ablate(module: nn.Module, args: object, weights: Tensor) -> Tensor:
            changed = (weights if weights.ndim == 4 else weights.unsqueeze(1)).clone()  # (B, H, T, S)
            for head in numbers:
                expect_each(heads=(head, f"[0, {changed.shape[1]})"))
                seen = (changed[:, head] > 0).to(changed.dtype)  # (B, T, S)
                changed[:, head] = 0 if to == "zero" else seen / seen.sum(-1, keepdim=True).clamp(min=1)
            return changed.view_as(weights)

        return ablate

    with hooked([(found[name], ablation(list(numbers))) for name, numbers in chosen.items()], first=True):
        yield


@contextmanager
def attention_window(model: nn.Module, size: int, far: Sequence[int] = ()) -> Iterator[None]:
    """Hide the keys that stand ``size`` and more steps back, inside the ``with`` block and without any training.

    The weights that are left of a query are divided by their sum, which is what a softmax over their scores alone
    gives; NaN where nothing is left.

    Parameters
    ----------
    model
        Any module with submodules named ``weights_tap``.
    size
        How many keys a query still sees, itself included.
    far
        Distances from ``size`` on whose keys it sees as well.
    """

    def hide(module: nn.Module, args: object, weights: Tensor) -> Tensor:
        T, S = weights.shape[-2:]
        i = torch.arange(S - T, S, device=weights.device)[:, None]
        distance = i - torch.arange(S, device=weights.device)  # (T, S)
        seen = torch.tensor([d < size or d in far for d in range(S)]).to(weights.device)
        left = weights * seen[distance.clamp(min=0)]
        return left / left.sum(-1, keepdim=True)

    with hooked([(tap, hide) for tap in taps(model, TAP).values()], first=True):
        yield


def weight_by_distance(weights: Tensor, first: int) -> Tensor:
    """The mean weight at each distance, of the queries that have all of these distances before them.

    The distance of key j from query i is i - j.

    Parameters
    ----------
    weights
        (..., T, T), as :func:`record_attention` gives them.
    first
        The first query that counts, and the number of distances.

    Returns
    -------
    (..., first); entry d is the mean over the queries i = first, ..., T - 1 of their weight on key i - d.
    """
    T = weights.shape[-1]
    expect(weights, (*weights.shape[:-2], T, T), "weights")
    expect_each(first=(first, f"[1, {T})"))
    late = weights[..., first:, :]  # (..., T - first, T)
    return torch.stack([late.diagonal(first - d, -2, -1).mean(-1) for d in range(first)], dim=-1)


def gradient_saliency(score: Callable[[], Tensor], embedding: nn.Module) -> Tensor:
    """How strongly a score reacts to each embedded token: ``||d score / d e_s||``, shape (B, S).

    Parameters
    ----------
    score
        Runs the model and returns its score: a number, or one for each of the B sentences. It must call
        ``embedding`` exactly once. The gradients of the parameters stay as they are.
    embedding
        The module that turns ids (B, S) into e, (B, S, D).
    """
    with torch.enable_grad(), embedded(embedding, leaf) as leaves:
        total = score().sum()
    (gradient,) = torch.autograd.grad(total, leaves, allow_unused=True)
    if gradient is None:  # the score does not depend on any token
        gradient = torch.zeros_like(leaves[0])
    return gradient.norm(dim=-1)


@torch.no_grad()
def leave_one_out(score: Callable[[Tensor], Tensor], ids: Tensor, replacement: int, *, batch: int = 1) -> Tensor:
    """How far a score falls when one token is replaced: score(ids) - score(ids without token s), shape (S,).

    Positive where the token speaks for the score.

    Parameters
    ----------
    score
        From ids (n, S), n at most ``batch``, to n scores (n,); for n = 1 a bare number will do. Scores of several
        numbers, (n, ...), give effects (S, ...).
    ids
        One sentence, (1, S).
    replacement
        The id put in the place of each token in turn, for example that of a token without meaning.
    batch
        How many variants are scored at once.
    """
    expect(ids, (1, "S"), "ids")
    variants = ids.repeat(ids.shape[1], 1)  # (S, S)
    variants.fill_diagonal_(replacement)
    scores = []
    for some in (ids, *variants.split(batch)):
        value = score(some)
        value = value.unsqueeze(0) if value.ndim == 0 else value
        scores.append(expect(value, (len(some), *value.shape[1:]), "score"))
    return scores[0] - torch.cat(scores[1:])


def rank_agreement(one: Sequence[Tensor], other: Sequence[Tensor]) -> tuple[float, float]:
    """How far two measures rank the tokens alike: Kendall's tau-b, averaged over the rows of a map, then over the maps.

    Of a row in which all are tied no order exists, and the result is NaN.

    Parameters
    ----------
    one, other
        A map (T, S) a sentence for each measure, S at least 2.

    Returns
    -------
    The mean over the sentences, and half the width of its 95 % interval (1.96 standard errors; NaN for a single
    sentence).
    """
    from scipy.stats import kendalltau

    pairs = [zip(a.detach().cpu(), b.detach().cpu(), strict=True) for a, b in zip(one, other, strict=True)]
    means = [statistics.fmean(float(kendalltau(*rows).statistic) for rows in pair) for pair in pairs]
    taus = torch.tensor(means, dtype=torch.float64)  # (sentences,)
    error = float(taus.std()) / math.sqrt(len(taus)) if len(taus) > 1 else math.nan
    return float(taus.mean()), 1.96 * error
