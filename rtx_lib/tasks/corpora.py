"""Readers: texts as documents of sentences of words, sentences with a label, with tags, and words with their sense.

Words are as the files have them. Every reader gives the splits "train", "valid" and "test". Where the authors made a
test set, it is "test". What they left whole is cut by a rule: each part (a sentence, or a document where there are any)
gets a digit, the SHA-256 of its words modulo 10; digit 0 is "test", digit 1 "valid", the others "train". So a sentence
that a file holds twice is on one side only. Where there is a test set, digit 1 of the rest is "valid".

=============== ================================================ ================ ==================================
source          what                                             test             from
=============== ================================================ ================ ==================================
``subj``        subjective (0) or plot (1), 10,000 sentences     by the rule      Pang and Lee 2004
``trec``        kind of a question, 6 classes, 5,452 + 500       theirs           Li and Roth 2002
``sst2``        film review, for it (1) or not                   theirs           Socher et al. 2013
``wikitext2``   120 articles of Wikipedia (its valid and test)   by the rule      Merity et al. 2016; CC BY-SA 3.0
``masc``        392 texts of many genres, with tags              by the rule      Ide et al. 2010; free to use
``ud_ewt``      web texts with universal tags (dev and test)     theirs           Silveira et al. 2014; CC BY-SA 4.0
``conll2000``   Wall Street Journal, with tags and phrases       theirs           Tjong Kim Sang and Buchholz 2000
``ptb``         Wall Street Journal, rare words left out         theirs           Mikolov et al. 2010
``pydoc``       Python's help topics, which come with Python     by the rule      see `rtx_lib.tasks.CharacterText`
``small_world`` generated, needs no file                         of its own seed  `rtx_lib.tasks.small_world`
=============== ================================================ ================ ==================================

Texts overlap, and whoever reads one before being tested on another must look. Three in ten of the test sentences of
``sst2`` stand in ``subj``, for both come from the same reviews; half of those of ``conll2000`` stand in ``ptb``, which
has the same sections of the newspaper; and 10 of the 500 test questions of ``trec`` are training questions, too.
`documents` and `sentences` leave out what is held for other tests, if they are told (`without`).

The files come from `rtx_lib.tasks.fetch`, whose errors pass through.
"""

from __future__ import annotations

import hashlib
import html
import re
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

from rtx_lib.tasks.files import GROUPS, fetch
from rtx_lib.tasks.small_world import small_world
from rtx_lib.tasks.splits import SPLITS, check_choice, check_split

Words = list[str]
Document = list[Words]
Part = TypeVar("Part")

LABELLED = ("subj", "trec", "sst2", "small_world")
TAGGED = ("ud_ewt", "conll2000", "masc", "small_world")
TEXTS = ("wikitext2", "masc", "ud_ewt", "ptb", "conll2000", "subj", "trec", "sst2", "pydoc", "small_world")
WITH_DOCUMENTS = ("wikitext2", "masc", "ud_ewt", "pydoc", "small_world")  # which are longer than a sentence
SENSES = ("interest", "small_world")
CLASSES = {  # by their number
    "subj": ("subjective", "objective"),
    "trec": ("description", "entity", "abbreviation", "person", "place", "number"),
    "sst2": ("against", "for"),
    "small_world": ("topic 0", "topic 1", "topic 2", "topic 3"),
}
# By source, its files.
SOURCES = {source: GROUPS.get(source, ()) for source in TEXTS} | {"interest": GROUPS["senseval"]}
_SIGNS = {"@-@": "-", "@,@": ",", "@.@": "."}  # inside numbers and words of WikiText


class Labelled(NamedTuple):
    """A sentence and its class."""

    words: list[str]
    label: int


class Tagged(NamedTuple):
    """A sentence, the class of each word, and whether a phrase begins there (at every word, if none are known)."""

    words: list[str]
    tags: list[str]
    begins: list[bool]


class Phrases(NamedTuple):
    """A sentence, and whether a phrase begins at each word."""

    words: list[str]
    begins: list[bool]


class Sense(NamedTuple):
    """A sentence, the place of the word that is asked for, and the name of its sense."""

    words: list[str]
    place: int
    sense: str


def labelled(source: str) -> dict[str, list[Labelled]]:
    """The sentences of a source of `LABELLED`, by split."""
    check_choice("source", source, LABELLED)
    if source == "small_world":
        return {
            split: [Labelled(s.words, s.topic) for document in small_world()[split] for s in document]
            for split in SPLITS
        }
    if source == "subj":
        return _by_rule(_read_labelled(*SOURCES["subj"]), lambda row: row.words)
    if source == "trec":
        rows, test = map(_read_labelled, SOURCES["trec"])
        return _with_test(rows, test, lambda row: row.words)
    return {split: _read_labelled(name, "utf-8") for split, name in zip(SPLITS, SOURCES["sst2"], strict=True)}


def tagged(source: str) -> dict[str, list[Tagged]]:
    """The sentences of a source of `TAGGED`, by split."""
    return {split: [row for document in rows for row in document] for split, rows in _tagged(source).items()}


def senses(source: str) -> dict[str, list[Sense]]:
    """Sentences with a word of several senses, by split.

    "interest": the noun, in 2,368 sentences of the Wall Street Journal, with six senses (Bruce and Wiebe 1994). Digits
    0 to 2 are "test", for a tenth of so few would be too little. "small_world": the shared nouns; the topic is their
    sense.
    """
    check_choice("source", source, SENSES)
    if source == "small_world":
        return {
            split: [
                Sense(s.words, s.shared, f"topic {s.topic}")
                for document in small_world()[split]
                for s in document
                if s.shared >= 0
            ]
            for split in SPLITS
        }
    text = _zipped("senseval/interest.pos", *SOURCES["interest"]).decode("ascii")
    found = []
    for sense, context in re.findall(r'senseid="([^"]*)"/>\s*<context>(.*?)</context>', text, re.S):
        tokens = re.findall(r"(<head>\s*)?<wf[^>]*>([^<]*)</wf>", context)
        place = next(number for number, (head, _) in enumerate(tokens) if head)
        found.append(Sense([html.unescape(word) for _, word in tokens], place, sense))
    return _by_rule(found, lambda row: row.words, test=3)


def documents(source: str, without: Sequence[str] = ()) -> dict[str, list[Document]]:
    """The documents of a source of `TEXTS`, by split; in some every sentence is one, and ``ptb`` is one a split.

    `without` names labelled or tagged sources or "interest": their valid and test sentences are left out of "train",
    whatever their signs and capitals.
    """
    return {split: [[row.words for row in rows] for rows in parts] for split, parts in phrases(source, without).items()}


def phrases(source: str, without: Sequence[str] = ()) -> dict[str, list[list[Phrases]]]:
    """The same documents, with where phrases and names begin; where they are not known, every word is one."""
    check_choice("source", source, TEXTS)
    if source == "small_world":
        found = {
            split: [[Phrases(s.words, s.begins) for s in part] for part in small_world()[split]] for split in SPLITS
        }
    elif source in TAGGED:
        read = _tagged(source)
        found = {split: [[Phrases(row.words, row.begins) for row in rows] for rows in read[split]] for split in SPLITS}
    else:
        texts = _untagged(source)
        found = {
            split: [[Phrases(words, [True] * len(words)) for words in d] for d in texts[split]] for split in SPLITS
        }
    if without:
        held = _held(without)
        kept = [[row for row in rows if _letters(row.words) not in held] for rows in found["train"]]
        found["train"] = [rows for rows in kept if rows]
    return found


def _untagged(source: str) -> dict[str, list[Document]]:
    if source in LABELLED:
        return {split: [[row.words] for row in rows] for split, rows in labelled(source).items()}
    if source == "ptb":
        texts = {split: fetch(name).read_bytes().decode() for split, name in zip(SPLITS, SOURCES["ptb"], strict=True)}
        return {split: [[line.split() for line in text.split("\n") if line.split()]] for split, text in texts.items()}
    read = _wikitext() if source == "wikitext2" else _pydoc()
    return _by_rule(read, lambda document: [word for sentence in document for word in sentence])


def sentences(*sources: str, split: str = "train", without: Sequence[str] = ()) -> list[Words]:
    """All sentences of a split of some texts, one source after the other; `without` as in `documents`."""
    check_split(split)
    return [words for source in sources for document in documents(source, without)[split] for words in document]


def _held(sources: Sequence[str]) -> set[str]:
    held = set()
    for source in sources:
        check_choice("without", source, (*LABELLED, *TAGGED, "interest"))
        found: Mapping[str, Sequence[Labelled | Tagged | Sense]]
        found = labelled(source) if source in LABELLED else tagged(source) if source in TAGGED else senses(source)
        held |= {_letters(row.words) for split in ("valid", "test") for row in found[split]}
    return held


def _letters(words: Iterable[str]) -> str:
    """What two files must agree on to hold the same sentence: its letters."""
    return re.sub("[^a-z]+", " ", " ".join(words).lower()).strip()


def _digit(words: Iterable[str]) -> int:
    return int(hashlib.sha256(" ".join(words).encode()).hexdigest(), 16) % 10


def _by_rule(parts: Sequence[Part], words: Callable[[Part], Iterable[str]], test: int = 1) -> dict[str, list[Part]]:
    """Digits below `test` are "test", the next is "valid", the others are "train"."""
    found: dict[str, list[Part]] = {split: [] for split in SPLITS}
    for part in parts:
        digit = _digit(words(part))
        found["test" if digit < test else "valid" if digit == test else "train"].append(part)
    return found


def _with_test(
    parts: Sequence[Part], test: Sequence[Part], words: Callable[[Part], Iterable[str]]
) -> dict[str, list[Part]]:
    """Digit 1 is "valid"; "test" is given."""
    valid = [_digit(words(part)) == 1 for part in parts]
    chosen = {flag: [part for part, is_valid in zip(parts, valid, strict=True) if is_valid == flag] for flag in (0, 1)}
    return {"train": chosen[0], "valid": chosen[1], "test": list(test)}


def _read_labelled(name: str, encoding: str = "latin-1") -> list[Labelled]:
    """Lines of a digit and words."""
    lines = fetch(name).read_bytes().decode(encoding).split("\n")
    return [Labelled(line[2:].split(), int(line[0])) for line in lines if line.strip()]


def _zipped(inner: str, name: str) -> bytes:
    with zipfile.ZipFile(fetch(name)) as archive:
        return archive.read(inner)


def _tagged(source: str) -> dict[str, list[list[Tagged]]]:
    """Documents of tagged sentences; those of CoNLL-2000 are one sentence long."""
    check_choice("source", source, TAGGED)

    def words(document: list[Tagged]) -> Words:
        return [word for row in document for word in row.words]

    if source == "small_world":
        return {
            split: [[Tagged(s.words, s.tags, s.begins) for s in document] for document in found]
            for split, found in small_world().items()
        }
    if source == "masc":
        return _by_rule(_masc(), words)
    if source == "ud_ewt":
        rows, test = map(_conllu, SOURCES["ud_ewt"])
        return _with_test(rows, test, words)
    return _with_test(_conll2000("train"), _conll2000("test"), words)


def _masc() -> list[list[Tagged]]:
    """One document a file, one sentence a line, of words with an underscore and a tag; a word without one has the
    tag of what follows ("D. C._NNP"), and an underscore without a word is dropped."""
    found = []
    with zipfile.ZipFile(fetch(*SOURCES["masc"])) as archive:
        for name in sorted(archive.namelist()):
            if not name.endswith(".txt") or name.endswith("categories.txt"):
                continue
            document = []
            for line in archive.read(name).decode().split("\n"):
                words: Words = []
                tags: list[str] = []
                for word, mark, tag in (token.rpartition("_") for token in line.split()):
                    words += [word if mark else tag] if word or not mark else []
                    tags += [tag] * (len(words) - len(tags)) if mark else []
                del words[len(tags) :]
                document += [Tagged(words, tags, [True] * len(words))] if words else []
            found.append(document)
    return found


def _conllu(name: str) -> list[list[Tagged]]:
    """One document for each mark of a new one; columns 2 and 4 of the lines whose number is whole."""
    found: list[list[Tagged]] = []
    for block in fetch(name).read_bytes().decode().split("\n\n"):
        lines = block.split("\n")
        rows = [line.split("\t") for line in lines if line and line[0] != "#"]
        rows = [row for row in rows if row[0].isdigit()]
        if any(line.startswith("# newdoc") for line in lines) or not found:
            found.append([])
        if rows:
            found[-1].append(Tagged([row[1] for row in rows], [row[3] for row in rows], [True] * len(rows)))
    return [document for document in found if document]


def _conll2000(part: str) -> list[list[Tagged]]:
    """Lines of a word, its tag and its place in a phrase: B begins one, I goes on, O is outside of all."""
    found = []
    for block in _zipped(f"conll2000/{part}.txt", *SOURCES["conll2000"]).decode("ascii").split("\n\n"):
        rows = [line.split() for line in block.split("\n") if line.strip()]
        if rows:
            words, tags, phrases = map(list, zip(*rows, strict=True))
            found.append([Tagged(words, tags, [phrase[0] != "I" for phrase in phrases])])
    return found


def _wikitext() -> list[Document]:
    """Articles without their headings; a sentence ends behind a full stop, a question or exclamation mark."""
    found: list[Document] = []
    for name in SOURCES["wikitext2"]:
        lines = fetch(name).read_bytes().decode().split("\n")
        for before, line, after in zip(lines, lines[1:], lines[2:], strict=False):
            alone = not before.strip() and not after.strip()  # formulas, too, may begin and end with a sign of equality
            if alone and re.fullmatch(r" = [^=].*[^=] = ", line):
                found.append([])
            elif line.strip() and not line.startswith(" = "):
                found[-1] += _cut(line.split())
    return [document for document in found if document]


def _pydoc() -> list[Document]:
    """Words, numbers and runs of a sign; a paragraph is cut at full stops."""
    from pydoc_data.topics import topics  # here, because it is half a megabyte

    found = []
    for name in sorted(topics):
        paragraphs = [
            [match[0] for match in re.finditer(r"[A-Za-z]+|\d+|([^\sA-Za-z\d])\1*", text)]
            for text in topics[name].split("\n\n")
        ]
        found.append([sentence for words in paragraphs for sentence in _cut(words)])
    return [document for document in found if document]


def _cut(words: Words) -> list[Words]:
    """The sentences of a paragraph."""
    ends = [number + 1 for number, word in enumerate(words) if word in (".", "?", "!")]
    places = sorted({0, *ends, len(words)})
    return [[_SIGNS.get(word, word) for word in words[begin:end]] for begin, end in pairwise(places)]
