"""An adaptive softmax and the tables for the input that fit it, as the reference values of Transformer-XL ask for them.

E. Grave et al., 2017 (arXiv 1609.04309), A. Baevski and M. Auli, 2019 (arXiv 1809.10853). Cut-offs divide the ids into
clusters. Cluster i has a table (V_i, E_i), E_i = E // divide^i, and a projection (D, E_i), unless all are D wide.
"""

from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_lib.models.transformer_xl import TransformerXL


class Clusters(nn.Module):
    """The tables and projections."""

    def __init__(self, vocabulary: int, width: int, cutoffs: list[int], size: int, divide: int) -> None:
        super().__init__()
        self.clusters = [(a, b - a) for a, b in pairwise((0, *cutoffs, vocabulary))]
        self.projected = divide > 1 or size != width
        self.tables = nn.ParameterList(torch.zeros(n, size // divide**i) for i, (_, n) in enumerate(self.clusters))
        projections = (torch.zeros(width, table.shape[1]) for table in self.tables if self.projected)
        self.projections = nn.ParameterList(projections)


class AdaptiveEmbedding(Clusters):
    """The vectors of ids."""

    def forward(self, ids: Tensor) -> Tensor:
        """The vectors (B, T, D) of ids (B, T)."""
        pairs = zip(self.tables, self.projections, strict=True)
        return F.embedding(ids, torch.cat([t @ p.T for t, p in pairs] if self.projected else list(self.tables)))


class AdaptiveSoftmax(Clusters):
    """p(w) = p_0(w), or p_0(cluster i) p_i(w) for an id of a later cluster i, of which each is an entry of p_0."""

    def __init__(self, *sizes: Any) -> None:
        super().__init__(*sizes)
        self.biases = nn.ParameterList(torch.zeros(n) for _, n in self.clusters)
        self.cluster_weight = nn.Parameter(torch.zeros(len(self.clusters) - 1, self.tables[0].shape[1]))
        self.cluster_bias = nn.Parameter(torch.zeros(len(self.clusters) - 1))

    def forward(self, h: Tensor) -> Tensor:
        """log p of all ids, (..., V), after h (..., D)."""
        weight, bias = torch.cat([self.tables[0], self.cluster_weight]), torch.cat([self.biases[0], self.cluster_bias])
        words, clusters = self.log_p(0, h, weight, bias).tensor_split([len(self.tables[0])], dim=-1)
        later = enumerate(clusters.split(1, dim=-1) if len(self.tables) > 1 else [], start=1)
        return torch.cat([words, *(p + self.log_p(i, h, self.tables[i], self.biases[i]) for i, p in later)], dim=-1)

    def log_p(self, i: int, h: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """Within one cluster."""
        return F.linear(h @ self.projections[i] if self.projected else h, weight, bias).log_softmax(-1)


class AdaptiveTransformerXL(TransformerXL):
    """Transformer-XL between the two: y are log-probabilities."""

    def __init__(self, vocabulary: int, cutoffs: list[int], size: int, divide: int, *, width: int, **how: Any) -> None:
        super().__init__(width, 1, width=width, **how)  # with ends that the next lines replace
        self.embedding = AdaptiveEmbedding(vocabulary, width, cutoffs, size, divide)
        self.readout = AdaptiveSoftmax(vocabulary, width, cutoffs, size, divide)

    def embed(self, x: Tensor) -> Tensor:
        """The first layer's input (B, T, D)."""
        return self.embedding(x) * self.width**0.5
