"""What several test files use."""

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests" / "fixtures"
PACKAGES = os.pathsep.join([str(ROOT), str(ROOT / "book")])  # for PYTHONPATH of another process


def relative_error(a: Tensor, b: Tensor) -> float:
    """max|a - b| / max|b| over the whole array; infinite where an entry is not a number."""
    return float(((a - b).detach().abs().max() / b.detach().abs().max()).nan_to_num(nan=torch.inf, posinf=torch.inf))


def drawn(seed: int, kind: Callable[..., nn.Module], *sizes: Any, **options: Any) -> Any:
    """A module with the weights that this seed draws."""
    torch.manual_seed(seed)
    return kind(*sizes, **options)


def refusals(cases: dict[str, Any] | Iterable[tuple[Any, str]], *given: Callable[[], Any], plain: bool = False) -> Any:
    """A test of calls that are refused: each, of what is given, raises a ValueError whose text begins so."""
    pairs = [(call, message) for message, call in cases.items()] if isinstance(cases, dict) else list(cases)

    @pytest.mark.parametrize(("call", "message"), pairs, ids=range(len(pairs)))
    def test(call: Callable[..., Any], message: str) -> None:
        with pytest.raises(ValueError, match=f"^{re.escape(message) if plain else message}"):
            call(*(make() for make in given))

    return test


def code_cell(source: str, *tags: str, outputs: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """A code cell as a notebook's file holds it, without a counter."""
    metadata = {"tags": list(tags)} if tags else {}
    cell = {"cell_type": "code", "source": source, "metadata": metadata}
    return {**cell, "outputs": outputs or [], "execution_count": None}


def killed(fit: Callable[..., Any]) -> Callable[..., Any]:
    """The function ``fit``, with a checkpoint every second step and a KeyboardInterrupt after the fourth."""

    def killed_fit(*arguments: Any, **settings: Any) -> Any:
        def stop(step: int, model: Any, loss: float) -> None:
            if step == 4:
                raise KeyboardInterrupt

        return fit(*arguments, **settings | {"after_step": stop, "checkpoint_every": 2})

    return killed_fit
