"""The checks accept the right answer, and name each planted slip."""

import torch
from support.answers import chapter

from rtx_book.checks import reading as checks

SLIPS = {
    checks.check_masked_mean: [
        (lambda x, ids: x.mean(1), "authors' code"),
        (lambda x, ids: (x * (ids != 0).unsqueeze(-1)).mean(1), "divided by T"),
        (lambda x, ids: (x * (ids != 0).unsqueeze(-1)).sum(1), "this is the sum"),
        (lambda x, ids: (x * (ids != 0).unsqueeze(-1)).sum(1) * 3 / (ids != 0).sum(), "its own number"),
        (lambda x, ids: x.masked_fill((ids == 0).unsqueeze(-1), -torch.inf).amax(1), "maximum"),
        (lambda x, ids: x[torch.arange(3), (ids != 0).sum(1) - 1], "last word"),
    ]
}

test_slips, test_stubs = chapter(SLIPS)
