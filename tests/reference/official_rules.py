"""How BERT and GPT were optimised, among the reference values: Adam as their code has it, and the three schedules.

BERT's ``optimization.py`` never corrects m and v, which start at 0; GPT's ``opt.py`` corrects the whole step, where
``torch.optim.AdamW`` adds eps to the corrected v and leaves the decay alone. A schedule counts updates u from 0, and
its line or cosine runs from the first update on, so that it jumps where the warm-up ends.
"""

import math

import torch
from torch import Tensor

Arrays = dict[str, Tensor]


def warmed(u: int, warmup: int) -> float:
    """The share of the rate in a linear warm-up."""
    return min(1.0, u / warmup) if warmup else 1.0


SCHEDULES = {
    "bert_schedule": lambda u, left, warmup: u / warmup if u < warmup else left,
    "gpt_finetune_schedule": lambda u, left, warmup: warmed(u, warmup) * left,
    "gpt_pretrain_cosine": lambda u, left, warmup: (
        warmed(u, warmup) if u <= warmup else (1 - math.cos(math.pi * left)) / 2
    ),
}


def walk(p: Tensor, grads: Tensor, eps: float, corrected: bool, number: dict[str, float]) -> Tensor:
    """The parameters after each gradient, by BERT's rule, or corrected by GPT's."""
    b1, b2, m, v, after = number["beta1"], number["beta2"], torch.zeros_like(p), torch.zeros_like(p), []
    for t, g in enumerate(grads, start=1):
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        factor = math.sqrt(1 - b2**t) / (1 - b1**t) if corrected else 1.0
        p = p - number["lr"] * factor * (m / (v.sqrt() + eps) + number["weight_decay"] * p)
        after.append(p)
    return torch.stack(after)


def torch_walk(p: Tensor, grads: Tensor, number: dict[str, float]) -> Tensor:
    """The same by torch's AdamW."""
    p, after = p.clone().requires_grad_(), []
    adam = {"betas": (number["beta1"], number["beta2"]), "weight_decay": number["weight_decay"]}
    optimizer = torch.optim.AdamW([p], number["lr"], eps=number["eps_torch"], **adam)
    for p.grad in grads.unbind():
        optimizer.step()
        after.append(p.detach().clone())
    return torch.stack(after)


def optim_rules(arrays: Arrays) -> Arrays:
    """All parameters after each of the given gradients by each rule, and the rates at the given updates, from 0."""
    number = {name: value.item() for name, value in arrays.items() if not value.ndim}
    p, grads = arrays["p0"], arrays["grads"]
    outcomes = {"bert": walk(p, grads, number["eps_bert"], False, number), "torch_adamw": torch_walk(p, grads, number)}
    outcomes["gpt"] = walk(p, grads, number["eps_gpt"], True, number)
    left = {u: max(0.0, 1 - u / number["schedule_total"]) for u in arrays["schedule_steps"].tolist()}
    for name, factor in SCHEDULES.items():
        rates = [number["lr"] * factor(u, share, number["schedule_warmup"]) for u, share in left.items()]
        outcomes[name] = torch.tensor(rates, dtype=torch.double)
    return outcomes


FAMILIES = {"optim_rules": optim_rules}
INPUTS = {
    "optim_rules": {"p0", "grads", "lr", "beta1", "beta2", "weight_decay", "eps_bert", "eps_gpt", "eps_torch"}
    | {"schedule_total", "schedule_warmup", "schedule_steps"}
}
