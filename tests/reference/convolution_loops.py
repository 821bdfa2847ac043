"""ByteNet's blocks and ConvS2S written a second time, tap by tap and word by word, and files made from them."""

import math

import torch
from reference.plain_loops import Parameters, sigmoid, softmax, write

HALF = math.sqrt(0.5)


def taps(x, kernel, first, apart=1):
    """sum_j x_{t + first + j apart} W_j for every t, where W_j (in, out) are those of a kernel (k, in, out)."""
    outputs = []
    for t in range(x.shape[1]):
        y = x.new_zeros(len(x), kernel.shape[2])
        for j, w in enumerate(kernel):
            s = t + first + j * apart
            if 0 <= s < x.shape[1]:
                y = y + x[:, s] @ w
        outputs.append(y)
    return torch.stack(outputs, 1)


# ---- ByteNet


def bytenet_block(p, at, x, kernel_size, dilation, eps, causal):
    """One block of x (B, T, 2d) from parameters by their official names."""
    width, reach = x.shape[2], (kernel_size - 1) * dilation

    def norm_relu(name, z):
        mean = z.mean(-1, keepdim=True)
        variance = (z - mean).square().mean(-1, keepdim=True)
        gamma, beta = (p.of(f"{at}{name}/{part}", z.shape[2]) for part in ("gamma", "beta"))
        return (gamma * (z - mean) / (variance + eps).sqrt() + beta).clamp(min=0)

    def convolve(name, z, size, outputs, first, apart):
        kernel = p.of(f"{at}{name}/w", 1, size, z.shape[2], outputs)[0]
        return taps(z, kernel, first, apart) + p.of(f"{at}{name}/b", outputs)

    h = convolve("conv1d_1", norm_relu("ln1", x), 1, width // 2, 0, 1)
    first = -reach if causal else -(reach // 2)
    h = convolve("dilated_conv", norm_relu("ln2", h), kernel_size, width // 2, first, dilation)
    return x + convolve("conv1d_2", norm_relu("ln3", h), 1, width, 0, 1)


def make_bytenet(path, *, seed=0, width=6, kernel=3, dilations=(2,), batch=2, length=9, eps=1e-8):
    """Write a file of one block, or of several on one another; of which kind its name says."""
    p = Parameters(seed=seed)
    x = out = p.random(batch, length, width)
    stack = "stack" in path.stem
    for i, dilation in enumerate(dilations):
        at = f"blocks.{i}/" if stack else ""
        out = bytenet_block(p, at, out, kernel, dilation, eps, causal="encoder" not in path.stem)
    grad_out, found = p.gradients(out, x=x)
    settings = {"dilations": dilations} if stack else {"dilation": dilations[0]}
    return write(path, {"x": x} | grad_out, p, {"out": out} | found, ln_eps=eps, **settings)


# ---- ConvS2S


def normed(p, at, x, outputs, kernel=None):
    """A linear map, or of a kernel (k, in, out) the weights with which :func:`taps` is called, and the bias."""
    bias = p.of(f"{at}.bias", outputs)
    if kernel is None:
        v, g = p.of(f"{at}.weight_v", outputs, x.shape[2]), p.of(f"{at}.weight_g", outputs, 1)
        rows = [length * row / row.square().sum().sqrt() for row, length in zip(v, g, strict=True)]
        return x @ torch.stack(rows).T + bias
    v, g = p.of(f"{at}.weight_v", kernel, x.shape[2], outputs), p.of(f"{at}.weight_g", 1, 1, outputs)
    columns = [g[0, 0, o] * v[:, :, o] / v[:, :, o].square().sum().sqrt() for o in range(outputs)]
    return torch.stack(columns, 2), bias


def embedded(p, at, ids, vocabulary, width, positions, pad):
    """Words and positions, one by one; padding is a row of zeros and does not count."""
    words = p.of(f"{at}.embed_tokens.weight", vocabulary, width)
    places = p.of(f"{at}.embed_positions.weight", positions, width)
    rows = []
    for sentence in ids.tolist():
        place, row = pad, []
        for word in sentence:
            place += word != pad
            row.append(words[word] + places[place] if word != pad else words[0] * 0)
        rows.append(torch.stack(row))
    return torch.stack(rows)


def side(p, at, x, layers, step):
    """The layers of either side; ``step`` is given a layer's number, its input, its channels and its kernel size."""
    x = normed(p, f"{at}.fc1", x, layers[0][0])
    for i, (channels, kernel) in enumerate(layers):
        around = x if x.shape[2] == channels else normed(p, f"{at}.projections.{i}", x, channels)
        x = (step(i, x, channels, kernel) + around) * HALF
    return x


def gated(p, at, x, channels, kernel, first):
    w, bias = normed(p, at, x, 2 * channels, kernel)
    a = taps(x, w, first) + bias
    return a[..., :channels] * sigmoid(a[..., channels:])


def convs2s(p, source, target, c):
    """The outcomes of a file, by its names, from parameters by their official names."""
    pad, width = c["padding_idx"], c["width"]
    real = source != pad
    e = embedded(p, "encoder", source, c["sources"], width, c["positions"], pad)

    def around(i, x, channels, kernel):
        first = -(kernel // 2) if kernel % 2 else -((kernel - 1) // 2)
        return gated(p, f"encoder.convolutions.{i}", x * real[..., None], channels, kernel, first)

    x = side(p, "encoder", e, c["enc_conv"], around)
    z = normed(p, "encoder.fc2", x, width) * real[..., None]
    n = sum(c["attention"])
    z.register_hook(lambda gradient: gradient / (2 * n))
    zx, d = (z + e) * HALF, embedded(p, "decoder", target, c["targets"], width, c["positions"], pad)
    means = []

    def step(i, h, channels, kernel):
        h = gated(p, f"decoder.convolutions.{i}", h, channels, kernel, 1 - kernel)
        if not c["attention"][i]:
            return h
        q = (normed(p, f"decoder.attention.{i}.in_projection", h, width) + d) * HALF
        weights, contexts = torch.zeros(*target.shape, source.shape[1], dtype=torch.double), []
        for b, words in enumerate(real):
            rows = []
            for t in range(target.shape[1]):
                a = softmax(z[b, words] @ q[b, t])
                weights[b, t, words] = a.detach()
                rows.append(math.sqrt(len(a)) * (a @ zx[b, words]))
            contexts.append(torch.stack(rows))
        means.append(weights)
        return (normed(p, f"decoder.attention.{i}.out_projection", torch.stack(contexts), channels) + h) * HALF

    h = side(p, "decoder", d, c["dec_conv"], step)
    logits = normed(p, "decoder.fc3", normed(p, "decoder.fc2", h, c["out"]), c["targets"])
    return {"enc_z": z, "enc_zx": zx, "logits": logits, "attn_mean": sum(means) / len(c["dec_conv"])}


CONVS2S = {"padding_idx": 1, "width": 6, "sources": 11, "targets": 9, "positions": 20, "out": 4}
CONVS2S |= {"enc_conv": ((5, 3), (7, 3)), "dec_conv": ((5, 3),), "attention": (1,)}


def make_convs2s(path, *, seed=0, lengths=(7, 5, 2), steps=5, left=False, gradients=True, **changes):
    """Write a file; the sentences, of these numbers of words, are padded behind, or in front."""
    c = CONVS2S | changes
    p, generator = Parameters(seed=seed), torch.Generator().manual_seed(seed + 1)

    def words(vocabulary, *shape):
        ids = torch.randint(vocabulary - 1, shape, generator=generator)
        return ids + (ids >= c["padding_idx"])  # none is padding

    source, target = words(c["sources"], len(lengths), max(lengths)), words(c["targets"], len(lengths), steps)
    for row, length in zip(source, lengths, strict=True):
        padding = slice(0, len(row) - length) if left else slice(length, None)
        row[padding] = c["padding_idx"]
    outcomes = convs2s(p, source, target, c)
    grad_out, found = p.gradients(outcomes["logits"]) if gradients else ({}, {})
    settings = {name: c[name] for name in ("padding_idx", "enc_conv", "dec_conv", "attention")}
    return write(path, {"src": source, "tgt": target} | grad_out, p, outcomes | found, **settings)
