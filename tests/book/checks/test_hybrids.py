"""The checks accept the right answer, and name each planted slip."""

import torch
from support.answers import chapter

from rtx_book.checks import hybrids as checks


def delta_rule(q, k, v, beta, write=lambda v, said, beta: beta * (v - said), first="write"):
    S, out = torch.zeros(k.shape[1], v.shape[1]).to(v), []
    for q_t, k_t, v_t, beta_t in zip(q, k, v, beta, strict=True):
        before, said = S, S.T @ k_t
        S = S + torch.outer(k_t, write(v_t, said, beta_t))
        out.append((S if first == "write" else before).T @ q_t)
    return torch.stack(out)


SLIPS = {
    checks.check_delta_rule: [
        (lambda *given: delta_rule(*given, write=lambda v, said, beta: beta * v), "nothing is erased"),
        (lambda *given: delta_rule(*given, first="read"), "not before"),
        (lambda *given: delta_rule(*given, write=lambda v, said, beta: v - said), "beta is missing"),
        (lambda *given: delta_rule(*given, write=lambda v, said, beta: beta * v - said), "as well"),
        (lambda q, k, v, beta: delta_rule(k, k, v, beta), "not the key"),
        (lambda *given: delta_rule(*given)[-1], "the shape must be"),
    ]
}

test_slips, test_stubs = chapter(SLIPS)
