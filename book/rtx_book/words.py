"""Numbers and names as a sentence has them: 62 %, 10⁻⁷, 0.0123, "10, 20 and 30"; and which way a metric is better."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

RISING = ("accuracy", "exact", "last quarter")
"""Metrics of the tasks that are better where they are larger, being shares of what is right."""

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


def few(names: Sequence[str], kind: str, most: int = 4) -> str:
    """The same of ``most`` names or fewer, "none" of none; of more how many they are: "6 models"."""
    return listed(names) or "none" if len(names) <= most else f"{len(names)} {kind}"


def rises(metric: str) -> bool:
    """Whether the metric is better where it is larger; that of a reference as the metric itself."""
    return metric.removeprefix("reference_") in RISING


def three(value: float) -> str:
    """A number with three significant digits: "0.0123", "1,230", "1.23e-5"."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    if not 1e-3 <= abs(value) < 1e6:
        mantissa, exponent = f"{value:.2e}".split("e")
        return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 100 else f"{rounded:.3g}"


def number(value: float | None) -> str:
    """The value of a finding: "0.163"; whole from a thousand on, "12,346"; two digits if tiny or huge, "2.1e-24"."""
    if value is None:
        return "not finite"
    short = float(f"{value:.3g}")
    if value and not 1e-3 <= abs(short) < 1e6:
        return f"{value:.1e}"
    return f"{value:,.0f}" if abs(short) >= 1000 or value == int(value) else f"{short:g}"


def padded(value: float) -> str:
    """Three significant digits even where they are zeros, "0.100"; from a thousand on a whole number, "1,235"."""
    digits = f"{value:#.3g}"
    return f"{value:,.0f}" if abs(float(digits)) >= 1000 else digits.rstrip(".")
