"""A ReLU recurrence without its loop: the steps compose, so they can be taken in any grouping.

One step of one neuron, h -> relu(z_t + u h), is a straight line cut off at a floor and a ceiling,

    f(h) = clamp(a + u h, low, high)        with a = z_t, low = 0, high = the largest float.

Such maps are closed under composition, whatever the sign of u. Proof: h -> a2 + u2 h takes clamp(v, low, high) to
clamp(a2 + u2 v, p, q), where p and q are the images of low and high, swapped if u2 < 0. And clamp2 is monotone,
so clamp2(clamp(v, p, q)) = clamp(v, clamp2(p), clamp2(q)).

Composition of functions is associative, so a prefix scan (Blelloch 1990) gives all T states in O(log T) rounds:
:func:`scan_maps`, the form to learn from. :func:`forward` and :func:`backward` are the form to compute with: they
compose over chunks of about sqrt(T) steps, take all chunks at once, and check the result against the recurrence.

This scan of a ReLU network was not found in a small search. Its neighbours, DEER (Lim et al. 2024, arXiv:2309.12252)
and ParaRNN (Danieli et al. 2025, arXiv:2510.21450), solve general networks by Newton's method with a linear scan in
each iteration; for this one a single pass is exact.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor


class ClampMap(NamedTuple):
    """The map h -> clamp(a + u h, low, high), element by element; four tensors of one shape."""

    a: Tensor
    u: Tensor
    low: Tensor
    high: Tensor

    def __call__(self, h: Tensor) -> Tensor:
        return torch.clamp(self.a + self.u * h, self.low, self.high)


def step_maps(z: Tensor, u: Tensor) -> ClampMap:
    """The steps h -> relu(z_t + u h) of z (B, T, N) and u (N,), as maps of shape (B, T, N)."""
    # Not infinity, which 0 * inf would turn into NaN. No float lies above the largest one, so nothing is cut.
    high = torch.full_like(z, torch.finfo(z.dtype).max)
    return ClampMap(z, u.expand_as(z), torch.zeros_like(z), high)


def compose(second: ClampMap, first: ClampMap) -> ClampMap:
    """The map h -> second(first(h)), which is a clamp map again."""
    a, u, low, high = second
    p, q = a + u * first.low, a + u * first.high
    least, most = (torch.clamp(end, low, high) for end in (torch.minimum(p, q), torch.maximum(p, q)))
    return ClampMap(a + u * first.a, u * first.u, least, most)


def scan_maps(maps: ClampMap) -> ClampMap:
    """Entry t of the result is the composition of the maps 1..t along axis 1, in ceil(log2 T) rounds.

    The scan of Hillis and Steele (1986): after the round with distance d, entry t covers the last 2d maps up to t.
    It multiplies up u^T, so it is right as long as no such power overflows.
    """
    distance = 1
    while distance < maps.a.shape[1]:
        later = ClampMap(*(part[:, distance:] for part in maps))
        earlier = ClampMap(*(part[:, :-distance] for part in maps))
        joined = compose(later, earlier)
        maps = ClampMap(*(torch.cat([old[:, :distance], new], 1) for old, new in zip(maps, joined, strict=True)))
        distance *= 2
    return maps


# From here on: the same in chunks. On h >= 0 a chunk of K steps is clamp(a + u^K h, low, high), and three runs of the
# recurrence find it: without the ReLU from 0 (a), and with it from 0 and from the largest float (the two bounds).
# All chunks take their steps together: T = C K steps cost about 2 K + C rounds, and no power beyond u^K occurs.

Finish = Callable[[Tensor, int], Tensor]


def chunk_length(steps: int, u: Tensor) -> int:
    """About sqrt(T), and short enough that ``|u|^K`` stays below the square root of the largest float."""
    largest = float(u.detach().abs().max())
    length = math.isqrt(steps - 1) + 1
    if 1 < largest < math.inf:
        length = min(length, int(math.log(torch.finfo(u.dtype).max) / (2 * math.log(largest))))
    return max(1, length)


def forward(z: Tensor, u: Tensor, h0: Tensor) -> Tensor:
    """States h (B, T, N) of h_t = relu(z_t + u h_{t-1}) for z (B, T, N), u (N,), h0 (B, N).

    Within a chunk every step is the loop's own. Where chunks do not join to within rounding (after an overflow, a
    cancellation, NaN), or where rounding could decide whether a state is zero, the neuron is run again step by step.
    """
    size = chunk_length(z.shape[1], u)
    x = _cut(z, size)
    x[:, 0, 0] += u * h0  # now every neuron starts from 0, and an h0 below 0 needs no care
    a, p, q = _probe(x, u)
    maps = ClampMap(a, (u**size).expand_as(a), torch.minimum(p, q), torch.maximum(p, q))
    starts = [torch.zeros_like(h0)]
    for c in range(x.shape[1] - 1):
        chunk = ClampMap(*(part[:, c] for part in maps))
        starts.append(chunk(starts[-1]))
    given = torch.stack(starts, 1)  # (B, C, N)
    h = _run(x, u, given, _relu)
    found = _ends(given, h)
    b, n = ((given != found).any(1) | ~u.isfinite()).nonzero(as_tuple=True)
    doubtful = ~_join(given, found, u, size)[b, n] | _near_zero(_columns(x, b, n), u[n], _columns(h, b, n))
    _run_again(h, x, u, b[doubtful], n[doubtful], _relu)
    return h.flatten(1, 2)[:, : z.shape[1]]


def backward(g: Tensor, u: Tensor, h0: Tensor, h: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of z, u and h0 for the gradient g (B, T, N) of h: a linear recurrence in reversed time,

        d_t = [h_t > 0] (g_t + u d_{t+1}),   dz = d,   du = sum_t d_t h_{t-1},   dh0 = u d_1,

    whose chunks are straight lines a + s d. The slope s is u^K, or 0 if some state of the chunk is zero. The states
    are all that it needs: h_t > 0 exactly where z_t + u h_{t-1} > 0.
    """
    size = chunk_length(g.shape[1], u)
    x, zero = _cut(g.flip(1), size), _cut((h <= 0).flip(1), size)  # NaN is not zero, as in torch.relu
    finish = _mask(zero)
    a = _run(x, u, torch.zeros_like(x[:, :, 0]), finish)[:, :, -1]
    alive, slope = ~zero.any(2), u**size
    starts = [torch.zeros_like(h0)]
    for c in range(x.shape[1] - 1):
        starts.append(torch.where(alive[:, c], a[:, c] + slope * starts[-1], a[:, c]))
    given = torch.stack(starts, 1)
    d = _run(x, u, given, finish)
    b, n = (~_join(given, _ends(given, d), u, size)).nonzero(as_tuple=True)
    _run_again(d, x, u, b, n, _mask(_columns(zero, b, n)))
    dz = d.flatten(1, 2)[:, : g.shape[1]].flip(1)
    du = (dz[:, 0] * h0).sum(0) + (dz[:, 1:] * h[:, :-1]).sum((0, 1))
    return dz, du, u * dz[:, 0]


def _cut(x: Tensor, size: int) -> Tensor:
    """A copy of x (B, T, N) as (B, C, K, N), filled up with zeros at the end."""
    batch, steps, neurons = x.shape
    chunks = -(-steps // size)
    padded = x.new_zeros(batch, chunks * size, neurons)
    padded[:, :steps] = x
    return padded.view(batch, chunks, size, neurons)


def _probe(x: Tensor, u: Tensor) -> Tensor:
    """Where the chunks of x (B, C, K, N) end: (3, B, C, N) without ReLU from 0, with it from 0, from the largest."""
    ends = torch.zeros_like(x[None, :, :, 0]).repeat(3, 1, 1, 1)
    ends[2] = torch.finfo(x.dtype).max
    for x_k in x.unbind(2):
        ends = torch.add(x_k, u * ends)
        ends[1:].relu_()
    return ends


def _run(x: Tensor, u: Tensor, start: Tensor | None, finish: Finish) -> Tensor:
    """All steps of all chunks of x (B, C, K, N): y_k = finish(x_k + u y_{k-1}, k), from start (B, C, N) or nothing."""
    states, y = torch.empty_like(x), start
    for k, (x_k, out) in enumerate(zip(x.unbind(2), states.unbind(2), strict=True)):
        y = finish(out.copy_(x_k) if y is None else torch.add(x_k, u * y, out=out), k)
    return states


def _relu(y: Tensor, k: int) -> Tensor:
    return y.relu_()


def _mask(zero: Tensor) -> Finish:
    """For the backward pass: nothing goes through a state that is zero."""
    return lambda y, k: y.masked_fill_(zero[:, :, k], 0)


def _ends(given: Tensor, states: Tensor) -> Tensor:
    """(B, C, N), the starts of all chunks that these states imply: the first as given, then its predecessor's end."""
    return torch.cat([given[:, :1], states[:, :-1, -1]], 1)


def _join(given: Tensor, found: Tensor, u: Tensor, size: int) -> Tensor:
    """(B, N): whether each chunk was given (B, C, N) the start that its predecessor was found to end in.

    To within rounding, and less by what a difference can still grow: a factor |u| in each step that is left.
    """
    left = size * torch.arange(given.shape[1], 0, -1, device=u.device)
    growth = u.abs().clamp(min=1) ** left[:, None]
    allowed = 2**10 * torch.finfo(u.dtype).eps * found.abs().cummax(1).values / growth
    return ((given - found).abs() <= allowed).all(1) & u.isfinite()


def _columns(x: Tensor, b: Tensor, n: Tensor) -> Tensor:
    """Neurons n of sequences b of x (B, C, K, N), each as one chunk: (1, 1, C K, len(b))."""
    return x.flatten(1, 2)[b, :, n].T[None, None].contiguous()


def _near_zero(x: Tensor, u: Tensor, h: Tensor) -> Tensor:
    """(n,): whether some x_t + u h_{t-1} of these columns (1, 1, T, n) is zero but for rounding."""
    before, now = h[0, 0, :-1], x[0, 0, 1:]
    # 2e-12 of x_t in float64, 6e-6 in float32: more than rounding makes of a zero, and yet rare.
    near = (now + u * before).abs() <= torch.finfo(x.dtype).eps ** 0.75 * now.abs()
    return (near & (before != 0)).any(0)  # what starts from a zero is the loop's own


def _run_again(states: Tensor, x: Tensor, u: Tensor, b: Tensor, n: Tensor, finish: Finish) -> None:
    """Overwrite neurons n of sequences b by a run through all steps."""
    if len(b):
        states.flatten(1, 2)[b, :, n] = _run(_columns(x, b, n), u[n], None, finish)[0, 0].T
