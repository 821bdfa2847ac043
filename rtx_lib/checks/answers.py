"""What the checks share: an answer that is not there yet, and one that is compared with what usual slips give."""

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from torch import Tensor


def exercise(check: Callable[..., None]) -> Callable[..., None]:
    """A check that says so, and nothing else, where its first argument is None: the exercise is not answered yet."""

    @functools.wraps(check)
    def answered(answer: Any, *others: Any, **named: Any) -> None:
        if answer is None:
            print("Not answered yet.")
        else:
            check(answer, *others, **named)

    return answered


def compare(given: object, right: Tensor, slips: dict[str, Tensor], tolerance: float = 1e-10) -> None:
    """Return if the right result was given, to within ``tolerance`` in every entry.

    Parameters
    ----------
    given
        What the reader's function returned.
    right
        What it must return.
    slips
        What it returns after a usual slip, by the message that names the slip.

    Raises
    ------
    AssertionError
        With the message of the slip whose result was given, or a plain one.
    """
    assert isinstance(given, Tensor), f"the function must return a tensor, it returned {type(given).__name__}"
    assert given.shape == right.shape, f"the shape must be {tuple(right.shape)}, it is {tuple(given.shape)}"
    assert given.isfinite().all(), "the result holds numbers that are not finite"
    if (given - right).abs().max() < tolerance:
        return
    for message, wrong in slips.items():
        assert (given - wrong).abs().max() > tolerance, message
    raise AssertionError(f"off by {(given - right).abs().max().item():.3g}, by none of the usual slips")


def compare_number(answer: float, slips: Mapping[str, float], tolerance: float = 1e-3) -> float:
    """The answer as a number; an AssertionError with the message of the slip that gives it, relative to its size."""
    value = float(answer)
    for message, wrong in slips.items():
        assert abs(value - wrong) > tolerance * max(abs(wrong), 0.01), message
    return value


Case = tuple[int, ...]


def compare_cases(
    answer: Callable[..., int],
    right: Callable[..., int],
    slips: Mapping[str, Callable[..., int]],
    cases: Iterable[Case],
) -> tuple[Case, int] | None:
    """None where a whole number is right in all cases, else the first case where it is not, and what was given there.

    Raises
    ------
    AssertionError
        With the message of a slip that gives what was given in every case.
    """
    cases = list(cases)
    given = [answer(*case) for case in cases]
    for message, slip in slips.items():
        wrong = [slip(*case) for case in cases]
        assert given != wrong or given == [right(*case) for case in cases], message
    return next(((case, value) for case, value in zip(cases, given, strict=True) if value != right(*case)), None)


def judge(answers: Mapping[str, bool | None], reasons: Mapping[str, str], truth: Mapping[str, bool], what: str) -> bool:
    """Whether all statements were answered, each by True or False; None stands for one that is not answered yet.

    Raises
    ------
    AssertionError
        With the first wrong answer and the reason, or for what is no statement or no answer.
    """
    unknown = [statement for statement in answers if statement not in reasons]
    assert not unknown, f"{unknown[0]!r} is none of the {what}"
    for statement, reason in reasons.items():
        said = answers.get(statement)
        assert said is None or isinstance(said, bool), f"{statement!r} must be answered by True or False, got {said!r}"
        assert said is None or said == truth[statement], f"{statement!r} is {truth[statement]}: {reason}"
    missing = sum(answers.get(statement) is None for statement in reasons)
    if missing:
        print("Not answered yet." if missing == len(reasons) else f"Right so far; {missing} not answered yet.")
    return not missing
