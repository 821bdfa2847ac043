"""The update rules and schedules of BERT and GPT among the reference values."""

import torch
from torch import Tensor

from rtx_lib.training.rules import BertAdam, bert_schedule, gpt_finetune_schedule, gpt_pretrain_schedule

Arrays = dict[str, Tensor]
SCHEDULES = {
    "bert_schedule": bert_schedule,
    "gpt_finetune_schedule": gpt_finetune_schedule,
    "gpt_pretrain_cosine": gpt_pretrain_schedule,
}


def optim_rules(arrays: Arrays) -> Arrays:
    """All parameters after each of the given gradients by each rule, and the rates at the given updates, from 0."""
    number = {name: value.item() for name, value in arrays.items() if not value.ndim}
    lr, decay = number["lr"], number["weight_decay"]
    adam = {"lr": lr, "betas": (number["beta1"], number["beta2"]), "weight_decay": decay}
    rules = {
        "bert": lambda p: BertAdam(p, eps=number["eps_bert"], **adam),
        "gpt": lambda p: BertAdam(p, eps=number["eps_gpt"], bias_correction=True, **adam),
        "torch_adamw": lambda p: torch.optim.AdamW(p, eps=number["eps_torch"], **adam),
    }
    outcomes = {}
    for name, rule in rules.items():
        p = arrays["p0"].clone().requires_grad_()
        optimizer, after = rule([p]), []
        for p.grad in arrays["grads"].unbind():
            optimizer.step()
            after.append(p.detach().clone())
        outcomes[name] = torch.stack(after)
    for name, schedule in SCHEDULES.items():
        factor = schedule(int(number["schedule_total"]), int(number["schedule_warmup"]))
        rates = [lr * factor(update + 1) for update in arrays["schedule_steps"].tolist()]
        outcomes[name] = torch.tensor(rates, dtype=torch.double)
    return outcomes


FAMILIES = {"optim_rules": optim_rules}
INPUTS = {
    "optim_rules": {"p0", "grads", "lr", "beta1", "beta2", "weight_decay", "eps_bert", "eps_gpt", "eps_torch"}
    | {"schedule_total", "schedule_warmup", "schedule_steps"}
}
