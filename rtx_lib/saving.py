"""A trained model with its task in one file, and back.

The file is one of safetensors: the weights by the names of the model's ``state_dict``, and in the header's metadata,
under ``"rtx_lib"``, JSON that says how model and task are made again::

    {"version": 1,
     "model": {"class": "Readout", "arguments": {"core": {"class": "LSTM", "arguments": {"input_size": 65,
               "hidden_size": 128}}, "output_size": 65}},
     "task": {"class": "TextTask", "configuration": {"name": "mine-character-64", "length": 64, ...}}}

Nothing in it is a program: a name is looked up among the classes of `rtx_lib.layers`, `rtx_lib.models` and
`rtx_lib.tasks`, and nowhere else.

A task that can be saved has the method ``configuration()``, which returns what JSON can hold, and the class method
``from_configuration(configuration)``, which makes it again, without data.
"""

import json
from functools import partial
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import torch
from torch import nn

from rtx_lib import layers, models, tasks
from rtx_lib.layers.arguments import Foreign, arguments_of
from rtx_lib.training.checkpoints import in_one_step

VERSION = 1
MODULES = {
    name: kind
    for name, kind in {**vars(layers), **vars(models)}.items()
    if isinstance(kind, type) and issubclass(kind, nn.Module)
}
TASKS = {name: one for name, one in vars(tasks).items() if hasattr(one, "from_configuration")}


def save(path: str | Path, model: nn.Module, task: Any) -> None:
    """Write model and task into one file, in one step: where a file was before, it is there whole, or the new one is.

    Parameters
    ----------
    path
        The file; ``.safetensors`` is the usual ending.
    model
        A model of `rtx_lib.layers` or `rtx_lib.models`, made of parts of these. Of a module of one's own, keep
        ``state_dict()`` with ``torch.save``.
    task
        A task with a ``configuration``, such as `rtx_lib.tasks.TextTask`. Its data are not saved.

    Raises
    ------
    NotWritten
        If the file cannot be written, the disk being full perhaps.
    """
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    kind = type(task).__name__
    if TASKS.get(kind) is not type(task):
        raise ValueError(f"task must be one that can be saved, {' or '.join(TASKS)}, got {kind}")
    header = {"version": VERSION, "model": describe(model, "model")}
    header["task"] = {"class": kind, "configuration": task.configuration()}
    weights = {name: value.detach().clone().contiguous() for name, value in model.state_dict().items()}
    with torch.device("meta"):
        anew = {name: value.shape for name, value in build(header["model"]).state_dict().items()}
    if anew != {name: value.shape for name, value in weights.items()}:
        raise ValueError(f"model must have the weights that its constructor makes, to be saved, got others: {model}")
    with in_one_step(Path(path)) as temporary:
        try:
            save_file(weights, temporary, {"rtx_lib": json.dumps(header, default=lambda number: number.item())})
        except SafetensorError as error:  # a full disk, for one
            raise OSError(str(error)) from error


def load(path: str | Path) -> tuple[Any, Any]:
    """Model and task of a file that :func:`save` wrote: the model on the CPU in ``eval()``, the task without data.

    ``generate(*load("mine.safetensors"), "The book ", 200)`` goes on where one stopped. What the model draws when it is
    made, is drawn apart from torch's global generator.

    Raises
    ------
    ValueError
        If the file is cut off, is no file of :func:`save`, or one of another version.
    """
    from safetensors import SafetensorError, safe_open

    rule = f"path must be a whole file that rtx_lib.save wrote, got {str(path)!r}"
    Path(path).open("rb").close()  # what the system says of a file that is not there, is not said better here
    try:
        with safe_open(path, "pt") as file:
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118, which is no dict
            contents = json.loads((file.metadata() or {})["rtx_lib"])
            version = contents["version"]
    except (SafetensorError, OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"{rule}, which is cut off, damaged or of another kind") from error
    if version != VERSION:
        raise ValueError(f"{rule}, which is of version {version!r}, while this rtx_lib reads version {VERSION}")
    try:
        with torch.random.fork_rng(devices=[]):
            model = build(contents["model"])
        for name, own in [*model.named_parameters(), *model.named_buffers()]:
            own.data = own.data.to(weights.get(name, own).dtype)
        model.load_state_dict(weights)
        kept = contents["task"]
        return model.eval(), TASKS[kept["class"]].from_configuration(kept["configuration"])
    except (ValueError, TypeError, KeyError, AttributeError, RuntimeError, RecursionError) as error:
        raise ValueError(f"{rule}, the parts of which do not fit each other: {str(error).splitlines()[0]}") from error


def describe(value: Any, name: str) -> Any:
    """What JSON can hold of an argument: a number or name as it is, a module as its class and its own arguments."""
    if value is None or isinstance(value, bool) or (isinstance(value, str) and not isinstance(value, Foreign)):
        return value
    if isinstance(value, Real):  # of numpy too
        return int(value) if isinstance(value, Integral) else float(value)
    if isinstance(value, list | tuple):
        return [describe(part, name) for part in value]
    parts: dict[str, Any] = {}
    kind: Any = value if isinstance(value, type) else type(value)
    if isinstance(value, partial) and not value.args:
        kind, parts = value.func, {"options": value.keywords}
    elif isinstance(value, nn.Module):
        parts = {"arguments": arguments_of(value)}
    if (called := getattr(kind, "__name__", "")) not in MODULES or MODULES[called] is not kind:
        allowed = "a module or class of rtx_lib, or functools.partial of one"
        got = value if isinstance(value, Foreign) else type(value).__name__
        raise ValueError(f"{name} must be {allowed}, to be saved, got {got}")
    return {"class": called} | {part: {k: describe(v, k) for k, v in given.items()} for part, given in parts.items()}


def build(described: Any) -> Any:
    """What :func:`describe` described."""
    if isinstance(described, list):
        return tuple(map(build, described))
    if not isinstance(described, dict):
        return described
    kind = MODULES[described["class"]]
    given = described.get("options") or described.get("arguments") or {}
    made = partial(kind, **{name: build(value) for name, value in given.items()})
    return made() if "arguments" in described else made if given else kind
