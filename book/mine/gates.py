"""Your own sequence models, which learn to write like a text of yours:

    python mine.py mine.txt --model rnn

A model maps ids x (B, T) and a state, None at the start, to logits (B, T, V) for what
comes after each, and to the state to go on with, through which no gradient returns.
B streams, T steps, V characters, D width; S positions seen by H heads of width K.
"""

import argparse
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

STREAMS, LENGTH, WIDTH, RATE = 16, 64, 128, 3e-3  # B, T, D and step size in training


# ---- recurrence
class RNN(nn.Module):
    """h_t = tanh(W_ih x_t + W_hh h_{t-1} + b), Elman 1990"""

    blocks, parts = 1, 1  # of each matrix, of the state

    def __init__(self, V, D):
        super().__init__()
        self.ih, self.hh = nn.Linear(V, self.blocks * D), nn.Linear(D, self.blocks * D)
        self.readout = nn.Linear(D, V)

    def step(self, z, h):
        return (torch.tanh(z + self.hh(h)),)

    def states(self, x, state):
        z, h = self.ih.weight.T[x] + self.ih.bias, []  # a one-hot picks a column of W
        state = state or self.parts * [z.new_zeros(len(x), self.hh.in_features)]
        for z_t in z.unbind(1):
            state = self.step(z_t, *state)  # each part (B, D)
            h.append(state[0])
        return torch.stack(h, 1), [part.detach() for part in state]  # h (B, T, D)

    def forward(self, x, state=None):
        h, state = self.states(x, state)
        return self.readout(h), state


def train(model, ids, steps):
    """Truncated backpropagation through time: the text in streams, piece by piece"""
    streams = ids[: len(ids) // STREAMS * STREAMS].view(STREAMS, -1)
    starts = range(0, streams.shape[1] - LENGTH, LENGTH)
    optimizer, last, state = torch.optim.Adam(model.parameters(), RATE), [], None
    for step in range(steps):
        t = starts[step % len(starts)]
        logits, state = model(streams[:, t : t + LENGTH], state if t else None)
        loss = F.cross_entropy(logits.mT, streams[:, t + 1 : t + LENGTH + 1])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        last = [*last[-99:], loss.item()]  # each before its piece was learned
        if (step + 1) % 100 == 0 or step + 1 == steps:
            print(f"step {step + 1}: {sum(last) / len(last):.3f} nats per character")


@torch.no_grad()
def write(model, characters, text, count, temperature=0.8):
    """Go on with a text, a character at a time, the state carried on"""
    x, state = torch.tensor([[characters.index(c) for c in text]]), None
    for _ in range(count):
        logits, state = model(x, state)
        x = torch.multinomial((logits[:, -1] / temperature).softmax(-1), 1)  # (1, 1)
        text += characters[x]
    return text


# ---- gates
class LSTM(RNN):
    """c_t = f c_{t-1} + i g and h_t = o tanh(c_t), Hochreiter 1997 and Gers 2000"""

    blocks, parts = 4, 2

    def step(self, z, h, c):
        i, f, g, o = (z + self.hh(h)).chunk(4, -1)  # each (B, D)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c


# ---- run
if __name__ == "__main__":
    models = [RNN, LSTM]
    models = {model.__name__.lower(): model for model in models}
    parser = argparse.ArgumentParser(description="Learn to write like a text.")
    parser.add_argument("text", type=Path, help="a file of yours, in UTF-8")
    parser.add_argument("--model", choices=models, default=list(models)[-1])
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--prompt", default="The ")
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.set_default_device("cuda" if torch.cuda.is_available() else "cpu")
    text = args.text.read_text("utf-8-sig", "replace")
    if len(text) < STREAMS * (LENGTH + 1):
        parser.error(f"the text must have {STREAMS * (LENGTH + 1)} characters or more")
    characters = "".join(sorted(set(text)))
    model = models[args.model](len(characters), WIDTH)
    train(model, torch.tensor([characters.index(c) for c in text]), args.steps)
    prompt = "".join(c for c in args.prompt if c in characters) or text[0]
    print(write(model, characters, prompt, 500))
