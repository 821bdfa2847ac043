"""Multi-head attention with every position scheme: both paths alike, and each scheme where it should act."""

import pytest
import torch
from support.helpers import relative_error

from rtx_lib.layers import SCHEMES, MultiHeadAttention, dot_product_attention, make_positions

pytestmark = pytest.mark.usefixtures("double")

WIDTH, HEADS = 12, 3
every_scheme = pytest.mark.parametrize("scheme", SCHEMES)


def make(scheme, causal=True, seed=0):
    """Attention with the scheme and a function that runs both, with parameters that are far from small."""
    torch.manual_seed(seed)
    scheme = make_positions(scheme, width=WIDTH, heads=HEADS, clip=2, causal=causal)
    attention = MultiHeadAttention(WIDTH, HEADS, positions=scheme)
    with torch.no_grad():
        for parameter in attention.parameters():
            parameter.normal_(0, 0.7)

    def run(x, cache=None, mask=None):
        if hasattr(scheme, "embed"):
            x = scheme.embed(x, 0 if cache is None else cache[0].shape[2])
        return attention(x, causal=causal, cache=cache, mask=mask)

    return attention, run


def draw(time, seed=0):
    return torch.randn(2, time, WIDTH, generator=torch.Generator().manual_seed(seed)).requires_grad_()


def watch(attention):
    """A hook that changes nothing, so that the weights are computed in the open; it keeps them."""
    seen = []
    attention.weights_tap.register_forward_hook(lambda module, inputs, weights: seen.append(weights))
    return seen


@every_scheme
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_both_paths_agree(scheme, causal, masked):
    mask = torch.rand(2, 1, 7, 7, generator=torch.Generator().manual_seed(8)) > 0.4 if masked else None
    results = []
    for watched in (False, True):
        attention, run = make(scheme, causal, seed=5)
        seen = watch(attention) if watched else []
        x = draw(7, 6)
        y = run(x, mask=mask)[0]
        assert len(seen) == watched
        parameters = [p for p in attention.parameters() if torch.autograd.grad(y.sum(), p, retain_graph=True)[0].any()]
        results.append([y, *torch.autograd.grad(y.sin().sum(), [x, *parameters])])
    assert max(relative_error(a, b) for a, b in zip(*results, strict=True)) < 1e-12


@every_scheme
def test_the_scheme_enters_where_it_should(scheme):
    """Attention put together by hand from the scheme's methods gives the same."""
    attention, run = make(scheme)
    x, positions = draw(5), attention.positions
    y, _ = run(x)
    z = positions.embed(x) if hasattr(positions, "embed") else x
    z = torch.nn.functional.linear(z, attention.in_proj_weight, attention.in_proj_bias)
    q, k, v = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in z.chunk(3, dim=-1))
    if hasattr(positions, "rotate"):
        q, k = positions.rotate(q, k, 0)
    bias = positions.score_bias(q, k, 0) if hasattr(positions, "score_bias") else None
    out, weights = dot_product_attention(q, k, v, mask=torch.ones(5, 5, dtype=torch.bool).tril(), bias=bias)
    if hasattr(positions, "value_bias"):
        out = out + positions.value_bias(weights)
    assert relative_error(attention.out_proj(out.transpose(1, 2).flatten(2)), y) < 1e-12


@every_scheme
def test_what_stands_hidden_in_front_moves_only_the_absolute_schemes(scheme):
    _, run = make(scheme)
    x = draw(6)
    mask = torch.ones(10, 10, dtype=torch.bool)
    mask[:, :4] = False
    moved = run(torch.cat([draw(4, 3), x], dim=1), mask=mask)[0][:, 4:]
    difference = relative_error(moved, run(x)[0])
    assert difference < 1e-12 if scheme not in ("sinusoidal", "learned") else difference > 1e-3


@every_scheme
def test_without_a_mask_only_no_scheme_at_all_sees_a_set(scheme):
    _, run = make(scheme, causal=False)
    x, order = draw(6), torch.tensor([3, 0, 5, 1, 4, 2])
    difference = relative_error(run(x[:, order])[0], run(x)[0][:, order])
    assert difference < 1e-12 if scheme == "none" else difference > 1e-3


@every_scheme
@pytest.mark.parametrize("watched", [False, True])
def test_bfloat16_autocast(scheme, watched):
    attention, run = make(scheme)
    if watched:
        watch(attention)
    x = draw(6)
    exact = run(x)[0]
    attention.float()
    with torch.autocast("cpu", torch.bfloat16):
        y = run(x.float())[0]
    y.float().square().sum().backward()
    assert relative_error(y.double(), exact) < 0.1
    assert all(p.grad is not None and p.grad.isfinite().all() for p in attention.parameters() if p.requires_grad)
