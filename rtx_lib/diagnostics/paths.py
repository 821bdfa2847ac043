"""What has to wait for what: chains of operations between inputs and outputs, counted while a model runs.

Vaswani et al. (2017, *Attention Is All You Need*, table 1) compare layers by two numbers: how many operations must be
done one after the other, and how long the path is on which a signal goes from one position to another. Here both are
counted on the model itself. Every operation of its forward pass is seen (``torch.utils._python_dispatch``), and each
element of each tensor carries a label n, the operations between the marked inputs and it:

    n_out[j] = 1 + max of n_in[i]    over all i that have an effect on j        longest chain
    n_out[j] = 1 + min of n_in[i]    over all i that have an effect on j        shortest path

Input i has an effect on output j if other numbers at i change the number at j in its last bit: a zero that a
mask or a closed ReLU puts in between stops it. What goes through comparisons and whole numbers, an argmax for
instance, is not followed. Views and copies cost nothing, since they compute nothing. All else costs
1, however large: a matrix product, a convolution, a softmax, also torch's own scans such as ``cumsum``.

Labels go from operation to operation, so that an effect too small to be seen at the end still counts. Call the model's
``eval`` first, and run it in float64.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_unflatten

from rtx_lib.diagnostics.hooks import embedded, output_of
from rtx_lib.shapes import expect_floats

Model = Callable[[Tensor], Any]

_COPIES = {  # what moves numbers and computes none
    *("cat", "stack", "clone", "copy_", "flip", "roll", "repeat", "repeat_interleave"),
    *("index", "index_select", "gather", "im2col"),
}
_FUSED = ("rnn", "lstm", "gru")  # in names of torch's fused kernels, which go through all steps inside


def sequential_operations(model: Model, x: Tensor, *, embedding: nn.Module | None = None) -> int:
    """The longest chain of operations from x to y in which each needs what the one before gives; 0 without an effect.

    So many rounds the model takes on a machine that does at once whatever waits for nothing.

    Parameters
    ----------
    model
        Maps x to y (B, T, O), or to a pair (y, state).
    x
        What the model takes: floats (B, T, D), or with ``embedding`` whatever it is, for example ids (B, T).
    embedding
        The module whose output (B, T, D) stands for the inputs; the model must call it exactly once.
    """
    labels = _follow(model, x, embedding, step=-1, marked=slice(None))
    return int(-labels.min().clamp(max=0))


def path_length(model: Model, x: Tensor, *, embedding: nn.Module | None = None) -> int | None:
    """The fewest operations on any way from the first input to the last output; None if there is no effect.

    Arguments and errors are those of :func:`sequential_operations`.
    """
    shortest = _follow(model, x, embedding, step=1, marked=0)[:, -1].min().item()
    return int(shortest) if math.isfinite(shortest) else None


@torch.no_grad()
def effects(model: Model, x: Tensor, *, embedding: nn.Module | None = None) -> Tensor:
    """Whether input s has an exact effect on output t, [t, s], (T, T) bool: receptive fields of all outputs.

    Arguments and errors are those of :func:`sequential_operations`, except that kernels may hide their steps.
    """

    def run(s: int) -> Tensor:
        """y, with other numbers at input s, or at none where s is T."""

        def change(inputs: Tensor) -> Tensor:
            mask = torch.zeros_like(inputs, dtype=torch.bool)
            mask[:, s : s + 1] = True
            return _other(inputs, mask)

        return _run(model, x, embedding, change)

    whole = run(length := x.shape[1])
    return torch.stack([(run(s) != whole).any(-1).any(0) for s in range(length)], 1)


def growth(
    measure: Callable[[Any, Tensor], int | None], make: Callable[[int], tuple[Model, Tensor]], lengths: Sequence[int]
) -> dict[int, int | None]:
    """What ``measure`` gives at each length T for the model and the input that ``make`` gives for it."""
    return {T: measure(*make(T)) for T in lengths}


def order(counts: Mapping[int, int | None]) -> str:
    """How counts at doubled lengths grow: "1", "log T", "sqrt T" or "T", or "no path" where one is missing.

    From one doubling to the next the increase of a + b f(T) stays 0, stays the same, or grows by sqrt 2 or by 2. The
    nearest of these is taken, by the exponent between the first and the last increase.
    """
    lengths = [*counts]
    if len(lengths) < 3 or any(2 * one != other for one, other in itertools.pairwise(lengths)):
        raise ValueError(f"counts must be at three lengths at least, each twice the one before, got {lengths}")
    values = [count for count in counts.values() if count is not None]
    if len(values) < len(lengths):
        return "no path"
    first, last = values[1] - values[0], values[-1] - values[-2]
    if last <= 0:
        return "1"
    exponent = math.log2(last / max(first, 1)) / (len(values) - 2)
    return min({"log T": 0.0, "sqrt T": 0.5, "T": 1.0}.items(), key=lambda entry: abs(entry[1] - exponent))[0]


# ---- labels


class _Labels(TorchDispatchMode):
    """Keeps a label for every number made from the marked ones: infinity means that none of them has an effect on it.

    Labels lie as the numbers do, one array for a storage, so that views and writes in place need no case of their own.
    With the step -1 labels count downwards, and the smallest belongs to the longest chain.
    """

    def __init__(self, step: int) -> None:
        super().__init__()
        self.step = step
        self._kept: dict[int, tuple[Any, Tensor]] = {}  # the storage too, so that no other takes its address

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # there is nothing to skip, and torch would load its compiler for it, which takes seconds

    def of(self, numbers: Tensor) -> Tensor:
        """The labels of a tensor, as a view that can be written."""
        storage = numbers.untyped_storage()
        if (place := storage.data_ptr()) not in self._kept:
            size = storage.nbytes() // numbers.itemsize
            self._kept[place] = storage, torch.full((size,), math.inf, device=numbers.device)
        return self._kept[place][1].as_strided(numbers.shape, numbers.stride(), numbers.storage_offset())

    def _snapshot(self, numbers: Tensor, writes: bool) -> tuple[Tensor, Tensor]:
        """All numbers of the storage, and their labels; copies where the operation will write over them."""
        self.of(numbers)
        labels = self._kept[numbers.untyped_storage().data_ptr()][1].clone()
        whole = numbers.as_strided(labels.shape, (1,), 0)
        return whole.clone() if writes else whole, labels

    def marked(self, numbers: Tensor) -> bool:
        """Whether a marked number has an effect on one of these."""
        return bool(self.of(numbers).isfinite().any())

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run one operation, and label what it gives."""
        flat, form = tree_flatten((args, kwargs or {}))
        name, writes = func._schema.name.partition("::")[2], func._schema.is_mutable

        def run(given: list[Any]) -> tuple[Any, list[Tensor]]:
            args, kwargs = tree_unflatten(given, form)
            made = func(*args, **kwargs)
            return made, _tensors(tree_flatten(made)[0])

        if not any(self.marked(own) for own in _tensors(flat)):
            made, outputs = run(flat)
            for own in outputs if writes else ():
                self.of(own).fill_(math.inf)
            return made
        if any(word in name for word in _FUSED):
            raise ValueError(f"model must make its steps one by one, got torch's fused {name}: take its loop")
        if name == "constant_pad_nd":
            made = func(*args)
            self.of(made).copy_(func(self.of(args[0]), args[1], math.inf))
            return made
        if name in _COPIES:  # labels move as the numbers do; whole numbers say where to
            made, outputs = run(flat)
            moved = run([self.of(own) if _is_float(own) else own for own in flat])
            for own, label in zip(outputs, moved[1], strict=True):
                self.of(own).copy_(label)
            return made
        before = [self._snapshot(own, writes) if _is_float(own) else None for own in flat]
        made, outputs = run(flat)
        places = {own.untyped_storage().data_ptr() for own in _tensors(flat)}
        if not writes and all(own.untyped_storage().data_ptr() in places for own in outputs):
            return made  # a view: its labels are there
        after = [torch.full(own.shape, math.inf, device=own.device) for own in outputs]
        for level in torch.cat([labels for _, labels in filter(None, before)]).unique().tolist():
            if math.isfinite(level):
                pairs = zip(flat, before, strict=True)
                others = run([own if kept is None else _moved(own, *kept, level) for own, kept in pairs])[1]
                for label, own, other in zip(after, outputs, others, strict=True):
                    if own.is_floating_point():
                        label[(own != other) & label.isinf()] = level + self.step
        for own, label in zip(outputs, after, strict=True):
            self.of(own).copy_(label)
        return made


class _InTorch(TorchFunctionMode):
    """Refuses a kernel that takes marked numbers out of torch, where nobody follows them."""

    def __init__(self, labels: _Labels) -> None:
        super().__init__()
        self.labels = labels

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run one function of torch, unless it gives the numbers to NumPy."""
        if func is Tensor.numpy and self.labels.marked(args[0]):
            raise ValueError("model must compute in torch, got a kernel that takes numbers out of it: take its loop")
        return func(*args, **(kwargs or {}))


@torch.no_grad()
def _follow(model: Model, x: Tensor, embedding: nn.Module | None, *, step: int, marked: slice | int) -> Tensor:
    """The labels of y (B, T, O); those of the marked inputs [:, marked] are 0."""
    labels = _Labels(step)

    def mark(inputs: Tensor) -> Tensor:
        inputs = inputs.clone()
        labels.of(inputs)[:, marked] = 0
        return inputs

    with labels, _InTorch(labels):
        y = _run(model, x, embedding, mark)
    return labels.of(y)


# ---- running


def _run(model: Model, x: Tensor, embedding: nn.Module | None, change: Callable[[Tensor], Tensor]) -> Tensor:
    """y (B, T, O) for changed inputs, those that the model is given or what its embedding makes of them."""
    if embedding is None:
        return output_of(model(change(expect_floats(x, "B T D"))), x)
    with embedded(embedding, change):
        return output_of(model(x), x)


def _other(numbers: Tensor, mask: Tensor) -> Tensor:
    """Other numbers where the mask is, of the same sign, so that no logarithm of them fails.

    Small ones become large: a state that has decayed to 1e-19 would be lost in rounding beside a bias.
    """
    factor = 0.5 + 0.4 * (torch.arange(numbers.numel(), device=numbers.device) * 0.618034 % 1).view(numbers.shape)
    sizes = torch.where(numbers.abs() < 0.1, factor, numbers.abs() * factor)
    return torch.where(mask, torch.where(numbers < 0, -sizes, sizes).to(numbers.dtype), numbers)


def _moved(numbers: Tensor, whole: Tensor, labels: Tensor, level: float) -> Tensor:
    """The same view of a storage with other numbers up to a level: an operation may round other strides otherwise."""
    return _other(whole, labels <= level).as_strided(numbers.shape, numbers.stride(), numbers.storage_offset())


def _is_float(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()


def _tensors(values: list[Any]) -> list[Tensor]:
    return [own for own in values if isinstance(own, Tensor)]
