"""Memories of matrix form among the reference values: one kernel, each time with the axes and scales of an original."""

import math
from functools import partial

from torch import Tensor

from rtx_lib.kernels import matrix_recurrence
from rtx_lib.models.delta_net import linear_attention

from .leaves import furthest, with_gradients

Arrays = dict[str, Tensor]


def attention(arrays: Arrays) -> Arrays:
    """Katharopoulos et al.'s, heads after time in the file: causal, with its last sums, and over all keys."""
    given = {name: arrays[name].clone().requires_grad_() for name in "qkv"}
    q, k, v = (x.transpose(1, 2) for x in given.values())
    eps = float(arrays["eps"]) if "eps" in arrays else 1e-6
    runs = []
    for backend in ("loop", "chunks"):
        out, (s, z) = linear_attention(q, k, v, eps=eps, backend=backend)
        whole, (same_s, same_z) = linear_attention(q, k, v, eps=eps, causal=False)
        outcomes = {"out": out.transpose(1, 2), "state_S": s, "state_z": z, "out_noncausal": whole.transpose(1, 2)}
        runs.append(with_gradients(arrays, outcomes, **given))
        runs.append(runs[-1] | {"state_S": same_s, "state_z": same_z})
    return furthest(runs, arrays)


def memory(arrays: Arrays, heads_first: bool) -> Arrays:
    """A file of flash-linear-attention's: q is divided by sqrt(K), and ``out``, with the gradients, has no state.

    ``out_chunkwise`` is the original's own form of chunks; ours, of the same size, is held against it.
    """
    names = [name for name in ("q", "k", "v", "beta", "log_alpha") if name in arrays]
    given = {name: arrays[name].clone().requires_grad_() for name in names}
    chunk = int(arrays["chunk_size"]) if "chunk_size" in arrays else 5
    runs = []
    for backend, size in (("loop", None), ("chunks", chunk), ("chunks", None), ("auto", None)):
        tensors = {name: x if heads_first else x.transpose(1, 2) for name, x in given.items()}
        tensors["log_decay"] = tensors.pop("log_alpha", None)
        tensors["q"] = tensors["q"] / math.sqrt(tensors["q"].shape[3])
        run: Arrays = {}
        for ending, state in (("", None), ("_state", arrays.get("S0"))):
            o, run[f"S_last{ending}"] = matrix_recurrence(**tensors, state=state, backend=backend, chunk=size)
            run[f"out{ending}"] = o if heads_first else o.transpose(1, 2)
        run["out_chunkwise"] = run["out"]
        runs.append(with_gradients(arrays, run, **given))
    return furthest(runs, arrays)


def ssd(arrays: Arrays) -> Arrays:
    """The listing of Mamba-2's paper: C are the queries, B the keys, X the values, and A the logarithm of the decay.

    S0 is (B, 1, H, P, N), the transpose of our state, and belongs to ``out``.
    """
    names = [name for name in ("X", "A", "B", "C", "S0") if name in arrays]
    given = {name: arrays[name].clone().requires_grad_() for name in names}
    v, decay, k, q = (given[name].transpose(1, 2) for name in "XABC")
    chunk = int(arrays["chunk_size"]) if "chunk_size" in arrays else 5
    runs = []
    for backend, size in (("loop", None), ("chunks", chunk), ("chunks", None), ("auto", None)):
        run: Arrays = {}
        start = given["S0"].squeeze(1).mT if "S0" in given else None
        for ending, state in (("", start), ("_nostate", None)):
            o, s = matrix_recurrence(q, k, v, log_decay=decay, state=state, backend=backend, chunk=size)
            run[f"out{ending}"], run["final_state" if ending == "" else "final_nostate"] = o.transpose(1, 2), s.mT
        runs.append(with_gradients(arrays, run, **given))
    return furthest(runs, arrays)


FAMILIES = {
    "linear_attention": attention,
    "delta_rule": partial(memory, heads_first=True),
    "gated_delta_rule": partial(memory, heads_first=False),
    "gla": partial(memory, heads_first=False),
    "ssd": ssd,
}
SEQUENCES = {"q", "k", "v", "beta", "log_alpha", "S0", "chunk_size"}
INPUTS = {"linear_attention": {"q", "k", "v", "eps"}, "ssd": {"X", "A", "B", "C", "S0", "chunk_size"}}
INPUTS |= {"delta_rule": SEQUENCES, "gated_delta_rule": SEQUENCES, "gla": SEQUENCES}
