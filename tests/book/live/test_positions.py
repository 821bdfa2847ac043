"""The page's causal Transformer beside the library's, for every scheme of positions, and the widget in use."""

from contextlib import nullcontext
from pathlib import Path

import pytest
import torch
from live.parity import BAR, arrays, disturb, error

from rtx_lib.diagnostics.attention import attention_window, record_attention
from rtx_lib.layers import Sinusoidal
from rtx_lib.layers.positions import SCHEMES, Learned
from rtx_lib.models.transformer import CausalTransformer

SIZES = [(4, 1, 1, 3, 1), (8, 2, 2, 2, 9), (16, 4, 2, 4, 23)]  # D, H, layers, clip, T
READ = Path(__file__).with_name("positions-read.js").read_text()


def made(scheme, size, seed=0):
    width, heads, layers, clip, _ = size
    torch.manual_seed(seed)
    sizes = {"width": width, "heads": heads, "layers": layers, "clip": clip, "length": 200}
    return disturb(CausalTransformer(16, 16, vocabulary=16, positions=scheme, **sizes), 0.3, seed)


@torch.no_grad()
def far(page, model, scheme, size, window=None, first=0):
    """The largest error of the logits and of all weights, with a window and counted from `first`."""
    ids = torch.randint(16, (1, size[-1]), generator=torch.Generator().manual_seed(1))
    told = {"weights": arrays(model), "positions": scheme, "heads": size[1], "ids": ids[0].tolist()}
    found = page.evaluate(READ, told | {"options": {"first": first, "window": window}})
    scheme_of = model.stack.positions
    if first and isinstance(scheme_of, Sinusoidal | Learned):
        own = scheme_of.embed
        scheme_of.embed = lambda x, _: own(x, first)
    with record_attention(model) as seen, attention_window(model, window) if window else nullcontext():
        logits, _ = model(ids)
    weights = torch.stack([a[0] for _, a in seen])
    return max(error(found["logits"], logits), error(found["looks"], weights))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_model_is_the_librarys(live, double, scheme):
    page = live("arithmetic", "attention", "schemes")
    assert page.evaluate("() => RTX.SCHEMES") == list(SCHEMES)
    for size in SIZES:
        assert far(page, made(scheme, size), scheme, size) < BAR, size
    assert far(page, made(scheme, SIZES[2]), scheme, SIZES[2], window=6) < BAR
    assert far(page, made(scheme, SIZES[2]), scheme, SIZES[2], first=64) < BAR


@pytest.fixture
def page(widget):
    return widget("positions")


def test_a_typed_sequence_is_answered_another_scheme_answers_otherwise_and_no_symbols_are_left_out(page):
    page.locator(".positions-typed").fill("0123456789abcdef0 zz 12")
    cells = page.locator(".positions-strip span")
    assert cells.count() == 19
    assert cells.nth(3).inner_text().split() == ["3", "·"]
    said = page.locator(".live-task").first
    assert said.inner_text().startswith("rotary, 19 symbols:")
    first = cells.all_inner_texts()
    page.get_by_label("sinusoidal").check()
    page.wait_for_function("document.querySelector('.live-task').textContent.startsWith('sinusoidal')")
    assert cells.all_inner_texts() != first
    page.locator(".positions-typed").fill("01x23y45 67")
    page.wait_for_function("document.querySelector('.live-task').textContent.endsWith(' Left out: x y')")
    page.get_by_role("button", name="Draw a new sequence").click()
    page.wait_for_function("!document.querySelector('.live-task').textContent.includes('Left out')")


def test_a_position_is_chosen_by_key_and_by_click(page):
    page.locator(".positions-typed").fill("0123456789abcdef")
    slider = page.locator(".positions-place input")
    slider.press("Home")
    assert slider.get_attribute("aria-valuetext").startswith("0: nothing is due yet")
    page.locator(".positions-strip span").nth(9).click()
    where = page.locator(".live-task").nth(1)
    assert where.inner_text().startswith("Position 9:") and "of block 1" in where.inner_text()
    assert page.locator(".positions-due").get_attribute("data-i") == "4"
    page.get_by_label("head").select_option("0 1")
    assert "Head 2 of block 1" in where.inner_text()


def test_a_long_sequence_is_judged_before_and_behind_the_trained_length(page):
    page.get_by_label("length").first.press("End")
    page.wait_for_function("document.querySelectorAll('.positions-strip span').length === 256")
    assert "from there on" in page.locator(".live-task").first.inner_text()
    assert len(page.locator(".positions-typed").input_value()) == 256
    page.get_by_label("window").press("End")
    page.wait_for_function("document.querySelectorAll('.positions-strip span').length === 256")


def test_fresh_sequences_are_counted_at_every_position(page):
    page.get_by_role("button", name="Test 20").click()
    page.wait_for_function("document.querySelector('[role=status]').textContent.includes('fresh sequences of 24')")
    assert page.locator(".live-chart .live-line.positions-rotary").count() == 1
    assert page.evaluate("document.activeElement.textContent") == "Test 20 fresh sequences"
    page.get_by_label("count from").press("End")
    page.get_by_role("button", name="Test 20").click()
    page.wait_for_function("document.querySelector('[role=status]').textContent.includes('from 128')")
    assert page.locator(".live-chart .live-line.positions-rotary").count() == 2
