"""The memory network of the page is the library's, and what the panel tells of a story is so."""

import pytest
import torch
from live.parity import BAR, arrays, disturb, error
from live.widgets import GIVEN, press

from rtx_lib.diagnostics.attention import record_attention
from rtx_lib.models import MemoryNetwork

PARTS = ("arithmetic", "memory")
READ = "({weights, sizes, own}) => lists(new RTX.MemoryNetwork(matrices(weights), sizes).read(...own))"
SIZES = {"vocabulary": 9, "length": 4, "memory": 5}


def far(page, hops, sentences):
    """The largest error of the logits and of all weights, for a story of so many sentences of one to four words."""
    torch.manual_seed(hops)
    model = disturb(MemoryNetwork(9, sentence_length=4, memory_size=5, width=7, hops=hops), 0.4)
    story = [torch.randint(1, 9, (1 + i % 4,)).tolist() for i in range(sentences)]
    question = torch.randint(1, 9, (1, 3))
    with torch.no_grad(), record_attention(model.eval()) as seen:
        logits = model((torch.tensor([[row + [0] * (4 - len(row)) for row in story]]), question))[0]
    found = page.evaluate(READ, {"weights": arrays(model), "sizes": SIZES, "own": [story, question[0].tolist()]})
    return max(error(found["logits"], logits), error(found["hops"], torch.cat([weights for _, weights in seen], 1)))


@pytest.mark.parametrize(("hops", "sentences"), [(1, 1), (3, 5)])
def test_answers_and_hops_are_the_librarys(live, double, hops, sentences):
    assert far(live(*PARTS), hops, sentences) < BAR


@torch.no_grad()
def answer(lines, asked):
    torch.manual_seed(0)  # as the page's
    given = GIVEN["story"]()
    rows = [[given["words"].index(word) for word in line.split()] for line in [*lines, asked]]
    padded = torch.tensor([[row + [0] * (5 - len(row)) for row in rows]])
    p = given["models"]["network"].eval()((padded[:, :-1], padded[:, -1]))[0][0, 0].softmax(-1)
    return f"It answers “{given['words'][p.argmax()]}” ({100 * p.max():.0f} %)."


def test_a_reader_writes_and_moves_sentences_and_hears_what_cannot_be_read(widget):
    page, (lines, asked) = widget("story"), GIVEN["story"]()["stories"][0]
    box, rows = page.get_by_label("The story, one sentence a line"), page.locator(".story-reads tbody th")

    def said():
        return page.locator(".live-task").first.inner_text().replace("\u00a0", " ")

    assert said().startswith(answer(lines, asked)) and rows.all_inner_texts() == [*lines, "(empty slots)"]
    page.get_by_role("button", name=f"Move “{lines[1]}” up").click()
    moved = [lines[1], lines[0], lines[2]]
    assert rows.all_inner_texts()[:3] == moved and said().startswith(answer(moved, asked))
    box.fill("Anna took the BALL.\n\nBert walked to the hall.")
    assert said().startswith(answer(["Anna took the ball", "Bert walked to the hall"], asked))
    for text, fault in {
        "": "A story and a question, please.",
        "Anna took the milk": "It does not know “milk”.",
        "Anna took the ball\n" * 11: "It remembers 10 sentences, not 11.",
        "Anna took the ball to the hall": "A sentence has at most 5 words.",
    }.items():
        box.fill(text)
        assert said() == f"{fault} The last valid input is shown." and rows.count() == 3
    press(page, "Another story")
    assert page.get_by_label("The question").input_value() == "Where is the lamp"
    page.get_by_label("The question").fill("Where is the milk")
    assert page.locator("[aria-invalid=true]").input_value() == "Where is the milk", "the story is as it should be"
