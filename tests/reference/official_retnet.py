"""Retention among the reference values: the three forms, with the authors' scales and epsilon and without."""

import torch
from torch import Tensor

from rtx_lib.models.retnet import MultiScaleRetention, angles, log_decays, retention

from .leaves import gradients, parameters

Arrays = dict[str, Tensor]
FORMS = ("parallel", "chunkwise", "recurrent")


def decay_matrix(log_decay: Tensor, length: int) -> Tensor:
    """D (H, T, T), of powers of gamma and zeros."""
    step = torch.arange(length)
    distance = step[:, None] - step
    return (distance.clamp(min=0) * log_decay[:, None, None]).exp() * (distance >= 0)


def published_scale(q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor, *, form: str, chunk: int) -> Tensor:
    """By what the authors' code multiplies each o of a whole sequence before the norm, (B, H, T, 1); no gradients.

    q, k, v and log_decay as `retention` has them, q and k turned by their positions; one of `FORMS`. The length of
    chunks must divide T.
    """
    with torch.no_grad():
        length = q.shape[2]
        if form == "recurrent":
            return decay_matrix(log_decay, length).sum(-1, keepdim=True).rsqrt().expand(*q.shape[:3], 1)
        size = length if form == "parallel" else chunk
        fading = decay_matrix(log_decay, size)
        root = fading.sum(-1, keepdim=True).sqrt()  # (H, C, 1)
        fading, total = fading / root, fading[:, -1].sum(-1)[:, None, None]
        state, scales = torch.zeros_like(k[:, :, 0, :, None] * v[:, :, :1]), []
        for qs, ks, vs in zip(q.split(size, 2), k.split(size, 2), v.split(size, 2), strict=True):
            rows = (qs @ ks.transpose(-1, -2) * fading).abs().sum(-1, keepdim=True).clamp(min=1)
            if form == "parallel":
                rows = rows.clamp(max=5e4)
            else:
                columns = (state / total).abs().sum(-2, keepdim=True).amax(-1, keepdim=True).clamp(min=1)
                rows = torch.maximum(rows, columns)
                _, state = retention(qs, ks, vs, log_decay, state)
            scales.append(1 / (root * rows))
        return torch.cat(scales, 2)


def multi_scale(arrays: Arrays) -> Arrays:
    """``gx`` belongs to the parallel form with scales; ``gx_eps0`` and all ``g/`` to eps = 0, where the forms agree."""
    heads, length = int(arrays["num_heads"]), arrays["x"].shape[1]
    given, x, width = parameters(arrays), arrays["x"].clone().requires_grad_(), arrays["x"].shape[2]
    model = MultiScaleRetention.from_official(given, heads=heads)
    chunk = int(arrays["chunk_size"]) if "chunk_size" in arrays else length
    decays = log_decays(heads, like=x)
    outcomes = {"gamma": decays.exp(), "angle": angles(width // heads, like=x).repeat_interleave(2)}
    q, k, v = model.project(x)
    o = retention(q, k, v, decays)[0]
    for form in FORMS:
        if form != "chunkwise" or length % chunk == 0:  # the original refuses other lengths
            model.eps = float(arrays["eps"]) if "eps" in arrays else 1e-6
            y = model.merge(o * published_scale(q, k, v, decays, form=form, chunk=chunk), x)
            outcomes[f"out_{form}"] = y
            if form == "parallel" and "grad_out" in arrays:
                outcomes["gx"] = torch.autograd.grad((y * arrays["grad_out"]).sum(), x, retain_graph=True)[0]
    model.eps = 0.0
    y = model(x)[0]
    outcomes |= dict.fromkeys(("out_eps0", "out_eps0_chunkwise", "out_eps0_recurrent"), y)
    if "grad_out" in arrays:
        outcomes |= gradients((y * arrays["grad_out"]).sum(), model, given, given, x_eps0=x)
    return outcomes


FAMILIES = {"retention": multi_scale}
INPUTS = {"retention": {"num_heads", "chunk_size", "eps"}}
