"""Checks of the exercises on language models; each message names the likely slip.

Every check returns without a word of blame if its argument is None: the exercise is not answered yet.
"""

import math

from rtx_book.checks.answers import exercise, refuse


NATS, PIECES, WORDS = 2.5, 1300, 1000
"""What a piece costs, and how many pieces a text falls into that has so many words."""


@exercise()
def check_word_perplexity(answer: float) -> None:
    """``answer`` must be e to the nats a word, to two per cent."""
    given, right = float(answer), math.exp(NATS * PIECES / WORDS)
    slips = {
        "this is the perplexity a piece; a word takes 1.3 of them": math.exp(NATS),
        "the pieces of a word add up in the exponent, since their probabilities multiply": PIECES
        / WORDS
        * math.exp(NATS),
        "this is the loss of a word in nats; its perplexity is the exponential": NATS * PIECES / WORDS,
        "nats go with e, not with 2": 2 ** (NATS * PIECES / WORDS),
        "a word takes more pieces than one, so it costs more than a piece": math.exp(NATS * WORDS / PIECES),
    }
    refuse(slips, lambda wrong: math.isclose(given, wrong, rel_tol=0.02))
    assert math.isclose(given, right, rel_tol=0.02), (
        f"{given:.4g} is not it: a word costs {PIECES / WORDS} times what a piece costs, in nats"
    )
    print(f"Right: {PIECES / WORDS} pieces of {NATS} nats are {NATS * PIECES / WORDS} nats, and e to that is {right:.1f}.")
