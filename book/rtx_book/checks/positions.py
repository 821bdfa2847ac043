"""Checks of the exercises on positions; each message names the likely slip.

Every check returns without a word of blame if its argument is None: the exercise is not answered yet.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from rtx_book.checks.answers import compare, exercise, of_chapter, shifted
from rtx_lib.layers.positions import ALiBi, Sinusoidal

solution, ask = of_chapter(__name__)

_BASE = 10000.0


@exercise("Right: one rotation for each pair, by k w_i, whatever p is.")
def check_shift_matrix(answer: Callable[[int, int], Tensor]) -> None:
    """``answer(k, width)`` must be the matrix (D, D) that takes the sinusoidal encoding of any p to that of p + k.

    The entries of an encoding come in the paper's order: sin w_0 p, cos w_0 p, sin w_1 p, ...
    """
    k, width = 3, 6
    steps = torch.arange(0, width, 2, dtype=torch.float64)
    angles = k * _BASE ** (-steps / width)
    cos, sin = angles.cos(), angles.sin()
    right = _rotations(angles)
    halves = Sinusoidal(width, layout="halves").shift_matrix(k, dtype=torch.float64)
    slow, fast = k * _BASE ** (-steps / 2 / width), torch.full_like(steps, k)
    slips = {
        "this is the way back, from p + k to p: the minus sign belongs to the row of the cosine": right.T,
        "both sines have the same sign: cos(a + b) = cos a cos b - sin a sin b": _blocks(cos, sin, sin),
        "the order is that of all sines before all cosines; here they take turns: sin w_0, cos w_0, ...": halves,
        "the frequencies fall half as fast as they should: pair i has the exponent -2i/D": _rotations(slow),
        "all pairs turn by the same angle: pair i turns by k w_i": _rotations(fast),
        "cosine and sine have changed places: for k = 0 the matrix must be the identity": _blocks(sin, cos, -cos),
    }
    compare(answer(k, width), right, slips, 1e-5)
    further = Sinusoidal(width).shift_matrix(k + 1, dtype=torch.float64)
    compare(answer(k + 1, width), further, {"k is not used": right}, 1e-5)


@exercise("Right: every pair of neighbours turns by p times its own frequency.")
def check_rotary(answer: Callable[[Tensor, int], Tensor]) -> None:
    """``answer(x, p)`` must be x (K,), a query or a key at position p, turned as rotary embedding turns it."""
    width, p = 6, 3
    x = torch.tensor([0.5, -1.0, 2.0, 0.25, -0.75, 1.5], dtype=torch.float64)
    w = _BASE ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    slow = _BASE ** (-torch.arange(width // 2, dtype=torch.float64) / width)
    first, second = x.chunk(2)
    cos, sin = (p * w).cos(), (p * w).sin()
    across = torch.cat([first * cos - second * sin, first * sin + second * cos])
    added = x + Sinusoidal(width).encode(torch.tensor([p]), torch.float64)[0]
    lost = _blocks(cos, sin, sin) @ x
    slips = {
        "this turns backwards: (a, b) becomes (a cos - b sin, a sin + b cos)": _rotations(p * w) @ x,
        "the pairs are made of the two halves, (i, i + K/2); in the paper they are neighbours, (2i, 2i + 1)": across,
        "the angles fall half as fast as they should: pair i turns by p base^(-2i/K)": _rotations(-p * slow) @ x,
        "all pairs turn by the same angle: pair i turns by p base^(-2i/K)": _rotations(torch.full_like(w, -p)) @ x,
        "position p turned by p + 1: positions count from 0, where nothing turns": _rotations(-(p + 1) * w) @ x,
        "the minus sign is missing, so that lengths change: (a, b) becomes (a cos - b sin, a sin + b cos)": lost,
        "an encoding was added: rotary embedding multiplies": added,
        "nothing turned": x,
    }
    compare(answer(x.clone(), p), _rotations(-p * w) @ x, slips, 1e-6)


@exercise("Right: 2^(-8/H), and each slope is that times the one before.")
def check_slopes(answer: Callable[[int], Tensor]) -> None:
    """``answer(heads)`` must be ALiBi's slopes (H,) for a number of heads that is a power of two."""
    for heads in (8, 4):
        h = torch.arange(1, heads + 1, dtype=torch.float64)
        right, share = ALiBi(heads).slopes(), (h - 1) / heads
        equal = "the slopes fall in equal steps: they form a geometric sequence, each a fixed share of the one before"
        slips = {
            "the first slope is 1: heads count from 1 here, so that the first one is 2^(-8/H)": 2.0 ** (-8 * share),
            "this is right for 8 heads alone: the exponent is -8h/H, so that the last slope is always 2^-8": 2.0**-h,
            "slopes are positive: the minus sign belongs to the bias, -m_h (i - j)": -right,
            "the order is reversed: head 1 has the steepest slope": right.flip(0),
            equal: 1 - share,
            "the base is 2, not e": torch.exp(-8 * h / heads),
        }
        compare(answer(heads), right, slips, 1e-6)


@exercise("Right: row i starts at distance i, and no row was copied by itself.")
def check_relative_shift(answer: Callable[[Tensor], Tensor]) -> None:
    """``answer(x)`` must move row i of x (T, N) by T - 1 - i to the left; what wraps around is not looked at."""
    for rows, columns in ((4, 4), (3, 5)):
        x = torch.arange(1.0, rows * columns + 1, dtype=torch.float64).view(rows, columns)
        seen = torch.ones(rows, columns, dtype=torch.bool).tril(columns - rows)
        padded = torch.cat([x, torch.zeros(rows, 1)], dim=1).flatten()
        longer = torch.cat([torch.zeros(rows, 1), x], dim=1).flatten()
        places = rows - 1 - torch.arange(rows)[:, None]
        short = "each row is one place short: the last row stays, the one above it must move by 1"
        slips = {
            "nothing moved: entry (i, j) must be x[i, j + T - 1 - i]": x,
            "the rows move to the right; the first one must move by T - 1 to the left": shifted(x, -places),
            short: shifted(x, (places - 1).clamp(min=0)),
            "all rows moved alike: row i moves by T - 1 - i": x.roll(1 - rows, dims=1),
            "the column of zeros comes last: it must come first": padded[rows:].view(rows, columns),
            "the first row of the longer view was kept: drop it, not the last one": longer[: rows * columns].view_as(x),
        }
        compare(answer(x.clone()), shifted(x, places), slips, seen=seen)


@exercise()
def check_slip(answer: str) -> None:
    """``answer`` must be the letter of the property that a table with one frequency for each component has lost.

    That table holds sin(p base^(-j/D)) at even j and cos(p base^(-j/D)) at odd j.
    """
    holds = {
        "a": "they do stay between -1 and 1: every entry is still a sine or a cosine",
        "b": "they still differ: the fastest component alone never repeats at a whole number of positions",
        "d": "it can still be computed for any p: the rule has no end",
    }
    letter = str(answer).strip().lower()
    assert letter in {*holds, "c"}, f"the answer must be one of a, b, c, d, it is {answer!r}"
    assert letter == "c", holds.get(letter)
    missed, exact = _misfit(shared=False), _misfit(shared=True)
    print(f"Right: the best matrix from PE(p) to PE(p + 1) misses by {missed:.2g}; if pairs share, by {exact:.0e}.")


def _misfit(*, shared: bool) -> float:
    """Largest error of the best linear map from the encodings of 200 positions to those of the next ones."""
    j = torch.arange(16, dtype=torch.float64)
    angles = torch.arange(201.0, dtype=torch.float64)[:, None] * _BASE ** -((j - j % 2 if shared else j) / 16)
    table = torch.where(j % 2 == 0, angles.sin(), angles.cos())
    # Slow components are nearly dependent: directions below rounding are left out.
    solution = torch.linalg.lstsq(table[:-1], table[1:], driver="gelsd", rcond=1e-12).solution
    return float((table[:-1] @ solution - table[1:]).abs().max())


def _blocks(diagonal: Tensor, upper: Tensor, lower: Tensor) -> Tensor:
    """The matrix with the blocks [[diagonal, upper], [lower, diagonal]] on its diagonal."""
    pairs = zip(diagonal.tolist(), upper.tolist(), lower.tolist(), strict=True)
    return torch.block_diag(*(torch.tensor([[d, up], [low, d]], dtype=torch.float64) for d, up, low in pairs))


def _rotations(angles: Tensor) -> Tensor:
    return _blocks(angles.cos(), angles.sin(), -angles.sin())
