"""Where a run computes: on one device, or in several processes or mixed precision by Hugging Face ``accelerate``.

::

    global batch        its rows            share of the loss
    drawn alike by  ->  0 .. B/2-1   rank 0   w_0 / w          \\
    every process       B/2 .. B-1   rank 1   w_1 / w          /  sum over the processes = the global gradient

Every process holds the whole model and draws the same global batch from the same generator, then takes a shard of its
rows. ``Accelerator`` wraps the model in ``DistributedDataParallel``, which takes the mean of the gradients over the
processes. That is the gradient of the global mean only if all shards count alike, and they do not where their sizes or
the numbers of their frames differ. So each local loss is multiplied by N times its share of what counts.
The loss curve is then that of one process, up to rounding, but for two things. Dropout draws other masks, since each
process has a seed of its own. Batch norm normalises each shard by its own statistics, and those of the main process
are kept.

Every process evaluates by itself, so that nobody waits; the main one's scores are taken. A process that fails ends, and
the launcher ends the others. ``Accelerator.save_state`` is not used: it writes a folder of several files, which a kill
can leave half-written, and knows neither a stream's state nor which run it belongs to. The package is optional.
"""

import copy
import math
import os
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from rtx_lib.shapes import expect_each, map_tensors

PRECISIONS = ("no", "bf16")
"""What ``--mixed-precision`` of ``accelerate`` may be here; parameters stay as they are. fp16 would leave out steps."""


@dataclass(frozen=True)
class Processes:
    """Who takes part in a run. The default is one process in full precision.

    Attributes
    ----------
    rank
        Which process this is, from 0, the main one, which writes and reports.
    count
        How many there are.
    device
        Where this process computes.
    precision
        One of ``PRECISIONS``.
    accelerator
        What :func:`join` made. Without it nothing is sent, and all is computed in full precision.
    """

    rank: int = 0
    count: int = 1
    device: str = "cpu"
    precision: str = "no"
    accelerator: Any = field(default=None, compare=False, repr=False)

    @property
    def main(self) -> bool:
        """Whether this process writes and reports."""
        return self.rank == 0

    @property
    def plain(self) -> bool:
        """Whether this is one process in full precision."""
        return self.count == 1 and self.precision == "no"

    def part(self, task: Any, x: Any, y: Tensor) -> tuple[Any, Tensor, float]:
        """This process's rows of a global batch, and their share of its loss.

        The loss is a mean over ``task.loss_weight(y)``, else ``task.weight(y)``, else ``len(y)`` terms, unless
        ``task.summed``: the share is then 1. Sizes of the shards differ by at most one row.

        Raises
        ------
        ValueError
            For fewer rows than processes.
        """
        if self.count == 1:
            return x, y, 1.0
        expect_each(batch_size=(len(y), self.count))  # a row for each process

        def rows(tensor: Tensor) -> Tensor:
            return tensor.tensor_split(self.count)[self.rank]

        weight = getattr(task, "loss_weight", getattr(task, "weight", len))
        whole = weight(y) or math.nan  # as the loss of one process is where nothing counts
        share = 1.0 if getattr(task, "summed", False) else weight(rows(y)) / whole
        return map_tensors(x, rows), rows(y), share

    def prepare(self, model: nn.Module, task: Any) -> tuple[nn.Module, Any]:
        """The model as this process trains it, and its share of the task; alone, both as they are."""
        if self.accelerator is None:
            return model, task
        self.accelerator.free_memory()  # of the run before
        # A copy with the same parameters: what is prepared computes in mixed precision, and evaluations do not.
        return self.accelerator.prepare(copy.copy(model)), Shared(task, self)

    def mean(self, loss: Tensor) -> Tensor:
        """The mean over all processes, which is the loss of the global batch."""
        return loss if self.accelerator is None else self.accelerator.reduce(loss, reduction="mean")

    def agree(self, value: Any) -> Any:
        """The main process's value, in all of them."""
        if self.count == 1:
            return value
        from accelerate.utils import broadcast_object_list

        return broadcast_object_list([value])[0]

    def gather(self, value: Any) -> list[Any]:
        """The values of all processes, by rank."""
        if self.count == 1:
            return [value]
        from accelerate.utils import gather_object

        return gather_object([value])


class Shared:
    """A task of which each process sees its own rows, and whose losses have the global one for their mean."""

    def __init__(self, task: Any, processes: Processes) -> None:
        self.task, self.processes, self.share = task, processes, 1.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.task, name)

    def batch(self, *arguments: Any) -> tuple[Any, Tensor]:
        """This process's rows of a batch."""
        return self._own(self.task.batch(*arguments))

    def stream(self, *arguments: Any) -> Any:
        """This process's rows of every piece."""
        return map(self._own, self.task.stream(*arguments))

    def _own(self, batch: tuple[Any, Tensor]) -> tuple[Any, Tensor]:
        x, y, self.share = self.processes.part(self.task, *batch)
        return x, y

    def loss(self, prediction: Tensor, y: Tensor) -> Tensor:
        """N times this process's share of the loss."""
        # A shard in which nothing counts has no mean, but it takes part in the sum over the processes.
        loss: Tensor = self.task.loss(prediction, y) if self.share else (prediction * 0).sum()
        return loss * self.share * self.processes.count


ALONE = Processes()
"""One process in full precision."""


def join(device: str | None = None, precision: str | None = None) -> Processes:
    """Join the processes that ``accelerate launch`` started; a program that was started as usual stays alone.

    Parameters
    ----------
    device
        "cpu" or "cuda"; None: what ``accelerate`` chooses, "cpu" for a program alone, which may also name one GPU.
    precision
        One of ``PRECISIONS``; None: what ``accelerate launch --mixed_precision`` said, "no" for a program alone.

    Raises
    ------
    ValueError
        For an unknown precision, a device that the processes do not have, or a launcher that was asked for several
        processes and starts one.
    ModuleNotFoundError
        If ``accelerate`` is needed and is not installed.
    """
    launched = "ACCELERATE_MIXED_PRECISION" in os.environ or int(os.environ.get("WORLD_SIZE", 1)) > 1
    precision = precision or os.environ.get("ACCELERATE_MIXED_PRECISION", "no")
    expect_each(precision=(precision, PRECISIONS))
    if precision == "no" and not launched:
        return Processes(device=device or "cpu")
    try:
        from accelerate import Accelerator, DistributedDataParallelKwargs  # here: it is optional and takes a while
    except ImportError as error:
        what = "several processes and mixed precision need the package accelerate"
        raise ModuleNotFoundError(f"{what}: pip install accelerate") from error
    on_cpu = device == "cpu" or (device is None and not launched)
    unused = DistributedDataParallelKwargs(find_unused_parameters=True)  # weight decay leaves them alone, as in one
    made = Accelerator(device_placement=False, cpu=on_cpu, mixed_precision=precision, kwargs_handlers=[unused])
    if made.num_processes == 1 and "MASTER_PORT" in os.environ:
        command = "accelerate launch --multi_gpu --num_processes N PROGRAM"
        raise ValueError(f"num_processes is more than 1 but one was started; on CPUs use: {command}")
    where = str(made.device)
    if device is not None and device != made.device.type:
        if made.num_processes > 1 or on_cpu or not device.startswith("cuda:"):
            raise ValueError(f"device must be that of the processes, {made.device.type!r}, got {device!r}")
        where = device
    return Processes(made.process_index, made.num_processes, where, precision, made)


def choose_device(name: str | torch.device = "auto") -> torch.device:
    """The device of that name, checked; for ``"auto"`` a GPU if torch can use one here, else the CPU."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    check_device(name)
    return torch.device(name)


def check_device(device: str | torch.device) -> None:
    """Raise ``ValueError`` unless torch knows the device and can use it here."""
    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:  # the latter by a torch that was built without CUDA
        reason = str(error).partition("\n")[0]
        raise ValueError(f"device must be one that torch can use here, got {device!r}: {reason}") from error
