"""Characters of a text: windows, streams, the split, and what the counted baselines are worth."""

from __future__ import annotations

import hashlib
import math
import pydoc_data.topics
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from rtx_lib.tasks import CharacterText, StreamTask, Task, text
from rtx_lib.tasks.download import FILES, DownloadError

NAME = "tinyshakespeare.txt"
SMALL = "abcabdacbd" * 12  # 120 characters: 108 to train, 12 to validate


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch):
    """A task over a text that can be read at a glance."""

    def make(content: str = SMALL, length: int = 5) -> CharacterText:
        monkeypatch.setattr(text, "_pydoc", lambda: content)
        return CharacterText("pydoc", length=length)

    return make


# The text and its split


def test_vocabulary_is_the_sorted_characters_of_the_whole_text(small) -> None:
    task = small("b" * 95 + "\na9 é")  # the last five are in "valid" only
    assert task.characters == "\n 9abé" and task.vocabulary == task.input_size == task.output_size == 6
    assert task.encode("\n é").tolist() == [0, 1, 5]
    assert task.digest == hashlib.sha256(("b" * 95 + "\na9 é").encode()).hexdigest()


def whole(task: CharacterText, split: str, total: int) -> str:
    """The `total` characters of a split, as one stream reads them, with its last label; there must not be more."""
    ((x, y),) = task.stream(split, 1, total - 1)
    with pytest.raises(ValueError, match=f"at most {total - 1}"):
        task.stream(split, 1, total)
    return task.decode(x[0]) + task.decode(y[0, -1:])


@pytest.mark.parametrize("total", [100, 109, 120])
def test_the_split_is_that_of_nanogpt(small, total: int) -> None:
    task = small(SMALL[:total], 3)
    cut = int(0.9 * total)
    assert whole(task, "train", cut) == SMALL[:cut]
    assert whole(task, "valid", total - cut) == whole(task, "test", total - cut) == SMALL[cut:total]


def test_pydoc_needs_no_file() -> None:
    task = CharacterText("pydoc", download=False, root="/nowhere")
    assert (task.name, task.source, task.length) == ("pydoc-64", "pydoc", 64)
    content = "\n\n".join(pydoc_data.topics.topics[name] for name in sorted(pydoc_data.topics.topics))
    assert task.digest == hashlib.sha256(content.encode()).hexdigest()
    assert set("abcdefghijklmnopqrstuvwxyz_\n") <= set(task.characters)
    x, y = task.batch("train", 4, generator())
    assert x.shape == y.shape == (4, 64) and x.dtype == y.dtype == torch.int64
    baselines = task.baselines()
    assert 1.5 < baselines["bigram loss"] < baselines["unigram loss"] < baselines["uniform guess loss"]


@pytest.mark.data("shakespeare")
def test_true_file() -> None:
    task = CharacterText(download=False)
    assert task.name == "shakespeare-64" and task.digest == FILES[NAME].sha256
    assert task.vocabulary == 65 and task.characters.startswith("\n !$&',-.3:;?ABC") and task.characters[-1] == "z"
    train, valid = whole(task, "train", 1_003_854), whole(task, "valid", 111_540)
    assert train.startswith("First Citizen:\nBefore we proceed any further, hear me speak.")
    assert hashlib.sha256((train + valid).encode()).hexdigest() == task.digest
    # Every prediction of the valid split but those of a last window that is not whole.
    assert [y.shape for _, y in task.batches("valid", 1_000)] == [(1_000, 64), (742, 64)]
    assert task.baselines() == {
        "uniform guess loss": math.log(65),
        "unigram loss": pytest.approx(3.3473, abs=1e-4),
        "bigram loss": pytest.approx(2.4819, abs=1e-4),
    }


def test_missing_and_broken_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=rf"{NAME} is not there, and downloads are off.*place it by hand"):
        CharacterText(root=tmp_path, download=False)
    (tmp_path / NAME).write_bytes(b"First Citizen:\n")
    with pytest.raises(DownloadError, match=rf"{NAME} has 15 bytes where 1,115,394 are right"):
        CharacterText(root=tmp_path, download=False)
    (tmp_path / NAME).write_bytes(b"x" * 1_115_394)
    with pytest.raises(DownloadError, match=rf"{NAME} has the wrong SHA-256"):
        CharacterText(root=tmp_path, download=False)


# Windows and streams


def test_batch_draws_windows_from_everywhere_in_the_split(small) -> None:
    content = "".join(chr(200 + i) for i in range(120))  # every place has a character of its own
    task = small(content, 5)
    for split, first, last in (("train", 0, 107), ("valid", 108, 119), ("test", 108, 119)):
        x, y = task.batch(split, 3_000, generator(1))
        assert x.shape == y.shape == (3_000, 5)
        assert torch.equal(x[:, 1:], y[:, :-1]) and (x.diff(dim=1) == 1).all() and (y[:, -1] == x[:, -1] + 1).all()
        assert x[:, 0].unique().tolist() == list(range(first, last - 4))  # so that the last label is the last one


@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_same_generator_same_batch(small, split: str) -> None:
    task, one, two = small(), generator(7), generator(7)
    for _ in range(2):
        torch.rand(3)  # the global generator does not matter
        (x, y), (x_again, y_again) = task.batch(split, 9, one), small().batch(split, 9, two)
        assert torch.equal(x, x_again) and torch.equal(y, y_again)
    assert not torch.equal(task.batch(split, 9, one)[0], x)


@pytest.mark.parametrize("length", [1, 3, 5, 11])
@pytest.mark.parametrize("size", [1, 4, 1_000])
def test_batches_cover_the_split_once_in_order(small, length: int, size: int) -> None:
    task = small(length=length)
    for split, part in (("train", SMALL[:108]), ("valid", SMALL[108:]), ("test", SMALL[108:])):
        x, y = (torch.cat(pieces) for pieces in zip(*task.batches(split, size), strict=True))
        covered = (len(part) - 1) // length * length
        assert task.decode(x.flatten()) == part[:covered] and task.decode(y.flatten()) == part[1 : covered + 1]
        assert len(part) - 1 - covered < length
        assert all(len(y) == size for _, y in list(task.batches(split, size))[:-1])


@pytest.mark.parametrize(("size", "length"), [(1, 1), (1, 107), (3, 4), (4, 26), (5, 7), (107, 1)])
def test_stream_rows_go_on_from_piece_to_piece(small, size: int, length: int) -> None:
    task, part = small(), SMALL[:108]
    pieces = list(task.stream("train", size, length))
    steps = 107 // size
    assert len(pieces) == steps // length > 0
    assert all(x.shape == y.shape == (size, length) for x, y in pieces)
    for row in range(size):
        read = "".join(task.decode(x[row]) for x, _ in pieces)
        named = "".join(task.decode(y[row]) for _, y in pieces)
        first = row * steps
        assert read == part[first : first + len(read)] and named == part[first + 1 : first + 1 + len(named)]
        assert steps - len(read) < length


def test_stream_can_be_fitted(small) -> None:
    """`fit` with streams carries the state; a model that only knows what came before learns the small text."""
    from rtx_lib.layers import GRU, Readout
    from rtx_lib.training import evaluate, fit

    torch.manual_seed(0)
    task = small(SMALL, 11)
    model = Readout(GRU(task.input_size, 16), task.output_size, vocabulary=task.vocabulary)
    fit(model, task, steps=60, batch_size=2, lr=0.02, stream_length=10, progress=False)
    assert evaluate(model, task)["loss"] < task.baselines()["unigram loss"]


# Loss, metrics, baselines


def test_metrics_of_a_prediction(small) -> None:
    task = small()
    _, y = task.batch("train", 6, generator())
    flat = task.metrics(torch.zeros(6, 5, 4, dtype=torch.float64, requires_grad=True), y)
    assert flat == {"loss": pytest.approx(math.log(4)), "bpc": pytest.approx(2.0), "accuracy": (y == 0).double().mean()}
    perfect = 100.0 * torch.nn.functional.one_hot(y, 4)
    assert task.metrics(perfect, y) == {k: pytest.approx(v, abs=1e-6) for k, v in zip(flat, (0, 0, 1), strict=True)}
    prediction = torch.zeros(6, 5, 4, requires_grad=True)
    task.loss(prediction, y).backward()
    assert (prediction.grad.abs().sum(-1) > 0).all()  # all positions count


def test_metrics_do_not_depend_on_the_batches(small) -> None:
    task = small(length=2)
    table = torch.randn(4, 4, generator=generator(3), dtype=torch.float64)

    def over_the_split(size: int) -> dict[str, float]:
        scores = [(len(y), task.metrics(table[x], y)) for x, y in task.batches("train", size)]
        total = sum(rows for rows, _ in scores)
        return {name: sum(rows * score[name] for rows, score in scores) / total for name in scores[0][1]}

    for size in (1, 7, 50):
        assert over_the_split(size) == pytest.approx(over_the_split(53), rel=1e-12)


def strategy(task: CharacterText, *, turned: bool = False) -> tuple[float, float]:
    """Losses on "valid" of the models that count characters and pairs in "train", one added to every count."""
    train, v = whole(task, "train", 108), task.vocabulary
    single, pairs = [1] * v, [[1] * v for _ in range(v)]
    for here in train:
        single[task.characters.index(here)] += 1
    for here, there in pairwise(train):
        a, b = task.characters.index(here), task.characters.index(there)
        pairs[b if turned else a][a if turned else b] += 1
    losses = []
    for logits in (torch.tensor([single] * v), torch.tensor(pairs)):
        scores = [(len(y), task.loss(logits.double().log()[x], y).item()) for x, y in task.batches("valid", 3)]
        losses.append(sum(rows * loss for rows, loss in scores) / sum(rows for rows, _ in scores))
    return losses[0], losses[1]


@pytest.mark.parametrize("length", [1, 4, 11])
def test_baselines_are_what_their_strategies_reach(small, length: int) -> None:
    task = small(length=length)
    baselines = task.baselines()
    assert (baselines["unigram loss"], baselines["bigram loss"]) == pytest.approx(strategy(task), rel=1e-12)
    assert baselines["uniform guess loss"] == math.log(4)
    # Planted mistake: the pairs read backwards.
    assert strategy(task, turned=True)[1] != pytest.approx(baselines["bigram loss"], rel=1e-3)


def test_baselines_by_hand_and_where_training_lacks_a_character(small) -> None:
    task = small("ab" * 45 + "abababababc"[:10], 9)
    # 45 a and 45 b to train, valid is ababababab: nine labels, 5 b and 4 a; always 44 or 45 of the pairs.
    expected = (5 * math.log(47 / 46) + 4 * math.log(46 / 45)) / 9
    assert task.baselines()["bigram loss"] == pytest.approx(expected, rel=1e-12)
    assert task.baselines()["unigram loss"] == pytest.approx(math.log(2), rel=1e-12)
    task = small("ab" * 45 + "ababababac", 9)
    assert all(math.isfinite(value) for value in task.baselines().values())
    assert task.baselines()["unigram loss"] > math.log(2) + 0.3


# What is not allowed


def test_encode_and_decode(small) -> None:
    task = small()
    assert task.encode("dab").tolist() == [3, 0, 1] and task.encode("dab").dtype == torch.int64
    assert task.decode(task.encode("dab")) == task.decode([3, 0, 1]) == "dab"
    assert task.encode("").shape == (0,) and task.decode(task.encode("")) == ""
    with pytest.raises(ValueError, match="text holds 'x'; it must keep to the 4 characters of pydoc: 'abcd'"):
        task.encode("abx")
    for wrong in (-1, 4):
        with pytest.raises(ValueError, match=rf"ids holds {wrong}; every id must be in 0\.\.3"):
            task.decode([0, wrong])
    with pytest.raises(ValueError, match=r"ids has shape \(1, 3\); it must be one text"):
        task.decode(torch.zeros(1, 3, dtype=torch.int64))


@pytest.mark.parametrize("length", [0, -1, 2.5, True, "8"])
def test_length_below_one(length: object) -> None:
    with pytest.raises(ValueError, match=f"length is {length!r}; it must be a whole number of at least 1"):
        CharacterText("pydoc", length=length)  # type: ignore[arg-type]


def test_length_and_source_that_are_not_allowed(small) -> None:
    assert small(length=11).length == 11
    with pytest.raises(ValueError, match="length is 12; it must be at most 11"):
        small(length=12)
    with pytest.raises(ValueError, match="source is 'tolstoy'; it must be one of 'shakespeare', 'pydoc'"):
        CharacterText("tolstoy")


def test_stream_that_does_not_fit(small) -> None:
    """At the call, not at the first piece."""
    task = small()
    assert len(list(task.stream("valid", 1, 11))) == 1
    with pytest.raises(ValueError, match="length is 12; with size 1 it must be at most 11, a stream of 'valid'"):
        task.stream("valid", 1, 12)
    with pytest.raises(ValueError, match="length is 4; with size 3 it must be at most 3"):
        task.stream("valid", 3, 4)
    with pytest.raises(ValueError, match="length is 1; with size 12 it must be at most 0"):
        task.stream("valid", 12, 1)
    for arguments, message in (
        (("dev", 1, 1), "split is 'dev'"),
        (("train", 0, 1), "size is 0"),
        (("train", 1, 0), "length is 0"),
    ):
        with pytest.raises(ValueError, match=message):
            task.stream(*arguments)


def test_is_a_stream_task_and_refuses_other_calls(small) -> None:
    task = small()
    assert isinstance(task, Task) and isinstance(task, StreamTask)
    assert all(type(value) is float for value in task.baselines().values())
    for call in (lambda split: task.batch(split, 4, generator()), lambda split: task.batches(split, 4)):
        with pytest.raises(ValueError, match="split is 'dev'; it must be one of"):
            call("dev")
    for size in (0, 1.5, True):
        with pytest.raises(ValueError, match=f"size is {size!r}"):
            task.batch("train", size, generator())
        with pytest.raises(ValueError, match=f"size is {size!r}"):
            task.batches("test", size)
    _, y = task.batch("train", 4, generator())
    for shape in [(4, 4), (3, 5, 4), (4, 6, 4), (4, 5, 3)]:
        for judge in (task.loss, task.metrics):
            with pytest.raises(ValueError, match=r"prediction has shape \(.*whole output \(4, 5, 4\)"):
                judge(torch.zeros(shape), y)
