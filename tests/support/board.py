"""Four lanes and three tasks of a race, and what the seeds of a lane reached."""

import numpy as np

LANES = {"rnn": "RNN", "indrnn": "IndRNN", "indrnn-published": "IndRNN, as published", "tcn": "TCN"}
TASKS = {
    "adding": {"name": "Adding", "metric": "mse", "line": 0.01, "label": "MSE", "baselines": {"always 1": 1 / 6}},
    "digits": {"name": "Digits", "metric": "accuracy", "line": 0.95, "label": "accuracy", "baselines": {}},
    "text": {"name": "Text", "metric": "loss", "line": None, "label": "nats per character", "baselines": {}},
}


def summary(values, solved, diverged=0):
    middle, low, high = (float(np.median(values)), min(values), max(values)) if values else (None, None, None)
    told = {"seeds": len(values) + diverged, "values": values, "solved": solved, "diverged": diverged}
    return told | {"median": middle, "low": low, "high": high}
