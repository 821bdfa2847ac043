"""The linear recurrence in plain torch: chunks of about sqrt(T) steps, all at once, and its gradients.

A chunk of K steps is one line, h -> e + p h: p is the product of its a, and e where it ends if it starts from 0. So
three short loops give all states: K steps of all chunks from 0 (the e), C = T / K steps over the chunks (where each
starts), and K steps of all chunks from there, each of which is then the loop's own. No product but those of a chunk is
made, and with ``|a| <= 1`` it cannot overflow.
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor


def forward(a: Tensor, b: Tensor, h0: Tensor) -> Tensor:
    """States h (B, T, N) of h_t = a_t h_{t-1} + b_t for a, b (B, T, N), h0 (B, N), ``|a| <= 1``, all finite."""
    steps = b.shape[1]
    size = math.isqrt(steps - 1) + 1
    chunks = -(-steps // size)
    # (B, C, K, N); what fills up the last chunk comes after the end and changes nothing before it.
    a, b = (F.pad(x, (0, 0, 0, chunks * size - steps)).unflatten(1, (chunks, size)) for x in (a, b))
    end = torch.zeros_like(b[:, :, 0])
    for a_k, b_k in zip(a.unbind(2), b.unbind(2), strict=True):
        end = torch.addcmul(b_k, a_k, end)
    product, h, starts = a.prod(2), h0, []
    for c in range(chunks):
        starts.append(h)
        h = torch.addcmul(end[:, c], product[:, c], h)
    states, h = [], torch.stack(starts, 1)
    for a_k, b_k in zip(a.unbind(2), b.unbind(2), strict=True):
        h = torch.addcmul(b_k, a_k, h)
        states.append(h)
    return torch.stack(states, 2).flatten(1, 2)[:, :steps]


def backward(g: Tensor, a: Tensor, h0: Tensor, h: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of a, b and h0 for the gradient g (B, T, N) of h."""
    return gradients(forward, g, a, h0, h)


def gradients(
    run: Callable[[Tensor, Tensor, Tensor], Tensor], g: Tensor, a: Tensor, h0: Tensor, h: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The same by any forward pass, on which it runs in reversed time; differentiable if that is."""
    later = F.pad(a[:, 1:], (0, 0, 0, 1)).conj()  # (B, T, N), conj(a_{t+1})
    d = run(later.flip(1), g.flip(1), torch.zeros_like(h0)).flip(1)
    before = torch.cat([h0[:, None], h[:, :-1]], 1)
    return d * before.conj(), d, a[:, 0].conj() * d[:, 0]
