"""What a trained model writes."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from rtx_lib.diagnostics.hooks import frozen
from rtx_lib.layers import Learned, sample
from rtx_lib.shapes import expect, expect_each


def generate(
    model: nn.Module,
    task: Any,
    prompt: str,
    n: int,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: int = 0,
) -> str:
    """A text that the model goes on with: the prompt, and ``n`` symbols that are drawn one after the other.

    ``print(generate(model, task, "The book ", 200))``

    The prompt is read once, and then each symbol as it is drawn, with the model's state or cache. A model without state
    reads the whole text again at every step; so does one with a table of positions where the text outgrows it, of which
    it then sees the end. The model writes in ``eval()`` and is left in the mode in which it was.

    Parameters
    ----------
    model
        ``(ids (B, T), state) -> (logits (B, T, V), state)``, wherever its weights are.
    task
        Encodes the prompt and decodes what is drawn, as `rtx_lib.tasks.TextTask` does.
    prompt
        How the text begins. An empty one is begun behind the end of a line, where the task knows that (its ``start``),
        or else behind the symbol 0, neither of which is shown.
    n
        How many symbols to draw (characters, words or bytes), at least 1. The word ``<unk>`` is never drawn.
    temperature, top_k, top_p
        As in :func:`~rtx_lib.layers.decoding.sample`, whose ``top`` is ``top_k``.
    seed
        Of the draws: the same text again on the same machine.
    """
    if not (hasattr(task, "encode") and hasattr(task, "decode")):
        raise ValueError(f"task must encode and decode texts, as TextTask does, got {type(task).__name__}")
    expect_each(n=n, top_k=1 if top_k is None else top_k)
    ids = task.encode(prompt)
    hidden = int(not len(ids))
    first = ids if len(ids) else torch.tensor([getattr(task, "start", 0)])
    reach = _positions(model)
    unknown = getattr(task, "unknown", None)
    outgrown = len(first) + n - 1 > reach

    def read(x: Tensor, state: Any) -> tuple[Tensor, Any]:
        y, state = model(x[:, -reach:] if outgrown else x, state)
        y = expect(y, ("B", "T", task.output_size), "the model's prediction")
        if unknown is not None:
            y = y.index_fill(-1, torch.tensor(unknown, device=y.device), -math.inf)
        return y, None if outgrown else state

    device = next((weight.device for weight in model.parameters()), None)
    draws: dict[str, Any] = {"temperature": temperature, "top": top_k, "top_p": top_p}
    with frozen(model):
        ids = sample(read, first[None].to(device), n, **draws, generator=torch.Generator().manual_seed(seed))
    return task.decode(ids[0, hidden:].cpu())


def _positions(model: nn.Module) -> Any:
    """How many positions the model has a vector for; any number, where positions are no table."""
    parts = [(name.rsplit(".")[-1], part) for name, part in model.named_modules()]
    tables: list[Any] = [part.weight for _, part in parts if isinstance(part, Learned)]
    tables += [part.weight for name, part in parts if name == "positions" and isinstance(part, nn.Embedding)]
    return min((len(table) for table in tables), default=math.inf)
