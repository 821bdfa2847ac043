"""word2vec among the reference values: losses, gradients, the updates of the authors' code, and what is drawn."""

import torch
from torch import Tensor

from rtx_lib.models import word2vec as w2v

Arrays = dict[str, Tensor]


@torch.no_grad()
def update_one_by_one(model: w2v.Word2Vec, x: tuple[Tensor, Tensor], y: Tensor, rate: float) -> None:
    """What `model.update` does, as the authors' code does it: every score sees what those before it have changed.

    It takes the rows of the batch, and in each row the words and the others, in their order. What the others ask of a
    word is added up, and added to its vector last.
    """
    cbow = model.kind == "cbow"
    for row, scored, labels in zip(*x, y, strict=True):
        for inputs, wanted in zip(row[None] if cbow else row[:, None], labels, strict=True):
            v, error = model.inputs[inputs].mean(0), torch.zeros_like(model.inputs[0])  # (D), (D)
            for j, label in zip(scored, wanted, strict=True):
                g = rate * label * torch.sigmoid(-label.sign() * (v @ model.outputs[j]))
                error += g * model.outputs[j]
                model.outputs[j] += g * v
            for word in inputs:
                model.inputs[word] += error


def word2vec(arrays: Arrays) -> Arrays:
    """Skip-gram, CBOW with the same noise, and the distributions, of any sizes."""

    def model(kind: str) -> w2v.Word2Vec:
        made = w2v.Word2Vec(*arrays["W_in"].shape, kind=kind).double()
        made.load_state_dict({"inputs": arrays["W_in"], "outputs": arrays["W_out"]})
        return made

    def judged(made: w2v.Word2Vec, words: Tensor, right: Tensor) -> tuple[tuple[Tensor, Tensor], Tensor, Tensor]:
        """x, y and the loss (B,) of each item; noise counts even where it is the right word."""
        x = (words, torch.cat([right[:, None], arrays["negatives"]], dim=1))
        scores = made(x)[0]
        y = -torch.ones_like(scores)
        y[..., 0] = 1
        return x, y, w2v.negative_sampling_loss(scores, y).sum((1, 2))

    skipgram, cbow = model("skip-gram"), model("cbow")
    x, y, loss = judged(skipgram, arrays["center"][:, None], arrays["context"])
    tables = torch.autograd.grad(loss.sum(), [skipgram.inputs, skipgram.outputs])
    outcomes = {"loss_per_pair": loss, "loss": loss.sum()} | dict(zip(("g/W_in", "g/W_out"), tables, strict=True))
    update_one_by_one(skipgram, x, y, float(arrays["lr"]))
    outcomes |= {"seq_W_in": skipgram.inputs, "seq_W_out": skipgram.outputs}

    x, y, loss = judged(cbow, arrays["cbow_context"], arrays["cbow_target"])
    tables = torch.autograd.grad(loss.sum(), [cbow.inputs, cbow.outputs])
    outcomes |= {"cbow_loss_per_item": loss} | dict(zip(("cbow_g/W_in", "cbow_g/W_out"), tables, strict=True))
    cbow.update(x, y, 1.0)
    outcomes["cbow_g/W_in_ccode"] = arrays["W_in"] - cbow.inputs  # a step of rate 1 goes down the gradient

    counts, sample = arrays["counts"], float(arrays["sample_t"])
    outcomes |= {"noise": w2v.noise_distribution(counts), "cum_table": w2v.cumulative_table(counts)}
    outcomes |= {f"keep_{rule}": w2v.keep_probability(counts, sample, rule) for rule in ("paper", "code")}
    return outcomes


FAMILIES = {"word2vec": word2vec}
INPUTS = {
    "word2vec": {"W_in", "W_out", "center", "context", "negatives", "lr", "cbow_context", "cbow_target", "counts"}
    | {"sample_t"}
}
