"""Sentences in classes: which are trained on, and that test sentences are always the same."""

from collections import Counter

import pytest
from support import small_corpora as small
from support.data import reads

from rtx_lib.tasks.corpora import Sentence
from rtx_lib.tasks.sentence_classes import SentenceClasses, few
from rtx_lib.tasks.vocabulary import SPECIAL, Vocabulary


def texts(task: SentenceClasses, split: str) -> list[tuple[str, int]]:
    found = [pair for x, y in task.batches(split, 999) for pair in zip(x, y.tolist(), strict=True)]
    return [(task.words.decode(row), label) for row, label in found]


def test_small_files_by_hand(place) -> None:
    task = place(small.corpora(), SentenceClasses, "sst2", size=12)
    assert task.words.words == (*SPECIAL, "a", "film", ".", "bad", "good", "not", ",")
    assert task.name == "classes-sst2" and task.classes == ("against", "for") and task.output_size == 2
    assert texts(task, "train") == [("not good", 0), ("a good film .", 1), ("a bad film .", 0), ("not bad , a film", 1)]
    assert [x.shape[1] for x, _ in task.batches("train", 1)] == [2, 4, 4, 5]  # the shortest first
    framed = place({}, SentenceClasses, "sst2", size=12, framed=True, length=5)
    assert texts(framed, "train")[3] == ("[CLS] not bad , [SEP]", 1)  # cut at its end
    assert framed.encode("A film").tolist() == [2, 5, 6, 3] and task.encode("A film of").tolist() == [5, 6, 1]
    assert task.baselines() == {"most frequent class": 1 / 2, "uniform guess loss": pytest.approx(0.6931, abs=1e-4)}


@pytest.mark.parametrize("source", ["subj", "trec", "small_world"])
def test_labels_are_few_and_of_every_class(place, source: str) -> None:
    place(small.corpora(), lambda: None)
    whole = SentenceClasses(source, size=300)
    kept = texts(whole, "train")
    counts = Counter(label for _, label in kept)
    for labels in (len(counts), 12, 23):
        task = SentenceClasses(source, labels=labels, size=300)
        found = texts(task, "train")
        assert len(found) == labels and set(found) <= set(kept) and task.name == f"classes-{source}-{labels}-of-0"
        for label, count in Counter(label for _, label in found).items():
            assert count >= 1 and abs(count - labels * counts[label] / len(kept)) <= 1
        assert {label for _, label in found} == set(counts)
        for split in ("valid", "test"):
            assert texts(task, split) == texts(whole, split)
        assert task.words == whole.words


def rows(*counts: int) -> list[Sentence]:
    return [Sentence([f"c{label}", str(k)], label=label) for label, count in enumerate(counts) for k in range(count)]


def test_shares_are_rounded_and_no_class_is_left_out() -> None:
    def found(labels: int, *counts: int) -> list[int]:
        chosen = few(rows(*counts), labels, 3)
        assert len(chosen) == len({tuple(row.words) for row in chosen}) == labels
        return [Counter(row.label for row in chosen)[label] for label in range(len(counts))]

    assert found(50, 500, 500) == [25, 25] and found(3, 500, 500) in ([2, 1], [1, 2])
    assert found(10, 60, 30, 10) == [6, 3, 1] and found(100, 60, 30, 10) == [60, 30, 10]
    assert found(5, 960, 30, 5, 5) == [2, 1, 1, 1] and found(4, 960, 30, 5, 5) == [1, 1, 1, 1]
    assert found(20, 980, 10, 10) == [18, 1, 1]


def test_other_seeds_are_other_sentences_and_more_labels_are_more_of_the_same() -> None:
    made = rows(300, 300)
    chosen = {seed: [tuple(row.words) for row in few(made, 50, seed)] for seed in range(5)}
    assert len({frozenset(found) for found in chosen.values()}) == 5
    assert chosen[0] == [tuple(row.words) for row in few(made, 50, 0)]
    assert set(chosen[0]) < {tuple(row.words) for row in few(made, 200, 0)}
    times = Counter(tuple(row.words) for seed in range(200) for row in few(made, 60, seed))
    assert len(times) == 600 and 4 < min(times.values()) <= max(times.values()) < 46  # 20 on average


def test_a_vocabulary_of_others(place) -> None:
    place(small.corpora(), lambda: None)
    words = Vocabulary(("[PAD]", "[UNK]", "film"))
    task = SentenceClasses("sst2", words=words)
    assert task.vocabulary == 3 and texts(task, "train")[0] == ("[UNK] [UNK]", 0)
    with pytest.raises(ValueError, match=r"words must hold '\[CLS\]', which is needed here"):
        SentenceClasses("sst2", words=words, framed=True)


@reads(SentenceClasses, "subj")
def test_the_true_sentences() -> None:
    task = SentenceClasses("subj", labels=50, seed=1)
    found = texts(task, "train")
    assert Counter(label for _, label in found) == {0: 25, 1: 25}
    assert len(texts(task, "test")) == 997 and task.vocabulary == 4_000
    assert task.baselines()["most frequent class"] == pytest.approx(0.5, abs=0.02)


def test_more_labels_than_sentences_and_an_empty_text_are_refused(place) -> None:
    task = place(small.corpora(), SentenceClasses, "sst2")
    with pytest.raises(ValueError, match="labels must be at least 1 and at most 4, got 5"):
        SentenceClasses("sst2", labels=5)
    with pytest.raises(ValueError, match="text must hold a word, got ' '"):
        task.encode(" ")
