"""The temporal convolutional network written a second time, tap by tap and step by step, and files made from it.

Nothing here uses the library, so that files made here can judge it.
"""

import numpy as np
import torch


def filters(p, at, mistake=None):
    """g v / ||v|| of every output channel, (C_out, C_in, k); without weight normalisation ``weight`` itself."""
    if f"{at}.weight" in p:
        return p[f"{at}.weight"]
    rows = []
    for v, g in zip(p[f"{at}.weight_v"], p[f"{at}.weight_g"], strict=True):
        norm = v.square().sum(0).sqrt() if mistake == "norm of each tap" else v.square().sum().sqrt()
        rows.append(g.squeeze() * v / norm)
    return torch.stack(rows)


def convolve(p, at, x, dilation, mistake=None):
    """Map x (B, C_in, T) to (B, C_out, T), one output and one tap at a time; the last tap is the present."""
    w, outputs = filters(p, at, mistake), []
    taps = w.shape[2]
    for t in range(x.shape[2]):
        y = p[f"{at}.bias"]
        for j in range(taps):
            back = j if mistake == "taps reversed" else taps - 1 - j
            s = t - back * dilation + (mistake == "one step ahead")
            if 0 <= s < x.shape[2]:
                y = y + x[:, :, s] @ w[:, :, j].T
        outputs.append(y.expand(len(x), -1))
    return torch.stack(outputs, dim=2)


def levels(p, x, mistake=None):
    """The output of every level, from parameters by their official names."""
    outputs = []
    while f"network.{len(outputs)}.conv1.bias" in p:
        i = len(outputs)
        at, dilation = f"network.{i}", i + 1 if mistake == "dilation i + 1" else 2**i
        y = convolve(p, f"{at}.conv1", x, dilation, mistake).clamp(min=0)
        y = convolve(p, f"{at}.conv2", y, dilation, mistake)
        y = y if mistake == "no ReLU before the sum" else y.clamp(min=0)
        around = convolve(p, f"{at}.downsample", x, 1) if f"{at}.downsample.bias" in p else x
        x = y + around
        x = x if mistake == "no ReLU on the sum" else x.clamp(min=0)
        outputs.append(x)
    return outputs


MISTAKES = (
    "norm of each tap",
    "taps reversed",
    "one step ahead",
    "dilation i + 1",
    "no ReLU before the sum",
    "no ReLU on the sum",
)


def make_tcn(path, *, seed=0, inputs=3, channels=(5, 5, 5), kernel=3, batch=2, length=11, gradients=True, mistake=None):
    """Write a file of the family, with the gradients of all parameters or with none."""
    draw = torch.Generator().manual_seed(seed)
    shapes, sizes = {}, [inputs, *channels]
    for i, (before, after) in enumerate(zip(sizes, channels, strict=False)):
        for conv, width in (("conv1", before), ("conv2", after)):
            at = f"network.{i}.{conv}"
            shapes |= {f"{at}.bias": (after,), f"{at}.weight_g": (after, 1, 1)}
            shapes |= {f"{at}.weight_v": (after, width, kernel)}
        if before != after:
            shapes |= {f"network.{i}.downsample.weight": (after, before, 1), f"network.{i}.downsample.bias": (after,)}
    p = {n: torch.randn(s, generator=draw, dtype=torch.double).requires_grad_() for n, s in shapes.items()}
    x = torch.randn(batch, inputs, length, generator=draw, dtype=torch.double, requires_grad=True)
    outputs = levels(p, x, mistake)
    arrays = {"x": x, "out": outputs[-1], **{f"level{i}_out": value for i, value in enumerate(outputs)}}
    if gradients:
        arrays["grad_out"] = torch.randn(outputs[-1].shape, generator=draw, dtype=torch.double)
        loss = (outputs[-1] * arrays["grad_out"]).sum()
        found = torch.autograd.grad(loss, [x, *p.values()], materialize_grads=True)
        arrays |= dict(zip(["gx", *(f"g/{name}" for name in p)], found, strict=True))
    arrays |= {f"p/{name}": value for name, value in p.items()}
    scalars = {"kernel_size": np.array(kernel), "channels": np.array(channels)}
    np.savez(path, **{name: value.detach().numpy() for name, value in arrays.items()}, **scalars)
    return path
