"""``python -m rtx_book`` with sweeps that take seconds, and runs that die or lose the disk when told to.

``MISHAPS`` in the environment says what happens to which run and when: with "tiny-rnn-s0:before .json:1:die" this one
dies the first time that it is about to move its record in place. Each run writes its name into the file ``LOG``.
"""

import os
import signal
import sys
import time
from pathlib import Path

from rtx_book import __main__ as command_line
from rtx_book.runs import runs, sweeps
from rtx_book.runs.recipes import RECIPES, Recipe
from rtx_book.runs.recipes.recipe import again

BUDGET = {"steps": 6, "batch_size": 4, "task_arguments": {"length": 5}, "eval_every": 3}
DROPPING = {"width": 4, "heads": 1, "layers": 1, "inner": 4, "positions": "none", "dropout": 0.2}
RNN = Recipe("tiny-rnn", "a test", "rnn", "adding", lr=1e-2, model_arguments={"hidden_size": 4}, **BUDGET)
TRANSFORMER = Recipe(
    "tiny-transformer", "", "causal-transformer", "adding", lr=1e-2, model_arguments=DROPPING, **BUDGET
)
EXPLODING = Recipe("tiny-exploding", "", "rnn", "adding", lr=1e30, model_arguments={"hidden_size": 4}, **BUDGET)
BROKEN = Recipe("tiny-broken", "", "rnn", "adding", lr=1e-2, model_arguments={"hidden_sizes": 4}, **BUDGET)


def after_the_first(folder):
    """The second recipe follows from the first one's record, whatever came out."""
    wanted = [(RNN, 0)] if runs.made(folder, RNN, 0)[1] is None else [(BROKEN, 0), (TRANSFORMER, 0)]
    return [(recipe, seed) for recipe, seed in wanted if runs.made(folder, recipe, seed)[1] is None]


PLANS = {
    "tiny": sweeps.Sweep("a test", [RNN, TRANSFORMER], (0, 1)),
    "one": sweeps.Sweep("a test", [RNN], (0,)),
    "follow": sweeps.Sweep("one after the other", [RNN, TRANSFORMER, BROKEN], (0,), follow=after_the_first),
    "mixed": sweeps.Sweep("runs that fail and diverge", [BROKEN, EXPLODING, again(RNN, "default")], (0,)),
}


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def no_space():
    """From now on no file may hold more than a kilobyte."""
    import resource  # Windows has none

    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))


def wait():
    """Until the file GO is there."""
    while not Path("GO").exists():
        time.sleep(0.05)


def watch(name):
    """Let the mishaps of this run happen."""
    with open(os.environ["LOG"], "a") as log:
        log.write(f"{name}\n")
    mine = [mishap.split(":")[1:] for mishap in os.environ.get("MISHAPS", "").split(",") if mishap.startswith(name)]
    happen = {"die": die, "no space": no_space, "wait": wait}
    seen, fit, move = [], runs.fit, os.replace

    def moment(what):
        seen.append(what)
        for when, count, then in mine:
            if when == what and seen.count(what) == int(count):
                happen[then]()

    def in_small_steps(*arguments, **settings):
        return fit(*arguments, **settings | {"checkpoint_every": 2, "after_step": lambda *_: moment("step")})

    def watched_move(source, target):
        moment(f"before {Path(target).suffix}")
        move(source, target)
        moment(f"after {Path(target).suffix}")

    runs.fit, os.replace = in_small_steps, watched_move


def main(arguments):
    sweeps.SWEEPS.update(PLANS)
    sweeps.PROGRAM = str(Path(__file__).resolve())
    RECIPES.update({recipe.name: recipe for plan in PLANS.values() for recipe in plan.recipes})
    if arguments[0] == "run":
        watch(f"{arguments[1]}-s{arguments[3]}")
    return command_line.main(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
