"""The checks accept the right answer, and name each planted slip."""

import torch
from support.answers import chapter

from rtx_book.checks import vanishing_gradients as checks

tanh, diag = torch.tanh, torch.diag


SLIPS = {
    checks.check_jacobian: [
        (lambda before, after, W: (diag(1 - after**2) @ W).T, "transpose"),
        (lambda before, after, W: diag(1 - before**2) @ W, "belongs to step j"),
        (lambda before, after, W: diag(1 - tanh(before) ** 2) @ W, "taken at the old state"),
        (lambda before, after, W: diag(1 - tanh(after) ** 2) @ W, "applied twice"),
        (lambda before, after, W: W @ diag(1 - after**2), "wrong side"),
        (lambda before, after, W: diag(1 - after) @ W, "square is missing"),
        (lambda before, after, W: W, "slope is missing"),
    ],
    checks.check_transient: [
        (torch.eye(3), "2 x 2"),
        (torch.tensor([[0.95, 1.0], [0.0, 0.5]]), "modulus 0.95"),
        (torch.tensor([[0.5, 50.0], [0.0, 0.5]]), "not from one"),
        (torch.tensor([[0.5, 0.0], [0.0, 0.5]]), "normal"),
        (torch.tensor([[0.5, 1.5], [0.0, 0.5]]), "largest number off the diagonal"),
    ],
    checks.check_clip: [
        (lambda gs, c: [g * min(1.0, c / g.norm().item()) for g in gs], "clipped alone"),
        (lambda gs, c: [g.clamp(-c, c) for g in gs], "single values"),
        (lambda gs, c: [g * c / sum(h.norm() for h in gs) for g in gs], "were added"),
        (lambda gs, c: [g * c / sum(h.square().sum() for h in gs) for g in gs], "root is missing"),
        (lambda gs, c: gs, "nothing was clipped"),
        (lambda gs, c: [g * c / sum(h.square().sum() for h in gs).sqrt() for g in gs], "scaled up"),
        (lambda gs, c: None, "returns nothing"),
        (lambda gs, c: ..., "must return a list"),
    ],
}

test_slips, test_stubs = chapter(SLIPS)
