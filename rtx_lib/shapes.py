"""What may come in: checks of tensors, states, sizes and choices, which refuse before any work is done.

Each raises ``ValueError`` with the argument's name, what is allowed and what was given.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map

Shape = Sequence[int | str | torch.dtype]
Sizes = str | Shape  # "B T D", or numbers among the letters
Pair = tuple[Tensor | None, Tensor]  # a source, None once it is read, and a target
Form = Any  # a shape as a tuple; or forms by their names in a dict, or in a list
Shapes = dict[str, tuple[int | str | torch.dtype, ...]]
"""Of the tensors of a state, by their names: what a model's ``state_shapes(batch)`` declares."""


def expect(x: object, shape: Sizes, name: str = "x", *, like: Tensor | None = None, exact: bool = False) -> Tensor:
    """x itself, if it is a tensor of this shape, and of the device and dtype of ``like``.

    Parameters
    ----------
    shape
        Sizes, or letters as in ``"B T D"``. A letter stands for a size of at least 1; but M, a memory, may be empty.
    like
        A weight, or another input. Under autocast types may differ, unless ``exact``.
    """
    wanted = tuple(shape.split() if isinstance(shape, str) else shape)
    form = f"({', '.join(map(str, wanted))}{',' if len(wanted) == 1 else ''})"
    if not isinstance(x, Tensor):
        raise ValueError(f"{name} must be a tensor of shape {form}, got {type(x).__name__}")
    got = tuple(x.shape)
    sizes = [(size, n) for size, n in zip(wanted, got, strict=False) if not isinstance(size, Tensor | torch.SymInt)]
    if len(got) != len(wanted) or any(not isinstance(size, str) and size != n for size, n in sizes):
        raise ValueError(f"{name} must have shape {form}, got {got}")
    if any(isinstance(size, str) and size != "M" and n < 1 for size, n in sizes):
        raise ValueError(f"{name} must have shape {form} with every size at least 1, got {got}")
    if like is not None:
        owner = "the weights are" if isinstance(like, nn.Parameter) else "the input is"
        if x.device != like.device:
            raise ValueError(f"{name} must be on {like.device}, as {owner}, got {x.device}")
        if x.dtype != like.dtype and (exact or not torch.is_autocast_enabled(x.device.type)):
            raise ValueError(f"{name} must be of {like.dtype}, as {owner}, got {x.dtype}")
    return x


def expect_floats(x: object, shape: Sizes, name: str = "x", *, complex: bool = False) -> Tensor:
    """x itself, if it is a tensor of this shape that holds floats, or also ``complex`` numbers."""
    found = expect(x, shape, name)
    if not (found.is_floating_point() or (complex and found.is_complex())):
        raise ValueError(f"{name} must hold floats{' or complex numbers' if complex else ''}, got {found.dtype}")
    return found


def expect_ids(x: object, vocabulary: int | None, name: str = "x") -> Tensor:
    """x itself, if it holds ids (B, T) below the vocabulary, if there is one, B and T at least 1.

    Whether they are below it is looked up where the values are at hand.
    """
    if not isinstance(x, Tensor) or x.dtype not in (torch.int64, torch.int32) or x.ndim != 2 or not x.numel():
        got = f"{x.dtype} of shape {tuple(x.shape)}" if isinstance(x, Tensor) else type(x).__name__
        raise ValueError(f"{name} must hold ids of shape (B, T), B and T at least 1, got {got}")
    if at_hand(x):
        low, high = (int(end) for end in x.aminmax())
        if low < 0 or (vocabulary is not None and high >= vocabulary):
            most = "on" if vocabulary is None else f"to {vocabulary - 1}"
            raise ValueError(f"{name} must hold ids from 0 {most}, got {low if low < 0 else high}")
    return x


def expect_pair(x: object, vocabulary: int, state: object) -> tuple[Tensor | None, Tensor]:
    """Source (B, S) and target_in (B, T), if x is such a pair; without a state, both must be of one batch.

    What the source holds is left to whoever reads it, as it is not read again where there is a state.
    """
    source, target = expect_tuple(x, 2, "(source, target_in)", "x")
    expect_ids(target, vocabulary, "target_in")
    if state is None:
        expect(source, (target.shape[0], "S"), "source")
    return source, target


def expect_sentences(x: object, vocabulary: int, name: str, padding: int | None = 0) -> tuple[Tensor, Tensor]:
    """The ids (B, S) and where words are (B, S), if each row holds words, one at least, and then padding, if any."""
    ids = expect_ids(x, vocabulary, name)
    real = torch.ones_like(ids, dtype=torch.bool) if padding is None else ids != padding
    if at_hand(ids) and (bad := ~real[:, 0] | (real[:, 1:] & ~real[:, :-1]).any(1)).any():
        rule = f"words first and then padding ({padding}), at least one word in each row"
        row = int(bad.nonzero()[0])
        raise ValueError(f"{name} must hold {rule}, got row {row}: {ids[row].tolist()}")
    return ids, real


def at_hand(x: Tensor) -> bool:
    """Whether values can be looked at without waiting for a device, and are there."""
    return x.device.type == "cpu" and not traced()


def traced() -> bool:
    """Whether compile, export, jit.trace or ``torch.func`` records or transforms what is done: no values are there.

    Under ``torch.func`` a ``torch.autograd.Function`` cannot be called either.
    """
    recorded = torch.compiler.is_compiling() or torch.jit.is_tracing()
    return recorded or torch._C._are_functorch_transforms_active()


def expect_tuple(entries: object, count: int, of: str = "", name: str = "state") -> tuple[Any, ...]:
    """The entries, if they are a tuple of so many. ``of`` tells what, as "(h, c)"."""
    if not isinstance(entries, tuple) or len(entries) != count:
        got = f"{len(entries)} entries" if isinstance(entries, tuple) else type(entries).__name__
        raise ValueError(f"{name} must be a tuple of {count} entries{of and f', {of}'}, got {got}")
    return entries


def expect_state(state: object, shapes: Form, x: Tensor, name: str = "state") -> Any:
    """The state, if it is of this form and of x's type and device; zeros if None.

    Parameters
    ----------
    shapes
        The shape of a tensor, as a tuple; or the forms of the parts of a tuple, by their names in a dict or, where they
        are of one kind, in a list: what a model's ``state_shapes`` declares. A letter stands for one size wherever it
        occurs; M, a memory, may be empty, and is where there is no state.
    """
    return _zeros(shapes, x) if state is None else _expect_form(state, shapes, x, name, {})


def expect_step(x: Tensor, width: int, state: object, shapes: Callable[[int], Form], like: Tensor) -> Any:
    """The state of x's batch, zeros if None, once x is (B, T, width) and as the weights are."""
    expect(x, ("B", "T", width), like=like)
    return expect_state(state, shapes(x.shape[0]), x)


def _zeros(shapes: Form, x: Tensor) -> Any:
    if isinstance(shapes, tuple):
        sizes, kind = _sizes_and_type(shapes, x)
        return x.new_zeros([0 if isinstance(size, str) else size for size in sizes], dtype=kind)
    return tuple(_zeros(shape, x) for shape in (shapes.values() if isinstance(shapes, dict) else shapes))


def _sizes_and_type(shape: Form, x: Tensor) -> tuple[Any, torch.dtype]:
    """The sizes of a shape, and the type in which it may end, or x's; of floats the one of more precision.

    So a sum over many steps can be asked for in single precision, as it would not grow in half.
    """
    *sizes, kind = shape if isinstance(shape[-1], torch.dtype) else (*shape, x.dtype)
    return sizes, torch.promote_types(kind, x.dtype) if kind.is_floating_point else kind


def _expect_form(state: object, shapes: Form, x: Tensor, name: str, sizes: dict[Any, Any]) -> Any:
    if isinstance(shapes, tuple):
        return _expect_bound(state, shapes, x, name, sizes, False)
    names = f"({', '.join(shapes)})" if isinstance(shapes, dict) else ""
    parts = list(shapes.values()) if isinstance(shapes, dict) else shapes
    entries = enumerate(expect_tuple(state, len(parts), names, name))
    return tuple(_expect_form(entry, parts[i], x, f"{name}[{i}]", sizes) for i, entry in entries)


def _expect_bound(found: object, shape: Shape, x: Tensor, name: str, sizes: dict[Any, Any], exact: bool) -> Tensor:
    """A tensor of the shape, whose letters are bound; of x's type and device, or of the type that the shape ends in."""
    shape, kind = _sizes_and_type(shape, x)
    if own := kind != x.dtype:
        x = x.new_empty(0, dtype=kind)
    named = [sizes.get(size, size) if isinstance(size, str) else size for size in shape]
    tensor = expect(found, named, name, like=x, exact=exact or own)
    sizes |= {size: n for size, n in zip(shape, tensor.shape, strict=True) if isinstance(size, str)}
    return tensor


def expect_no_state(state: object, why: str = "a text is read as a whole") -> None:
    """There is none, for a reason that is told."""
    if state is not None:
        raise ValueError(f"state must be None, {why}, got {type(state).__name__}")


def expect_like(x: Tensor, /, *, exact: bool = True, optional: bool = False, **others: tuple[object, Shape]) -> None:
    """Every other tensor, None only if ``optional``, has its shape and x's type; a letter stands for one size."""
    sizes: dict[Any, Any] = {}
    for name, (other, shape) in others.items():
        if other is not None or not optional:
            _expect_bound(other, shape, x, name, sizes, exact)


def expect_fits(name: str, value: Any, shape: tuple[int, ...], kind: str = "bool") -> None:
    """Raise ``ValueError`` unless a mask (bool) or bias (float) is None or can be expanded to the shape."""
    if value is None:
        return
    got = getattr(value, "dtype", type(value).__name__)
    if not isinstance(value, Tensor) or (got != torch.bool if kind == "bool" else not value.is_floating_point()):
        meaning = ", True = may attend" if kind == "bool" else ""
        raise ValueError(f"{name} must be a {kind} tensor{meaning}, got {got}")
    sizes = zip(reversed(value.shape), reversed(shape), strict=False)
    if value.dtype == torch.bool and len(shape) == 4 and value.ndim == 3 and value.shape[0] > 1:
        # One of (B, T, S) would be taken for one a head wherever there are as many sequences as heads.
        raise ValueError(f"{name} must be (B, 1, T, S), or (1, H, T, S) for a mask a head, got {tuple(value.shape)}")
    if value.ndim > len(shape) or any(size not in (1, full) for size, full in sizes):
        raise ValueError(f"{name} must be broadcastable to {shape}, got shape {tuple(value.shape)}")


def expect_each(**given: Any) -> None:
    """Refuse the first argument that breaks its rule: ``expect_each(layers=layers, dropout=(dropout, "[0, 1)"))``.

    A value alone has to be a whole number of at least 1. Another rule stands behind the value, in a pair. For a whole
    number it is the least one, ``"odd"``, ``"multiple of 2"`` or ``"divisor of 6"``; for any number an interval, as
    ``"[0, 1)"`` or ``"None or (0, inf)"``; for a sequence, which may not be empty, ``"sizes"`` or ``"pairs of sizes"``;
    for a name the choices.
    """
    for name, entry in given.items():
        value, rule = entry if isinstance(entry, tuple) else (entry, 1)
        fine, allowed = _kept(value, rule)
        if not fine:
            raise ValueError(f"{name} must be {allowed}, got {value!r}")


def _kept(value: Any, rule: Any) -> tuple[bool, str]:
    """Whether the value keeps the rule, and the rule in words."""
    if isinstance(rule, int):
        return _is_size(value, rule), f"{'' if _is_whole(value) else 'a whole number of '}at least {rule}"
    if not isinstance(rule, str):
        return value in rule, f"one of {list(rule)}"
    if rule.endswith("sizes"):
        parts = value if isinstance(value, Sequence) else ()
        pairs = parts if rule.startswith("pairs") else [(part, part) for part in parts]
        sizes = all(isinstance(pair, Sequence) and len(pair) == 2 and all(map(_is_size, pair)) for pair in pairs)
        return sizes and len(parts) > 0, f"a sequence of {rule}, with one at least"
    if rule == "odd":
        return _is_size(value) and value % 2 == 1, rule
    kind, _, number = rule.partition(" of ")
    if kind in ("multiple", "divisor"):
        rest = (lambda size: size % int(number)) if kind == "multiple" else (lambda size: int(number) % size)
        return _is_size(value) and rest(value) == 0, f"a {rule}"
    return _is_within(value, rule)


def _is_size(value: Any, least: int = 1) -> bool:
    return _is_whole(value) and bool(value >= least)


def _is_whole(value: object) -> bool:
    """Whether it is a whole number, of numpy or torch too."""
    if isinstance(value, torch.SymInt):
        return True
    if isinstance(value, Tensor):
        return value.ndim == 0 and not (value.is_floating_point() or value.is_complex() or value.dtype == torch.bool)
    return hasattr(value, "__index__") and not isinstance(value, bool)


def _is_within(value: Any, rule: str) -> tuple[bool, str]:
    """Whether the number is in the interval, or None where that is allowed, and what is, in words."""
    interval = rule.removeprefix("None or ")
    optional = interval != rule
    least, most = interval[1:-1].split(", ")
    low, high, closed, ends = float(least), float(most), interval[0] == "[", interval[-1] == "]"
    words = [f"{'at least' if closed else 'above'} {least}"] if low > -math.inf else []
    if high < math.inf or not ends:
        words.append("finite" if high == math.inf else f"{'at most' if ends else 'below'} {most}")
    told = " and ".join(words) + (" or None" if optional else "")
    if value is None:
        return optional, told
    above = value >= low if closed else value > low
    return bool(above and (value <= high if ends else value < high)), told


def expect_heads(width: int, heads: int) -> int:
    """The heads divide the width; returns the width of one, K."""
    expect_each(heads=(heads, f"divisor of {width}"))
    return width // heads


def map_tensors(state: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """The same state, with ``change`` applied to each tensor, in tuples, named tuples, lists, dicts and dataclasses."""

    def changed(part: Any) -> Any:
        if is_dataclass(part) and not isinstance(part, type):
            parts = {field.name: map_tensors(getattr(part, field.name), change) for field in fields(part)}
            return replace(part, **parts)
        return change(part) if isinstance(part, Tensor) else part

    return tree_map(changed, state, is_leaf=is_dataclass)
