"""RG-LRU and its block: documents packed into one sequence, both ways to begin, and numbers at the edge.

That the unit computes what the authors' code computes is tested in tests/reference/test_official.py.
"""

import copy
import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from support.compare import draw, random_parameters
from support.helpers import FIXTURES, drawn, relative_error

from rtx_lib.models.griffin import RGLRU, GriffinBlock, _BoundedRoot, draw_a_param, rg_lru


def made():
    return random_parameters(drawn(0, RGLRU, 6, 2).double())


def test_packed_documents_do_not_see_each_other():
    model = made()
    x = draw(2, 9, 6).double()
    positions = torch.tensor([[0, 1, 2, 3, 0, 1, 2, 0, 1], [0, 0, 1, 2, 3, 4, 5, 6, 7]])
    packed, last = model(x, segment_pos=positions)
    for row, ends in ((0, (0, 4, 7, 9)), (1, (0, 1, 9))):
        for begin, end in pairwise(ends):
            alone = model(x[row : row + 1, begin:end])[0][0]
            assert relative_error(packed[row, begin:end], alone) < 1e-12
    assert relative_error(packed[:, 4:], model(x)[0][:, 4:]) > 1e-3
    first, state = model(x[:, :5], segment_pos=positions[:, :5])  # and in pieces, with their positions
    second, after = model(x[:, 5:], state, segment_pos=positions[:, 5:])
    assert relative_error(torch.cat([first, second], 1), packed) < 1e-12 and torch.equal(after, last)


def test_where_it_begins():
    """On the ring, as 20,000 draws of the original's."""
    theirs = {name: float(value) for name, value in np.load(FIXTURES / "rglru.npz").items() if "init" in name}
    torch.manual_seed(0)
    a = torch.sigmoid(-draw_a_param(20_000))
    ours = {"min": a.min(), "max": a.max(), "mean_square": a.square().mean()}
    for name, value in ours.items():
        assert float(value) == pytest.approx(theirs[f"init_r_{name}"], abs=3e-4 if name != "mean_square" else 1.2e-3)
    squares = torch.sigmoid(-draw_a_param(500_000)).square()
    assert float(squares.mean()) == pytest.approx((0.9**2 + 0.999**2) / 2, abs=4e-4), "even in area, not in radius"
    power = a**8
    assert power.min() == pytest.approx(0.43, abs=0.005) and power.max() == pytest.approx(0.992, abs=0.001)


def test_a_gate_that_shuts_keeps_the_state_and_its_gradient_is_finite():
    """At a_t = 1 the root has no derivative: the code bounds it by 1,000."""
    x = torch.ones(1, 5, 1).double().requires_grad_()
    r = torch.zeros(1, 5, 1).double().requires_grad_()
    h0 = torch.full((1, 1), 0.7).double()
    h = rg_lru(x, r, torch.ones_like(x), torch.zeros(1).double(), h0)
    assert torch.equal(h, h0.expand(1, 5, 1))
    assert all(grad.isfinite().all() for grad in torch.autograd.grad(h.sum(), [x, r]))
    square = torch.tensor([0.0, 1e-9, 0.25], dtype=torch.float64, requires_grad=True)
    slopes = torch.autograd.grad(_BoundedRoot.apply(square).sum(), square)[0]
    assert slopes.tolist() == pytest.approx([1000, 1000, 1.0])
    assert torch.autograd.gradgradcheck(_BoundedRoot.apply, torch.tensor([0.3, 2.0]).double().requires_grad_())


def test_slow_units_in_half_precision_still_forget():
    """The factor 0.999 would be rounded to 1 there: it is computed in single precision."""
    model, x = drawn(0, RGLRU, 6), 1 + draw(2, 1000, 6) / 10
    with torch.no_grad():
        model.a_param.fill_(math.log(math.expm1(-math.log(0.998) / 8)))
        exact = copy.deepcopy(model).double()(x.double())[0]
        assert relative_error(model.bfloat16()(x.bfloat16())[0].double(), exact) < 0.03


def test_the_block_step_by_step():
    """Its figure in the paper: two branches of x, of which one remembers, and their product."""
    model, x = random_parameters(drawn(0, GriffinBlock, 4, 6, heads=2).double()), draw(2, 9, 4).double()
    w, unit = dict(model.named_parameters()), model.rg_lru
    u = torch.nn.functional.pad(x @ w["x_proj.weight"].T + w["x_proj.bias"], (0, 0, 3, 0))
    h, outputs = torch.zeros(2, 6).double(), []
    for t in range(9):
        past = w["conv.bias"] + sum(w["conv.weight"][:, 0, j] * u[:, t + j] for j in range(4))
        r, i = (torch.sigmoid(gate(past)) for gate in (unit.a_gate, unit.input_gate))
        a = torch.exp(-8 * r * torch.nn.functional.softplus(unit.a_param))
        h = a * h + torch.sqrt(1 - a**2) * i * past if t else i * past
        gate = torch.nn.functional.gelu(x[:, t] @ w["gate_proj.weight"].T + w["gate_proj.bias"])
        outputs.append((gate * h) @ w["out_proj.weight"].T + w["out_proj.bias"])
    y, (_, last) = model(x)
    assert relative_error(y, torch.stack(outputs, 1)) < 1e-12 and relative_error(last, h) < 1e-12


@pytest.mark.parametrize("bad", [torch.zeros(2, 8, dtype=torch.int64), torch.zeros(2, 9)])
def test_wrong_positions(bad):
    model = made()
    with pytest.raises(ValueError, match=r"^segment_pos must .* got "):
        model(draw(2, 9, 6).double(), segment_pos=bad)
