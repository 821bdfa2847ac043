"""A text learned in the page: its gradients are torch's, its file is `rtx_lib.load`'s; and what is said to any text."""

import torch
import torch.nn.functional as F
from live.parity import BAR, error, errors, script
from live.widgets import press

from rtx_lib import TextTask, generate, load

TEXT = "né 🙂 שלום\nab c\n" * 60


def test_the_file_is_read_and_goes_on_as_the_page_does(live, tmp_path):
    parts = ("random", "cells", "arithmetic", "recurrent", "reading", "own-text", "own-file")
    loss, gradients, weights, logits, file = live(*parts).evaluate(script("own-run"), TEXT)
    (tmp_path / "own.safetensors").write_bytes(bytes(file))
    model, task = load(tmp_path / "own.safetensors")
    ids, own = task.encode(TEXT), TextTask(text=TEXT, length=48)
    assert task.configuration() == own.configuration() and task.decode(ids) == TEXT
    assert error(logits, model(ids[None, :90])[0]) < 1e-5 and len(generate(model, task, "", 20)) >= 20
    for name, parameter in model.double().named_parameters():
        parameter.data = torch.tensor(weights[name], dtype=torch.float64).view_as(parameter)
    windows = torch.stack([ids[k : k + 49] for k in (0, 7, 30)])
    wanted = F.cross_entropy(model(windows[:, :-1])[0].mT, windows[:, 1:])
    wanted.backward()
    assert error([loss], wanted) < BAR
    assert max(errors(gradients, {name: one.grad for name, one in model.named_parameters()}).values()) < BAR


def test_it_learns_writes_and_hands_its_file_over(widget, tmp_path):
    page = widget("own")
    press(page, "Train")
    page.wait_for_function("document.querySelector('[role=status]').innerText.includes('Paused after 1 seconds')")
    with page.expect_download() as got:
        press(page, "Download the weights")
    assert load(got.value.path())[1].symbols == " ,;abcde"
    assert page.locator(".own-written").inner_text()
    page.get_by_label("or a file").set_input_files({"name": "a", "mimeType": "text/plain", "buffer": b"ab" * 2**21})
    page.wait_for_function("(n => n > 9e5 && n < 1.1e6)(document.querySelector('textarea').value.length)")
    for text, said in (("", "no text"), ("ab" * 99, "too few"), ("🙂" * 5000, "1 diff"), ("שלום" * 2500, "10,000")):
        page.get_by_label("Your text").fill(text)
        page.wait_for_function("(said) => document.querySelector('.live-task').innerText.includes(said)", arg=said)
        assert page.get_by_role("button", name="Train", exact=True).is_disabled() == (said in ("no text", "too few"))
