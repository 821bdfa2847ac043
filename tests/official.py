"""Compare our modules with the numbers of the original implementations (tests/fixtures/README.md)."""

import re
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from reference import official_r_transformer, official_transformers, official_txl
from reference.deep_indrnn import DenseIndRNN, ResidualIndRNN
from reference.leaves import furthest, parameters, with_gradients
from torch import Tensor, nn

from rtx_lib.kernels import relu_recurrence
from rtx_lib.layers import GRU, LSTM, RNN, relative_shift
from rtx_lib.layers.official import load_official, renamed
from rtx_lib.models.indrnn import PlainIndRNN
from rtx_lib.models.tcn import TCN
from rtx_lib.models.tcn import official_weights as tcn_weights

Arrays = dict[str, Tensor]

# What a file gives, as opposed to what it claims comes out.
INPUTS = {"x", "h0", "c0", "u", "grad_out"}
# How the IndRNN files say what they were made with.
INPUTS |= {"num_layers", "hidden", "seq_len", "U_bound", "num_blocks"}
INPUTS |= {"growth_rate", "block_config", "num_init_features"}
INPUTS |= {"kernel_size", "channels"}  # of the TCN
INPUTS |= official_transformers.INPUTS | official_r_transformer.INPUTS | official_txl.INPUTS


def check(path: str | Path) -> dict[str, float]:
    """The largest absolute error of every output and gradient array of one file, by the array's name.

    Builds our module from the arrays, whatever their sizes, and runs it in float64.

    Raises
    ------
    ValueError
        For a family that is not known, an array that is neither an input nor an outcome that we compute, or an
        outcome of another shape than ours.
    """
    path = Path(path)
    for family, outcomes in FAMILIES.items():
        if path.stem.startswith(family):
            with np.load(path) as file:
                arrays = {name: _tensor(file[name]) for name in file.files}
            ours = {name: value.detach() for name, value in outcomes(arrays).items()}
            break
    else:
        raise ValueError(f"path must name a file of one of the families {sorted(FAMILIES)}, got {path.name}")
    given = INPUTS | INPUTS_OF.get(family, set())
    claimed = {n for n in arrays if n not in given and not n.startswith(("p/", "b0/", "init/", "dead/"))}
    claimed = {n for n in claimed if not n.endswith(("/inp", "/tgt")) and not n.startswith(("w/", "sentences/"))}
    if unknown := sorted(claimed - set(ours)):
        raise ValueError(f"path must hold known arrays only, {path.name} also holds {unknown}")
    for name in sorted(claimed):
        if arrays[name].shape != ours[name].shape:  # the difference would be broadcast
            shapes = f"{tuple(ours[name].shape)}, got {tuple(arrays[name].shape)}"
            raise ValueError(f"path must hold outcomes of our shapes, {name} of {path.name} must have {shapes}")
    errors = {name: (ours[name] - arrays[name]).abs() for name in sorted(claimed)}
    return {name: float(error.max()) if error.numel() else 0.0 for name, error in errors.items()}


def _tensor(array: np.ndarray) -> Any:
    """A tensor, or of text the list of its strings."""
    return torch.from_numpy(array) if array.dtype.kind != "U" else array.tolist()


def cell(arrays: Arrays, kind: type[RNN] | type[LSTM] | type[GRU]) -> Arrays:
    """A stack of one of torch.nn's cells, time-major in the file and batch-first in the library.

    A file without ``grad_out`` claims no gradients, one without ``h0`` or ``c0`` starts from zeros, and ``h`` is
    another name of ``out``.
    """
    given = parameters(arrays)
    hidden, width = given["weight_hh_l0"].shape[1], given["weight_ih_l0"].shape[1]
    both_ways = "weight_hh_l0_reverse" in given
    rows = sum(name.startswith("weight_hh") for name in given)
    model = load_official(kind(width, hidden, rows // (1 + both_ways), bidirectional=both_ways), given)
    x, zeros = arrays["x"].clone().requires_grad_(), torch.zeros(rows, arrays["x"].shape[1], hidden)
    parts = ("h", "c") if kind is LSTM else ("h",)
    start = {f"{part}0": arrays.get(f"{part}0", zeros).double().clone().requires_grad_() for part in parts}
    y, state = model(x.transpose(0, 1), tuple(start.values()) if kind is LSTM else start["h0"])
    last = state if kind is LSTM else (state,)
    outcomes = {"out": y.transpose(0, 1), "h": y.transpose(0, 1)}
    outcomes |= {f"{part}n": value for part, value in zip(parts, last, strict=True)}
    return with_gradients(arrays, outcomes, model, given, given, x=x, **start)


def indrnn_recurrent(arrays: Arrays) -> Arrays:
    """h_t = relu(x_t + u h_{t-1}) by every backend at hand; of each outcome, the one that is furthest off.

    What may be left out of a file, and ``h``, are as in :func:`cell`.
    """
    backends = ["auto", "loop", "scan", *(["numba"] if find_spec("numba") else [])]
    return furthest([_indrnn_recurrent(arrays, backend) for backend in backends], arrays)


def _indrnn_recurrent(arrays: Arrays, backend: str) -> Arrays:
    given = {"x": arrays["x"], "u": arrays["u"], "h0": arrays.get("h0", torch.zeros_like(arrays["x"][0]))}
    given = {name: value.clone().requires_grad_() for name, value in given.items()}
    x, u, h0 = given.values()
    h, h_none = (relu_recurrence(x.transpose(0, 1), u, start, backend=backend).transpose(0, 1) for start in (h0, None))
    return with_gradients(arrays, {"out": h, "h": h, "out_h0none": h_none}, **given)


def indrnn_plain(arrays: Arrays, norm: str) -> Arrays:
    """Linear maps ``DIs`` and units ``RNNs``."""
    hidden, width = arrays["p/DIs.0.fc.weight"].shape
    layers = sum(name.startswith("p/DIs") and name.endswith("weight") for name in arrays)
    net = PlainIndRNN(width, hidden, layers, len(arrays["p/classifier.bias"]), norm=norm)
    return _indrnn_net(arrays, net, {r"^DIs\.": "linears.", r"^RNNs\.": "units."})


def indrnn_residual(arrays: Arrays) -> Arrays:
    """``resblock1`` has the first two units, ``IndRNNwithBN_last`` the last one."""
    hidden, width = arrays["p/features.fc0.fc.weight"].shape
    blocks = len({name.split(".")[1] for name in arrays if name.startswith("p/features.resblock")})
    rules = {r"^features\.fc0\.": "linears.0.", r"^features\.IndRNNwithBN_last\.": f"units.{2 * blocks}."}
    for block in range(blocks):
        for part in (1, 2):
            rules[rf"^features\.resblock{block + 1}\.fc{part}\."] = f"linears.{2 * block + part}."
            rules[rf"^features\.resblock{block + 1}\.IndRNNwithBN{part}\."] = f"units.{2 * block + part - 1}."
    net = ResidualIndRNN(width, hidden, blocks, len(arrays["p/classifier.bias"]))
    return _indrnn_net(arrays, net, rules)


def indrnn_dense(arrays: Arrays) -> Arrays:
    """Two layers in each dense layer, one in each transition; the last transition is called ``lastlayer``."""
    config = arrays["block_config"].tolist()
    layers = ["features.{}0"]
    for block, depth in enumerate(config, start=1):
        for dense in range(1, depth + 1):
            layers += [f"features.denseblock{block}.denselayer{dense}.{{}}{part}" for part in (1, 2)]
        at = "lastlayer" if block == len(config) else f"transition{block}"
        layers.append(f"features.{at}.{{}}")
    rules = {}
    for i, layer in enumerate(layers):
        for theirs, ours in (("fc", "linears"), ("IndRNNwithBN", "units")):
            rules[rf"^{re.escape(layer.format(theirs))}\."] = f"{ours}.{i}."
    width, initial = arrays["p/features.fc0.fc.weight"].shape[1], int(arrays["num_init_features"])
    classes = len(arrays["p/classifier.bias"])
    net = DenseIndRNN(width, int(arrays["growth_rate"]), config, classes, initial)
    return _indrnn_net(arrays, net, rules)


def _indrnn_net(arrays: Arrays, net: nn.Module, rules: dict[str, str]) -> Arrays:
    """One forward and backward pass in training mode from the state ``b0``, then one forward pass in eval mode.

    The rules lead from the modules' official names to ours.
    """
    # The first spelling of u is that of the authors' loop, the second that of their CUDA kernel.
    unit = {r"\.indrnn1\.(indrnn_cell\.)?weight_hh$": ".u", r"\.norm1\.": "."}
    rules = rules | {r"^(linears\.\d+)\.fc\.": r"\1.", r"^classifier\.": "readout."} | unit
    given, before = parameters(arrays), {n.removeprefix("b0/"): v for n, v in arrays.items() if n.startswith("b0/")}
    ours, x = renamed(given, rules), arrays["x"].clone().requires_grad_()
    load_official(net, ours | dict(net.named_buffers()) | renamed(before, rules))
    outcomes = {"train_out": net.train()(x.transpose(0, 1))[0][:, -1]}
    outcomes = with_gradients(arrays, outcomes, net, given, ours, out="train_out", x=x)
    buffers, after = dict(net.named_buffers()), [name.removeprefix("b1/") for name in arrays if name.startswith("b1/")]
    places = renamed({theirs: theirs for theirs in after}, rules)
    outcomes |= {f"b1/{theirs}": buffers[ours] for ours, theirs in places.items() if ours in buffers}
    return outcomes | {"eval_out": net.eval()(x.transpose(0, 1))[0][:, -1]}


def tcn(arrays: Arrays) -> Arrays:
    """The levels alone, channels before time; all sizes are those of the parameters.

    A file without ``grad_out`` claims no gradients.
    """
    given, x, outcomes = parameters(arrays), arrays["x"].clone().requires_grad_(), {}
    one = torch.eye(arrays["out"].shape[1]).double()  # for a readout that changes nothing
    ours = tcn_weights(given | {"linear.weight": one, "linear.bias": 0 * one[0]})
    model = TCN.from_official(ours)
    for i, level in enumerate(model.network):
        level.register_forward_hook(lambda _, args, result, i=i: outcomes.update({f"level{i}_out": result[0]}))
    outcomes["out"] = model(x.transpose(1, 2))[0].transpose(1, 2)
    return with_gradients(arrays, outcomes, model, given, ours, x=x)


def txl_relshift(arrays: Arrays) -> Arrays:
    """Transformer-XL's shift of (T, S, B, H), with what it leaves above the causal diagonal."""
    return {"y": relative_shift(arrays["x"].permute(2, 3, 0, 1)).permute(2, 3, 0, 1)}


FAMILIES: dict[str, Callable[[Arrays], Arrays]] = {
    "cell_rnn": partial(cell, kind=RNN),
    "cell_lstm": partial(cell, kind=LSTM),
    "cell_gru": partial(cell, kind=GRU),
    "indrnn_recurrent": indrnn_recurrent,
    "indrnn_plain_bn_after": partial(indrnn_plain, norm="after"),
    "indrnn_plain_bn_before": partial(indrnn_plain, norm="before"),
    "indrnn_residual": indrnn_residual,
    "indrnn_dense": indrnn_dense,
    "txl_relshift": txl_relshift,  # before the others, whose name is the beginning of its own
    "txl_": official_txl.txl,
    "transformer_annotated": official_transformers.annotated,
    "transformer_torch_post": partial(official_transformers.torch_stack, norm="post"),
    "transformer_torch_pre": partial(official_transformers.torch_stack, norm="pre"),
    "rtransformer_": official_r_transformer.r_transformer,
    "tcn": tcn,
}

# Families of one paper each, with the inputs that only they have: a name may be an input here and an outcome there.
INPUTS_OF: dict[str, set[str]] = {}
PAPERS = ("qrnn", "convolutions", "neural_gpu", "memory", "ssan", "matrix_state", "word2vec", "rules", "elmo", "gpt")
PAPERS += ("bert", "xlnet", "mamba", "min_rnn", "lru", "griffin", "rwkv", "retnet", "xlstm", "dtmt", "ltsf")
for _paper in PAPERS:
    _adapter = import_module(f"reference.official_{_paper}")
    FAMILIES |= _adapter.FAMILIES
    INPUTS_OF |= _adapter.INPUTS
