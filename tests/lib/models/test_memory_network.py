"""The end-to-end memory network: time words, the memory's size, linear start and what it refuses.

That it computes what the authors' code computes is tested in tests/reference/test_official.py.
"""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from support.helpers import FIXTURES, drawn, refusals, relative_error
from torch import tensor

from rtx_lib.models.memory_network import MemoryNetwork

pytestmark = pytest.mark.usefixtures("double")

V, M, J = 7, 4, 4  # words, slots, and words of a sentence with its time
STORY = tensor([[[1, 2, 3], [4, 0, 0], [5, 6, 0]], [[6, 5, 0], [0, 0, 0], [0, 0, 0]]])
QUESTION = tensor([[3, 1], [2, 0]])


def build(seed=0, **options):
    sizes = {"sentence_length": J - 1, "memory_size": M, "width": 5} | options
    model = drawn(seed, MemoryNetwork, V, **sizes).eval()
    with torch.no_grad():
        model.words.mul_(5)  # weights that differ
    return model


@pytest.mark.parametrize("name", ["memn2n", "memn2n_bow", "memn2n_linear_start"])
def test_the_time_words_are_the_authors(name):
    with np.load(FIXTURES / f"{name}.npz") as file:
        story, sizes = torch.from_numpy(file["story"]), {"memory_size": int(file["memory_size"]), "width": 3}
        model = MemoryNetwork(int(file["vocabulary"]), sentence_length=story.shape[2] - 1, **sizes)
        most = int(file["sentences"].max())
    assert torch.equal(model.with_time(story[..., :-1]), story)
    assert torch.equal(model.with_time(story[:, :most, :-1]), story)


def test_padding_changes_nothing():
    """The memory has its full size whatever the batch; a story is read with its time, a question is filled up."""
    model = build()
    y, state = model((STORY, QUESTION))
    read = model.read(model.tables, model.with_time(STORY), F.pad(QUESTION, (0, 1)))
    assert state is None and torch.equal(y[:, 0], read[:, :V])
    wider = (F.pad(STORY, (0, 0, 0, 1)), F.pad(QUESTION, (0, 1)))
    assert torch.equal(model(wider)[0], y)
    assert relative_error(model((STORY[1:, :1, :2], QUESTION[1:, :1]))[0], y[1:]) < 1e-12


def test_no_word_has_no_vector_and_gets_none():
    """Though it can be the answer, as in the authors' code: its logit is 0."""
    model = build().train()
    y, _ = model((STORY, QUESTION))
    assert not y[:, 0, 0].any()
    y.sin().sum().backward()
    assert model.words.grad.any() and not model.tables[:, 0].any()


def test_linear_start_ends_after_its_steps_in_training():
    """Evaluations do not count, and take the form of the next step."""
    model, softmax = build(linear_steps=2), build()
    x = (STORY, QUESTION)
    linear, late = model(x)[0], softmax(x)[0]
    assert relative_error(linear, late) > 1e-3
    for _ in range(2):
        assert torch.equal(model.eval()(x)[0], linear) and torch.equal(model.train()(x)[0], linear)
    assert torch.equal(model.eval()(x)[0], late) and torch.equal(model.train()(x)[0], late)
    assert int(model.steps) == int(model.state_dict()["steps"]) == 3, "a checkpoint has the count"


GAP, SHORT = tensor([[1, 0, 2], [0, 1, 2]]), STORY.clone()
SHORT[1, 0] = 0
REFUSED = {
    r"sentences of story must be at least 1 and at most 4, got 6": (STORY.repeat(1, 2, 1), QUESTION),
    r"words of a sentence must be at least 1 and at most 3, got 4": (STORY, QUESTION.repeat(1, 2)),
    "story must hold words first": (SHORT, QUESTION),
    "story must hold words first .* got row 0": (STORY[:, [1, 2, 0]] * tensor([[[1], [0], [1]]]), QUESTION),
    "story, each sentence behind a mark, must hold words first": (GAP[:1, None], QUESTION[:1]),
    "question must hold words first": (STORY, GAP),
    r"question must have shape \(1, words\), got \(2, 2\)": (STORY[:1], QUESTION),
}
test_what_is_no_story_is_refused = refusals(((lambda model, x=x: model(x), said) for said, x in REFUSED.items()), build)
