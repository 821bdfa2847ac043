"""An exercise that is answered on the page: a field and a button that need no kernel.

Every answer that a check has a word for is put to it when the cell runs, and the page keeps what it said.
"""

import contextlib
import html
import io
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from IPython.display import HTML

from rtx_book.page.figure import as_json, scripted

Part: TypeAlias = list[float] | str
"""What is typed into one field: the least and the greatest number that count as this answer, or a text."""

Rule: TypeAlias = tuple[str, str, float, str]
"""A measure of a 2 x 2 matrix (one of :func:`measures`), "<=" or ">", the bound, and what is said where it fails."""

SOLUTION = "application/vnd.rtx-solution+json"
"""Under it an output holds a solution for the page: its code and what the check said, or its fold, with roles."""

_NEVER = "That is not it, and it is none of the usual slips."


def ask(
    check: Callable[[Any], None],
    *,
    right: Any,
    slips: Sequence[Any] = (),
    kind: str = "number",
    label: str,
    options: Sequence[Any] | Mapping[Any, str] | None = None,
    parts: Sequence[str] = ("first", "second"),
    rules: Sequence[Rule] = (),
) -> HTML:
    """A field and a button "Check" that say what ``check`` says, in Jupyter, in Colab and on a page without a kernel.

    The answers stand in the page's source, as the solutions stand in their folds.

    Parameters
    ----------
    check
        Raises an AssertionError that names the slip; prints what to say about the right answer, or nothing.
    right
        The right answer, of the kind. Numbers near it count as far as the check lets them.
    slips
        Wrong answers that the check names, of the same kind; of a matrix, what the rules are tried on.
    kind
        ``"number"`` (typed as 0.25, 0,25, 1/4, 25 % or 2.5e-1), ``"pair"`` (of numbers or words), ``"set"`` (of the
        options), ``"choice"`` (one of the options), ``"matrix"`` (2 x 2, by rules).
    label
        What is asked for, in a few words.
    options
        What can be chosen, at most seven, since all answers are put to the check; slips are not needed then. A mapping
        gives each its text.
    parts
        Names of the two fields of a pair.
    rules
        For a matrix that many answers solve: what the check tests, in its order. They decide on the page.
    """
    texts = dict(options) if isinstance(options, Mapping) else {option: str(option) for option in options or ()}
    if kind == "set":
        right, slips = set(right), [set(slip) for slip in slips]
    judged, praise = _judge(check, right)
    if judged:
        raise ValueError(f"right must be an answer that the check accepts, about {right!r} it says: {judged}")
    general = _general(check, float(right)) if kind == "number" else _NEVER
    answers = _answers(kind, right, slips, list(texts))
    if texts and not any(_same(answer, right) for answer in answers):
        raise ValueError(f"right must be made of the options {list(texts)}, got {right!r}")
    said: list[tuple[Any, str]] = []
    for answer in answers:
        message = _judge(check, answer)[0]
        if not message and not (texts or _same(answer, right)):
            raise ValueError(f"slips must be wrong answers, the check accepts {answer!r}")
        if message and _shape(message) == _shape(general) and not texts:
            raise ValueError(f"slips must be answers that the check has a word for, of {answer!r} it says: {message}")
        said.append((answer, message))
    if rules:
        _agree(rules, said)
    told: dict[str, Any] = {"kind": kind, "otherwise": general, "rules": [list(rule) for rule in rules]}
    if not rules:  # they decide on the page
        told["entries"] = [_kept(check, kind, *one, list(texts)) for one in said]
    told["praise"] = praise
    data = html.escape(as_json(told))
    fields = _fields(kind, label, right, texts, parts)
    script = scripted("answer", ".book-ask", *(["answer_matrix"] if rules else []))
    # Hidden until the script is there; JupyterLab takes keys for itself unless they stop here.
    return HTML(
        f'<div class="book-ask" role="group" aria-label="{html.escape(label)}" data-ask="{data}" '
        f'onkeydown="event.stopPropagation()" hidden>{fields}<button type="button">Check</button>'
        f'<p role="status"></p>{script}</div>'
    )


def measures(matrix: Any) -> dict[str, float]:
    """What rules may ask of a 2 x 2 matrix W: ``radius``, ``norm``, ``bend`` (of W W^T - W^T W), ``peak``, ``step``.

    The peak is the largest norm among the first 99 powers, and the step its exponent.
    """
    w = np.asarray(matrix, dtype=float)
    norms = [float(np.linalg.norm(np.linalg.matrix_power(w, k), 2)) for k in range(1, 100)]
    radius, bend = float(np.abs(np.linalg.eigvals(w)).max()), float(np.linalg.norm(w @ w.T - w.T @ w))
    step = 1.0 + int(np.argmax(norms))
    return {"radius": radius, "norm": norms[0], "bend": bend, "peak": max(norms), "step": step}


# ------------------------------------------------------------------------------------- what the check says


def _judge(check: Callable[[Any], None], answer: Any) -> tuple[str, str]:
    """What the check says against the answer (nothing where it is right), and what it printed."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            check(answer)
    except AssertionError as error:
        return str(error) or _NEVER, ""
    return "", " ".join(printed.getvalue().split()) or "Right."


def _shape(message: str) -> str:
    """The message without its numbers."""
    return re.sub(r"[-+]?\d[\d.,]*(?:e[-+]?\d+)?|\{.*?\}", "#", message)


def _general(check: Callable[[Any], None], right: float) -> str:
    """What the check says about numbers that are nobody's slip, with braces where it names them."""
    found = []
    for value in (right * 7.3219 + 3.177, -right * 2.0381 - 1.713, right * 0.317 + 0.01391):
        message = _judge(check, value)[0]
        for form in ("{:.6g}", "{:.5g}", "{:.4g}", "{:.3g}", "{:g}", "{}"):
            message = message.replace(form.format(value), "{}")
        found.append(message)
    return found[0] if found[0] and len(set(found)) == 1 else "{} is not it, and it is none of the usual slips."


def _answers(kind: str, right: Any, slips: Sequence[Any], options: Sequence[Any]) -> list[Any]:
    """Every answer that is put to the check: the right one first, or all that the options allow."""
    if kind == "choice":
        return list(options)
    if kind == "set":
        return [set(chosen) for size in range(len(options) + 1) for chosen in itertools.combinations(options, size)]
    return [right, *slips]


def _same(one: Any, other: Any) -> bool:
    return one is other or (type(one) is type(other) and not hasattr(one, "shape") and bool(one == other))


def _agree(rules: Sequence[Rule], said: Sequence[tuple[Any, str]]) -> None:
    """Raise ValueError where the rules judge an answer otherwise than the check."""
    for answer, message in said:
        values = measures(answer)
        held = all(values[name] <= bound if sign == "<=" else values[name] > bound for name, sign, bound, _ in rules)
        if held != (not message):
            raise ValueError(f"rules must judge as the check does, which says of {answer!r}: {message or 'right'}")


# ------------------------------------------------------------------------------------- what the page keeps


def _kept(
    check: Callable[[Any], None], kind: str, answer: Any, message: str, options: Sequence[Any]
) -> tuple[list[Part], str]:
    """What counts as an answer, field by field, and what is said about it; nothing where it is right."""
    parts = _split(kind, answer, options)
    return [_range(check, kind, parts, place, message) for place in range(len(parts))], message


def _split(kind: str, answer: Any, options: Sequence[Any]) -> list[Any]:
    """The answer as the numbers and texts that are typed, one a field, or as the places of what is chosen."""
    if options:
        chosen = answer if kind == "set" else {answer}
        return [",".join(str(i) for i, option in enumerate(options) if option in chosen)]
    own = list(answer) if kind == "pair" else [answer]
    return [_plain(part) if isinstance(part, str) else float(part) for part in own]


def _plain(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter.isalnum())


def _range(check: Callable[[Any], None], kind: str, parts: Sequence[Any], place: int, message: str) -> Part:
    """A text as it is; around a number the interval in which the check says the same."""
    part = parts[place]
    if isinstance(part, str):
        return part

    def says_so(value: float) -> bool:
        moved = [*parts[:place], value, *parts[place + 1 :]]
        return _judge(check, tuple(moved) if kind == "pair" else value)[0] == message

    return [_edge(says_so, part, -1), _edge(says_so, part, 1)]


def _edge(says_so: Callable[[float], bool], value: float, side: int) -> float:
    """How far to this side the check says the same; at most by the value or by 1, at least by a rounding."""
    most = max(abs(value), 1.0)
    inside, outside = 1e-9 * most, most
    if not says_so(value + side * inside):
        return value + side * inside
    step = inside
    while step < most and says_so(value + side * step):
        inside, step = step, step * 2
    outside = min(step, most)
    for _ in range(20):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if says_so(value + side * middle) else (inside, middle)
    return value + side * inside


# --------------------------------------------------------------------------------------- what the reader sees


def _fields(kind: str, label: str, right: Any, texts: Mapping[Any, str], parts: Sequence[str]) -> str:
    """The native inputs, each with a name of its own."""
    name = html.escape(label)

    def typed(text: str, number: bool, shown: bool = True) -> str:
        mode, size = "" if number else ' inputmode="text"', 12 if shown else 6
        kept = f'type="text" size="{size}" autocomplete="off" autocapitalize="off" spellcheck="false"{mode}'
        if shown:
            return f"<label><span>{text}</span> <input {kept}></label>"
        return f'<input {kept} aria-label="{text}">'

    if texts:
        button, group = ("radio", f' name="ask-{_plain(label)}"') if kind == "choice" else ("checkbox", "")
        rows = "".join(
            f'<label><input type="{button}"{group} autocomplete="off"> <span>{html.escape(text)}</span></label>'
            for text in texts.values()
        )
        return f'<div class="options"><span>{name}</span>{rows}</div>'
    if kind == "pair":
        pair = zip(parts, right, strict=True)
        return "".join(typed(html.escape(part), not isinstance(value, str)) for part, value in pair)
    if kind == "matrix":
        places = itertools.product((1, 2), (1, 2))
        cells = "".join(typed(f"row {i}, column {j}", True, shown=False) for i, j in places)
        return f'<span>{name}</span><span class="matrix">{cells}</span>'
    return typed(name, kind == "number")
