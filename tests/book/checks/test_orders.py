"""The checks of the exercises on orders: the right answer passes, and each slip hears its own name."""

import pytest
import torch

from rtx_book.checks import orders as checks


def right_seen(order):
    rank = order.argsort()
    return rank[None] < rank[:, None]


def causal(order):
    return torch.ones(len(order), len(order), dtype=torch.bool).tril(-1)


RIGHT = {
    checks.check_seen: right_seen,
    checks.check_targets: 85,
    checks.check_whole_name: 0.003375,
    checks.check_word_perplexity: lambda losses, words: (losses.sum() / words).exp(),
}
SLIPS = [
    (checks.check_seen, lambda order: order[None] < order[:, None], "argsort"),
    (checks.check_seen, lambda order: right_seen(order).T, "exchanged"),
    (checks.check_seen, lambda order: right_seen(order) | torch.eye(len(order), dtype=torch.bool), "content stream"),
    (checks.check_seen, lambda order: ~right_seen(order), "contrary"),
    (checks.check_seen, causal, "left to right"),
    (checks.check_seen, lambda order: right_seen(order).double(), "True and False"),
    (checks.check_seen, lambda order: right_seen(order)[0], "shape"),
    (checks.check_seen, lambda order: None, "return a tensor"),
    (checks.check_seen, lambda order: torch.ones(len(order), len(order), dtype=torch.bool), "none of the usual"),
    (checks.check_targets, 425, "not predicted"),
    (checks.check_targets, 102, "all tokens over the targets"),
    (checks.check_targets, 73, "one in seven"),
    (checks.check_targets, 76.5, "BERT"),
    (checks.check_targets, 510, "last part"),
    (checks.check_targets, 12, "12 targets"),
    (checks.check_whole_name, 0.15, "ERNIE"),
    (checks.check_whole_name, 0.45, "add"),
    (checks.check_whole_name, 0.0225, "two words"),
    (checks.check_whole_name, 1 - 0.85**3, "at least one"),
    (checks.check_whole_name, 0.85**3, "none"),
    (checks.check_whole_name, 0.3, "all three"),
    (checks.check_word_perplexity, lambda losses, words: losses.mean().exp(), "of a token"),
    (checks.check_word_perplexity, lambda losses, words: losses.exp().sum() / words, "added"),
    (checks.check_word_perplexity, lambda losses, words: 2 ** (losses.sum() / words), "nats"),
    (checks.check_word_perplexity, lambda losses, words: losses.sum() / words, "mean loss"),
    (checks.check_word_perplexity, lambda losses, words: losses.sum().exp(), "before the exponential"),
    (checks.check_word_perplexity, lambda losses, words: 1.0, "not right"),
]


@pytest.mark.parametrize("check", RIGHT, ids=lambda check: check.__name__)
def test_the_right_answer_passes(check, capsys):
    check(RIGHT[check])
    assert capsys.readouterr().out.startswith("Right")


@pytest.mark.parametrize("check", RIGHT, ids=lambda check: check.__name__)
def test_no_answer_is_no_fault(check, capsys):
    check(None)
    assert capsys.readouterr().out == "Not answered yet.\n"


@pytest.mark.parametrize("place", range(len(SLIPS)))
def test_a_slip_hears_its_name(place):
    check, answer, message = SLIPS[place]
    with pytest.raises(AssertionError, match=message):
        check(answer)
