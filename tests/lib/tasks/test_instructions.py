"""Tasks told in words: the answers are right, two tasks are never told, and "exact" means every letter."""

import pytest
import torch

from rtx_lib.tasks import Instructions, Task
from rtx_lib.tasks.instructions import HELD, LETTERS, TASKS, UNNAMED

STEPS = {"same": 0, "next": 1, "previous": -1}


def lines(task, size=500):
    x, y = task.batch("train", size, torch.Generator().manual_seed(0))
    assert torch.equal(x[:, 1:], y[:, :-1])
    return [task.decode(row).split() for row in torch.cat([x, y[:, -1:]], dim=1)]


def by_hand(order, step, question):
    put = {"forwards": list(question), "backwards": list(question)[::-1], "sorted": sorted(question)}[order]
    return [LETTERS[(LETTERS.index(letter) + STEPS[step]) % len(LETTERS)] for letter in put]


@pytest.mark.parametrize("length", [2, 3, 5])
def test_the_answers(length):
    task = Instructions(length=length)
    assert isinstance(task, Task)
    told = set()
    for words in lines(task):
        order, step, colon, *rest = words
        question, answer = rest[:length], rest[length + 1 : -1]
        assert (colon, rest[length], rest[-1]) == (":", "=", ".") and len(answer) == length
        assert answer == by_hand(order, step, question)
        told.add(f"{order} {step}")
    assert told == set(TASKS) - set(HELD)
    assert {word for name in HELD for word in name.split()} <= {word for name in told for word in name.split()}


@pytest.mark.parametrize("name", TASKS)
def test_one_task_alone(name):
    assert {" ".join(words[:2]) for words in lines(Instructions(name), 20)} == {name}


def test_without_names_only_the_name_is_missing():
    named, unnamed = lines(Instructions()), lines(Instructions(named=False))
    assert all(words[:2] == [UNNAMED, UNNAMED] for words in unnamed)
    assert [words[2:] for words in named] == [words[2:] for words in unnamed]


def test_a_line_is_right_if_every_letter_is():
    task = Instructions()
    _, y = task.batch("test", 4, torch.Generator().manual_seed(1))
    logits = torch.nn.functional.one_hot(y, task.vocabulary).double() * 50
    assert task.metrics(logits, y) == pytest.approx({"loss": 0, "accuracy": 1, "exact": 1}, abs=1e-9)
    logits[0, -2] = logits[0, -2].roll(1)  # the last letter of one answer
    logits[1, -1] = logits[1, -1].roll(1)  # a full stop, which is no letter
    logits[2, 0] = logits[2, 0].roll(1)  # nor is the task's second word
    found = task.metrics(logits, y)
    assert found["exact"] == 0.75 and found["accuracy"] == pytest.approx(11 / 12) and found["loss"] > 1
    assert task.loss(logits, y).item() == pytest.approx(found["loss"])


def test_a_question_of_ones_own():
    task = Instructions()
    ids = task.encode("backwards next : d a f =")
    assert task.decode(ids) == "backwards next : d a f ="
    number = torch.tensor([TASKS.index("backwards next")])
    assert [LETTERS[i] for i in task.answers(torch.tensor([[3, 0, 9]]), number)[0].tolist()] == ["a", "b", "e"]
    assert task.baselines() == {"one task of seven": 1 / 7}


def test_unknown_words_are_refused():
    with pytest.raises(ValueError, match=r"text must keep to the 20 words of the instructions, got 'x'"):
        Instructions().encode("sorted x")
