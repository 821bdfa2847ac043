"""Records with a test loss and nothing else, for tests of what is said about records."""

import math


def run(recipe, seed, loss):
    """A record; a loss of None stands for a run that diverged, NaN for a test whose loss was not finite."""
    diverged = None if loss is not None else {"step": 3, "reason": "nan"}
    metrics = {} if diverged or math.isnan(loss) else {"loss": loss}
    return {
        "recipe": recipe,
        "seed": seed,
        "metrics": metrics,
        "diverged": diverged,
        "baselines": {},
        "parameters": 1000,
        "seconds": 1.0,
        "configuration": {"steps": 100 * (seed + 1)},
        "evaluations": [],
    }


def records(**losses):
    return {recipe: [run(recipe, seed, loss) for seed, loss in enumerate(values)] for recipe, values in losses.items()}
