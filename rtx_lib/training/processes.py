"""One run on several processes, or in mixed precision. Hugging Face ``accelerate`` starts the processes.

::

    global batch        its rows            share of the loss
    drawn alike by  ->  0 .. B/2-1   rank 0   w_0 / w          \\
    every process       B/2 .. B-1   rank 1   w_1 / w          /  sum over the processes = the global gradient

Every process holds the whole model and draws the same global batch from the same generator, then takes rows of its
own. The loss is a mean over what counts, and the slices may hold more or less of it: each local loss is weighted by
its share, so that the sum of the gradients is the gradient of the global mean, whatever the slices are.
So the loss curve is that of one process, up to rounding, but for two things. Dropout draws other masks, since each
process has a seed of its own. Batch norm normalises each slice by its own statistics, and those of the main process
are kept.
"""

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from rtx_lib.training.checkpoints import map_tensors

PRECISIONS: dict[str, torch.dtype | None] = {"no": None, "bf16": torch.bfloat16, "fp16": torch.float16}
"""Names of ``accelerate`` for the type in which ``torch.autocast`` computes; parameters stay as they are."""


@dataclass(frozen=True)
class Processes:
    """Who takes part in a run. The default is one process in full precision.

    Attributes
    ----------
    rank
        Which process this is, from 0, the main one.
    count
        How many there are.
    device
        Where this process computes.
    precision
        One of ``PRECISIONS``.
    """

    rank: int = 0
    count: int = 1
    device: str = "cpu"
    precision: str = "no"

    def __post_init__(self) -> None:
        if self.precision not in PRECISIONS:
            raise ValueError(f"precision must be one of {', '.join(PRECISIONS)}, got {self.precision!r}")

    @property
    def main(self) -> bool:
        """Whether this process writes, evaluates and reports."""
        return self.rank == 0

    @property
    def plain(self) -> bool:
        """Whether this is one process in full precision."""
        return self.count == 1 and self.precision == "no"

    def seed(self, seed: int) -> int:
        """The seed of dropout: another one in each process, in the main one the given one."""
        return seed + 1_000_003 * self.rank

    def scaler(self, device: str | torch.device) -> torch.amp.GradScaler:
        """The loss scaler of fp16, which does nothing in other precisions."""
        return torch.amp.GradScaler(torch.device(device).type, enabled=self.precision == "fp16")

    def part(self, task: Any, x: Any, y: Tensor) -> tuple[Any, Tensor, float]:
        """This process's rows of a global batch, and their share of its loss.

        The loss is a mean over ``task.loss_weight(y)``, else ``task.weight(y)``, else ``len(y)`` terms, unless
        ``task.summed``: the share is then 1. Sizes of the parts differ by at most one row.

        Raises
        ------
        ValueError
            For fewer rows than processes.
        """
        if self.count == 1:
            return x, y, 1.0
        if len(y) < self.count:
            raise ValueError(f"batch_size must be at least the number of processes, {self.count}, got {len(y)}")

        def rows(tensor: Tensor) -> Tensor:
            return tensor.tensor_split(self.count)[self.rank]

        weight = getattr(task, "loss_weight", getattr(task, "weight", len))
        whole = weight(y) or math.nan  # as the loss of one process is where nothing counts
        share = 1.0 if getattr(task, "summed", False) else weight(rows(y)) / whole
        return map_tensors(x, rows), rows(y), share

    def update(
        self,
        model: nn.Module,
        task: Any,
        batch: tuple[Any, Tensor],
        optimizer: torch.optim.Optimizer,
        *,
        clip: float | None,
        state: Any,
        share: float,
        scaler: torch.amp.GradScaler,
    ) -> tuple[float, float, Any]:
        """As ``rtx_lib.training.update``, for one part of a global batch; the same numbers come out everywhere.

        Loss and norm are the global ones, so if one part is not finite, all processes see it. In fp16 a gradient
        that does not fit at the present scale is computed once more at half of it: no step is left out, and only
        a gradient that is not finite at scale 1 either is given back as such.
        """
        x, y = batch
        dtype = PRECISIONS[self.precision]
        parameters = [p for p in model.parameters() if p.requires_grad]
        while True:
            with torch.autocast(y.device.type, dtype, enabled=dtype is not None):
                prediction, after = model(x, state)
            prediction, after = _widen(prediction), _widen(after)  # the loss is a long sum, and a state lives long
            # A part in which nothing counts has no mean, but takes part in the sum over the processes.
            loss = task.loss(prediction, y) * share if share else (prediction * 0).sum()
            optimizer.zero_grad(set_to_none=True)
            scaler.scale(loss).backward()
            value = self._add_up(parameters, loss.detach())
            scaler.unscale_(optimizer)
            norm = float(nn.utils.clip_grad_norm_(parameters, clip if clip is not None else math.inf))
            if math.isfinite(norm) or not math.isfinite(value) or scaler.get_scale() <= 1:
                break
            # Not update(): it looks for single elements that are not finite, and a norm of finite ones may overflow.
            scaler.update(scaler.get_scale() / 2)
        if math.isfinite(value) and math.isfinite(norm):
            scaler.step(optimizer)
            scaler.update()
        return value, norm, after

    def _add_up(self, parameters: list[nn.Parameter], loss: Tensor) -> float:
        """Put the sum of the processes' gradients in their place, and return the sum of their losses.

        One message holds all. It is not sent while the backward pass still runs, as ``DistributedDataParallel``
        does it, but parameters without gradient, a state, and unequal parts need no special care.
        """
        if self.count == 1:
            return float(loss)
        given = torch.tensor([p.grad is not None for p in parameters], dtype=loss.dtype, device=loss.device)
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
        total = torch.cat([part.flatten() for part in (*gradients, given, loss)])
        dist.all_reduce(total)
        *summed, given, loss = total.split([*(p.numel() for p in parameters), len(parameters), 1])
        for p, gradient, times in zip(parameters, summed, given.tolist(), strict=True):
            p.grad = gradient.view_as(p).to(p.dtype) if times else None  # None everywhere: the optimizer skips it
        return float(loss)

    def on_main(self, function: Callable[[], Any]) -> Any:
        """What ``function()`` returns in the main process, in all of them; so does its error."""
        if self.count == 1:
            return function()
        outcome: list[Any] = [None, None]
        if self.main:
            try:
                outcome = [function(), None]
            except Exception as error:  # any: the others wait for it
                outcome = [None, error]
        dist.broadcast_object_list(outcome)
        if outcome[1] is not None:
            raise outcome[1]
        return outcome[0]

    def gather(self, value: Any) -> list[Any]:
        """The values of all processes, by rank."""
        if self.count == 1:
            return [value]
        values: list[Any] = [None] * self.count
        dist.all_gather_object(values, value)
        return values

    def spread(self, model: nn.Module) -> None:
        """Give all processes the main one's parameters and buffers."""
        if self.count == 1:
            return
        for tensor in model.state_dict().values():
            whole = tensor.contiguous()
            dist.broadcast(whole, 0)
            tensor.copy_(whole)

    def close(self) -> None:
        """Leave the others in order, at the end of a program."""
        if self.count > 1:
            dist.destroy_process_group()


ALONE = Processes()
"""One process in full precision."""


def _widen(state: Any) -> Any:
    """The same nested tensors, those of 16 bits in float32."""
    return map_tensors(state, lambda t: t.float() if t.dtype in (torch.bfloat16, torch.float16) else t)


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
    launched = "ACCELERATE_MIXED_PRECISION" in os.environ
    precision = precision or os.environ.get("ACCELERATE_MIXED_PRECISION", "no")
    alone = Processes(device=device or "cpu", precision=precision)
    if not launched and int(os.environ.get("WORLD_SIZE", 1)) == 1:
        return alone
    try:
        from accelerate import PartialState  # here, because it is optional and takes a while
    except ImportError as error:
        raise ModuleNotFoundError("several processes need the package accelerate: pip install accelerate") from error
    # The main process evaluates and tests alone while the others wait. If one dies, the launcher ends them all.
    state = PartialState(cpu=device == "cpu", timeout=timedelta(hours=12))
    if state.num_processes == 1 and "MASTER_PORT" in os.environ:
        command = "accelerate launch --multi_gpu --num_processes N -m rtx_lib.experiments run RECIPE --device cpu"
        raise ValueError(f"num_processes is more than 1 but one was started; on CPUs use: {command}")
    if device is not None and device != state.device.type and (state.num_processes > 1 or "cpu" in device):
        raise ValueError(f"device must be that of the processes, {state.device.type!r}, got {device!r}")
    where = str(state.device) if state.num_processes > 1 or device is None else device
    return Processes(state.process_index, state.num_processes, where, precision)
