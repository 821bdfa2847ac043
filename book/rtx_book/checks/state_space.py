"""Checks of the exercises on state space models; each message names the likely slip.

Every check returns without a word of blame if its argument is None: the exercise is not answered yet.
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from rtx_book.checks.answers import as_tensor, compare, draw, exercise, numeric, of_chapter
from rtx_lib.kernels.selective import selective_scan_loop

solution, ask = of_chapter(__name__)
(check_half,) = numeric(__name__)

Scan = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]


@exercise("Right: the real part says how fast it fades, the imaginary part how fast it turns.")
def check_swing(answer: Callable[[float, float], complex]) -> None:
    """``answer(period, half)`` must be the rate A of a state that, with Delta = 1, turns round and fades.

    It comes round in ``period`` steps, and loses half of its size in ``half`` steps.
    """
    cases = ((8.0, 16.0), (20.0, 5.0))
    given = torch.tensor([complex(answer(*case)) for case in cases], dtype=torch.complex128)
    period, half = torch.tensor(cases, dtype=torch.float64).T
    fades, turns = -math.log(2) / half, 2 * math.pi / period
    right = torch.complex(fades, turns)
    slips = {
        "the real part must be below 0, or it grows": torch.complex(-fades, turns),
        "a whole turn is 2 pi, not 1": torch.complex(fades, 1 / period),
        "a whole turn is 2 pi, not pi": torch.complex(fades, turns / 2),
        "1/e would be left of it; half is left after ln 2 of a time constant": torch.complex(-1 / half, turns),
        "these are the factor of a step, exp(A); asked for is A": right.exp(),
        "the two times are exchanged": torch.complex(-math.log(2) / period, 2 * math.pi / half),
    }
    if (given - right.conj()).abs().max() > 1e-6:  # it may turn the other way round
        parts = {message: torch.view_as_real(slip) for message, slip in slips.items()}
        compare(torch.view_as_real(given), torch.view_as_real(right), parts, 1e-6)


@exercise("Right: the paper's rule gives the gate of a minGRU, and the code's adds more than it takes away.")
def check_discretised(answer: Callable[[Tensor], tuple[Tensor, Tensor, Tensor]]) -> None:
    """``answer(v)`` must give what a step with A = -1, B = 1 and Delta = softplus(v) keeps and adds.

    A triple: what is kept of h; what is added of x by the zero-order hold, (exp(Delta A) - 1) / A; and what by Euler's
    rule, Delta.
    """
    (v,) = draw(4, (6,))
    given = answer(v.clone())
    assert isinstance(given, tuple) and len(given) == 3, "the function must return three tensors: kept, added, added"
    kept, held, euler = (as_tensor(part) for part in given)
    delta = F.softplus(v)
    slips = {
        "Delta is softplus(v), not v": torch.exp(-v),
        "A is -1: what is kept is exp(Delta A), below 1": torch.exp(delta),
        "this is what is added; first comes what is kept": 1 - torch.exp(-delta),
    }
    compare(kept, torch.exp(-delta), slips)
    slips = {
        "this is Euler's rule, which comes third": delta,
        "exp(Delta A) - 1 is divided by A, which is -1": torch.exp(-delta) - 1,
        "this is what is kept": torch.exp(-delta),
    }
    compare(held, 1 - torch.exp(-delta), slips)
    once_more = "this is the zero-order hold once more; Euler's rule multiplies by Delta itself"
    compare(euler, delta, {once_more: 1 - torch.exp(-delta), "Delta is softplus(v), not v": v})


@exercise("Right. This is Mamba's recurrence, and now it is yours.")
def check_scan(answer: Scan) -> None:
    """``answer(u, delta, A, B, C)`` must be the outputs (b, T, E) of the selective scan, from a state of zeros.

    u and delta (b, T, E), A (E, N) below 0, B and C (b, T, N).
    """
    u, B, C = draw(5, (2, 7, 3), (2, 7, 4), (2, 7, 4))
    delta, A = draw(6, (2, 7, 3))[0].abs(), -draw(7, (3, 4))[0].abs()

    def scan(
        u: Tensor = u, delta: Tensor = delta, A: Tensor = A, B: Tensor = B, C: Tensor = C, early: bool = False
    ) -> Tensor:
        y, _ = selective_scan_loop(u, delta, A, B, C, u.new_zeros(2, 3, 4))
        # Early, it lacks what a step writes and reads at once.
        return y - delta * u * (B * C).sum(-1, keepdim=True) if early else y

    found = as_tensor(answer(*(part.clone() for part in (u, delta, A, B, C))))
    slips = {
        "B and C are exchanged": scan(B=C, C=B),
        "y is read after the input was written": scan(early=True),
        "what is written is Delta B u, not B u": scan(u=u / delta),
        "what is kept is exp(Delta A), and A is below 0 already": scan(A=-A),
        "Delta belongs into what is kept, too: exp(Delta A)": scan(u=u * delta, delta=torch.ones_like(delta)),
        "C reads at its own step, not at the last one": scan(C=C[:, -1:].expand_as(C)),
    }
    compare(found, scan(), slips)
