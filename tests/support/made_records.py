"""Made-up records: with a test loss and nothing else, for what is said about records, and whole ones."""

import json
import math

# An entry of the claims, whose rule `records(a=..., b=...)` decide.
ENTRY = {"id": "one", "chapter": "recurrence", "claim": "A is better than B.", "source": "A paper", "unit": "nats"}
ENTRY |= {"published": "1.0 against 2.0.", "differs": "Smaller."}
ENTRY |= {"ours": {"A": "a.loss", "B": "b.loss"}, "rules": ["every A < B"]}


def run(recipe, seed, loss):
    """A record; a loss of None stands for a run that diverged, NaN for a test whose loss was not finite."""
    diverged = None if loss is not None else {"step": 3, "reason": "nan"}
    metrics = {} if diverged or math.isnan(loss) else {"loss": loss}
    told = {"recipe": recipe, "seed": seed, "metrics": metrics, "diverged": diverged, "baselines": {}}
    cost = {"parameters": 1000, "seconds": 1.0, "configuration": {"steps": 100 * (seed + 1)}}
    return {**told, **cost, "evaluations": []}


def records(**losses):
    return {recipe: [run(recipe, seed, loss) for seed, loss in enumerate(values)] for recipe, values in losses.items()}


def whole(recipe="adding-rnn-t10", seed=0, **changes):
    """A record that follows the schema."""
    settings = {"name": recipe, "about": "tanh RNN on a task", "model": "rnn", "task": "adding"}
    settings |= {"steps": 4000, "batch_size": 50, "lr": 0.001, "clip": 1.0}
    made = {"format": 1, "recipe": recipe, "configuration": settings, "seed": seed}
    made |= {"commit": "0123456789abcdef0123456789abcdef01234567"}
    made |= {"versions": {"python": "3.11.7", "torch": "2.13.0", "numpy": "2.4.6", "rtx_lib": "0.1.0"}}
    made |= {"device": {"name": "CPU", "threads": 1}, "seconds": 12.3, "parameters": 16897}
    made |= {"curves": {"step": [1], "loss": [0.5]}, "diverged": None}
    made |= {"evaluations": [{"step": 4000, "split": "valid", "mse": 0.02}]}
    return made | {"metrics": {"mse": 0.01}, "baselines": {"predict 1": 1 / 6}} | changes


def write(folder, *found):
    """Write records as single runs do."""
    folder.mkdir(parents=True, exist_ok=True)
    for one in found:
        (folder / f"{one['recipe']}-s{one['seed']}.json").write_text(json.dumps(one))
