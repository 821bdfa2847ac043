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
``modes``                Is evaluation free of chance, and does what differs in training come in training mode?
``rates``                At which of five learning rates does the loss fall, and at yours?
======================== ============================================================================================

No line can see labels that belong to other rows: eight of them are learned by heart as well as the right ones, and a
task that is hard to begin with looks the same for long.
"""

import copy
import html
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from rtx_lib.diagnostics.hooks import output_of
from rtx_lib.diagnostics.receptive_field import input_influence, reach
from rtx_lib.shapes import expect_each
from rtx_lib.training.by_heart import RATES, Case, apart, draw_examples
from rtx_lib.training.checkpoints import move

_ABOVE = 50.0  # times the loss of a guess: more at the start means weights that are too large
_LEARNED = 0.6  # of the loss of the best constant: less means that it learns them
_FALLEN = 0.2  # of the loss at the start: a rate at which the loss falls by less does not train
_CONSTANT = 0.98  # of the loss of the best constant: more is no better than that constant
_ROUNDING = 1e-4  # of the largest output: a smaller change is none

Found = tuple[bool | None, str, str]  # whether a line passes, None if it does not apply; its number; what that means


class Line(NamedTuple):
    """One line of a report; ``passes`` is None where the check does not apply."""

    name: str
    passes: bool | None
    number: str
    meaning: str
    chapter: str

    def words(self) -> tuple[str, ...]:
        """The line as it is printed."""
        return self.name, {True: "passes", False: "FAILS", None: "-"}[self.passes], *self[2:]


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
        form = "{:11}{:8}{}\n{:19}{} [{}]\n"
        rows = (form.format(*words[:3], "", *words[3:]) for words in map(Line.words, self.lines))
        return f"{''.join(rows)}{len(self.failed)} of {len(self.lines)} fail, {self.seconds:.1f} s"

    def _repr_html_(self) -> str:
        rows = [("line", "", "number", "what it most likely means", "chapter"), *map(Line.words, self.lines)]
        cells = ("".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in rows)
        return f"<table><tr>{'</tr><tr>'.join(cells)}</tr></table>"


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

        start      passes  2.78, a guess loses 2.77
                           it starts as ignorant as it should [recurrence]
        by heart   passes  0.096 of the best constant's loss after 23 steps at 0.03
                           it can learn: what is left is data, rate and patience [gates]
        causal     FAILS   a later input changes earlier outputs by 0.57
                           it sees what it is to predict: a mask that is missing or not -inf, ... [transformer]

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
        The rate at which you train, which is then compared with those of :data:`~rtx_lib.training.by_heart.RATES`.
    causal
        Whether an output may see no later input. False for a model that reads both ways.
    pad
        The id, or the number, with which x is filled up behind the end of a row; ``task.pad`` if there is one.
    steps
        The most steps of training on the eight examples; a rate is tried for a third of them.
    seconds
        The most that this training takes; a line that would need more does not apply.
    seed
        Of the batches and of dropout.
    """
    expect_each(steps=(steps, 3), lr=(lr, "None or (0, inf)"), seconds=(seconds, "(0, inf)"))
    began, device = time.perf_counter(), next((p.device for p in model.parameters()), torch.device("cpu"))
    with torch.random.fork_rng([device] if device.type == "cuda" else []), torch.enable_grad():
        x, y, other = draw_examples(task, loss, seed)
        pad = getattr(task, "pad", None) if pad is None else pad
        x, y, other = move(x, device), y.to(device), move(other, device)
        case = Case(copy.deepcopy(model), x, y, other, loss or task.loss, lr, causal, pad, steps, seconds, seed)
        lines = tuple(Line(name, *look(case), chapter) for name, (look, chapter) in _LINES.items())
    return Report(lines, time.perf_counter() - began)


# ---- the lines


def _start(case: Case) -> Found:
    value, naive = case.loss(case.start, case.y).item(), case.constant(torch.zeros_like(case.start[0, 0])).item()
    number = f"{value:.3g}, a guess loses {naive:.3g}"
    if not math.isfinite(value):
        return False, number, "no number: a logarithm of 0, a division by 0, or weights that overflow"
    if naive < 0:
        return False, number, "a guess cannot lose less than nothing: the sign of the loss is wrong"
    if abs(case.moved + 1) < 0.01 and case.start.logsumexp(-1).abs().max() > 0.01:
        return False, number, "the loss takes logits for log-probabilities: cross_entropy is for logits"
    if abs(case.moved) < 0.01 and (case.start >= 0).all() and (case.start.sum(-1) - 1).abs().max() < 0.01:
        return False, number, "the model gives probabilities, and the loss applies softmax once more"
    if value > _ABOVE * naive > 0:
        return False, number, "sure and wrong before it has seen anything: the weights start too large"
    return True, number, "it starts as ignorant as it should"


def _by_heart(case: Case) -> Found:
    if 0 <= case.guess < 1e-6:
        return None, "", "one constant answers all examples: there is nothing to learn by heart"
    run = case.trained
    share = min(run.losses, default=math.inf) / case.guess
    number = f"{share:.2g} of the best constant's loss after {len(run.losses)} steps at {run.rate:g}"
    if share < _LEARNED:
        return True, number, "it can learn: what is left is data, rate and patience"
    if run.late:
        return None, number, "the time was up before it was clear: give it more seconds"
    why = "see the other lines; if none fails, outputs are bounded, targets not scaled, or the model is too small"
    return False, number, f"no step can be made: {run.error}" if run.error else why


def _causal(case: Case) -> Found:
    if not case.causal or not case.sequence:
        return None, "", "it may see what comes later, as you say" if case.sequence else "no sequence of several steps"
    if case.y.shape == case.x.shape and torch.equal(case.y[case.y >= 0], case.x[case.y >= 0]):
        return False, "every label is its input", "the target is not shifted: it should be the next symbol"
    leak = case.change(slice(None), slice(case.x.shape[1] // 2), False)
    why = "it sees what it is to predict: a mask that is missing or not -inf, a second direction, a mean over time"
    why = "no output knows what comes later" if leak < _ROUNDING else why
    return leak < _ROUNDING, f"a later input changes earlier outputs by {leak:.2g}", why


def _rows(case: Case) -> Found:
    if not case.sequence or len(case.x) < 3:
        return None, "", "no sequences of several steps, or not three of them"
    if case.other is not None and case.other[: len(case.x)].equal(case.x):
        return False, "two batches, the same rows", "nothing is drawn anew: no use of the generator, or no shuffling"
    norms = [part for part in case.model.modules() if isinstance(part, nn.modules.batchnorm._BatchNorm)]
    training = not any(norm.track_running_stats for norm in norms)  # these mix rows in training, as they should
    mixed = max(case.change(row, slice(None), training) for row in (len(case.x) // 2, len(case.x) - 1))
    number = f"other rows change an output by {mixed:.2g}"
    if mixed > _ROUNDING:
        return False, number, "time and batch are exchanged (batch_first, view for transpose), or a norm goes over rows"
    effect = case.effect.sum(1)  # (B,)
    if effect[1:].max() > effect[0] / 2:
        return False, "a label counts for other rows", "the loss mixes rows: (B,) and (B, 1) broadcast, or axes changed"
    return True, number, "each row is alone" + ("" if training else ", but for batch normalisation in training")


def _gradients(case: Case) -> Found:
    reached: set[str] = set()
    for model in case.models:
        model.zero_grad()
        value, own = case.loss(case.run(model, case.x, True), case.y), dict(model.named_parameters())
        if strange := len({*map(id, _leaves(value))} - {*map(id, own.values())}):
            why = "layers in a list or dict are not registered, and no optimizer knows them: use nn.ModuleList"
            return False, f"{strange} tensors of weights outside the model", why
        if value.requires_grad:
            value.backward()
        reached |= {name for name, p in own.items() if p.grad is not None and p.grad.any()}
    idle, number = [name for name in own if name not in reached], f"{len(reached)} of {len(own)} tensors of weights"
    if not idle:
        return True, number, "a gradient reaches every weight"
    why = "unused, detached, behind an argmax or a factor of 0, all zeros, or dead ReLUs"
    why = "frozen, which may be meant" if not all(own[name].requires_grad for name in idle) else why
    return False, number, f"{why}: {', '.join(idle[:3])}"


def _reach(case: Case) -> Found:
    if not case.sequence:
        return None, "", "no sequence of several steps"
    try:
        with torch.backends.cudnn.flags(enabled=False):  # whose layers have no gradient in evaluation mode
            influence = torch.stack([input_influence(model.eval(), case.x, samples=1) for model in case.models]).sum(0)
        steps = reach(influence, 1.0) - 1 if influence.any() else 0
    except ValueError as error:
        return None, "", str(error)
    why = "no step learns from those before: a state or an input is detached, or time is the wrong axis"
    why = "from the last output; how strong it is there, the chapter measures" if steps else why
    return steps > 0, f"a gradient goes {steps} of {len(influence) - 1} steps back", why


def _padding(case: Case) -> Found:
    counted = case.answer(case.y).abs().sum(-1) > 0  # (B, T)
    padded = torch.zeros_like(counted) if case.known is None else _behind(~case.known)
    if case.pad is not None and case.sequence:
        padded |= _behind((case.x == case.pad).view(*counted.shape, -1).all(2))
    wrong, T = int((counted & padded).sum()), counted.shape[1]
    number = f"{int(counted.sum())} of {counted.numel()} steps counted, {wrong} of {int(padded.sum())} padded ones"
    if wrong:
        return False, number, "padded steps count in the loss: mask them, or give them the label -100"
    if case.known is None and case.causal and not (counted | padded)[:, -1].any():
        return False, number, f"the answer is read before the end, step {T}, where the whole sequence is known"
    if case.known is not None and (effect := case.effect[0])[case.last] < effect.max() / 2:
        number = f"the label of step {case.last + 1} counts at step {int(effect.argmax()) + 1}"
        return False, number, "label and output of different steps meet: shifted twice, or reshaped in a wrong order"
    return True, number, "the right steps count"


def _modes(case: Case) -> Found:
    model = copy.deepcopy(case.model).eval()
    with torch.no_grad():
        first, second = (output_of(model(case.x), case.start) for _ in range(2))
    chance, modes = apart(second, first), apart(case.start, first)
    if chance > _ROUNDING:
        return False, f"two evaluations differ by {chance:.2g}", "dropout that ignores eval(), or a state that is kept"
    number = f"training and evaluation differ by {modes:.2g}"
    if modes > _ROUNDING and not case.model.training:
        return False, number, "the model came in evaluation mode: call train() before you train"
    return True, number, "evaluation leaves nothing to chance"


def _rates(case: Case) -> Found:
    falls, ends = ({run.rate: getattr(run, name) for run in case.runs} for name in ("fall", "end"))
    good, best = [f"{rate:g}" for rate in RATES if falls[rate] > _FALLEN], max(RATES, key=lambda rate: falls[rate])
    number, lr = f"falls at {', '.join(good) or 'none'} of {RATES}", best if case.lr is None else case.lr
    if lr > best and ends[lr] > _CONSTANT * case.guess > ends[best]:
        number = f"at {lr:g} it ends at {ends[lr]:.3g}, at {best:g} at {ends[best]:.3g}"
        why = ": what is left knows only how often each answer comes" if ends[lr] < 1.1 * case.guess else ""
        return False, number, f"your rate is too high{why}"
    if falls[lr] > _FALLEN:
        return True, number, "on eight examples; on all of them the best may be lower"
    if any(run.late for run in case.runs):
        return None, number, "the time was up before it was clear: give it more seconds"
    if not good:
        return False, number, "no rate helps, so the rate is not what is wrong"
    number = f"at {lr:g} it falls by {max(falls[lr], 0):.0%}, at {best:g} by {falls[best]:.0%}"
    return False, number, f"your rate is too {'high' if lr > best else 'low'}"


_LINES: dict[str, tuple[Callable[[Case], Found], str]] = {
    "start": (_start, "recurrence"),
    "by heart": (_by_heart, "gates"),
    "causal": (_causal, "transformer"),
    "rows": (_rows, "recurrence"),
    "gradients": (_gradients, "vanishing_gradients"),
    "reach": (_reach, "vanishing_gradients"),
    "padding": (_padding, "transformer"),
    "modes": (_modes, "reading"),
    "rates": (_rates, "race"),
}


def _behind(filled: Tensor) -> Tensor:
    """Those steps (B, T) that only such steps follow."""
    return filled.flip(1).int().cumprod(1).flip(1).bool()


def _leaves(value: Tensor) -> Iterator[Tensor]:
    """The tensors that a gradient of the value goes to."""
    nodes: list[Any] = [value.grad_fn]
    seen = {None}
    while nodes:
        if (node := nodes.pop()) in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            yield node.variable
        nodes += [below for below, _ in node.next_functions]
