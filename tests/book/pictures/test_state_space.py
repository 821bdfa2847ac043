"""The figures of the chapter on state space models draw what they are given."""

import numpy as np
import pytest
import torch
from matplotlib.patches import FancyBboxPatch

from rtx_book.pictures import state_space as pictures
from rtx_lib.kernels import selective_scan
from rtx_lib.layers import MixerStack
from rtx_lib.models import Mamba
from rtx_lib.models.mamba import TimeInvariantMamba


def test_a_leak_is_the_scan_with_a_zero_order_hold():
    u, delta = torch.randn(2, 1, 30, 1).double()
    one = torch.ones(1, 30, 1).double()
    y, _ = selective_scan(u, delta.abs(), -one[0, :1], one, one, discretisation="zoh")
    leaked = pictures.leak(u.flatten().tolist(), delta.abs().flatten().tolist())
    np.testing.assert_allclose(leaked, y.flatten(), rtol=1e-12)


def test_with_a_step_of_its_own_the_state_stands_at_the_marks():
    u = np.zeros(40)
    u[[5, 20]] = 2, -1
    same, chosen = (ax.get_lines()[1].get_ydata() for ax in pictures.draw_leak(u, [5, 20]).axes[1:])
    assert chosen[19] > 1.5 and chosen[-1] < -0.7
    assert abs(same[19]) < 0.1 and abs(same[-1]) < 0.1


@pytest.mark.parametrize("kind", [Mamba, TimeInvariantMamba])
def test_step_sizes_are_those_of_every_layer(kind):
    model = MixerStack(16, 16, kind, width=8, layers=2, mlp=0, vocabulary=16)
    x = torch.randint(16, (1, 12))
    steps = pictures.steps_of(model, x)
    assert steps.shape == (2, 12, 16) and (steps > 0).all()
    assert (steps[:, 0] == steps[:, 1]).all() == (kind is TimeInvariantMamba)
    assert not any("selected" in vars(mixer) for mixer in model.mixers)  # nothing is left behind


def test_the_channel_drawn_is_the_one_that_opens_widest():
    steps = torch.full((2, 6, 3), 0.1)
    steps[1, 2, 1] = 5
    steps[:, :, 2] = 9  # large throughout
    (ax,) = pictures.draw_steps({"Mamba": steps}, "..a...").axes
    assert [bar.get_height() for bar in ax.patches] == pytest.approx([0.1, 0.1, 5, 0.1, 0.1, 0.1])
    assert "layer 2, channel 2" in ax.get_title(loc="left")


def test_the_block_grows_part_by_part_and_each_is_told():
    boxes = [len(pictures.draw_block(stage).findobj(FancyBboxPatch)) for stage in pictures.BLOCK_STAGES]
    assert boxes == sorted(boxes) and boxes[0] == 2 and boxes[-1] > boxes[0]
    assert len({pictures.describe_block(stage) for stage in pictures.BLOCK_STAGES}) == len(pictures.BLOCK_STAGES)


def test_a_summary_lies_over_what_was_read():
    past = np.linspace(0, 1, 20)
    axes = pictures.draw_past(past, {4: past + 1, 16: past}).axes
    assert [list(line.get_ydata()) for line in axes[0].get_lines()] == [[*past], [*(past + 1)]]


def test_readings_are_drawn_at_the_ends_of_their_gaps():
    u, gaps = [1.0, 0.5], [2.0, 1.0]
    (ax,) = pictures.draw_readings(u, gaps, (np.array([1.0, 2.0]), np.arange(200.0)), np.array([3.0, 4.0])).axes
    _, _, exact, euler = ax.get_lines()
    assert list(exact.get_xdata()) == list(euler.get_xdata()) == [2.0, 3.0]
    assert [(text.get_text(), text.xy) for text in ax.texts] == [("exact step", (2, 1)), ("Euler's step", (2, 3))]
