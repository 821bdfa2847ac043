"""GPT and GPT-2: files of other sizes, the start, fine-tuning, and both averages of the auxiliary loss."""

import math

import official
import pytest
import torch
import torch.nn.functional as F
from reference import official_gpt
from reference.gpt_loops import gelu, make_gpt
from support.far_device import assert_equal, run, run_far
from support.helpers import drawn, relative_error
from torch import tensor

from rtx_lib.models.gpt import GPT, GPTClassifier, fine_tuning_loss, language_loss
from rtx_lib.models.plain_gpt import PlainGPT
from rtx_lib.tasks import CopyMemory, GeneratedSentiment
from rtx_lib.training import evaluate, fit

pytestmark = pytest.mark.usefixtures("double")

V, T = 9, 7
SIZES = {"width": 8, "heads": 2, "layers": 2, "length": T}
NORMS = ["post", "pre"]
TEXT = tensor([[3, 1, 4, 1, 5, 2], [2, 7, 1, 8, 0, 0], [6, 6, 2, 0, 0, 0]])  # start ... extract, padding
LENGTHS = [6, 4, 3]


def build(norm="post", seed=0, **options):
    """A model whose weights are far enough from 0 that nothing can go missing unseen."""
    model = drawn(seed, GPT, V, norm=norm, **SIZES | options).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) / 3)
    return model


def classifier(classes=3, norm="post", **options):
    model = drawn(1, GPTClassifier, build(norm), classes, **options).eval()
    with torch.no_grad():
        model.readout.weight.mul_(50)
    return model


def ids(*shape, seed=0):
    return torch.randint(V, shape, generator=torch.Generator().manual_seed(seed))


# ---- the authors' numbers, and those of plain loops


OTHER_SIZES = [
    {},
    {"width": 8, "heads": 4, "layers": 3, "batch": 1, "length": 7, "inner": 5, "vocabulary": 23},
    {"width": 3, "heads": 1, "layers": 1, "batch": 4, "length": 4, "positions": 4, "classes": 2, "weight": 0.2},
    {"layers": 11, "width": 2, "heads": 1, "length": 3, "inner": 1, "classes": 1, "weight": 0.0},
]


@pytest.mark.parametrize("sizes", OTHER_SIZES, ids=str)
@pytest.mark.parametrize("stem", official_gpt.FAMILIES)
def test_files_of_other_sizes(tmp_path, stem, sizes):
    path = tmp_path / f"{stem}_other.npz"
    outcomes = make_gpt(path, seed=len(sizes), **sizes)
    errors = official.check(path)
    assert set(errors) == outcomes and max(errors.values()) < 1e-9, errors


def test_the_library_has_no_fault_that_plain_torch_lacks():
    """GPT-2 with biases 0 and the exact GELU is the plain one."""
    plain = drawn(0, PlainGPT, V, **SIZES)
    model = build("pre")
    official_names = {"tokens": "embedding", "positions": "stack.positions", "norm": "stack.norm"}
    weights = {}
    for name, value in plain.state_dict().items():
        head, _, rest = name.partition(".")
        name = f"{official_names.get(head, f'stack.{head}')}.{rest}"
        for theirs, ours in (("norm1", "norms.0"), ("norm2", "norms.1"), ("qkv.", "self_attention.in_proj_")):
            name = name.replace(theirs, ours)
        for theirs, ours in (("out", "self_attention.out_proj"), ("up", "feed_forward.linear1")):
            name = name.replace(f".{theirs}.", f".{ours}.")
        weights[name.replace(".down.", ".feed_forward.linear2.")] = value * 3
        plain.state_dict()[f"{head}.{rest}"].mul_(3)
    zeros = {name: torch.zeros_like(value) for name, value in model.state_dict().items() if name.endswith("bias")}
    model.load_state_dict(weights | zeros)
    for block in model.stack.blocks:
        block.feed_forward.activation = "gelu"
    x = ids(3, T)
    assert relative_error(model(x)[0], plain(x)[0]) < 1e-12


def test_gelu_in_its_tanh_form():
    x = torch.linspace(-6, 6, 10_001)
    (ours,) = {block.feed_forward.activation for block in build().stack.blocks}
    ours, exact = ours(x), F.gelu(x)
    torch.testing.assert_close(ours, gelu(x), rtol=0, atol=1e-14)
    torch.testing.assert_close(exact, x / 2 * (1 + torch.erf(x / math.sqrt(2))), rtol=0, atol=1e-14)
    assert 4e-4 < (ours - exact).abs().max() < 5e-4


# ---- logits


@pytest.mark.parametrize("norm", NORMS)
def test_logits_come_from_the_words_table(norm):
    """Tied, without a bias; GPT has no norm behind its last block, whose own norm comes last anyway."""
    model = drawn(0, GPT, V, norm=norm, **SIZES)
    h, _ = model.encode(ids(2, T))
    assert torch.equal(model(ids(2, T))[0], h @ model.embedding.weight.T)
    assert (model.stack.norm is None) == (norm == "post")
    torch.testing.assert_close(h.mean(-1), torch.zeros(2, T), rtol=0, atol=1e-12)


# ---- the start


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


RELEASED = {"117M": (768, 12, 12, 124), "345M": (1024, 24, 16, 355), "762M": (1280, 36, 20, 774)}
RELEASED |= {"1542M": (1600, 48, 25, 1558)}


@pytest.mark.parametrize("name", RELEASED)
def test_the_released_sizes_are_larger_than_their_names(name):
    """Millions of parameters of the four GPT-2."""
    width, layers, heads, millions = RELEASED[name]
    with torch.device("meta"):
        model = GPT(50_257, width=width, heads=heads, layers=layers, length=1024, norm="pre")
    assert round(sum(p.numel() for p in model.parameters()) / 1e6) == millions


def test_dropout_stands_where_it_stood():
    """On the embedded text, on weights, and on what is added; none inside the feed-forward network."""
    model, x = build(dropout=0.5), ids(2, T)
    block = model.train().stack.blocks[0]
    torch.testing.assert_close(block.feed_forward(model.embedding(x)), block.feed_forward.eval()(model.embedding(x)))
    assert (block.self_attention.dropout, block.dropout.p, model.stack.dropout.p) == (0.5, 0.5, 0.5)


# ---- fine-tuning


@pytest.mark.parametrize("norm", NORMS)
def test_the_class_is_read_at_the_last_word(norm):
    model = classifier(norm=norm)
    y, state = model(TEXT)
    h, _ = model.gpt.encode(TEXT)
    last = torch.stack([h[b, m - 1] for b, m in enumerate(LENGTHS)])
    assert state is None and y.shape == (3, 1, 3)
    assert relative_error(y[:, 0], F.linear(last, model.readout.weight, model.readout.bias)) < 1e-12


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


def test_two_averages_of_the_auxiliary_loss():
    """Each text counts alike, or each word; the same where all texts are of one length, and only there."""
    logits, real = build()(TEXT)[0], TEXT != 0
    logp = logits.log_softmax(-1)
    words = [[-logp[b, t, TEXT[b, t + 1]] for t in range(m - 1)] for b, m in enumerate(LENGTHS)]
    by_sequence = sum(sum(row) / len(row) for row in words) / 3
    by_token = sum(map(sum, words)) / sum(map(len, words))
    assert relative_error(language_loss(logits, TEXT, real, average="sequence"), by_sequence) < 1e-12
    assert relative_error(language_loss(logits, TEXT, real), by_token) < 1e-12
    assert relative_error(by_token, by_sequence) > 1e-3
    full = [language_loss(logits, TEXT, average=average) for average in ("sequence", "token")]
    assert relative_error(*full) < 1e-12
    assert relative_error(full[0], F.cross_entropy(logits[:, :-1].flatten(0, 1), TEXT[:, 1:].flatten())) < 1e-12


def test_the_sum_of_both_objectives():
    y, label = classifier(auxiliary=True)(TEXT)[0], tensor([0, 2, 1])
    words, classes = y[..., :V], y[:, -1, V:]
    auxiliary = language_loss(words, TEXT, TEXT != 0, average="sequence")
    of_class = F.cross_entropy(classes, label)
    assert relative_error(fine_tuning_loss(words, classes, TEXT, label), of_class + 0.5 * auxiliary) < 1e-12
    assert torch.equal(fine_tuning_loss(words, classes, TEXT, label, weight=0.0), of_class)
    by_token = fine_tuning_loss(words, classes, TEXT, label, weight=2.0, average="token")
    assert relative_error(by_token, of_class + 2 * language_loss(words, TEXT, TEXT != 0)) < 1e-12


def test_it_is_trained_by_the_loop():
    """As a language model, and as a classifier of sentences of many lengths."""
    how = {"steps": 3, "batch_size": 4, "eval_every": 3, "eval_batches": 1, "progress": False}
    task = CopyMemory(delay=3)
    model = drawn(0, GPT, task.vocabulary, **SIZES | {"length": 30}).float()
    assert fit(model, task, **how).loss[-1] < 5
    task = GeneratedSentiment()
    gpt = drawn(0, GPT, task.vocabulary, **SIZES | {"length": 20})
    model = GPTClassifier(gpt, 2, dropout=0.1).float()
    fit(model, task, **how)
    assert set(evaluate(model, task, split="valid", batches=1, batch_size=9)) == {"accuracy", "error", "loss"}


# ---- devices


def test_a_classifier_on_a_device_mixes_nothing_and_never_waits():
    model = classifier(auxiliary=True).float()
    assert_equal(run_far(model, TEXT), run(model, TEXT))


# ---- refusals


def test_a_classifier_refuses_gaps_empty_rows_and_states():
    for row in ([1, 0, 2], [0, 0, 0]):
        with pytest.raises(ValueError, match=r"^x must hold words first and then padding .* row 0"):
            classifier()(tensor([row]))
    with pytest.raises(ValueError, match=r"^state must be None.* got tuple"):
        classifier()(TEXT, ())
    with pytest.raises(ValueError, match=r"^real must have shape \(3, 6\), got \(3, 5\)"):
        classifier()(TEXT, real=TEXT[:, 1:] != 0)


def test_losses_refuse():
    logits = build()(TEXT)[0]
    with pytest.raises(ValueError, match=r"^average must be one of .* got 'batch'"):
        language_loss(logits, TEXT, average="batch")
    with pytest.raises(ValueError, match=r"^x must have at least 2 positions"):
        language_loss(logits[:, :1], TEXT[:, :1])
    with pytest.raises(ValueError, match=r"^real must have shape \(3, 6\)"):
        language_loss(logits, TEXT, TEXT[0] != 0)
