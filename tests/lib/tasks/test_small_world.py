"""The generated language: everything that its text says of it."""

import hashlib
import itertools

from rtx_lib.tasks.small_world import lexicon, small_world


def everything(split: str = "train"):
    return [sentence for document in small_world()[split] for sentence in document]


def test_sentences_have_one_form_and_end_with_what_the_next_begins_with() -> None:
    for document in small_world()["valid"]:
        assert len(document) == 6 and len({sentence.label for sentence in document}) == 1
        things = []
        for words, tags, begins, topic, shared, _ in document:
            assert len(words) == len(tags) == len(begins)
            assert all(begin for tag, begin in zip(tags, begins, strict=True) if tag != "PROPN")
            classes = [tag for tag, begin in zip(tags, begins, strict=True) if begin]  # a name counts once
            kinds = ["NOUN" if tag == "PROPN" else tag for tag in classes if tag != "ADJ"]
            assert kinds == ["DET", "NOUN", "VERB", "DET", "NOUN", "PUNCT"]
            ambiguous = [w for w, tag in zip(words, tags, strict=True) if tag == "NOUN" and w in _shared(topic)]
            assert (shared >= 0) == bool(ambiguous) and (shared < 0 or words[shared] == ambiguous[-1])
            middle = tags.index("VERB")
            nouns = [(i, word) for i, word in enumerate(words) if tags[i] in ("NOUN", "PROPN")]
            before, behind = ([word for i, word in nouns if (i > middle) == later] for later in (False, True))
            things.append((before, behind))
        assert all(one[1] == two[0] for one, two in itertools.pairwise(things))


def _shared(topic: int) -> set[str]:
    return set(lexicon()[topic]["NOUN"]) & set(lexicon()[topic ^ 1]["NOUN"])


def test_the_words_are_known() -> None:
    """A record compares runs on the same sentences: a change of these is a change of the task."""
    text = "\n".join(" ".join(sentence.words) for split in ("train", "valid", "test") for sentence in everything(split))
    assert text.split("\n", 1)[0] == "the fado maga the bilo ."
    known = "5c89f8bd59e8456f0da4e61e8a41a08fbb97bd1e2299842c790ac790189f0620"
    assert hashlib.sha256(text.encode()).hexdigest() == known
    train = {tuple(sentence.words) for sentence in everything()}
    assert sum(tuple(sentence.words) in train for sentence in everything("test")) < 20
