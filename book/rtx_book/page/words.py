"""Numbers as a sentence has them: 62 % with a space that does not break, 10⁻⁷ with raised digits, 10, 20 and 30."""

import math
from collections.abc import Iterable
from typing import Any

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def percent(share: float, digits: int = 0) -> str:
    """A share as "62 %", with so many digits behind the point."""
    return f"{100 * share:.{digits}f}\N{NO-BREAK SPACE}%".replace("-", "\N{MINUS SIGN}")


def power(value: float) -> str:
    """A size as the nearest power of ten, "10⁻⁷"; in two digits from 0.01 to 99, or where it has none, as 0 and nan."""
    if not 0 < value < math.inf or 0.01 <= value < 99.5:
        return f"{value:.2g}"
    return "10" + f"{math.log10(value):.0f}".translate(_RAISED)


def listed(words: Iterable[Any]) -> str:
    """What a sentence says of several: "10", "10 and 20", "10, 20 and 30"; numbers with separators."""
    texts = [word if isinstance(word, str) else f"{word:,}" for word in words]
    return " and ".join([*([", ".join(texts[:-1])] if texts[1:] else []), *texts[-1:]])
