"""Blocks and stacks equal torch.nn's layers, forwards and backwards, and themselves with a cache."""

import math

import pytest
import torch
from support.compare import draw, furthest, random_parameters
from support.helpers import drawn, refusals
from torch import nn

from rtx_lib.layers import SCHEMES, Block, FeedForward, SampleStdNorm, Stack

pytestmark = pytest.mark.usefixtures("double")

NORMS = ("pre", "post")


# Ours and torch.nn's names of the same parameters.
ENCODER = {"self_attention": "self_attn", "feed_forward.": "", "norms.0": "norm1", "norms.1": "norm2"}
DECODER = ENCODER | {"cross_attention": "multihead_attn", "norms.2": "norm3"}


def theirs_of(name, rules):
    for ours, torchs in rules.items():
        name = name.replace(ours, torchs)
    return name


def compare(ours, theirs, rules, y, expected, inputs):
    """Error of outputs and gradients of ours against torch's, whose names follow the rules."""
    named, of_theirs = dict(ours.named_parameters()), dict(theirs.named_parameters())
    assert {theirs_of(name, rules) for name in named} == set(of_theirs)
    return furthest(
        y, expected, [*inputs, *named.values()], [*inputs, *(of_theirs[theirs_of(n, rules)] for n in named)]
    )


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("causal", [True, False])
def test_a_block_equals_torchs_encoder_layer(norm, activation, bias, causal):
    ours = random_parameters(Block(12, 3, inner=7, norm=norm, causal=causal, activation=activation, bias=bias))
    options = {"batch_first": True, "norm_first": norm == "pre", "bias": bias}
    theirs = nn.TransformerEncoderLayer(12, 3, 7, 0.0, activation, **options)
    theirs.load_state_dict({theirs_of(name, ENCODER): value for name, value in ours.state_dict().items()})
    x, hidden = draw(2, 5, 12).requires_grad_(), torch.ones(5, 5).triu(1).bool() if causal else None
    assert compare(ours, theirs, ENCODER, ours(x)[0], theirs(x, hidden), [x]) < 1e-12


@pytest.mark.parametrize("norm", NORMS)
def test_a_block_with_a_memory_equals_torchs_decoder_layer(norm):
    """With padding in the memory, and a mask of the target's own beside the causal one."""
    ours = random_parameters(Block(12, 3, inner=7, norm=norm, causal=True, cross=True))
    theirs = nn.TransformerDecoderLayer(12, 3, 7, 0.0, batch_first=True, norm_first=norm == "pre")
    theirs.load_state_dict({theirs_of(name, DECODER): value for name, value in ours.state_dict().items()})
    x, memory = draw(2, 5, 12).requires_grad_(), draw(2, 4, 12, seed=3).requires_grad_()
    keep = torch.tensor([[True] * 4, [True, True, False, False]])
    seen = torch.ones(5, 5, dtype=torch.bool).tril()
    seen[4, 1] = False
    y, _ = ours(x, mask=seen, memory=memory, memory_mask=keep[:, None, None])
    expected = theirs(x, memory, tgt_mask=~seen, memory_key_padding_mask=~keep)
    assert compare(ours, theirs, DECODER, y, expected, [x, memory]) < 1e-12


@pytest.mark.parametrize("positions", SCHEMES)
def test_each_block_has_its_own_positions_and_an_embedding_acts_once(positions):
    stack = Stack(12, 3, 3, positions=positions, causal=True)
    schemes = [block.self_attention.positions for block in stack.blocks]
    if positions in ("none", "sinusoidal", "learned"):
        assert schemes == [None] * 3 and (stack.positions is None) == (positions == "none")
    else:
        assert stack.positions is None and len({id(scheme) for scheme in schemes}) == 3
    distinct = {id(parameter) for parameter in stack.parameters()}
    assert len(distinct) == len(list(stack.named_parameters(remove_duplicate=False)))


@pytest.mark.parametrize("bias", [True, False])
def test_the_norm_divides_by_n_minus_1_and_epsilon_stands_outside(bias):
    layer, x = random_parameters(SampleStdNorm(3, eps=0.1, bias=bias)), draw(2, 4, 3).requires_grad_()
    mean = x.sum(-1, keepdim=True) / 3
    std = (((x - mean) ** 2).sum(-1, keepdim=True) / 2).sqrt()
    by_hand = (x - mean) / (std + 0.1) * layer.weight + (layer.bias if bias else 0)
    assert furthest(layer(x), by_hand, [x, *layer.parameters()]) < 1e-12
    assert SampleStdNorm(3).eps == 1e-6


def test_the_norm_of_a_constant_is_its_bias():
    layer, x = random_parameters(SampleStdNorm(3)), torch.full((2, 3), 7.0, requires_grad=True)
    y = layer(x)
    y.sum().backward()
    assert torch.equal(y, layer.bias.expand(2, 3)) and x.grad.isfinite().all()


@pytest.mark.parametrize("norm", NORMS)
def test_the_first_weights(norm):
    """Xavier's bound sqrt(6 / (in + out)) is kept and reached; biases are 0 and norms the identity."""
    layer = drawn(0, FeedForward, 64, 200)
    stack = Stack(64, 4, 2, inner=200, norm=norm, cross=True)
    of_stack = {name: p for name, p in stack.named_parameters() if ".weight" in name and p.ndim == 2}
    for name, weight in of_stack.items() | dict(layer.named_parameters()).items():
        if weight.ndim == 2:
            bound = math.sqrt(6 / sum(weight.shape))
            assert 0.99 * bound < weight.abs().max() <= bound, name
    for name, parameter in stack.named_parameters():
        if parameter.ndim == 1:
            assert (parameter == ("norm" in name and "weight" in name)).all(), name
    again = drawn(5, Stack, 64, 4, 2, inner=200, norm=norm, cross=True)
    matrices = [p for p in again.parameters() if p.ndim == 2]
    assert all(not torch.equal(a, b) for i, a in enumerate(matrices) for b in matrices[:i] if a.shape == b.shape)


def test_dropout_acts_on_every_branch_in_training_only():
    block, x, memory = random_parameters(Block(12, 3, cross=True, dropout=0.5)), draw(2, 5, 12), draw(2, 4, 12)
    assert not torch.equal(block(x, memory=memory)[0], block(x, memory=memory)[0])
    block.eval()
    assert torch.equal(block(x, memory=memory)[0], block(x, memory=memory)[0])
    block.train().dropout.p = 1.0
    assert torch.equal(block(x, memory=memory)[0], x), "with everything dropped, only the way around is left"
    layer = random_parameters(FeedForward(12, dropout=0.5)).train()
    layer.dropout.p = 1.0
    assert torch.equal(layer(x), layer.linear2.bias.expand(2, 5, 12))
    stack = Stack(12, 3, 1, norm="post", positions="sinusoidal", dropout=0.5)
    stack.dropout.p = 1.0
    stack.blocks.eval()
    assert torch.equal(stack(x)[0], stack(torch.zeros_like(x) + 3)[0]), "the embedded input is dropped too"


def test_without_bias_nothing_is_added():
    stack = Stack(12, 3, 2, causal=True, cross=True, bias=False, norm_layer=SampleStdNorm)
    assert not any("bias" in name for name, _ in stack.named_parameters())
    assert sum(isinstance(module, SampleStdNorm) for module in stack.modules()) == 7


test_bad_arguments = refusals(
    [
        (lambda: FeedForward(3, activation="swish"), r"activation must be one of \['gelu', 'relu'\], got 'swish'"),
        (lambda: SampleStdNorm(1), "width must be at least 2, got 1"),
        (lambda: Block(12, 3, norm="both"), r"norm must be one of \['pre', 'post'\], got 'both'"),
        (lambda: Block(12, 3, dropout=1.5), "dropout"),
        (lambda: Stack(12, 3, 2, positions="relative"), "positions must be one of .*'sinusoidal'.* got 'relative'"),
        (
            lambda: Block(12, 3, cross=True)(draw(2, 5, 12)),
            "memory must be given if and only if cross is True, got None",
        ),
        (lambda: Block(12, 3)(draw(2, 5, 12), memory=draw(2, 4, 12)), "memory must be .*, got a memory"),
        (lambda: Stack(12, 3, 2, causal=True)(draw(2, 5, 12), mask=torch.ones(5, 5)), "mask must"),
        (lambda: Stack(12, 3, 2, causal=True)(draw(2, 5, 12), mask=torch.ones(4, 5, dtype=torch.bool)), "mask must"),
    ]
)


def test_bad_caches():
    """What no single array tells; the rest is in tests/lib/models/test_contract.py."""
    x, memory = draw(2, 5, 12), draw(2, 4, 12)
    stack, reading = Stack(12, 3, 2, causal=True), Stack(12, 3, 2, causal=True, cross=True)
    _, (entry, (k, v)) = stack(x)
    _, both = reading(x, memory=memory)
    for value, message in [
        ((entry, (k, None)), r"cache\[1\]\[1\] must be a tensor"),
        ((entry, (k[:, :, 1:], v[:, :, 1:])), r"cache\[1\]\[0\] must have shape \(2, 3, 5, 4\), got \(2, 3, 4, 4\)"),
        (both, r"cache\[0\]\[0\] must be a tensor"),
    ]:
        with pytest.raises(ValueError, match=message):
            stack(x, cache=value)
    with pytest.raises(ValueError, match=r"cache\[0\]\[0\] must be a tuple of 2 entries, \(k, v\)"):
        reading(x, memory=memory, cache=(entry, (k, v)))
    with pytest.raises(ValueError, match="must have shape"):
        reading(x, memory=draw(2, 6, 12), cache=both)
