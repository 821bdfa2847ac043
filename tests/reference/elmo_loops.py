"""ELMo written a second time, sentence by sentence, word by word and filter by filter, and files made from it."""

import json

import numpy as np
import torch
from reference.plain_loops import Parameters, blocks, log_softmax, lstm_step, sigmoid, softmax, write

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


# ---- the language model and the mix


def plain_steps(p, width, layers):
    shapes = {"weight_ih": (4 * width, width), "weight_hh": (4 * width, width)}
    shapes |= {"bias_ih": (4 * width,), "bias_hh": (4 * width,)}

    def steps(way):
        rows = [[p.of(f"{way}.{j}.{name}_l0", *shape) for name, shape in shapes.items()] for j in range(layers)]
        return [lambda x, h, c, weights=weights: lstm_step(*weights, x, h, c) for weights in rows]

    return [steps("fwd"), steps("bwd")]


def mixed(layers, w, gamma):
    shares = softmax(w)
    return gamma * sum(shares[j] * layer for j, layer in enumerate(layers))


def normed(layer, mask, eps):
    """By one mean and one variance of all numbers of all words."""
    numbers = torch.cat([layer[b, t] for b, t in mask.nonzero().tolist()])
    mean = numbers.sum() / len(numbers)
    variance = sum((number - mean) ** 2 for number in numbers) / len(numbers)
    return (layer - mean) / (variance + eps).sqrt()


def make_language_model(path, *, seed=0, batch=2, time=4, vocabulary=7, width=3, layers=2, skip=False, eps=1e-13):
    p = Parameters(seed=seed)
    table, stacks = p.of("embed.weight", vocabulary, width), plain_steps(p, width, layers)
    matrix, bias = p.of("softmax.weight", vocabulary, width), p.of("softmax.bias", vocabulary)
    ids = torch.randint(vocabulary, (batch, time), generator=p.generator)
    told, nll = [], {way: [] for way in WAYS}
    for row in ids.tolist():
        rows, _ = read(table[row], stacks, zeros(layers, width, width), skip)
        told.append(rows)
        forward, backward = (log_softmax(half @ matrix.T + bias) for half in rows[-1].split(width, 1))
        nll["forward"].append(torch.stack([-forward[t, row[t + 1]] for t in range(time - 1)]))
        nll["backward"].append(torch.stack([-backward[t, row[t - 1]] for t in range(1, time)]))
    h = [torch.stack(layer) for layer in zip(*told, strict=True)]
    outcomes = {f"layer{j}": layer for j, layer in enumerate(h)} | {"embedding": table[ids]}
    outcomes |= {f"nll_{way}": torch.stack(nll[way]) for way in WAYS}
    outcomes |= {f"loss_{way}": outcomes[f"nll_{way}"].mean() for way in WAYS}
    outcomes["loss"] = outcomes["loss_forward"] + outcomes["loss_backward"]
    outcomes["loss_official_half"] = outcomes["loss"] / 2
    found = torch.autograd.grad(outcomes["loss"], list(p.values()), retain_graph=True)
    outcomes |= {f"g/{name}": gradient for name, gradient in zip(p, found, strict=True)}
    h = [layer.detach() for layer in h]
    w, gamma, grad_out = p.random(layers + 1), p.random(1), p.random(batch, time, 2 * width)
    mask = torch.zeros(batch, time).double()
    for b in range(batch):
        mask[b, : max(1, time - b)] = 1
    outcomes |= {"mix_softmax": softmax(w), "mix_out": mixed(h, w, gamma)}
    found = torch.autograd.grad((outcomes["mix_out"] * grad_out).sum(), [w, gamma])
    outcomes |= {"mix_g_w": found[0], "mix_g_gamma": found[1]}
    outcomes["mix_out_layernorm"] = mixed([normed(layer, mask, eps) for layer in h], w, gamma)
    given = {"input_ids": ids, "mix_w": w, "mix_gamma": gamma, "mix_grad_out": grad_out, "mix_mask": mask}
    return write(path, given, p, outcomes, skip=int(skip), mix_layernorm_eps=eps)


# ---- the projected cells


def make_projected(path, *, seed=0, lengths=(4, 2), time=5, width=3, cells=4, layers=2, clips=(0.4, 0.2), wide=2.0):
    p = Parameters(seed=seed)
    parts = {"input_linearity.weight": (4 * cells, width), "state_linearity.weight": (4 * cells, width)}
    parts |= {"state_linearity.bias": (4 * cells,), "state_projection.weight": (width, cells)}

    def steps(way):
        rows = [[p.of(f"{way}_layer_{j}.{name}", *shape) for name, shape in parts.items()] for j in range(layers)]
        return [lambda x, h, c, weights=weights: projected_step(*weights, *clips, x, h, c) for weights in rows]

    stacks, x = [steps(way) for way in WAYS], (wide * p.random(len(lengths), time, width)).detach().requires_grad_()
    h = [torch.zeros(len(lengths), time, 2 * width).double() for _ in range(layers + 1)]
    outcomes = {f"{way}{j}_{part}": [] for way in WAYS for j in range(layers) for part in ("hn", "cn")}
    for b, length in enumerate(lengths):
        told, ends = read(x[b, :length], stacks, zeros(layers, width, cells), skip=True)
        for layer, said in zip(h, told, strict=True):
            layer[b, :length] = said
        for way, last in zip(WAYS, ends, strict=True):
            for j, pair in enumerate(last):
                for part, value in zip(("hn", "cn"), pair, strict=True):
                    outcomes[f"{way}{j}_{part}"].append(value)
    outcomes = {name: torch.stack(rows) for name, rows in outcomes.items()}
    for j in range(1, layers + 1):
        own = h[j] - h[j - 1] if j > 1 else h[j]
        outcomes |= {f"layer{j}": h[j]}
        outcomes |= {f"{way}{j - 1}": half for way, half in zip(WAYS, own.split(width, 2), strict=True)}
    given, found = p.gradients(h[-1], x=x)
    given |= {"x": x, "lengths": torch.tensor(lengths)}
    return write(path, given, p, outcomes | found, cell_clip=clips[0], proj_clip=clips[1])


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


def make_elmo(path, **sizes):
    """Write a file of the family that its name says; the names of its outcomes."""
    makers = {"elmo_bilm": make_language_model, "elmo_projected": make_projected, "elmo_official": make_official}
    return next(make for start, make in makers.items() if path.stem.startswith(start))(path, **sizes)
