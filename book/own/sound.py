from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

from rtx_lib import checkup

LETTERS = " abcdefghijklmnopqrstuvwxyz"


class Lines:
    """Lines of a text, letter by letter; a short one is filled up with 0."""

    pad = 0

    def __init__(self, text, length=32):
        lines = ["".join(c for c in line.lower() if c in LETTERS) for line in text.splitlines()]
        lines = [line[: length + 1] for line in lines if len(line) > 20]
        self.rows = torch.zeros(len(lines), length + 1, dtype=torch.long)
        for row, line in zip(self.rows, lines, strict=True):
            row[: len(line)] = torch.tensor([1 + LETTERS.index(c) for c in line])

    def batch(self, split, size, generator):
        rows = self.rows[torch.randint(len(self.rows), (size,), generator=generator)]
        x, y = rows[:, :-1], rows[:, 1:]
        return x, y.masked_fill(y == 0, -100)

    def loss(self, prediction, y):
        return F.cross_entropy(prediction.flatten(0, 1), y.flatten())


class Recurrence(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gru = nn.GRU(width, width, batch_first=True)

    def forward(self, h):
        return self.gru(h)[0]


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.places, self.qkv = nn.Embedding(64, width), nn.Linear(width, 3 * width)

    def forward(self, h):
        q, k, v = self.qkv(h + self.places.weight[: h.shape[1]]).chunk(3, -1)
        mask = torch.full((h.shape[1], h.shape[1]), -torch.inf).triu(1)
        return h + (q @ k.mT / q.shape[-1] ** 0.5 + mask).softmax(-1) @ v


class Net(nn.Module):
    def __init__(self, mixer, vocabulary, width=32):
        super().__init__()
        self.table, self.mixer = nn.Embedding(vocabulary, width), mixer(width)
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(2)])
        self.head = nn.Linear(width, vocabulary)

    def forward(self, x):
        h = self.mixer(self.table(x))
        for layer in self.layers:
            h = layer(h).relu()
        return self.head(F.dropout(h, 0.1, self.training))


torch.manual_seed(0)
task = Lines(Path("mine.txt").read_text(encoding="utf-8"))
model, lr = Net(Recurrence, 1 + len(LETTERS)), 1e-2
print(report := checkup(model, task, lr=lr))

optimizer = torch.optim.Adam(model.parameters(), lr=lr)
generator = torch.Generator().manual_seed(0)
losses = []
for _ in range(320):
    x, y = task.batch("train", 16, generator)
    loss = task.loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print("loss:", losses[0], "->", sum(losses[-10:]) / 10)
