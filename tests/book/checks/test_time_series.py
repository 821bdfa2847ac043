"""The checks accept the right answer, and name each planted slip."""

import torch
from support.answers import chapter

from rtx_book.checks import time_series as checks


def patches(x, P, level=lambda x: x[:, -1:], old_end=True):
    x = x - level(x)
    x = x[:, x.shape[1] % P :] if old_end else x[:, : x.shape[1] // P * P]
    return x.reshape(len(x), -1, P)


def pinball(forecast, y, q):
    return torch.maximum(q * (y - forecast), (q - 1) * (y - forecast)).mean()


SLIPS = {
    checks.check_patches: [
        (lambda x, P: patches(x, P, lambda x: 0), "still in"),
        (lambda x, P: patches(x, P, old_end=False), "old end"),
        (lambda x, P: patches(x, P, lambda x: x.mean(1, keepdim=True)), "not the mean"),
        (lambda x, P: patches(x, P, lambda x: 0) - patches(x, P, lambda x: 0)[..., -1:], "each patch's"),
        (lambda x, P: patches(x, P, lambda x: x[:1, -1:]), "own last value"),
        (lambda x, P: patches(x, P)[0], "the shape must be"),
    ],
    checks.check_pinball: [
        (lambda forecast, y, q: pinball(forecast, y, 1 - q), "wrong way round"),
        (lambda forecast, y, q: (y - forecast).abs(), "not one loss for each"),
        (lambda forecast, y, q: (y - forecast).abs().mean(), "absolute error"),
        (lambda forecast, y, q: 40 * pinball(forecast, y, q), "take the mean"),
        (lambda forecast, y, q: (q * (y - forecast)).clamp(min=0).mean(), "cost something"),
    ],
}

test_slips, test_stubs = chapter(SLIPS)
