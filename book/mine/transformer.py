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


# ---- attention
class Attention(nn.Module):
    """softmax(q k^T / sqrt K) v in each head, where nobody looks ahead, Vaswani 2017"""

    def __init__(self, D, H=4):
        super().__init__()
        self.H, self.qkv = H, nn.Linear(D, 3 * D, bias=False)
        self.out = nn.Linear(D, D, bias=False)

    def scores(self, q, k):
        return q @ k.mT / q.shape[-1] ** 0.5

    def forward(self, x, T):  # the last T positions of x (B, S, D) look at all of x
        q, k, v = self.qkv(x).unflatten(-1, (3, self.H, -1)).permute(2, 0, 3, 1, 4)
        scores = self.scores(q[:, :, -T:], k)  # (B, H, T, S), from k and v (B, H, S, K)
        later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(x.shape[1] - T + 1)
        weights = scores.masked_fill(later, -torch.inf).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).flatten(2))  # (B, T, D)


class AttentiveLSTM(LSTM):  # looks back at its own states, those of the last piece too
    def __init__(self, V, D):
        super().__init__(V, D)
        self.attention = Attention(D)

    def states(self, x, state):
        state, memory = state or (None, None)
        h, state = super().states(x, state)
        seen = h if memory is None else torch.cat([memory, h], 1)  # (B, S, D)
        h = h + self.attention(seen, x.shape[1])
        return h, (state, seen[:, -LENGTH:].detach())


# ---- transformer
def sinusoids(S, D):  # sin(p w_i) and cos(p w_i) for the positions p below S, (S, D)
    angles = torch.arange(S)[:, None] * 1e4 ** (-torch.arange(0, D, 2) / D)
    return torch.cat([angles.sin(), angles.cos()], -1)


class Block(nn.Module):  # x + attention(norm(x)), then x + W_2 relu(W_1 norm(x))
    def __init__(self, D, attention=Attention):
        super().__init__()
        self.attention = attention(D)
        self.up, self.down = nn.Linear(D, 4 * D), nn.Linear(4 * D, D)
        self.norm1, self.norm2 = nn.LayerNorm(D), nn.LayerNorm(D)

    def forward(self, x, T):  # from (B, S, D) to its last T positions
        x = x[:, -T:] + self.attention(self.norm1(x), T)
        return x + self.down(F.relu(self.up(self.norm2(x))))


class GPT(nn.Module):
    """A Transformer whose state is the text: what fits into LENGTH is read again"""

    block = Block

    def __init__(self, V, D, layers=2):
        super().__init__()
        self.embedding, self.readout = nn.Embedding(V, D), nn.Linear(D, V)
        self.blocks = nn.ModuleList(self.block(D) for _ in range(layers))
        self.norm = nn.LayerNorm(D)

    def forward(self, x, state=None):
        T = x.shape[1]
        x = x if state is None else torch.cat([state, x], 1)[:, -max(T, LENGTH) :]
        h = self.embedding(x)  # (B, S, D)
        h = h + sinusoids(*h.shape[1:])
        for block in self.blocks:
            h = block(h, x.shape[1])
        return self.readout(self.norm(h[:, -T:])), x


# ---- run
if __name__ == "__main__":
    models = [RNN, LSTM, AttentiveLSTM, GPT]
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
