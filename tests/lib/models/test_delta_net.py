"""Linear attention and DeltaNet: the equations step by step, one gradient step, and what a sign makes possible."""

import math

import pytest
import torch
import torch.nn.functional as F
from reference.matrix_state_loops import averaged, heads
from support.compare import draw, furthest, random_parameters
from support.helpers import drawn, relative_error

from rtx_lib.kernels import matrix_recurrence
from rtx_lib.models.delta_net import DeltaNet, LinearAttention, linear_attention

FORMS = {
    "DeltaNet": {},
    "signed": {"largest_beta": 2.0, "kernel_size": None},
    "gated": {"decay": "head", "kernel_size": 1},
}
forms = pytest.mark.parametrize("form", FORMS)


def layer(form, width=6, heads=2, **more):
    return random_parameters(drawn(0, DeltaNet, width, heads, **FORMS[form] | more).double())


def by_hand(model, x, options):
    """y (B, T, D) from the weights alone, one head and one step after the other."""
    p, (batch, steps, width) = dict(model.named_parameters()), x.shape
    size = width // model.heads
    mixed = x @ p["qkv.weight"].T
    if (taps := options.get("kernel_size", 4)) is not None:
        before = torch.cat([torch.zeros(batch, taps - 1, 3 * width).double(), mixed], 1)
        sums = [sum(p["conv.weight"][:, 0, j] * before[:, t + j] for j in range(taps)) for t in range(steps)]
        mixed = torch.stack(sums, 1)
        mixed = mixed / (1 + torch.exp(-mixed))
    rows = []
    for b in range(batch):
        outputs = []
        for h in range(model.heads):
            q, k, v = (mixed[b, :, (i * model.heads + h) * size : (i * model.heads + h + 1) * size] for i in range(3))
            q, k = (part / part.square().sum(1, keepdim=True).sqrt() for part in (q, k))
            beta, decay = options.get("largest_beta", 1.0) / (1 + torch.exp(-x[b] @ p["beta.weight"][h])), None
            if "decay" in options:
                decay = -p["A_log"][h].exp() * (1 + (x[b] @ p["step.weight"][h] + p["step_bias"][h]).exp()).log()
            s, read = torch.zeros(size, size).double(), []
            for t in range(steps):
                s = s - beta[t] * torch.outer(k[t], k[t] @ s)
                s = s if decay is None else decay[t].exp() * s
                s = s + beta[t] * torch.outer(k[t], v[t])
                read.append(q[t] @ s / math.sqrt(size))
            o = torch.stack(read)
            outputs.append(p["norm.weight"] * o / (o.square().mean(1, keepdim=True) + 1e-5).sqrt())
        rows.append(torch.cat(outputs, 1))
    return torch.stack(rows) @ p["out.weight"].T


@forms
@pytest.mark.parametrize("backend", ["loop", "chunks", "auto"])
def test_equals_the_equations(form, backend):
    model, x = layer(form, backend=backend), draw(2, 70, 6).double()
    assert furthest(model(x)[0], by_hand(model, x, FORMS[form]), model.parameters()) < 1e-10


@pytest.mark.parametrize("causal", [True, False])
def test_linear_attention_is_an_average_with_weights(causal):
    q, k, v = (draw(2, 3, 40, 4, seed=seed).double() for seed in range(3))
    both, sums = heads(lambda *parts: averaged(*parts, 1e-6), q, k, v)
    o, (s, z) = linear_attention(q, k, v, causal=causal)
    assert relative_error(o, both[:, :, :, 0 if causal else 1]) < 1e-12
    assert relative_error(torch.cat([s, z[..., None]], -1), sums) < 1e-12
    same, _ = linear_attention(q, k, torch.full_like(v, 3.0), causal=causal, eps=0.0)
    assert relative_error(same, torch.full_like(v, 3.0)) < 1e-12, "the weights of a step add up to 1"


def test_linear_attention_to_all_goes_on_from_its_sums():
    q, k, v = (draw(2, 3, 60, 4, seed=seed).double() for seed in range(3))
    everything, _ = linear_attention(q, k, v, causal=False)
    begun = linear_attention(q[:, :, :20], k[:, :, :20], v[:, :, :20])[1]
    tail, _ = linear_attention(q[:, :, 20:], k[:, :, 20:], v[:, :, 20:], begun, causal=False)
    assert relative_error(tail, everything[:, :, 20:]) < 1e-12


def test_the_layer_is_linear_attention_between_two_maps():
    model, x = random_parameters(drawn(0, LinearAttention, 6, 2).double()), draw(2, 30, 6).double()
    parts = (x @ model.qkv.weight.T).view(2, 30, 3, 2, 3).permute(2, 0, 3, 1, 4)
    o, _ = linear_attention(*parts)
    assert relative_error(model(x)[0], o.transpose(1, 2).reshape(2, 30, 6) @ model.out.weight.T) < 1e-12


@pytest.mark.parametrize("backend", ["loop", "chunks"])
def test_mirrors_count_modulo_2_and_fading_memories_do_not(backend):
    """Parity in one number of state: a 1 turns its sign. Over 2,000 bits and more it stays what it is."""
    bits = torch.randint(2, (1, 1, 2000), generator=torch.Generator().manual_seed(0))
    one = torch.ones(1, 1, 2000, 1).double()
    o, _ = matrix_recurrence(one, one, 0 * one, beta=2 * bits.double(), state=one[:, :, :1], backend=backend)
    assert torch.equal(o[0, 0, :, 0], (1 - 2 * (bits.cumsum(2) % 2))[0, 0].double())
    o, _ = matrix_recurrence(one, one, 0 * one, beta=bits.double(), state=one[:, :, :1], backend=backend)
    assert (o >= 0).all()


def test_first_weights_are_the_authors():
    torch.manual_seed(0)
    model = DeltaNet(400, 400, decay="head")
    rate, step = model.A_log.exp(), F.softplus(model.step_bias)
    assert 0 < rate.min() < 0.5 and 15.5 < rate.max() < 16 and rate.mean().item() == pytest.approx(8, abs=0.7)
    assert 0.001 <= step.min() < 0.0011 and 0.09 < step.max() < 0.1001
    assert step.log().mean().item() == pytest.approx(math.log(0.01), abs=0.2)
    bound = 1 / 20
    for name in ("qkv", "beta", "step", "out"):
        weight = getattr(model, name).weight
        assert 0.99 * bound < weight.abs().max() <= bound and getattr(model, name).bias is None
