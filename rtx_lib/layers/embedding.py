"""The two ends of a Transformer: from ids or floats to vectors, and from vectors to logits or floats."""

import math

import torch
from torch import Tensor, nn

from rtx_lib.shapes import expect, expect_ids

from .blocks import undrawn, xavier_linear


def table(vocabulary: int, width: int, std: float) -> nn.Embedding:
    """A table (V, D) for ids, from N(0, std^2)."""
    return nn.Embedding.from_pretrained(torch.empty(vocabulary, width).normal_(0, std), freeze=False)


def input_layer(input_size: int, width: int, *, vocabulary: int | None, bias: bool = True) -> nn.Embedding | nn.Linear:
    """A table (V, D) from N(0, 1/D) for ids, or without a vocabulary a linear map for floats."""
    if vocabulary is None:
        return xavier_linear(input_size, width, bias=bias)
    return table(vocabulary, width, width**-0.5)


def readout_layer(
    embedding: nn.Embedding | nn.Linear, width: int, output_size: int | None, *, tied: bool, bias: bool = True
) -> nn.Module:
    """A linear map, with the table of the ids for its matrix and no bias if tied; nothing without an output_size."""
    if tied and not (isinstance(embedding, nn.Embedding) and embedding.num_embeddings == output_size):
        raise ValueError(f"tied must be False unless vocabulary = output_size = {output_size}, got True")
    if output_size is None:
        return nn.Identity()
    if not tied:
        return xavier_linear(width, output_size, bias=bias)
    readout: nn.Linear = undrawn(nn.Linear, width, output_size, bias=False)
    readout.weight = embedding.weight
    return readout


def embed(layer: nn.Embedding | nn.Linear, x: Tensor) -> Tensor:
    """x (B, T, D) of floats (B, T, input_size), or of ids (B, T): sqrt(D) times their rows of the table.

    That factor is in Vaswani et al. (2017), section 3.4.
    """
    if isinstance(layer, nn.Linear):
        return layer(expect(x, ("B", "T", layer.in_features), like=layer.weight))
    return layer(expect_ids(x, layer.num_embeddings)) * math.sqrt(layer.embedding_dim)
