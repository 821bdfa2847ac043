"""The checks accept the right answer, and name each planted slip."""

import torch
import torch.nn.functional as F
from support.answers import chapter

from rtx_book.checks import transformer as checks


def seen(ids):
    return (ids != 0)[:, None, None]


def past(ids):
    return torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool).tril()


def masks(source, target):
    return seen(source), past(target), seen(source)


def as_pre(slip):
    return lambda x, f, norm, where: slip(x, f, norm) if where == "pre" else norm(x + f(x))


def as_post(slip):
    return lambda x, f, norm, where: slip(x, f, norm) if where == "post" else x + f(norm(x))


def against(label):
    """The loss with labels made by ``label(one_hot, epsilon, V)``."""

    def loss(logits, y, epsilon):
        classes = logits.shape[1]
        return -(label(F.one_hot(y, classes).double(), epsilon, classes) * logits.log_softmax(-1)).sum(-1).mean()

    return loss


RIGHT = {
    checks.check_masks: [
        (masks, "Right: padding"),
        (lambda s, t: (seen(s), past(t) & seen(t), seen(s).expand(-1, 1, 3, -1)), "Right: padding"),
    ]
}
SLIPS = {
    checks.check_masks: [
        (lambda s, t: seen(s), "three masks"),
        (lambda s, t: (seen(s).float(), past(t), seen(s)), "encoder self-attention: the mask must be a bool"),
        (lambda s, t: (seen(s)[:, 0, 0], past(t), seen(s)), "broadcastable to"),
        (lambda s, t: (~seen(s), past(t), seen(s)), "encoder self-attention: turned round"),
        (lambda s, t: (seen(s) | True, past(t), seen(s)), "encoder self-attention: padding is forgotten"),
        (lambda s, t: (seen(s).mT, past(t), seen(s)), "hides queries"),
        (lambda s, t: (seen(s) & past(s), past(t), seen(s)), "looks both ways"),
        (lambda s, t: (seen(s), past(t).T, seen(s)), "future is visible"),
        (lambda s, t: (seen(s), ~past(t), seen(s)), "masked decoder self-attention: turned round"),
        (lambda s, t: (seen(s), past(t) | True, seen(s)), "nothing is hidden"),
        (lambda s, t: (seen(s), past(t).tril(-1), seen(s)), "must see itself"),
        (lambda s, t: (seen(s), past(t), seen(s) | True), "encoder-decoder attention: padding is forgotten"),
        (lambda s, t: (seen(s), past(t), seen(t).mT), "this is the target's"),
        (lambda s, t: (seen(s), past(t), seen(s) & torch.ones(3, 4).tril().bool()), "whole source"),
        (
            lambda s, t: (seen(s), past(t), seen(s) & (torch.arange(4) > 0)),
            "encoder-decoder attention: the entry .0, 0, 0, 0. must be 1",
        ),
    ],
    checks.check_sublayer: [
        (as_pre(lambda x, f, norm: norm(x + f(x))), "exchanged"),
        (as_pre(lambda x, f, norm: f(norm(x))), "forgets x"),
        (as_pre(lambda x, f, norm: norm(x) + f(norm(x))), "add x itself"),
        (as_pre(lambda x, f, norm: x + norm(f(x))), "before f"),
        (as_pre(lambda x, f, norm: x + f(x)), "no norm"),
        (as_post(lambda x, f, norm: x + f(norm(x))), "form of 'pre'"),
        (as_post(lambda x, f, norm: norm(f(x))), "way around is missing"),
        (as_post(lambda x, f, norm: x + norm(f(x))), "only f"),
        (as_post(lambda x, f, norm: norm(x + f(norm(x)))), "too many"),
        (as_post(lambda x, f, norm: x + f(x)), "no norm"),
    ],
    checks.check_smoothing: [
        (lambda logits, y, e: F.cross_entropy(logits, y), "nothing is smoothed"),
        (against(lambda hot, e, n: (1 - e) * hot + e / (n - 1) * (1 - hot)), "shared by the V - 1"),
        (against(lambda hot, e, n: hot + e / n), "still has probability 1"),
        (against(lambda hot, e, n: (1 - e) * hot + e), "not epsilon / V"),
        (lambda z, y, e: F.nll_loss(((1 - e) * z.softmax(-1) + e / z.shape[1]).log(), y), "model's probabilities"),
        (lambda logits, y, e: F.cross_entropy(logits, y, label_smoothing=e, reduction="sum"), "take the mean"),
        (lambda logits, y, e: -F.cross_entropy(logits, y, label_smoothing=e), "sign is missing"),
        (lambda logits, y, e: F.cross_entropy(logits, y, label_smoothing=e) / logits.shape[1], "sum over the classes"),
    ],
}

test_slips, test_stubs, test_right_answers = chapter(SLIPS, RIGHT)
