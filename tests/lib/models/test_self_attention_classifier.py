"""The self-attention network for sentiment: padding, positions, and what it attends to.

That it computes what the authors' code computes is tested in tests/reference/test_official.py.
"""

import pytest
import torch
from support.compare import random_parameters
from support.far_device import assert_equal, run, run_far
from support.helpers import drawn, relative_error

from rtx_lib.diagnostics.attention import record_attention
from rtx_lib.models import SelfAttentionClassifier
from rtx_lib.models.self_attention_classifier import POSITIONS

pytestmark = pytest.mark.usefixtures("double")

IDS = torch.tensor([[3, 1, 4, 1, 5, 2], [6, 5, 3, 0, 0, 0], [2, 0, 0, 0, 0, 0]])


def build(positions="none", padding=0):
    options = {"width": 8, "heads": 2, "positions": positions, "clip": 2, "padding": padding}
    return random_parameters(drawn(0, SelfAttentionClassifier, 7, 3, **options)).eval()


@pytest.mark.parametrize("positions", POSITIONS)
def test_only_without_positions_the_order_of_words_is_nothing(positions):
    model = build(positions)
    turned = model(IDS[:1].flip(1))[0]
    assert (relative_error(turned, model(IDS[:1])[0]) < 1e-12) == (positions == "none")


@pytest.mark.parametrize("positions", POSITIONS)
def test_padding_changes_nothing_unless_asked_to(positions):
    model, longer = build(positions), torch.nn.functional.pad(IDS, (0, 4))
    assert relative_error(model(longer)[0], model(IDS)[0]) < 1e-12
    assert relative_error(model(IDS[1:2, :3])[0], model(IDS)[0][1:2]) < 1e-12
    model.embedding.weight.data[0] += 1
    assert relative_error(model(longer)[0], model(IDS)[0]) < 1e-12
    unmasked = build(positions, padding=None)
    assert relative_error(unmasked(longer)[0], unmasked(IDS)[0]) > 1e-3
    assert relative_error(unmasked(IDS[:1])[0], build(positions)(IDS[:1])[0]) < 1e-12  # no padding there


@pytest.mark.parametrize("positions", POSITIONS)
def test_the_recorder_sees_the_weights_and_changes_nothing(positions):
    model = build(positions)
    before = model(IDS)[0]
    with record_attention(model) as recorded:
        after = model(IDS)[0]
    ((name, weights),) = recorded
    assert name == "attention" and weights.shape == (3, 2, 6, 6) and relative_error(after, before) < 1e-12
    assert torch.allclose(weights.sum(-1), torch.ones(3, 2, 6)) and not weights[1, :, :, 3:].any()


@pytest.mark.parametrize("positions", POSITIONS)
def test_on_a_device_nothing_is_mixed_and_nothing_waits(positions):
    model = build(positions).float()
    assert_equal(run_far(model, IDS), run(model, IDS))
