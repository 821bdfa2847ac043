"""A tune that a model continues: the frames it draws, the notes they make, and how they sound."""

import math
from pathlib import Path

import pytest
import torch
from live.parity import BAR, error
from live.widgets import FRAMES

PARTS = ("random", "arithmetic", "recurrent", "attention", "local", "roll")


@pytest.fixture
def roll(live):
    return live(*PARTS)


def test_keys_have_their_names_and_pitches(roll):
    assert roll.evaluate("[0, 3, 39, 48, 87].map(RTX.roll.named)") == ["A0", "C1", "C4", "A4", "C8"]
    keys = list(range(88))
    found = roll.evaluate("(keys) => keys.map(RTX.roll.hertz)", keys)
    assert error(found, [440 * 2 ** ((key - 48) / 12) for key in keys]) < BAR


def test_a_note_lasts_as_long_as_its_key_is_held(roll):
    found = [(note["key"], note["from"], note["to"]) for note in roll.evaluate("(f) => RTX.roll.notes(f)", FRAMES)]
    assert found == [(39, 0, 3), (43, 1, 3), (60, 1, 3), (43, 4, 6), (62, 4, 5)]
    assert roll.evaluate("(f) => RTX.roll.melody(f)", FRAMES) == "C4, A5, B5, E4"


DRAW = Path(__file__).with_name("tune-draw.js").read_text()


@pytest.mark.parametrize("temperature", [0.5, 1.0])
def test_notes_come_as_often_as_their_probabilities_say(roll, temperature):
    logits, count = torch.randn(88, generator=torch.Generator().manual_seed(0)).double(), 4000
    found = torch.tensor(roll.evaluate(DRAW, [logits.tolist(), temperature, False, count])["shares"])
    p = (logits / temperature).sigmoid()
    assert ((found - p).abs() < 5 * (p * (1 - p) / count).sqrt() + 1e-9).all()
    one = roll.evaluate(DRAW, [logits.tolist(), temperature, True, count])
    share = torch.tensor(one["shares"])
    top = (logits[47:] / temperature).softmax(0)
    assert one["melody"] == count and share[47:].sum().isclose(torch.tensor(1.0, dtype=share.dtype))
    assert ((share[47:] - top).abs() < 5 * (top * (1 - top) / count).sqrt() + 1e-9).all()
    assert ((share[:47] - p[:47]).abs() < 5 * (p[:47] * (1 - p[:47]) / count).sqrt() + 1e-9).all()


HEAR = """async (frames) => {
  const rate = 8000, pace = 0.2, context = new OfflineAudioContext(1, rate * 2, rate)
  RTX.roll.sound(context, frames, pace)
  return lists((await context.startRendering()).getChannelData(0))
}"""


def strength(samples, hertz, rate=8000):
    angle = 2 * math.pi * hertz * torch.arange(len(samples)) / rate
    return float(torch.hypot((samples * angle.cos()).mean(), (samples * angle.sin()).mean()))


def test_it_sounds_softly_at_the_right_pitches_and_ends(roll):
    samples = torch.tensor(roll.evaluate(HEAR, FRAMES), dtype=torch.float64)
    assert 0.01 < samples.abs().max() <= 0.13
    assert samples[int(8000 * (0.05 + 6 * 0.2 + 0.05)) :].abs().max() == 0
    first = samples[600:1800]  # the first note alone, middle C
    assert strength(first, 261.63) > 5 * max(strength(first, 277.18), strength(first, 246.94))


@pytest.fixture
def tune(widget):
    page = widget("tune")
    page.evaluate("() => { globalThis.AudioContext = class { constructor() { throw new Error('sound, unasked') } } }")
    return page


def test_continue_writes_frames_that_the_picture_and_the_status_tell(tune):
    roll = tune.locator(".live-roll")
    assert roll.get_attribute("aria-label") == "Given: 6 frames, on top C4, A5, B5, E4."
    tune.get_by_role("button", name="Continue").click()
    tune.wait_for_function("document.querySelector('[role=status]').textContent.startsWith('64 frames written')")
    assert "Written: 64 frames" in roll.get_attribute("aria-label")
    assert tune.locator(".live-written").count() > 0 and tune.locator(".live-edge").count() == 1
    tune.get_by_role("button", name="Start again").click()
    assert tune.locator(".live-written").count() == 0


def test_an_own_beginning_is_played_note_by_note(tune):
    assert not tune.get_by_role("group", name="Your own notes").is_visible()
    tune.get_by_label("Begin with").select_option("own")
    for name in ("C5", "E5", "E5"):
        tune.get_by_role("button", name=name, exact=True).click()
    assert tune.locator(".live-roll").get_attribute("aria-label") == "Given: 6 frames, on top C5, E5."
    both = "all => ['Continue', 'Take back'].forEach(name => all.find(one => one.textContent === name).click())"
    tune.locator("button").evaluate_all(both)  # it takes back while it writes
    tune.wait_for_timeout(300)
    assert tune.locator(".live-roll").get_attribute("aria-label") == "Given: 4 frames, on top C5, E5."
