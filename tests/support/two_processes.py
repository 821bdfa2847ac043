"""What `test_processes.py` trains, alone and on several processes; as a program, one of the processes.

python two_processes.py die FOLDER      leave a checkpoint and be killed
python two_processes.py train FOLDER    train every case, write what came out to FOLDER/rank<r>.json
"""

import json
import math
import os
import signal
import sys
from pathlib import Path
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from accelerate.state import AcceleratorState
from torch import nn

from rtx_book import __main__ as experiments
from rtx_book.runs.recipes import RECIPES, Recipe
from rtx_lib.layers import GRU, LSTM, Readout
from rtx_lib.models.seq2seq import Seq2Seq
from rtx_lib.tasks import AddingProblem, NumberWords
from rtx_lib.training import TrainingDiverged, fit
from rtx_lib.training.processes import join
from rtx_lib.training.schedules import drop_on_plateau

TINY = Recipe("tiny", "a test", "gru", "adding", 6, 7, 1e-3, {"hidden_size": 4}, {"length": 5}, 1.0, eval_every=3)


class Wide(nn.Module):
    """Reads numbers in the type of its parameters."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x, state=None):
        return self.model(x.to(next(self.parameters()).dtype), state)


class Forgetful(nn.Module):
    """One parameter never has a gradient, another one in those parts alone whose first number is large."""

    def __init__(self):
        super().__init__()
        self.gru, self.never, self.rarely = Readout(GRU(2, 4), 1), nn.Parameter(torch.ones(3)), nn.Linear(1, 1)

    def forward(self, x, state=None):
        y, state = self.gru(x, state)
        return (y + self.rarely(y) if x[0, 0, 0] > 0.5 else y), state


class Murmur:
    """A stream of ids: 5 texts of 24, in which the next id follows from the last two."""

    name, input_size, output_size, vocabulary = "murmur", 6, 6, 6

    def stream(self, split, size, length):
        ids = [[(i * (row + 2) + i * i) % 6 for i in range(25)] for row in range(5)]
        text = torch.tensor(ids)[:size]
        for start in range(0, 24, length):
            yield text[:, start : start + length], text[:, start + 1 : start + length + 1]

    def loss(self, prediction, y):
        return F.cross_entropy(prediction.flatten(0, 1), y.flatten())


class Scored(AddingProblem):
    """The adding problem, in which only sequences with a sum above 1 count: a part may hold none of them."""

    def weight(self, y):
        return int((y > 1).sum())

    def loss(self, prediction, y):
        return (prediction[:, -1] - y)[y > 1].square().mean()


class Breaking(AddingProblem):
    """The third loss of the last process is not finite."""

    def __init__(self, rank):
        super().__init__(6)
        self.calls, self.broken = 0, rank == 1

    def loss(self, prediction, y):
        self.calls += 1
        return super().loss(prediction, y) * (math.nan if self.broken and self.calls == 3 else 1)


JUDGED = {"keep_best": "mse", "plateau": drop_on_plateau(1, 2.0, "mse")}
# A model, a task and how it is trained; batches of odd size are cut into unequal parts.
CASES = {
    "gru": lambda: (
        Wide(Readout(GRU(2, 6), 1)),
        AddingProblem(8),
        {"batch_size": 7, "clip": 0.5, "eval_every": 4, "eval_batches": 1, **JUDGED},
    ),
    "stream": lambda: (Readout(LSTM(6, 5), 6, vocabulary=6), Murmur(), {"batch_size": 5, "stream_length": 6}),
    "pair": lambda: (
        Seq2Seq(NumberWords().input_size, NumberWords().output_size, width=6, hidden_size=6),
        NumberWords(),
        {"batch_size": 5},
    ),
    "nothing counts": lambda: (Wide(Readout(GRU(2, 4), 1)), Scored(5), {"batch_size": 6}),
    "without gradient": lambda: (Wide(Forgetful()), AddingProblem(5), {"batch_size": 2}),
}
# Parts with and without gradient of `rarely` would not be alike in one process: it looks at the first sequence alone.
ALIKE = [name for name in CASES if name != "without gradient"]


def train(name, dtype=torch.float64, **changes):
    """The history of one case, and the model."""
    torch.set_default_dtype(dtype)
    torch.manual_seed(0)
    model, task, settings = CASES[name]()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.1)
    history = fit(model, task, optimizer=optimizer, progress=False, **{"steps": 12, **settings, **changes})
    torch.set_default_dtype(torch.float32)
    return history, model


class Noisy(nn.Module):
    """Reads a stream with state, and with dropout, which asks the generator of its process."""

    def __init__(self):
        super().__init__()
        self.core, self.dropout = Readout(LSTM(6, 5), 6, vocabulary=6), nn.Dropout(0.3)

    def forward(self, x, state=None):
        y, state = self.core(x, state)
        return self.dropout(y), state


def interrupted(processes, path, **changes):
    """The losses of a run on a stream that may have a checkpoint at `path`."""
    torch.manual_seed(0)
    how = {"steps": 10, "batch_size": 5, "stream_length": 6, "lr": 0.01, "checkpoint_every": 3, "progress": False}
    return fit(Noisy(), Murmur(), processes=processes, checkpoint=path, **how, **changes).loss


def said(error, function, *arguments, **settings):
    """The message of an error that has to come."""
    with pytest.raises(error) as caught:
        function(*arguments, progress=False, **settings)
    return str(caught.value)


def numbers(model):
    return [float(p.detach().double().sum()) for p in model.parameters()]


def half(steps=60):
    """The case "gru" in mixed precision."""
    AcceleratorState._reset_state()  # a program has one precision, but this one
    trained = train("gru", torch.float32, processes=join("cpu", "bf16"), steps=steps)
    AcceleratorState._reset_state()
    return trained


def main(what, folder):
    processes = join("cpu")
    torch.set_num_threads(1)
    if what == "die":

        def die(step, model, loss):
            if step == 8 and processes.rank == 1:
                os.kill(os.getpid(), signal.SIGKILL)

        interrupted(processes, folder / "run.ckpt", after_step=die)
    found = {"rank": processes.rank, "count": processes.count, "cases": {}}
    for name in CASES:
        history, model = train(name, processes=processes)
        found["cases"][name] = [history.loss, history.gradient_norm, history.evaluations, history.lr, numbers(model)]
    found["resumed"] = interrupted(processes, folder / "run.ckpt")
    found["whole"] = interrupted(processes, None)
    how = {"steps": 5, "processes": processes}
    gru, lstm = Readout(GRU(2, 4), 1), Readout(LSTM(6, 5), 6, vocabulary=6)
    found["broken"] = said(TrainingDiverged, fit, gru, Breaking(processes.rank), batch_size=4, **how)
    found["few"] = said(ValueError, fit, lstm, Murmur(), batch_size=1, stream_length=6, **how)
    found["half"] = half()[0].loss
    with mock.patch.dict(RECIPES, tiny=TINY):
        found["status"] = experiments.main(["run", "tiny", "--out", str(folder / "records"), "--device", "cpu"])
    (folder / f"rank{processes.rank}.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
