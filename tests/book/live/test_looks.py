"""The page's structured self-attention is the library's, and what the panel tells of a sentence is so."""

import pytest
import torch
from live.parity import BAR, arrays, disturb, error
from live.widgets import GIVEN, press

from rtx_lib.diagnostics.attention import record_attention
from rtx_lib.layers.classifier import SentenceClassifier, StructuredAttention, WordConvolution
from rtx_lib.tasks import GeneratedSentiment

READ = "({weights, ids}) => lists({...new RTX.Looks(matrices(weights)).read(ids)})"


@torch.no_grad()
def looked(model, ids):
    """A (r, T), and the logits, of one sentence."""
    with record_attention(model.eval()) as seen:
        logits = model(ids[None])[0][0, 0]
    return seen[0][1][0], logits


@pytest.mark.parametrize(("hops", "length"), [(1, 1), (3, 2), (4, 9)])
def test_looks_and_verdict_are_the_librarys(live, double, hops, length):
    torch.manual_seed(hops)
    pool = StructuredAttention(9, 5, hops)
    model = disturb(SentenceClassifier(11, 3, width=7, reader=WordConvolution(7, 3), pool=pool), 0.4)
    ids = torch.randint(1, 11, (length,))
    found = live("arithmetic", "looks").evaluate(READ, {"weights": arrays(model), "ids": ids.tolist()})
    A, logits = looked(model, ids)
    assert error(found["A"], A) < BAR and error(found["logits"], logits) < BAR


def test_a_reader_writes_a_sentence_switches_the_penalty_and_hears_of_a_strange_word(widget):
    page, task = widget("looks"), GeneratedSentiment()
    torch.manual_seed(0)  # as the page's
    given = GIVEN["looks"]()
    rows, box = page.locator(".looks-rows li"), page.get_by_label("Your sentence")

    def told(text, name):
        A, logits = looked(given["models"][name], task.encode(text))
        p, (i, j) = logits.softmax(-1), torch.triu_indices(len(A), len(A), 1)
        cosine = torch.cosine_similarity(A[i], A[j]).mean()
        verdict = f"Verdict: {given['verdicts'][p.argmax()]} ({100 * p.max():.0f} %)."
        cells = zip(text.split(), A[0].tolist(), strict=True)
        shares = "".join(f"{word}{100 * a:.0f} %" if a >= 0.1 else word for word, a in cells)
        return [f"{verdict} Mean cosine of two looks: {cosine:.2f}.", f"look 1{shares}"]

    def said():
        texts = page.locator(".live-task").inner_text(), rows.first.text_content()
        return [text.replace("\u00a0", " ") for text in texts]

    short, long = given["examples"].values()
    assert said() == told(short, "without the penalty") and rows.count() == 4
    page.get_by_label("with the penalty").check()
    assert said() == told(short, "with the penalty")
    press(page, "long")
    assert said() == told(long, "with the penalty") and box.input_value() == long
    for text, fault in {" ": "A sentence, please.", "the zebra is": "It does not know “zebra”."}.items():
        box.fill(text)
        wanted = told(long, "with the penalty")
        assert said() == [f"{fault} The last valid input is shown. {wanted[0]}", wanted[1]]
    box.fill("The film is GREAT.")
    assert said() == told("the film is great", "with the penalty")
