"""The memory networks among the reference values: their tables, and one pass with its summed loss."""

import torch
import torch.nn.functional as F
from torch import Tensor

from rtx_lib.diagnostics.attention import record_attention
from rtx_lib.models.memory_network import MemoryNetwork, position_encoding

Arrays = dict[str, Tensor]


def memory_network(arrays: Arrays) -> Arrays:
    """Any number of hops, sizes and either encoding, with linear start or without.

    The gradient is that of the tables with the row of no word, which our parameters leave out.
    """
    given = {name.removeprefix("p/"): value.double() for name, value in arrays.items() if name.startswith("p/")}
    tables = given.pop("tables")
    vocabulary, slots, sentence = int(arrays["vocabulary"]), int(arrays["memory_size"]), arrays["story"].shape[2] - 1
    sizes = {"sentence_length": sentence, "memory_size": slots, "width": tables.shape[2], "hops": len(tables) - 1}
    encoding = "bag" if arrays["bow"] else "position"
    model = MemoryNetwork(vocabulary, **sizes, encoding=encoding, linear_steps=int(arrays["linear_start"])).double()
    if tables[:, 0].any():
        raise ValueError(f"path must hold tables with 0 for no word, got {tables[:, 0].tolist()}")
    model.load_state_dict({"words": tables[:, 1:], "steps": torch.tensor(0)} | given)
    tables = model.tables.detach().requires_grad_()
    with record_attention(model) as recorded:
        logits = model.read(tables, arrays["story"], arrays["question"])
    loss = F.cross_entropy(logits, arrays["target"], reduction="sum")
    outcomes = {"attention": torch.cat([weights for _, weights in recorded], dim=1).transpose(0, 1)}
    outcomes |= {"probabilities": logits.softmax(-1), "loss": loss}
    outcomes["g/tables"] = torch.autograd.grad(loss, tables, retain_graph=True)[0]
    if not arrays["bow"]:
        outcomes["position_encoding"] = position_encoding(sentence + 1, tables.shape[2], like=tables)
    return outcomes


FAMILIES = {"memn2n": memory_network}
INPUTS = {"memn2n": {"story", "question", "target", "sentences", "vocabulary", "memory_size", "linear_start", "bow"}}
