"""GPT and GPT-2 among the reference values: which of our parameters their names mean, and one pass with its loss."""

import torch
import torch.nn.functional as F
from torch import Tensor

from rtx_lib.diagnostics.attention import record_attention
from rtx_lib.models.gpt import GPT, GPTClassifier, fine_tuning_loss, language_loss, official_weights

from .leaves import gradients, parameters, with_eps

Arrays = dict[str, Tensor]


def build(arrays: Arrays, given: Arrays) -> GPT:
    """The file's model."""
    return with_eps(arrays, GPT.from_official(given, heads=int(arrays["n_head"])))


def language_model(arrays: Arrays) -> Arrays:
    """Logits, losses, what goes into each block and comes out of the last, and the weights of the attention."""
    given, x = parameters(arrays), arrays["input_ids"]
    model = build(arrays, given)
    hidden: list[Tensor] = []
    for block in model.stack.blocks:
        block.register_forward_pre_hook(lambda _, args: hidden.append(args[0]))
    model.stack.register_forward_hook(lambda _, args, result: hidden.append(result[0]))
    with record_attention(model) as recorded:
        logits, _ = model(x)
    nll = F.cross_entropy(logits[:, :-1].transpose(1, 2), x[:, 1:], reduction="none")
    loss = language_loss(logits, x)
    outcomes = {"logits": logits, "nll": nll, "loss": loss} | gradients(loss, model, given, official_weights(given))
    outcomes |= {f"hidden{i}": h for i, h in enumerate(hidden)}
    outcomes |= {f"attn{i}": weights for i, (_, weights) in enumerate(recorded)}
    return outcomes


def finetune(arrays: Arrays) -> Arrays:
    """The class at the last word, both averages of the auxiliary loss, and their sum with its gradients."""
    given, x, y = parameters(arrays), arrays["input_ids"], arrays["labels"]
    head = {name.replace("clf.", "readout."): p for name, p in given.items() if name.startswith("clf.")}
    body = {name: p for name, p in given.items() if not name.startswith("clf.")}
    gpt = build(arrays, body)
    model = GPTClassifier(gpt, len(head["readout.bias"]), auxiliary=True).double()
    ours = head | {f"gpt.{name}": p for name, p in official_weights(body).items()}
    model.load_state_dict(ours)
    seen: list[Tensor] = []
    gpt.stack.register_forward_hook(lambda _, args, result: seen.append(result[0]))
    real = torch.arange(x.shape[1]) < arrays["lengths"][:, None]
    y_hat, _ = model(x, real=real)
    words, classes = y_hat[..., : gpt.output_size], y_hat[:, -1, gpt.output_size :]
    counted = arrays["mask"].bool()
    options = {"real": counted, "weight": float(arrays["lambda"]), "average": "sequence"}
    loss = fine_tuning_loss(words, classes, x, y, **options)
    rows = [language_loss(words[b : b + 1], x[b : b + 1], counted[b : b + 1]) for b in range(len(x))]
    outcomes = {"hidden_last": seen[0], "lm_logits": words, "clf_logits": classes, "L3": loss}
    outcomes |= {"L2": F.cross_entropy(classes, y), "L1_per_sequence": torch.stack(rows)}
    outcomes |= {
        name: language_loss(words, x, counted, average=average)
        for name, average in (("L1", "sequence"), ("L1_tokenmean", "token"))
    }
    return outcomes | gradients(loss, model, given, ours)


FAMILIES = {"gpt_finetune": finetune, "gpt_lm": language_model, "gpt2_lm": language_model}
INPUTS = {name: {"input_ids", "n_head", "layer_norm_eps"} for name in FAMILIES}
INPUTS["gpt_finetune"] |= {"lengths", "labels", "mask", "lambda", "special_ids"}
for _name in ("gpt_lm", "gpt2_lm"):
    INPUTS[_name] |= {"aliases"}
