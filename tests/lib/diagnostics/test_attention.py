"""Recording, ablating and narrowing attention, and measures of what counts against finite differences and loops."""

import math
from contextlib import ExitStack

import pytest
import torch
from scipy.stats import kendalltau
from support.helpers import refusals, relative_error
from torch import nn

from rtx_lib.diagnostics import attention as looks
from rtx_lib.layers.attention import MultiHeadAttention, causal_mask

pytestmark = pytest.mark.usefixtures("double")
TOKENS, WIDTH, HEADS = 7, 6, 3


class Toy(nn.Module):
    """Self-attention whose values are the embedded tokens; causal, so that some weights are 0."""

    def __init__(self):
        super().__init__()
        self.query = nn.Linear(WIDTH, WIDTH)
        self.weights_tap = nn.Identity()

    def forward(self, x):
        def split(y):
            return y.unflatten(-1, (HEADS, -1)).transpose(1, 2)

        scores = split(self.query(x)) @ split(x).transpose(2, 3)
        seen = torch.ones(scores.shape[-2:]).tril().bool()
        weights = self.weights_tap(scores.masked_fill(~seen, -torch.inf).softmax(-1))
        return (weights @ split(x)).transpose(1, 2).flatten(2)


class Additive(nn.Module):
    """Weights (B, T, S), without heads."""

    def __init__(self):
        super().__init__()
        self.weights_tap = nn.Identity()

    def forward(self, x):
        return self.weights_tap((x @ x.transpose(1, 2)).softmax(-1)) @ x


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(TOKENS, WIDTH)
        self.blocks = nn.ModuleList([Toy(), Toy()])
        self.reader = Additive()

    def read(self, x):
        for block in self.blocks:
            x = x + block(x)
        return self.reader(x)

    def forward(self, ids):
        return self.read(self.embedding(ids))


@pytest.fixture
def model():
    torch.manual_seed(0)
    return Model()


@pytest.fixture
def ids():
    return torch.tensor([[1, 3, 2, 6, 3], [4, 4, 1, 5, 2]])


def hooks(model):
    return sum(len(module._forward_hooks) for module in model.modules())


# ---- recording


def test_every_call_is_recorded_by_name(model, ids):
    with looks.record_attention(model) as outer:
        y = model(ids)
        with looks.record_attention(model.blocks[1]) as inner:
            model(ids)
        model(ids[:1, :2])
    assert [name for name, _ in outer] == 3 * ["blocks.0", "blocks.1", "reader"]
    assert [tuple(weights.shape) for _, weights in outer[4:7]] == [(2, 3, 5, 5), (2, 5, 5), (1, 3, 2, 2)]
    assert len(inner) == 1 and inner[0][1] is outer[4][1] and inner[0][0] == ""  # an attention by itself has no name
    (gradient,) = torch.autograd.grad(y.square().sum(), outer[0][1])  # the weights belong to the graph
    assert gradient.abs().max() > 0


LOOKS = [
    looks.record_attention,
    lambda model: looks.ablate_heads(model, [0]),
    lambda model: looks.attention_window(model, 2),
]


@pytest.mark.parametrize("look", LOOKS)
def test_hooks_go_away_after_an_error_and_a_model_without_attention_is_refused(model, look):
    with pytest.raises(RuntimeError, match="here"), look(model):
        raise RuntimeError("here")
    assert not hooks(model)
    with pytest.raises(ValueError, match="model must have a submodule named 'weights_tap', Linear has none"):
        look(nn.Linear(2, 2)).__enter__()


# ---- ablation


@pytest.mark.parametrize("recorder_outside", [True, False])
def test_ablation_changes_the_chosen_heads_alone(model, ids, recorder_outside):
    x = torch.randn(2, 5, WIDTH)
    toy = model.blocks[0]
    with looks.record_attention(toy) as plain:
        whole = toy(x)
    with ExitStack() as stack:
        recorded = stack.enter_context(looks.record_attention(toy)) if recorder_outside else None
        stack.enter_context(looks.ablate_heads(toy, [1]))
        recorded = recorded if recorder_outside else stack.enter_context(looks.record_attention(toy))
        y = toy(x)
    weights = recorded[0][1]
    assert not weights[:, 1].any() and torch.equal(weights[:, [0, 2]], plain[0][1][:, [0, 2]])
    assert not y[..., 2:4].any() and torch.equal(y[..., [0, 1, 4, 5]], whole[..., [0, 1, 4, 5]])
    assert not hooks(toy) and torch.equal(toy(x), whole)


def test_a_uniform_head_reads_what_it_may_see_alike():
    toy, x = Toy(), torch.randn(2, 5, WIDTH)
    with looks.ablate_heads(toy, [0, 2], to="uniform"):
        y = toy(x)
    mean = x.cumsum(1) / torch.arange(1, 6).unsqueeze(1)
    assert relative_error(y[..., [0, 1, 4, 5]], mean[..., [0, 1, 4, 5]]) < 1e-12
    assert relative_error(y[..., 2:4], mean[..., 2:4]) > 0.1


def test_ablation_by_name(model, ids):
    with looks.ablate_heads(model, {"blocks.1": [0, 1, 2], "reader": [0]}), looks.record_attention(model) as recorded:
        y = model(ids)
    assert [bool(weights.any()) for _, weights in recorded] == [True, False, False]
    assert not y.any()


def test_a_row_that_sees_nothing_stays_so():
    attention = Additive()
    with looks.ablate_heads(attention, [0], to="uniform"):
        weights = attention.weights_tap(torch.tensor([[[0.0, 0.0], [0.9, 0.1]]]))
    assert weights.tolist() == [[[0, 0], [0.5, 0.5]]]


def ablated(heads, to="zero"):
    with looks.ablate_heads(model := Model(), heads, to=to):
        model(torch.tensor([[1, 3, 2]]))


test_ablation_refuses_bad_arguments = refusals(
    {
        "to must be one of .* got 'mean'": lambda: ablated([0], "mean"),
        r"heads must be one of \['blocks.0', .*'reader'\], got 'blocks.2'": lambda: ablated({"blocks.2": [0]}),
        "heads must be at least 0 and below 3, got -1": lambda: ablated([-1]),
        "heads must be at least 0 and below 3, got 3": lambda: ablated([3]),
    }
)


# ---- by distance


def test_a_window_is_a_mask():
    attention = MultiHeadAttention(8, 2)
    x = torch.randn(3, 9, 8)
    with looks.attention_window(attention, 4), looks.record_attention(attention) as seen:
        y, _ = attention(x, causal=True)
    expected, _ = attention(x, mask=causal_mask(9).triu(-3))
    assert torch.allclose(y, expected, atol=1e-14)
    weights = seen[0][1]
    assert (weights.diagonal(-4, -2, -1) == 0).all() and (weights.diagonal(-3, -2, -1) > 0).all()
    assert torch.equal(attention(x, causal=True)[0], attention(x, mask=causal_mask(9))[0])  # nothing is kept


def test_a_window_may_have_keys_far_behind_it():
    attention, distance = MultiHeadAttention(8, 2), torch.arange(9)[:, None] - torch.arange(9)
    x = torch.randn(3, 9, 8)
    with looks.attention_window(attention, 2, far=range(4, 7, 2)):
        y, _ = attention(x, causal=True)
    seen = (distance == 0) | (distance == 1) | (distance == 4) | (distance == 6)
    assert torch.allclose(y, attention(x, mask=seen)[0], atol=1e-14)


def test_the_queries_of_a_window_are_the_last_positions():
    attention = Additive()
    with looks.attention_window(attention, 2):
        weights = attention.weights_tap(torch.full((1, 2, 6), 1 / 6))
    assert weights[0].tolist() == [[0, 0, 0, 1 / 3, 1 / 3, 1 / 3], [0, 0, 0, 0, 1 / 2, 1 / 2]]


def test_weight_by_distance_is_the_loop():
    weights = torch.rand(2, 7, 7)
    expected = [sum(weights[:, i, i - d] for i in range(3, 7)) / 4 for d in range(3)]
    assert relative_error(looks.weight_by_distance(weights, 3), torch.stack(expected, dim=1)) < 1e-14


# ---- saliency


def test_saliency_is_the_norm_of_the_gradient_with_respect_to_what_is_embedded(model):
    ids = torch.tensor([[1, 3, 2, 3], [4, 5, 1, 2]])  # one token twice: the table's gradient is another
    seen = looks.gradient_saliency(lambda: model(ids)[:, -1].sin().sum(-1), model.embedding)
    e = model.embedding(ids).detach()
    expected = torch.autograd.functional.jacobian(lambda e: model.read(e)[:, -1].sin().sum(), e)
    assert relative_error(seen, expected.norm(dim=-1)) < 1e-12


def test_saliency_leaves_nothing_behind(model, ids):
    model.embedding.weight.requires_grad_(False)
    with torch.no_grad():
        first = looks.gradient_saliency(lambda: model(ids).sum(), model.embedding)
    assert first.shape == ids.shape and (first > 0).all() and not first.requires_grad
    assert all(p.grad is None for p in model.parameters()) and not hooks(model)
    with pytest.raises(RuntimeError, match="here"):
        looks.gradient_saliency(lambda: (_ for _ in ()).throw(RuntimeError("here")), model.embedding)
    assert not hooks(model)


def test_a_token_that_does_not_count_has_saliency_zero(model, ids):
    seen = looks.gradient_saliency(lambda: model.blocks[0](model.embedding(ids))[:, 2].sum(), model.embedding)
    assert (seen[:, :3] > 0).all() and not seen[:, 3:].any()
    other = nn.Parameter(torch.ones(()))
    assert not looks.gradient_saliency(lambda: (model.embedding(ids), other)[1], model.embedding).any()


# ---- leaving one out


@pytest.mark.parametrize("batch", [1, 2, 9])
def test_leave_one_out_runs_the_model_twice(model, batch):
    ids = torch.tensor([[1, 3, 2, 3, 6]])  # one token twice, which is left out once at a time
    seen = looks.leave_one_out(lambda x: model(x)[:, -1].sin().sum(-1), ids, 0, batch=batch)
    others = [ids.index_fill(1, torch.tensor([s]), 0) for s in range(5)]
    expected = torch.stack([(model(ids)[0, -1].sin() - model(x)[0, -1].sin()).sum() for x in others])
    assert relative_error(seen, expected) < 1e-12


def test_scores_of_several_numbers_and_bare_numbers(model, ids):
    sentence = ids[:1].clone()
    several = looks.leave_one_out(lambda x: model(x)[..., 0], sentence, 0, batch=3)
    assert several.shape == (5, 5)  # token left out, place in the output
    bare = looks.leave_one_out(lambda x: model(x)[0, 3, 0], sentence, 0)
    assert relative_error(bare, several[:, 3]) < 1e-12
    assert torch.equal(sentence, ids[:1])


def test_rank_agreement_is_a_mean_of_means():
    maps = [torch.rand(n, 5) for n in (2, 4, 3)]
    others = [torch.rand_like(m) for m in maps]
    both = zip(maps, others, strict=True)
    by_hand = [sum(kendalltau(a, b).statistic for a, b in zip(m, o, strict=True)) / len(m) for m, o in both]
    mean, half = looks.rank_agreement(maps, others)
    assert mean == pytest.approx(sum(by_hand) / 3)
    assert half == pytest.approx(1.96 * torch.tensor(by_hand).std().item() / math.sqrt(3))
    mean, half = looks.rank_agreement(maps[:1], maps[:1])
    assert mean == pytest.approx(1) and math.isnan(half)
    for wrong in (others[:2], [m.T for m in others]):
        with pytest.raises(ValueError, match=r"shorter|longer|shape"):
            looks.rank_agreement(maps, wrong)


ONE, LAYER = torch.ones(1, 5).long(), nn.Embedding(3, 2)
NOTHING, TWICE = lambda x: torch.zeros(1), lambda: (LAYER(ONE) + LAYER(ONE)).sum()
test_what_is_refused = refusals(
    {
        "weights must": lambda: looks.weight_by_distance(torch.rand(2, 3), 1),
        "first must be at least 1 and below 3, got 3": lambda: looks.weight_by_distance(torch.rand(3, 3), 3),
        "first must be at least 1 and below 3, got 0": lambda: looks.weight_by_distance(torch.rand(3, 3), 0),
        "embedding must be called once, it was called 0 times": lambda: looks.gradient_saliency(ONE.sum, LAYER),
        "embedding must be called once, it was called 2 times": lambda: looks.gradient_saliency(TWICE, LAYER),
        r"ids must have shape \(1, S\)": lambda: looks.leave_one_out(NOTHING, ONE.expand(2, -1), 0, batch=1),
        r"score must have shape \(2,\), got \(1,\)": lambda: looks.leave_one_out(NOTHING, ONE, 0, batch=2),
    }
)
