"""Workers of a tiny sweep as processes of their own, which are killed or run out of disk where they are told to.

``python tests/support/sweep_workers.py FOLDER`` acts all scenes and writes down what happened in FOLDER/scenes.json.
A moment is the end of a step, or the instant before or after a file is moved in place.
"""

import json
import multiprocessing
import os
import random
import signal
import sys
from dataclasses import replace
from pathlib import Path

import torch
from torch import nn

from rtx_lib.experiments import __main__ as experiments
from rtx_lib.experiments import sweeps
from rtx_lib.experiments.recipes import Recipe

BUDGET = {"steps": 6, "batch_size": 4, "lr": 1e-2, "task_arguments": {"length": 5}, "clip": 1.0, "eval_every": 3}
DROPPING = {"width": 4, "heads": 1, "layers": 1, "inner": 4, "positions": "none", "dropout": 0.2}
PLAN = sweeps.Sweep(
    "a test",
    [
        Recipe("tiny-rnn", "a test", "rnn", "adding", model_arguments={"hidden_size": 4}, **BUDGET),
        Recipe("tiny-transformer", "a test", "causal-transformer", "adding", model_arguments=DROPPING, **BUDGET),
    ],
    (0, 1),
)
SHORT = replace(PLAN, seeds=(0,))
# Forked, so that what is imported is imported once. Windows cannot, and on macOS what torch starts does not bear it.
processes = multiprocessing.get_context("fork" if sys.platform == "linux" else None)


class NoLock:
    """The planted mistake: a lock that nobody takes."""

    def __init__(self, path, **settings):
        pass

    def acquire(self, timeout):
        pass

    def release(self):
        pass


def worker(folder, *, plan=SHORT, at=None, then=None, barrier=None, lock=None, moments=None):
    """One worker in this process: ``then`` happens at moment number ``at``; returns the exit status."""
    fit, run, move = experiments.fit, experiments.run, os.replace
    seen = []
    waits = [barrier] if barrier else []  # in its first run only: there is no second one together

    def moment(what):
        seen.append(what)
        if len(seen) == at:
            then()

    def in_small_steps(*arguments, **settings):
        settings |= {"checkpoint_every": 2, "after_step": lambda step, model, loss: moment("step")}
        return fit(*arguments, **settings)

    def watched_move(source, target):
        moment(f"before {Path(target).suffix}")
        move(source, target)
        moment(f"after {Path(target).suffix}")

    def logged_run(recipe, seed, **settings):
        with (folder / "log").open("a") as log:
            log.write(f"{recipe.name}-s{seed}\n")
        if waits:
            waits.pop().wait(600)
        return run(recipe, seed, **settings)

    experiments.fit, experiments.run, os.replace = in_small_steps, logged_run, watched_move
    experiments.commit = lambda: "unknown"  # git takes a while
    sweeps.SWEEPS["tiny"] = plan
    sweeps.FileLock = lock or sweeps.FileLock
    status = experiments.main(["sweep", "tiny", "--out", str(folder)])
    if moments:
        moments.write_text(json.dumps(seen))
    return status


def start(folder, **settings):
    """A worker in a process of its own, which writes its output beside the records."""

    def target():
        for stream, name in ((1, "stdout"), (2, "stderr")):
            os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
        status = worker(folder, **settings)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)

    folder.mkdir(parents=True, exist_ok=True)
    process = processes.Process(target=target)
    process.start()
    return process


def finish(*workers):
    """Their exit statuses."""
    for process in workers:
        process.join(600)
    return [process.exitcode for process in workers]


def scene(folder, *workers):
    """What the workers left behind."""
    statuses = finish(*workers)
    files = sorted(path.name for path in folder.iterdir() if path.name not in ("log", "stdout", "stderr"))
    texts = {name: (folder / name).read_text() for name in ("stdout", "stderr", "log")}
    return {"folder": str(folder), "statuses": statuses, "files": files, **texts}


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def no_space():
    """From now on no file may hold more than a kilobyte."""
    import resource  # Windows has none

    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))


def main(root):
    torch.set_num_threads(1)
    torch.optim.Adam(nn.Linear(1, 1).parameters())  # imports much, and once before the fork is enough
    scenes = {"whole": scene(root / "whole", start(root / "whole", moments=root / "moments"))}
    moments = json.loads((root / "moments").read_text())
    numbers = {
        kind: [number for number, what in enumerate(moments, start=1) if what in kinds]
        for kind, kinds in {
            "step": ["step"],
            "checkpoint": ["before .ckpt", "after .ckpt"],
            "record": ["before .json", "after .json"],
        }.items()
    }
    draw = random.Random(7)
    for kind, where in numbers.items():
        at = draw.choice(where)
        folder = root / f"killed at {kind}"
        scenes[f"killed at {kind}"] = {"at": moments[at - 1], **scene(folder, start(folder, at=at, then=die))}
        scenes[f"resumed at {kind}"] = scene(folder, start(folder))
    # In the second run after its first checkpoint, and after its last one, when the record is to be written.
    ends = [number for number, what in enumerate(moments, start=1) if what == "after .ckpt"]
    for name, at in {"checkpoint": ends[3], "record": ends[5]}.items():
        folder = root / f"full at {name}"
        scenes[f"full at {name}"] = scene(folder, start(folder, at=at, then=no_space))
        scenes[f"emptied at {name}"] = scene(folder, start(folder))
    # Both workers wait for each other in their first run, so that they are there at the same time.
    for name, lock in {"two": None, "two without locks": NoLock}.items():
        folder, barrier = root / name, processes.Barrier(2)
        scenes[name] = scene(folder, *(start(folder, plan=PLAN, barrier=barrier, lock=lock) for _ in range(2)))
    (root / "scenes.json").write_text(json.dumps(scenes))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
