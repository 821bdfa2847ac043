"""A trained Mamba in the page is the library's, and what is typed is read, asked for and judged."""

import re
from functools import partial
from pathlib import Path

import pytest
import torch
from live.parity import BAR, arrays, disturb, error
from live.widgets import GIVEN, cells, press, told
from pages import page_checks

from rtx_lib.layers import MixerStack
from rtx_lib.models import Mamba, TimeInvariantMamba

PARTS = ("arithmetic", "attention", "mamba", "mixers")
KINDS = {"Mamba": Mamba, "time-invariant": TimeInvariantMamba}
RUN = Path(__file__).with_name("selected-run.js").read_text()


@torch.no_grad()
def read(model, ids):
    """The logits of ids (1, T), and of every layer the step sizes (1, T, E)."""
    seen = []
    for mixer in model.mixers:
        choose, mixer.backend = mixer.selected, "loop"
        mixer.selected = lambda u, choose=choose: seen.append(choose(u)[0].expand_as(u)) or choose(u)
    return model(ids)[0], seen


def off(page, kind, width=16, layers=2, **how):
    """The largest error of all logits and of the step sizes of every layer."""
    torch.manual_seed(0)
    model = disturb(MixerStack(16, 16, partial(KINDS[kind], **how), width=width, layers=layers, vocabulary=16), 0.3)
    ids = torch.randint(16, (1, 40), generator=torch.Generator().manual_seed(1))
    wanted, seen = read(model, ids)
    found = page.evaluate(RUN, [arrays(model), ids[0].tolist()])
    return max(error(found["logits"], wanted), *map(error, found["deltas"], seen))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", [{}, {"width": 40, "layers": 1, "state_size": 3}, {"kernel_size": None}])
def test_logits_and_step_sizes_are_the_librarys(live, double, kind, how):
    assert off(live(*PARTS), kind, **how) < BAR


def answers(page, name):
    return [cell.split() for cell in cells(page, name)]


def test_what_is_typed_is_asked_for_and_judged(widget):
    page = widget("selected")
    assert answers(page, "asked for") == [["a"], ["b"], ["c"], ["n"]]
    judged = [(sign, state) for name in KINDS for sign, state in answers(page, name)]
    for (sign, verdict), own in zip(judged, "abcn" * 2, strict=True):
        assert verdict == ("right" if sign == own else "wrong")
    field = page.get_by_label("The sequence")
    field.fill("A b_·n")
    assert field.input_value() == "a.b..n" and answers(page, "asked for") == [["a"], ["b"], ["n"]]
    assert "3 of 6 places hold a letter. Mamba:" in told(page, "3 of 6")
    field.fill("ab?")
    assert told(page, "Letters go from a to n, and “?” is none").endswith("The last valid input is shown.")
    assert field.get_attribute("aria-invalid") == "true" and len(answers(page, "asked for")) == 3
    press(page, "Twice as long")
    assert len(field.input_value()) == 60 and "The training had 4 letters in 28 places" in told(page, "4 of 60")
    field.fill("....")
    assert told(page, "There are no letters") and answers(page, "asked for") == []
    press(page, "A new sequence")
    assert len(field.input_value()) == 28 and len(answers(page, "Mamba")) == 4


def test_step_sizes_are_told(widget):
    given, letters = GIVEN["selected"](), ".abcdefghijklmn"
    disturb(given["models"]["Mamba"], 0.5)
    page = widget("selected", **given)
    title = page.locator(".selected-title").inner_text
    assert re.match(r"Δ of layer [12]\. Mamba, channel \d+: .* a letter, ", title())
    page.get_by_label("Show Δ of").select_option("layer 2, mean of all channels")
    text = given["text"]
    ids = torch.tensor([[letters.index(c) for c in text] + 4 * [15]])
    logs = read(given["models"]["Mamba"], ids)[1][1][0].log().mean(-1)
    since = [t - max([s for s in range(t + 1) if text[s] != "."], default=-99) for t in range(len(text))]
    after = [logs[[t for t, own in enumerate(since) if own == k]].mean() for k in range(4)]
    far = logs[[t for t, own in enumerate(since) if own > 3 and t > 2]].mean()
    most = max(range(4), key=lambda k: abs(after[k] - far))
    place = ["at", "one place after", "two places after", "three places after"][most]
    said = rf"Δ of layer 2\. Mamba, all channels: (\S+) {place} a letter, (\S+) far from letters\. time-inv"
    assert [float(v) for v in re.match(said, title()).groups()] == [float(f"{v.exp():.2g}") for v in (after[most], far)]
    assert title().endswith(" at every place.")


def test_a_press_types_over_a_place(widget):
    page = widget("selected")
    picture, words = page.locator(".selected-picture"), page.locator(".selected-box + p").first
    box = picture.bounding_box()
    picture.click(position={"x": 46 + (box["width"] - 54) * 10.5 / 32, "y": 60})
    assert "Place 11, “a”: Δ is" in words.inner_text() and " in time-invariant." in words.inner_text()
    page.keyboard.press("m")
    assert page.get_by_label("The sequence").input_value()[9:12] == ".mb" and page.evaluate("scrollY") == 0


def test_a_long_sequence_scrolls_in_its_box(widget):
    page = widget("selected", context={"viewport": page_checks.PHONE}, text="a" + GIVEN["selected"]()["text"] * 3)
    assert page.locator(".selected-box").first.evaluate("(box) => box.scrollWidth > 1.5 * box.clientWidth")
    assert not page_checks.overflow(page)
