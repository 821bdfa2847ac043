"""Checks of the exercises on what waits for what; each message names the likely slip.

Every check returns without a word of blame if its argument is None: the exercise is not answered yet.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from rtx_book.checks.answers import compare, compare_number, draw, exercise, of_chapter, slips_of

solution, ask = of_chapter(__name__)

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


@exercise("Right: along the text in one layer, and up through the others at one place.")
def check_stack(answer: float) -> None:
    """``answer`` must be the longest chain in three recurrent layers on 512 symbols: 514."""
    compare_number(
        answer, 514, slips_of("check_stack"), "{:g} is not right: draw two layers and four symbols", 1e-5, 1e-5
    )


@exercise("Right: in a round with the step s, all but the first s places are joined with another.")
def check_joins(answer: float) -> None:
    """``answer`` must be how often the scan of the chapter joins for eight symbols: 7 + 6 + 4 = 17."""
    compare_number(answer, 17, slips_of("check_joins"), "{:g} is not right: count round by round", 1e-5, 1e-5)
