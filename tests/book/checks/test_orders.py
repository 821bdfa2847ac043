"""The checks accept the right answer, and name each planted slip."""

import torch
from support.answers import chapter

from rtx_book.checks import orders as checks


def right_seen(order):
    rank = order.argsort()
    return rank[None] < rank[:, None]


def causal(order):
    return torch.ones(len(order), len(order), dtype=torch.bool).tril(-1)


SLIPS = {
    checks.check_seen: [
        (lambda order: order[None] < order[:, None], "argsort"),
        (lambda order: right_seen(order).T, "exchanged"),
        (lambda order: right_seen(order) | torch.eye(len(order), dtype=torch.bool), "content stream"),
        (lambda order: ~right_seen(order), "contrary"),
        (causal, "left to right"),
        (lambda order: right_seen(order).double(), "True and False"),
        (lambda order: right_seen(order)[0], "shape"),
        (lambda order: None, "return a tensor"),
        (lambda order: torch.ones(len(order), len(order), dtype=torch.bool), "none of the usual"),
    ],
    checks.check_word_perplexity: [
        (lambda losses, words: losses.mean().exp(), "of a token"),
        (lambda losses, words: losses.exp().sum() / words, "added"),
        (lambda losses, words: 2 ** (losses.sum() / words), "nats"),
        (lambda losses, words: losses.sum() / words, "mean loss"),
        (lambda losses, words: losses.sum().exp(), "before the exponential"),
        (lambda losses, words: 1.0, "not right"),
    ],
}

test_slips, test_stubs = chapter(SLIPS)
