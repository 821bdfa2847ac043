"""ELMo written a second time, sentence by sentence, word by word and filter by filter, and files made from it."""

import json

import numpy as np
import torch
from reference.plain_loops import Parameters, blocks, sigmoid

WAYS = ("forward", "backward")


def projected_step(w_x, w_h, bias, w_p, cell_clip, projection_clip, x, h, c):
    """(h_t, c_t) of one word, blocks i, f, g, o; a clip of 0 is none."""
    i, f, g, o = (w @ x + u @ h + b for w, u, b in zip(*(blocks(part, 4) for part in (w_x, w_h, bias)), strict=True))
    c = clip(sigmoid(i) * torch.tanh(g) + sigmoid(f) * c, cell_clip)
    return clip(w_p @ (sigmoid(o) * torch.tanh(c)), projection_clip), c


def clip(x, bound):
    return torch.minimum(torch.maximum(x, -x.new_tensor(bound)), x.new_tensor(bound)) if bound else x


def read(vectors, stacks, starts, skip=False):
    """What the layers say about one sentence.

    Of words' vectors (n, D), the steps (x, h, c) -> (h, c) of each direction's layers, and their first (h, c).
    Returns [h_0, ..., h_L], each (n, 2D), and the last (h, c) of each direction's layers.
    """
    ends, outputs = [], []
    for way, (steps, start) in enumerate(zip(stacks, starts, strict=True)):
        order = list(range(len(vectors)))
        below, last = {t: vectors[t] for t in order}, []
        told = [below]
        for j, (step, (h, c)) in enumerate(zip(steps, start, strict=True)):
            here = {}
            for t in order[::-1] if way else order:
                h, c = step(below[t], h, c)
                here[t] = h + below[t] if skip and j else h
            below = here
            told.append(here)
            last.append((h, c))
        outputs.append(told)
        ends.append(last)
    layers = [torch.stack([torch.cat([f[t], b[t]]) for t in sorted(f)]) for f, b in zip(*outputs, strict=True)]
    return layers, ends


def zeros(layers, width, cells):
    """The first (h, c) of each direction's layers."""
    return [[(torch.zeros(width).double(), torch.zeros(cells).double())] * layers for _ in WAYS]


# ---- words from characters


def spelled(word, length):
    """The ids of the authors' code, before 1 is added: bytes, and 256 to 260 for marks and padding."""
    code = [258, *word, 259]
    return code + [260] * (length - len(code))


def word_vector(w, options, code):
    """The vector of one word, from a table that has no row for padding words."""
    c = w["char_embed"][code]
    y = []
    for k, (reach, number) in enumerate(options["filters"]):
        kernel, bias = w[f"CNN/W_cnn_{k}"], w[f"CNN/b_cnn_{k}"]
        for n in range(number):
            sums = [(kernel[0, :, :, n] * c[i : i + reach]).sum() for i in range(len(c) - reach + 1)]
            best = max(sums) + bias[n]
            y.append(best.clamp(min=0) if options["activation"] == "relu" else torch.tanh(best))
    y = torch.stack(y)
    for k in range(options["n_highway"]):
        at = f"CNN_high_{k}"
        carry = sigmoid(y @ w[f"{at}/W_carry"] + w[f"{at}/b_carry"])
        changed = (y @ w[f"{at}/W_transform"] + w[f"{at}/b_transform"]).clamp(min=0)
        y = carry * changed + (1 - carry) * y
    return y @ w["CNN_proj/W_proj"] + w["CNN_proj/b_proj"]


def tensorflow_step(kernel, bias, w_p, clips, x, h, c):
    """(h_t, c_t) of one word from a kernel of columns i, g, f, o, under x and then h."""
    i, g, f, o = blocks(torch.cat([x, h]) @ kernel + bias, 4)
    c = clip(sigmoid(f + 1) * c + sigmoid(i) * torch.tanh(g), clips[0])
    return clip((sigmoid(o) * torch.tanh(c)) @ w_p, clips[1]), c


WORDS = ["a", "The", "naïve", "mat", ".", "unquestionably", "犬", "x1", "--", "Straße"]


@torch.no_grad()
def make_official(
    path, *, seed=0, streams=2, sentences=3, words=4, length=8, character_width=2, filters=((1, 2), (3, 3)),
    highways=2, activation="relu", width=3, cells=5, layers=2, clips=(0.5, 0.3), skip=False,
):  # fmt: skip
    p = Parameters(seed=seed)
    filters = [list(pair) for pair in filters]
    cnn = {"activation": activation, "embedding": {"dim": character_width}, "filters": filters, "n_characters": 262}
    cnn |= {"max_characters_per_token": length, "n_highway": highways}
    lstm = {"cell_clip": clips[0], "dim": cells, "n_layers": layers, "proj_clip": clips[1], "projection_dim": width}
    options = {"char_cnn": cnn, "lstm": lstm | {"use_skip_connections": skip}}
    channels = sum(number for _, number in filters)
    p.of("char_embed", 261, character_width)
    for k, (reach, number) in enumerate(filters):
        p.of(f"CNN/W_cnn_{k}", 1, reach, character_width, number), p.of(f"CNN/b_cnn_{k}", number)
    for k in range(highways):
        for part in ("carry", "transform"):
            p.of(f"CNN_high_{k}/W_{part}", channels, channels), p.of(f"CNN_high_{k}/b_{part}", channels)
    p.of("CNN_proj/W_proj", channels, width), p.of("CNN_proj/b_proj", width)
    stacks = []
    for way in range(2):
        steps = []
        for j in range(layers):
            at = f"RNN_{way}/RNN/MultiRNNCell/Cell{j}/LSTMCell"
            weights = (
                p.of(f"{at}/W_0", 2 * width, 4 * cells),
                p.of(f"{at}/B", 4 * cells),
                p.of(f"{at}/W_P_0", cells, width),
            )
            steps.append(lambda x, h, c, weights=weights: tensorflow_step(*weights, clips, x, h, c))
        stacks.append(steps)
    arrays, outcomes, state = {"options_json": np.array(json.dumps(options))}, {}, None
    draw = lambda most: int(torch.randint(most, (), generator=p.generator))  # noqa: E731
    for stream in range(streams):
        told, state = [], zeros(layers, width, cells)
        for s in range(sentences):
            said = [WORDS[draw(len(WORDS))] for _ in range(1 + draw(words))]
            marked = [[256], *(word.encode()[: length - 2] for word in said), [257]]
            vectors = torch.stack([word_vector(p, cnn, spelled(word, length)) for word in marked])
            layers_told, state = read(vectors, stacks, state, skip)
            outcomes[f"emb/{stream}/{s}"] = torch.stack(layers_told[-1][1:-1].split(width, 1)).numpy()
            told.append(" ".join(said))
        arrays[f"sentences/{stream}"] = np.array(told)
    arrays |= {f"w/{name}": value.detach().numpy() for name, value in p.items()}
    np.savez(path, **arrays, **outcomes)
    return set(outcomes)
