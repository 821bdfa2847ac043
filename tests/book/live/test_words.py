"""The translator of the page beside the library's, for every form of attention; its words; and the widgets in use."""

import pytest
import torch
from live.parity import BAR, arrays, disturb, error

from rtx_book.pictures.attention import FOUR_WORDS, draw_query
from rtx_lib.diagnostics.attention import record_attention
from rtx_lib.layers.decoding import greedy
from rtx_lib.models.seq2seq import ATTENTIONS, Seq2Seq
from rtx_lib.tasks import NumberWords

SIZES = [(3, 4, 1, 1), (9, 7, 8, 17), (34, 14, 6, 20)]  # vocabularies, W, H
READ = """({weights, source, target}) => {
  const model = new RTX.Translator(matrices(weights))
  return {kind: model.kind, ...lists({steps: model.read(source, target)})}
}"""
WRITE = "({weights, source, most}) => lists(new RTX.Translator(matrices(weights)).write(source, {most}))"


def made(attention, size, seed=0):
    source, target, width, hidden = size
    torch.manual_seed(seed)
    return disturb(Seq2Seq(source, target, width=width, hidden_size=hidden, attention=attention), 0.3, seed)


@torch.no_grad()
def far(page, model, words=7, symbols=6):
    """The largest error of the logits and of the weights."""
    generator = torch.Generator().manual_seed(1)
    source = torch.randint(1, model.input_size, (1, words), generator=generator)
    target = torch.randint(model.output_size, (1, symbols), generator=generator)
    told = {"weights": arrays(model), "source": source[0].tolist(), "target": target[0].tolist()}
    found = page.evaluate(READ, told)
    if model.attention is None:
        assert found["kind"] is None and all(step["a"] is None for step in found["steps"])
        return error([step["logits"] for step in found["steps"]], model((source, target))[0])
    with record_attention(model) as seen:
        logits, _ = model((source, target))
    wrong = [error([step["logits"] for step in found["steps"]], logits)]
    return max([*wrong, error([step["a"] for step in found["steps"]], seen[0][1])])


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_the_translator_is_the_librarys(live, double, attention):
    page = live("arithmetic", "translator")
    for size in SIZES:
        assert far(page, made(attention, size)) < BAR, size
        assert far(page, made(attention, size), words=1, symbols=1) < BAR, size


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_it_writes_what_greedy_decoding_writes(live, double, attention):
    page, model = live("arithmetic", "translator"), made(attention, (34, 14, 8, 12), seed=3)
    for seed in range(4):
        source = torch.randint(1, 34, (1, 9), generator=torch.Generator().manual_seed(seed))
        wanted = greedy(model, source, start=1, end=2, max_length=20)[0].tolist()
        found = page.evaluate(WRITE, {"weights": arrays(model), "source": source[0].tolist(), "most": 20})
        assert [one["symbol"] for one in found] == wanted
        assert all(0 < one["p"] <= 1 for one in found)


def test_the_page_says_and_reads_numbers_as_the_task_does(live):
    page, task = live("arithmetic", "translator"), NumberWords((1, 1))
    (source, _), _ = task.sentences([[n] for n in range(1000)])
    wanted = [task.decode(row, "source") for row in source]
    assert page.evaluate("() => Array.from({length: 1000}, (_, n) => RTX.sayNumber(n))") == wanted
    read = "(text) => RTX.numbersIn(RTX.numberWords(text))"
    assert page.evaluate(read, ", ".join(wanted)) == list(range(1000))
    assert page.evaluate(read, "Forty-two,SEVEN") == [42, 7]
    for text in ("", "seven,", "seven eight", "dozen", "hundred", "two thousand", "one hundred and one"):
        assert page.evaluate(read, text) is None, text


def test_weights_and_what_passes_are_torchs(live, double):
    page = live("arithmetic", "scores")
    for seed in range(6):
        scores = torch.randn(8, generator=torch.Generator().manual_seed(seed)) * 3
        for width, scaled, temperature in ((1, True, 1), (64, False, 1), (64, True, 0.2), (1024, False, 5.0)):
            told = {"width": width, "scaled": scaled, "temperature": temperature}
            found = page.evaluate("([s, o]) => lists(RTX.weigh(s, o))", [scores.tolist(), told])
            e = (scores * (1 if scaled else width**0.5) / temperature).requires_grad_()
            a = e.softmax(-1).detach()
            off = 1 - torch.eye(8)  # 1 - a is the sum of the others: nothing cancels
            exact = (torch.diag(a * (off @ a)) - off * torch.outer(a, a)).norm()
            slope = torch.autograd.functional.jacobian(lambda e: e.softmax(-1), e.detach())
            assert error(found["weights"], a) < BAR
            assert abs(found["passes"] - float(exact)) < 1e-9 * float(exact)
            assert abs(found["passes"] - float(slope.norm())) < 1e-12


@pytest.mark.parametrize("chapter", FOUR_WORDS)
def test_sums_of_four_words_are_torchs(live, chapter):
    told = [FOUR_WORDS[chapter][name] for name in ("query", "keys", "values")]
    (q, k, v), maps = (torch.tensor(one).double() for one in told), FOUR_WORDS[chapter].get("maps")
    for seen in (1, 4):
        how = {"scale": 2**0.5 if maps else 1, "seen": seen}
        y = (k[:seen] @ q / how["scale"]).softmax(0) @ v[:seen]
        assert error(live("query").evaluate("(given) => RTX.asked(...given).y", [*told, how]), y) < BAR
    assert error(draw_query(FOUR_WORDS[chapter]).axes[1].texts[-2].xy, y) < BAR
    q_map, v_map = (torch.tensor(maps[name]).double() for name in "qv") if maps else (None, None)
    assert not maps or ((q_map @ k[3]).equal(q) and (v_map @ k.T).equal(v.T))


def test_the_map_moves_as_words_are_typed(widget):
    page = widget("words")
    heads = page.locator(".words-map thead th")
    assert heads.all_inner_texts()[2:] == ["four", "hundred", "twelve", "comma", "seven"]
    field = page.get_by_label("Number words")
    field.press("End")
    field.type(" hundred, dozen, thousand")
    assert heads.all_inner_texts()[-4:] == ["hundred", "comma", "comma", "thousand"]
    said = page.locator(".live-task").inner_text()
    assert "no such word: dozen" in said and "thousand by name only" in said and "no numbers below 1,000" in said
    page.get_by_role("button", name="8 numbers").click()
    assert page.locator(".live-task").inner_text().count("more than it ever saw") == 1
    assert field.input_value().count(",") == 7
    page.get_by_role("button", name="Two sevens").click()
    assert heads.all_inner_texts()[2:] == ["seven", "comma", "seven"]
    page.wait_for_function("document.querySelector('[role=status]').textContent.includes('looked at')")


def test_the_other_model_looks_at_nothing_and_an_empty_field_asks_for_words(widget):
    page = widget("words")
    page.get_by_label("one vector").check()
    assert page.locator(".words-map").is_hidden() and page.locator(".words-written span").count() > 0
    page.get_by_label("Number words").fill("")
    assert page.locator(".live-task").inner_text().startswith("Type number words")
    page.get_by_label("Number words").fill("eleventy dozen")
    assert page.locator(".live-task").inner_text().startswith("It knows no such word: eleventy, dozen. Type")
    page.locator("[role=status]", has_text="It knows no such word").wait_for()
    page.get_by_label("additive attention").check()
    page.get_by_label("Number words").fill("zero")
    assert page.locator(".words-map").is_visible()


def test_scores_are_dragged_and_the_scale_softens_them(widget):
    page = widget("scores")
    said = page.locator(".live-task")
    for width, warm, times in (("5", "0", "320"), ("3", "3", "8.0")):
        page.get_by_label("width K").fill(width)
        page.get_by_label("temperature").fill(warm)
        assert f"times {times}." in said.inner_text()
    page.get_by_label("divide by √K").check()
    assert "as they stand" in said.inner_text()
    slider = page.locator(".scores-row").nth(2).locator("input")
    slider.press("End")
    assert slider.get_attribute("aria-valuetext") == "4.00" and "Key 3 takes" in said.inner_text()
    page.get_by_role("button", name="All equal").click()
    assert page.locator(".scores-row > output").all_inner_texts() == ["12.5 %"] * 8


def test_vectors_follow_keys_and_hand_and_later_words_are_hidden(widget):
    page = widget("query")
    weights, tea = page.locator(".query-weight b"), page.get_by_role("slider", name="key of tea")
    assert weights.all_inner_texts() == ["0.04", "0.00", "0.26", "0.70"]  # as the chapter says
    tea.press("ArrowRight")
    assert tea.get_attribute("aria-valuetext").startswith("(1.5, 1): score 4,")
    tea.locator(".query-ring").hover(force=True)
    page.mouse.down()
    page.mouse.move(0, 0)
    assert tea.get_attribute("aria-valuetext").startswith("(−3.4, 3.4)")
    page = widget("query", **FOUR_WORDS["transformer"], questions={})
    page.get_by_label("drank", exact=True).check()
    page.get_by_label("hide later words").check()
    assert page.locator(".query-weight b").all_inner_texts()[2:] == ["0.00", "0.00"]
