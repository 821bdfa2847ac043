"""Eight examples, a copy of a model, and what comes of training on them at several rates: what `checkup` looks at."""

import copy
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from rtx_lib.diagnostics.hooks import leaf, output_of

RATES = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2)
"""The learning rates that are tried, of Adam."""

ROWS = 8  # examples to be learned by heart
KNOWN = 0.1  # of the loss of the best constant: training ends
HALVED = 0.5  # of the loss at the start: enough to know that a rate trains


def draw_examples(task: Any, loss: Any, seed: int) -> tuple[Any, Tensor, Any]:
    """x and y of eight rows, and x of another batch if there is one."""
    if isinstance(task, (tuple, list)) and len(task) == 2 and loss is not None:
        (x, y), other = task, None
    elif callable(getattr(task, "batch", None)) and callable(loss or getattr(task, "loss", None)):
        generator = torch.Generator().manual_seed(seed)
        (x, y), (other, _) = (task.batch("train", ROWS, generator) for _ in range(2))
    else:
        what = "a task with batch(split, size, generator) and loss(prediction, y), or a pair (x, y) with loss="
        raise ValueError(f"task must be {what}, got {type(task).__name__}")
    # A square batch would hide an exchange of its axes.
    rows = ROWS - (isinstance(x, Tensor) and x.shape[1] == ROWS)
    return tuple(part[:rows] for part in x) if isinstance(x, tuple) else x[:rows], y[:rows], other


@dataclass
class Case:
    """A copy of a model, eight rows, and what comes of training on them.

    Its arguments are those of :func:`rtx_lib.training.checkup.checkup`, with x (of eight rows), y, and ``other``, x of
    another batch or None, in place of the task.
    """

    model: nn.Module  # which stays as it is
    x: Any
    y: Tensor
    other: Any
    loss: Callable[[Tensor, Tensor], Tensor]
    lr: float | None
    causal: bool
    pad: float | None
    steps: int
    seconds: float
    seed: int

    def run(self, model: nn.Module, x: Any, training: bool) -> Tensor:
        """The output (B, T, O), with the same chance each time."""
        torch.manual_seed(self.seed)
        return output_of(model.train(training)(x), x[-1] if isinstance(x, tuple) else x)

    @cached_property
    def start(self) -> Tensor:
        """What the untrained model gives, in training mode."""
        return self.run(copy.deepcopy(self.model), self.x, True)

    @property
    def sequence(self) -> bool:
        """Whether x is one sequence of several steps a row."""
        return isinstance(self.x, Tensor) and self.x.shape[1] > 1

    @cached_property
    def moved(self) -> float:
        """What the loss of classes gains when all outputs grow by 1: 0 for logits, -1 for log-probabilities."""
        if self.y.is_floating_point() or self.start.shape[-1] < 2:
            return math.nan
        return (self.loss(self.start + 1, self.y) - self.loss(self.start, self.y)).item()

    @property
    def known(self) -> Tensor | None:
        """Where labels (B, T) are that count, -100 and NaN do not; None where there is one label a row."""
        y, (B, T, width) = self.y, self.start.shape
        if y.shape[:2] != (B, T) or (y.ndim == 2 and y.is_floating_point() and width == T):
            return None
        return (~y.isnan() if y.is_floating_point() else y >= 0).reshape(B, T, -1).any(2)

    @property
    def effect(self) -> Tensor:
        """How the gradient at each prediction (B, T) changes with the last label of the first row."""
        y, place = self.y.clone(), (0,) if self.known is None else (0, self.last)
        y[place] = y[place] + 1 if y.is_floating_point() else (y[place] + 1) % max(int(y.max()) + 1, 2)
        return (self.answer(y) - self.answer(self.y)).abs().sum(-1)

    @property
    def last(self) -> int:
        """The step of the first row's last label, or of its answer."""
        steps = [self.start.shape[1] - 1] if self.known is None else self.known[0].nonzero().flatten().tolist()
        return steps[-1] if steps else 0

    def constant(self, numbers: Tensor) -> Tensor:
        """The loss of one answer (O,) for all steps."""
        numbers = numbers.log_softmax(0) if abs(self.moved + 1) < 0.01 else numbers
        return self.loss(numbers + torch.zeros_like(self.start), self.y)

    @cached_property
    def guess(self) -> float:
        """The loss of the best constant answer to the eight examples."""
        numbers = torch.zeros_like(self.start[0, 0]).requires_grad_()
        search = torch.optim.LBFGS([numbers], max_iter=100, line_search_fn="strong_wolfe")

        def closure() -> float:
            search.zero_grad()
            (value := self.constant(numbers)).backward()
            return value.item()

        search.step(closure)
        return self.constant(numbers.detach()).item()

    @cached_property
    def runs(self) -> list["Run"]:
        """At each rate a third of the steps, or fewer where the loss has halved by then."""
        runs = [Run(self, rate) for rate in sorted({*RATES, *([] if self.lr is None else [self.lr])})]
        until = time.perf_counter() + self.seconds / 2
        for _ in range(0, self.steps // 3, 5):  # in turn, so that all have had the same when the time is up
            for run in runs:
                run.go(5, until, enough=1.0 if run.rate == self.lr else HALVED)
        return runs

    @cached_property
    def trained(self) -> "Run":
        """All steps at one rate: in the middle of those that halve the loss, else at the best."""
        runs = [run for run in self.runs if run.rate in RATES]
        good = [run for run in runs if run.fall > HALVED]
        run = good[len(good) // 2] if good else max(runs, key=lambda run: run.fall)
        run.go(self.steps - len(run.losses), time.perf_counter() + self.seconds / 2)
        return run

    @property
    def models(self) -> list[nn.Module]:
        """Before and after training: a zero at the start may hide what comes later."""
        return [copy.deepcopy(self.model), *([] if self.trained.error else [self.trained.model])]

    def change(self, rows: Any, steps: slice, training: bool) -> float:
        """How far outputs at these rows and steps move, at most, when all others get inputs of any rows and steps."""
        places = torch.randperm(self.x.shape[:2].numel()).to(self.x.device)
        x = self.x.flatten(0, 1)[places].view_as(self.x)
        x[rows, steps] = self.x[rows, steps]
        with torch.no_grad():
            pairs = [[self.run(model, given, training)[rows, steps] for given in (x, self.x)] for model in self.models]
        return max(apart(*pair) for pair in pairs)

    def answer(self, y: Tensor) -> Tensor:
        """The gradient of the loss with respect to the untrained model's prediction (B, T, O)."""
        return torch.autograd.grad(self.loss(prediction := leaf(self.start), y), prediction)[0]


class Run:
    """Training of a copy on the eight examples, at one rate of Adam."""

    def __init__(self, case: Case, rate: float) -> None:
        self.case, self.rate, self.model = case, rate, copy.deepcopy(case.model)
        weights = [p for p in self.model.parameters() if p.requires_grad] or [nn.Parameter(torch.zeros(1))]
        self.optimizer = torch.optim.Adam(weights, lr=rate, foreach=True)
        self.losses: list[float] = []
        self.error, self.late = "", False

    @property
    def known(self) -> bool:
        """Whether it has learned the examples."""
        return bool(self.losses) and min(self.losses) < KNOWN * abs(self.case.guess)

    @property
    def end(self) -> float:
        """The mean loss of the last steps; nan before the first one."""
        last = self.losses[-5:]
        return sum(last) / len(last) if last else math.nan

    @property
    def fall(self) -> float:
        """By which share of the loss at the start it has come down, over the last steps; 1 where it has learned."""
        if self.known:
            return 1.0
        fall = 1 - self.end / self.losses[0] if self.losses and self.losses[0] > 0 else 0.0
        return fall if math.isfinite(fall) else -math.inf

    def go(self, steps: int, until: float, enough: float = 1.0) -> None:
        """So many steps more, fewer where it has learned, has fallen by enough, cannot go on, or time is up."""
        torch.manual_seed(self.case.seed + len(self.losses))
        for _ in range(steps):
            self.late = time.perf_counter() > until
            if self.late or self.known or self.error or self.fall > enough:
                return
            try:
                loss = self.case.loss(output_of(self.model.train()(self.case.x), self.case.start), self.case.y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            except RuntimeError as error:
                self.error = str(error).split(".")[0]
                return
            self.losses.append(loss.item())
            self.error = "" if math.isfinite(self.losses[-1]) else "the loss is not finite any more"


def apart(a: Tensor, b: Tensor) -> float:
    """The largest difference, relative to the largest entry; infinite where an entry is not a number."""
    return float(((a - b).detach().abs().max() / b.detach().abs().max().clamp(min=1e-30)).nan_to_num(nan=math.inf))
