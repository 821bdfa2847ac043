"""The encoder-decoder equals a plain loop, and how it starts; padding and leaks are in test_contract.py."""

import pytest
import torch
from reference.plain_loops import gru_step, run
from support.compare import furthest, random_parameters
from support.helpers import drawn
from torch import nn

from rtx_lib.models.seq2seq import Seq2Seq

pytestmark = pytest.mark.usefixtures("double")

SOURCES, TARGETS, H = 9, 8, 5
ATTENTIONS = [None, "additive", "dot"]
SENTENCES = [[3, 1, 4, 1, 5, 8, 2], [6], [5, 3, 5], [8, 7, 1, 8, 2, 8, 1]]


def make(attention, seed=0):
    """A model with weights so large that every part of it shows in the output."""
    return random_parameters(drawn(seed, Seq2Seq, SOURCES, TARGETS, width=4, hidden_size=H, attention=attention))


def batch(size=9):
    """The sentences, padded to a size beyond the longest, and random target ids."""
    source = torch.tensor([sentence + [0] * (size - len(sentence)) for sentence in SENTENCES])
    return source, torch.randint(TARGETS, (4, 6), generator=torch.Generator().manual_seed(1))


def plain_logits(model, sentence, target, kind):
    """The model's equations for one sentence (S,) without padding, word by word."""

    def read(encoder, x):
        return run(gru_step("after", "keeps"), dict(encoder.named_parameters()), x, x.new_zeros(1, 1, H))[0][0]

    x = model.source_embedding.weight[sentence].unsqueeze(0)
    forward, backward = read(model.forward_encoder, x), read(model.backward_encoder, x.flip(1)).flip(0)
    annotations = torch.cat([forward, backward], dim=1)  # (S, 2H)
    s = torch.tanh(model.first.weight @ backward[0])
    cell = [getattr(model.decoder, f"{name}_l0") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
    logits = []
    for y in target:
        c = torch.cat([forward[-1], backward[0]])
        if kind is not None:
            query, keys = model.attention.query.weight @ s, annotations @ model.attention.key.weight.T
            if kind == "additive":
                e = torch.stack([model.attention.score.weight[0] @ torch.tanh(query + key) for key in keys])
            else:
                e = torch.stack([query @ key / H**0.5 for key in keys])
            c = sum(a * h for a, h in zip(e.exp() / e.exp().sum(), annotations, strict=True))
        embedded = model.target_embedding.weight[y]
        (state,) = gru_step("after", "keeps")(*cell, torch.cat([embedded, c]).unsqueeze(0), s.unsqueeze(0))
        s = state[0]
        logits.append(model.readout.weight @ torch.cat([s, c, embedded]) + model.readout.bias)
    return torch.stack(logits)


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_equals_the_equations_word_by_word(attention):
    model, (source, target) = make(attention), batch()
    ours = model((source, target))[0]
    theirs = torch.stack(
        [plain_logits(model, torch.tensor(words), ids, attention) for words, ids in zip(SENTENCES, target, strict=True)]
    )
    assert furthest(ours, theirs, model.parameters()) < 1e-12


def test_initial_weights_follow_their_rule():
    model = drawn(0, Seq2Seq, 50, 60, width=30, hidden_size=40, attention="additive")
    for table in (model.source_embedding, model.target_embedding):
        assert abs(float(table.weight.detach().std()) - 1) < 0.1
    linear = [module for module in model.modules() if isinstance(module, nn.Linear)]
    assert len(linear) == 5
    for layer in linear:
        bound = layer.in_features**-0.5
        assert 0.9 * bound < layer.weight.detach().abs().max() <= bound
