"""ELMo among the reference values: the language model of both directions, its layers, and the mix of them."""

import json
import re

import torch
import torch.nn.functional as F
from torch import Tensor

from rtx_lib.layers.characters import CharacterCNN, spell
from rtx_lib.layers.official import load_official, renamed
from rtx_lib.models.elmo import BidirectionalLM, ScalarMix

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
    mix.norm, mix.eps = True, float(arrays["mix_layernorm_eps"])
    return outcomes | {"mix_out_layernorm": mix(layers, arrays["mix_mask"])}


def projected(arrays: Arrays) -> Arrays:
    """AllenNLP's cells, of any number of layers, with both clips and the skip connection, on rows of any lengths."""
    given, x = parameters(arrays), arrays["x"].clone().requires_grad_()
    layers = sum(name.startswith("forward_layer_") and name.endswith("state_projection.weight") for name in given)
    cells = given["forward_layer_0.state_projection.weight"].shape[1]
    clips = {f"{ours}_clip": float(arrays[f"{theirs}_clip"]) or None for ours, theirs in CLIPS.items()}
    ours = renamed(given, ALLENNLP)
    weights = {name.replace("_hh_", "_ih_"): torch.zeros_like(b) for name, b in ours.items() if "bias_hh" in name}
    model = BidirectionalLM(1, width=x.shape[2], layers=layers, hidden_size=cells, skip=True, **clips).double()
    ends = {name: value for name, value in model.state_dict().items() if name.startswith(("embedding", "softmax"))}
    load_official(model, ours | weights | ends)  # they have one bias, and neither table nor softmax
    real = torch.arange(x.shape[1]) < arrays["lengths"][:, None]
    h, (last, memory) = model.run(x, None, real)
    outcomes = {f"layer{j}": layer for j, layer in enumerate(h) if j}
    for j in range(layers):
        added = h[j] if j else torch.zeros_like(h[0])
        for d, (way, own) in enumerate(zip(WAYS, (h[j + 1] - added).chunk(2, dim=-1), strict=True)):
            outcomes[f"{way}{j}"] = own
            outcomes |= {f"{way}{j}_hn": last[2 * j + d], f"{way}{j}_cn": memory[2 * j + d]}
    outcomes["out"] = h[-1]
    return with_gradients(arrays, outcomes, model, given, ours, x=x)


def official_tiny(arrays: Arrays) -> Arrays:
    """A model of bilm-tf with characters: its top layer for the sentences of parallel streams, states carried along."""
    options = json.loads(arrays["options_json"])  # type: ignore[arg-type]
    cnn, lstm = options["char_cnn"], options["lstm"]
    width, depth = lstm["projection_dim"], lstm["n_layers"]
    form = {"character_width": cnn["embedding"]["dim"], "highways": cnn.get("n_highway") or 0}
    how = {"hidden_size": lstm["dim"], "cell_clip": lstm["cell_clip"], "projection_clip": lstm["proj_clip"]}
    how |= {"characters": CharacterCNN(width, cnn["filters"], activation=cnn["activation"], **form)}
    model = BidirectionalLM(1, width=width, layers=depth, skip=lstm["use_skip_connections"], **how).double()
    w = {name.removeprefix("w/"): value.double() for name, value in arrays.items() if name.startswith("w/")}
    ours = {name: value for name, value in model.state_dict().items() if name.startswith("softmax")}
    ours["embedding.characters.weight"] = F.pad(w.pop("char_embed"), (0, 0, 1, 0))
    for i in range(len(cnn["filters"])):
        at = f"embedding.convolutions.{i}"
        ours |= {f"{at}.weight": w.pop(f"CNN/W_cnn_{i}")[0].permute(2, 1, 0), f"{at}.bias": w.pop(f"CNN/b_cnn_{i}")}
    for i in range(form["highways"]):
        at = f"CNN_high_{i}"
        for part in "Wb":
            both = torch.cat([w.pop(f"{at}/{part}_carry"), w.pop(f"{at}/{part}_transform")], dim=-1)
            ours[f"embedding.highways.{i}.{'weight' if part == 'W' else 'bias'}"] = both.T if part == "W" else both
    if "CNN_proj/W_proj" in w:
        ours["embedding.projection.weight"] = w.pop("CNN_proj/W_proj").T
        ours["embedding.projection.bias"] = w.pop("CNN_proj/b_proj")
    for d, way in enumerate(WAYS):
        for j in range(depth):
            cell = f"RNN_{d}/RNN/MultiRNNCell/Cell{j}/LSTMCell"
            kernel, bias, at = _reordered(w.pop(f"{cell}/W_0")), _reordered(w.pop(f"{cell}/B")), f"{way}_layers.{j}"
            bias[lstm["dim"] : 2 * lstm["dim"]] += 1
            ours[f"{at}.weight_ih_l0"], ours[f"{at}.weight_hh_l0"] = kernel.T.tensor_split([width], dim=1)
            ours |= {f"{at}.bias_ih_l0": bias, f"{at}.bias_hh_l0": torch.zeros_like(bias)}
            ours[f"{at}.weight_hr_l0"] = w.pop(f"{cell}/W_P_0").T
    if w:
        raise ValueError(f"path must hold the weights that its options tell of, it also holds {[f'w/{n}' for n in w]}")
    model.load_state_dict(ours)
    outcomes = {}
    for name in (name for name in arrays if re.fullmatch(r"sentences/\d+", name)):
        stream, state = name.removeprefix("sentences/"), None
        for s, sentence in enumerate(arrays[name]):
            x = spell([sentence.split()], cnn["max_characters_per_token"])  # type: ignore[attr-defined]
            h, state = model.read(x, state)
            without_marks = h[-1][0, 1:-1].unflatten(-1, (2, width))
            outcomes[f"emb/{stream}/{s}"] = without_marks.transpose(0, 1).detach()
    return outcomes


def _reordered(columns: Tensor) -> Tensor:
    """TensorFlow's blocks i, g, f, o of the last axis as ours: i, f, g, o."""
    i, g, f, o = columns.chunk(4, dim=-1)
    return torch.cat([i, f, g, o], dim=-1)


# AllenNLP's names of a direction's cells and ours.
ALLENNLP = {
    r"^(forward|backward)_layer_": r"\1_layers.",
    r"\.input_linearity\.weight$": ".weight_ih_l0",
    r"\.state_linearity\.(weight|bias)$": r".\1_hh_l0",
    r"\.state_projection\.weight$": ".weight_hr_l0",
}
CLIPS = {"cell": "cell", "projection": "proj"}
FAMILIES = {"elmo_bilm": language_model, "elmo_projected": projected, "elmo_official_tiny": official_tiny}
INPUTS = {
    "elmo_bilm": {"input_ids", "skip", "mix_w", "mix_gamma", "mix_grad_out", "mix_mask", "mix_layernorm_eps"},
    "elmo_projected": {"lengths", "cell_clip", "proj_clip"},
    "elmo_official_tiny": {"options_json"},
}
