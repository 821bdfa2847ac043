"""The checks accept the right answer, and name each planted slip."""

import torch
from support.answers import chapter

from rtx_book.checks import pretraining as checks


def mix(layers, w, gamma):
    return gamma * torch.einsum("l,lbtc->btc", w.softmax(0), layers)


def hidden_loss(logits, y):
    return torch.nn.functional.cross_entropy(logits.transpose(1, 2), y, ignore_index=-100)


def by_row(logits, y):
    return torch.stack([hidden_loss(*row) for row in zip(logits.split(1), y.split(1), strict=True)]).mean()


SLIPS = {
    checks.check_mix: [
        (lambda layers, w, gamma: gamma * torch.einsum("l,lbtc->btc", w, layers), "must be shares"),
        (lambda layers, w, gamma: mix(layers, w, 1), "gamma is left out"),
        (lambda layers, w, gamma: mix(layers, gamma * w, 1), "not what goes into the softmax"),
        (lambda layers, w, gamma: gamma * layers.mean(0), "plain mean"),
        (lambda layers, w, gamma: gamma * layers.sum(0), "w is not"),
        (lambda layers, w, gamma: mix(layers, w, gamma) / 3, "not a mean"),
        (lambda layers, w, gamma: gamma * (w.softmax(0)[:, None, None, None] * layers).sum(1), "not over the batch"),
    ],
    checks.check_hidden_loss: [
        (lambda logits, y: hidden_loss(logits, y) * 3, "this is the sum"),
        (lambda logits, y: hidden_loss(logits, y) * 3 / 8, "not chosen count"),
        (by_row, "its own mean"),
        (lambda logits, y: -hidden_loss(logits, y), "sign"),
        (
            lambda logits, y: -(logits.gather(2, y.clamp(min=0)[..., None]).squeeze(-1) * (y >= 0)).sum() / 3,
            "log_softmax first",
        ),
        (lambda logits, y: hidden_loss(logits, y) / torch.tensor(2.0).double().log(), "bits"),
        (lambda logits, y: hidden_loss(logits[:1], y[:1]), "first row"),
        (lambda logits, y: hidden_loss(logits, y) + 0.1, "the result must be"),
    ],
}

test_slips, test_stubs = chapter(SLIPS)
