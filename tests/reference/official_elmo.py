"""ELMo among the reference values: the language model of both directions, its layers, and the mix of them."""

import json
import re
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from rtx_lib.layers.official import load_official, renamed
from rtx_lib.models.elmo import BidirectionalLM, ScalarMix

from .elmo_loops import projected_step, read, spell, word_vectors
from .leaves import gradients, parameters, with_gradients

Arrays = dict[str, Tensor]
WAYS = ("forward", "backward")


def language_model(arrays: Arrays) -> Arrays:
    """Plain LSTMs, any number of layers, with or without the skip connection; every loss is per direction a mean."""
    given = parameters(arrays)
    layers = sum(name.startswith("fwd.") and name.endswith("weight_ih_l0") for name in given)
    vocabulary, width = given["embed.weight"].shape
    ours = renamed(given, {"^embed": "embedding", "^fwd": "forward_layers", "^bwd": "backward_layers"})
    model = load_official(BidirectionalLM(vocabulary, width=width, layers=layers, skip=bool(arrays["skip"])), ours)
    ids = arrays["input_ids"]
    h, _ = model.read(ids)
    y, _ = model(ids)
    outcomes = {f"layer{j}": layer for j, layer in enumerate(h)} | {"embedding": h[0][..., :width]}
    following, preceding = y.split(vocabulary, dim=-1)
    outcomes["nll_forward"] = F.cross_entropy(following[:, :-1].mT, ids[:, 1:], reduction="none")
    outcomes["nll_backward"] = F.cross_entropy(preceding[:, 1:].mT, ids[:, :-1], reduction="none")
    losses = [outcomes[f"nll_{way}"].mean() for way in WAYS]
    outcomes |= {f"loss_{way}": loss for way, loss in zip(WAYS, losses, strict=True)}
    outcomes |= {"loss": sum(losses), "loss_official_half": sum(losses) / 2}
    outcomes |= gradients(sum(losses), model, given, ours)
    if "mix_w" in arrays:
        outcomes |= _mixed([layer.detach() for layer in h], arrays)
    return outcomes


def _mixed(layers: list[Tensor], arrays: Arrays) -> Arrays:
    mix = ScalarMix(len(layers)).double()
    mix.load_state_dict({"w": arrays["mix_w"], "gamma": arrays["mix_gamma"]})
    out = mix(layers)
    found = torch.autograd.grad((out * arrays["mix_grad_out"]).sum(), [mix.w, mix.gamma])
    outcomes = {"mix_softmax": mix.w.softmax(0), "mix_out": out, "mix_g_w": found[0], "mix_g_gamma": found[1]}
    normed = [_normed(h, arrays["mix_mask"].bool(), float(arrays["mix_layernorm_eps"])) for h in layers]
    return outcomes | {"mix_out_layernorm": mix(normed)}


def _normed(h: Tensor, real: Tensor, eps: float) -> Tensor:
    """h (B, T, C) by one mean and one variance of all its words, which are where real (B, T) is True."""
    return (h - h[real].mean()) / (h[real].var(correction=0) + eps).sqrt()


def projected(arrays: Arrays) -> Arrays:
    """AllenNLP's cells, of any number of layers, with both clips and the skip connection, on rows of any lengths."""
    given, x = parameters(arrays), arrays["x"].clone().requires_grad_()
    layers = sum(name.startswith("forward_layer_") and name.endswith("state_projection.weight") for name in given)
    cells = given["forward_layer_0.state_projection.weight"].shape[1]
    clips = float(arrays["cell_clip"]), float(arrays["proj_clip"])

    def step(at: str) -> Any:
        return partial(projected_step, *(given[f"{at}.{name}"] for name in ALLENNLP), *clips)

    stacks = [[step(f"{way}_layer_{j}") for j in range(layers)] for way in WAYS]
    starts = 2 * [layers * [(x.new_zeros(x.shape[2]), x.new_zeros(cells))]]
    rows = [read(row[:n], stacks, starts, skip=True) for row, n in zip(x, arrays["lengths"].tolist(), strict=True)]
    longer = ([F.pad(layer, (0, 0, 0, x.shape[1] - len(layer))) for layer in told] for told, _ in rows)
    h = [torch.stack(layer) for layer in zip(*longer, strict=True)]
    outcomes = {f"layer{j}": layer for j, layer in enumerate(h) if j} | {"out": h[-1]}
    for j in range(layers):
        added = h[j] if j else torch.zeros_like(h[0])
        for d, (way, own) in enumerate(zip(WAYS, (h[j + 1] - added).chunk(2, dim=-1), strict=True)):
            last = (torch.stack(parts) for parts in zip(*(ends[d][j] for _, ends in rows), strict=True))
            outcomes |= dict(zip((f"{way}{j}", f"{way}{j}_hn", f"{way}{j}_cn"), (own, *last), strict=True))
    return with_gradients(arrays, outcomes, x=x, **{f"/{name}": p for name, p in given.items()})


def official_tiny(arrays: Arrays) -> Arrays:
    """A model of bilm-tf with characters: its top layer for the sentences of parallel streams, states carried along."""
    options = json.loads(arrays["options_json"])  # type: ignore[arg-type]
    cnn, lstm = options["char_cnn"], options["lstm"]
    w = {name.removeprefix("w/"): value.double() for name, value in arrays.items() if name.startswith("w/")}
    filters = [(w.pop(f"CNN/W_cnn_{i}")[0], w.pop(f"CNN/b_cnn_{i}")) for i in range(len(cnn["filters"]))]
    parts = ("W_carry", "b_carry", "W_transform", "b_transform")
    highways = [[w.pop(f"CNN_high_{i}/{part}") for part in parts] for i in range(cnn.get("n_highway") or 0)]
    projection = [w.pop(f"CNN_proj/{part}_proj") for part in "Wb" if f"CNN_proj/{part}_proj" in w]
    network = w.pop("char_embed"), filters, highways, projection, getattr(torch, cnn["activation"])
    at = "RNN_{}/RNN/MultiRNNCell/Cell{}/LSTMCell"
    stacks = [[_cell(w, at.format(d, j), lstm) for j in range(lstm["n_layers"])] for d in (0, 1)]
    if w:
        raise ValueError(f"path must hold the weights that its options tell of, it also holds {[f'w/{n}' for n in w]}")
    outcomes, zeros = {}, tuple(torch.zeros(lstm[size]).double() for size in ("projection_dim", "dim"))
    for name in (name for name in arrays if re.fullmatch(r"sentences/\d+", name)):
        stream, state = name.removeprefix("sentences/"), 2 * [lstm["n_layers"] * [zeros]]
        for s, sentence in enumerate(arrays[name]):
            vectors = word_vectors(spell(sentence, cnn["max_characters_per_token"]), *network)
            h, state = read(vectors, stacks, state, lstm["use_skip_connections"])
            outcomes[f"emb/{stream}/{s}"] = h[-1][1:-1].unflatten(-1, (2, -1)).transpose(0, 1)
    return outcomes


def _cell(w: Arrays, at: str, lstm: dict[str, Any]) -> Any:
    """The step of a cell; TensorFlow's blocks i, g, f, o of the last axis as ours: i, f, g, o, with 1 added to f."""
    kernel, bias = (w.pop(f"{at}/{name}").unflatten(-1, (4, -1)) for name in ("W_0", "B"))
    kernel, bias = (blocks[..., [0, 2, 1, 3], :].flatten(-2) for blocks in (kernel, bias))
    bias[lstm["dim"] : 2 * lstm["dim"]] += 1
    w_x, w_h = kernel.T.tensor_split([lstm["projection_dim"]], dim=1)
    return partial(projected_step, w_x, w_h, bias, w.pop(f"{at}/W_P_0").T, lstm["cell_clip"], lstm["proj_clip"])


# AllenNLP's names of a cell's weights.
ALLENNLP = ("input_linearity.weight", "state_linearity.weight", "state_linearity.bias", "state_projection.weight")
FAMILIES = {"elmo_bilm": language_model, "elmo_projected": projected, "elmo_official_tiny": official_tiny}
INPUTS = {
    "elmo_bilm": {"input_ids", "skip", "mix_w", "mix_gamma", "mix_grad_out", "mix_mask", "mix_layernorm_eps"},
    "elmo_projected": {"lengths", "cell_clip", "proj_clip"},
    "elmo_official_tiny": {"options_json"},
}
