"""Why does it not learn? One call makes the checks that people make by hand, and prints them as a table.

Nine lines, each with a number, what it most likely means and the chapter that explains it:

======================== ============================================================================================
``start``                Does the untrained model lose what a guess loses, and can its loss be a loss?
``by heart``             Can it learn eight examples by heart?
``causal``               Does a later input change an earlier output, or is the label the input itself?
``rows``                 Does one row of a batch change another? Are the rows of two batches different?
``gradients``            Does a gradient reach every weight?
``reach``                How many steps back does a gradient go?
``padding``              Are the right steps counted: no padded one, and each label at its own step?
``modes``                Is evaluation mode free of chance, and do both modes agree on what was learned?
``rates``                At which of five learning rates does the loss fall, and at yours?
======================== ============================================================================================

No line can see labels that belong to other rows: eight of them are learned by heart as well as the right ones, and a
task that is hard to begin with looks the same for long.
"""

import copy
import html
import math
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from rtx_lib.diagnostics.hooks import leaf, output_of
from rtx_lib.diagnostics.receptive_field import reach
from rtx_lib.shapes import expect_each
from rtx_lib.training.checkpoints import move

RATES = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2)
"""The learning rates that are tried, of Adam."""

_ROWS = 8  # examples to be learned by heart
_ABOVE = 20.0  # times the loss of a guess: more at the start means weights that are too large
_LEARNED = 0.6  # of the loss of the best constant: less means that it learns them
_KNOWN = 0.1  # of it: training ends
_HALVED = 0.5  # of the loss at the start: enough to know that a rate trains
_FALLEN = 0.2  # of the loss at the start: a rate at which it falls by less does not train
_ROUNDING = 1e-4  # of the largest output: a smaller change is none


class Line(NamedTuple):
    """One line of a report; ``passes`` is None where the check does not apply."""

    name: str
    passes: bool | None
    number: str
    meaning: str
    chapter: str

    @property
    def verdict(self) -> str:
        """In one word."""
        return {True: "passes", False: "FAILS", None: "-"}[self.passes]


@dataclass(frozen=True, repr=False)
class Report:
    """What :func:`checkup` found; it prints itself as a table.

    Attributes
    ----------
    lines
        One for each check, in the order of the table above.
    seconds
        How long it took.
    """

    lines: tuple[Line, ...]
    seconds: float

    @property
    def failed(self) -> list[str]:
        """The names of the lines that failed."""
        return [line.name for line in self.lines if line.passes is False]

    def __repr__(self) -> str:
        rows = []
        for line in self.lines:
            rows.append(f"{line.name:10} {line.verdict:7} {line.number}".rstrip())
            why = f"{line.meaning} (chapter {line.chapter})" if line.passes is False else line.meaning
            rows += textwrap.wrap(why, 100, initial_indent=19 * " ", subsequent_indent=19 * " ")
        return "\n".join([*rows, f"{len(self.failed)} of {len(self.lines)} fail, {self.seconds:.1f} s"])

    def _repr_html_(self) -> str:
        names = ("line", "", "number", "what it most likely means", "chapter")
        rows = [(line.name, line.verdict, *line[2:]) for line in self.lines]
        cells = ["".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in rows]
        head = "".join(f"<th>{name}</th>" for name in names)
        return f"<table><tr>{head}</tr>{''.join(f'<tr>{row}</tr>' for row in cells)}</table>"


def checkup(
    model: nn.Module,
    task: Any,
    *,
    loss: Callable[[Tensor, Tensor], Tensor] | None = None,
    lr: float | None = None,
    causal: bool = True,
    pad: float | None = None,
    steps: int = 300,
    seconds: float = 20.0,
    seed: int = 0,
) -> Report:
    """Look for what keeps a model from learning a task. The model is copied and stays as it is.

    ::

        start      passes  2.31, a guess loses 2.30
        by heart   passes  0.04 of the best constant's loss after 74 steps
        causal     FAILS   a later input changes earlier outputs by 0.19
                           a mask hides too little, or ... (chapter transformer)
        ...

    Parameters
    ----------
    model
        Maps x (B, T, D) or ids (B, T) to y (B, T, O), or to a tuple whose first entry is y.
    task
        A task (:class:`rtx_lib.tasks.protocol.Task`), of which ``batch`` and ``loss`` are used; or one batch (x, y),
        with a ``loss``.
    loss
        A function of the prediction (B, T, O) and y, in place of the task's.
    lr
        The rate at which you train, which is then compared with those of ``RATES``.
    causal
        Whether an output may see no later input. False for a model that reads both ways.
    pad
        The id, or the number, with which x is filled up behind the end of a row; ``task.pad`` if there is one.
    steps
        The most steps of training on the eight examples; a rate is tried for a third of them.
    seconds
        After so many no training goes on; a line that would need it does not apply.
    seed
        Of the batches and of dropout.
    """
    expect_each(steps=(steps, 3), lr=(lr, "None or (0, inf)"), seconds=(seconds, "(0, inf)"))
    began = time.perf_counter()
    devices = {p.device for p in model.parameters() if p.device.type == "cuda"}
    with torch.random.fork_rng(list(devices)), torch.enable_grad():
        patient = _patient(model, task, loss, lr, causal, pad, steps, began + seconds, seed)
        lines = tuple(Line(name, *look(patient), chapter) for name, (look, chapter) in _LINES.items())
    return Report(lines, time.perf_counter() - began)


# ---- what the lines look at

Found = tuple[bool | None, str, str]  # passes, the number, what it means


@dataclass
class _Patient:
    """A copy of the model, eight rows, and what comes of training on them."""

    model: nn.Module
    x: Any
    y: Tensor
    loss: Callable[[Tensor, Tensor], Tensor]
    other: Any  # x of another batch, None where there is only one
    lr: float | None
    causal: bool
    pad: float | None
    steps: int
    deadline: float
    seed: int

    def run(self, model: nn.Module, x: Any, training: bool | None = None) -> Tensor:
        """The output (B, T, O), with the same chance each time; in the mode asked for."""
        if training is not None:
            model.train(training)
        torch.manual_seed(self.seed)
        return output_of(model(x), x[-1] if isinstance(x, tuple) else x)

    @cached_property
    def start(self) -> Tensor:
        """What the untrained model gives, in training mode."""
        return self.run(copy.deepcopy(self.model), self.x, True)

    @cached_property
    def labels(self) -> str:
        """ "steps" where there is a label for each, else "rows"."""
        B, T, width = self.start.shape
        each = self.y.shape[:2] == (B, T) and (self.y.ndim > 2 or not self.y.is_floating_point() or width != T)
        return "steps" if each else "rows"

    @property
    def classes(self) -> bool:
        """Whether labels are classes, and predictions a number for each."""
        return not self.y.is_floating_point() and self.start.shape[-1] > 1

    def constant(self, numbers: Tensor) -> Tensor:
        """The loss of one answer (O,) for all steps; classes get log-probabilities, which serve as logits too."""
        if self.classes:
            numbers = numbers.log_softmax(0)
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
        return float(self.constant(numbers.detach()))

    @cached_property
    def runs(self) -> list["_Run"]:
        """At each rate a third of the steps, or fewer where the loss has halved by then."""
        runs = [_Run(self, rate) for rate in sorted({*RATES, *([] if self.lr is None else [self.lr])})]
        middle = (time.perf_counter() + self.deadline) / 2
        for _ in range(0, self.steps // 3, 5):  # in turn, so that all have had the same when the time is up
            for run in runs:
                run.go(5, middle, enough=_HALVED)
        return runs

    @cached_property
    def trained(self) -> "_Run":
        """All steps at one rate: in the middle of those that halve the loss, else at the best."""
        runs = [run for run in self.runs if run.rate in RATES]
        good = [run for run in runs if run.fall > _HALVED]
        run = good[len(good) // 2] if good else max(runs, key=lambda run: run.fall)
        run.go(self.steps - len(run.losses), self.deadline)
        return run

    @property
    def models(self) -> list[nn.Module]:
        """Before and after training: a zero at the start may hide what comes later."""
        return [copy.deepcopy(self.model), *([] if self.trained.error else [self.trained.model])]

    def shuffled(self) -> Tensor:
        """x with its steps dealt out anew over all rows."""
        places = torch.randperm(self.x.shape[0] * self.x.shape[1], generator=torch.Generator().manual_seed(self.seed))
        return self.x.flatten(0, 1)[places.to(self.x.device)].view_as(self.x)


class _Run:
    """Training of a copy on the eight examples, at one rate of Adam."""

    def __init__(self, patient: _Patient, rate: float) -> None:
        self.patient, self.rate, self.model = patient, rate, copy.deepcopy(patient.model)
        weights = [p for p in self.model.parameters() if p.requires_grad] or [nn.Parameter(torch.zeros(1))]
        self.optimizer = torch.optim.Adam(weights, lr=rate, foreach=True)
        self.losses: list[float] = []
        self.error, self.late = "", False

    @property
    def low(self) -> float:
        """The lowest loss so far."""
        return min(self.losses, default=math.inf)

    @property
    def fall(self) -> float:
        """By which share of the loss at the start it has come down, over the last steps."""
        last = self.losses[-5:]
        fall = 1 - sum(last) / len(last) / self.losses[0] if last and self.losses[0] > 0 else 0.0
        return fall if math.isfinite(fall) else -math.inf

    def go(self, steps: int, deadline: float, enough: float = 1.0) -> None:
        """So many steps more, fewer where it has learned, has fallen by enough, cannot go on, or time is up."""
        torch.manual_seed(self.patient.seed + len(self.losses))
        for _ in range(steps):
            self.late = time.perf_counter() > deadline
            known = self.losses and self.low < _KNOWN * abs(self.patient.guess)
            if self.late or known or self.error or self.fall > enough:
                return
            self.step()

    def step(self) -> None:
        """One step of training, or the error that keeps it from being made."""
        try:
            self.model.train()
            loss = self.patient.loss(output_of(self.model(self.patient.x), self.patient.start), self.patient.y)
            self.losses.append(loss.item())
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        except RuntimeError as error:
            self.error = str(error).split(".")[0]
        if self.losses and not math.isfinite(self.losses[-1]):
            self.error = "the loss is not finite any more"


def _patient(
    model: nn.Module, task: Any, loss: Any, lr: Any, causal: bool, pad: Any, steps: int, deadline: float, seed: int
) -> _Patient:
    device = next((p.device for p in model.parameters()), torch.device("cpu"))
    other = None
    if isinstance(task, (tuple, list)):
        if len(task) != 2 or loss is None:
            raise ValueError("task must be a task, or a pair (x, y) together with loss=, got a bare sequence")
        x, y = task
    else:
        for name in ("batch", *([] if loss else ["loss"])):
            if not callable(getattr(task, name, None)):
                raise ValueError(f"task must have {name}(...), or be a pair (x, y), got {type(task).__name__}")
        generator = torch.Generator().manual_seed(seed)
        x, y = task.batch("train", _ROWS, generator)
        other = move(task.batch("train", _ROWS, generator)[0], device)
    x, y = move(x, device), y.to(device)
    # A square batch would hide an exchange of its axes.
    rows = _ROWS - (isinstance(x, Tensor) and x.shape[1] == _ROWS)
    x, y = tuple(part[:rows] for part in x) if isinstance(x, tuple) else x[:rows], y[:rows]
    pad = getattr(task, "pad", None) if pad is None else pad
    return _Patient(copy.deepcopy(model), x, y, loss or task.loss, other, lr, causal, pad, steps, deadline, seed)


# ---- the lines


def _start(patient: _Patient) -> Found:
    value = patient.loss(patient.start, patient.y).item()
    naive = patient.constant(torch.zeros_like(patient.start[0, 0])).item()
    number = f"{value:.3g}, a guess loses {naive:.3g}"
    if not math.isfinite(value):
        return False, number, "the loss is not a number: a logarithm of 0, a division by 0, or weights that overflow"
    if naive < 0:
        return False, number, "a guess cannot lose less than nothing: the sign of the loss is wrong"
    if patient.classes and (why := _wrong_input(patient, value)):
        return False, number, why
    if value > _ABOVE * naive and naive:
        return False, number, "sure and wrong before it has seen anything: the weights start too large"
    return True, number, "it starts as ignorant as it should"


def _wrong_input(patient: _Patient, value: float) -> str:
    """What is wrong with predictions of classes, if the loss does not take what the model gives."""
    prediction = patient.start.detach()
    moved = patient.loss(prediction + 1, patient.y).item() - value  # 0 for logits, -1 for log-probabilities
    if abs(moved + 1) < 0.01 and prediction.logsumexp(-1).abs().max() > 0.01:
        return "the loss takes logits for log-probabilities: use cross_entropy, or log_softmax before it"
    if abs(moved) < 0.01 and (prediction >= 0).all() and (prediction.sum(-1) - 1).abs().max() < 0.01:
        return "the model gives probabilities, and the loss applies softmax once more"
    return ""


def _by_heart(patient: _Patient) -> Found:
    if 0 <= patient.guess < 1e-6:
        return None, "", "one constant answers all examples: there is nothing to learn by heart"
    run = patient.trained
    share = run.low / patient.guess
    number = f"{share:.2g} of the best constant's loss after {len(run.losses)} steps at {run.rate:g}"
    if not run.losses[1:]:
        return False, number, f"no step of training can be made: {run.error}"
    if share < _LEARNED:
        return True, number, "it can learn: what is left is data, rate and patience"
    if run.late:
        return None, number, "the time was up before it was clear: give it more seconds"
    why = "not even eight examples: look at the lines that fail below; if none does, the loss has a floor (softmax"
    return False, number, f"{why} applied twice, shapes that broadcast), or the model is too small"


def _causal(patient: _Patient) -> Found:
    x, y = patient.x, patient.y
    if not patient.causal:
        return None, "", "it may see what comes later, as you say"
    if not isinstance(x, Tensor) or x.shape[1] < 2:
        return None, "", "x is not one sequence of several steps"
    if y.shape == x.shape and (same := y == x)[y >= 0].all() and same.any():
        return False, "every label equals its input", "the target is not shifted: it must be the next symbol"
    middle = x.shape[1] // 2
    changed = torch.cat([x[:, :middle], patient.shuffled()[:, middle:]], 1)
    leak = max(_change(patient, model, changed, slice(None), slice(middle)) for model in patient.models)
    number = f"a later input changes earlier outputs by {leak:.2g}"
    why = (
        "the model sees what it is to predict: a mask that is missing or not -inf, a second direction, a mean over time"
    )
    return leak < _ROUNDING, number, "no output knows what comes later" if leak < _ROUNDING else why


def _rows(patient: _Patient) -> Found:
    x, other = patient.x, patient.other
    if not isinstance(x, Tensor) or len(x) < 3:
        return None, "", "x is not one tensor of several rows"
    if other is not None and x.shape[1:] == other.shape[1:] and torch.equal(x, other[: len(x)]):
        return (
            False,
            "two batches, the same rows",
            "each batch is the same: the generator is not used, or nothing shuffles",
        )
    mixed, learning = [], []
    for row in (len(x) // 2, len(x) - 1):
        changed = patient.shuffled()
        changed[row] = x[row]
        mixed += [_change(patient, model, changed, row, slice(None)) for model in patient.models]
        learning.append(_change(patient, copy.deepcopy(patient.model), changed, row, slice(None), training=True))
    number = f"other rows change an output by {max(mixed):.2g}"
    if max(mixed) > _ROUNDING:
        return False, number, "time and batch are exchanged (batch_first, view for transpose), or a norm goes over rows"
    if (place := _last_label(patient, row)) is not None:
        effect = _effect(patient, place).sum(1)  # (B,)
        if effect[effect.argsort()[-2:]].sum() > 1.5 * effect[row]:
            return False, "a label counts for other rows", "(B,) against (B, 1) broadcasts in the loss"
    batch_norm = any(isinstance(part, nn.modules.batchnorm._BatchNorm) for part in patient.model.modules())
    if max(learning) > _ROUNDING and not batch_norm:
        return (
            False,
            f"in training other rows change an output by {max(learning):.2g}",
            "a norm or a mean goes over rows",
        )
    return (
        True,
        number,
        "in training they do, by batch normalisation" if max(learning) > _ROUNDING else "each row is alone",
    )


def _gradients(patient: _Patient) -> Found:
    reached: set[str] = set()
    strange = 0
    for model in patient.models:
        model.zero_grad()
        value = patient.loss(patient.run(model, patient.x, True), patient.y)
        own = dict(model.named_parameters())
        if value.requires_grad:
            value.backward()
            strange = sum(id(found) not in set(map(id, own.values())) for found in _leaves(value))
        reached |= {name for name, p in own.items() if p.grad is not None and p.grad.any()}
    idle = [name for name in own if name not in reached]
    frozen = [name for name in idle if not own[name].requires_grad]
    number = f"{len(reached)} of {len(own)} tensors of weights"
    if strange:
        return False, f"{strange} outside the model", "layers in a list or dict are not registered: use nn.ModuleList"
    if frozen:
        return False, number, f"frozen, which may be meant: {', '.join(frozen[:3])}"
    if idle or not own:
        why = "never used, cut off by detach or argmax, behind a factor of 0, zeros at the start, or a dead ReLU"
        return False, number, f"{why}: {', '.join(idle[:3])}"
    return True, number, "a gradient reaches every weight"


def _reach(patient: _Patient) -> Found:
    if not isinstance(patient.x, Tensor) or patient.x.shape[1] < 2:
        return None, "", "x is not one sequence of several steps"
    with torch.backends.cudnn.flags(enabled=False):  # whose recurrent layers have no gradient in evaluation mode
        influence = torch.stack([_influence(patient, model) for model in patient.models]).amax(0).nan_to_num()
    steps = reach(influence, 1.0) - 1 if influence.any() else 0
    number = f"{steps} of {len(influence) - 1} steps back"
    if influence[:-1].any():
        return True, number, "at the last output; how strong it is there, the chapter measures"
    return False, number, "no step learns from those before: a state or an input is detached, or time is the wrong axis"


def _padding(patient: _Patient) -> Found:
    counted = _answer_gradient(patient, patient.y).abs().sum(-1) > 0  # (B, T)
    padded = _padded(patient)
    wrong, T = int((counted & padded).sum()), counted.shape[1]
    number = f"{int(counted.sum())} of {counted.numel()} steps counted, {wrong} of {int(padded.sum())} padded ones"
    if wrong:
        return False, number, "padded steps count in the loss: mask them, or give them the label -100"
    if patient.labels == "rows" and patient.causal and not (counted & ~padded)[:, -1].any() and not padded[:, -1].any():
        last = max(counted.any(0).nonzero().flatten().tolist(), default=-1) + 1
        return False, f"step {last} of {T}", "the loss reads an output from before the end of the sequence"
    row = len(counted) // 2
    if patient.labels == "steps" and (place := _last_label(patient, row)) is not None:
        effect = _effect(patient, place)[row]  # (T,)
        if effect[place[1]] <= effect.max() / 2:
            where = f"at step {int(effect.argmax()) + 1}" if effect.any() else "nowhere"
            why = "each label must meet the output of its own step: shifted twice, or reshaped in a wrong order"
            return False, f"the label of step {place[1] + 1} counts {where}", why
    return True, number, "the right steps count"


def _modes(patient: _Patient) -> Found:
    model = copy.deepcopy(patient.model)
    with torch.no_grad():
        first, second = (output_of(model.eval()(patient.x), patient.start) for _ in range(2))
    apart, chance = _relative(patient.start, first), _relative(second, first)
    number = f"training and evaluation differ by {apart:.2g}"
    if chance > _ROUNDING:
        why = "dropout that does not obey eval(), or a state kept from the last call"
        return False, f"two evaluations differ by {chance:.2g}", why
    if apart > _ROUNDING and not patient.model.training:
        return False, number, "the model was handed over in evaluation mode: call train() before you train"
    run = patient.trained
    train, test = (patient.loss(patient.run(run.model, patient.x, mode), patient.y).item() for mode in (True, False))
    if train < _LEARNED * patient.guess and test > patient.guess:
        return (
            False,
            f"what costs {train:.2g} in training costs {test:.2g}",
            "statistics that do not follow, or dropout unscaled",
        )
    return True, number, "evaluation leaves nothing to chance"


def _rates(patient: _Patient) -> Found:
    falls = {run.rate: run.fall for run in patient.runs}
    good = [rate for rate in RATES if falls[rate] > _FALLEN]
    best = max(RATES, key=lambda rate: falls[rate])
    number = f"falls at {', '.join(f'{rate:g}' for rate in good) or 'none'} of {', '.join(f'{r:g}' for r in RATES)}"
    lr = best if patient.lr is None else patient.lr
    wrong = falls[lr] < _FALLEN
    if wrong and any(run.late for run in patient.runs):
        return None, number, "the time was up before it was clear: give it more seconds"
    if not good:
        return False, number, "no rate helps, so the rate is not what is wrong"
    if wrong:
        number = f"at {lr:g} it falls by {max(falls[lr], 0):.0%}, at {best:g} by {falls[best]:.0%}"
        return False, number, f"your rate is too {'high' if lr > best else 'low'}"
    return True, number, "on eight examples; on all of them the best may be lower"


_LINES: dict[str, tuple[Callable[[_Patient], Found], str]] = {
    "start": (_start, "recurrence"),
    "by heart": (_by_heart, "gates"),
    "causal": (_causal, "transformer"),
    "rows": (_rows, "recurrence"),
    "gradients": (_gradients, "vanishing_gradients"),
    "reach": (_reach, "vanishing_gradients"),
    "padding": (_padding, "transformer"),
    "modes": (_modes, "parallel"),
    "rates": (_rates, "race"),
}


# ---- measurements


def _relative(a: Tensor, b: Tensor) -> float:
    """The largest difference, relative to the largest entry."""
    return float((a - b).detach().abs().max() / b.detach().abs().max().clamp(min=1e-30))


def _change(patient: _Patient, model: nn.Module, x: Tensor, rows: Any, steps: slice, training: bool = False) -> float:
    """How far some outputs move when x takes the place of the eight examples."""
    with torch.no_grad():
        before, after = (patient.run(model, given, training)[rows] for given in (patient.x, x))
    return _relative(after[..., steps, :], before[..., steps, :])


def _leaves(value: Tensor) -> Iterator[Tensor]:
    """The leaves of the graph that a gradient of the value goes to."""
    nodes, seen = [value.grad_fn], set()
    while nodes:
        node = nodes.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            yield node.variable
        nodes += [below for below, _ in node.next_functions]


class _FirstFloats(TorchFunctionMode):
    """Makes a leaf of the first floats that come of the ids x: rows of a table, or one-hot vectors."""

    def __init__(self, x: Tensor) -> None:
        super().__init__()
        self.sizes = {(x.shape[0], x.shape[1]), (x.shape[1], x.shape[0])}
        self.leaf: Tensor | None = None

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run one function of torch, and look at what it gives."""
        made = func(*args, **(kwargs or {}))
        if self.leaf is not None or not isinstance(made, Tensor) or not made.is_floating_point():
            return made
        given = [entry for entry in tree_leaves((args, kwargs)) if isinstance(entry, Tensor)]
        whole = any(
            entry.dtype in (torch.int64, torch.int32) and tuple(entry.shape[:2]) in self.sizes for entry in given
        )
        if whole and made.ndim > 1 and tuple(made.shape[:2]) in self.sizes:
            self.leaf = made = leaf(made)
        return made


def _influence(patient: _Patient, model: nn.Module) -> Tensor:
    """How strongly the last output of each row depends on each step, (T,)."""
    x = patient.x
    if x.is_floating_point():
        inputs: Tensor | None = leaf(x)
        y = patient.run(model, inputs, False)
    else:
        with _FirstFloats(x) as first:
            y = patient.run(model, x, False)
        inputs = first.leaf
    if inputs is None or not y.requires_grad:
        return torch.zeros(x.shape[1])
    signs = torch.randn(y[:, -1].shape, generator=torch.Generator().manual_seed(patient.seed)).to(y)
    (gradient,) = torch.autograd.grad(y[:, -1], inputs, signs, allow_unused=True)
    if gradient is None:
        return torch.zeros(x.shape[1])
    gradient = gradient if gradient.shape[:2] == x.shape[:2] else gradient.transpose(0, 1)
    return gradient.detach().cpu().double().square().flatten(2).sum((0, 2)).sqrt()


def _answer_gradient(patient: _Patient, y: Tensor) -> Tensor:
    """The gradient of the loss with respect to the untrained model's prediction (B, T, O)."""
    prediction = leaf(patient.start)
    (gradient,) = torch.autograd.grad(patient.loss(prediction, y), prediction)
    return gradient


def _last_label(patient: _Patient, row: int) -> tuple[int, ...] | None:
    """Where the last label of a row is: (row,), or (row, step), or None if it has none."""
    if patient.labels == "rows":
        return (row,)
    steps = _known(patient.y)[row].nonzero().flatten().tolist()
    return (row, steps[-1]) if steps else None


def _effect(patient: _Patient, place: tuple[int, ...]) -> Tensor:
    """How the gradient at each prediction (B, T) changes with the label at a place."""
    y = patient.y.clone()
    y[place] = y[place] + 1 if y.is_floating_point() else (y[place] + 1) % max(int(y.max()) + 1, 2)
    return (_answer_gradient(patient, y) - _answer_gradient(patient, patient.y)).abs().sum(-1)


def _known(y: Tensor) -> Tensor:
    """Where labels (B, T) are that count: -100 and NaN do not."""
    known = ~y.isnan() if y.is_floating_point() else y >= 0
    return known if known.ndim == 2 else known.flatten(2).any(2)


def _padded(patient: _Patient) -> Tensor:
    """The steps (B, T) behind the end of a row: behind its last label, or filled up in x."""
    padded = torch.zeros(patient.start.shape[:2], dtype=torch.bool, device=patient.start.device)
    if patient.labels == "steps":
        padded |= ~_known(patient.y)
    if patient.pad is not None and isinstance(patient.x, Tensor):
        filled = patient.x == patient.pad
        behind = filled if filled.ndim == 2 else filled.flatten(2).all(2)
        return (padded & _behind(padded)) | _behind(behind)
    return _behind(padded)


def _behind(filled: Tensor) -> Tensor:
    """Those that only such steps follow."""
    return filled.flip(1).int().cumprod(1).flip(1).bool()
