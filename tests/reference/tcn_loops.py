"""The temporal convolutional network written a second time, tap by tap and step by step."""

import torch


def convolve(p, at, x, size, taps, dilation):
    """Map x (B, C_in, T) to (B, C_out, T), one output and one tap at a time; the last tap is the present.

    The filters are g v / ||v||, one norm an output channel; of the way around, ``weight`` itself.
    """
    if at.endswith("downsample"):
        w = p.of(f"{at}.weight", size, x.shape[1], 1)
    else:
        v, g = p.of(f"{at}.weight_v", size, x.shape[1], taps), p.of(f"{at}.weight_g", size, 1, 1)
        w = torch.stack([length * row / row.square().sum().sqrt() for row, length in zip(v, g, strict=True)])
    bias, outputs = p.of(f"{at}.bias", size), []
    for t in range(x.shape[2]):
        y = bias.expand(len(x), -1)
        for j in range(taps):
            s = t - (taps - 1 - j) * dilation
            if s >= 0:
                y = y + x[:, :, s] @ w[:, :, j].T
        outputs.append(y)
    return torch.stack(outputs, dim=2)


def levels(p, x, channels, taps):
    """The output of every level, from parameters by their official names."""
    outputs = []
    for i, size in enumerate(channels):
        at = f"network.{i}"
        y = convolve(p, f"{at}.conv1", x, size, taps, 2**i).clamp(min=0)
        y = convolve(p, f"{at}.conv2", y, size, taps, 2**i).clamp(min=0)
        around = x if size == x.shape[1] else convolve(p, f"{at}.downsample", x, size, 1, 1)
        x = (y + around).clamp(min=0)
        outputs.append(x)
    return outputs
