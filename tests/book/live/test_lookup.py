"""Attention among the layers of a stack in the page is the library's, and what the panel of looking up tells is so."""

import re
from functools import partial

import pytest
import torch
from live.parity import BAR, arrays, disturb, error
from live.widgets import GIVEN, cells, press, told

from rtx_lib.diagnostics.attention import record_attention
from rtx_lib.layers import MixerStack, SelectiveRecurrence
from rtx_lib.layers.mixing import AttentionMixer
from rtx_lib.models import Mamba

PARTS = ("arithmetic", "recurrent", "attention", "mamba", "mixers")
SIGNS = "abcdefghijklmnopqrstuvwxyz0123456789"
RUN = """({weights, settings, ids, how}) => {
  const model = new RTX.BitReader(matrices(weights), settings)
  model.run(ids)  // each run begins anew
  return lists(model.run(ids, how))
}"""
STACKS = {
    "one head": [AttentionMixer] * 2,
    "two heads": [partial(AttentionMixer, heads=2)] * 2,
    "beside a selective one": [SelectiveRecurrence, partial(AttentionMixer, heads=2)],
    "beside Mamba": [AttentionMixer, Mamba, AttentionMixer],
}


@torch.no_grad()
def read(model, ids, off=()):
    """The logits of ids (1, T), and the weights (H, T, T) of each layer of attention; the layers of `off` say 0."""
    hooks = [model.mixers[i].register_forward_hook(lambda _, __, out: (0 * out[0], out[1])) for i in off]
    with record_attention(model) as seen:
        logits = model(ids)[0][0]
    for hook in hooks:
        hook.remove()
    return logits, [weights[0] for _, weights in seen]


def far(page, kind, off=(), mlp=0.0):
    """The largest error of all logits and of all weights."""
    torch.manual_seed(0)
    model = disturb(MixerStack(9, 9, STACKS[kind], width=8, mlp=mlp, vocabulary=9), 0.3)
    ids = torch.randint(9, (1, 30), generator=torch.Generator().manual_seed(1))
    settings = {"heads": 1 if kind in ("one head", "beside Mamba") else 2}
    told = {"weights": arrays(model), "settings": settings, "ids": ids[0].tolist(), "how": {"off": list(off)}}
    steps, (logits, seen) = page.evaluate(RUN, told), read(model, ids, off)
    worst = [error([step["logits"] for step in steps], logits)]
    layers = [k for k, layer in enumerate(steps[0]["layers"]) if "weights" in layer]
    for k, wanted in zip(layers, seen, strict=True):
        worst += [error(torch.tensor(s["layers"][k]["weights"]), wanted[:, t, : t + 1]) for t, s in enumerate(steps)]
    return max(worst)


@pytest.mark.parametrize("kind", STACKS)
def test_logits_and_weights_are_the_librarys(live, double, kind):
    page = live(*PARTS)
    assert far(page, kind) < BAR and far(page, kind, mlp=2.0) < BAR


@pytest.mark.parametrize("kind", STACKS)
@pytest.mark.parametrize("off", [(0,), (1,), (0, 1)])
def test_a_layer_that_is_off_adds_nothing(live, double, kind, off):
    assert far(live(*PARTS), kind, off) < BAR


@pytest.mark.parametrize("slip", [("at: at + 1", "at: 0"), ("x.length / heads)", "x.length)")])
def test_a_planted_slip_is_seen(live, double, slip):
    """By what all tests against the library measure with."""
    assert far(live(*PARTS, slips={"mixers": slip}), "two heads") > 1e3 * BAR


def of_the_library(text, off=()):
    """The digits that the model of the panel answers at every place, and its weights (2, T, T)."""
    ids = torch.tensor([[1 + SIGNS.index(c) for c in text.replace(" ", "")]])
    torch.manual_seed(0)  # as the figure
    logits, seen = read(GIVEN["lookup"]()["models"]["model"], ids, off)
    return [str(int(v)) for v in logits[:, 27:].argmax(-1)], [weights[0] for weights in seen]


def test_what_is_typed_is_asked_for_and_judged(widget):
    page = widget("lookup")
    field = page.get_by_label("The sequence")
    field.fill("A1, b2 a3 b a q")
    wanted = of_the_library("a1b2a3baq")[0][6:]
    pairs = zip(wanted, ["2", "3", None], strict=True)
    judged = [f"{said} {'right' if said == own else 'wrong' if own else 'never said'}" for said, own in pairs]
    assert field.input_value() == "a1, b2 a3 b a q" and cells(page, "asked") == ["b", "a", "q"]
    assert cells(page, "said") == ["2", "3", "–"] and cells(page, "answer") == judged
    right = sum("right" in one for one in judged)
    assert told(page, "3 pairs, 3 questions:") == f"3 pairs, 3 questions: {right} of 2 right. 1 never said."
    assert f"It answers {wanted[2]}, though “q” never had a digit." in page.locator(".live-range + p").inner_text()


FAULTS = {
    "": "Nothing is typed.",
    "a1 b?": "Letters go from a to z, digits from 0 to 9, and “?” is neither.",
    "a1 🙂": "Letters go from a to z, digits from 0 to 9, and “🙂” is neither.",
    "4a": "A digit comes after its letter, and “4” at place 1 comes after none.",
    "a1 2": "A digit comes after its letter, and “2” at place 3 comes after none.",
    "a" * 65: "At most 64 letters and digits are read, not 65.",
}


def test_what_cannot_be_read_is_told_and_what_stood_there_stays(widget):
    page = widget("lookup")
    field, before = page.get_by_label("The sequence"), cells(page, "answer")
    for text, fault in FAULTS.items():
        field.fill(text)
        assert told(page, fault) == f"{fault} The last valid input is shown."
        assert field.get_attribute("aria-invalid") == "true" and cells(page, "answer") == before
    field.fill("")
    field.evaluate("(field) => { field.focus(); document.execCommand('insertText', false, 'a'.repeat(10000)) }")
    assert told(page, "At most 64") and len(field.input_value()) == 128
    field.fill("k7")
    told(page, "1 pair, 0 questions.")
    assert field.get_attribute("aria-invalid") == "false" and cells(page, "answer") == []
    title = page.locator(".lookup-title").all_inner_texts()[1]
    assert title == "Layer 2: a question looks at its digit, of which there is none."


def test_pairs_are_drawn_and_a_key_is_said_twice(widget):
    page = widget("lookup")
    value = page.get_by_label("The sequence").input_value
    press(page, "New pairs")
    *said, asked = value().split()
    assert len({c for c, _ in said}) == 8 == len({d for _, d in said}) and sorted(asked) == sorted(c for c, _ in said)
    press(page, "A key twice")
    *said, (again, digit), asked = value().split()
    assert len(said) == 8 and again == asked[-1] and dict(said)[again] != digit
    assert cells(page, "said")[-1] == digit
    assert "The training had 8 pairs." in told(page, "9 pairs, 8 questions:")


def test_two_shares_and_the_place_that_is_looked_at_are_the_weights(widget):
    text, page = GIVEN["lookup"]()["text"].replace(" ", ""), widget("lookup", form="float16")
    titles, words = page.locator(".lookup-title").all_inner_texts, page.locator(".live-range + p").inner_text

    def check(off=()):
        answers, seen = of_the_library(text, off)
        pairs = [[(t, t - 1) for t, c in enumerate(text) if c.isdigit()]]
        asked = [t for t, c in enumerate(text) if c.isalpha() and not text[t + 1 : t + 2].isdigit()]
        pairs += [[(t, text.rindex(text[t], 0, t) + 1) for t in asked]]
        for k, own in enumerate(pairs):
            share = sum(float(seen[k][t, s]) for t, s in own) / len(own)
            found = re.search(r"(\d+)\xa0%", titles()[k])
            assert found is None if k in off else abs(int(found[1]) - 100 * share) < 0.7
            assert ("is off: it adds nothing" in titles()[k]) == (k in off)
            to = int(seen[k][-1].argmax())
            assert f"layer {k + 1} {'is off' if k in off else f'looks at “{text[to]}”, place {to + 1} ('}" in words()
        assert cells(page, "answer")[-1].startswith(answers[-1]) and f"It answers {answers[-1]}," in words()

    check()
    for off in ((0,), (0, 1)):
        page.get_by_role("checkbox", name=f"Layer {off[-1] + 1} off").check()
        check(off)


def test_a_row_is_chosen_by_press_and_by_arrow(widget):
    page = widget("lookup")
    words, first = page.locator(".live-range + p").inner_text, page.locator(".lookup-map").first
    assert words().startswith("At “a”, place 8: layer 1 looks at “")
    first.click(position={"x": 30, "y": first.bounding_box()["height"] * 2.5 / 10})
    assert page.get_by_role("slider", name="Place").input_value() == "3"
    page.get_by_role("slider", name="Place").press("ArrowRight")
    assert words().startswith("At “2”, place 4: ") and "It answers" not in words()
