"""Sentiment: what the files say, what the rule says, and what a bag of words can know."""

import re

import pytest
import torch
from support import small_tasks as small
from support.compare import generator
from support.data import reads
from torch import Tensor

from rtx_lib.tasks import GeneratedSentiment, Sentiment

# Film reviews


def test_small_files_by_hand(place) -> None:
    task = place(small.sst2(), Sentiment)
    assert task.words == ("<pad>", "<unknown>", "a", ".", "bad", "film", "good", "not") and task.vocabulary == 8
    assert task.name == "sst2" and (task.pad, task.unknown) == (0, 1)
    assert task.encode("A bad  Film , good").tolist() == [2, 4, 5, 1, 6]
    assert task.decode([2, 4, 1, 0, 0]) == "a bad <unknown>"
    x, y = next(task.batches("valid", 9))
    assert x.tolist() == [[6, 5, 0, 0], [2, 4, 5, 3]] and y.tolist() == [1, 0]  # the shortest first
    assert [row.shape[1] for row, _ in task.batches("valid", 1)] == [2, 4]
    assert task.baselines()["most frequent class"] == 2 / 3


def test_words_with_a_space_that_does_not_break_stay_whole(place) -> None:
    task = place(small.sst2(train="1 a\u00a0b é\n" * 2), Sentiment)
    assert task.words[2:] == ("a\u00a0b", "é")


def test_how_often_a_word_must_stand_there(place) -> None:
    assert place(small.sst2(), Sentiment, 4).words == ("<pad>", "<unknown>", "a")
    task = place(small.sst2(), Sentiment, 1)
    assert task.name == "sst2-least-1" and "plot" in task.words and len(task.words) == 11


@reads(Sentiment)
def test_the_true_files() -> None:
    task = Sentiment()
    assert task.vocabulary == 7_143 and task.words[2:6] == (".", "the", ",", "a") and Sentiment(1).vocabulary == 14_832
    found = {}
    for split in ("train", "valid", "test"):
        batches = list(task.batches(split, 500))
        found[split] = (sum(len(y) for _, y in batches), sum(int(y.sum()) for _, y in batches), batches[-1][0].shape[1])
        lengths = torch.cat([(x > 0).sum(1) for x, _ in batches])
        assert lengths.min() == 2 and (lengths.diff() >= 0).all()
    assert found == {"train": (6_920, 3_610, 52), "valid": (872, 444, 47), "test": (1_821, 909, 56)}
    x, y = next(task.batches("test", 1))
    assert task.decode(x[0]) == "ridiculous ." and y.item() == 0
    assert task.baselines()["most frequent class"] == pytest.approx(909 / 1_821)


# Generated sentences


def by_hand(sentence: str) -> int:
    """The rule once more, word by word."""
    words = sentence.split()
    if "but" in words:
        words = words[words.index("but") + 1 :]
    elif "although" in words:
        words = words[: words.index("although")]
    good = words[-1] in GOOD
    return int(good != any(word in ("not", "never", "hardly") for word in words))


GOOD = ["good", "great", "fine", "warm", "clever", "funny", "fresh", "moving"]
GOOD += ["charming", "honest", "lively", "brilliant"]
FORM = re.compile(r"the \w+ is ((not|never|hardly) )?((very|so|truly) )?\w+")


def rows(task: GeneratedSentiment, x: Tensor) -> list[str]:
    return [task.decode(row) for row in x]


def test_the_answers_are_those_of_the_rule_and_the_sentences_of_the_form() -> None:
    task = GeneratedSentiment()
    x, y = task.batch("train", 3_000, generator())
    for sentence, label in zip(rows(task, x), y.tolist(), strict=True):
        clauses = re.split(" but | although ", sentence)
        assert by_hand(sentence) == label and 1 <= len(clauses) <= 2
        assert all(FORM.fullmatch(clause) for clause in clauses)
        ids = task.encode(sentence)
        assert task.decode(ids) == sentence and task.answers(ids[None]).item() == label
    shares = [sum(word in row.split() for row in rows(task, x)) / 3_000 for word in ("but", "although")]
    assert all(abs(share - 1 / 3) < 0.04 for share in shares) and abs(y.double().mean() - 0.5) < 0.04
    assert task.baselines()["best bag of words"] == 3 / 4


def test_an_empty_review_and_unknown_words_of_a_generated_sentence_are_refused(place) -> None:
    with pytest.raises(ValueError, match="text must hold a word, got ''"):
        place(small.sst2(), Sentiment).encode("")
    with pytest.raises(ValueError, match="text must keep to the 50 words of the generated sentences, got 'nice'"):
        GeneratedSentiment().encode("the plot is nice")
