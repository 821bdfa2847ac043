"""What the checks share: an answer that is not there yet, and one that is compared with what usual slips give."""

import _thread
import contextlib
import copy
import functools
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from rtx_book.checks.solutions import of_chapter as of_chapter
from rtx_book.paths import texts

Case = tuple[Any, ...]

LIMIT = 10.0
"""Seconds that an answer may take where it is graded."""


def grading() -> int:
    """The number in ``RTX_GRADING``: 0 or nothing where a reader works, 1 to grade, more to grade on other numbers."""
    text = os.environ.get("RTX_GRADING") or "0"
    if not text.isdecimal():
        raise ValueError(f"RTX_GRADING must be a whole number, 0 where nothing is graded; got {text!r}")
    return int(text)


def variant(seed: int) -> int:
    """The seed from which a check draws its numbers: another for each ``RTX_GRADING`` above 1."""
    return seed + 1000 * max(grading() - 1, 0)


def unanswered(said: str) -> None:
    """Say that an answer is missing; where it is graded that is a failure."""
    assert not grading(), said
    print(said)


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """Raise AssertionError where an answer is graded and takes longer than ``LIMIT``."""
    timer, begun = threading.Timer(LIMIT, _thread.interrupt_main), time.monotonic()
    if limits := bool(grading()):
        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background ignores it
        timer.start()
    try:
        yield
    except KeyboardInterrupt:
        assert time.monotonic() < begun + LIMIT, f"no answer after {LIMIT:g} seconds: does a loop never end?"
        raise
    finally:
        timer.cancel()
        if limits:
            signal.signal(signal.SIGINT, before)


def exercise(right: str = "") -> Callable[[Callable[..., str | None]], Callable[..., None]]:
    """A check that says ``right`` where it finds nothing wrong, and where its argument is None that no answer is there.

    Nothing else is done for None. Where ``RTX_GRADING`` is set, None fails, and so does an answer that never comes.
    A check may return another sentence for ``right``, and take the numbers of another edition by name.
    """

    def decorate(check: Callable[..., str | None]) -> Callable[..., None]:
        @functools.wraps(check)
        def answered(answer: Any, **numbers: Any) -> None:
            if answer is None:
                return unanswered("Not answered yet.")
            with limited():
                said = check(answer, **numbers) or right
            if said:
                print(said)

        return answered

    return decorate


def draw(seed: int, *shapes: tuple[int, ...]) -> list[Tensor]:
    """Normal numbers of these shapes in float64, one after the other from one seed."""
    generator = torch.Generator().manual_seed(variant(seed))
    return [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]


def flat(tensors: Sequence[Tensor]) -> Tensor:
    """All their numbers in one row, in float64."""
    return torch.cat([torch.as_tensor(t, dtype=torch.float64).flatten() for t in tensors])


def as_tensor(given: object) -> Tensor:
    """What the reader's function returned, if it is a tensor."""
    assert isinstance(given, Tensor), f"the function must return a tensor, it returned {type(given).__name__}"
    return given


def shifted(x: Tensor, places: Tensor) -> Tensor:
    """Row i of x (..., T, S) moved by ``places[i]`` to the left, places (T, 1); what leaves comes in on the right."""
    return x.gather(-1, (torch.arange(x.shape[-1]) + places).remainder(x.shape[-1]).expand(x.shape))


def refuse(slips: Mapping[str, Any], given: Callable[[Any], bool]) -> None:
    """Raise AssertionError with the message of the first slip of which ``given`` says that this was the answer."""
    for message, wrong in slips.items():
        assert not given(wrong), message


def compare(
    given: object,
    right: Tensor,
    slips: dict[str, Tensor],
    tolerance: float = 1e-10,
    seen: Tensor | None = None,
    case: str = "",
) -> None:
    """Return if the right result was given, to within ``tolerance`` in every entry.

    Parameters
    ----------
    given
        What the reader's function returned.
    right
        What it must return.
    slips
        What it returns after a usual slip, by the message that names the slip.
    seen
        The entries that count, all if None.
    case
        What every message begins with, one of several results that are compared.

    Raises
    ------
    AssertionError
        With the message of the slip whose result was given, or with the first wrong entry.
    """
    found = as_tensor(given)
    counts = torch.tensor(True) if seen is None else seen
    if found.shape == right.shape:
        assert found[counts.expand(right.shape)].isfinite().all(), f"{case}the result holds numbers that are not finite"

    def off(other: Tensor) -> Tensor:
        return (found.double() - other.double()).abs().gt(tolerance) & counts

    if found.shape == right.shape and not off(right).any():
        return
    made = {case + message: slip for message, slip in slips.items() if slip.shape == found.shape}
    refuse(made, lambda wrong: not off(wrong).any())
    assert found.shape == right.shape, f"{case}the shape must be {tuple(right.shape)}, it is {tuple(found.shape)}"
    at = tuple(off(right).nonzero()[0].tolist())
    what = f"the entry {list(at)}" if at else "the result"
    value, true = (f"{given[at].item():.6g}" for given in (found, right))
    raise AssertionError(f"{case}{what} must be {true}, it is {value}, by none of the usual slips")


def compare_together(cases: Mapping[str, Mapping[str, Tensor]]) -> None:
    """As :func:`compare`, where a slip is named only if it is made in all cases.

    A case, by what it is called, has what is "given" and what is "right", and by its message what each slip gives.
    """
    every = {name: flat([own[name] for own in cases.values()]) for name in next(iter(cases.values()))}
    given, right = every.pop("given"), every.pop("right")
    if not torch.equal(given, right):
        refuse(every, given.equal)
    for case, own in cases.items():
        compare(own["given"], own["right"], {}, case=case)


def compare_number(
    answer: float, right: float, slips: Mapping[str, float], otherwise: str, within: float = 1e-3, near: float = 1e-3
) -> None:
    """Return if the right number was given, to within ``within`` of its size.

    Raises
    ------
    AssertionError
        With the message of the slip that gives the answer, to within ``near`` of its size, or else with ``otherwise``.
    """
    value = float(answer)
    refuse(slips, lambda wrong: not abs(value - wrong) > near * max(abs(wrong), 0.01))
    assert abs(value - right) < within * abs(right), otherwise


@functools.cache
def numbers() -> dict[str, Any]:
    """Exercises whose answer is one number, by chapter and check, from ``numbers.yml``."""
    return texts("checks/numbers.yml")


def worked(one: Mapping[str, Any], **given: Any) -> tuple[float, dict[str, float], Callable[..., str]]:
    """The right number of such an exercise, what its slips give by their sentences, and what fills a sentence's braces.

    The numbers that the exercise gives are the book's where ``given`` has no others.
    """
    names = {"math": math} | {name: choices[0] for name, choices in one.get("vary", {}).items()} | given
    right = eval(str(one["right"]), names)

    def said(text: str, x: float = right) -> str:
        return str(eval(f"f{text!r}", names | {"x": x}))

    return right, {said(text): eval(str(wrong), names) for text, wrong in one["slips"].items()}, said


def numeric(module: str) -> tuple[Callable[..., None], ...]:
    """The checks whose answer is one number, of the chapter whose checks are in ``module``."""
    return tuple(_number(module, name, one) for name, one in numbers()[module.rpartition(".")[2]].items())


def _number(module: str, name: str, one: Mapping[str, Any]) -> Callable[..., None]:
    exact = {key: one.get(key, 1e-3) for key in ("within", "near")}

    def check(answer: float, **given: Any) -> str:
        right, slips, said = worked(one, **given)
        compare_number(answer, right, slips, said(one["otherwise"], float(answer)), **exact)
        return f"Right: {said(one['says'])}"

    check.__name__, check.__module__, check.__doc__ = name, module, f"``answer`` must be {worked(one)[2](one['asks'])}."
    return exercise()(check)


def compare_cases(
    answer: Callable[..., Any],
    right: Callable[..., Any],
    slips: Mapping[str, Callable[..., Any]],
    cases: Sequence[Case],
) -> None:
    """Return if a function gives what is right in all cases.

    Raises
    ------
    AssertionError
        With the message of a slip that gives what was given in every case, or else with the first wrong case.
    """
    given, wanted = ([function(*copy.deepcopy(case)) for case in cases] for function in (answer, right))
    if given == wanted:
        return
    refuse(slips, lambda slip: given == [slip(*case) for case in cases])
    case, value, true = next(row for row in zip(cases, given, wanted, strict=True) if row[1] != row[2])
    told = ", ".join(map(str, case))
    raise AssertionError(f"{value!r} for {told} is not right, by none of the usual slips: it is {true!r}")


def judged(name: str) -> dict[Any, tuple[bool, str]]:
    """Statements, each with its truth and the reason, from ``judged.yml``."""
    return {one["says"]: (one["holds"], one["because"]) for one in texts("checks/judged.yml")[name]}


def judge(
    answers: Mapping[str, bool | None], statements: Mapping[str, tuple[bool, str]], what: str, right: str
) -> None:
    """Say what is right once all statements, each with its truth and the reason, were answered by True or False.

    None stands for one that is not answered yet.

    Raises
    ------
    AssertionError
        With the first wrong answer and the reason, or for what is no statement or no answer.
    """
    unknown = [statement for statement in answers if statement not in statements]
    assert not unknown, f"{unknown[0]!r} is none of the {what}"
    for statement, (truth, reason) in statements.items():
        said = answers.get(statement)
        assert said is None or isinstance(said, bool), f"{statement!r} must be answered by True or False, got {said!r}"
        assert said in (None, truth), f"{statement!r} is {truth}: {reason}"
    missing = sum(answers.get(statement) is None for statement in statements)
    rest = "Not answered yet." if missing == len(statements) else f"Right so far; {missing} not answered yet."
    unanswered(rest) if missing else print(right)
