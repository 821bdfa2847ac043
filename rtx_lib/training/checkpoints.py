"""Files that are whole or not there, and checkpoints that belong to one run."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor


def map_tensors(state: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """The same nested state, with ``change`` applied to every tensor."""
    if isinstance(state, Tensor):
        return change(state)
    if isinstance(state, tuple | list):
        return type(state)(map_tensors(part, change) for part in state)
    return state


def detach(state: Any) -> Any:
    """The same nested state, cut from its graph."""
    return map_tensors(state, Tensor.detach)


def move(state: Any, device: str | torch.device) -> Any:
    """The same nested state on another device."""
    return map_tensors(state, lambda tensor: tensor.to(device))


class NotWritten(OSError):
    """A file could not be written, the disk being full perhaps; what was there before is there still."""


@contextmanager
def in_one_step(path: Path) -> Iterator[Path]:
    """A file to write beside ``path``, moved there at the end: a reader sees the old content or the new one.

    Raises
    ------
    NotWritten
        If writing fails; nothing half-written is left.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())  # else a crash of the machine may leave the new name on an empty file
        os.replace(temporary, path)
    except OSError as error:
        raise NotWritten(f"{path} could not be written: {error.strerror or error}") from error
    except RuntimeError as error:  # torch.save does not say why
        raise NotWritten(f"{path} could not be written; is the disk full?") from error
    finally:
        temporary.unlink(missing_ok=True)


def generators(device: str | torch.device) -> list[Tensor]:
    """The states of torch's generators of this process: the CPU's, and that of its GPU if it computes there."""
    cuda = torch.device(device).type == "cuda"
    return [torch.get_rng_state()] + ([torch.cuda.get_rng_state(device)] if cuda else [])


def set_generators(states: list[Tensor], device: str | torch.device) -> None:
    """Set them as they were; a GPU's may be missing, or not wanted."""
    torch.set_rng_state(states[0])
    if len(states) > 1 and torch.device(device).type == "cuda":
        torch.cuda.set_rng_state(states[1], device)


def save(path: Path, contents: dict[str, Any]) -> None:
    """Write a checkpoint in one step."""
    with in_one_step(path) as temporary:
        torch.save(contents, temporary)


def load(path: Path, run: dict[str, Any]) -> dict[str, Any]:
    """Read a checkpoint and make sure that it belongs to this run.

    Raises
    ------
    ValueError
        If the file is damaged, or its ``run`` differs.
    """
    try:
        saved: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        theirs = saved["run"]
    except (OSError, MemoryError):  # of the machine, not of the file, which may be whole
        raise
    except Exception as error:  # torch raises many kinds for a damaged file
        kind = type(error).__name__
        raise ValueError(f"checkpoint {path} cannot be read ({kind}); delete it to start anew") from error
    differing = {name: (theirs.get(name), run[name]) for name in run if theirs.get(name) != run[name]}
    if differing:
        raise ValueError(f"checkpoint {path} belongs to another run (its value, this one's): {differing}")
    return saved
