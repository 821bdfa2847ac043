"""A pretended GPU, for machines without one: what a GPU refuses, it refuses; what it computes, it computes.

Inside ``with FarDevice():`` torch's device ``"meta"`` is a place of its own. A tensor on it says that it is there, so
``.numpy()`` fails as on a GPU, and an operation on tensors of both places fails as on a GPU; but it has values, which
lie in a CPU tensor within. A model or a chapter that runs here with ``device="meta"`` has mixed up no devices.
"""

import copy
from collections.abc import Iterable
from typing import Any
from unittest import mock

import torch
from torch import Tensor, nn
from torch.utils._mode_utils import no_dispatch
from torch.utils._python_dispatch import TorchDispatchMode

from rtx_lib.training.checkpoints import detach, move

FAR = "meta"
aten = torch.ops.aten
MOVES = {aten._to_copy.default, aten.copy_.default}
INDEXING = {aten.index.Tensor, aten.index_put_.default, aten.index_put.default, aten._index_put_impl_.default}
# A conjugate or a negative that is only noted on a tensor would be forgotten within: here it is computed at once.
AT_ONCE = {aten._conj.default: aten.conj_physical.default, aten._neg_view.default: aten.neg.default}
READS = {aten._local_scalar_dense.default, aten.nonzero.default, aten.masked_select.default, aten.equal.default}


class MixedDevices(RuntimeError):
    """An operation on tensors of two devices."""


class Waited(RuntimeError):
    """An operation for which the CPU must wait until the GPU has done all that it was told."""


class FarTensor(Tensor):
    """A tensor that is far away; ``near`` is the CPU tensor with its values."""

    near: Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, near: Tensor) -> "FarTensor":
        made = torch.Tensor._make_wrapper_subclass(
            cls, near.shape, strides=near.stride(), storage_offset=near.storage_offset(), dtype=near.dtype, device=FAR
        )
        made.near = near
        return made

    # It computes, as no other tensor on ``meta`` does.
    is_meta = property(lambda self: False)

    def __repr__(self, *, tensor_contents: object = None) -> str:
        return f"far {self.near!r}"

    def __format__(self, form: str) -> str:
        return format(self.item() if self.ndim == 0 else self.near, form)

    def tolist(self) -> Any:
        return self.cpu().tolist()

    def numpy(self, *, force: bool = False) -> Any:
        if force:
            return self.detach().cpu().numpy()
        raise TypeError("a tensor on the device cannot be made a numpy array: use Tensor.cpu() first")

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise AssertionError(f"{func} of a far tensor after the end of its device")

    # With these two, Module.to() keeps a parameter the same object, as it does on the way to a GPU.
    def __tensor_flatten__(self) -> tuple[list[str], None]:
        return ["near"], None

    @staticmethod
    def __tensor_unflatten__(inner: dict[str, Tensor], context: None, size: Any, stride: Any) -> "FarTensor":
        return FarTensor(inner["near"])


def swap(one: Tensor, other: Tensor) -> None:
    """What ``Module.to()`` does with a parameter, without torch's care for graphs that still hold its old values."""
    one.__class__, other.__class__ = other.__class__, one.__class__
    one.__dict__, other.__dict__ = other.__dict__, one.__dict__
    torch._C._swap_tensor_impl(one, other)


def near(value: Any, tensors: list[Tensor]) -> Any:
    """An operation's argument with CPU tensors in place of far ones; every tensor in it is put into ``tensors``."""
    if isinstance(value, Tensor):
        tensors.append(value)
        return value.near if isinstance(value, FarTensor) else value
    if isinstance(value, list | tuple):
        return type(value)([near(part, tensors) for part in value])
    return value


def far_again(value: Any, known: dict[int, FarTensor]) -> Any:
    """An operation's result with far tensors in place of CPU tensors, by their ``id`` those that there are already."""
    if isinstance(value, Tensor):
        there = known.get(id(value))
        return FarTensor(value) if there is None else there
    if isinstance(value, list | tuple):
        return type(value)([far_again(part, known) for part in value])
    return value


class FarDevice(TorchDispatchMode):
    """Run every operation of torch as if a GPU were there.

    Args:
        waits: whether the CPU may wait for the device: for ``.item()``, a copy to the CPU, an index that is a mask.
    """

    def __init__(self, *, waits: bool = True) -> None:
        super().__init__()
        self.waits, self.operations = waits, 0

    def __enter__(self) -> "FarDevice":
        self.patch = mock.patch("torch.utils.swap_tensors", swap)
        self.patch.__enter__()
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self.patch.__exit__(*error)

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Nothing here is compiled: torch need not guard each operation against it."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if FarTensor not in types and kwargs.get("device") is None:  # nothing of it concerns the device
            return func(*args, **kwargs)
        tensors: list[Tensor] = []
        near_args = near(args, tensors)
        near_kwargs = {name: near(value, tensors) for name, value in kwargs.items()}
        far = [tensor for tensor in tensors if isinstance(tensor, FarTensor)]
        asked = kwargs.get("device")
        goes_far = bool(far) if asked is None else torch.device(asked).type == FAR
        if asked is not None:
            near_kwargs["device"] = torch.device("cpu")
        if far and func not in MOVES:
            self._refuse_two_devices(func, tensors, args)
        generator = kwargs.get("generator")
        if goes_far and generator is not None and generator.device.type == "cpu":
            raise MixedDevices(f"{func}: a generator on the CPU draws nothing on a GPU")
        if far and not self.waits:
            self._refuse_waiting(func, args, goes_far)
        result = (AT_ONCE.get(func, func) if far else func)(*near_args, **near_kwargs)
        if far and torch.Tag.inplace_view in func.tags:  # such as transpose_: the shape of the far tensor follows
            with no_dispatch():
                func(*args, **kwargs)
        if func is aten._local_scalar_dense.default or not goes_far:
            return result
        self.operations += 1
        known = {id(tensor.near): tensor for tensor in far}  # an operation in place returns the tensor itself
        return far_again(result, known)

    def _refuse_two_devices(self, func: Any, tensors: list[Tensor], args: Any) -> None:
        """A CPU tensor may meet far ones as a number without dimensions, and as an index into one."""
        if func in INDEXING and isinstance(args[0], FarTensor):
            tensors = [args[0], *(x for x in args[2:3] if isinstance(x, Tensor))]
        if near := [tensor for tensor in tensors if tensor.ndim and not isinstance(tensor, FarTensor)]:
            raise MixedDevices(f"{func}: a CPU tensor of shape {tuple(near[0].shape)} beside one on the device")

    def _refuse_waiting(self, func: Any, args: Any, goes_far: bool) -> None:
        masks = func in INDEXING and any(i is not None and i.dtype in (torch.bool, torch.uint8) for i in args[1])
        back = func is aten.copy_.default and not isinstance(args[0], FarTensor)
        if func in READS or masks or back or not goes_far:
            raise Waited(f"{func} waits for the device")


def run(model: nn.Module, x: Any) -> list[Tensor]:
    """Outputs of two calls, the second with the state of the first, and the gradients of both together."""
    first, state = model(x)
    second, _ = model((None, x[1]) if isinstance(x, tuple) and state is not None else x, detach(state))
    (first.square().mean() + second.square().mean()).backward()
    return [first.detach(), second.detach(), *(p.grad for p in model.parameters() if p.grad is not None)]


def run_far(model: nn.Module, x: Any) -> list[Tensor]:
    """The same on the device, where nothing may wait for it."""
    with FarDevice() as device:
        model, x = copy.deepcopy(model).to(FAR), move(x, FAR)
        device.waits = False
        results = run(model, x)
    assert device.operations and all(isinstance(result, FarTensor) for result in results)
    return [result.near for result in results]


def assert_equal(ours: Iterable[Tensor], theirs: Iterable[Tensor]) -> None:
    """All of them, in float32."""
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
