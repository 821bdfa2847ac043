"""Word pairs: what is hidden, who sees whom, and that baselines are what perfect models reach."""

import math
from typing import Any

import pytest
import torch
from support.compare import generator
from support.helpers import refusals
from torch import Tensor

from rtx_lib.models.transformer import Encoder
from rtx_lib.models.xlnet import XLNet
from rtx_lib.tasks.pairs import FORMS, ROUTES, WordPairs

SURE = 50.0  # a logit


class Perfect(torch.nn.Module):
    """Says of each of the two words what can be known: with the other in sight it is sure, else all eight are alike."""

    def __init__(self, task: WordPairs) -> None:
        super().__init__()
        self.task, self.scale = task, torch.nn.Parameter(torch.tensor(SURE))

    def forward(self, x: Any, state: None = None) -> tuple[Tensor, None]:
        task = self.task
        ids, seen = (x, None) if isinstance(x, Tensor) else x[:2]
        logits = torch.zeros(len(ids), ids.shape[1] if seen is None else 2, task.vocabulary)
        for b in range(len(ids)):
            for own in (0, 1):
                word = int(ids[b, 1 - own])
                known = word in task.pairs[:, 1 - own].tolist() and (seen is None or bool(seen[b, own, 1 - own]))
                names = task.pairs[task.pairs[:, 1 - own] == word] if known else task.pairs
                logits[b, own, names[:, own]] = 1.0
        return logits * self.scale, None


def exist(task, pairs):
    """Which of the pairs (N, 2) are names of cities."""
    return (pairs[:, None] == task.pairs).all(2).any(1)


def test_what_is_hidden() -> None:
    """The first word, the second or both, equally often; only what is hidden is to be named."""
    task = WordPairs()
    x, y = task.batch("train", 3_000, generator())
    assert x.shape == y.shape == (3_000, 5) and x.dtype == y.dtype == torch.int64
    hidden = x == task.mask
    assert torch.equal(hidden, y != -100) and not hidden[:, 2:].any()
    shares = (hidden[:, 0] + 2 * hidden[:, 1]).bincount() / 3_000
    assert shares.tolist() == [0, *[pytest.approx(1 / 3, abs=0.03)] * 3]
    whole = torch.where(hidden, y, x)
    assert exist(task, whole[:, :2]).all() and task.decode(whole[0]).endswith(" is a city")
    counts = whole[:, 0].bincount()
    assert len(counts) == 9 and counts[0] == 0 and counts[1:].min() > 300  # 0 is padding
    assert task.weight(torch.tensor([[3, -100], [1, 2]])) == 3
    x, y = WordPairs(hidden="both").batch("train", 50, generator())
    assert (x[:, :2] == task.mask).all() and exist(task, y[:, :2]).all()


def test_who_sees_whom() -> None:
    """One word sees the other, in either order equally often; both see the context, and it sees none of them."""
    task = WordPairs("permutation")
    (ids, seen, targets), y = task.batch("train", 1_000, generator())
    assert ids.shape == (1_000, 5) and seen.shape == (1_000, 5, 5) and seen.dtype == torch.bool
    assert torch.equal(targets, torch.arange(2).expand(1_000, 2)) and torch.equal(y, ids[:, :2])
    assert (seen[:, 0, 1] ^ seen[:, 1, 0]).all() and not seen[:, [0, 1], [0, 1]].any()
    assert seen[:, 0, 1].double().mean().item() == pytest.approx(0.5, abs=0.06)
    assert seen[:, :, 2:].all() and not seen[:, 2:, :2].any()


@pytest.mark.parametrize("form", FORMS)
def test_baselines_are_what_a_perfect_model_reaches(form: str) -> None:
    """Together the two words cost their mutual information more; one behind the other they do not."""
    task = WordPairs(form)
    best, found = task.baselines(), {route: task.judge(Perfect(task), route) for route in ROUTES}
    assert best["independent loss"] == 2 * best["pair loss"] == 2 * math.log(8)
    together = {"pair loss": best["independent loss"], "pairs that exist": best["independent pairs that exist"]}
    assert found["one pass"] == pytest.approx(together, abs=1e-6)
    for route in ROUTES[1:]:
        assert found[route] == pytest.approx({"pair loss": best["pair loss"], "pairs that exist": 1}, abs=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_a_joint_is_a_distribution_that_follows_from_its_questions(form: str) -> None:
    """Of a model that knows nothing: sums to 1, and equals the products of what it says when it is asked by hand."""
    task = WordPairs(form)
    torch.manual_seed(0)
    sizes = {"width": 8, "heads": 2, "layers": 1}
    model: Any = XLNet(21, **sizes) if form == "permutation" else Encoder(21, 21, vocabulary=21, **sizes)
    with torch.no_grad():
        for parameter in model.eval().parameters():
            parameter.add_(torch.randn_like(parameter) / 2)
    joints = {route: task.log_joint(model, route).double() for route in ROUTES}
    for joint in joints.values():
        assert joint.shape == (21, 21) and joint.exp().sum().item() == pytest.approx(1, abs=1e-5)
    for a, b in ((4, 12), (20, 1), (8, 8)):
        context = [17, 18, 19]
        for route, early in (("first word first", 0), ("second word first", 1)):
            given = [(a, 20), (20, b)][early]
            if form == "masked":
                before = model(torch.tensor([[20, 20, *context]]))[0][0, early].log_softmax(-1)
                after = model(torch.tensor([[*given, *context]]))[0][0, 1 - early].log_softmax(-1)
            else:
                seen = torch.zeros(1, 5, 5, dtype=torch.bool)
                seen[..., 2:], seen[0, 1 - early, early] = True, True
                logits = model((torch.tensor([[a, b, *context]]), seen, torch.tensor([[0, 1]])))[0][0]
                before, after = logits[early].log_softmax(-1), logits[1 - early].log_softmax(-1)
            expected = before[(a, b)[early]] + after[(a, b)[1 - early]]
            assert joints[route][a, b].item() == pytest.approx(expected.item(), abs=1e-4)


def test_samples_are_drawn_from_the_joint() -> None:
    task = WordPairs()
    perfect = Perfect(task)
    shares = {route: exist(task, task.sample(perfect, route, 4_000, generator())).double().mean() for route in ROUTES}
    assert shares["one pass"].item() == pytest.approx(1 / 8, abs=0.02)
    assert shares["first word first"] == shares["second word first"] == 1
    pairs = task.sample(perfect, "second word first", 4_000, generator())
    assert pairs[:, 0].bincount().tolist()[1:] == [pytest.approx(500, abs=90)] * 8
    assert torch.equal(pairs, task.sample(perfect, "second word first", 4_000, generator()))


BAD = {
    "hidden must be 'any' in the form 'permutation'": lambda: WordPairs("permutation", hidden="both"),
    "route must be one of .* got 'two'": lambda: WordPairs().judge(Perfect(WordPairs()), "two"),
    r"prediction must have shape \(3, 5, 21\)": lambda: WordPairs().loss(torch.zeros(3, 5, 7), torch.zeros(3, 5)),
    "ids must hold ids from 0 to 20, got 21": lambda: WordPairs().decode([21]),
}


test_bad_arguments = refusals(BAD)
