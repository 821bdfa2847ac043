"""How BERT and GPT were really optimised: Adam as their code has it, and the three schedules.

::

    m <- b1 m + (1 - b1) g                v <- b2 v + (1 - b2) g^2
    Adam    p <- p - rate * sqrt(1 - b2^t) / (1 - b1^t) * (m / (sqrt(v) + eps) + decay p)       bias_correction=True
    BERT    p <- p - rate *                               (m / (sqrt(v) + eps) + decay p)       bias_correction=False

J. Devlin, M.-W. Chang, K. Lee and K. Toutanova, *BERT* (2018, arXiv 1810.04805), ``optimization.py``: the estimates m
and v start at 0, and nothing corrects for it. If all gradients were equal, the first step would be sqrt(10) = 3.2 times
too long and the twelfth 6.6 times. The authors call this an oversight that hardly matters with warm-up, of which
pre-training has 10,000 steps; in fine-tunings of a hundred steps it does (Mosbach et al., arXiv 2006.04884; Zhang et
al., arXiv 2006.05987). BERT's gradients are clipped to a norm of 1 before all this, as ``fit(clip=1.0)`` does.

A. Radford et al., *Improving Language Understanding by Generative Pre-Training* (2018), ``opt.py``: the correction is a
factor on the whole step. ``torch.optim.AdamW`` adds eps after v is corrected and does not correct the decay, so that
the three differ.

Both codes count updates from 0, and the first update of a schedule with warm-up changes nothing. The schedules here are
functions of the step from 1, as :func:`rtx_lib.training.loop.fit` counts: step s is their update s - 1.
"""

import math
from collections.abc import Iterable
from typing import Any

import torch

from rtx_lib.shapes import expect_each
from rtx_lib.training.schedules import Schedule


class BertAdam(torch.optim.Optimizer):
    """Adam with decoupled weight decay, by the rule of BERT's code or of GPT's.

    Parameters
    ----------
    params
        Parameters, or groups of them: in both codes neither biases nor the weights of norms decay.
    lr
        The rate.
    betas
        (b1, b2), each in [0, 1).
    eps
        BERT's code has 1e-6, GPT's 1e-8.
    weight_decay
        The share of each parameter that a step of rate 1 would take away. Both codes have 0.01.
    bias_correction
        False for BERT's rule, True for GPT's.

    Raises
    ------
    ValueError
        For numbers out of range.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
        weight_decay: float = 0.01,
        bias_correction: bool = False,
    ) -> None:
        expect_each(lr=(lr, "[0, inf)"), eps=(eps, "[0, inf)"), weight_decay=(weight_decay, "[0, inf)"))
        expect_each(**{f"betas[{i}]": (beta, "[0, 1)") for i, beta in enumerate(betas)})
        numbers = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, numbers | {"bias_correction": bias_correction})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Change every parameter that has a gradient."""
        for group in self.param_groups:
            (beta1, beta2), eps, decay = group["betas"], group["eps"], group["weight_decay"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state |= {"step": 0, "m": torch.zeros_like(p), "v": torch.zeros_like(p)}
                state["step"] += 1
                m, v, rate = state["m"], state["v"], group["lr"]
                m.mul_(beta1).add_(p.grad, alpha=1 - beta1)
                v.mul_(beta2).addcmul_(p.grad, p.grad, value=1 - beta2)
                if group["bias_correction"]:
                    rate = rate * math.sqrt(1 - beta2 ** state["step"]) / (1 - beta1 ** state["step"])
                p.sub_(rate * (m / (v.sqrt() + eps) + decay * p))


def bert_schedule(steps: int, warmup: int) -> Schedule:
    """A factor for the rate: linear from 0 over ``warmup`` updates, then along the line from 1 at the start to 0.

    ::

        u = step - 1        u / warmup   if u < warmup,   else 1 - u / steps

    The line counts from the first update, so that the factor jumps down by warmup / steps where the warm-up ends.
    """
    expect_each(warmup=(warmup, f"[0, {steps})"))
    return lambda step: (step - 1) / warmup if step - 1 < warmup else max(0.0, 1 - (step - 1) / steps)


def gpt_finetune_schedule(steps: int, warmup: int) -> Schedule:
    """A factor for the rate, GPT's in fine-tuning: the line from 1 to 0, times a linear warm-up.

    ::

        u = step - 1        min(1, u / warmup) (1 - u / steps)

    GPT warms up over 0.2 % of the updates.
    """
    expect_each(warmup=(warmup, f"[0, {steps})"))
    return lambda step: min(1.0, (step - 1) / warmup if warmup else 1.0) * max(0.0, 1 - (step - 1) / steps)


def gpt_pretrain_schedule(steps: int, warmup: int) -> Schedule:
    """A factor for the rate, GPT's in pre-training: linear from 0 over ``warmup`` updates, then half a cosine to 0.

    ::

        u = step - 1        u / warmup   if u <= warmup,   else (1 + cos(pi u / steps)) / 2

    The cosine counts from the first update and jumps down where the warm-up ends, other than that of
    :func:`rtx_lib.training.schedules.warmup_cosine`.
    """
    expect_each(warmup=(warmup, f"[0, {steps})"))

    def factor(step: float) -> float:
        u = step - 1
        return u / warmup if warmup and u <= warmup else (1 + math.cos(math.pi * min(1.0, u / steps))) / 2

    return factor
