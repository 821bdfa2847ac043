"""Large vocabularies: the adaptive softmax, and the tables for the input that fit it.

E. Grave et al., *Efficient softmax approximation for GPUs*, 2017 (arXiv 1609.04309), and A. Baevski and M. Auli,
*Adaptive Input Representations for Neural Language Modeling*, 2019 (arXiv 1809.10853). Ids are in the order of falling
frequency. Cut-offs c_1 < ... < c_n divide them into n + 1 clusters: 0..c_1 - 1 are the frequent ones, and of each
later cluster the vectors may be narrower.
"""

from collections.abc import Sequence
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_lib.shapes import expect, expect_ids


class AdaptiveEmbedding(nn.Module):
    """A table for each cluster, ``tables[i]`` (V_i, E_i), whose rows ``projections[i]`` (D, E_i) brings to D numbers.

    Tables start from N(0, 0.02^2), projections from N(0, 0.01^2).

    Parameters
    ----------
    vocabulary, width
        V and D.
    cutoffs
        c_1 < ... < c_n, from 1 to V - 1; with none there is one cluster.
    embedding_size
        E; D if None.
    divide
        E_i = E // divide^i. With divide = 1 and E = D there are no projections.
    """

    def __init__(
        self, vocabulary: int, width: int, cutoffs: Sequence[int], *, embedding_size: int | None = None, divide: int = 1
    ) -> None:
        super().__init__()
        size = width if embedding_size is None else embedding_size
        self.vocabulary, self.width, self.cutoffs = vocabulary, width, tuple(cutoffs)
        bounds = (0, *self.cutoffs, vocabulary)
        whole = all(isinstance(c, int) and not isinstance(c, bool) for c in self.cutoffs)
        if not whole or any(a >= b for a, b in pairwise(bounds)):
            raise ValueError(f"cutoffs must be rising whole numbers from 1 to {vocabulary - 1}, got {self.cutoffs}")
        if size // divide ** len(self.cutoffs) < 1:
            n = len(self.cutoffs)
            raise ValueError(f"divide must leave embedding_size = {size} some width after {n} divisions, got {divide}")
        # Of each cluster: its first id, the number of its ids, and the width of its vectors.
        self.clusters = [(a, b - a, size // divide**i) for i, (a, b) in enumerate(pairwise(bounds))]
        self.projected = divide > 1 or size != width
        self.tables, self.projections = _weights(self)

    def forward(self, ids: Tensor) -> Tensor:
        """sqrt(D) times the vectors of ids (B, T): (B, T, D)."""
        flat = expect_ids(ids, self.vocabulary).flatten()
        y = self.tables[0].new_zeros(flat.shape[0], self.width)
        for i, (first, count, _) in enumerate(self.clusters):
            rows = ((flat >= first) & (flat < first + count)).nonzero().squeeze(1)
            found = F.embedding(flat[rows] - first, self.tables[i])
            y = y.index_copy(0, rows, F.linear(found, self.projections[i]).to(y.dtype) if self.projected else found)
        return y.view(*ids.shape, -1) * self.width**0.5


class AdaptiveSoftmax(nn.Module):
    """Log-probabilities over the clusters of an :class:`AdaptiveEmbedding` (Grave et al. 2017, section 4)::

        p(w) = p_0(w)                           for an id w of the first cluster
        p(w) = p_0(cluster i) p_i(w)            for an id w of cluster i

    p_0 is a softmax over the first cluster's ids and one entry for each later cluster; p_i one over the ids of cluster
    i. The logits are ``tables[i] projections[i]^T h + biases[i]``; ``cluster_weight`` and ``cluster_bias`` are p_0's
    for the clusters. A loss needs p_i only for the targets in cluster i, which are few.

    ``torch.nn.AdaptiveLogSoftmaxWithLoss`` does the same arithmetic, but cannot share its tables with the input, and
    has no biases in the later clusters and no projection for the first.

    What is not shared starts as there, biases at 0.

    Parameters
    ----------
    embedding
        Says what the clusters are.
    tied
        Whether its tables serve here too, and its projections but the first, as in Transformer-XL for WikiText-103.
    """

    def __init__(self, embedding: AdaptiveEmbedding, *, tied: bool = True) -> None:
        super().__init__()
        self.clusters, self.vocabulary, self.projected = embedding.clusters, embedding.vocabulary, embedding.projected
        self.width = embedding.width
        self.tables, self.projections = _weights(self, embedding if tied else None)
        later, size = len(self.clusters) - 1, self.clusters[0][2]
        self.biases = nn.ParameterList(torch.zeros(count) for _, count, _ in self.clusters)
        self.cluster_weight = nn.Parameter(torch.empty(later, size).normal_(0, 0.02))
        self.cluster_bias = nn.Parameter(torch.zeros(later))

    def forward(self, h: Tensor) -> Tensor:
        """log p of all ids, (..., V), after h (..., D)."""
        count = self.clusters[0][1]
        head = self._head(h)
        tails = [head[..., count + i - 1, None] + self._tail(i, h) for i in range(1, len(self.clusters))]
        return torch.cat([head[..., :count], *tails], dim=-1)

    def nll(self, h: Tensor, target: Tensor) -> Tensor:
        """-log p(target), (B, T), after h (B, T, D)."""
        expect(expect_ids(target, self.vocabulary, "target"), h.shape[:2], "target")
        h, ids = h.flatten(0, 1), target.flatten().long()
        cluster = sum((ids >= first).long() for first, _, _ in self.clusters[1:]) + torch.zeros_like(ids)
        entry = torch.where(cluster == 0, ids, self.clusters[0][1] + cluster - 1)
        log_p = self._head(h).gather(1, entry[:, None]).squeeze(1)
        for i, (first, _, _) in enumerate(self.clusters[1:], start=1):
            rows = (cluster == i).nonzero().squeeze(1)
            of_rows = self._tail(i, h[rows]).gather(1, ids[rows, None] - first).squeeze(1)
            log_p = log_p.index_add(0, rows, of_rows)
        return -log_p.view_as(target)

    def _head(self, h: Tensor) -> Tensor:
        weight = torch.cat([self.tables[0], self.cluster_weight])
        return self._log_softmax(0, h, weight, torch.cat([self.biases[0], self.cluster_bias]))

    def _tail(self, i: int, h: Tensor) -> Tensor:
        return self._log_softmax(i, h, self.tables[i], self.biases[i])

    def _log_softmax(self, i: int, h: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        h = h @ self.projections[i] if self.projected else h
        return F.linear(h, weight, bias).log_softmax(-1)


def _weights(
    of: AdaptiveEmbedding | AdaptiveSoftmax, shared: AdaptiveEmbedding | None = None
) -> tuple[nn.ParameterList, nn.ParameterList]:
    """Tables and projections: new ones or, all but the first projection, those of the input."""
    tables, projections = [], []
    for i, (_, count, size) in enumerate(of.clusters):
        tables.append(torch.empty(count, size).normal_(0, 0.02) if shared is None else shared.tables[i])
        if of.projected:
            theirs = shared.projections[i] if shared is not None and i > 0 else None
            projections.append(torch.empty(of.width, size).normal_(0, 0.01) if theirs is None else theirs)
    return nn.ParameterList(tables), nn.ParameterList(projections)
