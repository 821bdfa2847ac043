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

import hashlib
import html
import re
import zipfile
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

from rtx_lib.shapes import expect_each
from rtx_lib.tasks.files import GROUPS, fetch
from rtx_lib.tasks.small_world import Sentence, small_world
from rtx_lib.tasks.splits import SPLITS

Words = list[str]
Document = list[Sentence]

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


def labelled(source: str) -> dict[str, list[Sentence]]:
    """The sentences of a source of `LABELLED`, by split, each with its `label`."""
    return _sentences(source, LABELLED)


def tagged(source: str) -> dict[str, list[Sentence]]:
    """The sentences of a source of `TAGGED`, by split, each with its `tags`."""
    return _sentences(source, TAGGED)


def senses(source: str) -> dict[str, list[Sentence]]:
    """Sentences with a word of several senses, by split, each with the word's `place` and `sense`.

    "interest": the noun, in 2,368 sentences of the Wall Street Journal, with six senses (Bruce and Wiebe 1994). Digits
    0 to 2 are "test", for a tenth of so few would be too little. "small_world": the shared nouns; the topic is their
    sense.
    """
    return {split: [row for row in rows if row.place >= 0] for split, rows in _sentences(source, SENSES).items()}


def documents(source: str, without: Sequence[str] = ()) -> dict[str, list[list[Words]]]:
    """The documents of a source of `TEXTS`, by split; in some every sentence is one, and ``ptb`` is one a split.

    `without` names labelled or tagged sources or "interest": their valid and test sentences are left out of "train",
    whatever their signs and capitals.
    """
    return {split: [[row.words for row in rows] for rows in parts] for split, parts in phrases(source, without).items()}


def phrases(source: str, without: Sequence[str] = ()) -> dict[str, list[Document]]:
    """The same documents, with where phrases and names begin; where they are not known, every word is one."""
    expect_each(source=(source, TEXTS))
    found, held = dict(_READERS[source]()), set[str]()
    for other in without:
        expect_each(without=(other, (*LABELLED, *TAGGED, "interest")))
        rows = _sentences(other, [other])
        held |= {_letters(row.words) for split in ("valid", "test") for row in rows[split]}
    if held:
        kept = [[row for row in document if _letters(row.words) not in held] for document in found["train"]]
        found["train"] = [document for document in kept if document]
    return found


def sentences(*sources: str, split: str = "train", without: Sequence[str] = ()) -> list[Words]:
    """All sentences of a split of some texts, one source after the other; `without` as in `documents`."""
    expect_each(split=(split, SPLITS))
    return [words for source in sources for document in documents(source, without)[split] for words in document]


def _sentences(source: str, allowed: Sequence[str]) -> dict[str, list[Sentence]]:
    expect_each(source=(source, allowed))
    return {split: [row for document in found for row in document] for split, found in _READERS[source]().items()}


def _letters(words: Iterable[str]) -> str:
    """What two files must agree on to hold the same sentence: its letters."""
    return re.sub("[^a-z]+", " ", " ".join(words).lower()).strip()


def _digit(document: Document) -> int:
    words = " ".join(word for row in document for word in row.words)
    return int(hashlib.sha256(words.encode()).hexdigest(), 16) % 10


def _by_rule(parts: list[Document], test: int = 1) -> dict[str, list[Document]]:
    """Digits below `test` are "test", the next is "valid", the others are "train"."""
    found: dict[str, list[Document]] = {split: [] for split in SPLITS}
    for part in parts:
        digit = _digit(part)
        found["test" if digit < test else "valid" if digit == test else "train"].append(part)
    return found


def _with_test(parts: list[Document], test: list[Document]) -> dict[str, list[Document]]:
    """Digit 1 is "valid"; "test" is given."""
    found: dict[str, list[Document]] = {"train": [], "valid": [], "test": test}
    for part in parts:
        found["valid" if _digit(part) == 1 else "train"].append(part)
    return found


def _plain(words: Words, **known: Any) -> Sentence:
    """A sentence in which no phrases are known."""
    return Sentence(words, begins=[True] * len(words), **known)


def _labelled(name: str, encoding: str = "latin-1") -> list[Document]:
    """Lines of a digit and words, each a document."""
    lines = fetch(name).read_bytes().decode(encoding).split("\n")
    return [[_plain(line[2:].split(), label=int(line[0]))] for line in lines if line.strip()]


def _lines(name: str) -> list[Document]:
    """One document of all lines."""
    lines = fetch(name).read_bytes().decode().split("\n")
    return [[_plain(line.split()) for line in lines if line.split()]]


def _zipped(inner: str, name: str) -> str:
    with zipfile.ZipFile(fetch(name)) as archive:
        return archive.read(inner).decode("ascii")


def _interest() -> list[Document]:
    """Sentences in which a head stands before the word that is asked for."""
    text, found = _zipped("senseval/interest.pos", *SOURCES["interest"]), []
    for sense, context in re.findall(r'senseid="([^"]*)"/>\s*<context>(.*?)</context>', text, re.S):
        tokens = re.findall(r"(<head>\s*)?<wf[^>]*>([^<]*)</wf>", context)
        place = next(number for number, (head, _) in enumerate(tokens) if head)
        found.append([_plain([html.unescape(word) for _, word in tokens], place=place, sense=sense)])
    return found


def _masc() -> list[Document]:
    """One document a file, one sentence a line, of words with an underscore and a tag; a word without one has the
    tag of what follows ("D. C._NNP"), and an underscore without a word is dropped."""
    found = []
    with zipfile.ZipFile(fetch(*SOURCES["masc"])) as archive:
        for name in sorted(archive.namelist()):
            if not name.endswith(".txt") or name.endswith("categories.txt"):
                continue
            document: Document = []
            for line in archive.read(name).decode().split("\n"):
                words: Words = []
                tags: list[str] = []
                for word, mark, tag in (token.rpartition("_") for token in line.split()):
                    words += [word if mark else tag] if word or not mark else []
                    tags += [tag] * (len(words) - len(tags)) if mark else []
                del words[len(tags) :]
                document += [_plain(words, tags=tags)] if words else []
            found.append(document)
    return found


def _conllu(name: str) -> list[Document]:
    """One document for each mark of a new one; columns 2 and 4 of the lines whose number is whole."""
    found: list[Document] = []
    for block in fetch(name).read_bytes().decode().split("\n\n"):
        lines = block.split("\n")
        rows = [line.split("\t") for line in lines if line and line[0] != "#"]
        rows = [row for row in rows if row[0].isdigit()]
        if any(line.startswith("# newdoc") for line in lines) or not found:
            found.append([])
        if rows:
            found[-1].append(_plain([row[1] for row in rows], tags=[row[3] for row in rows]))
    return [document for document in found if document]


def _conll2000(part: str) -> list[Document]:
    """Lines of a word, its tag and its place in a phrase: B begins one, I goes on, O is outside of all."""
    found = []
    for block in _zipped(f"conll2000/{part}.txt", *SOURCES["conll2000"]).split("\n\n"):
        rows = [line.split() for line in block.split("\n") if line.strip()]
        if rows:
            words, tags, phrases = map(list, zip(*rows, strict=True))
            found.append([Sentence(words, tags, [phrase[0] != "I" for phrase in phrases])])
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
        texts = (re.finditer(r"[A-Za-z]+|\d+|([^\sA-Za-z\d])\1*", text) for text in topics[name].split("\n\n"))
        paragraphs = [[match[0] for match in text] for text in texts]
        found.append([row for words in paragraphs for row in _cut(words)])
    return [document for document in found if document]


def _cut(words: Words) -> Document:
    """The sentences of a paragraph."""
    ends = [number + 1 for number, word in enumerate(words) if word in (".", "?", "!")]
    places = sorted({0, *ends, len(words)})
    return [_plain([_SIGNS.get(word, word) for word in words[begin:end]]) for begin, end in pairwise(places)]


def _parts(read: Callable[[str], list[Document]], source: str) -> dict[str, list[Document]]:
    """A source that has a file for each split."""
    return {split: read(name) for split, name in zip(SPLITS, SOURCES[source], strict=True)}


_READERS: dict[str, Callable[[], dict[str, list[Document]]]] = {
    "subj": lambda: _by_rule(_labelled(*SOURCES["subj"])),
    "trec": lambda: _with_test(*map(_labelled, SOURCES["trec"])),
    "sst2": lambda: _parts(lambda name: _labelled(name, "utf-8"), "sst2"),
    "wikitext2": lambda: _by_rule(_wikitext()),
    "masc": lambda: _by_rule(_masc()),
    "ud_ewt": lambda: _with_test(*map(_conllu, SOURCES["ud_ewt"])),
    "conll2000": lambda: _with_test(_conll2000("train"), _conll2000("test")),
    "ptb": lambda: _parts(_lines, "ptb"),
    "pydoc": lambda: _by_rule(_pydoc()),
    "interest": lambda: _by_rule(_interest(), test=3),
    "small_world": small_world,
}
