"""Stories: every answer follows from the sentences, the supporting ones suffice, and each form says the same."""

import itertools

import pytest
import torch
from support.compare import generator
from support.helpers import refusals

from rtx_lib.tasks import Stories
from rtx_lib.tasks.stories import ANIMALS, PEOPLE, PLACES, SENTENCES, THINGS

KINDS = tuple(SENTENCES)


def told(task: Stories, count: int = 400) -> list[tuple[list[str], str, str, list[int]]]:
    """Sentences, question, answer and supporting sentences of the first stories of "valid", in words."""
    (story, question), y = next(task.batches("valid", count))
    rows = zip(story, question, y.tolist(), task.supports("valid")[:count].tolist(), strict=True)
    return [
        ([task.decode(line) for line in lines if line.any()], task.decode(asked), task.words[answer], support)
        for lines, asked, answer, support in rows
    ]


def read(lines: list[str], question: str) -> str:
    """The answer, found by somebody who reads."""
    at: dict[str, str] = {}
    carries: dict[str, str] = {}
    animals, fears = {}, {}
    for line in lines:
        match line.split():
            case [person, "went" | "walked", "to", "the", place]:
                at[person] = place
            case [person, "took", "the", thing]:
                assert at[carries.get(thing, person)] == at[person], "one takes what is where one is"
                carries[thing] = person
            case [person, "is", "a", animal]:
                animals[person] = animal
            case [those, "fear", others]:
                fears[those] = others
            case _:
                raise AssertionError(line)
    match question.split():
        case ["Where", "is", "the", thing]:
            return at[carries[thing]]
        case ["Where", "is", person]:
            return at[person]
        case ["What", "does", person, "fear"]:
            return fears[ANIMALS[animals[person]]]
    raise AssertionError(question)


@pytest.mark.parametrize("kind", KINDS)
def test_the_answer_can_be_read_and_the_supporting_sentences_suffice(kind: str) -> None:
    task, short = Stories(kind), 0
    for lines, question, answer, support in told(task):
        assert task.sentences[0] <= len(lines) <= task.sentences[1]
        assert read(lines, question) == answer
        chosen = [lines[i] for i in support]
        assert read(sorted(chosen, key=lambda line: "took" in line), question) == answer
        assert question.split()[3 if kind == "two facts" else 2] in chosen[0], "the question leads to the first"
        short += len(lines) == task.sentences[0]
        if kind != "deduction":  # nobody goes where they are
            ways = [line.split() for line in lines if "took" not in line]
            for person in PEOPLE:
                places = [way[-1] for way in ways if way[0] == person]
                assert all(a != b for a, b in itertools.pairwise(places))
    assert short > 20


def test_two_facts_need_both_orders() -> None:
    """The taking comes before the last way as well as behind it, and things change hands."""
    stories = told(Stories("two facts"))
    before = sum(support[0] < support[1] for *_, support in stories) / len(stories)
    again = sum(sum(line.endswith(thing) for line in lines) > 1 for lines, *_ in stories for thing in THINGS)
    assert 0.2 < before < 0.8 and again > 20


@pytest.mark.parametrize("kind", KINDS)
def test_the_flat_form_says_the_same(kind: str) -> None:
    task, flat = Stories(kind), Stories(kind, flat=True)
    (story, question), y = task.batch("train", 50, generator())
    x, same = flat.batch("train", 50, generator())
    assert torch.equal(y, same) and x.shape == (50, story[0].numel() + question.shape[1])
    for row, lines, asked in zip(x, story, question, strict=True):
        assert flat.decode(row) == " ".join(filter(None, [*map(task.decode, lines), task.decode(asked)]))
        assert (row > 0).long().diff().min() >= 0, "zeros stand in front"


test_what_is_refused = refusals(
    {
        "split must be one of .*, got 'train'": lambda: Stories().supports("train"),
        "ids must hold ids from 0 to 20, got 21": lambda: Stories().decode([21]),
    }
)


@pytest.mark.parametrize("kind", KINDS)
def test_baselines_are_what_their_strategies_reach(kind: str) -> None:
    task = Stories(kind)
    found = task.baselines()
    answers = set(ANIMALS.values()) if kind == "deduction" else set(PLACES)
    assert {answer for _, _, answer, _ in told(task)} == answers and found["guess"] == 1 / len(answers)
    right = 0
    for lines, _, answer, _ in told(task, 1_000):
        named = [line.split()[-1] for line in lines]
        right += [word for word in named if word in answers][-1] == answer
    assert found["named last"] == pytest.approx(right / 1_000, abs=0.06)  # three standard errors of "valid"
