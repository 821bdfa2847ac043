"""A GPT and a Transformer-XL read one character at a time, beside the book's models in torch: logits and weights."""

from pathlib import Path

import pytest
import torch
from live.parity import BAR, arrays, disturb, error

from rtx_lib.diagnostics.attention import record_attention
from rtx_lib.models.transformer import CausalTransformer
from rtx_lib.models.transformer_xl import TransformerXL

V, STEPS = 11, 40
PARTS = ("arithmetic", "attention")
READ = Path(__file__).with_name("attention-read.js").read_text()
GPTS = {  # width, heads, layers, options, the part's settings
    "as on the page": (8, 2, 2, {"bias": False, "tied": True}, {}),
    "with biases": (12, 3, 1, {}, {}),
    "norm behind": (8, 1, 3, {"norm": "post"}, {}),
    "ReLU": (16, 4, 2, {"activation": "relu"}, {"activation": "relu"}),
    "one layer of one head": (2, 1, 1, {"inner": 5, "bias": False, "tied": True}, {}),
}
XLS = {  # width, heads, layers, options, memory, segment
    "as on the page": (8, 2, 2, {"norm": "pre"}, 16, 8),
    "norm behind": (8, 2, 2, {}, 16, 8),
    "no memory": (8, 2, 2, {"norm": "pre"}, 0, 8),
    "by characters": (12, 3, 3, {"norm": "pre"}, 5, 1),
    "memory that forgets nothing": (8, 1, 2, {"norm": "pre"}, 100, 7),
    "own u and v": (8, 2, 3, {"untied_uv": True}, 4, 4),
    "another width of the heads": (10, 2, 2, {"head_width": 3, "norm": "pre", "tied": False}, 6, 4),
}


def gpt(width, heads, layers, options):
    return CausalTransformer(V, V, vocabulary=V, width=width, heads=heads, layers=layers, **options)


def xl(width, heads, layers, options, memory):
    return TransformerXL(V, V, vocabulary=V, width=width, heads=heads, layers=layers, memory=memory, **options)


@torch.no_grad()
def pieces(model, sizes, ids):
    """The logits of all ids read in pieces, and of each id the weights of each layer, (H, S)."""
    state, logits, looks, at = None, [], [], 0
    for size in sizes:
        with record_attention(model) as seen:
            y, state = model(ids[:, at : at + size], state)
        logits.append(y[0])
        for i in range(y.shape[1]):
            keys = [w.shape[-1] - y.shape[1] + i + 1 for _, w in seen]  # those after it have weight 0
            looks.append([w[0, :, i, :n] for (_, w), n in zip(seen, keys, strict=True)])
        at += size
    return torch.cat(logits), looks


def far(page, kind, model, settings, sizes, seed=0):
    """The largest error of the logits and of all weights, each relative to the largest."""
    disturb(model.eval(), 0.3, seed)
    ids = torch.randint(V, (1, sum(sizes)), generator=torch.Generator().manual_seed(seed))
    found = page.evaluate(READ, {"kind": kind, "weights": arrays(model), "settings": settings, "ids": ids[0].tolist()})
    logits, looks = pieces(model, sizes, ids)
    worst = [error(found["logits"], logits)]
    for theirs, ours in zip(found["attention"], looks, strict=True):
        worst += [error(a, b) for a, b in zip(theirs, ours, strict=True)]
    return max(worst)


@pytest.mark.parametrize("name", GPTS)
def test_gpt_is_the_books_own(live, double, name):
    width, heads, layers, options, settings = GPTS[name]
    torch.manual_seed(0)
    model = gpt(width, heads, layers, options)
    assert far(live(*PARTS), "CharGPT", model, {"heads": heads, **settings}, [1] * STEPS) < BAR


@pytest.mark.parametrize("name", XLS)
def test_transformer_xl_is_the_books_own(live, double, name):
    width, heads, layers, options, memory, segment = XLS[name]
    torch.manual_seed(0)
    model = xl(width, heads, layers, options, memory)
    settings = {"memory": memory, "segment": segment, "norm": options.get("norm", "post")}
    sizes = [segment] * (STEPS // segment + 1)
    assert far(live(*PARTS), "CharXL", model, settings, sizes) < BAR


def test_window_of_a_gpt_starts_anew_from_its_younger_half(live, double):
    torch.manual_seed(0)
    model, length = disturb(gpt(8, 2, 2, {"bias": False}).eval(), 0.3), 6
    ids = torch.randint(V, (1, 17))
    given = {"kind": "CharGPT", "weights": arrays(model), "settings": {"heads": 2, "length": length}}
    found = live(*PARTS).evaluate(READ, given | {"ids": ids[0].tolist()})
    start = 0
    for t in range(17):
        if t - start == length:
            start = t - length // 2
        logits, looks = pieces(model, [t + 1 - start], ids[:, start : t + 1])
        assert error(found["logits"][t], logits[-1]) < BAR
        assert all(error(a, b) < BAR for a, b in zip(found["attention"][t], looks[-1], strict=True))


def test_gelu_has_all_its_digits(live, double):
    x = torch.cat([torch.linspace(-9, 9, 361), torch.tensor([0.0, 1e-9, -1e-300, 40.0, -40.0])])
    found = live(*PARTS).evaluate("(x) => x.map(RTX.gelu)", x.tolist())
    wanted = torch.nn.functional.gelu(x)
    assert (torch.tensor(found) - wanted).abs().max() < 1e-15 * 9
