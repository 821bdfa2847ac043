"""The tasks on one long sequence: what their windows and streams hold, and what counting its symbols is worth."""

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
import torch
from support import small_tasks as small

from rtx_lib.tasks import CharacterText, PennTreebank
from rtx_lib.tasks.windows import Windows

SPLITS = ("train", "valid", "test")


def characters(split: str) -> Sequence[Any]:
    return small.SHAKESPEARE[:108] if split == "train" else small.SHAKESPEARE[108:]


def letters(split: str) -> Sequence[Any]:
    return small.PTB[split].replace("\n", "")


def words(split: str) -> Sequence[Any]:
    return small.PTB[split].replace("\n", "<eos>").split()


# The symbols of a split, and the task that reads them in windows.
TASKS = {
    characters: lambda place, length, _: place(small.shakespeare(), CharacterText, length=length),
    letters: lambda place, length, c: place(small.ptb(), PennTreebank, length=length, context=c),
    words: lambda place, length, c: place(small.ptb(), PennTreebank, "words", length=length, context=c),
}


@pytest.fixture(params=TASKS, ids=lambda text: text.__name__)
def text(request: pytest.FixtureRequest):
    return request.param


def read(task: Any, ids: torch.Tensor) -> list[Any]:
    """Symbols, by the attribute of the task that lists them."""
    table = task.characters if isinstance(task, CharacterText) else task.symbols
    return [table[number] for number in ids.flatten()]


@pytest.mark.parametrize("split", SPLITS)
def test_a_stream_reads_the_split_from_its_beginning_to_its_end(place, text, split: str) -> None:
    task, whole = TASKS[text](place, 5, 0), list(text(split))
    ((x, y),) = task.stream(split, 1, len(whole) - 1)
    assert x.dtype == y.dtype == torch.int64
    assert read(task, x) == whole[:-1] and read(task, y) == whole[1:]


@pytest.mark.parametrize(("size", "length"), [(1, 1), (3, 4), (4, 6), (5, 1)])
def test_rows_of_a_stream_go_on_from_piece_to_piece(place, text, size: int, length: int) -> None:
    task, whole = TASKS[text](place, 5, 0), list(text("train"))
    pieces, steps = list(task.stream("train", size, length)), (len(whole) - 1) // size
    assert len(pieces) == steps // length > 0 and all(x.shape == y.shape == (size, length) for x, y in pieces)
    covered = len(pieces) * length
    for row, first in enumerate(range(0, size * steps, steps)):
        assert read(task, torch.cat([x[row] for x, _ in pieces])) == whole[first : first + covered]
        assert read(task, torch.cat([y[row] for _, y in pieces])) == whole[first + 1 : first + 1 + covered]


LENGTHS = [(1, 0), (5, 0), (6, 0), (11, 0), (5, 4), (6, 2), (9, 3), (11, 10)]
WINDOWS = [(text, *pair) for text in TASKS for pair in LENGTHS if not pair[1] or text in (letters, words)]


@pytest.mark.parametrize(("text", "length", "context"), WINDOWS)
@pytest.mark.parametrize("size", [1, 3, 1_000])
def test_windows_score_every_symbol_behind_the_first_context_once(place, text, length, context, size) -> None:
    task = TASKS[text](place, length, context)
    for split in SPLITS:
        whole, start, scored, lengths = list(text(split)), 0, Counter[int](), []
        for x, y in task.batches(split, size):
            assert x.dtype == y.dtype == torch.int64 and x.shape == y.shape and len(x) <= size
            for row_x, row_y in zip(x, y, strict=True):  # each begins length - context behind the one before
                assert read(task, row_x) == whole[start : start + len(row_x)]
                assert read(task, row_y) == whole[start + 1 : start + 1 + len(row_x)]
                scored.update(range(start + context + 1, start + 1 + len(row_x)))
                lengths.append(len(row_x))
                start += length - context
        last = len(whole) if text is not characters else 1 + (len(whole) - 1) // length * length
        assert scored == Counter(range(context + 1, last))
        assert set(lengths[:-1]) <= {length} and context < lengths[-1] <= length
        assert len(lengths) == 1 or lengths[-1] == length or len(y) == 1  # a shorter window comes alone
        if hasattr(task, "weight"):
            assert sum(task.weight(y) for _, y in task.batches(split, size)) == scored.total()


def test_windows_are_drawn_from_everywhere_in_the_split() -> None:
    windows = Windows({"train": torch.arange(100, 208), "valid": torch.arange(12), "test": torch.arange(20, 40)}, 5)
    for split, first, last in (("train", 100, 207), ("valid", 0, 11), ("test", 20, 39)):
        x, y = windows.batch(split, 3_000, torch.Generator().manual_seed(1))
        assert x.shape == (3_000, 5) and (x.diff(dim=1) == 1).all() and torch.equal(y, x + 1)
        assert x[:, 0].unique().tolist() == list(range(first, last - 4))  # so that the last label is the last one


@pytest.mark.parametrize(("length", "context"), [(1, 0), (4, 0), (11, 0), (6, 3)])
def test_baselines_are_what_their_strategies_reach(place, text, length: int, context: int, monkeypatch) -> None:
    """Symbols and pairs counted in "train", one added to every count, over all that the windows of a split score."""
    task = TASKS[text](place, length, context)
    train, v, context = list(text("train")), task.vocabulary, getattr(task, "context", 0)
    single, pairs, begins = Counter(train), Counter(pairwise(train)), Counter(train[:-1])
    unigram, bigram = [], []
    for x, y in task.batches("valid" if text is characters else "test", 3):
        for a, b in zip(read(task, x[:, context:]), read(task, y[:, context:]), strict=True):
            unigram.append(-math.log((single[b] + 1) / (len(train) + v)))
            bigram.append(-math.log((pairs[a, b] + 1) / (begins[a] + v)))
    mean = {"uniform guess loss": math.log(v), "unigram loss": sum(unigram) / len(unigram)}
    if text is not words:
        mean["bigram loss"] = sum(bigram) / len(bigram)
    assert task.baselines() == pytest.approx(mean, rel=1e-12)
    size = len(text("train"))
    for piece in (1, 7, size - 1, size) if text is letters else ():  # none is lost or comes twice where pieces meet
        monkeypatch.setattr("rtx_lib.tasks.windows._PIECE", piece)
        assert task.baselines() == pytest.approx(mean, rel=1e-12)


def test_a_context_leaves_a_label_and_no_stream(place) -> None:
    task = TASKS[words](place, 6, 3)
    for y in (torch.zeros(4, 3, dtype=torch.int64), torch.full((4, 5), -100)):
        with pytest.raises(ValueError, match=r"y must be longer than the context, 3, and hold a label, got shape \(4,"):
            task.loss(torch.zeros(*y.shape, task.vocabulary), y)
    with pytest.raises(ValueError, match=r"context must be 0 for streams, .* got 3"):
        task.stream("train", 1, 4)  # at the call, not at the first piece
