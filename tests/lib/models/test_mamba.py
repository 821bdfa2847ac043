"""Mamba and Mamba-2: the blocks step by step, the gate that remains of one state, signs, and the first weights."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from reference.xlstm_loops import convolve
from support.compare import draw, furthest, random_parameters
from support.helpers import FIXTURES, drawn, relative_error

from rtx_lib.kernels import selective_scan
from rtx_lib.models.mamba import Mamba, TimeInvariantMamba, first_steps
from rtx_lib.models.mamba2 import Mamba2

OPTIONS = [{}, {"kernel_size": None}, {"discretisation": "zoh", "kernel_size": 2}]
OPTIONS += [{"eigenvalues": "signed", "expand": 3}, {"kind": TimeInvariantMamba}]
OPTIONS += [{"kind": TimeInvariantMamba, "discretisation": "zoh", "eigenvalues": "signed"}]


def built(kind=Mamba, **options):
    return drawn(0, kind, 3, 4, **options)


def block(model, x):
    """y (B, T, D) and the last h (B, E, N) of the block, step by step."""
    w = dict(model.named_parameters())
    inner, states = w["A_log"].shape
    both = x @ w["in_proj.weight"].T
    u, z = both[..., :inner], both[..., inner:]
    u = F.silu(u if model.conv is None else convolve(u, w["conv.weight"], w["conv.bias"]))
    h, outputs = torch.zeros(len(x), inner, states).double(), []
    for t in range(x.shape[1]):
        if isinstance(model, TimeInvariantMamba):
            delta, B, C = F.softplus(w["dt_bias"]), w["B"], w["C"]
        else:
            low, B, C = (u[:, t] @ w["x_proj.weight"].T).split([model.step_rank, states, states], 1)
            delta = F.softplus(low @ w["dt_proj.weight"].T + w["dt_proj.bias"])
            B, C = B[:, None], C[:, None]
        A = -torch.exp(w["A_log"])
        a = torch.exp(delta[..., None] * A)
        b = (a - 1) / A * B if model.discretisation == "zoh" else delta[..., None] * B
        a = 2 * a - 1 if model.eigenvalues == "signed" else a
        h = a * h + b * u[:, t, :, None]
        y = (h * C).sum(-1) + w["D"] * u[:, t]
        outputs.append((y * F.silu(z[:, t])) @ w["out_proj.weight"].T)
    return torch.stack(outputs, 1), h


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("backend", ["auto", "loop", "scan", "numba"])
def test_the_block_step_by_step(options, backend):
    model = random_parameters(built(**options, backend=backend).double())
    x = draw(2, 30, 3).double().requires_grad_()
    y, (_, h) = model(x)
    assert furthest((y, h), block(model, x), [x, *model.parameters()]) < 1e-10


def test_a_sign_counts_parity():
    """A step size of 0 leaves the state as it is, a large one turns its sign: right at every one of 2,000 steps."""
    bits = torch.randint(2, (1, 2000, 1), generator=torch.Generator().manual_seed(0)).double()
    one, none = torch.ones(1, 1).double(), torch.zeros(1, 1).double()
    start = torch.ones(1, 1, 1).double()
    for backend in ("auto", "loop"):
        options = {"eigenvalues": "signed", "backend": backend}
        y, _ = selective_scan(
            0 * bits, 1000 * bits, -one, none.expand(1, 2000, 1), one.expand(1, 2000, 1), start, **options
        )
        assert torch.equal(y, 1 - 2 * (bits.cumsum(1) % 2))


# ---- Mamba-2


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_a_head_is_a_selective_scan_whose_rates_are_all_alike(groups):
    """Two routes: the matrix state, and S6 with one decay for all states of a head. Neighbours share B and C."""
    model = random_parameters(drawn(0, Mamba2, 4, 4, 3, kernel_size=None, groups=groups).double())
    x = draw(2, 80, 4).double()
    z, X, B, C, v = model.in_proj(x).split([8, 8, groups * 3, groups * 3, 4], -1)
    X, B, C = F.silu(X), F.silu(B), F.silu(C)
    heads = []
    for head in range(4):
        group = head // (4 // groups)
        part, shared = slice(2 * head, 2 * head + 2), slice(3 * group, 3 * group + 3)
        delta = F.softplus(v[..., head : head + 1] + model.dt_bias[head]).expand(-1, -1, 2)
        A = -model.A_log[head].exp().expand(2, 3)
        y = selective_scan(X[..., part], delta, A, B[..., shared], C[..., shared])[0]
        heads.append(y + model.D[head] * X[..., part])
    y = (torch.cat(heads, -1) * F.silu(z)).unflatten(-1, (groups, -1))  # each group has a norm of its own
    y = model.norm.weight * (y / (y.square().mean(-1, keepdim=True) + 1e-5).sqrt()).flatten(2)
    expected = y @ model.out_proj.weight.T
    for backend in ("auto", "loop", "chunks"):
        model.backend = backend
        assert relative_error(model(x)[0], expected) < 1e-12


@pytest.mark.parametrize(
    "build", [lambda: Mamba(4, 3), lambda: Mamba(4, 3, eigenvalues="signed"), lambda: Mamba2(4, 2, 3)]
)
def test_large_inputs_and_many_steps_stay_finite(build):
    torch.manual_seed(0)
    model, x = build(), 100 * draw(1, 3000, 4)
    y, state = model(x)
    y.square().mean().backward()
    assert y.isfinite().all() and all(p.grad.isfinite().all() for p in model.parameters())
    assert all(part.isfinite().all() for part in state)


# ---- where the weights start


def test_rates_and_skip_start_as_in_the_authors_code():
    given = np.load(FIXTURES / "mamba_block.npz")
    inner, states = given["init/A_log"].shape
    model = Mamba(inner // 2, states)
    assert np.abs(model.A_log.detach().numpy() - given["init/A_log"]).max() < 1e-6
    assert np.abs(model.D.detach().numpy() - given["init/D"]).max() < 1e-6


def test_first_steps_are_log_uniform():
    torch.manual_seed(0)
    delta = F.softplus(first_steps(20_000).double())
    assert 0.001 - 1e-9 < delta.min() < 0.00101 and 0.099 < delta.max() < 0.1 + 1e-7
    shares = (delta.log10() + 3) / 2  # uniform in [0, 1]
    for q in (0.25, 0.5, 0.75):
        assert float(shares.quantile(q)) == pytest.approx(q, abs=0.015)


def test_other_weights_start_as_in_the_authors_code():
    model = drawn(0, Mamba, 64, 8)
    assert model.step_rank == 4 and Mamba(65).step_rank == 5 and Mamba(3).step_rank == 1
    bounds = {"in_proj.weight": 64, "x_proj.weight": 128, "out_proj.weight": 128, "dt_proj.weight": 4}
    bounds |= {"conv.weight": 4, "conv.bias": 4}
    weights = dict(model.named_parameters())
    for name, inputs in bounds.items():
        bound = inputs**-0.5
        assert 0.9 * bound < weights[name].abs().max() <= bound and weights[name].mean().abs() < bound / 5
    steps = F.softplus(weights["dt_proj.bias"])
    assert 0.00099 < steps.min() < 0.005 and 0.05 < steps.max() < 0.101
    two = drawn(0, Mamba2, 64, 64, 8)
    rates = two.A_log.exp()
    assert 1 <= rates.min() < 3 and 13 < rates.max() <= 16 and two.D.eq(1).all() and two.norm.weight.eq(1).all()
    assert 0.00099 < F.softplus(two.dt_bias).min() < 0.005
    fixed = drawn(0, TimeInvariantMamba, 64, 8)
    assert fixed.B.eq(1).all() and float(fixed.C.detach().std()) == pytest.approx(1, abs=0.1)
