"""Checks of the exercises on the Transformer; each message names the likely slip.

Every check returns without a word of blame if its argument is None: the exercise is not answered yet.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from rtx_book.checks.answers import compare, draw, exercise, numeric, of_chapter

solution, ask = of_chapter(__name__)
(check_training_cost,) = numeric(__name__)

NAMES = ("encoder self-attention", "masked decoder self-attention", "encoder-decoder attention")


@exercise("Right: padding of the source, the lower triangle, padding of the source.")
def check_masks(answer: Callable[[Tensor, Tensor], tuple[Tensor, Tensor, Tensor]]) -> None:
    """``answer(source, target)`` must return the masks of the three attentions, True where a query may look.

    source (B, S) and target (B, T) are ids, 0 is padding, which stands at the end of a row. The masks are bool,
    broadcastable to (B, 1, S, S), (B, 1, T, T) and (B, 1, T, S), in the order of ``NAMES``. Whether the decoder hides
    the target's padding too is left open: no real query comes after it.
    """
    source = torch.tensor([[5, 6, 7, 8], [5, 6, 0, 0]])
    target = torch.tensor([[1, 3, 4], [1, 3, 0]])
    given = answer(source.clone(), target.clone())
    assert isinstance(given, tuple | list) and len(given) == 3, "the function must return three masks, in order"
    see_source, see_target = (source != 0)[:, None, None], (target != 0)[:, None, None]  # (B, 1, 1, S)
    lower, everything = torch.ones(4, 4, dtype=torch.bool).tril(), torch.tensor(True)
    past = lower[:3, :3]
    encoder = {
        "padding is forgotten: no query may look at it": everything,
        "here padding hides queries; it has to hide keys, the last axis": see_source.mT,
        "the encoder looks both ways: only the decoder is causal": see_source & lower,
    }
    decoder = {
        "the future is visible: row i may look at columns 0 to i, the lower triangle": past.T,
        "nothing is hidden: a position could copy its own answer from the next one": everything,
        "position i must see itself: its own input is an earlier output": past.tril(-1),
        "the past is hidden": ~past.tril(-1),
    }
    between = {
        "padding is forgotten: no query may look at it": everything,
        "the keys come from the source, so its padding counts; this is the target's": see_target.mT,
        "this attention looks at the whole source: nothing in it is a later target": see_source & lower[:3],
    }
    # What a query of the decoder sees that is padding itself does not matter.
    cases = (
        (4, 4, everything, see_source, encoder),
        (3, 3, see_target.mT, past, decoder),
        (3, 4, everything, see_source, between),
    )
    for name, mask, (rows, columns, real, right, slips) in zip(NAMES, given, cases, strict=True):
        size = (2, 1, rows, columns)
        assert isinstance(mask, Tensor) and mask.dtype == torch.bool, f"{name}: the mask must be a bool tensor"
        what = f"{name}: the mask must be broadcastable to {size}, with the heads second, it is {tuple(mask.shape)}"
        assert mask.ndim <= 4 and all(n in (1, s) for n, s in zip(mask.shape[::-1], size[::-1], strict=False)), what
        slips = {"turned round; True has to mean 'may look'": ~right, **slips}
        whole = {message: slip.expand(size) for message, slip in slips.items()}
        compare(mask.expand(size), right.expand(size), whole, seen=real.expand(size), case=f"{name}: ")


@exercise("Right: x + f(LN(x)) before, LN(x + f(x)) after.")
def check_sublayer(answer: Callable[[Tensor, Callable[[Tensor], Tensor], Callable, str], Tensor]) -> None:
    """``answer(x, f, norm, where)`` must be x + f(norm(x)) for "pre" and norm(x + f(x)) for "post"."""
    weight, x = draw(7, (6, 6), (2, 3, 6))
    x = 3 * x + 1

    def f(z: Tensor) -> Tensor:
        return torch.relu(z @ weight)

    def norm(z: Tensor) -> Tensor:
        return F.layer_norm(z, (6,))

    pre, post = x + f(norm(x)), norm(x + f(x))
    slips_of_pre = {
        "'pre' and 'post' are exchanged": post,
        "the way around is missing: f(norm(x)) alone forgets x": f(norm(x)),
        "the way around leads past the norm: add x itself, not norm(x)": norm(x) + f(norm(x)),
        "the norm has to come before f, not after it": x + norm(f(x)),
        "there is no norm": x + f(x),
    }
    slips_of_post = {
        "this is the form of 'pre'": pre,
        "the way around is missing: normalise x + f(x)": norm(f(x)),
        "only f(x) is normalised: the norm comes after the sum": x + norm(f(x)),
        "there is a norm too many: f reads x as it is": norm(x + f(norm(x))),
        "there is no norm": x + f(x),
    }
    compare(answer(x.clone(), f, norm, "pre"), pre, slips_of_pre)
    compare(answer(x.clone(), f, norm, "post"), post, slips_of_post)


@exercise("Right: (1 - epsilon) * one-hot + epsilon / V against log-probabilities.")
def check_smoothing(answer: Callable[[Tensor, Tensor, float], Tensor]) -> None:
    """``answer(logits (N, V), y (N,), epsilon)`` must be the mean cross-entropy in nats against smoothed labels.

    The right class gets 1 - epsilon + epsilon / V and every other class epsilon / V.
    """
    logits = 2 * draw(3, (5, 4))[0]
    y, epsilon = torch.tensor([0, 1, 2, 3, 1]), 0.2
    log_p, label = logits.log_softmax(-1), F.one_hot(y, 4).double()
    right = F.cross_entropy(logits, y, label_smoothing=epsilon)

    def loss(q: Tensor) -> Tensor:
        return -(q * log_p).sum(-1).mean()

    shared = loss((1 - epsilon) * label + epsilon / 3 * (1 - label))
    smoothed_p = (1 - epsilon) * log_p.exp() + epsilon / 4
    slips = {
        "nothing is smoothed: this is the plain cross-entropy": loss(label),
        "epsilon is shared by the V - 1 others here; in the paper's source all V classes share it": shared,
        "the right class still has probability 1: take epsilon away from it": loss(label + epsilon / 4),
        "each class got epsilon, not epsilon / V": loss((1 - epsilon) * label + epsilon),
        "the model's probabilities were smoothed; the labels are to be": -(label * smoothed_p.log()).sum(-1).mean(),
        "this is the sum over the N positions: take the mean": 5 * right,
        "the sign is missing": -right,
        "this is the mean over N V entries: sum over the classes, then take the mean over N": right / 4,
    }
    # To 1e-6: one-hot integers times a number are float32.
    compare(answer(logits.clone(), y.clone(), epsilon), right, slips, 1e-6)
