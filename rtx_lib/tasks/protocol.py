"""What every task offers: data, a loss, a metric and a baseline in closed form.

Letters: B batch, T time, V vocabulary, D_in and D_out the widths of input and output.
"""

from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor


@runtime_checkable
class Task(Protocol):
    """Data with its loss and metric. A class is a task when it has these names; nothing is inherited.

    The splits are "train", "valid" and "test". "valid" and "test" are finite and the same for everybody;
    "train" is finite where data are read and endless where they are generated.
    A prediction is always the whole output of a model, (B, T, output_size): the task picks the positions
    that count.

    Five members are needed: `input_size`, `output_size`, `batch`, `loss` and `metrics`. Without a `name` a task bears
    that of its class; without `batches` it is evaluated on a thousand sequences that `batch` draws, always the same.
    `rtx_lib.training.fit` names what is missing, and takes other data, too (`rtx_lib.training.data.Pairs`).

    Some more are optional. `stream(split, size, length)` cuts a split of contiguous text, where a state carried from
    one piece to the next means something, into `size` parallel streams and yields pieces x, y (size, length) in order.

    Two methods concern metrics, and `rtx_lib.training.evaluate` uses them where a task has them. `weight(y)` is the
    number of positions that count in labels y, and a metric is then a mean over these positions: batches are weighted
    by it, without it by their number of sequences. `finish(metrics)` returns the metrics of a whole split with what
    follows from their means, such as the perplexity from the loss, and is no mean itself.

    A task that reads files names them in `files`, as `rtx_lib.tasks.files_of` says, and reads what stands there.

    Several processes train on shards of a batch, and how much of the loss a shard makes must be known. The loss is
    taken to be a mean over `loss_weight(y)`, else `weight(y)`, else the number of sequences; where an attribute
    `summed` is true, it is a sum.
    """

    @property
    def name(self) -> str:
        """Short name for records and labels, such as "adding-100"."""

    @property
    def input_size(self) -> int:
        """D_in for float inputs, V for ids."""

    @property
    def output_size(self) -> int:
        """The width D_out, one number per regression target, one logit per class or symbol."""

    @property
    def vocabulary(self) -> int | None:
        """None where x holds floats (B, T, input_size); V where it holds ids (B, T) in 0..V-1, to be embedded."""

    def batch(self, split: str, size: int, generator: torch.Generator) -> tuple[Any, Tensor]:
        """Draw `size` sequences x and labels y; equal states of the (CPU) generator give equal batches.

        x is a tensor, the pair (source, target in) for a sequence-to-sequence task, or (story, question).
        Raises ValueError for an unknown split or a size below 1.
        """

    def batches(self, split: str, size: int) -> Iterator[tuple[Any, Tensor]]:
        """Run once through a finite split in a fixed order; the last batch may be smaller.

        Raises ValueError for an unknown or endless split or a size below 1, before the first batch.
        """

    def loss(self, prediction: Tensor, y: Tensor) -> Tensor:
        """The training loss, a scalar that can be differentiated, of a prediction (B, T, output_size)."""

    def metrics(self, prediction: Tensor, y: Tensor) -> dict[str, float]:
        """Named numbers, each a mean over the batch."""

    def baselines(self) -> dict[str, float]:
        """What a model reaches without learning the task, by the name of its strategy."""
