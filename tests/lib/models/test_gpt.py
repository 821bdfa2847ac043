"""GPT and GPT-2: the start, and what a classifier of padded texts reads."""

import pytest
import torch
import torch.nn.functional as F
from support.compare import ids, random_parameters
from support.far_device import assert_equal, run, run_far
from support.helpers import drawn, relative_error
from torch import tensor

from rtx_lib.models.gpt import GPT, GPTClassifier, fine_tuning_loss

pytestmark = pytest.mark.usefixtures("double")

V, T = 9, 7
SIZES = {"width": 8, "heads": 2, "layers": 2, "length": T}
NORMS = ["post", "pre"]
TEXT = tensor([[3, 1, 4, 1, 5, 2], [2, 7, 1, 8, 0, 0], [6, 6, 2, 0, 0, 0]])  # start ... extract, padding
LENGTHS = [6, 4, 3]


def build(**options):
    return random_parameters(drawn(0, GPT, V, **SIZES | options)).eval()


def classifier(**options):
    model = drawn(1, GPTClassifier, build(), 3, **options).eval()
    with torch.no_grad():
        model.readout.weight.mul_(50)
    return model


@pytest.mark.parametrize("norm", NORMS)
def test_how_the_weights_start(norm):
    """Those into GPT-2's residual stream are smaller by the root of the number of branches: 2 a block."""
    model = drawn(0, GPT, 500, width=64, heads=2, layers=8, length=300, norm=norm)
    for name, p in model.state_dict().items():
        if p.ndim == 2:
            smaller = 4 if name.endswith(("out_proj.weight", "linear2.weight")) else 1
            smaller = 2 if "positions" in name else smaller
            assert p.std().item() * (smaller if norm == "pre" else 1) == pytest.approx(0.02, rel=0.05), name
        else:
            assert torch.equal(p, torch.full_like(p, float("norm" in name and name.endswith("weight")))), name


def test_fewer_key_heads_keep_less():
    """That they write the same in pieces is in layers/test_attention.py and test_speculative.py."""
    _, (first, second) = build(key_heads=1)(ids(2, T, vocabulary=V))
    assert first[0].shape == second[1].shape == (2, 1, T, 4)


def test_padding_changes_nothing():
    model = classifier(auxiliary=True)
    y = model(TEXT)[0]
    longer = model(F.pad(TEXT, (0, 1)))[0]
    assert relative_error(longer[:, :6], y) < 1e-12
    for b, m in enumerate(LENGTHS):
        assert relative_error(model(TEXT[b : b + 1, :m])[0], y[b : b + 1, :m]) < 1e-12
    # Whatever stands behind the last word, if it is told where that is.
    real = tensor([[t < m for t in range(6)] for m in LENGTHS])
    other = torch.where(real, TEXT, 8)
    assert relative_error(model(other, real=real)[0][..., V:], y[..., V:]) < 1e-12
    one, other = (
        fine_tuning_loss(z[..., :V], z[:, -1, V:], x, tensor([0, 2, 1]))
        for z, x in ((y, TEXT), (longer, F.pad(TEXT, (0, 1))))
    )
    assert relative_error(other, one) < 1e-12


def test_both_outputs_in_one():
    """At each position the next word's logits, then the text's classes."""
    alone, both = classifier(), classifier(auxiliary=True)
    y = both(TEXT)[0]
    assert y.shape == (3, 6, V + 3) and (alone.output_size, both.output_size) == (3, V + 3)
    assert torch.equal(y[..., :V], both.gpt(TEXT)[0])
    assert torch.equal(y[..., V:], alone(TEXT)[0].expand(-1, 6, -1))


def test_a_classifier_on_a_device_mixes_nothing_and_never_waits():
    model = classifier(auxiliary=True).float()
    assert_equal(run_far(model, TEXT), run(model, TEXT))


def test_a_classifier_refuses_gaps_and_empty_rows():
    for row in ([1, 0, 2], [0, 0, 0]):
        with pytest.raises(ValueError, match=r"^x must hold words first and then padding .* row 0"):
            classifier()(tensor([row]))
