"""RWKV-4 (arXiv 2305.13048) among the reference values: time mixing and channel mixing of a sequence, step by step."""

import torch
import torch.nn.functional as F
from torch import Tensor

from .leaves import gradients_of, parameters

Arrays = dict[str, Tensor]


def wkv(k: Tensor, v: Tensor, w: Tensor, u: Tensor) -> tuple[Tensor, Arrays]:
    """The fading mean (T, D) of k, v (T, D), and its sums (D,) after the last step.

    The sums are aa e^pp and bb e^pp; pp is a scale that keeps the powers small, and no gradient flows into it.
    """
    a, b, p, means = torch.zeros_like(w), torch.zeros_like(w), torch.full_like(w, -torch.inf), []
    for k_t, v_t in zip(k, v, strict=True):
        top = torch.maximum(p, u + k_t).detach()
        old, own = (p - top).exp(), (u + k_t - top).exp()
        means.append((old * a + own * v_t) / (old * b + own))
        top = torch.maximum(p - w, k_t).detach()
        old, own = (p - w - top).exp(), (k_t - top).exp()
        a, b, p = old * a + own * v_t, old * b + own, top
    return torch.stack(means), {"state_aa": a, "state_bb": b, "state_pp": p}


def mixed(x: Tensor, p: Arrays, **maps: str) -> list[Tensor]:
    """The maps of x (T, D) mixed with the step before each, by the shares ``time_mix_NAME``."""
    before = F.pad(x[:-1], (0, 0, 1, 0))
    return [torch.lerp(before, x, p[f"time_mix_{name}"]) @ p[of].T for name, of in maps.items()]


def named(leaves: Arrays, channel: bool) -> Arrays:
    """The parameters of one of the two; vectors were (1, 1, D) once, and some ports leave out ``.weight``."""
    own = {name: p for name, p in leaves.items() if name.startswith("ffn_") == channel}
    own = {name.removeprefix("ffn_").removesuffix(".weight"): p for name, p in own.items()}
    return {name: p.flatten() if name.startswith("time_") else p for name, p in own.items()}


def rwkv4(arrays: Arrays) -> Arrays:
    """x and the outcomes are (T, D), without a batch; ``ffn_`` is channel mixing, which a file may lack."""
    x, leaves = arrays["x"].clone().requires_grad_(), parameters(arrays)
    p = named(leaves, channel=False)
    k, v, r = mixed(x, p, k="key", v="value", r="receptance")
    mean, outcomes = wkv(k, v, p["time_decay"].exp(), p["time_first"])
    outcomes["out"] = (torch.sigmoid(r) * mean) @ p["output"].T
    if p := named(leaves, channel=True):
        k, r = mixed(x, p, k="key", r="receptance")
        outcomes["out_channel"] = torch.sigmoid(r) * (k.relu().square() @ p["value"].T)
    pairs = (("out", "grad_out"), ("out_channel", "grad_channel"))
    losses = [(outcomes[out] * arrays[given]).sum() for out, given in pairs if given in arrays]
    tensors = {"x": x} | {f"/{name}": leaf for name, leaf in leaves.items()}
    return outcomes | (gradients_of(sum(losses), tensors) if losses else {})


FAMILIES = {"rwkv4": rwkv4}
INPUTS = {"rwkv4": {"grad_channel"}}
