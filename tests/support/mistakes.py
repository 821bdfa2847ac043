"""Mistakes that keep a model from learning, each planted in an LSTM, a small GPT and a GRU, and what is sound."""

from types import SimpleNamespace

import torch
import torch.nn.functional as F
from support.helpers import drawn
from torch import nn

from rtx_lib import models
from rtx_lib.layers import GRU, LSTM, RNN, MixerStack, Readout
from rtx_lib.tasks import AddingProblem, CharacterText, CopyMemory, Lag, Parity, PartsOfSpeech, SequentialDigits


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
    "IndRNN with norm, text": (
        lambda t: models.IndRNN(16, 24, 2, t.output_size, vocabulary=t.vocabulary, norm="before"),
        "text",
        {},
    ),
    "QRNN, text": (lambda t: models.QRNN(16, 24, 2, t.output_size, vocabulary=t.vocabulary), "text", {}),
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
    "TCN, copy": (
        lambda t: models.TCN(t.input_size, t.output_size, (16, 16, 16), 3, vocabulary=t.vocabulary),
        "copy",
        {},
    ),
    "TCN with dropout, digits": (
        lambda t: models.TCN(t.input_size, t.output_size, (16, 16), 3, dropout=0.2),
        "digits",
        {},
    ),
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
