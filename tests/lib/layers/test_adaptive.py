"""The adaptive softmax: torch's own where that can do the same, and probabilities that sum to one."""

import pytest
import torch
from support.compare import ids, random_parameters
from support.helpers import drawn, relative_error
from torch import nn

from rtx_lib.layers.adaptive import AdaptiveEmbedding, AdaptiveSoftmax

pytestmark = pytest.mark.usefixtures("double")


def pair(tied=True, **options):
    options = {"cutoffs": (4, 7), "divide": 2, **options}
    embedding = drawn(0, AdaptiveEmbedding, 12, 8, **options)
    softmax = drawn(1, AdaptiveSoftmax, embedding, tied=tied)
    random_parameters(nn.ModuleList([embedding, softmax]))
    return embedding, softmax


def draw(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


KINDS = [
    {},
    {"cutoffs": ()},
    {"divide": 1},
    {"divide": 1, "cutoffs": (), "embedding_size": 8},
    {"embedding_size": 5, "divide": 1},
    {"cutoffs": (1, 2, 11)},
    {"tied": False},
]


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_probabilities(options):
    _, softmax = pair(**options)
    h, target = draw(3, 4, 8), ids(3, 4, vocabulary=12)
    log_p = softmax(h)
    assert log_p.shape == (3, 4, 12) and relative_error(log_p.exp().sum(-1), torch.ones(())) < 1e-12
    nll = softmax.nll(h, target)
    assert relative_error(nll, -log_p.gather(-1, target[..., None]).squeeze(-1)) < 1e-12
    few = softmax.nll(h, target % 2)  # no target in a later cluster
    assert relative_error(few, -log_p.gather(-1, target[..., None] % 2).squeeze(-1)) < 1e-12


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_vectors_of_ids(options):
    embedding, _ = pair(**options)
    x = torch.arange(12).view(2, 6).flip(1)
    y = embedding(x)
    for (first, count, size), table in zip(embedding.clusters, embedding.tables, strict=True):
        assert table.shape == (count, size)
        i = embedding.clusters.index((first, count, size))
        rows = table @ embedding.projections[i].T if embedding.projected else table
        found = y[(x >= first) & (x < first + count)].flip(0)
        order = x[(x >= first) & (x < first + count)].flip(0)
        assert relative_error(found, rows[order - first] * 8**0.5) < 1e-12
    assert embedding.projected == (options.get("divide", 2) != 1 or options.get("embedding_size", 8) != 8)


def test_what_is_tied():
    embedding, softmax = pair()
    assert all(a is b for a, b in zip(embedding.tables, softmax.tables, strict=True))
    assert [a is b for a, b in zip(embedding.projections, softmax.projections, strict=True)] == [False, True, True]
    apart = pair(tied=False)
    shared = set(map(id, apart[0].parameters())) & set(map(id, apart[1].parameters()))
    assert not shared


def test_a_cluster_without_targets_has_gradient_zero():
    _, softmax = pair(tied=False)
    softmax.nll(draw(2, 3, 8), torch.zeros(2, 3, dtype=torch.long)).sum().backward()
    assert not softmax.tables[1].grad.any() and softmax.tables[0].grad.any() and softmax.cluster_weight.grad.any()


def test_bad_arguments():
    for cutoffs in ((7, 4), (4, 4), (0,), (12,), (2.0,)):
        with pytest.raises(ValueError, match="cutoffs must be rising whole numbers from 1 to 11, got"):
            AdaptiveEmbedding(12, 8, cutoffs)
    with pytest.raises(ValueError, match="divide must leave embedding_size = 8 some width after 2 divisions, got 4"):
        AdaptiveEmbedding(12, 8, (4, 7), divide=4)
    with pytest.raises(ValueError, match="target must hold ids from 0 to 11, got -1"):
        pair()[1].nll(draw(1, 1, 8), torch.full((1, 1), -1))
