"""What several test files use."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests" / "fixtures"
PACKAGES = os.pathsep.join([str(ROOT), str(ROOT / "book")])  # for PYTHONPATH of another process


def relative_error(a: Tensor, b: Tensor) -> float:
    """max|a - b| / max|b| over the whole array."""
    return float((a - b).detach().abs().max() / b.detach().abs().max())


def drawn(seed: int, kind: Callable[..., nn.Module], *sizes: Any, **options: Any) -> Any:
    """A module with the weights that this seed draws."""
    torch.manual_seed(seed)
    return kind(*sizes, **options)


def code_cell(source: str, *tags: str, outputs: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """A code cell as a notebook's file holds it, without a counter."""
    metadata = {"tags": list(tags)} if tags else {}
    return {
        "cell_type": "code",
        "source": source,
        "metadata": metadata,
        "outputs": outputs or [],
        "execution_count": None,
    }


def killed(fit: Callable[..., Any]) -> Callable[..., Any]:
    """The function ``fit``, with a checkpoint every second step and a KeyboardInterrupt after the fourth."""

    def killed_fit(*arguments: Any, **settings: Any) -> Any:
        def stop(step: int, model: Any, loss: float) -> None:
            if step == 4:
                raise KeyboardInterrupt

        return fit(*arguments, **settings | {"after_step": stop, "checkpoint_every": 2})

    return killed_fit
