"""Files that are whole or not there, and checkpoints that belong to one run."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor


def _map(state: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Apply ``change`` to every tensor of a nested state."""
    if isinstance(state, Tensor):
        return change(state)
    if isinstance(state, tuple | list):
        return type(state)(_map(part, change) for part in state)
    return state


def detach(state: Any) -> Any:
    """The same nested state, cut from its graph."""
    return _map(state, Tensor.detach)


def move(state: Any, device: str | torch.device) -> Any:
    """The same nested state on another device."""
    return _map(state, lambda tensor: tensor.to(device))


@contextmanager
def in_one_step(path: Path) -> Iterator[Path]:
    """A file to write beside ``path``, moved there at the end: a reader sees the old content or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def save(path: Path, contents: dict[str, Any]) -> None:
    """Write a checkpoint in one step, with torch's generators."""
    contents["generators"] = [torch.get_rng_state()]
    if torch.cuda.is_available():
        contents["generators"] += torch.cuda.get_rng_state_all()
    with in_one_step(path) as temporary:
        torch.save(contents, temporary)


def load(path: Path, run: dict[str, Any]) -> dict[str, Any]:
    """Read a checkpoint, make sure that it belongs to this run, and set torch's generators as they were.

    Raises
    ------
    ValueError
        If the file is damaged or its ``run`` differs.
    """
    try:
        saved: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        theirs = saved["run"]
    except Exception as error:  # torch raises many kinds for a damaged file
        raise ValueError(
            f"checkpoint {path} cannot be read ({type(error).__name__}); delete it to start anew"
        ) from error
    differing = {name: (theirs.get(name), run[name]) for name in run if theirs.get(name) != run[name]}
    if differing:
        raise ValueError(f"checkpoint {path} belongs to another run (its value, this one's): {differing}")
    torch.set_rng_state(saved["generators"][0])
    if torch.cuda.is_available() and len(saved["generators"]) > 1:
        torch.cuda.set_rng_state_all(saved["generators"][1:])
    return saved
