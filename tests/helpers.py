"""What several test files use."""

from pathlib import Path

from torch import Tensor

ROOT = Path(__file__).resolve().parents[1]
FIXTURES = ROOT / "tests" / "fixtures"


def relative_error(a: Tensor, b: Tensor) -> float:
    """max|a - b| / max|b| over the whole array."""
    return float((a - b).detach().abs().max() / b.detach().abs().max())
