"""The two ends of a Transformer: from ids or floats to vectors, and from vectors to logits or floats."""

import math

import torch
from torch import Tensor, nn

from .blocks import xavier_linear
from .stacking import check_sequence, check_sizes


def input_layer(
    input_size: int, width: int, *, vocabulary: int | None, bias: bool, generator: torch.Generator | None
) -> nn.Embedding | nn.Linear:
    """A table (V, D) from N(0, 1/D) for ids, or without a vocabulary a linear map for floats."""
    check_sizes(input_size=input_size, width=width, vocabulary=1 if vocabulary is None else vocabulary)
    if vocabulary is None:
        return xavier_linear(input_size, width, bias=bias, generator=generator)
    table = torch.empty(vocabulary, width).normal_(0, 1 / math.sqrt(width), generator=generator)
    return nn.Embedding.from_pretrained(table, freeze=False)


def readout_layer(
    embedding: nn.Embedding | nn.Linear,
    width: int,
    output_size: int | None,
    *,
    tied: bool,
    bias: bool,
    generator: torch.Generator | None,
) -> nn.Module:
    """A linear map, with the table of the ids for its matrix and no bias if tied; nothing without an output_size."""
    if tied and not (isinstance(embedding, nn.Embedding) and embedding.num_embeddings == output_size):
        raise ValueError(f"tied must be False unless vocabulary = output_size = {output_size}, got True")
    if output_size is None:
        return nn.Identity()
    check_sizes(output_size=output_size)
    if not tied:
        return xavier_linear(width, output_size, bias=bias, generator=generator)
    readout = nn.Linear(width, output_size, bias=False, device="meta")  # no weights of its own
    readout.weight = embedding.weight
    return readout


def embed(layer: nn.Embedding | nn.Linear, x: Tensor) -> Tensor:
    """x (B, T, D) of floats (B, T, input_size), or of ids (B, T): sqrt(D) times their rows of the table.

    That factor is in Vaswani et al. (2017), section 3.4.
    """
    if isinstance(layer, nn.Linear):
        check_sequence(x, layer.in_features, layer.weight)
        return layer(x)
    check_ids("x", x, layer.num_embeddings)
    return layer(x) * math.sqrt(layer.embedding_dim)


def at_hand(x: Tensor) -> bool:
    """Whether values can be looked at without waiting for a device or breaking a compiled graph."""
    return x.device.type == "cpu" and not torch.compiler.is_compiling()


def check_ids(name: str, x: object, vocabulary: int) -> None:
    """Raise ``ValueError`` unless x holds ids (B, T) below the vocabulary, B and T at least 1.

    Whether they are below it is looked up where the values are at hand.
    """
    if not isinstance(x, Tensor) or x.dtype not in (torch.int64, torch.int32) or x.ndim != 2 or not x.numel():
        got = f"{x.dtype} of shape {tuple(x.shape)}" if isinstance(x, Tensor) else type(x).__name__
        raise ValueError(f"{name} must hold ids of shape (B, T), B and T at least 1, got {got}")
    if at_hand(x):
        low, high = (int(end) for end in x.aminmax())
        if low < 0 or high >= vocabulary:
            raise ValueError(f"{name} must hold ids from 0 to {vocabulary - 1}, got {low if low < 0 else high}")
