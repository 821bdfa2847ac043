"""What :func:`rtx_lib.training.loop.fit` takes beside tasks: data with a loss. And what it says of everything else."""

import inspect
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, default_collate

MEMBERS = {
    "batch": "batch(split, size, generator) draws x and y",
    "stream": "stream(split, size, length) yields pieces of a text in order",
    "loss": "loss(prediction, y) is what training lowers",
    "metrics": "metrics(prediction, y) is what an evaluation reports",
}


class Pairs:
    """Data and a loss as a task: what ``fit(model, data, loss=loss)`` makes of them, and more with ``valid``.

    Without ``valid`` nothing is held out. The loss of training is then all that is known of a run, and ``eval_every``
    is refused.

    Parameters
    ----------
    data
        Batches (x, y): a ``DataLoader``, a list, or any other iterable, which is begun anew when it ends. Or rows
        (x, y): a ``TensorDataset``, or any other ``Dataset``, of which batches are drawn with replacement.
    loss
        A function of the model's whole prediction (B, T, D_out) and y that returns a scalar, as
        ``lambda prediction, y: cross_entropy(prediction[:, -1], y)``.
    valid
        Data of either kind to evaluate on.
    """

    name = "pairs"

    def __init__(self, data: Any, loss: Callable[[Tensor, Tensor], Tensor], valid: Any = None) -> None:
        for given, what in ((data, "data"), (valid, "valid")):
            if isinstance(given, IterableDataset):
                raise ValueError(f"{what} must be batches, as DataLoader({what}, batch_size=32) makes, got single rows")
            if hasattr(given, "__getitem__") and not len(given):
                raise ValueError(f"{what} must not be empty, got {type(given).__name__} of length 0")
        if not callable(loss):
            raise ValueError(f"loss must be a function (prediction, y) -> scalar, got {type(loss).__name__}")
        self.data, self.function, self.valid = data, loss, valid
        self._pass: Iterator[Any] = iter(())
        self._read = 0

    @property
    def rows(self) -> bool:
        """Whether ``data`` holds rows, so that the size of a batch has to be said."""
        return isinstance(self.data, Dataset)

    def batch(self, split: str, size: int, generator: torch.Generator) -> tuple[Any, Tensor]:
        """The next batch of ``data``, or ``size`` of its rows; ``split`` is "train"."""
        if self.rows:
            places = torch.randint(len(self.data), (size,), generator=generator).tolist()
            return _pair(default_collate([self.data[place] for place in places]))
        found = next(self._pass, None)
        if found is None:  # where a pass ends, the next begins
            self._pass = iter(self.data)
            found = next(self._pass, None)
        if found is None:
            got = f"{type(self.data).__name__}, which ended for good after {self._read} batches"
            raise ValueError(f"data must be what can be read again, such as a list or a DataLoader, got {got}")
        self._read += 1
        return _pair(found)

    def batches(self, split: str, size: int) -> Iterator[tuple[Any, Tensor]]:
        """Once through the data, or through ``valid``."""
        data = self.data if split == "train" else self.valid
        return map(_pair, DataLoader(data, size) if isinstance(data, Dataset) else data)

    def loss(self, prediction: Tensor, y: Tensor) -> Tensor:
        """What the function says, if that is a scalar."""
        try:
            found = self.function(prediction, y)
        except (IndexError, RuntimeError, ValueError) as error:
            got = f"{tuple(prediction.shape)} and {tuple(y.shape)}"
            raise ValueError(f"loss must take the whole prediction and y, of shapes {got}: {error}") from error
        if not isinstance(found, Tensor) or found.ndim:
            got = f"shape {tuple(found.shape)}" if isinstance(found, Tensor) else type(found).__name__
            raise ValueError(f"loss must return a scalar tensor, got {got}")
        return found

    def metrics(self, prediction: Tensor, y: Tensor) -> dict[str, float]:
        """{"loss"}."""
        return {"loss": self.loss(prediction.detach(), y).item()}


def as_task(
    data: Any, loss: Any, *, batch_size: int | None, stream: bool, eval_every: int | None, resumed: bool
) -> Any:
    """The task itself, or data with a loss as one; ``ValueError``, in a sentence, for everything else.

    Arguments as of ``fit``; ``resumed`` tells whether the place in the data must be known, for a checkpoint or several
    processes.
    """
    kind = f"the class {data.__name__}" if isinstance(data, type) else type(data).__name__
    needed = ["stream" if stream and hasattr(data, "stream") else "batch", "loss", *["metrics"] * bool(eval_every)]
    if allowed := _refused(data, needed):
        raise ValueError(f"task must {allowed}, got {kind}")
    if any(hasattr(data, name) for name in MEMBERS):
        if loss is not None:
            raise ValueError(f"loss must be None with a task, which has its own, got {type(loss).__name__}")
        task = Pairs(data.data, data.function, data.valid) if isinstance(data, Pairs) else data  # begun anew
    elif loss is None:
        rule = f"a function (prediction, y) -> scalar with a {kind}; tasks such as rtx_lib.TableTask have their own"
        raise ValueError(f"loss must be {rule}, got None")
    else:
        task = Pairs(data, loss)
    given = isinstance(task, Pairs) and not task.rows
    if given == (batch_size is not None):
        rule = f"None, since the {type(task.data).__name__} makes the batches" if given else "at least 1"
        raise ValueError(f"batch_size must be {rule}, got {batch_size}")
    if given and resumed:
        why = "with a checkpoint or several processes, which need to know the place in it"
        raise ValueError(f"data must be a task or a Dataset {why}, got {type(task.data).__name__}")
    if isinstance(task, Pairs) and eval_every and task.valid is None:
        raise ValueError(f"eval_every must be None, or data held out by Pairs(data, loss, valid=...), got {eval_every}")
    return task


def check_model(model: Any) -> None:
    """Raise ``ValueError`` for what is no model, or one that takes no state."""
    if not isinstance(model, nn.Module):
        got = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
        order = " (it comes first: fit(model, task))" if hasattr(model, "batch") else ""
        raise ValueError(
            f"model must be an nn.Module, as rtx_lib.Readout(rtx_lib.GRU(D, 32), task) is, got {got}{order}"
        )
    try:
        inspect.signature(model.forward).bind(None, None)
    except TypeError:
        form = "map (x, state) to (y, state), as the models of rtx_lib do, with None for a state that there is not"
        raise ValueError(f"model must {form}, got {type(model).__name__}, which takes no state") from None
    except ValueError:  # compiled code shows no signature
        pass


def _refused(data: Any, needed: list[str]) -> str:
    """What a task must be or have, if these data cannot be made one."""
    if isinstance(data, type):
        return f"be an instance, as {data.__name__}(...) makes"
    if isinstance(data, str | Path):
        return f"be a task, as rtx_lib.TextTask({str(data)!r}) makes of a text"
    if isinstance(data, nn.Module):
        return "be a task and come behind the model, as in fit(model, task)"
    if _is_array(data) or (isinstance(data, list | tuple) and any(map(_is_array, data))):
        return "be a task, as rtx_lib.TableTask(x, y) makes of arrays"
    if isinstance(data, Iterable | Dataset) and not any(hasattr(data, name) for name in MEMBERS):
        return ""
    missing = [name for name in needed if not hasattr(data, name)]
    told = "; ".join(MEMBERS[name] for name in missing)
    return f"have {' and '.join(missing)}, as rtx_lib.TableTask does ({told})" if missing else ""


def _is_array(data: Any) -> bool:
    return isinstance(data, Tensor) or hasattr(data, "__array__")


def _pair(found: Any) -> tuple[Any, Tensor]:
    """x, a tensor or several, and y of what an iterable gave."""
    if not isinstance(found, list | tuple) or len(found) != 2:
        got = f"{len(found)} parts" if isinstance(found, list | tuple) else type(found).__name__
        raise ValueError(f"data must hold pairs (x, y), got {got}")
    x, y = found
    return tuple(x) if isinstance(x, list | tuple) else torch.as_tensor(x), torch.as_tensor(y)
