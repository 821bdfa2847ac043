"""What a module was made with, so that it can be made again: `rtx_lib.save` writes it, and `rtx_lib.load` reads it.

`keep_arguments` stands once below all layers and once below all models; none of them needs to know.
"""

import functools
import inspect
from collections.abc import Iterable
from functools import partial
from numbers import Real
from typing import Any

from torch import nn

_NAMED = (Real, str, list, tuple, partial, nn.Module, type(None))
_VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class Foreign(str):
    """In place of an argument that no file can hold and that pickle may refuse, such as a lambda: its type's name."""


def keep_arguments(names: Iterable[object]) -> None:
    """Let the modules among these classes keep the arguments of their constructor, in ``made_with`` by name."""
    for one in names:
        if isinstance(one, type) and issubclass(one, nn.Module) and "__init__" in vars(one):
            setattr(one, "__init__", _keeping(one.__init__))  # noqa: B010, which is what mypy lets one do


def arguments_of(module: nn.Module) -> dict[str, Any]:
    """The arguments by name that make a module like this one, without the defaults.

    What has become an attribute of the same name may have been changed since then, and counts as it is now.
    """
    made_with: dict[str, Any] = vars(module).get("made_with", {})
    named = [p for p in inspect.signature(type(module)).parameters.values() if p.kind not in _VARIABLE]
    defaults = {parameter.name: parameter.default for parameter in named}
    given = {name: _now(module, name, value) for name, value in (defaults | made_with).items()}
    return {name: value for name, value in given.items() if value is not defaults.get(name, given)}


def _now(module: nn.Module, name: str, value: Any) -> Any:
    now = getattr(module, name, None)
    kind = nn.Module if isinstance(value, nn.Module) else (bool, int, float, str)
    return now if isinstance(now, kind) and value is not None else value  # with None, the module decided


def _named(value: Any) -> bool:
    return isinstance(value, _NAMED) or (isinstance(value, type) and value.__module__.startswith("rtx_lib."))


def _keeping(build: Any) -> Any:
    signature = inspect.signature(build)

    @functools.wraps(build)
    def __init__(self: nn.Module, *arguments: Any, **options: Any) -> None:
        build(self, *arguments, **options)
        if type(self).__init__ is __init__:  # and not that of a class below
            given = signature.bind(self, *arguments, **options).arguments
            for parameter in signature.parameters.values():
                if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                    given |= given.pop(parameter.name, {})
            mine = list(given.items())[1:]  # without self
            kept = {name: value if _named(value) else Foreign(type(value).__name__) for name, value in mine}
            vars(self).setdefault("made_with", kept)

    return __init__
