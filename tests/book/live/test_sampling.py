"""From probabilities to text in the page: the cuts beside the library's draws, Shannon's bounds, and both panels."""

import math
import re

import pytest
import torch
from live.parity import BAR, arrays, disturb, error, script
from live.widgets import GIVEN, LETTERS, V, press, status

from rtx_lib.diagnostics.context import stream_losses
from rtx_lib.layers import LSTM, Readout, sample

PARTS = ("arithmetic", "recurrent", "reading", "sampling", "guessing")
WAYS = [{}, {"top": 1}, {"temperature": 0.4}, {"temperature": 3.0, "top": 5}, {"top_p": 0.5}, {"top_p": 0.01}]
WAYS += [{"temperature": 1.7, "top": 9, "top_p": 0.8}, {"top": V + 20}]


def drawn_from(monkeypatch, logits, **way):
    """By id, the probabilities from which the library draws the next symbol."""
    seen, draw = [], torch.multinomial
    monkeypatch.setattr(torch, "multinomial", lambda p, *rest, **more: seen.append(p[0]) or draw(p, *rest, **more))
    model = lambda ids, state: (logits.expand(1, ids.shape[1], -1), None)  # noqa: E731
    sample(model, torch.zeros(1, 1, dtype=torch.int64), 1, generator=torch.Generator(), **way)
    monkeypatch.undo()
    order = logits.sort(descending=True, stable=True).indices[: len(seen[0])]
    return torch.zeros_like(logits).scatter(0, order, seen[0] / seen[0].sum())


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_what_is_cut_is_what_the_library_cuts(live, double, monkeypatch, way):
    logits = torch.randn(20, generator=torch.Generator().manual_seed(0), dtype=torch.float64).mul(2).round(decimals=1)
    given = {"topP" if name == "top_p" else name: value for name, value in way.items()}
    cut = "({logits, given}) => lists(RTX.cut(Float64Array.from(logits), given))"
    found = live(*PARTS).evaluate(cut, {"logits": logits.tolist(), "given": given})
    wanted = drawn_from(monkeypatch, logits, **way)
    assert error(found["p"], wanted) < BAR and found["kept"] == int((wanted > 0).sum())
    assert error(found["whole"], (logits / way.get("temperature", 1)).softmax(-1)) < BAR
    assert found["order"] == logits.sort(descending=True, stable=True).indices.tolist(), "equal ones too"


def test_a_text_grows_and_shrinks_and_a_dart_falls_by_the_shares(live, double):
    model, ids = disturb(Readout(LSTM(V, 6), V), 0.4), [1, 2, 3, 0, 5, 7, 2]
    found = live(*PARTS).evaluate(script("sampling-text"), {"weights": arrays(model), "ids": ids})
    bits = stream_losses(model, torch.tensor(ids), segment=7)[1:] / math.log(2)
    assert error(found["bits"][1:], bits) < BAR and error(found["logits"], model(torch.tensor([ids]))[0][0, -1]) < BAR
    assert found["falls"] == [2, 2, 0, 0] and found["entropy"] == 1.5


def test_shannons_bounds_hold_the_entropy_of_a_known_source(live):
    """A guesser who knows the source: its mean entropy, computed directly, lies between; and both bounds by hand."""
    p = torch.rand(500, 9, generator=torch.Generator().manual_seed(1), dtype=torch.float64).pow(4)
    p = (p / p.sum(1, keepdim=True)).sort(descending=True).values  # row by row, what is guessed first
    q, truth = p.mean(0), float(-(p * p.log2()).sum(1).mean())
    ask = "(counts) => RTX.shannonBounds(counts)"
    page = live(*PARTS)
    found = page.evaluate(ask, (1e6 * q).tolist())
    uniform = [(i * (q[i - 1] - (q[i] if i < 9 else 0)), math.log2(i)) for i in range(1, 10)]  # a mixture of them is q
    assert abs(sum(w for w, _ in uniform) - 1) < 1e-12
    assert abs(found["lower"] - sum(w * bits for w, bits in uniform)) < 1e-9
    assert abs(found["upper"] + float((q * q.log2()).sum())) < 1e-9
    assert found["lower"] < truth < found["upper"]
    assert page.evaluate(ask, [0, 4, 0, 0]) == {"lower": 0, "upper": 0}, "always the second: as good as the first"
    assert page.evaluate(ask, [2, 2]) == {"lower": 1, "upper": 1}


def test_capitals_and_small_letters_are_one_symbol_and_ranks_are_counted(live):
    found = live(*PARTS).evaluate(
        """() => {
          const symbols = new RTX.Symbols(' ABab'), p = symbols.merge([0.1, 0.2, 0.1, 0.25, 0.35])
          return {names: symbols.names, of: symbols.of, p: lists(p), ranks: [0, 1, 2].map((k) => RTX.rank(p, k))}
        }"""
    )
    assert found["names"] == [" ", "a", "b"] and found["of"] == [0, 1, 2, 1, 2]
    assert error(found["p"], [0.1, 0.45, 0.45]) < 1e-12
    assert found["ranks"][0] == 3 and sorted(found["ranks"]) == [1, 2, 3]


def test_a_rule_is_drawn_and_letters_are_picked_drawn_and_taken_back(widget):
    page = widget("choose", context={"reduced_motion": "reduce"})
    torch.manual_seed(0)
    model = GIVEN["choose"]()["models"]["LSTM"]
    p = model(torch.tensor([[LETTERS.index(c) for c in "abc d"]]))[0][0, -1].softmax(-1).detach()
    items = page.locator(".choose-list button")
    first = LETTERS[int(p.argmax())]
    name = {"\n": "new line", " ": "space"}.get(first, f"“{first}”")
    assert items.first.get_attribute("aria-label").startswith(f"{name}: the model {100 * float(p.max()):.0f} %")
    page.get_by_label("top-k").check()
    page.get_by_label("Top k").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert page.locator(".choose-out").count() == V - 2 and not page.get_by_label("Top p").is_visible()
    kept = p.sort(descending=True).values[:2]
    assert f"now {100 * float(kept[0] / kept.sum()):.0f} %" in items.first.get_attribute("aria-label")
    page.get_by_label("greedy").check()
    press(page, "Draw one")
    text = lambda: page.locator(".choose-text").text_content().replace("⏎", "")  # noqa: E731
    assert text() == f"abc d{first}" and "taken, which the model gave" in status(page)
    items.first.focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement === document.querySelectorAll('.choose-list button')[1]")
    page.keyboard.press("f")
    assert text() == f"abc d{first}f" and status(page).startswith("“f” picked")
    press(page, "Take one back")
    assert text() == f"abc d{first}"
    press(page, "Let it write")
    page.get_by_text("It wrote: ").wait_for()
    told = page.locator(".live-task").inner_text()
    assert re.search(r"Written: 201, at \d\.\d\d bits each for the model\. \d+ % of its", told)
    page.get_by_label("It begins with").fill("f?e")
    assert text() == "fe"


def test_a_hidden_text_is_guessed_and_the_model_guesses_too(widget):
    page = widget("guess")
    torch.manual_seed(0)
    model, text = GIVEN["guess"]()["models"]["LSTM"], "abc fed"
    p = model(torch.tensor([[LETTERS.index(c) for c in text]]))[0][0].softmax(-1).detach()
    right = [LETTERS.index(c) for c in text[4:]]
    ranks = [1 + int((row > row[k]).sum()) for row, k in zip(p[3:], right, strict=False)]
    bits = [-math.log2(float(row[k])) for row, k in zip(p[3:], right, strict=False)]
    field = page.get_by_label("Your guess")
    answers = [("a", "Not “a”."), ("a", "“a” was tried already"), ("x", "“x” never comes"), ("Enter", "Not new line")]
    for key, said in answers:
        field.press(key)
        assert status(page).startswith(said)
    field.press("F")  # a capital counts as the small letter
    assert status(page).startswith("“f” in 3 guesses. The model had it")
    assert page.locator(".guess-found li").all_inner_texts() == [f"f\n3\n{ranks[0]}"]
    field.press("e")
    press(page, "Let the model guess on")
    assert "in 1 guess" in status(page) or "with the model" in status(page)
    assert page.locator(".guess-text").inner_text().startswith(text)
    assert page.locator(".guess-field:focus:read-only").count()
    assert f"the model paid {sum(bits) / 3:.2f}." in status(page)
    cells = page.locator(".guess-table tbody tr").all_inner_texts()
    assert cells[1].split("\t")[1:] == [f"{(3 + 1 + ranks[2]) / 3:.1f}", f"{sum(ranks) / 3:.1f}"]
    press(page, "Another passage")
    assert page.evaluate("document.activeElement.className") == "guess-field" and "begins “cab ”" in status(page)
    assert page.locator(".guess-table caption").inner_text().startswith("3 characters so far"), "it is kept"
    assert page.get_by_role("button", name="Another passage").is_disabled()
