"""Rules that set a model against a rival that learned nothing."""

import math
import re

from rtx_book.records import measured, rules

NATS = {"loss": 1, "mse": 1, "bpc": math.log(2)}  # that one unit of a metric has; baselines of text are in nats
TRIVIAL = ("predict 1", "no memory", "note transitions", "bigram loss")


def no_better_than_trivial(one, found):
    """Which of ours are set against another though a seed of theirs misses the mean or counting.

    No rivals are a baseline itself, and the same model with other settings or, in trials, at another rate.
    """
    weak = set()
    for rule in one.rules:
        names = rules.names(rules.parse(rule, one.ours), one.ours)
        sides = {name: measured.split(one.ours[name], found) for name in names}
        models = {re.sub(r"^(rate-.+)-[\d.]+$", r"\1", recipe) for recipe, _ in sides.values()}
        alone = len(models) < 2
        if alone or any(metric.startswith("baselines.") for _, metric in sides.values()):
            continue
        for name, (recipe, metric) in sides.items():
            if (unit := NATS.get(re.split("[. ]", metric)[-1])) is None:
                continue
            for run, value in zip(found[recipe], measured.series(one.ours[name], found), strict=True):
                lines = [run["baselines"][kind] / unit for kind in TRIVIAL if kind in run["baselines"]]
                if lines and (value is None or value >= min(lines)):
                    weak.add(name)
    return weak
