"""fit: the same seed, the same numbers; resumed equals uninterrupted; a run that dies says so."""

import math

import pytest
import torch
from support.exploding import Exploding
from torch import nn

from rtx_lib.layers import RNN, Readout
from rtx_lib.tasks import AddingProblem
from rtx_lib.training import TrainingDiverged, choose_device, evaluate, fit, parameter_count
from rtx_lib.training.schedules import drop_on_plateau, warmup_cosine

SETTINGS = {"batch_size": 8, "lr": 0.01, "clip": 1.0, "progress": False}


class Dropped(nn.Module):
    """A model with dropout, so that torch's own generator matters."""

    def __init__(self):
        super().__init__()
        self.rnn, self.dropout, self.linear = RNN(2, 8), nn.Dropout(0.5), nn.Linear(8, 1)

    def forward(self, x, state=None):
        h, state = self.rnn(x, state)
        return self.linear(self.dropout(h)), state


class Counting:
    """A stream of 2 * 12 numbers; the label tells the model how much of the text it should have seen."""

    name, input_size, output_size, vocabulary = "counting", 1, 1, None

    def stream(self, split, size, length):
        text = torch.arange(24.0).reshape(2, 12, 1)[:size] / 24
        for start in range(0, 12 - length + 1, length):
            yield text[:, start : start + length], text[:, start : start + length]

    def loss(self, prediction, y):
        return (prediction - y).square().mean()


class Accumulating(nn.Module):
    """Its state is the sum of all inputs seen since the state was None."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))
        self.states = []

    def forward(self, x, state=None):
        self.states.append(None if state is None else state.clone())
        total = x.sum(1) + (0 if state is None else state)
        return x * self.scale, total * self.scale


def train(model_class=Dropped, steps=12, **changes):
    torch.manual_seed(0)
    model = model_class()
    history = fit(model, AddingProblem(6), steps=steps, **SETTINGS | changes)
    return model, history


def same(a, b):
    return all(torch.equal(x, y) for x, y in zip(a.parameters(), b.parameters(), strict=True))


def test_same_seed_same_numbers_and_another_seed_others():
    first, second, other = train(), train(), train(seed=1)
    assert first[1].loss == second[1].loss and same(first[0], second[0])
    assert first[1].loss != other[1].loss


def test_history_has_one_entry_a_step():
    _, history = train(eval_every=5)
    assert history.step == list(range(1, 13))
    assert {len(history.loss), len(history.gradient_norm), len(history.lr)} == {12}
    assert [row["step"] for row in history.evaluations] == [5, 10, 12]
    assert history.curve("mse")[0] == [5, 10, 12] and history.seconds > 0


class Killed(Exception):
    pass


def kill_at(step):
    def callback(now, model, loss):
        if now == step:
            raise Killed

    return callback


@pytest.mark.parametrize("killed_at", [4, 7])
def test_a_killed_run_resumes_to_the_same_numbers(tmp_path, killed_at):
    whole, history = train(eval_every=3)
    path = tmp_path / "run.ckpt"
    with pytest.raises(Killed):
        train(eval_every=3, checkpoint=path, checkpoint_every=3, after_step=kill_at(killed_at))
    resumed, again = train(eval_every=3, checkpoint=path, checkpoint_every=3)
    assert again.loss == history.loss and again.evaluations == history.evaluations and same(whole, resumed)
    assert [file.name for file in tmp_path.iterdir()] == ["run.ckpt"]


def test_checkpoints_of_another_run_or_an_older_version_are_refused(tmp_path):
    path = tmp_path / "run.ckpt"
    train(checkpoint=path)
    with pytest.raises(ValueError, match=r"another run.*'seed': \(0, 3\)"):
        train(checkpoint=path, seed=3)
    saved = torch.load(path, weights_only=True)
    del saved["run"]["format"]
    torch.save(saved, path)
    with pytest.raises(ValueError, match=r"another run.*'format': \(None, 2\)"):
        train(checkpoint=path)


@pytest.mark.parametrize(("factor", "what"), [(math.nan, "loss"), (math.inf, "loss"), (0, "gradient norm")])
def test_a_loss_or_gradient_that_is_not_finite_stops_the_run(tmp_path, factor, what):
    path = tmp_path / "run.ckpt"
    with pytest.raises(TrainingDiverged, match=rf"{what} is (nan|inf) at step 6; .*run\.ckpt") as caught:
        fit(Dropped(), Exploding(factor), steps=9, checkpoint=path, checkpoint_every=2, **SETTINGS)
    assert caught.value.step == 6 and len(caught.value.history.loss) == 5
    assert all(torch.isfinite(v).all() for v in torch.load(path)["model"].values())
    with pytest.raises(TrainingDiverged, match="no checkpoint was written"):
        fit(Dropped(), Exploding(), steps=9, **SETTINGS)


def test_clipping_limits_the_step():
    """With SGD the change of the weights is the clipped gradient, whose norm is the limit."""
    torch.manual_seed(0)
    model = Dropped()
    before = [p.detach().clone() for p in model.parameters()]
    sgd = torch.optim.SGD(model.parameters(), lr=1.0)
    history = fit(model, AddingProblem(6), steps=1, batch_size=8, clip=1e-3, progress=False, optimizer=sgd)
    moved = torch.cat([(a - b).flatten() for a, b in zip(before, model.parameters(), strict=True)]).norm().item()
    assert history.gradient_norm[0] > 1e-3 and moved == pytest.approx(1e-3, rel=1e-3)


def test_streams_carry_the_state_and_start_anew_with_each_pass():
    model = Accumulating()
    fit(model, Counting(), steps=5, batch_size=2, stream_length=6, lr=1e-9, progress=False)
    assert [state is None for state in model.states] == [True, False, True, False, True]
    assert not model.states[1].requires_grad
    assert model.states[1].flatten().tolist() == pytest.approx([15 / 24, (12 * 6 + 15) / 24])
    with pytest.raises(ValueError, match="stream_length"):
        fit(Accumulating(), Counting(), steps=1, batch_size=2, stream_length=13, progress=False)


def test_evaluation_on_streams_carries_the_state():
    """The state of `Summing` is what it predicts: the sum of all that was read before a piece."""

    class Summing(Accumulating):
        def forward(self, x, state=None):
            y, total = super().forward(x, state)
            before = torch.zeros_like(total) if state is None else state
            return before[:, None].expand_as(y) * self.scale, total

    class Scored(Counting):
        def metrics(self, prediction, y):
            return {"before": float(prediction.mean())}

    model = Summing()
    scores = evaluate(model, Scored(), "train", batch_size=1, stream_length=4)
    assert scores["before"] == pytest.approx((0 + 6 + 28) / 24 / 3) and [s is None for s in model.states] == [1, 0, 0]
    history = fit(model, Scored(), steps=2, batch_size=1, stream_length=4, lr=1e-9, eval_every=2, progress=False)
    assert history.evaluations[0]["before"] == pytest.approx((34 + 54 + 124) / 24 / 6), "both streams"
    assert evaluate(model, Scored(), "train", batch_size=2, stream_length=4, batches=1)["before"] == 0
    with pytest.raises(ValueError, match="stream_length must be None because adding-6 has no stream, got 4"):
        evaluate(model, AddingProblem(6), stream_length=4)


def test_evaluating_on_some_batches():
    (model, part), (_, whole) = train(eval_every=12, eval_batches=1), train(eval_every=12)
    assert part.evaluations[0]["mse"] != whole.evaluations[0]["mse"]
    assert evaluate(model.train(), AddingProblem(6), batches=1) and model.training, "the mode is that of before"
    with pytest.raises(ValueError, match="batches must be positive, got 0"):
        evaluate(Dropped(), AddingProblem(6), batches=0)


def test_a_schedule_reaches_the_optimizer():
    _, history = train(schedule=warmup_cosine(12))
    assert history.lr[0] > history.lr[5] > history.lr[-1] == 0
    assert same(train(schedule=lambda step: 0.5)[0], train(lr=0.005)[0])


def test_parameter_count_leaves_out_embeddings():
    assert parameter_count(Readout(RNN(3, 5), 2, vocabulary=7)) == 5 * 3 + 25 + 10 + 10 + 2


def test_the_best_evaluation_is_kept(tmp_path):
    """A rate that grows makes the model worse in the end; killed and resumed, the best is still known."""
    settings = {"schedule": lambda step: 1.0 if step <= 4 else 100.0, "eval_every": 2, "steps": 12}
    kept, history = train(**settings, keep_best="mse")
    curve = history.curve("mse")[1]
    best = min(curve)
    assert evaluate(kept, AddingProblem(6))["mse"] == pytest.approx(best) and best < curve[-1]
    last, _ = train(**settings)
    assert evaluate(last, AddingProblem(6))["mse"] == pytest.approx(curve[-1])
    settings |= {"checkpoint": tmp_path / "run.ckpt", "checkpoint_every": 1, "keep_best": "mse"}
    with pytest.raises(Killed):
        train(**settings, after_step=kill_at(11))
    assert same(kept, train(**settings)[0])
    for name, value in (("keep_best", "loss"), ("plateau", drop_on_plateau(1, 2.0, "loss"))):
        with pytest.raises(ValueError, match=r"(keep_best|metric) must be one of \[.*'mse'.*\], got 'loss'"):
            train(eval_every=1, **{name: value})


def test_a_plateau_reaches_the_optimizer(tmp_path):
    settings = {"plateau": drop_on_plateau(1, 2.0, "mse"), "eval_every": 2, "schedule": lambda step: -1.0}  # it climbs
    settings |= {"checkpoint": tmp_path / "run.ckpt", "checkpoint_every": 1}
    with pytest.raises(Killed):
        train(**settings, after_step=kill_at(7))
    _, history = train(**settings)
    assert history.lr == pytest.approx([-0.01 / 2 ** max(0, (step - 1) // 2 - 1) for step in range(1, 13)])


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        *((name, 0, "must be positive, got 0") for name in ("steps", "batch_size", "lr", "eval_every", "eval_batches")),
        ("clip", -1.0, "must be positive, got -1.0"),
        *(("device", device, "must be one that torch can use here, got") for device in ("abacus", "cuda:99")),
        *((name, value, "") for name, value in (("keep_best", "mse"), ("plateau", drop_on_plateau(1, 2.0)))),
    ],
)
def test_bad_arguments(name, value, message):
    with pytest.raises(ValueError, match=f"{name} {message}" if message else "eval_every must be given"):
        train(**{name: value})


@pytest.mark.parametrize("there", [True, False])
def test_the_device_is_the_one_that_is_named_or_a_gpu_where_torch_has_one(monkeypatch, there):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: there)
    assert choose_device() == torch.device("cuda" if there else "cpu")
    assert choose_device("cpu") == choose_device(torch.device("cpu")) == torch.device("cpu")
    with pytest.raises(ValueError, match="device must be one that torch can use here, got 'gpu'"):
        choose_device("gpu")
