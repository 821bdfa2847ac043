"""Checks of the exercises on what waits for what; each message names the likely slip.

Every check returns without a word of blame if its argument is None: the exercise is not answered yet.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from rtx_book.checks.answers import compare, draw, exercise, numeric, of_chapter

solution, ask = of_chapter(__name__)
check_stack, check_joins = numeric(__name__)

Map = tuple[Tensor, Tensor]


@exercise("Right: the factors multiply, and what the first step added is multiplied by the second step's factor.")
def check_compose(answer: Callable[[Map, Map], Map]) -> None:
    """``answer(second, first)`` must make one step of two, each a pair (a, b) that stands for h -> a h + b.

    The pair that it returns must do to any h what ``first`` and then ``second`` do.
    """
    a1, b1, a2, b2 = draw(3, *4 * [(5,)])
    given = answer((a2, b2), (a1, b1))
    assert isinstance(given, tuple) and len(given) == 2, "the function must return a pair: the factor and what is added"
    slips = {
        "this is first after second: the second step takes what the first one made": (a1 * a2, a1 * b2 + b1),
        "what the first step added goes through the second one too: it is multiplied by a2": (a2 * a1, b1 + b2),
        "the factors multiply: a2 (a1 h + b1) + b2": (a2 + a1, a2 * b1 + b2),
        "this is the second step alone": (a2, b2),
    }
    compare(torch.stack(given), torch.stack((a2 * a1, a2 * b1 + b2)), {m: torch.stack(w) for m, w in slips.items()})
