"""enwik8 on small zip files: splits by shares, the vocabulary, ends of lines, windows, baselines, memory."""

from __future__ import annotations

import hashlib
import io
import math
import tracemalloc
import zipfile
from pathlib import Path

import pytest
import torch

from rtx_lib.tasks import Enwik8, StreamTask, Task
from rtx_lib.tasks.download import FILES, DataFile, DownloadError, available
from rtx_lib.tasks.windows import bigram_loss, unigram_loss
from rtx_lib.training import evaluate

NAME = "enwik8.zip"
SPLITS = ("train", "valid", "test")
# 400 bytes: 360 of train, 20 of valid, 20 of test; é is two bytes, and stands only where "test" begins.
TEXT = ('<page>\n  <title>"A" & B</title>\n' * 12)[:360] + "\nNo line goes here.\n" + "é\nthe end of it all"
TEXT = TEXT.encode()


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Put a text into a zip file, which a cache serves as if it were the true one."""

    def put(text: bytes) -> Path:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("enwik8", text)
        content = buffer.getvalue()
        (tmp_path / NAME).write_bytes(content)
        monkeypatch.setitem(FILES, NAME, DataFile(hashlib.sha256(content).hexdigest(), len(content), ()))
        return tmp_path

    return put


@pytest.fixture
def small(place):
    def make(length: int = 6, text: bytes = TEXT, **options) -> Enwik8:
        return Enwik8(length, root=place(text), download=False, **options)

    return make


def part(split: str, newlines: bool = True) -> bytes:
    """A split of the small text."""
    cut = {"train": slice(0, 360), "valid": slice(360, 380), "test": slice(380, 400)}[split]
    return TEXT[cut] if newlines else TEXT[cut].replace(b"\n", b"")


# The text


def test_table_names_the_true_file() -> None:
    assert FILES[NAME].size == 36_445_475 and len(FILES[NAME].mirrors) == 2
    assert all(url.endswith("/enwik8.zip") for url in FILES[NAME].mirrors)


def test_vocabulary_is_that_of_the_whole_file(small) -> None:
    assert len(TEXT) == 400
    task = small()
    assert task.symbols == bytes(sorted(set(TEXT))) and task.name == "enwik8-6"
    assert task.vocabulary == task.input_size == task.output_size == len(task.symbols)
    assert 0xC3 in task.symbols and 0xC3 not in part("train")  # é: counting in "train" alone would not know it
    bare = small(newlines=False)
    assert bare.symbols == task.symbols.replace(b"\n", b"") and bare.name == "enwik8-6-without-newlines"


@pytest.mark.parametrize("newlines", [True, False])
@pytest.mark.parametrize("split", SPLITS)
def test_splits_are_shares_of_the_bytes(small, split: str, newlines: bool) -> None:
    """Cut first and left out then: without newlines the splits are those of the same bytes."""
    task, text = small(newlines=newlines), part(split, newlines)
    ((x, y),) = task.stream(split, 1, len(text) - 1)
    assert task.decode(x[0]) == text[:-1] and task.decode(y[0]) == text[1:]


def test_encode_and_decode(small) -> None:
    task = small()
    ids = task.encode("<é\n>".encode())
    assert ids.dtype == torch.int64 and task.decode(ids) == "<é\n>".encode() and task.decode(ids.tolist()[:1]) == b"<"
    assert task.encode(b"").shape == (0,) and task.encode(b"").dtype == torch.int64 and task.decode([]) == b""
    for text, wrong in ((b"<z>", "b'z'"), (b"\x00", r"b'\\x00'")):
        with pytest.raises(ValueError, match=f"text holds {wrong}, which is not one of the {task.vocabulary} bytes"):
            task.encode(text)
    with pytest.raises(ValueError, match=r"text holds b'\\n'"):
        small(newlines=False).encode(b"a\n")
    with pytest.raises(ValueError, match="text is of type str; it must be bytes"):
        task.encode("page")
    with pytest.raises(ValueError, match=rf"ids holds -1; every id must be in 0\.\.{task.vocabulary - 1}"):
        task.decode([-1])


@pytest.mark.skipif(not available("enwik8"), reason="the cache lacks enwik8, which no run requires: 36 MB")
def test_true_file() -> None:
    task = Enwik8(512, download=False)
    assert task.vocabulary == 205 and task.symbols[:2] == b"\t\n"  # Mahoney: no other control characters
    for split, size in zip(SPLITS, (90_000_000, 5_000_000, 5_000_000), strict=True):
        assert sum(x.numel() for x, _ in task.stream(split, 1, size - 1)) == size - 1
    x, _ = next(task.batches("train", 1))
    assert task.decode(x[0, :10]) == b"<mediawiki"
    assert Enwik8(512, download=False, newlines=False).vocabulary == 204  # that of the authors


# Windows


@pytest.mark.parametrize("length", [1, 3, 6, 18, 19])
@pytest.mark.parametrize("size", [1, 4, 1_000])
def test_batches_name_every_byte_but_the_first_once(small, length: int, size: int) -> None:
    task = small(length)
    for split in SPLITS:
        read, named = b"", b""
        for x, y in task.batches(split, size):
            assert x.dtype == y.dtype == torch.int64 and x.shape == y.shape and len(x) <= size
            assert x.shape[1] == length or len(x) == 1
            assert task.weight(y) == y.shape[0] * y.shape[1]
            read, named = read + task.decode(x.flatten()), named + task.decode(y.flatten())
        assert read == part(split)[:-1] and named == part(split)[1:]


def test_batch_draws_windows_from_everywhere_in_the_split(small) -> None:
    text = bytes(range(240))  # every place has a byte of its own
    task = small(4, text)
    for split, first, last in (("train", 0, 215), ("valid", 216, 227), ("test", 228, 239)):
        x, y = task.batch(split, 3_000, generator(1))
        assert x.shape == y.shape == (3_000, 4) and x.dtype == y.dtype == torch.int64
        assert (x.diff(dim=1) == 1).all() and torch.equal(y, x + 1)
        assert x[:, 0].unique().tolist() == list(range(first, last - 3))


@pytest.mark.parametrize("split", SPLITS)
def test_same_generator_same_batch(small, split: str) -> None:
    task, one, two = small(), generator(7), generator(7)
    for _ in range(2):
        torch.rand(3)  # the global generator does not matter
        (x, y), (x_again, y_again) = task.batch(split, 9, one), small().batch(split, 9, two)
        assert torch.equal(x, x_again) and torch.equal(y, y_again)
    assert not torch.equal(task.batch(split, 9, one)[0], x)


def test_streams_go_on_from_piece_to_piece(small) -> None:
    task, text = small(), part("train")
    pieces = list(task.stream("train", 3, 16))
    assert len(pieces) == 7 and all(x.shape == y.shape == (3, 16) and x.dtype == torch.int64 for x, y in pieces)
    for row in range(3):
        first = row * (359 // 3)
        read = task.decode(torch.cat([x[row] for x, _ in pieces]))
        assert read == text[first : first + 112]
        assert task.decode(torch.cat([y[row] for _, y in pieces])) == text[first + 1 : first + 113]


# Loss, metrics, baselines


def test_bits_are_those_of_a_byte(small) -> None:
    task = small()
    _, y = task.batch("train", 4, generator())
    prediction = torch.zeros(4, 6, task.vocabulary, requires_grad=True)
    loss = task.loss(prediction, y)
    loss.backward()
    assert prediction.grad is not None and (prediction.grad.abs().sum(-1) > 0).all()
    metrics = task.metrics(prediction, y)
    assert metrics["loss"] == loss.item() and metrics["bpc"] == pytest.approx(math.log2(task.vocabulary))
    certain = 100.0 * torch.nn.functional.one_hot(y, task.vocabulary)
    assert task.metrics(certain, y) == {
        "loss": pytest.approx(0, abs=1e-6),
        "bpc": pytest.approx(0, abs=1e-6),
        "accuracy": 1.0,
    }


@pytest.mark.parametrize("newlines", [True, False])
def test_baselines_are_those_of_the_other_texts(small, newlines: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    task = small(newlines=newlines)
    v, train, test = task.vocabulary, *(task.encode(part(split, newlines)) for split in ("train", "test"))
    expected = {
        "uniform guess loss": math.log(v),
        "unigram loss": unigram_loss(train, test[1:], v),
        "bigram loss": bigram_loss(train, test[:-1], test[1:], v),
    }
    assert task.baselines() == pytest.approx(expected, rel=1e-12)
    for piece in (1, 7, 359, 360):  # no pair is lost or counted twice where the pieces meet
        monkeypatch.setattr("rtx_lib.tasks.enwik8._PIECE", piece)
        assert task.baselines() == pytest.approx(expected, rel=1e-12)


class Bigram(torch.nn.Module):
    """A model that knows what the bigram baseline knows."""

    def __init__(self, task: Enwik8) -> None:
        super().__init__()
        ids = task.encode(part("train"))
        counts = torch.ones(task.vocabulary, task.vocabulary, dtype=torch.float64)
        counts.index_put_((ids[:-1], ids[1:]), torch.ones(len(ids) - 1, dtype=torch.float64), accumulate=True)
        self.logits = counts.log()

    def forward(self, x, state=None):
        return self.logits[x], None


@pytest.mark.parametrize(("length", "size"), [(6, 1), (6, 1_000), (7, 2), (19, 3)])
def test_a_model_of_pairs_reaches_its_baseline_however_it_is_fed(small, length: int, size: int) -> None:
    task = small(length)
    found = evaluate(Bigram(task), task, "test", batch_size=size)
    assert found["loss"] == pytest.approx(task.baselines()["bigram loss"], rel=1e-12)
    assert found["bpc"] == pytest.approx(found["loss"] / math.log(2), rel=1e-12)


def test_ids_stay_bytes_and_reading_takes_few_copies(place) -> None:
    text = torch.randint(97, 123, (1_000_000,), generator=generator(), dtype=torch.uint8).numpy().tobytes()
    root = place(text)
    tracemalloc.start()
    try:
        task = Enwik8(8, root=root, download=False)
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 1.2 * len(text) and peak < 5 * len(text)  # in int64 the ids alone would be eight times the text
    assert sum(ids.numel() * ids.element_size() for ids in task._data.values()) == len(text)


# What is not allowed


def test_is_a_stream_task_and_refuses_other_calls(small) -> None:
    task = small()
    assert isinstance(task, Task) and isinstance(task, StreamTask)
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
    with pytest.raises(ValueError, match="length is 20; with size 1 it must be at most 19, a stream of 'test'"):
        task.stream("test", 1, 20)
    _, y = task.batch("train", 4, generator())
    v = task.vocabulary
    for shape in [(4, v), (3, 6, v), (4, 7, v), (4, 6, v - 1)]:
        for judge in (task.loss, task.metrics):
            with pytest.raises(ValueError, match=rf"prediction has shape \(.*whole output \(4, 6, {v}\)"):
                judge(torch.zeros(shape), y)


def test_lengths_that_are_not_allowed(small, tmp_path: Path) -> None:
    for length in (0, -1, 2.5, True):
        with pytest.raises(ValueError, match=f"length is {length!r}; it must be a whole number of at least 1"):
            Enwik8(length, root=tmp_path, download=False)  # type: ignore[arg-type]
    assert small(19).length == 19
    with pytest.raises(ValueError, match="length is 20; it must be at most 19, or a split holds no window"):
        small(20)
    with pytest.raises(ValueError, match="length is 18; it must be at most 17"):
        small(18, newlines=False)


def test_missing_and_broken_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"enwik8\.zip is not there, and downloads are off.*place it by hand"):
        Enwik8(5, root=tmp_path, download=False)
    (tmp_path / NAME).write_bytes(b"<html>moved</html>")
    with pytest.raises(DownloadError, match=r"enwik8\.zip has 18 bytes where 36,445,475 are right"):
        Enwik8(5, root=tmp_path, download=False)
