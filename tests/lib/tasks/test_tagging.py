"""Classes and senses of words: what is asked for, and what one answer a word can reach."""

from collections import Counter, defaultdict

import pytest
import torch
from support import small_corpora as small
from support.data import reads

from rtx_lib.tasks.tagging import PartsOfSpeech, WordSense
from rtx_lib.tasks.vocabulary import Vocabulary


def labels(task, split: str) -> list[tuple[int, int]]:
    pairs = [torch.stack([x[y >= 0], y[y >= 0]], dim=1) for x, y in task.batches(split, 64)]
    return [(word, label) for word, label in torch.cat(pairs).tolist()]


def test_tags_by_hand(place) -> None:
    task = place(small.corpora(), PartsOfSpeech, "conll2000", size=60)
    assert task.name == "tags-conll2000" and set(task.tags) <= {"PRP", "VBZ", "DT", "NN", ".", "NNP", "VBD"}
    x, y = next(task.batches("test", 9))
    assert [task.words.decode(row) for row in x] == ["fell", "[UNK] fell [UNK] [UNK]"]  # the shortest first
    named = [task.tags[label] if label >= 0 else None for label in y[1].tolist()]
    known = [tag if tag in task.tags else None for tag in ("NNP", "VBP", "MD", ".")]
    assert named == known and None in named  # VBP and MD stand in no training sentence: they do not count
    framed = place({}, PartsOfSpeech, "conll2000", size=60, framed=True, length=4)
    x, y = next(framed.batches("test", 9))
    assert x[1].tolist() == [2, 1, framed.words.ids(["fell"])[0], 3]
    assert [y[1, 0].item(), y[1, 3].item()] == [-100, -100]


def test_a_sentence_in_which_nothing_counts_is_left_out(place) -> None:
    """Its mean would be no number."""
    files = small.corpora()
    files["ud_ewt/en_ewt-ud-test.conllu"] += b"1\tOh\t_\tINTJ\t_\t_\n\n"
    task = place(files, PartsOfSpeech)
    assert "INTJ" not in task.tags and all((y >= 0).any(1).all() for _, y in task.batches("test", 9))
    assert sum(len(y) for _, y in task.batches("test", 9)) == 2


def test_padding_has_no_label() -> None:
    task = PartsOfSpeech("small_world", size=300, framed=True)
    for x, y in task.batches("valid", 500):
        assert ((y < 0) == torch.isin(x, torch.tensor([0, 2, 3]))).all()
        assert task.weight(y) == int((y >= 0).sum()) and (x[:, -1] > 0).any()


@pytest.mark.parametrize(
    "make", [lambda: PartsOfSpeech("small_world", size=400), lambda: WordSense("small_world", size=400)]
)
def test_baselines_counted_once_more(make) -> None:
    task = make()
    train, test = labels(task, "train"), labels(task, "test")
    usual = Counter(label for _, label in train).most_common(1)[0][0]
    by_word = defaultdict(Counter)
    for word, label in train:
        by_word[word][label] += 1
    right = sum(label == usual for _, label in test)
    best = {word: max(counts, key=lambda label: (counts[label], -label)) for word, counts in by_word.items()}
    by_one = sum(label == best.get(word, usual) for word, label in test)
    found = task.baselines()
    assert found["most frequent label"] == right / len(test) and found["one vector a word"] == by_one / len(test)


def test_senses_by_hand(place) -> None:
    task = place(small.corpora(), WordSense, size=80)
    assert task.name == "senses-interest" and task.senses == ("interest_1", "interest_2")
    asked = set(task.words.ids(["interest"]))
    total = 0
    for split in ("train", "valid", "test"):
        for x, y in task.batches(split, 7):
            assert ((y >= 0).sum(1) == 1).all() and set(x[y >= 0].tolist()) == asked
            total += len(y)
    assert total == 40 and task.baselines()["one vector a word"] == task.baselines()["most frequent label"]


@pytest.mark.parametrize("framed", [False, True])
def test_a_long_sentence_keeps_the_word_that_is_asked_for(place, framed: bool) -> None:
    task = place(small.corpora(), WordSense, size=80, length=5, framed=framed)
    (interest,) = task.words.ids(["interest"])
    for x, y in task.batches("train", 99):
        assert x.shape[1] == 5 and ((y >= 0) == (x == interest)).all()


@reads(PartsOfSpeech, "ud_ewt")
@reads(WordSense, "interest")
def test_the_true_texts() -> None:
    task = PartsOfSpeech("ud_ewt")
    assert task.output_size == 17 and 0.75 < task.baselines()["one vector a word"] < 0.85
    task = WordSense("interest")
    found = {"most frequent label": 0.516, "one vector a word": 0.606, "uniform guess loss": 1.7918}
    assert task.output_size == 6 and task.baselines() == pytest.approx(found, abs=1e-3)


def test_words_without_what_is_needed_are_refused() -> None:
    with pytest.raises(ValueError, match=r"words must hold '\[CLS\]', which is needed here"):
        PartsOfSpeech("small_world", words=Vocabulary(("[PAD]", "[UNK]")), framed=True)
    with pytest.raises(ValueError, match="size must be at least 6, got 5"):
        WordSense("small_world", size=5)
