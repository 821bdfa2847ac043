"""Checks of the exercises on looking up and on mixed layers; each message names the likely slip.

Every check returns without a word of blame if its argument is None: the exercise is not answered yet.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from rtx_book.checks.answers import as_tensor, compare, draw, exercise, numeric, of_chapter

solution, ask = of_chapter(__name__)
check_place, check_kept = numeric(__name__)


@exercise("Right. This layer looks up, once key and value meet at one step.")
def check_delta_rule(answer: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> None:
    """``answer(q, k, v, beta)`` must be what each step of the delta rule reads after it has written, (T, V).

    q and k (T, K), v (T, V), beta (T).
    """
    q, k, v, beta = draw(3, (6, 4), (6, 4), (6, 3), (6,))

    def read(written: Tensor, erased: Tensor, early: bool = False, asked: Tensor = q) -> Tensor:
        S, out = torch.zeros(4, 3).to(v), []
        for q_t, k_t, v_t, write, erase in zip(asked, k, v, written, erased, strict=True):
            before = S
            S = S + torch.outer(k_t, write * v_t - erase * (S.T @ k_t))
            out.append((before if early else S).T @ q_t)
        return torch.stack(out)

    one = torch.ones_like(beta)
    slips = {
        "nothing is erased: write the difference to what S says about the key": read(beta, 0 * beta),
        "read after writing, not before": read(beta, beta, early=True),
        "what is read is what the query asks for, not the key": read(beta, beta, asked=k),
        "beta is missing": read(one, one),
        "beta belongs to the whole difference, to what is erased as well": read(beta, one),
    }
    compare(as_tensor(answer(q.clone(), k.clone(), v.clone(), beta.clone())), read(beta, beta), slips)
