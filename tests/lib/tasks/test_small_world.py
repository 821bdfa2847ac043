"""The generated language: everything that its text says of it."""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter

from rtx_lib.tasks.small_world import BOTH, NAMES, SHARED, TOPICS, lexicon, small_world


def everything(split: str = "train"):
    return [sentence for document in small_world()[split] for sentence in document]


def test_the_lexicon() -> None:
    topics = lexicon()
    assert len(topics) == TOPICS and all(len(set(words["NOUN"])) == 120 for words in topics)
    for words in topics:
        assert len(words["VERB"]) == len(set(words["VERB"])) == 40 and len(words["PROPN"]) == NAMES
        assert len(set(words["NOUN"]) & set(words["VERB"])) == BOTH
        parts = [part for name in words["PROPN"] for part in name.split()]
        assert len(set(parts)) == 3 * NAMES  # each part stands in one name
    owners = Counter(word for words in topics for kind in words.values() for text in {*kind} for word in text.split())
    both = {word for words in topics for word in words["NOUN"] if word in words["VERB"]}
    shared = {word for word, count in owners.items() if count == 2} - both
    assert len(shared) == 2 * SHARED and max(owners.values()) == 2
    assert all(set(topics[k]["NOUN"]) & set(topics[k + 1]["NOUN"]) <= shared for k in (0, 2))


def test_sentences_have_one_form_and_end_with_what_the_next_begins_with() -> None:
    for document in small_world()["valid"]:
        assert len(document) == 6 and len({sentence.label for sentence in document}) == 1
        things = []
        for words, tags, begins, topic, shared, _ in document:
            assert len(words) == len(tags) == len(begins) and all(
                begins[k] for k in range(len(tags)) if tags[k] != "PROPN"
            )
            classes = [tag for tag, begin in zip(tags, begins, strict=True) if begin]  # a name counts once
            kinds = ["NOUN" if tag == "PROPN" else tag for tag in classes if tag != "ADJ"]
            assert kinds == ["DET", "NOUN", "VERB", "DET", "NOUN", "PUNCT"]
            ambiguous = [w for w, tag in zip(words, tags, strict=True) if tag == "NOUN" and w in _shared(topic)]
            assert (shared >= 0) == bool(ambiguous) and (shared < 0 or words[shared] == ambiguous[-1])
            middle = tags.index("VERB")
            things.append(
                tuple(
                    tuple(w for w, tag in zip(words[part], tags[part], strict=True) if tag in ("NOUN", "PROPN"))
                    for part in (slice(middle), slice(middle + 1, None))
                )
            )
        assert all(one[1] == two[0] for one, two in itertools.pairwise(things))


def _shared(topic: int) -> set[str]:
    return set(lexicon()[topic]["NOUN"]) & set(lexicon()[topic ^ 1]["NOUN"])


def test_shares() -> None:
    tags = Counter(tag for sentence in everything() for tag in sentence.tags)
    names = tags["PROPN"] / 3
    assert abs(names / (names + tags["NOUN"]) - 0.2) < 0.02
    assert abs(tags["ADJ"] / tags["DET"] - 0.5) < 0.02
    topics = Counter(document[0].label for document in small_world()["train"])
    assert all(abs(count / 3_000 - 0.25) < 0.05 for count in topics.values())


def test_the_words_are_known() -> None:
    """A record compares runs on the same sentences: a change of these is a change of the task."""
    text = "\n".join(" ".join(sentence.words) for split in ("train", "valid", "test") for sentence in everything(split))
    assert text.split("\n", 1)[0] == "the fado maga the bilo ."
    assert (
        hashlib.sha256(text.encode()).hexdigest() == "5c89f8bd59e8456f0da4e61e8a41a08fbb97bd1e2299842c790ac790189f0620"
    )
    train = {tuple(sentence.words) for sentence in everything()}
    assert sum(tuple(sentence.words) in train for sentence in everything("test")) < 20
