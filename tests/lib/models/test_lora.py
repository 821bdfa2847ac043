"""LoRA: a start that changes nothing, the formula matrix by matrix, what is trained, and the merged model."""

import pytest
import torch
from support.helpers import drawn, refusals, relative_error
from torch import nn

from rtx_lib.layers import MultiHeadAttention
from rtx_lib.models import BERT, TransformerXL
from rtx_lib.models.lora import add_lora, merge_lora

pytestmark = pytest.mark.usefixtures("double")

IDS = torch.tensor([[1, 4, 2, 3], [5, 2, 0, 0]])


def build():
    return drawn(0, BERT, 6, width=8, heads=2, layers=2, length=5)


def moved(model):
    """The model with products that are not 0."""
    for name, parameter in model.named_parameters():
        if name.endswith(".B"):
            nn.init.normal_(parameter)
    return model


@pytest.mark.parametrize("key_heads", [4, 2])
def test_each_matrix_has_a_product_of_its_own(key_heads):
    """W_Q and W_V change by rank r and no more, W_K not at all, also where it has fewer rows than W_Q."""
    attention = drawn(0, MultiHeadAttention, 8, 4, key_heads=key_heads)
    before, rows = attention.in_proj_weight.detach().clone(), 2 * key_heads
    add_lora(attention, 2, alpha=6.0)
    assert torch.equal(attention.in_proj_weight, before)
    moved(attention)
    change = (attention.in_proj_weight - before).split([8, rows, rows])
    lora = attention.parametrizations.in_proj_weight[0]
    for own, part in ((change[0], lora.queries), (change[2], lora.values)):
        assert relative_error(own, 3 * part.B @ part.A) < 1e-12
        assert torch.linalg.matrix_rank(own) == 2
    assert not change[1].any()


def test_what_is_trained():
    """The products and what stands outside; their gradients are those of the matrix, by the chain rule."""
    model = build()
    add_lora(model.encoder, 2, alpha=6.0)
    moved(model)
    trained = {name for name, p in model.encoder.named_parameters() if p.requires_grad}
    assert len(trained) == 2 * 4 and all(name.endswith((".A", ".B")) for name in trained)
    attention = model.encoder.stack.blocks[0].self_attention
    packed = attention.parametrizations.in_proj_weight
    lora, original = packed[0].values, packed.original.requires_grad_(True)
    model(IDS)[0].square().sum().backward()
    slope = original.grad[16:]  # of W_V
    assert relative_error(lora.B.grad, 3 * slope @ lora.A.T) < 1e-12
    assert relative_error(lora.A.grad, 3 * lora.B.T @ slope) < 1e-12


@pytest.mark.parametrize("kinds", [(MultiHeadAttention,), (nn.Embedding,), (MultiHeadAttention, nn.Linear)])
def test_merged_is_the_same_and_has_the_parameters_of_before(kinds):
    model = build()
    names, start = set(model.state_dict()), model(IDS)[0]
    add_lora(model, 2, kinds=kinds)
    assert torch.equal(model(IDS)[0], start)
    changed = moved(model)(IDS)[0]
    merge_lora(model)
    assert relative_error(model(IDS)[0], changed) < 1e-12 < relative_error(start, changed)
    assert set(model.state_dict()) == names
    build().load_state_dict(model.state_dict())


TIED = {"width": 8, "heads": 2, "layers": 1, "memory": 3, "vocabulary": 6}
REFUSED = {
    "rank must be at least 1, got 0": lambda m: add_lora(m, 0),
    "alpha must be above 0 and finite, got 0": lambda m: add_lora(m, 1, alpha=0),
    "kinds must be of modules": lambda m: add_lora(TransformerXL(6, 6, **TIED), 1, kinds=(nn.Embedding,)),
    "model must have a module of kind MultiHeadAttention, got Linear": lambda m: add_lora(nn.Linear(2, 2), 1),
}
test_what_is_refused = refusals(REFUSED, build)
