"""RWKV-4: a mean over all that came before, in which the weight of a word is its own and fades with its distance.

B. Peng et al., *RWKV: Reinventing RNNs for the Transformer Era*, Findings of EMNLP 2023 (arXiv 2305.13048). Each map
reads a mix of this step and the one before (token shift), with a share mu for every feature and map:

    r, k, v = W_r, W_k, W_v of (mu x_t + (1 - mu) x_{t-1})

Time mixing, element by element, with a decay w > 0 and a bonus u of its own for every feature:

    n_t = sum_{i < t} e^(k_i - (t - 1 - i) w) v_i + e^(u + k_t) v_t
    d_t = sum_{i < t} e^(k_i - (t - 1 - i) w)     + e^(u + k_t)
    wkv_t = n_t / d_t,       y_t = W_o (sigmoid(r_t) wkv_t)

and channel mixing, with mixes of its own, y_t = sigmoid(r_t) W_v relu(k_t)^2.

It is an average as in softmax attention, but what a word weighs depends on the word and the distance, on no query.

Numerator and denominator are linear recurrences. Both are kept as multiples of e^p, so that no power overflows:

    p_t = max(p_{t-1} - w, k_t)
    a_t = e^(p_{t-1} - w - p_t) a_{t-1} + e^(k_t - p_t) v_t          and b_t likewise with 1 for v_t

p looks as if it had to go step by step, but p_t + t w is the running maximum of k_i + i w: the key that holds it is
found for all steps at once, after which a and b are one call of :func:`rtx_lib.kernels.linear.linear_recurrence` whose
factors are at most 1. The loop and any other backend give the same.

Where the authors' code (BlinkDL/ChatRWKV and RWKV-LM) has more than the paper says:

- The first p is -1e30 there; here it is -infinity, the logarithm of an empty sum.
- Key, receptance and output matrices start at 0 there. Here all matrices start from U(-1/sqrt(n), 1/sqrt(n)) with n
  inputs, as in ``torch.nn.Linear``; decays, bonus and mixes start as in the first of their layers.
"""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from rtx_lib.kernels import linear_recurrence
from rtx_lib.layers.blocks import uniform_linear
from rtx_lib.layers.official import load_official, reads_official
from rtx_lib.shapes import Shapes, expect_step

Sums = tuple[Tensor, Tensor, Tensor]
State = tuple[Tensor, Tensor, Tensor, Tensor]


def wkv_loop(k: Tensor, v: Tensor, w: Tensor, u: Tensor, state: Sums) -> tuple[Tensor, Sums]:
    """The mean of time mixing step by step, as :func:`wkv` has it: what every backend must equal."""
    a, b, p = state  # the sums so far are a e^p and b e^p
    means = []
    for k_t, v_t in zip(k.unbind(1), v.unbind(1), strict=True):
        top = torch.maximum(p, u + k_t).detach()
        old, own = (p - top).exp(), (u + k_t - top).exp()
        means.append((old * a + own * v_t) / (old * b + own))
        top = torch.maximum(p - w, k_t).detach()  # p_t
        old, own = (p - w - top).exp(), (k_t - top).exp()
        a, b, p = old * a + own * v_t, old * b + own, top
    return torch.stack(means, 1), (a, b, p)


def wkv(
    k: Tensor, v: Tensor, w: Tensor, u: Tensor, state: Sums | None = None, *, backend: str = "auto"
) -> tuple[Tensor, Sums]:
    """The fading mean of time mixing, and its sums after the last step.

    Parameters
    ----------
    k, v
        (B, T, D).
    w, u
        (D,), the decay, above 0, and the bonus of the step itself.
    state
        (aa, bb, pp), each (B, D): the sums so far are aa e^pp and bb e^pp; empty ones if None. pp is a scale, and no
        gradient flows into it: that of the sums flows through aa and bb.
    backend
        Passed to :func:`rtx_lib.kernels.linear.linear_recurrence`.

    Returns
    -------
    wkv, state
        (B, T, D), and (aa, bb, pp).
    """
    if state is None:
        state = (torch.zeros_like(k[:, 0]), torch.zeros_like(k[:, 0]), torch.full_like(k[:, 0], -math.inf))
    if backend == "loop":
        return wkv_loop(k, v, w, u, state)
    start = torch.stack(state[:2], 1)  # (B, 2, D)
    with torch.no_grad():  # whatever scale is taken out, the sums are the same
        keys, step = torch.cat([state[2][:, None], k], 1), torch.arange(k.shape[1] + 1, device=k.device)[:, None]
        holder = (keys + step * w).cummax(1).indices  # whose key is the largest by now, 0 for what was before
        p = keys.gather(1, holder) - (step - holder) * w
        kept = holder[:, 1:] == holder[:, :-1]
        rise = torch.where(kept, -w, p[:, 1:] - p[:, :-1])
        before, now = p[:, :-1], p[:, 1:]
        top = torch.maximum(before, u + k)
    fresh = (k - now).exp()
    inputs = torch.stack([fresh * v, fresh], 2)  # (B, T, 2, D)
    sums = linear_recurrence((-w - rise).exp()[:, :, None], inputs, start, backend=backend)
    a, b = torch.cat([start[:, None], sums[:, :-1]], 1).unbind(2)
    old, own = (before - top).exp(), (u + k - top).exp()
    return (old * a + own * v) / (old * b + own), (sums[:, -1, 0], sums[:, -1, 1], p[:, -1])


class RWKVTimeMixing(nn.Module):
    """Time mixing, RWKV's place of attention, as a mixer.

    ``time_mix_k``, ``time_mix_v`` and ``time_mix_r`` (D,) are the shares of the present, ``time_decay`` (D,) is log w,
    ``time_first`` (D,) is u; ``key``, ``value``, ``receptance`` and ``output`` are linear maps without bias.

    Parameters
    ----------
    width
        D, of x and of y.
    backend
        Passed to :func:`rtx_lib.kernels.linear.linear_recurrence`.
    """

    def __init__(self, width: int, *, backend: str = "auto") -> None:
        super().__init__()
        self.input_size = self.output_size = width
        self.backend = backend
        feature = torch.arange(width)
        share = feature / width
        self.time_mix_k, self.time_mix_v = nn.Parameter(share), nn.Parameter(share.clone())
        self.time_mix_r = nn.Parameter(share.sqrt())
        rank = feature / max(1, width - 1)
        self.time_decay = nn.Parameter(-5 + 8 * rank**0.7)
        self.time_first = nn.Parameter(math.log(0.3) + 0.5 * ((feature + 1) % 3 - 1))
        maps = (uniform_linear(width, width, bias=False) for _ in range(4))
        self.key, self.value, self.receptance, self.output = maps

    def state_shapes(self, batch: int) -> Shapes:
        """The last x, and the sums of :func:`wkv`."""
        return {name: (batch, self.input_size) for name in ("x", "aa", "bb", "pp")}

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Map x (B, T, D) to y (B, T, D); without a state the sums are empty, pp = -infinity."""
        last, *sums = expect_step(x, self.input_size, state, self.state_shapes, self.time_decay)
        if state is None:
            sums[2] = sums[2] - math.inf  # pp is a logarithm, and the sums are empty
        before, kind = _shifted(x, last), self.time_decay.dtype
        wide = torch.promote_types(kind, torch.float32)
        mixes = (self.time_mix_k, self.time_mix_v, self.time_mix_r)
        maps = (self.key, self.value, self.receptance)
        mixed = (torch.lerp(before, x, mix.to(x.dtype)) for mix in mixes)
        k, v, r = (linear(part).to(wide) for linear, part in zip(maps, mixed, strict=True))
        aa, bb, pp = (part.to(wide) for part in sums)
        w, u = self.time_decay.to(wide).exp(), self.time_first.to(wide)
        mean, after = wkv(k, v, w, u, (aa, bb, pp), backend=self.backend)
        y = self.output((torch.sigmoid(r) * mean).to(kind))
        aa, bb, pp = (part.to(kind) for part in after)
        return y, (x[:, -1].clone(), aa, bb, pp)

    @classmethod
    @reads_official
    def from_official(cls, arrays: Mapping[str, Tensor], **options: Any) -> "RWKVTimeMixing":
        """The mixer with the arrays of BlinkDL/RWKV-LM (RWKV-4), by their names there behind ``att.``."""
        return load_official(cls(arrays["time_decay"].numel(), **options), official_weights(arrays))


class RWKVChannelMixing(nn.Module):
    """Channel mixing, RWKV's place of the feed-forward network: it sees this step and the one before.

    ``time_mix_k`` and ``time_mix_r`` (D,) are the shares of the present; ``key`` (I, D), ``value`` (D, I) and
    ``receptance`` (D, D) are linear maps without bias.

    Parameters
    ----------
    width
        D, of x and of y.
    inner
        I, the width between; 4D if None.
    """

    def __init__(self, width: int, inner: int | None = None) -> None:
        super().__init__()
        inner = 4 * width if inner is None else inner
        self.input_size = self.output_size = width
        share = torch.arange(width) / width
        self.time_mix_k, self.time_mix_r = nn.Parameter(share), nn.Parameter(share.clone())
        sizes = ((width, inner), (inner, width), (width, width))
        self.key, self.value, self.receptance = (uniform_linear(*two, bias=False) for two in sizes)

    def forward(self, x: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Map x (B, T, D) to y (B, T, D); the state is the last x (B, D), zeros if None."""
        state = expect_step(x, self.input_size, state, lambda batch: (batch, self.input_size), self.time_mix_k)
        before = _shifted(x, state)
        k = self.key(torch.lerp(before, x, self.time_mix_k.to(x.dtype)))
        r = self.receptance(torch.lerp(before, x, self.time_mix_r.to(x.dtype)))
        return torch.sigmoid(r) * self.value(k.relu().square()), x[:, -1].clone()

    @classmethod
    @reads_official
    def from_official(cls, arrays: Mapping[str, Tensor], **options: Any) -> "RWKVChannelMixing":
        """The mixer with the arrays of BlinkDL/RWKV-LM (RWKV-4), by their names there behind ``ffn.``."""
        weights = official_weights(arrays)
        inner, width = weights["key.weight"].shape
        return load_official(cls(width, inner, **options), weights)


def official_weights(arrays: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Parameters of BlinkDL/RWKV-LM by our names; some of its ports leave out ``.weight``."""
    vectors = {name: value.flatten() for name, value in arrays.items() if name.startswith("time_")}  # once (1, 1, D)
    matrices = {name.removesuffix(".weight"): value for name, value in arrays.items() if name not in vectors}
    return vectors | {f"{name}.weight": value for name, value in matrices.items()}


def _shifted(x: Tensor, last: Tensor) -> Tensor:
    """The step before each, (B, T, D)."""
    return torch.cat([last[:, None].to(x.dtype), x[:, :-1]], 1)
