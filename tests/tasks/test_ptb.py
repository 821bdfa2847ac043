"""The Penn Treebank on three small texts: windows with a context, the vocabulary, what baselines are worth."""

from __future__ import annotations

import hashlib
import math
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from torch import Tensor

from rtx_lib.tasks import PennTreebank, StreamTask, Task
from rtx_lib.tasks.download import FILES, DataFile, DownloadError
from rtx_lib.training import evaluate

SMALL = {
    "train": " the cat sat on the mat \n a <unk> sat N times \n the end \n" * 3,
    "valid": " a cat sat \n the mat \n the end \n the end \n",
    "test": " the <unk> sat on a cat \n the end \n N cat \n",
}
WORDS = ("<eos>", "the", "sat", "<unk>", "N", "a", "cat", "end", "mat", "on", "times")  # 9, 9, 6 and then 3 times


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """A task over small texts, which a cache serves as if they were the true files."""

    def make(level: str = "characters", length: int = 6, context: int = 0, **texts: str) -> PennTreebank:
        for split, text in (SMALL | texts).items():
            name, content = f"ptb.{split}.txt", text.encode()
            (tmp_path / name).write_bytes(content)
            monkeypatch.setitem(FILES, name, DataFile(hashlib.sha256(content).hexdigest(), len(content), ()))
        return PennTreebank(level, length=length, context=context, root=tmp_path, download=False)

    return make


def symbols(level: str, split: str) -> list[str]:
    """A split of the small texts, symbol by symbol."""
    text = SMALL[split]
    return list(text.replace("\n", "")) if level == "characters" else text.replace("\n", "<eos>").split()


# The texts


def test_words_are_numbered_by_their_frequency(small) -> None:
    task = small("words")
    assert task.symbols == WORDS and task.vocabulary == task.input_size == task.output_size == 11
    assert task.encode("the cat\n").tolist() == task.encode(["the", "cat", "<eos>"]).tolist() == [1, 6, 0]
    assert task.decode([1, 6, 0]) == "the cat <eos>"


def test_characters_are_sorted_and_without_ends_of_lines(small) -> None:
    task = small()
    assert task.symbols == tuple(sorted(set(SMALL["train"]) - {"\n"})) and task.vocabulary == len(task.symbols)
    assert task.encode(" <unk>").shape == (6,) and task.decode(task.encode(" <unk> cat")) == " <unk> cat"
    assert task.encode(list("cat")).tolist() == task.encode("cat").tolist()
    ((x, y),) = task.stream("valid", 1, 34)
    assert task.decode(x[0]) + task.decode(y[0, -1:]) == " a cat sat  the mat  the end  the end "[:35]


@pytest.mark.parametrize("level", ["characters", "words"])
@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_splits_are_the_files(small, level: str, split: str) -> None:
    task, text = small(level), symbols(level, split)
    ((x, y),) = task.stream(split, 1, len(text) - 1)
    assert x.dtype == y.dtype == torch.int64
    assert [task.symbols[i] for i in x[0]] == text[:-1] and [task.symbols[i] for i in y[0]] == text[1:]


@pytest.mark.data("ptb")
@pytest.mark.parametrize(
    ("level", "vocabulary", "sizes", "baselines"),
    [
        ("characters", 49, (5_059_550, 396_412, 446_184), (2.9675, 2.3155)),
        ("words", 10_000, (929_589, 73_760, 82_430), (6.4611,)),
    ],
)
def test_true_files(level: str, vocabulary: int, sizes: tuple[int, ...], baselines: tuple[float, ...]) -> None:
    started = time.process_time()
    task = PennTreebank(level, length=80, context=40, download=False)
    assert time.process_time() - started < 5  # about half a second where nothing else runs
    assert task.vocabulary == vocabulary and task.name == f"ptb-{level}-80-context-40"
    for split, size in zip(("train", "valid", "test"), sizes, strict=True):
        assert sum(task.weight(y) for _, y in task.batches(split, 1_000)) == size - 41
    # The values depend on the protocol by what the first 40 labels are worth.
    assert tuple(task.baselines().values()) == pytest.approx((math.log(vocabulary), *baselines), abs=1e-3)
    text = "no it was n't black monday"
    start = task.encode(f" {text} " if level == "characters" else f"{text}\n")
    x, _ = next(task.batches("test", 1))
    assert torch.equal(x[0, : len(start)], start)
    if level == "characters":
        assert "".join(task.symbols) == " #$&'*-./0123456789<>N\\abcdefghijklmnopqrstuvwxyz"
    else:
        assert task.symbols[:5] == ("the", "<unk>", "<eos>", "N", "of")


# Windows


@pytest.mark.parametrize("level", ["characters", "words"])
@pytest.mark.parametrize(("length", "context"), [(1, 0), (5, 0), (6, 0), (5, 4), (6, 2), (9, 3), (11, 10)])
@pytest.mark.parametrize("size", [1, 3, 1_000])
def test_batches_score_every_symbol_behind_the_first_context_once(small, level, length, context, size) -> None:
    task = small(level, length, context)
    for split in SMALL:
        text = symbols(level, split)
        # Number the places, by the symbols before: follow each window from where the one before it began.
        start, scored, weight, lengths = 0, Counter[int](), 0, []
        for x, y in task.batches(split, size):
            assert x.dtype == y.dtype == torch.int64 and x.shape == y.shape and len(x) <= size
            weight += task.weight(y)
            for row_x, row_y in zip(x, y, strict=True):
                read = [task.symbols[i] for i in row_x]
                assert read == text[start : start + len(read)]
                assert [task.symbols[i] for i in row_y] == text[start + 1 : start + 1 + len(read)]
                scored.update(range(start + context + 1, start + 1 + len(read)))
                lengths.append(len(read))
                start += length - context
        assert scored == Counter(range(context + 1, len(text))) and weight == scored.total()
        assert set(lengths[:-1]) <= {length} and context < lengths[-1] <= length
        if len(lengths) > 1 and lengths[-1] < length:
            assert len(y) == 1  # the shorter window comes alone


def logits(task: PennTreebank, x: Tensor) -> Tensor:
    """Some model, which knows only the symbol it reads."""
    return torch.randn(task.vocabulary, task.vocabulary, generator=generator(3), dtype=torch.float64)[x]


class Model(torch.nn.Module):
    def __init__(self, task: PennTreebank) -> None:
        super().__init__()
        self.task = task

    def forward(self, x: Tensor, state: None = None) -> tuple[Tensor, None]:
        return logits(self.task, x), None


@pytest.mark.parametrize("level", ["characters", "words"])
@pytest.mark.parametrize(("length", "context"), [(5, 0), (6, 2), (10, 3)])
def test_the_weighted_mean_does_not_depend_on_the_batches(small, level, length, context) -> None:
    task = small(level, length, context)
    ids = task.encode(symbols(level, "test"))
    table = logits(task, torch.arange(task.vocabulary)).log_softmax(-1)
    loss = -table[ids[context:-1], ids[context + 1 :]].mean().item()  # one long window
    plain = []
    for size in (1, 2, 3, 1_000):
        scores = [(task.metrics(logits(task, x), y), task.weight(y), len(y)) for x, y in task.batches("test", size)]
        mean = sum(weight * metrics["loss"] for metrics, weight, _ in scores) / sum(w for _, w, _ in scores)
        assert mean == pytest.approx(loss, rel=1e-12)
        plain.append(sum(rows * metrics["loss"] for metrics, _, rows in scores) / sum(r for _, _, r in scores))
        found = evaluate(Model(task), task, "test", batch_size=size)
        assert found["loss"] == pytest.approx(loss, rel=1e-12)
        if level == "words":
            assert found["perplexity"] == pytest.approx(math.exp(loss), rel=1e-12) and "bpc" not in found
        else:
            assert found["bpc"] == pytest.approx(loss / math.log(2), rel=1e-12) and "perplexity" not in found
    # Planted mistake: a shorter last window that counts like a whole one.
    assert any(value != pytest.approx(loss, rel=1e-6) for value in plain)


def test_batch_draws_windows_from_everywhere_in_the_split(small) -> None:
    task = small(
        "words", 4, 1, train=" ".join(map(chr, range(200, 250))), valid=_letters(210, 222), test=_letters(220, 230)
    )
    for split, first, last in (("train", 200, 249), ("valid", 210, 221), ("test", 220, 229)):
        x, y = task.batch(split, 2_000, generator(1))
        assert x.shape == y.shape == (2_000, 4) and x.dtype == y.dtype == torch.int64
        numbers = torch.tensor([[ord(task.symbols[i]) for i in row] for row in torch.cat([x, y[:, -1:]], 1)])
        assert (numbers.diff(dim=1) == 1).all() and torch.equal(x[:, 1:], y[:, :-1])
        assert numbers[:, 0].unique().tolist() == list(range(first, last - 3))
        again = small("words", 4, 1).batch("train", 3, generator(2))
        assert torch.equal(again[0], small("words", 4, 1).batch("train", 3, generator(2))[0])


def _letters(first: int, last: int) -> str:
    return " ".join(map(chr, range(first, last)))


@pytest.mark.parametrize("level", ["characters", "words"])
def test_streams_go_on_from_piece_to_piece(small, level: str) -> None:
    task, text = small(level), symbols(level, "train")
    steps = (len(text) - 1) // 3
    pieces = list(task.stream("train", 3, 4))
    assert len(pieces) == steps // 4 > 1 and all(x.shape == y.shape == (3, 4) for x, y in pieces)
    for row in range(3):
        read = [task.symbols[i] for x, _ in pieces for i in x[row]]
        named = [task.symbols[i] for _, y in pieces for i in y[row]]
        first = row * steps
        assert read == text[first : first + len(read)] and named == text[first + 1 : first + 1 + len(named)]


# Loss, metrics, baselines


@pytest.mark.parametrize("context", [0, 2, 5])
def test_only_what_follows_the_context_is_scored(small, context: int) -> None:
    task = small("words", 6, context)
    _, y = task.batch("train", 4, generator())
    prediction = torch.zeros(4, 6, 11, requires_grad=True)
    loss = task.loss(prediction, y)
    loss.backward()
    assert prediction.grad is not None and loss.item() == pytest.approx(math.log(11))
    assert (prediction.grad.abs().sum(-1) > 0).tolist() == [[at >= context for at in range(6)]] * 4
    wrong = 100.0 * torch.nn.functional.one_hot((y + 1) % 11, 11)
    wrong[:, context:] = 100.0 * torch.nn.functional.one_hot(y[:, context:], 11)
    assert task.metrics(wrong, y) == {"loss": pytest.approx(0, abs=1e-6), "accuracy": 1.0}
    assert task.weight(y) == 4 * (6 - context)


def test_perplexity_is_that_of_the_mean(small) -> None:
    words, characters = small("words"), small()
    metrics = {"loss": 2.0, "accuracy": 0.5}
    assert words.finish(metrics) == {**metrics, "perplexity": math.exp(2)} and "perplexity" not in metrics
    assert characters.finish({**metrics, "bpc": 3.0}) == {**metrics, "bpc": 3.0}


def strategy(level: str, vocabulary: list[str], context: int, *, skip: bool = True) -> tuple[float, float]:
    """Losses on "test" of counting symbols and pairs in "train", one added, over what follows the context."""
    train, test, v = symbols(level, "train"), symbols(level, "test"), len(vocabulary)
    single, pairs, begins = Counter(train), Counter(pairwise(train)), Counter(train[:-1])
    unigram = bigram = scored = 0.0
    for at in range(context + 1 if skip else 1, len(test)):
        scored += 1
        unigram -= math.log((single[test[at]] + 1) / (len(train) + v))
        bigram -= math.log((pairs[test[at - 1], test[at]] + 1) / (begins[test[at - 1]] + v))
    return unigram / scored, bigram / scored


@pytest.mark.parametrize("level", ["characters", "words"])
@pytest.mark.parametrize("context", [0, 3])
def test_baselines_are_what_their_strategies_reach(small, level: str, context: int) -> None:
    task = small(level, 6, context)
    unigram, bigram = strategy(level, list(task.symbols), context)
    expected = {"uniform guess loss": math.log(task.vocabulary), "unigram loss": unigram}
    if level == "characters":
        expected["bigram loss"] = bigram
    assert task.baselines() == pytest.approx(expected, rel=1e-12)
    if context:  # planted mistake: the context is scored too
        wrong = strategy(level, list(task.symbols), context, skip=False)[0]
        assert wrong != pytest.approx(task.baselines()["unigram loss"], rel=1e-4)


# What is not allowed


def test_unknown_symbols(small) -> None:
    task = small()
    for text, wrong in (
        ("cat\n", "\n"),
        ("caté", "é"),
        ("q", "q"),
        ("\U0001f600", "\U0001f600"),
        ("c\ud800", "\ud800"),
    ):
        with pytest.raises(ValueError, match=r"one of the [0-9]+ characters of PTB") as caught:
            task.encode(text)
        assert repr(wrong) in str(caught.value)
    task = small("words")
    with pytest.raises(ValueError, match="text holds 'dog', which is not one of the 11 words of PTB"):
        task.encode("the dog sat")
    with pytest.raises(ValueError, match="text holds '', which is not"):
        task.encode(["the", ""])
    assert task.encode("<unk>").tolist() == [3] and task.encode("").shape == task.encode([]).shape == (0,)
    with pytest.raises(ValueError, match="text holds 'dog'"):
        small("words", valid=" the cat sat on the dog " * 3)


def test_ids_out_of_range(small) -> None:
    task = small("words")
    for wrong in (-1, 11):
        with pytest.raises(ValueError, match=rf"ids holds {wrong}; every id must be in 0\.\.10"):
            task.decode([0, wrong])
    with pytest.raises(ValueError, match=r"ids has shape \(1, 3\)"):
        task.decode(torch.zeros(1, 3, dtype=torch.int64))


def test_arguments_that_are_not_allowed(small, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="level is 'bytes'; it must be one of 'characters', 'words'"):
        PennTreebank("bytes", length=5, root=tmp_path, download=False)
    for length in (0, -1, 2.5, True):
        with pytest.raises(ValueError, match=f"length is {length!r}; it must be a whole number of at least 1"):
            PennTreebank(length=length, root=tmp_path, download=False)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="context is -1; it must be a whole number of at least 0"):
        PennTreebank(length=5, context=-1, root=tmp_path, download=False)
    for context in (5, 6):
        with pytest.raises(ValueError, match=f"context is {context}; it must be less than length, 5"):
            PennTreebank(length=5, context=context, root=tmp_path, download=False)
    shortest = min(len(symbols("words", split)) for split in SMALL) - 1
    assert small("words", shortest).length == shortest
    with pytest.raises(ValueError, match=f"length is {shortest + 1}; it must be at most {shortest}"):
        small("words", shortest + 1)
    with pytest.raises(ValueError, match="context is 2; it must be 0 for streams"):
        small("words", 6, 2).stream("train", 1, 4)  # at the call, not at the first piece


def test_is_a_stream_task_and_refuses_other_calls(small) -> None:
    task = small("words")
    assert isinstance(task, Task) and isinstance(task, StreamTask) and task.name == "ptb-words-6"
    assert all(type(value) is float for value in task.baselines().values())
    calls = (
        lambda split, size: task.batch(split, size, generator()),
        task.batches,
        lambda split, size: task.stream(split, size, 2),
    )
    for call in calls:
        with pytest.raises(ValueError, match="split is 'dev'; it must be one of"):
            call("dev", 4)
        for size in (0, 1.5, True):
            with pytest.raises(ValueError, match=f"size is {size!r}"):
                call("test", size)
    with pytest.raises(ValueError, match="length is 13; with size 1 it must be at most 12, a stream of 'test'"):
        task.stream("test", 1, 13)
    _, y = task.batch("train", 4, generator())
    for shape in [(4, 11), (3, 6, 11), (4, 7, 11), (4, 6, 10)]:
        for judge in (task.loss, task.metrics):
            with pytest.raises(ValueError, match=r"prediction has shape \(.*whole output \(4, 6, 11\)"):
                judge(torch.zeros(shape), y)
    with pytest.raises(ValueError, match=r"y has shape \(4, 3\); it must be longer than the context, 3"):
        small("words", 6, 3).loss(torch.zeros(4, 3, 11), y[:, :3])


def test_missing_and_broken_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"ptb\.train\.txt is not there, and downloads are off.*place it by hand"):
        PennTreebank(length=5, root=tmp_path, download=False)
    (tmp_path / "ptb.train.txt").write_bytes(b" the banknote")
    with pytest.raises(DownloadError, match=r"ptb\.train\.txt has 13 bytes where 5,101,618 are right"):
        PennTreebank("words", length=5, root=tmp_path, download=False)
