"""The page's Neural GPU beside the library's, its sums beside the task's, and the widget in use."""

import pytest
import torch
from live.parity import BAR, arrays, disturb, errors
from live.widgets import cells, press, status

from rtx_lib.models.neural_gpu import NeuralGPU
from rtx_lib.tasks.binary_addition import BinaryAddition

PARTS = ("arithmetic", "neural-gpu", "addition")
SIZES = [  # the library's network, places
    ({}, 9),
    ({"width": 1, "channels": 1, "layers": 1}, 1),
    ({"width": 5, "channels": 3, "layers": 3, "kernel_size": 5}, 6),
    ({"width": 4, "channels": 16}, 33),
]
RUN = """({weights, width, ids}) => {
  const steps = new RTX.NeuralGPU(matrices(weights), {width}).run(ids)
  return {images: steps.flatMap(({image}) => [...image]), logits: lists(steps.at(-1).logits).flat()}
}"""


def made(**options):
    torch.manual_seed(0)
    return disturb(NeuralGPU(5, 2, **{"channels": 8, **options}), 0.3)


@torch.no_grad()
def far(page, net, places, seed=1):
    """The largest error of all images and of the answer."""
    ids = torch.randint(1, 5, (1, places), generator=torch.Generator().manual_seed(seed))
    found = page.evaluate(RUN, {"weights": arrays(net), "width": net.width, "ids": ids[0].tolist()})
    return max(errors(found, {"images": net.images(ids)[:, 0], "logits": net(ids)[0]}).values())


@pytest.mark.parametrize(("options", "places"), SIZES)
def test_the_pages_network_is_the_librarys(live, double, options, places):
    assert far(live(*PARTS), made(**options), places) < BAR


def test_the_page_asks_and_adds_as_the_task_does(live):
    page, pairs = live(*PARTS), [(0, 0), (1, 1), (13, 7), (255, 1), (200, 255), (2**32 - 1, 2**32 - 1), (2**31, 5)]
    for a, b in pairs:
        x, y = BinaryAddition(max(a.bit_length(), b.bit_length(), 1)).sums([(a, b)])
        found = page.evaluate("([a, b]) => RTX.addition(a, b)", [a, b])
        assert found["ids"] == x[0].tolist() and found["digits"] == y[0].tolist() and found["n"] == x.shape[1]
        assert page.evaluate("(digits) => RTX.fromDigits(digits)", found["digits"]) == a + b


@pytest.mark.parametrize("carry", [1, 2, 6])
def test_carries_are_counted_as_the_task_plants_them(live, carry):
    page, (x, _) = live(*PARTS), next(BinaryAddition(8, carry=carry).batches("test", 20))
    for row in x - 1:
        a, b = (sum(int(digit) << i for i, digit in enumerate(side)) for side in (row % 2, row // 2))
        assert page.evaluate("([a, b]) => RTX.addition(a, b).far", [a, b]) == carry


TYPED = {
    "": "is missing", "  ": "is missing", "-3": "is negative", "−3": "is negative", "seven": "is not a whole number",
    "1.5": "is not a whole number", "1,5": "is not a whole number", "1e3": "is not a whole number",
    "4294967296": "has more than 32 bits", "9" * 40: "has more than 32 bits", "0x10": "is not a whole number",
    "0": 0, "007": 7, " 1 000 ": 1000, "4294967295": 2**32 - 1, "4,294,967,295": 2**32 - 1,
}  # fmt: skip


def test_what_is_typed_is_a_number_or_is_told_why_not(live):
    found = live(*PARTS).evaluate("(texts) => texts.map((text) => RTX.whole(text))", list(TYPED))
    assert found == [{"fault": said} if isinstance(said, str) else {"value": said} for said in TYPED.values()]


def row(page, name):
    return "".join(cells(page, name))


def typed(page, first, second):
    """Type both numbers at one moment, or the page may speak of the first one alone, and wait for what is said."""
    before = status(page)
    fields = [page.get_by_label(f"{which} number").element_handle() for which in ("First", "Second")]
    script = """typed => typed.forEach(([field, text]) => {
      field.value = text
      field.dispatchEvent(new Event('input', {bubbles: true}))
    })"""
    page.evaluate(script, [list(one) for one in zip(fields, (first, second), strict=True)])
    page.wait_for_function("(before) => document.querySelector('[role=status]').innerText !== before", arg=before)
    return status(page)


INK = """(canvas) => {  // how many points of each tenth of the height are drawn in
  const {data, width, height} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
  const found = Array(10).fill(0)
  for (let p = 3; p < data.length; p += 4) if (data[p]) found[Math.floor((p - 3) / 4 / width / height * 10)]++
  return found
}"""


def test_digits_stand_place_below_place_and_wrong_ones_are_marked(widget):
    page = widget("adder")
    assert status(page).startswith("12 + 3 = 15. It answers 15: right. Its answer stays from step 0 of 5 on.")
    assert "carry" not in status(page) and "longer" not in status(page)
    rows = [row(page, name) for name in ("first", "second", "it says", "wrong", "sum")]
    assert rows == ["01100", "00011", "01111", "", "01111"]
    assert typed(page, "5", "3").startswith("5 + 3 = 8. It answers 6: wrong at 3 places of 4.")
    assert "The longest carry passes through 2 places." in status(page)
    assert row(page, "carry") == "1110" and row(page, "wrong") == "✗✗✗"
    assert row(page, "it says") == "0110" and row(page, "sum") == "1000"
    assert page.locator(".adder-bad").count() == 3


def test_longer_numbers_than_trained_and_long_carries_are_said_to_be_so(widget):
    page = widget("adder")
    assert "0 to 15" in page.locator(".live-task").inner_text()
    press(page, "255 + 1")
    assert "Numbers of 8 bits are longer than any of its training." in status(page)
    press(page, "Any two of 4 bits")
    assert "longer" not in status(page)
    assert all(8 <= int(page.get_by_label(f"{which} number").input_value()) < 16 for which in ("First", "Second"))
    press(page, "4,294,967,295 + 1")
    assert len(row(page, "sum")) == 33 and status(page).startswith("4,294,967,295 + 1 = 4,294,967,296.")
    for _ in range(3):
        press(page, "A carry through 12 places")
        assert "The longest carry passes through 12 places." in status(page) and "= 8,192." in status(page)


def test_what_is_no_number_is_named_and_nothing_is_shown_for_it(widget):
    page = widget("adder")
    faults = "The first number is not a whole number. The second number is negative."
    assert typed(page, "seven", "-3") == f"{faults} It takes whole numbers from 0 to 4,294,967,295."
    assert page.locator("table").is_hidden() and page.get_by_role("slider").is_hidden()
    assert page.get_by_label("First number").get_attribute("aria-invalid") == "true"
    assert "second number is missing" in typed(page, "7", "")
    assert page.get_by_label("First number").get_attribute("aria-invalid") == "false"
    assert "has more than 32 bits" in typed(page, "4294967296", "1")
    assert typed(page, "1 000", "0").startswith("1,000 + 0 = 1,000.") and page.locator("table").is_visible()


def test_the_film_is_scrubbed_by_keyboard_and_grows_band_by_band(widget):
    page = widget("adder")
    step, film = page.get_by_role("slider", name="Step"), page.locator("canvas")
    page.get_by_label("Colour").select_option("size of all channels")
    assert step.get_attribute("aria-valuetext") == "5 of 5: it says 0 1 1 1 1, all right"
    assert all(film.evaluate(INK)[k] for k in (0, 9))
    step.press("Home")
    assert step.get_attribute("aria-valuetext").startswith("0 of 5")
    assert film.get_attribute("aria-label").endswith("It holds the input.")
    drawn = film.evaluate(INK)
    assert drawn[0] and not any(drawn[2:])
    step.press("ArrowRight")
    assert film.evaluate(INK)[2] and film.get_attribute("aria-label").endswith("Step 1 changes nothing.")
    for view in ("what the step changed", "its answer so far", "channel 1", "channel 3"):
        page.get_by_label("Colour").select_option(view)
        assert view in film.get_attribute("aria-label")
    film.evaluate("canvas => { canvas.width = 9; document.documentElement.dataset.theme = 'dark' }")
    page.wait_for_function("document.querySelector('canvas').width > 9")  # painted anew, in the inks of the theme


def test_it_plays_to_the_end_and_stops_when_asked(widget):
    page = widget("adder")
    press(page, "Play")
    page.get_by_role("button", name="Pause", exact=True).wait_for()
    page.wait_for_function("document.querySelector('input[type=range]').value === '5'")
    page.get_by_role("button", name="Play", exact=True).wait_for()
    press(page, "Play")
    page.get_by_role("slider", name="Step").press("ArrowRight")  # a move by hand ends it
    assert page.get_by_role("button", name="Play", exact=True).is_visible()
