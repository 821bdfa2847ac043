"""ByteNet: how far its convolutions reach, on which side, and what the decoder gets of the encoder.

That a block computes what the original computes is tested in tests/reference/test_official.py.
"""

import pytest
import torch
from support.compare import draw, ids, random_parameters
from support.helpers import drawn, relative_error
from torch import nn

from rtx_lib.diagnostics.receptive_field import input_influence, reach
from rtx_lib.models.bytenet import ByteNet, ByteNetBlock

pytestmark = pytest.mark.usefixtures("double")

FIELDS = [(2, (1, 2, 4), 8), (3, (1, 2, 4, 8), 31), (3, (1, 2, 1, 2), 13), (5, (3,), 13), (1, (1, 2), 1)]


def make(**options):
    return random_parameters(drawn(0, ByteNet, 9, 7, width=6, **options))


class Alone(nn.Module):
    """The decoder's blocks, or the encoder's, without what stands around them."""

    def __init__(self, kernel_size, dilations, causal):
        super().__init__()
        self.blocks = nn.ModuleList(ByteNetBlock(6, kernel_size, r, causal=causal) for r in dilations)

    def forward(self, x):
        for block in self.blocks:
            x, _ = block(x)
        return x


@pytest.mark.parametrize("kernel_size, dilations, field", FIELDS)
def test_the_receptive_field_is_what_a_gradient_reaches(kernel_size, dilations, field):
    decoder = random_parameters(drawn(0, Alone, kernel_size, dilations, causal=True))
    assert reach(input_influence(decoder, draw(3, field + 5, 6)), 1) == field


@pytest.mark.parametrize("kernel_size, dilations, field", FIELDS)
def test_the_encoder_reads_on_both_sides(kernel_size, dilations, field):
    encoder = random_parameters(drawn(0, Alone, kernel_size, dilations, causal=False))
    x, middle = draw(3, 2 * field + 3, 6).requires_grad_(), field
    (gradient,) = torch.autograd.grad(encoder(x)[:, middle].sin().sum(), x)
    before = sum((kernel_size - 1) * r // 2 for r in dilations)
    reached = gradient.abs().sum((0, 2)).nonzero()[:, 0]
    assert [int(reached[0]), int(reached[-1])] == [middle - before, middle - before + field - 1]


def test_the_encoder_is_unfolded_beyond_the_words():
    source = torch.tensor([[3, 1, 4, 1, 5], [5, 3, 0, 0, 0]])
    z, *pasts = make(dilations=(1, 2), unfold=1.6).encode(source)
    assert z.shape == (2, 8, 6) and not any(past.any() for past in pasts)
    assert [int(row.any(-1).sum()) for row in z] == [8, 4] and z[1, :4].any(-1).all()
    z, *_ = make(unfold=1.2).encode(torch.tensor([[3, 1, 4, 1, 5, 0, 0, 0]]))
    assert int(z.any(-1).sum()) == 6, "1.2 x 5 is 6, and in single precision not a little more"


def test_beyond_the_encoder_the_decoder_reads_zeros():
    model, (source, target) = make(dilations=(1, 2)), (ids(2, 4, first=1), ids(2, 9))
    z, *pasts = model.encode(source)
    logits, (left, *_) = model((source, target))
    assert z.shape[1] == 5 and left.shape == (2, 0, 6)
    longer = torch.cat([z, torch.zeros(2, 7, 6)], 1)
    same, (left, *_) = model((None, target), (longer, *pasts))
    assert relative_error(same, logits) < 1e-12 and left.shape == (2, 3, 6)
