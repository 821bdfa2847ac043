"""GPT and GPT-2 among the reference values: which of our parameters their names mean, and one pass with its loss."""

import re

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call

from rtx_lib.diagnostics.attention import record_attention
from rtx_lib.models.gpt import GPT, GPTClassifier, fine_tuning_loss, language_loss

Arrays = dict[str, Tensor]

# Official names and ours. Matrices between `c_attn` and `c_proj` are stored (inputs, outputs).
NAMES = {
    r"^transformer\.(tokens_embed|wte)\.": "embedding.",
    r"^transformer\.(positions_embed|wpe)\.": "stack.positions.",
    r"^transformer\.ln_f\.": "stack.norm.",
    r"^transformer\.h\.(\d+)\.": r"stack.blocks.\1.",
    r"\.ln_1\.": ".norms.0.",
    r"\.ln_2\.": ".norms.1.",
    r"\.attn\.c_attn\.": ".self_attention.in_proj_",
    r"\.attn\.c_proj\.": ".self_attention.out_proj.",
    r"\.mlp\.c_fc\.": ".feed_forward.linear1.",
    r"\.mlp\.c_proj\.": ".feed_forward.linear2.",
}


def ours(official: str) -> str:
    for pattern, name in NAMES.items():
        official = re.sub(pattern, name, official)
    return official


def parameters(arrays: Arrays) -> tuple[Arrays, Arrays]:
    """Leaves by official names, and our parameters made of them."""
    leaves = {n.removeprefix("p/"): a.double().requires_grad_() for n, a in arrays.items() if n.startswith("p/")}
    turned = {name: p.T if re.search(r"\.c_\w+\.weight", name) else p for name, p in leaves.items()}
    return leaves, {ours(name): p for name, p in turned.items()}


def build(arrays: Arrays, given: Arrays) -> GPT:
    """A model of the file's sizes: GPT-2 where there is a norm behind the last block."""
    vocabulary, width = given["embedding.weight"].shape
    depth = sum(name.endswith("linear1.weight") for name in given)
    sizes = {"heads": int(arrays["n_head"]), "length": len(given["stack.positions.weight"])}
    inner = len(given["stack.blocks.0.feed_forward.linear1.bias"])
    norm = "pre" if "stack.norm.weight" in given else "post"
    model = GPT(vocabulary, width=width, layers=depth, inner=inner, norm=norm, **sizes).double()
    for module in model.modules():
        if isinstance(module, nn.LayerNorm):
            module.eps = float(arrays["layer_norm_eps"])
    return model


def gradients(loss: Tensor, leaves: Arrays) -> Arrays:
    found = torch.autograd.grad(loss, list(leaves.values()), allow_unused=True, materialize_grads=True)
    return {f"g/{name}": g for name, g in zip(leaves, found, strict=True)}


def language_model(arrays: Arrays) -> Arrays:
    """Logits, losses, what goes into each block and comes out of the last, and the weights of the attention."""
    leaves, given = parameters(arrays)
    model, x = build(arrays, given), arrays["input_ids"]
    hidden: list[Tensor] = []
    for block in model.stack.blocks:
        block.register_forward_pre_hook(lambda _, args: hidden.append(args[0]))
    model.stack.register_forward_hook(lambda _, args, result: hidden.append(result[0]))
    with record_attention(model) as recorded:
        logits, _ = functional_call(model, given, (x,))
    nll = F.cross_entropy(logits[:, :-1].transpose(1, 2), x[:, 1:], reduction="none")
    loss = language_loss(logits, x)
    outcomes = {"logits": logits, "nll": nll, "loss": loss} | gradients(loss, leaves)
    outcomes |= {f"hidden{i}": h for i, h in enumerate(hidden)}
    outcomes |= {f"attn{i}": weights for i, (_, weights) in enumerate(recorded)}
    return {name: value.detach() for name, value in outcomes.items()}


def finetune(arrays: Arrays) -> Arrays:
    """The class at the last word, both averages of the auxiliary loss, and their sum with its gradients."""
    leaves, given = parameters(arrays)
    gpt, x, y = build(arrays, given), arrays["input_ids"], arrays["labels"]
    model = GPTClassifier(gpt, len(arrays["p/clf.bias"]), auxiliary=True).double()
    ends = {name.replace("clf.", "readout."): p for name, p in given.items() if name.startswith("clf.")}
    given = {f"gpt.{name}": p for name, p in given.items() if not name.startswith("clf.")} | ends
    seen: list[Tensor] = []
    gpt.stack.register_forward_hook(lambda _, args, result: seen.append(result[0]))
    real = torch.arange(x.shape[1]) < arrays["lengths"][:, None]
    y_hat, _ = functional_call(model, given, (x,), {"real": real})
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
    outcomes |= gradients(loss, leaves)
    return {name: value.detach() for name, value in outcomes.items()}


FAMILIES = {"gpt_finetune": finetune, "gpt_lm": language_model, "gpt2_lm": language_model}
INPUTS = {name: {"input_ids", "n_head", "layer_norm_eps"} for name in FAMILIES}
INPUTS["gpt_finetune"] |= {"lengths", "labels", "mask", "lambda", "special_ids"}
for _name in ("gpt_lm", "gpt2_lm"):
    INPUTS[_name] |= {"aliases"}
