"""The bound of a finding: where its value must lie for its sentence to be true."""

from __future__ import annotations

import math
import operator
import re
from dataclasses import dataclass

_SIGNS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq}
_NUMBER = r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
_ONE_SIDE = re.compile(rf"(<=|>=|==|<|>) ({_NUMBER})")
_BETWEEN = re.compile(rf"between ({_NUMBER}) and ({_NUMBER})")


@dataclass(frozen=True)
class Bound:
    """Where a value must lie: ``"< 0.05"``, ``">= 3"``, ``"== 5"`` or ``"between 0.1 and 0.6"``.

    Raises
    ------
    ValueError
        For a text of another form, or an interval whose ends are in the wrong order.
    """

    text: str

    def __post_init__(self) -> None:
        between = _BETWEEN.fullmatch(self.text)
        if not between and not _ONE_SIDE.fullmatch(self.text):
            raise ValueError(f"bound must look like '< 0.05' or 'between 0.1 and 0.6', got {self.text!r}")
        if between and not float(between[1]) < float(between[2]):
            raise ValueError(f"bound must name the lower end first, got {self.text!r}")

    def holds(self, value: float) -> bool:
        """Whether ``value`` lies there; one that is not a number lies nowhere."""
        if math.isnan(value):
            return False
        if between := _BETWEEN.fullmatch(self.text):
            return float(between[1]) < value < float(between[2])
        one = _ONE_SIDE.fullmatch(self.text)
        assert one  # __post_init__ has seen to it
        return bool(_SIGNS[one[1]](value, float(one[2])))
