"""fit at its door: data with a loss train as a task does, a first try has a rate, and what is wrong gets a sentence."""

import pytest
import torch
from support.helpers import killed, refusals
from torch import nn
from torch.nn import CrossEntropyLoss
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, IterableDataset, TensorDataset, random_split

from rtx_lib.layers import GRU, LSTM, RNN, MultiHeadAttention, Readout
from rtx_lib.models import GPT, IndRNN, Mamba, PlainGPT, RTransformer
from rtx_lib.tasks import AddingProblem
from rtx_lib.tasks.windows import Windows
from rtx_lib.training import Pairs, evaluate, fit
from rtx_lib.training.defaults import first_try

X = torch.randn(60, 5, 3, generator=torch.Generator().manual_seed(0))
Y = (X.sum((1, 2)) > 0).long()
ROWS, BATCHES = TensorDataset(X, Y), list(zip(X.split(16), Y.split(16), strict=True))


def loss(prediction, y):
    return cross_entropy(prediction[:, -1], y)


def train(data, model=None, **options):
    torch.manual_seed(0)
    return fit(model or Readout(GRU(3, 4), 2), data, **{"steps": 9, "loss": loss, "progress": False} | options)


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (ROWS, {"batch_size": 16}),
        (random_split(ROWS, [40, 20], torch.Generator().manual_seed(0))[0], {"batch_size": 16}),
        (DataLoader(ROWS, 16, shuffle=True), {}),
        (BATCHES, {}),
        ([(x.numpy(), y.numpy()) for x, y in BATCHES], {}),
    ],
)
def test_the_same_seed_gives_the_same_numbers(data, options):
    losses = train(data, **options).loss
    assert losses == train(Pairs(data, loss), loss=None, **options).loss == train(data, **options).loss
    assert len(set(losses)) == 9


def test_batches_come_in_order_and_begin_anew():
    """Four of them; the rate is too small to change anything."""
    losses = train(BATCHES, lr=1e-12).loss
    assert losses[:4] == pytest.approx(losses[4:8]) and losses[0] != pytest.approx(losses[1])
    pairs = Pairs(BATCHES, loss)
    assert train(pairs, loss=None, steps=3).loss == train(pairs, loss=None, steps=3).loss


def test_rows_resume_from_a_checkpoint(tmp_path):
    options = {"batch_size": 4, "checkpoint": tmp_path / "run"}
    with pytest.raises(KeyboardInterrupt):
        killed(train)(ROWS, **options)
    assert train(ROWS, **options).loss == train(ROWS, batch_size=4).loss


def test_held_out_data_are_evaluated():
    for valid in (TensorDataset(X[:20], Y[:20]), [(X[:12], Y[:12]), (X[12:20], Y[12:20])]):
        model = Readout(RNN(3, 4), 2)
        history = train(Pairs(BATCHES, loss, valid), model, loss=None, eval_every=9)
        expected = loss(model(X[:20])[0], Y[:20]).item()
        assert history.evaluations[0]["loss"] == pytest.approx(expected, rel=1e-5)
        whole = loss(model(X)[0], Y).item()
        assert evaluate(model, Pairs(ROWS, loss), "train")["loss"] == pytest.approx(whole, rel=1e-5)


class Bare:
    """Five members are enough."""

    input_size, output_size, loss = 3, 2, staticmethod(loss)

    def batch(self, split, size, generator):
        places = torch.randint(60, (size,), generator=generator)
        return X[places], Y[places]

    def metrics(self, prediction, y):
        return {"loss": loss(prediction, y).item()}


def test_a_task_of_five_members():
    options = {"loss": None, "batch_size": 8, "eval_every": 3}
    first, again = (train(Bare(), **options).evaluations for _ in range(2))
    assert first == again and len(first) == 3


# What a first try takes


SMALL = {"width": 4, "heads": 1, "layers": 1}
KINDS = {
    "gates": [Readout(GRU(3, 4), 2), Readout(LSTM(3, 4), 2), nn.Sequential(nn.LSTM(3, 4))],
    "others": [Readout(RNN(3, 4), 2), IndRNN(3, 4, 1, 2), Mamba(4)],
    "attention": [MultiHeadAttention(4, 2), nn.TransformerEncoderLayer(4, 2)],
}
KINDS["attention"] += [GPT(5, **SMALL), PlainGPT(5, **SMALL), RTransformer(3, 2, **SMALL, window=2)]


@pytest.mark.parametrize(("kind", "model"), [(kind, model) for kind, models in KINDS.items() for model in models])
def test_the_kind_of_a_model_is_seen(kind, model):
    assert kind in first_try(model).kind


def test_the_first_try_is_printed_and_gives_way_to_what_is_said(capsys):
    history = train(ROWS, batch_size=4, progress=True)
    assert f"fit: lr={history.lr[0]:g}, clip=" in capsys.readouterr().out
    start = first_try(Readout(GRU(3, 4), 2))
    same = train(ROWS, batch_size=4, lr=start.lr, clip=start.clip, schedule=start.schedule(9), progress=True)
    assert same.loss == history.loss and not capsys.readouterr().out
    slow = train(ROWS, batch_size=4, schedule=lambda step: 0.5)
    assert slow.lr == [start.lr / 2] * 9


class NoState(nn.Linear):
    pass


class Stream(IterableDataset):
    def __iter__(self):
        return iter(BATCHES)


LOADER, WINDOWS = DataLoader(ROWS, 16), Windows({"train": torch.arange(99)}, 8)
HALF = type("Half", (), {"batch": None, "loss": None})()
LIKE = "as rtx_lib.TableTask does"
WRONG = {
    "task must be a task, as rtx_lib.TextTask('mine.txt') makes of a text, got str": ("mine.txt", {}),
    "task must be an instance, as AddingProblem(...) makes, got the class AddingProblem": (AddingProblem, {}),
    "task must be a task and come behind the model, as in fit(model, task), got Linear": (nn.Linear(3, 2), {}),
    "task must be a task, as rtx_lib.TableTask(x, y) makes of arrays, got tuple": ((X, Y), {}),
    "task must be a task, as rtx_lib.TableTask(x, y) makes of arrays, got ndarray": (X.numpy(), {}),
    f"task must have batch and loss, {LIKE} (batch(split, size, generator) draws x and y; loss(": (None, {}),
    f"task must have loss, {LIKE} (loss(prediction, y) is what training lowers), got": (WINDOWS, {"batch_size": 4}),
    f"task must have metrics, {LIKE} (metrics(prediction, y) is": (HALF, {"batch_size": 4, "eval_every": 3}),
    "loss must be a function (prediction, y) -> scalar with a DataLoader; tasks such as": (LOADER, {"loss": None}),
    "loss must be a function (prediction, y) -> scalar, got str": (LOADER, {"loss": "mse"}),
    "loss must be None with a task, which has its own, got function": (Bare(), {"batch_size": 4}),
    "loss must take the whole prediction and y, of shapes (16, 5, 2) and (16,)": (LOADER, {"loss": CrossEntropyLoss()}),
    "loss must return a scalar tensor, got shape (16,)": (LOADER, {"loss": lambda prediction, y: prediction[:, 0, 0]}),
    "loss must return a scalar tensor, got float": (LOADER, {"loss": lambda prediction, y: 0.5}),
    "batch_size must be None, since the DataLoader makes the batches, got 8": (LOADER, {"batch_size": 8}),
    "batch_size must be at least 1, got None": (ROWS, {}),
    "eval_every must be None, or data held out by Pairs(data, loss, valid=...), got 3": (LOADER, {"eval_every": 3}),
    "data must be a task or a Dataset with a checkpoint or several": (LOADER, {"checkpoint": "run.ckpt"}),
    "data must be batches, as DataLoader(data, batch_size=32) makes, got single rows": (Stream(), {}),
    "data must hold pairs (x, y), got 3 parts": ([(X, X, Y)], {}),
    "data must hold pairs (x, y), got str": ({"train": LOADER}, {}),
    "data must not be empty, got list of length 0": ([], {}),
    "stream_length must be None because pairs has no stream, got 4": (LOADER, {"stream_length": 4}),
}


@pytest.mark.parametrize("message", WRONG)
def test_what_is_no_data(message):
    data, options = WRONG[message]
    with pytest.raises(ValueError) as caught:
        train(data, **options)
    assert str(caught.value).startswith(message) and "\n" not in str(caught.value)


test_what_is_no_model = refusals(
    {
        "model must be an nn.Module, as .* is, got the class GRU": lambda: train(ROWS, GRU, batch_size=4),
        r"model must be .*, got Bare \(it comes first: fit\(model, task\)\)": lambda: train(ROWS, Bare(), batch_size=4),
        r"model must map \(x, state\) to \(y, state\), .*, got NoState, which takes no state": (
            lambda: train(ROWS, NoState(3, 2), batch_size=4)
        ),
        "data must .* can be read again, .*, got generator, which ended for good after 4 batches": (
            lambda: train(pair for pair in BATCHES)
        ),
    }
)
