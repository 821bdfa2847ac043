"""Several tasks in one kind of text, each told in words: what a language model can be asked for without fine-tuning."""

import torch
import torch.nn.functional as F
from torch import Tensor

from rtx_lib.shapes import expect, expect_each
from rtx_lib.tasks.splits import Rows, draw_batch, run_through
from rtx_lib.tasks.vocabulary import ids_of, text_of

LETTERS = "abcdefghij"
ORDERS = ("forwards", "backwards", "sorted")
STEPS = ("same", "next", "previous")
HELD = ("backwards next", "sorted previous")
TASKS = tuple(f"{order} {step}" for order in ORDERS for step in STEPS)
UNNAMED = "please"
_MARKS = (":", "=", ".")


class Instructions:
    """Name the next symbol of lines in which a task is told, a question asked and an answer given.

    ::

        backwards next : d a f = g b e .        the letters from the last to the first, and of each the next one
        sorted same : d a f = a d f .

    Three orders and three changes of the letters (the next of j is a) make nine tasks. Seven are in the training text,
    each as often as the others; two of them, "backwards next" and "sorted previous", never are, though all of their
    words are. Nothing marks a line as a task: the loss is that of a language model, over all symbols alike.

    "exact" is the share of lines whose whole answer is right, each symbol being the most probable one behind those
    before it, so that it is what a model writes that is asked.

    Training lines are drawn without end from the caller's generator. "valid" (1,000) and "test" (10,000) come from
    seeds of their own.

    Parameters
    ----------
    tasks
        "trained", the seven; or one of the nine.
    named
        Whether the line tells its task; else "please please" stands in its place.
    length
        Letters of a question, at least 2.
    """

    batch, batches = draw_batch, run_through  # methods, written once in splits.py and windows.py
    decode = text_of

    def __init__(self, tasks: str = "trained", *, named: bool = True, length: int = 3) -> None:
        expect_each(tasks=(tasks, ("trained", *TASKS)), length=(length, 2))
        self.tasks, self.named, self.length = tasks, named, length
        self.name = f"instructions-{tasks.replace(' ', '-')}" + ("" if named else "-unnamed")
        self.words = (*LETTERS, *ORDERS, *STEPS, *_MARKS, UNNAMED)
        self._ids = {word: number for number, word in enumerate(self.words)}
        self.vocabulary = self.input_size = self.output_size = len(self.words)
        chosen = [task for task in TASKS if task not in HELD] if tasks == "trained" else [tasks]
        self._chosen = torch.tensor([TASKS.index(task) for task in chosen])
        self.splits = Rows(draw=self._draw, lay_out=self._lay_out)

    def loss(self, prediction: Tensor, y: Tensor) -> Tensor:
        """Mean cross-entropy in nats over all symbols but the first; prediction (B, T, V) logits, y (B, T)."""
        expect(prediction, (*y.shape, self.output_size), "prediction")
        return F.cross_entropy(prediction.transpose(1, 2), y)

    def metrics(self, prediction: Tensor, y: Tensor) -> dict[str, float]:
        """{"loss", "accuracy", "exact"}: nats over all symbols; over the answer the shares of letters, and of lines."""
        loss = self.loss(prediction.detach(), y).item()
        right = (prediction.argmax(-1) == y)[:, -self.length - 1 : -1]  # the last symbol is the full stop
        return {"loss": loss, "accuracy": right.double().mean().item(), "exact": right.all(1).double().mean().item()}

    def baselines(self) -> dict[str, float]:
        """{"one task of seven"}: the share of lines right for who does one of the tasks whatever the line says."""
        return {"one task of seven": 1 / (len(TASKS) - len(HELD))}

    def encode(self, text: str) -> Tensor:
        """The ids (T,) of words and letters that stand apart; ValueError for a word that is not known."""
        return ids_of(text.split(), self._ids, f"the {len(self.words)} words of the instructions")

    def answers(self, letters: Tensor, task: Tensor) -> Tensor:
        """The answers (N, length) to questions (N, length) of letters 0..9, by the number (N,) of a task of `TASKS`."""
        order, step = task // len(STEPS), task % len(STEPS)
        orders = torch.stack([letters, letters.flip(1), letters.sort(1).values])  # (3, N, length)
        put = orders[order, torch.arange(len(letters))]
        return (put + torch.tensor([0, 1, -1])[step][:, None]).remainder(len(LETTERS))

    def _draw(self, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Letters (size, length) and the numbers (size,) of tasks."""
        task = self._chosen[torch.randint(len(self._chosen), (size,), generator=generator)]
        return torch.randint(len(LETTERS), (size, self.length), generator=generator), task

    def _lay_out(self, letters: Tensor, task: Tensor) -> tuple[Tensor, Tensor]:
        at = self._ids
        order = at[ORDERS[0]] + task // len(STEPS) if self.named else torch.full_like(task, at[UNNAMED])
        step = at[STEPS[0]] + task % len(STEPS) if self.named else order

        def mark(word: str) -> Tensor:
            return torch.full_like(task, at[word])[:, None]

        told = [order[:, None], step[:, None], mark(":"), letters, mark("="), self.answers(letters, task), mark(".")]
        ids = torch.cat(told, dim=1)
        return ids[:, :-1], ids[:, 1:]
