"""What a model writes: the same by its state as by the whole text read again, and nothing else is touched."""

from functools import partial

import pytest
import torch
from support.helpers import drawn

from rtx_lib import GPT, LSTM, Mamba, PlainGPT, Readout, TextTask, TransformerXL, evaluate, generate
from rtx_lib.layers import MixerStack
from rtx_lib.models import PositionedTransformerXL
from rtx_lib.tasks import AddingProblem

TASK = TextTask("abcde fgh.\n" * 40, 8)
V = TASK.vocabulary
SIZE = {"width": 8, "heads": 2, "layers": 2}
MODELS = {
    "lstm": lambda: Readout(LSTM(V, 12, 2), TASK),
    "embedded": lambda: Readout(LSTM(5, 12, backend="auto"), TASK),
    "gpt": partial(GPT, V, **SIZE, length=40, dropout=0.5),
    "plain-gpt": partial(PlainGPT, V, **SIZE, length=40),
    "xl": partial(TransformerXL, V, V, **SIZE, memory=40, vocabulary=V, dropout=0.5),
    "xl-table": partial(PositionedTransformerXL, V, V, **SIZE, memory=0, vocabulary=V, positions="learned", length=40),
    "mamba": partial(MixerStack, V, V, Mamba, width=8, layers=2, vocabulary=V),
}


def make(name):
    model = drawn(0, MODELS[name]).double()
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(torch.randn_like(weight) / 3)
    return model


class Forgetful(torch.nn.Module):
    """The model without its state: it reads everything at every step."""

    def __init__(self, model):
        super().__init__()
        self.model, self.lengths = model, []

    def forward(self, x, state=None):
        assert state is None and not self.model.training
        self.lengths.append(x.shape[1])
        return self.model(x)[0], None


@pytest.mark.parametrize("prompt", ["abc", ""])
@pytest.mark.parametrize("name", MODELS)
def test_with_its_state_a_model_writes_what_it_writes_without(name, prompt):
    model = make(name).train()
    text, whole = (generate(each, TASK, prompt, 30, seed=3) for each in (model, Forgetful(model)))
    assert text == whole and text.startswith(prompt) and len(text) == len(prompt) + 30
    assert generate(model, TASK, prompt, 30, seed=4) != text
    assert generate(model, TASK, prompt, 30, top_k=1) == generate(model, TASK, prompt, 30, temperature=1e-9, seed=5)
    assert generate(model, TASK, prompt, 30, top_p=1e-9) == generate(model, TASK, prompt, 30, top_k=1)


def test_an_empty_prompt_is_begun_behind_a_line():
    model = make("lstm")
    assert generate(model, TASK, "", 20) == generate(model, TASK, "\n", 20)[1:]


@pytest.mark.parametrize("name", ["gpt", "plain-gpt", "xl-table"])
def test_a_text_outgrows_the_table_of_positions(name):
    model = make(name).eval()
    text = "abc" * 20
    for _ in range(10):
        logits, _ = model(TASK.encode(text)[None, -40:])
        text += TASK.symbols[int(logits[0, -1].argmax())]
    assert generate(model, TASK, "abc" * 20, 10, top_k=1) == text
    assert generate(model, TASK, "abc", 38) == generate(Forgetful(model), TASK, "abc", 38)  # the last with the cache


@pytest.mark.parametrize("level", ["word", "bytes"])
def test_words_and_bytes(level):
    task = TextTask("the cat, naïve.\n" * 40, 8, level)
    text = generate(Readout(LSTM(task.vocabulary, 9), task), task, "the naïve  cat", 200, temperature=9)
    assert text.startswith("the naïve cat" if level == "word" else "the naïve  cat") and len(text) > 30
    assert "<unk>" not in text


def test_each_part_stays_in_its_mode_and_no_seed_moves():
    model = make("gpt").train()
    model.stack.dropout.eval()
    modes, state = [module.training for module in model.modules()], torch.get_rng_state()
    generate(model, TASK, "abc", 3)
    with pytest.raises(ValueError, match="characters of"):
        generate(model, TASK, "abcX", 3)
    with pytest.raises(ValueError, match="temperature must be above 0"):
        generate(model, TASK, "abc", 3, temperature=-1)
    evaluate(model, TASK, batches=1)
    with pytest.raises(ValueError, match="x must hold ids"):
        evaluate(model, AddingProblem(5))
    assert [module.training for module in model.modules()] == modes and torch.get_rng_state().equal(state)


@pytest.mark.parametrize(
    "change, told",
    [
        ({"prompt": "aé"}, r"text must keep to the 11 characters of text-character-8: .*, got 'é'"),
        ({"task": AddingProblem(5)}, "task must encode and decode texts, as TextTask does, got AddingProblem"),
        ({"model": Readout(LSTM(V, 4), V + 1)}, r"the model's prediction must have shape \(B, T, 11\)"),
        ({"n": 0}, "n must be at least 1, got 0"),
        ({"top_k": 0}, "top_k must be at least 1, got 0"),
        ({"top_p": 0.0}, "top_p must be above 0 and at most 1 or None, got 0.0"),
    ],
)
def test_what_cannot_be_written(change, told):
    with pytest.raises(ValueError, match=told):
        generate(**{"model": make("lstm").float(), "task": TASK, "prompt": "abc", "n": 3} | change)
