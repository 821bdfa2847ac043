"""The checks accept the right answer, and name each planted slip."""

import torch
from support.answers import chapter

from rtx_book.checks import hybrids as checks


def delta_rule(k, v, beta, write=lambda v, said, beta: beta * (v - said), first="write"):
    S, out = torch.zeros(k.shape[1], v.shape[1]).to(v), []
    for k_t, v_t, beta_t in zip(k, v, beta, strict=True):
        said = S.T @ k_t
        S = S + torch.outer(k_t, write(v_t, said, beta_t))
        out.append(S.T @ k_t if first == "write" else said)
    return torch.stack(out)


RIGHT = {
    checks.check_place: [(4, "Right: layer 1 noted")],
    checks.check_delta_rule: [(delta_rule, "whatever stood there before")],
    checks.check_kept: [(145_024, "Right: 128,000")],
}
SLIPS = {
    checks.check_place: [
        (3, "one further on"),
        (6, "one place back"),
        (7, "learns nothing"),
        (5, "the next key"),
        (2, "2 is not right"),
    ],
    checks.check_delta_rule: [
        (lambda *given: delta_rule(*given, write=lambda v, said, beta: beta * v), "nothing is erased"),
        (lambda *given: delta_rule(*given, first="read"), "not before"),
        (lambda *given: delta_rule(*given, write=lambda v, said, beta: v - said), "beta is missing"),
        (lambda *given: delta_rule(*given, write=lambda v, said, beta: beta * v - said), "as well"),
        (lambda *given: delta_rule(*given)[-1], "the shape must be"),
    ],
    checks.check_kept: [
        (81_024, "a key and a value"),
        (1_024_000, "one layer in eight"),
        (142_336, "last three inputs"),
        (130_432, "seven layers of Mamba"),
        (1_024_128, "not right"),
    ],
}

test_right_answers, test_slips, test_stubs = chapter(RIGHT, SLIPS)
