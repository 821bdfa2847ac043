"""The IndRNN nets written a second time: plain loops, time-major, under the authors' names, gradients by autograd.

Nothing here uses the library, so that files made here can judge it.
"""

import numpy as np
import torch


def recur(x, u, h):
    """The states (T, B, N) of h_t = relu(x_t + u h_{t-1}) for x (T, B, N)."""
    states = []
    for t in range(len(x)):
        h = (x[t] + u * h).clamp(min=0)
        states.append(h)
    return torch.stack(states)


def normalise(arrays, at, x, training):
    """Batch normalisation over time and batch with the buffers ``b/``, which training moves."""
    steps = x.shape[0] * x.shape[1]
    mean, variance = arrays[f"b/{at}.running_mean"], arrays[f"b/{at}.running_var"]
    if training:
        new_mean = x.sum((0, 1)) / steps
        new_variance = ((x - new_mean) ** 2).sum((0, 1)) / steps
        arrays[f"b/{at}.running_mean"] = 0.9 * mean + 0.1 * new_mean.detach()
        arrays[f"b/{at}.running_var"] = 0.9 * variance + 0.1 * new_variance.detach() * steps / (steps - 1)
        arrays[f"b/{at}.num_batches_tracked"] += 1
        mean, variance = new_mean, new_variance
    return (x - mean) / (variance + 1e-5) ** 0.5 * arrays[f"p/{at}.weight"] + arrays[f"p/{at}.bias"]


def unit(arrays, at, x, norm, training):
    """A recurrence from the zero state, and its normalisation."""
    if norm == "before":
        x = normalise(arrays, f"{at}.norm1.bn", x, training)
    u = arrays.get(f"p/{at}.indrnn1.indrnn_cell.weight_hh", arrays.get(f"p/{at}.indrnn1.weight_hh"))
    h = recur(x, u, torch.zeros_like(x[0]))
    return normalise(arrays, f"{at}.norm1.bn", h, training) if norm == "after" else h


def linear(arrays, at, x):
    """W x + b."""
    return x @ arrays[f"p/{at}.weight"].T + arrays[f"p/{at}.bias"]


def plain(arrays, x, norm, training, *, num_layers, **_):
    """Linear map, unit, linear map, unit, ..."""
    for i in range(num_layers):
        x = unit(arrays, f"RNNs.{i}", linear(arrays, f"DIs.{i}.fc", x), norm, training)
    return linear(arrays, "classifier", x[-1])


def residual(arrays, x, norm, training, *, num_blocks, **_):
    """Pre-activation blocks between a linear map and a last unit."""
    h = linear(arrays, "features.fc0.fc", x)
    for i in range(1, num_blocks + 1):
        at = f"features.resblock{i}"
        inner = linear(arrays, f"{at}.fc1.fc", unit(arrays, f"{at}.IndRNNwithBN1", h, norm, training))
        h = h + linear(arrays, f"{at}.fc2.fc", unit(arrays, f"{at}.IndRNNwithBN2", inner, norm, training))
    h = unit(arrays, "features.IndRNNwithBN_last", h, norm, training)
    return linear(arrays, "classifier", h[-1])


def dense(arrays, x, norm, training, *, block_config, **_):
    """Blocks whose layers read everything before them, and transitions."""

    def layer(h, fc, rnn):
        return unit(arrays, rnn, linear(arrays, fc, h), norm, training)

    h = layer(x, "features.fc0.fc", "features.IndRNNwithBN0")
    for i, depth in enumerate(block_config, start=1):
        for j in range(1, depth + 1):
            at = f"features.denseblock{i}.denselayer{j}"
            inner = layer(h, f"{at}.fc1.fc", f"{at}.IndRNNwithBN1")
            h = torch.cat([h, layer(inner, f"{at}.fc2.fc", f"{at}.IndRNNwithBN2")], -1)
        at = "features.lastlayer" if i == len(block_config) else f"features.transition{i}"
        h = layer(h, f"{at}.fc.fc", f"{at}.IndRNNwithBN")
    return linear(arrays, "classifier", h[-1])


def shapes(
    kind, width, classes, *, hidden=0, num_layers=0, num_blocks=0, growth_rate=0, block_config=(), num_init_features=0
):
    """Linear maps as name: (in, out), and units as name: size."""
    if kind is plain:
        linears = {f"DIs.{i}.fc": (hidden if i else width, hidden) for i in range(num_layers)}
        units = {f"RNNs.{i}": hidden for i in range(num_layers)}
        last = hidden
    elif kind is residual:
        linears = {"features.fc0.fc": (width, hidden)}
        units = {"features.IndRNNwithBN_last": hidden}
        for i in range(1, num_blocks + 1):
            linears |= {f"features.resblock{i}.fc{j}.fc": (hidden, hidden) for j in (1, 2)}
            units |= {f"features.resblock{i}.IndRNNwithBN{j}": hidden for j in (1, 2)}
        last = hidden
    else:
        last = num_init_features
        linears, units = {"features.fc0.fc": (width, last)}, {"features.IndRNNwithBN0": last}
        for i, depth in enumerate(block_config, start=1):
            for j in range(1, depth + 1):
                at = f"features.denseblock{i}.denselayer{j}"
                linears |= {f"{at}.fc1.fc": (last, 4 * growth_rate), f"{at}.fc2.fc": (4 * growth_rate, growth_rate)}
                units |= {f"{at}.IndRNNwithBN1": 4 * growth_rate, f"{at}.IndRNNwithBN2": growth_rate}
                last += growth_rate
            at = "features.lastlayer" if i == len(block_config) else f"features.transition{i}"
            linears[f"{at}.fc.fc"], units[f"{at}.IndRNNwithBN"] = (last, last // 2), last // 2
            last //= 2
    return linears | {"classifier": (last, classes)}, units


def make_net(
    path,
    kind,
    norm="after",
    *,
    seed=0,
    time=5,
    batch=3,
    width=3,
    classes=2,
    cuda=False,
    fresh=False,
    gradients=True,
    **sizes,
):
    """Write a file of a net's family.

    ``cuda`` takes the parameter names of the authors' CUDA kernel; ``fresh`` starts the buffers at mean 0 and
    variance 1 and leaves ``b0/`` out, as the residual and dense files do.
    """
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.double)

    linears, units = shapes(kind, width, classes, **sizes)
    p, b = {}, {}
    for name, (inputs, outputs) in linears.items():
        p |= {f"p/{name}.weight": draw(outputs, inputs) / inputs**0.5, f"p/{name}.bias": draw(outputs) / 2}
    for name, size in units.items():
        p[f"p/{name}.indrnn1.{'' if cuda else 'indrnn_cell.'}weight_hh"] = draw(size) / 2
        bn = f"{name}.norm1.bn"
        p |= {f"p/{bn}.weight": draw(size), f"p/{bn}.bias": draw(size) / 2}
        b[f"b/{bn}.running_mean"] = draw(size) * (not fresh)
        b[f"b/{bn}.running_var"] = torch.ones(size).double() if fresh else 0.5 + draw(size) ** 2
        b[f"b/{bn}.num_batches_tracked"] = torch.tensor(0 if fresh else 3)
    arrays = {} if fresh else {name.replace("b/", "b0/"): value.clone() for name, value in b.items()}
    x = draw(time, batch, width).requires_grad_()
    moving = b | {name: value.requires_grad_() for name, value in p.items()}
    out = kind(moving, x, norm, True, **sizes)
    grad_out = draw(*out.shape)
    found = torch.autograd.grad((out * grad_out).sum(), [x, *p.values()])
    if gradients:
        arrays |= {"grad_out": grad_out, "gx": found[0]}
        arrays |= {name.replace("p/", "g/"): value for name, value in zip(p, found[1:], strict=True)}
    arrays |= {name.replace("b/", "b1/"): moving[name].clone() for name in b}
    arrays |= p | {"x": x, "train_out": out, "eval_out": kind(moving, x, norm, False, **sizes)}
    arrays = {name: value.detach().numpy() for name, value in arrays.items()}
    np.savez(path, **arrays, **{name: np.array(value) for name, value in sizes.items()})


def make_recurrent(path, *, seed=0, time=9, batch=2, size=4):
    """Write a file of the recurrence alone, with u in (-1, 1)."""
    generator = torch.Generator().manual_seed(seed)
    x, h0, u, grad_out = (
        torch.randn(*shape, generator=generator, dtype=torch.double, requires_grad=True)
        for shape in ((time, batch, size), (batch, size), (size,), (time, batch, size))
    )
    u = u.detach().tanh().requires_grad_()
    out = recur(x, u, h0)
    gx, gh0, gu = torch.autograd.grad((out * grad_out).sum(), [x, h0, u])
    arrays = {"x": x, "h0": h0, "u": u, "out": out, "grad_out": grad_out, "gx": gx, "gh0": gh0, "gu": gu}
    arrays["out_h0none"] = recur(x, u, torch.zeros_like(h0))
    np.savez(path, **{name: value.detach().numpy() for name, value in arrays.items()})
