"""ConvS2S: its first weights, the scale of its gradients, positions and padding, and the attention of every layer.

That it computes what the authors' code computes is tested in tests/reference/test_official.py.
"""

import math

import pytest
import torch
from support.compare import ids, random_parameters
from support.helpers import drawn, relative_error

from rtx_lib.diagnostics.attention import ablate_heads, gradient_saliency, record_attention
from rtx_lib.models.convs2s import ConvS2S, NormedLinear

pytestmark = pytest.mark.usefixtures("double")

LAYERS = {"encoder": [(4, 3), (6, 2)], "decoder": [(4, 3), (6, 3), (6, 2)]}
SOURCE = torch.tensor([[3, 1, 4, 1, 5], [5, 3, 5, 0, 0], [2, 0, 0, 0, 0]])
TARGET = ids(3, 6, vocabulary=7, first=1)


def make(**options):
    return random_parameters(drawn(0, ConvS2S, 9, 7, width=4, **LAYERS | options))


def test_every_layer_attends_to_the_words():
    model = make()
    plain, _ = model((SOURCE, TARGET))
    with record_attention(model) as recorded:
        seen, _ = model((SOURCE, TARGET))
    assert [name for name, _ in recorded] == [f"decoder.{i}.attention" for i in range(3)]
    for _, weights in recorded:
        assert weights.shape == (3, 6, 5) and relative_error(weights.sum(-1), torch.ones(3, 6)) < 1e-12
        assert (weights > 0).equal((SOURCE > 0).unsqueeze(1).expand(-1, 6, -1))
    assert torch.equal(seen, plain)
    with ablate_heads(model, {"decoder.1.attention": [0]}):
        assert relative_error(model((SOURCE, TARGET))[0], plain) > 1e-3
    saliency = gradient_saliency(lambda: model((SOURCE, TARGET))[0].sin().sum(), model.source_embedding)
    assert (saliency > 0).equal(SOURCE > 0)
    with record_attention(told := make(attention=[False, True, False])) as recorded:
        told((SOURCE, TARGET))
    assert [name for name, _ in recorded] == ["decoder.1.attention"]


def test_the_encoders_gradients_are_divided_by_twice_the_number_of_attentions():
    """All that comes by z is; the embeddings' own part in the values is not."""
    model = make()
    named = dict(model.encoder.named_parameters())

    def gradients(attentions):
        model.attentions = attentions
        return torch.autograd.grad(model((SOURCE, TARGET))[0].sin().sum(), list(named.values()))

    for scaled, whole in zip(gradients(3), gradients(1 / 2), strict=True):
        assert relative_error(scaled * 6, whole) < 1e-12


def test_padding_may_stand_anywhere_and_has_no_position():
    """In front of the first word, or behind the last, it reads as what lies beyond the ends."""
    model, words = make(), torch.tensor([[3, 1, 4]])
    plain, _ = model((words, TARGET[:1]))
    for before, after in ((1, 0), (0, 2), (3, 1)):
        padded = torch.nn.functional.pad(words, (before, after))
        assert relative_error(model((padded, TARGET[:1]))[0], plain) < 1e-12
    e = model.target_embedding(torch.tensor([[2, 0, 3]]), name="target_in")[0]
    word, position = model.target_embedding.words.weight, model.target_embedding.positions.weight
    assert torch.equal(e, torch.stack([word[2] + position[0], 0 * word[0], word[3] + position[1]]))


def test_more_words_than_positions():
    model = make(length=4)
    with pytest.raises(ValueError, match="source must end within the table of 4 positions, got 5"):
        model((SOURCE, TARGET))
    with pytest.raises(ValueError, match="source must have at least one word"):
        model((SOURCE * 0, TARGET))
    _, state = model((SOURCE[:, :4], TARGET[:, :3]))
    with pytest.raises(ValueError, match="target_in must end within the table of 4 positions, got 6"):
        model((None, TARGET[:, 3:]), state)
    model((None, TARGET[:, 3:4]), state)


def test_the_first_weights():
    """N(0, sqrt(4p/n)) in front of the gates, N(0, sqrt(p/n)) behind dropout and N(0, sqrt(1/n)) elsewhere."""
    model = drawn(
        0, ConvS2S, 400, 300, width=60, encoder=[(80, 3), (70, 3)], decoder=[(80, 2)], out_width=50, dropout=0.2
    )
    model.requires_grad_(False)
    found = {name: module for name, module in model.named_modules() if isinstance(module, NormedLinear)}
    for name, conv in found.items():
        v = conv.weight_v.detach()
        kept = 4 * 0.8 if "convolution" in name else 0.8 if name in ("encoder_in", "decoder_in", "readout") else 1
        assert v.std() == pytest.approx(math.sqrt(kept / v.shape[1]), rel=0.05), name
        assert torch.equal(conv.weight_g, v.norm(dim=1, keepdim=True)) and not conv.bias.any()
    assert len(found) == 5 + 6
    for side in (model.source_embedding, model.target_embedding):
        for table in (side.words, side.positions):
            assert table.weight.std() == pytest.approx(0.1, rel=0.02)
