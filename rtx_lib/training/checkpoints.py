"""Files that are whole or not there, and checkpoints that belong to one run."""

import math
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from rtx_lib.shapes import expect_each, map_tensors
from rtx_lib.training.history import History
from rtx_lib.training.processes import ALONE, Processes, check_device


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


@dataclass
class Run:
    """Where a training stands: all that a checkpoint holds.

    Attributes
    ----------
    rates
        The optimizer's own, which schedules multiply.
    generator
        Of the batches.
    history
        One entry for each step that was made.
    position
        Which piece of a stream came last, from 1.
    state
        What the model carries to the next piece.
    best
        The weights at the best evaluation so far, or empty.
    least
        Its metric.
    """

    model: nn.Module
    optimizer: torch.optim.Optimizer
    seed: int = 0
    device: str | torch.device = "cpu"
    processes: Processes = ALONE
    history: History = field(default_factory=History)
    position: int = 0
    state: Any = None
    best: dict[str, Tensor] = field(default_factory=dict)
    least: float = math.inf
    path: Path | None = None

    def __post_init__(self) -> None:
        check_device(self.device)
        self.model.to(self.device).train()
        self.rates = [group["lr"] for group in self.optimizer.param_groups]
        self.generator = torch.Generator().manual_seed(self.seed)
        self.started = time.perf_counter()

    def note(self, scores: dict[str, float], keep_best: str | None = None) -> dict[str, float]:
        """Note an evaluation, the main process's for all, and the weights if they are the best by this metric."""
        scores = self.processes.agree(scores)  # one set of scores decides on the best and on a plateau
        expect_each(keep_best=(keep_best, [None, *scores]))
        if keep_best and scores[keep_best] < self.least:
            self.least = scores[keep_best]
            self.best = {name: value.detach().cpu().clone() for name, value in self.model.state_dict().items()}
        self.history.evaluations.append({"step": len(self.history.step), "split": "valid", **scores})
        return scores

    def tick(self) -> None:
        """Note the time."""
        self.history.seconds = time.perf_counter() - self.started

    def finish(self) -> History:
        """Leave the model as it was at the best evaluation, if that was asked for; what the run leaves behind."""
        if self.best:
            self.model.load_state_dict(self.best)
        return self.history

    def save(self) -> None:
        """Write the checkpoint that :meth:`resume` was told of: the main process does, for all."""
        own = {"state": move(self.state, "cpu"), "generators": generators(self.device)}
        contents = {"run": self.settings, "history": asdict(self.history), "position": self.position}
        contents |= {"least": self.least, "best": self.best, "own": self.processes.gather(own)}
        contents |= {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}
        contents["generator"] = self.generator.get_state()
        if self.path and self.processes.main:
            save(self.path, contents)

    def resume(self, checkpoint: str | Path | None, settings: dict[str, Any]) -> None:
        """Go on from a checkpoint if it is there; it must be of a run of the same settings."""
        self.path, saved = Path(checkpoint) if checkpoint else None, None
        self.settings = settings | {"seed": self.seed, "rates": self.rates}
        self.settings |= {"format": 2}  # what an older version wrote is refused, not misread
        self.settings |= {"processes": self.processes.count, "precision": self.processes.precision}
        if self.path and self.processes.main and self.path.exists():
            saved = load(self.path, self.settings)
        saved = self.processes.agree(saved)
        if saved is None:
            return
        self.model.load_state_dict(saved["model"])
        self.optimizer.load_state_dict(saved["optimizer"])
        self.generator.set_state(saved["generator"])
        self.history, self.position = History(**saved["history"]), saved["position"]
        self.least, self.best = saved["least"], saved["best"]
        own = saved["own"][self.processes.rank]
        self.state = move(own["state"], self.device)
        set_generators(own["generators"], self.device)
        self.started -= self.history.seconds
