"""Smoothing and ARIMA on the series of the recipes: fitted once, on training rows, and carried on to every window."""

import time
from typing import Any

import torch
from torch import Tensor, nn

from rtx_lib import models
from rtx_lib.tasks.dated import filled
from rtx_lib.training import History


class Statistician(nn.Module):
    """The best of several forms of a classical model on a `SeriesTask` whose levels are "normal".

    The least squared error on "valid" decides which form is tested on "test", there on all windows.

    Parameters
    ----------
    forms
        Each a class of :mod:`rtx_lib.models.classical`, and its arguments.
    past
        How many of the last training rows are fitted.
    every
        Steps from one window of "valid" to the next.
    """

    def __init__(self, task: Any, forms: list[tuple[str, dict[str, Any]]], past: int, every: int) -> None:
        super().__init__()
        self.forms = [getattr(models, name)(season=task.season, past=past, **how) for name, how in forms]
        self.task, self.every = task, every
        self.rows = filled((task.series.values - task.middle) / task.width, 1)  # gaps by the value before

    def judged(self) -> tuple[History, dict[str, float]]:
        """An evaluation of each form, as if they were steps, and the metrics of the best."""
        start, history = time.perf_counter(), History()
        for place, form in enumerate((own.fit(self.rows[: self.task.borders[1]]) for own in self.forms), 1):
            history.evaluations.append({"step": place, "split": "valid"} | self._scores(form, "valid", self.every))
        best = self.forms[min(history.evaluations, key=lambda row: row["mse"])["step"] - 1]
        # A parameter, so that it is counted as others are.
        self.fitted = nn.Parameter(torch.tensor([number for one in best.fitted for number in one.params]))
        metrics = self._scores(best, "test", 1)
        history.seconds = time.perf_counter() - start
        return history, metrics

    def _scores(self, form: Any, split: str, every: int) -> dict[str, float]:
        origins = self.task.splits.finite(split)[0][::every]
        mean, deviation = map(torch.from_numpy, form.forecast(self.rows, origins.tolist(), self.task.horizon))
        s: Tensor = deviation + torch.log(-torch.expm1(-deviation))  # softplus(s) is the deviation
        return self.task.metrics(torch.stack([mean, s], -1).flatten(2).float(), self.task._cut(origins)[1])
