"""Retention: three forms of one function, what the authors' scales make of them, and a state without positions."""

import pytest
import torch
from reference.official_retnet import published_scale
from support.compare import draw, furthest, random_parameters
from support.helpers import drawn, relative_error

from rtx_lib.models.retnet import FORMS, MultiScaleRetention, decay_matrix, log_decays, retention

forms = pytest.mark.parametrize("form", FORMS)


def arrays(length=41, heads=3):
    return [draw(2, heads, length, size, seed=seed).double().requires_grad_() for seed, size in enumerate((4, 4, 5))]


@forms
def test_three_forms_are_one_function(form):
    """From a state and without one: outputs, last states and all gradients."""
    q, k, v = arrays()
    decays, state = log_decays(3, like=q), draw(2, 3, 4, 5, seed=1).double().requires_grad_()
    for start in (None, state):
        inputs = [q, k, v] + ([] if start is None else [state])
        ours = retention(q, k, v, decays, start, form=form)
        assert furthest(ours, retention(q, k, v, decays, start, form="recurrent"), inputs) < 1e-10


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
    matrix = decay_matrix(torch.tensor([0.5, 0.25]).double().log(), 3)
    expected = [[1, 0, 0], [0.5, 1, 0], [0.25, 0.5, 1]]
    assert torch.allclose(matrix[0], torch.tensor(expected).double()) and float(matrix[1, 2, 0]) == pytest.approx(
        1 / 16
    )
    assert decay_matrix(torch.tensor([-40.0]), 100).isfinite().all()


def test_first_weights():
    """Xavier-uniform, those of q, k, v and g smaller by 2^-2.5."""
    model = drawn(0, MultiScaleRetention, 40, value_width=80)
    for name, weight in model.state_dict().items():
        bound = (6 / sum(weight.shape)) ** 0.5 * (1 if name.startswith("out") else 2**-2.5)
        assert 0.95 * bound < weight.abs().max() <= bound


def test_positions_far_out_in_half_precision():
    """Angles are counted in single precision at least."""
    model, x = drawn(0, MultiScaleRetention, 8, 2, form="recurrent"), draw(1, 600, 8)
    exact = model.double()(x.double())[0]
    assert relative_error(model.bfloat16()(x.bfloat16())[0].double(), exact) < 0.05
