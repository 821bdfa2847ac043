"""Checks of the exercises on recurrences that came back; each message names the likely slip.

Every check returns without a word of blame if its argument is None: the exercise is not answered yet.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from rtx_book.checks.answers import exercise, numeric, of_chapter, refuse, variant

solution, ask = of_chapter(__name__)
(check_symbols,) = numeric(__name__)

Step = Callable[[Tensor, Tensor], Tensor]

STEPS, PERIOD = 800, 2
"""How many inputs 1 0 1 0 ... the random networks read, and after how many these repeat themselves."""


def _monotone(generator: torch.Generator, D: int) -> Step:
    """A gated mean, as in QRNN, minGRU and Mamba with A = -1: the old state is kept by a share that the input sets."""
    gate, value = (torch.randn(D, D, generator=generator) for _ in range(2))
    gate = gate / D**0.5  # gates near 1 would settle too, but take thousands of steps

    def step(h: Tensor, x: Tensor) -> Tensor:
        f = torch.sigmoid(gate @ x)
        return f * h + (1 - f) * (value @ x)

    return step


def _indrnn(generator: torch.Generator, D: int) -> Step:
    u, value = 1.9 * torch.rand(D, generator=generator) - 0.95, torch.randn(D, D, generator=generator)
    return lambda h, x: torch.relu(value @ x + u * h)


def _mixing(generator: torch.Generator, D: int) -> Step:
    """An Elman network whose recurrent matrix is large enough for it to go on moving."""
    recurrent, value = 3 * torch.randn(D, D, generator=generator), torch.randn(D, D, generator=generator)
    return lambda h, x: torch.tanh(recurrent @ h + value @ x)


KINDS = {"IndRNN": _indrnn, "gated mean": _monotone, "tanh RNN": _mixing}


def outputs(kind: str, seed: int, *, D: int = 8, layers: int = 3, steps: int = STEPS) -> Tensor:
    """The outputs (T, D) of a random network that reads 1 0 1 0 ..., in float32, step by step.

    Between its layers stands what looks at one step alone: a random linear map and a norm.

    Parameters
    ----------
    kind
        One of ``KINDS``: its units step each on its own, but for those of the tanh RNN.
    seed
        Of its weights.
    D, layers, steps
        Width, number of layers, and T.
    """
    generator = torch.Generator().manual_seed(seed)
    bits = torch.randn(2, D, generator=generator)  # what a 0 and a 1 are read as
    stack = [KINDS[kind](generator, D) for _ in range(layers)]
    between = [torch.randn(D, D, generator=generator) for _ in range(layers)]
    states, made = layers * [torch.zeros(D)], []
    for t in range(1, steps + 1):
        x = bits[t % 2]
        for i, (step, matrix) in enumerate(zip(stack, between, strict=True)):
            states[i] = step(states[i], x)
            x = F.layer_norm(matrix @ states[i], (D,))
        made.append(x)
    return torch.stack(made)


@exercise("Right. To the last bit, every network whose units step on their own repeats itself, and parity does not.")
def check_last_change(answer: Callable[[Tensor, int], int]) -> None:
    """``answer(y, period)`` must be the last step, from 1, at which y (T, D) differs from a period before; 0 if none.

    It is tried on sequences made by hand and then on random networks (:func:`outputs`); what it says of them is
    printed.
    """
    y = torch.zeros(12, 2)
    y[::2, 0] = 1.0  # period 2 ...
    y[2, 0] = 7.0  # ... but for step 3, which differs from step 1, and step 5, which differs from step 3
    settled = torch.arange(24).view(12, 2) % 4 * 1.0
    tiny, second = y.clone(), y.clone()
    tiny[8, 0] = 1 + 2**-23
    second[9, 1] = 3.0
    cases = ((y, 5), (settled, 0), (tiny, 11), (second, 12))
    slips = {
        "compare each step with the one a period earlier, not with its neighbour": (12, 12, 12, 12),
        "count the steps from 1": (4, -1, 10, 11),
        "count from the first step, not from the first that has one a period before it": (3, -2, 9, 10),
        "this is the first step that differs; look for the last": (3, 0, 3, 3),
        "bits count: a difference in the last bit is a difference": (5, 0, 5, 12),
        "all numbers of a step count, not the first alone": (5, 0, 11, 5),
        "this is the number of steps that differ": (2, 0, 4, 4),
    }
    given = tuple(_whole(answer(case.clone(), PERIOD)) for case, _ in cases)
    refuse(slips, lambda wrong: given == wrong)
    for value, (_, right) in zip(given, cases, strict=True):
        assert value == right, f"{value} where step {right} is the last that differs"
    for kind in KINDS:
        found = [_whole(answer(outputs(kind, seed), PERIOD)) for seed in range(4)]
        print(f"{kind:10}  last change at step", ", ".join(map(str, found)))


def _whole(value: object) -> int:
    number = int(value) if isinstance(value, int | float | Tensor) and float(value).is_integer() else None
    assert number is not None, f"the function must return a whole number, it returned {value!r}"
    return number


@exercise("Right: a 1 turns the sign over, a 0 leaves it, and nothing fades.")
def check_flip(answer: Callable[[Tensor], tuple[Tensor, Tensor]]) -> None:
    """``answer(x)`` must give a and b of a step h -> a h + b for bits x, so that from h = 1 the sign of h is parity.

    h must be negative where the number of ones so far is odd, and as large at the end as at the beginning.
    """
    x = torch.randint(2, (5000,), generator=torch.Generator().manual_seed(variant(1)))
    pair = answer(x.double())
    assert isinstance(pair, tuple) and len(pair) == 2, "the function must return a pair: the factor and what is added"
    a, b = (torch.as_tensor(part, dtype=torch.float64).expand(x.shape) for part in pair)
    h, states = 1.0, []
    for a_t, b_t in zip(a.tolist(), b.tolist(), strict=True):
        h = a_t * h + b_t
        states.append(h)
    found, odd = torch.tensor(states), x.cumsum(0) % 2 == 1
    if torch.equal(found < 0, odd):
        far = f"right, but after {len(x):,} steps h is {states[-1]:.3g}: a must be 1 or -1"
        assert 1e-3 < abs(states[-1]) < 1e3, far
        return
    zeros = (torch.arange(1, len(x) + 1) - x.cumsum(0)) % 2 == 1
    assert not torch.equal(found < 0, zeros), "this turns the sign over at a 0: a is 1 there, and -1 at a 1"
    assert len(a.unique()) > 1, "with one factor for both inputs the step does not know what it reads"
    assert not (a == 0).any(), "a factor of 0 erases what came before; parity needs all of it"
    assert (a < 0).any(), "a must be negative where a 1 is read: no positive factor turns a sign over"
    raise AssertionError("the sign of h is not the parity, and by none of the usual slips")
