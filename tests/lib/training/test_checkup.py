"""checkup: each planted mistake is seen by its line, nothing sound fails, and the model stays as it was."""

import copy
import functools
from functools import partial
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from support.helpers import drawn, refusals
from torch import nn

from rtx_lib import checkup, models
from rtx_lib.layers import GRU, LSTM, RNN, MixerStack, Readout
from rtx_lib.tasks import AddingProblem, CharacterText, CopyMemory, Lag, Parity, PartsOfSpeech, SequentialDigits
from rtx_lib.training.by_heart import RATES
from rtx_lib.training.checkup import _rates

# ---- mistakes, each planted in an LSTM, a small GPT and a GRU


class Attention(nn.Module):
    """A block of a GPT: causal attention and an MLP, before each a norm and around each a residual connection."""

    def __init__(self, width, heads=2):
        super().__init__()
        self.heads, self.norm1, self.norm2 = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.hidden, self.detached = float("-inf"), False

    def forward(self, x):
        h = self.norm1(x)
        past = h.detach() if self.detached else h
        (wq, wk, wv), (bq, bk, bv) = self.qkv.weight.chunk(3), self.qkv.bias.chunk(3)
        q, k, v = F.linear(h, wq, bq), F.linear(past, wk, bk), F.linear(past, wv, bv)
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (q, k, v))
        mask = torch.full((x.shape[1], x.shape[1]), self.hidden).triu(1)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


class Net(nn.Module):
    """An embedding or a linear map, a body and a head; what ``slip`` is called goes wrong."""

    def __init__(self, kind, task, slip="", width=16):
        super().__init__()
        self.kind, self.slip = kind, slip
        ids = task.vocabulary is not None
        self.inward = nn.Embedding(task.vocabulary, width) if ids else nn.Linear(task.input_size, width)
        both, first = slip == "both directions" and kind != "gpt", slip != "batch second"
        if kind == "gpt":
            self.positions = nn.Embedding(64, width)
            self.body = Attention(width)
            self.body.hidden = {"mask of -1": -1.0, "both directions": 0.0}.get(slip, float("-inf"))
            self.body.detached = slip == "detached state"
        else:
            layer = nn.LSTM if kind == "lstm" else nn.GRU
            self.body = layer(width, width, batch_first=first, bidirectional=both)
        middle = nn.Sequential(nn.Linear(width * (1 + both), width), nn.ReLU(), nn.Linear(width, width))
        self.middle = [middle] if slip == "layer in a list" else middle
        self.batch_norm = nn.BatchNorm1d(width, track_running_stats=False) if slip == "batch norm" else None
        self.dropout = nn.Dropout(0.3 if slip == "left in eval mode" else 0.0)
        self.head = nn.Linear(width, task.output_size)
        self.kept = None
        with torch.no_grad():
            if slip in ("std 10", "zeros"):
                for p in self.parameters():
                    p.normal_(0, 10) if slip == "std 10" else p.zero_()
            if slip == "dead ReLU":
                middle[0].bias.fill_(-100)
            if slip == "frozen":
                self.head.weight.requires_grad_(False)

    def recurrent(self, h):
        """The body over time: step by step where a state is detached."""
        if self.kind == "gpt":
            return self.body(h)
        if self.slip == "detached state":
            state, ys = None, []
            for step in h.split(1, 1):
                y, state = self.body(step, state)
                state = tuple(s.detach() for s in state) if isinstance(state, tuple) else state.detach()
                ys.append(y)
            return torch.cat(ys, 1)
        if self.slip == "state kept":
            y, state = self.body(h, self.kept)
            self.kept = tuple(s.detach() for s in state) if isinstance(state, tuple) else state.detach()
            return y
        return self.body(h)[0]

    def forward(self, x, state=None):
        h = self.inward(x)
        if self.kind == "gpt":
            h = h + self.positions.weight[: h.shape[1]]
        if self.slip == "detached input":
            h = h.detach()
        if self.slip == "batch second" and self.kind == "gpt":
            h = self.recurrent(h.transpose(0, 1)).transpose(0, 1)
        elif self.slip == "view for transpose":
            h = self.recurrent(h.reshape(h.shape[1], h.shape[0], -1)).reshape(h.shape)
        else:
            h = self.recurrent(h)
        if self.slip == "mean over time":
            h = h.mean(1, keepdim=True).expand(h.shape)
        if self.slip == "norm over rows":
            h = (h - h.mean(0)) / (h.std(0) + 1e-3)
        if self.slip == "hard threshold":
            h = (h > 0).float()
        middle = self.middle[0] if isinstance(self.middle, list) else self.middle
        added = middle(h)
        h = added if self.slip in ("dead ReLU", "both directions") else h + (0 if self.slip == "scale 0" else 1) * added
        if self.batch_norm is not None:
            h = self.batch_norm(h.transpose(1, 2)).transpose(1, 2)
        h = F.dropout(h, 0.5) if self.slip == "dropout always" else self.dropout(h)
        y = self.head(h)
        y = y.softmax(-1) if self.slip == "softmax twice" else y
        return y if self.kind == "gpt" else (y, None)


def changed(task, **parts):
    """A task with some of its parts exchanged."""
    names = ("input_size", "output_size", "vocabulary", "batch", "loss")
    return SimpleNamespace(**{name: getattr(task, name) for name in names} | parts)


def same_batch(task):
    return changed(task, batch=lambda split, size, generator: task.batch(split, size, torch.Generator().manual_seed(1)))


def not_shifted(task):
    def batch(split, size, generator):
        x, _ = task.batch(split, size, generator)
        return x, x

    return changed(task, batch=batch)


def other_places(task):
    """The loss reads the first output of each row, or the output before each label."""

    def loss(prediction, y):
        if y.shape[1:] == prediction.shape[1:2]:
            return task.loss(prediction[:, :-1], y[:, 1:])
        return task.loss(prediction[:, :1], y)

    return changed(task, loss=loss)


def padded(task, counted=True):
    """Rows of different lengths; what is behind the end counts, or does not."""

    def batch(split, size, generator):
        x, y = task.batch(split, size, generator)
        behind = torch.arange(x.shape[1]) >= torch.randint(4, x.shape[1], (size, 1), generator=generator)
        x = (x.clamp(min=1) if x.ndim == 2 else x).masked_fill(behind if x.ndim == 2 else behind[..., None], 0)
        return x, (y if y.shape != x.shape[:2] else y.masked_fill(behind, 0 if counted else -100))

    return changed(task, batch=batch)


def broadcast(task):
    """The sum of two numbers, whose error is taken of (B,) and (B, 1)."""
    return changed(AddingProblem(6), loss=lambda prediction, y: (prediction[:, -1, 0] - y).square().mean())


def with_loss(loss):
    return lambda task: changed(task, loss=loss(task))


def as_log_probabilities(task):
    """Logits are taken for log-probabilities."""

    def loss(prediction, y):
        last = prediction[:, -1] if y.ndim == 1 else prediction.flatten(0, 1)
        return F.nll_loss(last, y.flatten())

    return loss


ALL = ("lstm", "gpt", "gru")
# By name: the line that sees it, the models that can have it, what the model does wrong, and the task, and arguments.
MISTAKES = {
    "batch_first forgotten": ("rows", ALL, "batch second", None, {}),
    "view in place of transpose": ("rows", ALL, "view for transpose", None, {}),
    "a norm over the rows": ("rows", ALL, "norm over rows", None, {}),
    "batch norm without running statistics": ("rows", ALL, "batch norm", None, {}),
    "always the same batch": ("rows", ALL, "", same_batch, {}),
    "shapes that broadcast": ("rows", ALL, "", broadcast, {}),
    "mask of -1": ("causal", ("gpt",), "mask of -1", None, {}),
    "no mask, or both directions": ("causal", ALL, "both directions", None, {}),
    "mean over time before a shared head": ("causal", ALL, "mean over time", None, {}),
    "shift forgotten": ("causal", ("lstm", "gpt"), "", not_shifted, {}),
    "softmax twice": ("start", ALL, "softmax twice", None, {}),
    "logits as log-probabilities": ("start", ALL, "", with_loss(as_log_probabilities), {}),
    "sign of the loss": ("start", ALL, "", with_loss(lambda task: lambda p, y: -task.loss(p, y)), {}),
    "weights of deviation 10": ("start", ALL, "std 10", None, {}),
    "weights of 0": ("gradients", ALL, "zeros", None, {}),
    "dead ReLU": ("gradients", ALL, "dead ReLU", None, {}),
    "layer in a list": ("gradients", ALL, "layer in a list", None, {}),
    "frozen weight": ("gradients", ALL, "frozen", None, {}),
    "residual scale of 0": ("gradients", ALL, "scale 0", None, {}),
    "hard threshold": ("gradients", ALL, "hard threshold", None, {}),
    "input detached": ("gradients", ALL, "detached input", None, {}),
    "state detached": ("reach", ALL, "detached state", None, {}),
    "loss at the wrong steps": ("padding", ALL, "", other_places, {}),
    "padding counted": ("padding", ALL, "", padded, {"pad": 0}),
    "dropout in evaluation": ("modes", ALL, "dropout always", None, {}),
    "left in evaluation mode": ("modes", ALL, "left in eval mode", None, {}),
    "state kept between calls": ("modes", ("lstm", "gru"), "state kept", None, {}),
    "rate ten times too high": ("rates", ALL, "", None, {"lr": 10}),
    "rate ten times too low": ("rates", ALL, "", None, {"lr": 0.1}),
}
# The lowest and the highest rate at which each learns eight examples in 100 steps: its loss falls by a fifth and more.
LEARNS = {"lstm": (1e-3, 3e-1), "gpt": (1e-3, 1e-1), "gru": (1e-3, 3e-1)}


def plant(name, kind, task):
    """A model with a mistake in it, and what `checkup` takes beside it."""
    _, _, slip, change, options = MISTAKES[name]
    task = change(task) if change else task
    if factor := options.get("lr"):
        options = {"lr": factor * LEARNS[kind][factor > 1]}
    return drawn(0, Net, kind, task, slip).train(slip != "left in eval mode"), task, options


# ---- what is sound


class OneHot(nn.Module):
    """Ids as one-hot vectors into torch's GRU; a tensor comes out, and no embedding is there to be found."""

    def __init__(self, task, width=24):
        super().__init__()
        self.size, self.core = task.vocabulary, nn.GRU(task.vocabulary, width, batch_first=True)
        self.head = nn.Linear(width, task.output_size)

    def forward(self, x):
        return self.head(self.core(F.one_hot(x, self.size).float())[0])


class Indexed(nn.Module):
    """Ids index the input matrix of a tanh network, which is written out; time comes first inside."""

    def __init__(self, task, width=24):
        super().__init__()
        self.inward = nn.Parameter(torch.randn(task.vocabulary, width))
        self.across, self.head = nn.Linear(width, width), nn.Linear(width, task.output_size)

    def forward(self, x, state=None):
        h, hs = torch.zeros(len(x), self.inward.shape[1]), []
        for z in self.inward[x.t()]:
            h = torch.tanh(z + self.across(h))
            hs.append(h)
        return self.head(torch.stack(hs, 1)), h


class Windowed(nn.Module):
    """A causal convolution, a norm and dropout: torch's parts alone."""

    def __init__(self, task, width=24):
        super().__init__()
        self.table, self.norm = nn.Embedding(task.vocabulary, width), nn.LayerNorm(width)
        self.convolution, self.dropout = nn.Conv1d(width, width, 4), nn.Dropout(0.1)
        self.head = nn.Linear(width, task.output_size)

    def forward(self, x):
        h = self.convolution(F.pad(self.table(x).transpose(1, 2), (3, 0))).transpose(1, 2)
        return self.head(self.dropout(self.norm(F.relu(h))))


class Encoded(nn.Module):
    """torch's Transformer, under its mask or without one."""

    def __init__(self, task, causal, width=16):
        super().__init__()
        self.causal, self.table, self.places = causal, nn.Embedding(task.vocabulary, width), nn.Embedding(32, width)
        self.layer = nn.TransformerEncoderLayer(width, 2, 32, dropout=0.1, batch_first=True)
        self.head = nn.Linear(width, task.output_size)

    def forward(self, x):
        T = x.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(T) if self.causal else None
        return self.head(self.layer(self.table(x) + self.places.weight[:T], mask, is_causal=self.causal))


def targets(task):
    """Classes as numbers between -1 and 1, which states can reach."""

    def loss(prediction, y):
        return F.mse_loss(prediction[:, -1], F.one_hot(y, task.output_size) - 0.5)

    return changed(task, loss=loss)


def core(kind, width=16, out=None, **options):
    """A core of ours between an embedding, or the task's floats, and a readout."""

    def build(task):
        ids = task.vocabulary is not None
        inner = kind(width if ids else task.input_size, **({"hidden_size": out or 24} if out != 0 else {}), **options)
        return Readout(inner, task.output_size, vocabulary=task.vocabulary)

    return build


def stack(mixer, **options):
    return lambda task: MixerStack(
        task.input_size, task.output_size, mixer, width=16, layers=1, vocabulary=task.vocabulary, **options
    )


def whole(kind, *sizes, **options):
    return lambda task: kind(task.input_size, *sizes, task.output_size, vocabulary=task.vocabulary, **options)


def embedded(kind, *sizes, **options):
    return lambda task: kind(16, *sizes, task.output_size, vocabulary=task.vocabulary, **options)


def tcn(task, **options):
    return models.TCN(task.input_size, task.output_size, kernel_size=3, vocabulary=task.vocabulary, **options)


def bare(kind):
    """A layer of torch as it is, whose states are the prediction."""
    return lambda task: kind(task.input_size, task.output_size, batch_first=True)


SMALL = {"width": 16, "heads": 2, "layers": 1}
TASKS = {
    "adding": lambda: AddingProblem(9),
    "copy": lambda: CopyMemory(3, length=3),
    "text": lambda: CharacterText("pydoc", length=12),
    "digits": lambda: SequentialDigits(rows=True),
    "parity": lambda: Parity(7),
    "tags": lambda: PartsOfSpeech("small_world"),
    "lag": lambda: Lag(9, lag=2),
    "targets": lambda: targets(SequentialDigits(rows=True)),
    "padded": lambda: padded(Lag(9, lag=1), counted=False),
}
BOTH = {"causal": False}
SOUND = {
    "LSTM, text": (core(LSTM), "text", {}),
    "LSTM, adding": (core(LSTM), "adding", {"lr": 1e-2}),
    "LSTM, tags": (core(LSTM, backend="auto"), "tags", {}),
    "two layers of LSTM, copy": (core(LSTM, num_layers=2), "copy", {}),
    "GRU, parity": (core(GRU), "parity", {}),
    "GRU, digits": (core(GRU), "digits", {"lr": 1e-2}),
    "RNN, lag": (core(RNN), "lag", {}),
    "RNN of ReLUs, adding": (core(RNN, nonlinearity="relu", init="identity"), "adding", {}),
    "IndRNN, digits": (whole(models.IndRNN, 24, 2), "digits", {}),
    "IndRNN with norm, text": (embedded(models.IndRNN, 24, 2, norm="before"), "text", {}),
    "QRNN, text": (embedded(models.QRNN, 24, 2), "text", {}),
    "minGRU, lag": (stack(lambda width: models.MinGRU(width)), "lag", {}),
    "Mamba, text": (core(models.Mamba, out=0), "text", {}),
    "Mamba, adding": (stack(lambda width: models.Mamba(width, 4)), "adding", {}),
    "Mamba-2, lag": (stack(lambda width: models.Mamba2(width, 2, 4)), "lag", {}),
    "mLSTM, copy": (stack(lambda width: models.MLSTM(width, 2)), "copy", {}),
    "sLSTM, parity": (stack(lambda width: models.SLSTM(width, 2)), "parity", {}),
    "DeltaNet, lag": (stack(lambda width: models.DeltaNet(width, 2)), "lag", {}),
    "linear attention, tags": (stack(lambda width: models.LinearAttention(width, 2)), "tags", {}),
    "LRU, digits": (stack(lambda width: models.LRU(width, 16)), "digits", {}),
    "S4D, adding": (stack(lambda width: models.S4D(width, 8)), "adding", {}),
    "RG-LRU, text": (stack(lambda width: models.RGLRU(width)), "text", {}),
    "GPT, text": (lambda t: models.GPT(t.vocabulary, **SMALL, length=16, dropout=0.1), "text", {"lr": 3e-3}),
    "GPT-2, lag": (lambda t: models.GPT(t.vocabulary, **SMALL, length=16, norm="pre"), "lag", {}),
    "plain GPT, lag": (lambda t: models.PlainGPT(t.vocabulary, **SMALL, length=16), "lag", {}),
    "Transformer, digits": (whole(models.CausalTransformer, **SMALL), "digits", {}),
    "Transformer-XL, text": (whole(models.TransformerXL, **SMALL, memory=8), "text", {}),
    "R-Transformer, adding": (whole(models.RTransformer, **SMALL, window=3), "adding", {}),
    "TCN, copy": (partial(tcn, channels=(16, 16, 16)), "copy", {}),
    "TCN with dropout, digits": (partial(tcn, channels=(16, 16), dropout=0.2), "digits", {}),
    "the GPT of the mistakes, padded": (lambda t: Net("gpt", t), "padded", {"pad": 0}),
    "the LSTM of the mistakes, padded": (lambda t: Net("lstm", t), "padded", {"pad": 0}),
    "torch's GRU, batch first, digits": (bare(nn.GRU), "targets", {}),
    "torch's LSTM, batch first, digits": (bare(nn.LSTM), "targets", {}),
    "one-hot ids into torch's GRU, text": (OneHot, "text", {}),
    "a matrix indexed by ids, copy": (Indexed, "copy", {}),
    "a causal convolution, text": (Windowed, "text", {}),
    "torch's Transformer, lag": (lambda t: Encoded(t, True), "lag", {}),
    "torch's Transformer, both ways, tags": (lambda t: Encoded(t, False), "tags", BOTH),
    "LSTM both ways, tags": (core(LSTM, bidirectional=True), "tags", BOTH),
    "GRU both ways, parity": (core(GRU, bidirectional=True), "parity", BOTH),
    "Encoder, digits": (lambda t: models.Encoder(t.input_size, t.output_size, **SMALL), "digits", BOTH),
}


LINES = ["start", "by heart", "causal", "rows", "gradients", "reach", "padding", "modes", "rates"]
# Each of these takes a second; the rest is weekly.
ALWAYS = {"GRU, parity", "RNN, lag", "plain GPT, lag", "Transformer, digits", "torch's GRU, batch first, digits"}
ALWAYS |= {"a matrix indexed by ids, copy", "a causal convolution, text", "torch's Transformer, both ways, tags"}


@functools.cache
def task_of(name):
    return {"lstm": lambda: Lag(6, lag=1), "gpt": lambda: Lag(6, lag=1), "gru": TASKS["digits"], **TASKS}[name]()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name, entry in MISTAKES.items() for kind in entry[1]])
def test_a_planted_mistake_is_seen(name, kind):
    line = MISTAKES[name][0]
    model, task, options = plant(name, kind, task_of(kind))
    steps = 300 if line == "rates" else 9  # no other line that is meant hangs on training
    assert line in checkup(model, task, steps=steps, seconds=600, **options).failed


@pytest.mark.slow
@pytest.mark.parametrize("name", [n if n in ALWAYS else pytest.param(n, marks=pytest.mark.weekly) for n in SOUND])
def test_nothing_sound_fails(name):
    build, task, options = SOUND[name]
    report = checkup(drawn(0, build, task_of(task)), task_of(task), seconds=600, **options)
    assert [line.name for line in report.lines] == LINES and report.failed == []


def test_the_model_stays_as_it_was():
    model = nn.Sequential(nn.Embedding(16, 8), nn.BatchNorm1d(6), nn.Dropout(0.5), nn.Linear(8, 16))
    model[3].bias.requires_grad_(False)
    model[2].eval()
    model[3].weight.grad = torch.ones_like(model[3].weight)
    before, random = copy.deepcopy(model), torch.get_rng_state()
    first = checkup(model, Lag(6, lag=1), steps=9)
    assert torch.equal(torch.get_rng_state(), random)
    assert checkup(model, Lag(6, lag=1), steps=9).lines == first.lines
    assert [part.training for part in model.modules()] == [part.training for part in before.modules()]
    assert all(torch.equal(entry, before.state_dict()[name]) for name, entry in model.state_dict().items())
    assert [p.requires_grad for p in model.parameters()] == [p.requires_grad for p in before.parameters()]
    assert [p.grad is None for p in model.parameters()] == [True, True, True, False, True]
    assert (model[3].weight.grad == 1).all()


def test_a_pair_will_do_and_the_report_prints_itself():
    x = torch.randint(9, (5, 4), generator=torch.Generator().manual_seed(0))
    model = drawn(0, nn.Sequential, nn.Embedding(9, 16), nn.Linear(16, 9))
    report = checkup(model, (x, x), loss=lambda p, y: F.cross_entropy(p.flatten(0, 1), y.flatten()), steps=30)
    assert report.failed == ["causal", "reach"]  # the target is the input, and no step sees another
    text, table = repr(report), report._repr_html_()
    assert all(name in text and name in table for name in LINES) and "2 of 9 fail" in text
    assert text.count("FAILS") == table.count("FAILS") == 2 and "transformer" in text


def test_without_time_nothing_is_said_of_training():
    report = checkup(drawn(0, Net, "lstm", Lag(6, lag=1)), Lag(6, lag=1), seconds=1e-9, lr=1e-9)
    assert [line.name for line in report.lines if line.passes is None] == ["by heart", "rates"] and not report.failed


@pytest.mark.parametrize(
    ("lr", "end", "best", "meaning"),
    [
        (0.1, 0.4, 0.1, "too high: what is left knows only how often each answer comes"),
        (0.1, 0.6, 0.1, "too high"),
        (0.1, 0.3, 0.1, "on eight examples; on all of them the best may be lower"),
        (0.1, 0.4, 0.4, "on eight examples; on all of them the best may be lower"),  # no rate beats the constant
        (1e-4, 0.4, 0.1, "on eight examples; on all of them the best may be lower"),  # slow, but on its way
    ],
)
def test_a_rate_that_ends_at_the_best_constant_is_too_high(lr, end, best, meaning):
    ends = dict.fromkeys(RATES, best) | {lr: end}  # from 1; the best constant has 0.4
    runs = [SimpleNamespace(rate=rate, end=own, fall=1 - own, late=False) for rate, own in ends.items()]
    passes, _, said = _rates(SimpleNamespace(lr=lr, guess=0.4, runs=runs))
    assert passes == said.startswith("on eight") and said.endswith(meaning)


test_bad_arguments = refusals(
    {
        r"task must be a task with batch\(.*got tuple": lambda model: checkup(model, (torch.ones(2), torch.ones(2))),
        "task must be .* got Linear": lambda model: checkup(model, model),
        "lr must be above 0": lambda model: checkup(model, SequentialDigits(), lr=0.0),
    },
    lambda: nn.Linear(1, 10),
)
