"""Retention: its loop, what the authors' scales make of them, and a state without positions."""

import pytest
import torch
from reference.official_retnet import FORMS, published_scale
from support.compare import draw, furthest, random_parameters
from support.helpers import drawn, relative_error

from rtx_lib.models.retnet import MultiScaleRetention, log_decays, retention, retention_loop


def arrays(length=41, heads=3):
    return [draw(2, heads, length, size, seed=seed).double().requires_grad_() for seed, size in enumerate((4, 4, 5))]


def test_retention_is_its_loop():
    """From a state and without one: outputs, last states and all gradients."""
    q, k, v = arrays()
    decays, state = log_decays(3, like=q), draw(2, 3, 4, 5, seed=1).double().requires_grad_()
    for start in (None, state):
        inputs = [q, k, v] + ([] if start is None else [state])
        loop = retention_loop(q, k, v, decays.exp(), torch.zeros_like(state) if start is None else start)
        assert furthest(retention(q, k, v, decays, start), loop, inputs) < 1e-10


def test_with_the_authors_scales_the_forms_differ_by_their_epsilon():
    """By some 1e-5 with 1e-6, and by nothing with 0."""
    model = random_parameters(drawn(0, MultiScaleRetention, 8, 2).double())
    x = draw(2, 24, 8).double()
    q, k, v = model.project(x)
    decays = log_decays(2, like=x)
    o = retention(q, k, v, decays)[0]
    scales = {form: published_scale(q, k, v, decays, form=form, chunk=6) for form in FORMS}
    for eps, least, most in ((0.0, 0.0, 1e-13), (1e-6, 1e-7, 1e-3)):
        model.eps = eps
        one, *others = (model.merge(o * scale, x) for scale in scales.values())
        assert all(least <= relative_error(other, one) <= most for other in others)
    assert not any(scale.requires_grad for scale in scales.values())


def test_decays():
    like = torch.zeros(1).double()
    assert log_decays(3, like=like).exp().tolist() == pytest.approx([31 / 32, 63 / 64, 127 / 128], abs=1e-15)


def test_first_weights():
    """Xavier-uniform, those of q, k, v and g smaller by 2^-2.5."""
    model = drawn(0, MultiScaleRetention, 40, value_width=80)
    for name, weight in model.state_dict().items():
        bound = (6 / sum(weight.shape)) ** 0.5 * (1 if name.startswith("out") else 2**-2.5)
        assert 0.95 * bound < weight.abs().max() <= bound


def test_positions_far_out_in_half_precision():
    """Angles are counted in single precision at least."""
    model, x = drawn(0, MultiScaleRetention, 8, 2), draw(1, 600, 8)
    exact = model.double()(x.double())[0]
    assert relative_error(model.bfloat16()(x.bfloat16())[0].double(), exact) < 0.05
