"""Readers of texts: small files by hand, the true ones by their numbers, and files that are missing or wrong."""

import hashlib
import re
from collections import Counter

import pytest
from support import small_corpora as small

from rtx_lib.tasks import corpora
from rtx_lib.tasks.corpora import CLASSES, SOURCES, documents, labelled, phrases, senses, sentences, tagged

SPLITS = ["train", "valid", "test"]


@pytest.fixture
def files(place):
    """All small files, in the cache."""
    place(small.corpora(), lambda: None)


def digit(words: list[str]) -> int:
    return int.from_bytes(hashlib.sha256(" ".join(words).encode()).digest(), "big") % 10


# Small files by hand


def test_labelled_sentences_and_the_rule_of_the_split(files) -> None:
    found = labelled("subj")
    assert list(found) == SPLITS and sum(map(len, found.values())) == 62
    for split, rows in found.items():
        assert rows and {digit(row.words) for row in rows} <= {"test": {0}, "valid": {1}}.get(split, set(range(2, 10)))
    everything = {" ".join(row.words): row.label for rows in found.values() for row in rows}
    assert everything["café de la paix ."] == 0 and everything["the hero number1 of the film ."] == 1
    found = labelled("trec")
    assert [row.words[-2] for row in found["test"]] == ["Galileo", "atom"] and found["test"][0].label == 3
    assert len(found["train"]) + len(found["valid"]) == 61 and {digit(row.words) for row in found["valid"]} == {1}
    found = labelled("sst2")
    assert {split: len(rows) for split, rows in found.items()} == {"train": 4, "valid": 2, "test": 2}


def test_the_split_is_of_the_words_and_not_of_their_order_in_the_file(files, place) -> None:
    before = labelled("subj")
    lines = small.SUBJ.split(b"\n")
    place({"subj/subj.all": b"\n".join(lines[::-1])}, lambda: None)
    after = labelled("subj")
    assert all(sorted(before[split]) == sorted(after[split]) for split in SPLITS)


def test_tagged_sentences(files) -> None:
    rows = tagged("conll2000")
    (row,) = (row for split in SPLITS for row in rows[split] if row.words[0] == "He")
    assert row[:2] == (["He", "reckons", "the", "deficit", "."], ["PRP", "VBZ", "DT", "NN", "."])
    assert row.begins == [True, True, True, False, True]
    first, second = (row[:3] for row in rows["test"])
    assert first == (["Rockwell", "fell", "will", "!"], ["NNP", "VBP", "MD", "."], [True, True, False, True])
    assert second == (["fell"], ["VBD"], [True])
    rows = tagged("ud_ewt")
    first, second = (row[:3] for row in rows["test"])
    assert first == (["It", "'s", "him", "."], ["PRON", "AUX", "PRON", "PUNCT"], [True] * 4)
    assert second == (["Go"], ["VERB"], [True])
    assert len(rows["train"]) + len(rows["valid"]) == 22
    rows = tagged("masc")
    everything = [row[:2] for split in SPLITS for row in rows[split]]
    assert (["I", "see", "D.", "C.", "."], ["PRP", "VBP", "NNP", "NNP", "."]) in everything
    assert (["well", "so"], ["UH", "RB"]) in everything and len(everything) == 62


def test_documents(files) -> None:
    found = documents("wikitext2")
    everything = [document for split in SPLITS for document in found[split]]
    assert len(everything) == 31
    first = next(document for document in everything if document[0][0] == "The")
    assert first[:2] == [["The", "3", ",", "000", "cats", "sat", "."], ["They", "<unk>", "!"]]
    assert first[2:] == [["So", "?"], ["Yes"]]
    assert [["Number", "7", "is", "a", "number", "."], ["It", "is", "-", "so", "."]] in everything
    assert documents("ptb")["train"] == [[["the", "cat", "N"], ["a", "<unk>", "sat"]]]
    assert len(documents("ud_ewt")["test"]) == 1 and [["Go"]] not in documents("ud_ewt")["test"]
    assert all(len(document) == 1 for document in documents("conll2000")["train"])
    assert [["bye"]] not in documents("masc")["train"] and ["bye"] in documents("masc")["train"][0]


def test_a_document_is_on_one_side_only(files) -> None:
    for source in ("wikitext2", "masc"):
        for split, parts in documents(source).items():
            for document in parts:
                words = [word for sentence in document for word in sentence]
                assert digit(words) in {"test": {0}, "valid": {1}}.get(split, set(range(2, 10)))


def test_senses(files) -> None:
    found = senses("interest")
    assert sum(map(len, found.values())) == 40 and len(found["test"]) > 5
    for split, rows in found.items():
        for row in rows:
            assert row.words[row.place] == "interest" and row.words[-1] == "&"
            assert row.sense == f"interest_{1 + int(row.words[row.place - 1][6:]) % 2}"
            assert (digit(row.words) < 3) == (split == "test") and (digit(row.words) == 3) == (split == "valid")


def test_what_others_hold_for_their_tests_is_left_out(files) -> None:
    shared = [*small.SHARED.title().split(), "!"]
    everything = [row.words for rows in labelled("subj").values() for row in rows]
    assert shared in everything
    for without in ((), ("sst2",), ("trec", "sst2"), ("conll2000", "interest")):
        left = documents("subj", without)
        assert ([shared] in left["train"]) == ("sst2" not in without and digit(shared) > 1)
        assert left["valid"] == documents("subj")["valid"] and left["test"] == documents("subj")["test"]
    assert digit(shared) > 1  # or this test would say nothing
    assert phrases("subj", ("sst2",))["train"] == [rows for rows in phrases("subj")["train"] if rows[0].words != shared]


def test_sentences_of_several_sources(files) -> None:
    found = sentences("ptb", "sst2")
    assert found[:3] == [["the", "cat", "N"], ["a", "<unk>", "sat"], ["a", "good", "film", "."]] and len(found) == 6
    assert sentences("ptb", split="test") == [["the", "end"]]


def test_phrases(files) -> None:
    (row,) = phrases("conll2000")["test"][0]
    assert row.words[2] == "will" and row.begins == [True, True, False, True]
    assert [[row.begins for row in rows] for rows in phrases("ptb")["valid"]] == [[[True, True]]]
    assert not all(all(row.begins) for document in phrases("small_world")["test"] for row in document)


@pytest.mark.parametrize("source", ["pydoc", "small_world"])
def test_texts_that_are_always_there(source: str, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("RTX_DATA", str(tmp_path))
    monkeypatch.setenv("RTX_DOWNLOAD", "0")
    found = documents(source)
    assert all(len(found[split]) > 1 for split in SPLITS) and found == documents(source)
    assert all(document and all(document) for split in SPLITS for document in found[split])
    assert sum(len(sentence) for sentence in sentences(source)) > 40_000


def test_the_help_topics_are_cut_into_words() -> None:
    found = [sentence for split in SPLITS for document in documents("pydoc")[split] for sentence in document]
    assert any("statement" in sentence for sentence in found) and not any(" " in w for s in found for w in s)
    assert any(re.fullmatch(r"\*{5,}", word) for sentence in found for word in sentence)  # a line under a heading


# The true files


def of(*sources: str) -> pytest.MarkDecorator:
    """The mark of a test that reads them."""
    return pytest.mark.data(*(name for source in sources for name in SOURCES[source]))


@of("subj", "trec", "sst2")
def test_the_true_sentences_and_their_classes() -> None:
    sizes = {"subj": (8_005, 998, 997), "trec": (4_925, 527, 500), "sst2": (6_920, 872, 1_821)}
    for source, counts in sizes.items():
        found = labelled(source)
        assert tuple(map(len, found.values())) == counts
        assert {row.label for row in found["train"]} == set(range(len(CLASSES[source])))
    assert Counter(row.label for rows in labelled("subj").values() for row in rows) == {0: 5_000, 1: 5_000}
    (galileo,) = [row for row in labelled("trec")["test"] if "Galileo" in row.words]
    assert CLASSES["trec"][galileo.label] == "person"


@of("subj", "trec", "sst2")
def test_how_much_the_true_texts_overlap() -> None:
    test, subj = labelled("sst2")["test"], sentences("subj")
    left = sentences("subj", without=("sst2",))
    assert len(subj) == 8_005 and len(left) == 7_392
    everything = {corpora._letters(row.words) for rows in labelled("subj").values() for row in rows}
    assert sum(corpora._letters(row.words) in everything for row in test) / len(test) == pytest.approx(0.29, abs=0.01)
    train = {tuple(row.words) for split in ("train", "valid") for row in labelled("trec")[split]}
    assert sum(tuple(row.words) in train for row in labelled("trec")["test"]) == 10


@of("wikitext2", "ud_ewt", "conll2000", "interest")
def test_the_true_texts() -> None:
    articles = documents("wikitext2")
    assert {split: len(found) for split, found in articles.items()} == {"train": 101, "valid": 9, "test": 10}
    assert sum(len(s) for found in articles.values() for d in found for s in d) == 445_183
    assert [len(tagged("ud_ewt")[split]) for split in SPLITS] == [1_788, 213, 2_077]
    found = tagged("conll2000")
    assert [len(found[split]) for split in SPLITS] == [8_034, 902, 2_012]
    assert sum(len(row.words) for row in found["test"]) == 47_377
    words = senses("interest")
    assert [len(words[split]) for split in SPLITS] == [1_445, 210, 713]
    assert {row.words[row.place] for rows in words.values() for row in rows} == {"interest", "interests"}


@of("masc")
def test_the_true_texts_with_tags_of_many_genres() -> None:
    found = documents("masc")
    assert {split: len(part) for split, part in found.items()} == {"train": 317, "valid": 43, "test": 32}
    assert sum(len(s) for part in found.values() for d in part for s in d) == 592_506


@pytest.mark.parametrize("call", [labelled, tagged, senses, documents, phrases])
def test_unknown_sources_are_refused(call) -> None:
    with pytest.raises(ValueError, match=r"source must be one of .*, got 'mr'"):
        call("mr")


def test_other_arguments_that_are_not_allowed(files) -> None:
    with pytest.raises(ValueError, match=r"without must be one of .*, got 'ptb'"):
        documents("subj", ("ptb",))
    with pytest.raises(ValueError, match=r"split must be one of .*, got 'dev'"):
        sentences("ptb", split="dev")
