"""The memory network of the page is the library's, and what the panel tells of a story is so."""

import pytest
import torch
from live.parity import BAR, arrays, disturb, error
from live.widgets import GIVEN, press

from rtx_lib.diagnostics.attention import record_attention
from rtx_lib.models import MemoryNetwork

PARTS = ("arithmetic", "memory")
READ = """({weights, sizes, story, question}) =>
  lists(new RTX.MemoryNetwork(matrices(weights), sizes).read(story, question))"""


def far(page, hops, sentences):
    """The largest error of the logits and of all weights, for a story of so many sentences of one to four words."""
    torch.manual_seed(hops)
    model = disturb(MemoryNetwork(9, sentence_length=4, memory_size=5, width=7, hops=hops), 0.4)
    story = [torch.randint(1, 9, (1 + i % 4,)).tolist() for i in range(sentences)]
    padded = torch.tensor([[row + [0] * (4 - len(row)) for row in story]])
    question = torch.randint(1, 9, (1, 3))
    with torch.no_grad(), record_attention(model.eval()) as seen:
        logits = model((padded, question))[0]
    told = {"weights": arrays(model), "sizes": {"vocabulary": 9, "length": 4, "memory": 5}}
    found = page.evaluate(READ, told | {"story": story, "question": question[0].tolist()})
    return max(error(found["logits"], logits), error(found["hops"], torch.cat([weights for _, weights in seen], 1)))


@pytest.mark.parametrize("hops", [1, 3])
@pytest.mark.parametrize("sentences", [1, 5])
def test_answers_and_hops_are_the_librarys(live, double, hops, sentences):
    assert far(live(*PARTS), hops, sentences) < BAR


@pytest.mark.parametrize(
    "slip", [("story.length - 1 - i", "i"), ("vector(k + 1,", "vector(k,"), ("J + 1) / 2", "J) / 2")]
)
def test_a_planted_slip_is_seen(live, double, slip):
    assert far(live(*PARTS, slips={"memory": slip}), 2, 3) > 1e3 * BAR


def said(page):
    return page.locator(".story-box").locator("xpath=preceding-sibling::p[1]").inner_text().replace("\u00a0", " ")


@torch.no_grad()
def answer(lines, asked):
    torch.manual_seed(0)  # as the page's
    given = GIVEN["story"]()
    words, net = given["words"], given["models"]["network"].eval()
    rows = [[words.index(word) for word in line.split()] for line in [*lines, asked]]
    padded = torch.tensor([[row + [0] * (5 - len(row)) for row in rows]])
    p = net((padded[:, :-1], padded[:, -1]))[0][0, 0].softmax(-1)
    return f"It answers “{words[p.argmax()]}” ({100 * p.max():.0f} %)."


def test_a_reader_writes_and_moves_sentences(widget):
    page, (lines, asked) = widget("story", form="float16"), GIVEN["story"]()["stories"][0]
    assert said(page).startswith(answer(lines, asked))
    assert page.locator(".story-reads tbody th").all_inner_texts() == [*lines, "(empty slots)"]
    page.get_by_role("button", name=f"Move “{lines[1]}” up").click()
    assert page.locator(".story-reads tbody th").all_inner_texts()[:2] == [lines[1], lines[0]]
    assert said(page).startswith(answer([lines[1], lines[0], lines[2]], asked))
    page.get_by_label("The story, one sentence a line").fill("Anna took the BALL.\n\nBert walked to the hall.")
    assert said(page).startswith(answer(["Anna took the ball", "Bert walked to the hall"], asked))
    press(page, "Another story")
    assert page.get_by_label("The question").input_value() == "Where is the lamp"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "A story and a question, please."),
        ("Anna took the milk", "It does not know “milk”."),
        ("Anna took the ball\n" * 11, "It remembers 10 sentences, not 11."),
        ("Anna took the ball to the hall", "A sentence has at most 5 words."),
    ],
)
def test_what_it_cannot_read_is_told_and_the_last_answer_stays(widget, text, fault):
    page = widget("story")
    page.get_by_label("The story, one sentence a line").fill(text)
    assert said(page) == f"{fault} Shown is what stood there before."
    assert page.locator(".story-reads tbody tr").count() == 4
