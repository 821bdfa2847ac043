"""A generated language in which everything is known: topics, word classes, senses, names, and what follows what.

It stands in where no data are. A document has one of four topics and six sentences, of words that mean nothing::

    the mibe kulo pevat the dano .  the dano rusav the sogi tal kemi . ...

    the        DET                       the same in all topics
    mibe       ADJ                       half of the nouns have one before them
    kulo dano  NOUN                      what one sentence ends with, the next begins with: the order can be told
    pevat      VERB
    sogi tal kemi   PROPN, one unit      a name of three parts, none of which stands elsewhere: one tells the others

The noun classes of two topics share ``SHARED`` words, each of which means another thing in either topic: its sense can
only be told from the words around it. Other words belong to one topic, so that unlabelled text tells which belong
together, and few labelled sentences do not. Some words are a noun or a verb, which their place says.
"""

import random
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

TOPICS, SHARED, SENTENCES = 4, 12, 6
NOUNS, VERBS, ADJECTIVES, NAMES = 120, 40, 40, 8  # of each topic
BOTH = 30  # of the nouns of a topic can be verbs
DOCUMENTS = {"train": 3_000, "valid": 300, "test": 600}
SEEDS = {"train": 1_997_000_003, "valid": 1_997_000_004, "test": 1_997_000_005}
_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]


class Sentence(NamedTuple):
    """A sentence of any text, with what is known of it.

    Of each word its class, if there are `tags`, and whether a phrase begins there; the sentence's class, `label`; and
    of a word that has several senses its place, and the name of its sense there.
    """

    words: list[str]
    tags: Sequence[str] = ()
    begins: Sequence[bool] = ()
    label: int = -1
    place: int = -1
    sense: str = ""


@lru_cache
def small_world() -> dict[str, list[list[Sentence]]]:
    """The documents of "train", "valid" and "test", the same for everybody."""
    return {split: _documents(random.Random(SEEDS[split]), count) for split, count in DOCUMENTS.items()}


@lru_cache
def lexicon() -> list[dict[str, list[str]]]:
    """The words of each topic by their class; "PROPN" holds names, parts apart by a space."""
    numbers = iter(random.Random(0).sample(range(len(_SYLLABLES) ** 2), TOPICS * 400))

    def new(count: int, ending: str = "") -> list[str]:
        return ["".join(_SYLLABLES[part] for part in divmod(next(numbers), 70)) + ending for _ in range(count)]

    topics = []
    for _ in range(TOPICS):
        nouns, verbs = new(NOUNS - SHARED), new(VERBS - BOTH, "t")
        names = [" ".join(parts) for parts in zip(new(NAMES, "n"), new(NAMES, "l"), new(NAMES, "s"), strict=True)]
        words = {"NOUN": nouns, "VERB": verbs + nouns[:BOTH], "ADJ": new(ADJECTIVES, "r"), "PROPN": names}
        topics.append(words)
    for one in range(0, TOPICS, 2):
        shared = new(SHARED)
        for words in topics[one : one + 2]:
            words["NOUN"] += shared
    return topics


def _documents(rng: random.Random, count: int) -> list[list[Sentence]]:
    documents = []
    for _ in range(count):
        topic = rng.randrange(TOPICS)
        things = [_thing(rng, lexicon()[topic]) for _ in range(SENTENCES + 1)]
        documents.append([_sentence(rng, topic, *things[i : i + 2]) for i in range(SENTENCES)])
    return documents


def _thing(rng: random.Random, words: dict[str, list[str]]) -> tuple[str, str]:
    """What a sentence is about and its class: a name in one of five cases."""
    tag = "PROPN" if rng.random() < 0.2 else "NOUN"
    return rng.choice(words[tag]), tag


def _sentence(rng: random.Random, topic: int, subject: tuple[str, str], thing: tuple[str, str]) -> Sentence:
    words, tags, begins, shared = [], [], [], -1

    def say(text: str, tag: str) -> None:
        for number, word in enumerate(text.split()):
            words.append(word)
            tags.append(tag)
            begins.append(number == 0)

    ambiguous = lexicon()[topic]["NOUN"][-SHARED:]
    for text, tag in (subject, thing):
        say("the", "DET")
        if rng.random() < 0.5:
            say(rng.choice(lexicon()[topic]["ADJ"]), "ADJ")
        shared = len(words) if text in ambiguous else shared
        say(text, tag)
        if len(tags) and "VERB" not in tags:
            say(rng.choice(lexicon()[topic]["VERB"]), "VERB")
    say(".", "PUNCT")
    return Sentence(words, tags, begins, topic, shared, f"topic {topic}")
