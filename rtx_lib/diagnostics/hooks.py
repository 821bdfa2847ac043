"""Hooks that go away with a block: what passes through chosen modules is seen or changed; the model keeps nothing."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import Tensor, nn

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
def embedded(embedding: nn.Module, caller: str) -> Iterator[list[Tensor]]:
    """Replace what ``embedding`` gives inside the ``with`` block by a leaf of the same values, also where it is frozen.

    Yields a list that holds the leaf. Raises ``ValueError`` at the end unless the ``caller`` called the module once.
    """
    leaves: list[Tensor] = []

    def cut(module: nn.Module, args: object, output: Tensor) -> Tensor:
        leaves.append(output.detach().requires_grad_())
        return leaves[-1]

    with hooked([(embedding, cut)]):
        yield leaves
    if len(leaves) != 1:
        raise ValueError(f"{caller} must call embedding once, it did {len(leaves)} times")
