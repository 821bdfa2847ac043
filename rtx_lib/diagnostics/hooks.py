"""Hooks that go away with a block: what passes through chosen modules is seen or changed; the model keeps nothing."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from rtx_lib.shapes import expect

Hook = Callable[[nn.Module, Any, Any], Any]


def taps(model: nn.Module, name: str) -> dict[str, nn.Module]:
    """Every submodule of one name under the name of the module it belongs to; ValueError where there is none."""
    split = [(path.rpartition("."), module) for path, module in model.named_modules()]
    found = {owner: module for (owner, _, last), module in split if last == name}
    if not found:
        raise ValueError(f"model must have a submodule named {name!r}, {type(model).__name__} has none")
    return found


@contextmanager
def hooked(hooks: Iterable[tuple[nn.Module, Hook]], *, first: bool = False) -> Iterator[None]:
    """Call each hook after its module inside the ``with`` block; ``first`` of all, so that others see what it gives."""
    with ExitStack() as stack:
        for module, hook in hooks:
            stack.callback(module.register_forward_hook(hook, prepend=first).remove)
        yield


@contextmanager
def embedded(embedding: nn.Module, change: Callable[[Tensor], Tensor]) -> Iterator[list[Tensor]]:
    """Change what ``embedding`` gives inside the ``with`` block.

    Yields a list that holds what the change made. Raises ``ValueError`` at the end unless the module was called once.
    """
    changed: list[Tensor] = []

    def hook(module: nn.Module, args: object, output: Tensor) -> Tensor:
        changed.append(change(output))
        return changed[-1]

    with hooked([(embedding, hook)], first=True):
        yield changed
    if len(changed) != 1:
        raise ValueError(f"embedding must be called once, it was called {len(changed)} times")


@contextmanager
def frozen(model: nn.Module) -> Iterator[None]:
    """Run the model in eval mode and without gradients inside the ``with`` block; then all is in the mode it was in."""
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, mode in modes.items():
            module.training = mode


def leaf(inputs: Tensor) -> Tensor:
    """The same values as a leaf of the graph, also where they come from something frozen."""
    return inputs.detach().requires_grad_()


class FirstFloats(TorchFunctionMode):
    """Makes a ``leaf`` of the first floats that come of ids inside the ``with`` block, so that these have a gradient.

    These are rows of a table, whether a module holds it or not, or one-hot vectors.

    Parameters
    ----------
    ids
        What the model is given, (B, T); it may exchange its axes first.
    """

    def __init__(self, ids: Tensor) -> None:
        super().__init__()
        self.sizes = (ids.shape, ids.t().shape)
        self.leaf: Tensor | None = None

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run one function of torch, and look at what it gives."""
        made = func(*args, **(kwargs or {}))
        if self.leaf is None and isinstance(made, Tensor) and made.is_floating_point():
            whole = (torch.int64, torch.int32)
            given = [part for part in tree_leaves((args, kwargs)) if isinstance(part, Tensor) and part.dtype in whole]
            if made.shape[:2] in self.sizes and any(part.shape[:2] in self.sizes for part in given):
                batch_first = made.shape[:2] == self.sizes[0]
                self.leaf = leaf(made if batch_first else made.transpose(0, 1))
                made = self.leaf if batch_first else self.leaf.transpose(0, 1)
        return made


def output_of(result: Any, x: Tensor) -> Tensor:
    """y (B, T, O) of what a model gives for x (B, T, ...): y, or a pair (y, state)."""
    return expect(result[0] if isinstance(result, tuple) else result, (*x.shape[:2], "O"), "the model's y")
