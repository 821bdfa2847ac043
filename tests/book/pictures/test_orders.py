"""Orders as pictures: the masks are the library's, the questions follow from them, and the page computes the same."""

import html
import itertools
import json
import re
import subprocess

import numpy as np
import pytest
import torch
from pages import page_checks
from support import needs

from rtx_book.build import node
from rtx_book.page.figure import beside
from rtx_book.pictures.orders import describe_order, draw_order, order_explorer, streams
from rtx_lib.tasks.orders import rank_of, seen_under

WORDS = ["New", "York", "is", "a", "city"]


def factors(words, order):
    """What is asked, step by step: the text with the words that are seen, and holes for the others."""
    query, _ = streams(order, len(words))
    seen = (" ".join(w if sees else "▢" for w, sees in zip(words, query[place], strict=True)) for place in order)
    return [f"p({words[place]} | {text})" for place, text in zip(order, seen, strict=True)]


ORDERS = [[0, 1, 2, 3, 4], [4, 3, 2, 0, 1], [0, 1], [1, 0], [3]]


@pytest.mark.parametrize("order", [*map(list, itertools.permutations(range(4))), [2], [3, 0], [1, 2, 0]])
def test_the_masks_are_those_of_the_library(order):
    """With the targets' ranks, and everything else as context."""
    rank, target = torch.zeros(1, 4, dtype=torch.int64), torch.zeros(1, 4, dtype=torch.bool)
    for place, position in enumerate(order):
        rank[0, position], target[0, position] = place, True
    seen = seen_under(rank, target)[0].numpy()
    query, content = streams(order, 4)
    assert np.array_equal(content, seen | np.eye(4, dtype=bool))
    assert np.array_equal(query, seen & target[0].numpy()[:, None])
    if len(order) == 4:
        assert torch.equal(rank, rank_of(torch.tensor([order])))


def test_what_is_said():
    assert describe_order(["a", "b"], [1, 0]) == (
        "b is predicted from nothing; a is predicted from b. In the content stream each word sees itself besides."
    )


def test_the_picture():
    fig = draw_order(WORDS, [4, 1])
    for ax, seen in zip(fig.axes, streams([4, 1], 5), strict=True):
        dots = {(int(text.get_position()[1]), int(text.get_position()[0])) for text in ax.texts}
        assert dots == set(map(tuple, np.argwhere(seen).tolist()))
    assert [label.get_text()[-1] for label in fig.axes[0].get_yticklabels()] == ["·", "2", "·", "·", "1"]


@pytest.mark.parametrize("order", ORDERS)
def test_the_page_computes_the_same(order):
    script = f"console.log(JSON.stringify(({beside('order_masks.js')})({json.dumps(WORDS)}, {order})))"
    program = node.command("node") or needs.lack("Node")
    done = subprocess.run([*program, "-e", script], capture_output=True, text=True, check=True)
    found, (query, content) = json.loads(done.stdout), streams(order, 5)
    assert found["query"] == query.tolist() and found["content"] == content.tolist()
    assert found["asked"] == factors(WORDS, order)


def test_the_explorer_holds_what_its_script_needs():
    page = order_explorer("to be & not", [2, 0], title="T").data
    found = {name: json.loads(html.unescape(text)) for name, text in re.findall(r' data-(order|most)="(.*?)"', page)}
    assert found == {"order": [2, 0], "most": 8}
    assert 'value="to be &amp; not"' in page and page.count("data-way=") == 4 and len(page) < 40_000
    said = html.escape(describe_order(["to", "be", "&", "not"], [2, 0]))
    assert '<div class="order-still">' in page and said in page


@pytest.mark.parametrize("order", [[], [1, 1], [5]])
def test_what_is_no_order_is_refused(order):
    with pytest.raises(ValueError, match="order must hold different places from 0 to 4, got"):
        draw_order(WORDS, order)


def test_the_reader_types_and_presses(browser, tmp_path):
    """On a page of its own, without a kernel: buttons, words and the field; nothing goes wrong, nothing is too wide."""
    path = tmp_path / "page.html"
    page = order_explorer("New York is a city", [4, 3, 2, 0, 1]).data
    path.write_text(f'<!doctype html><html lang="en"><meta charset="utf-8"><title>o</title><body>{page}')
    context = browser.new_context(viewport=page_checks.PHONE)
    with page_checks.visit(context, path.as_uri()) as seen:
        opened = seen.page
        assert opened.locator(".asked li").all_inner_texts() == factors(WORDS, [4, 3, 2, 0, 1])
        opened.get_by_role("button", name="choose anew").click()
        assert "No word" in opened.locator(".said").inner_text()
        opened.locator(".words button").nth(1).press("Enter")
        opened.locator(".words button").nth(0).press("Enter")
        assert opened.locator(".asked li").all_inner_texts() == factors(WORDS, [1, 0])
        assert opened.evaluate("document.activeElement.innerText").startswith("New")
        opened.get_by_role("button", name="right to left").click()
        assert opened.locator(".asked li").all_inner_texts() == factors(WORDS, [4, 3, 2, 1, 0])
        opened.locator("input").fill("cats <b> sleep")
        assert opened.locator(".asked li").all_inner_texts() == factors(["cats", "<b>", "sleep"], [0, 1, 2])
        opened.locator("input").fill("one")
        assert opened.locator(".said").inner_text() == "Write 2 to 8 words."
        assert opened.evaluate("document.documentElement.scrollWidth") <= 390
    context.close()
    assert seen.faults == [f"request to elsewhere: {path.as_uri()}"]
