"""The Neural GPU written a second time, cell by cell."""

import torch
from reference.plain_loops import sigmoid


def convolve(p, at, s, size):
    """Map an image (B, n, w, m) to one of the same size, one cell and one tap at a time; nothing lies outside."""
    channels, radius = s.shape[3], size // 2
    kernel, bias = p.of(f"{at}/CvK", size, size, channels, channels), p.of(f"{at}/CvB", channels)
    rows = []
    for i in range(s.shape[1]):
        row = []
        for j in range(s.shape[2]):
            cell = bias.expand(len(s), -1)
            for a in range(size):
                for b in range(size):
                    y, x = i + a - radius, j + b - radius
                    if 0 <= y < s.shape[1] and 0 <= x < s.shape[2]:
                        cell = cell + s[:, y, x] @ kernel[a, b]
            row.append(cell)
        rows.append(torch.stack(row, 1))
    return torch.stack(rows, 1)


def gate(a, cutoff):
    return (cutoff * sigmoid(a) - (cutoff - 1) / 2).clamp(min=0).clamp(max=1)


def unit(p, at, s, size, cutoff):
    """One CGRU; both gates have 1 added."""
    r = gate(convolve(p, f"{at}r", s, size) + 1, cutoff)
    c = torch.tanh(convolve(p, f"{at}c", r * s, size))
    u = gate(convolve(p, f"{at}g", s, size) + 1, cutoff)
    return u * s + (1 - u) * c


def neural_gpu(p, ids, *, width, channels, layers, size, cutoff, vocabulary, outputs):
    """y (B, n, outputs), each row read after as many steps as it has symbols, and the last image."""
    first = torch.tanh(p.of("embedding", vocabulary, channels)[ids])
    first = first @ p.of("input/CvK", 1, 1, channels, channels)[0, 0] + p.of("input/CvB", channels)
    mask = (ids != 0)[:, :, None, None]
    image = torch.cat([first[:, :, None], first.new_zeros(*ids.shape, width - 1, channels)], 2) * mask
    images = [image]
    for _ in range(ids.shape[1]):
        for layer in range(layers):
            image = unit(p, f"cgru_{layer}/", image, size, cutoff) * mask
        images.append(image)
    read = torch.stack([images[int((row != 0).sum())][b, :, 0] for b, row in enumerate(ids)])
    return read @ p.of("output/CvK", 1, 1, channels, outputs)[0, 0] + p.of("output/CvB", outputs), image
