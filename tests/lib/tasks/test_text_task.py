"""A text of one's own: how files are read, what is a symbol, and what is said of a text that does not go."""

import re
import tracemalloc
from pathlib import Path

import pytest
import torch

from rtx_lib.tasks import BytePairs, TextTask
from rtx_lib.tasks.text_task import LEVELS

TEXT = "“Ah, naïve!”, she said.\nWell-known: 3.14 — it's (not) ❤️.\n" * 8


def read(tmp_path: Path, content: bytes | str, **settings) -> TextTask:
    path = tmp_path / "mine.txt"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return TextTask(path, **{"length": 5, **settings})


def ids(task: TextTask) -> torch.Tensor:
    return torch.cat([task.splits.finite(split) for split in ("train", "valid", "test")]).long()


@pytest.mark.parametrize("level", ["character", "word", "pieces"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_one_text_in_any_encoding(tmp_path, level, encoding, end):
    content = TEXT.replace("\n", end).encode(encoding.removesuffix("-sig"))
    given = {"level": level, "encoding": encoding.removesuffix("-sig")}
    task = read(tmp_path, b"\xef\xbb\xbf" * encoding.endswith("-sig") + content, **given)
    plain = TextTask(TEXT, 5, level)
    assert task.decode(ids(task)) == TEXT and task.symbols == plain.symbols and torch.equal(ids(task), ids(plain))
    assert torch.equal(task.encode(TEXT.replace("\n", end)), ids(task)) and task.vocabulary == len(task.symbols)
    assert task.name == f"mine-{level}-5"


def test_bytes_are_as_they_stand_and_are_mapped(tmp_path):
    content = bytes(range(256)) * 400
    tracemalloc.start()
    task = read(tmp_path, content, level="bytes")
    memory, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert memory < 50_000 and bytes(ids(task).tolist()) == content and task.vocabulary == 256
    assert task.decode(task.encode("é")) == "é" and task.decode([0xC3]) == "�"
    two = TextTask([tmp_path / "mine.txt"] * 2, 5, "bytes")
    assert torch.equal(ids(two), ids(task).repeat(2))


def test_characters_are_kept_in_one_byte_or_two(tmp_path):
    many = "".join(map(chr, range(0x4E00, 0x4E00 + 300)))
    for text, kind in ((TEXT, torch.uint8), (many, torch.int16)):
        task = TextTask(text=text, length=5)
        assert task.splits.finite("train").dtype == kind and task.decode(ids(task)) == text
    tracemalloc.start()
    read(tmp_path, "a line of text\n" * 200_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3e6 * 5  # a byte each, and what two pieces of a million need


def test_words(tmp_path, monkeypatch):
    task = read(tmp_path, "the cat, the dog.\n" * 4 + "a bird sat" + "\nthe\n" * 12, level="word", length=2, words=6)
    assert task.symbols == ["<unk>", "\n", "the", ",", ".", "cat"]
    assert task.decode(task.encode("The cat,the  dog.\r\n")) == "<unk> cat, the <unk>.\n" and task.start == 1
    metrics = task.finish({"loss": 2.0})
    assert metrics["perplexity"] == pytest.approx(7.389, abs=1e-3) and "bpc" not in metrics
    assert task.finish({"loss": 1e3})["perplexity"] == float("inf")
    text = "abcdefgh, ijk  " * 500  # no word is cut in two where pieces of a text meet
    every = lambda: [ids(TextTask(text=text, level=level)) for level in LEVELS]  # noqa: E731
    whole = every()
    monkeypatch.setattr("rtx_lib.tasks.text_task._PIECE", 100)
    assert all(map(torch.equal, every(), whole))


def test_pieces_are_learned_in_the_training_part():
    task = TextTask(text="one two\n" * 80 + "xyz " * 40, level="pieces", length=5, words=259)
    assert task.symbols[256:] == BytePairs.learn("one two\n" * 80, 3).vocabulary[256:]
    assert task.symbols[task.start] == b"\n"
    assert task.decode(ids(task)) == "one two\n" * 80 + "xyz " * 40 and "perplexity" in task.finish({"loss": 2.0})


def test_several_files_follow_each_other_in_an_order_that_is_drawn(tmp_path):
    paths = [tmp_path / f"{name}.txt" for name in "abcd"]
    for path in paths:
        path.write_text(path.stem * 9 + "\n" * (path.stem == "b"))
    task = TextTask([str(path) for path in paths], 2)
    assert task.decode(ids(task)) == "\n".join(path.stem * 9 for path in paths)
    orders = {TextTask(paths, 2, seed=seed).decode(ids(TextTask(paths, 2, seed=seed))[::10]) for seed in range(9)}
    assert len(orders) > 3 and all(sorted(order) == [*"abcd"] for order in orders)


def test_splits_lie_in_order(tmp_path):
    task = TextTask(text="".join(map(chr, range(200, 400))), length=10, splits=(0.5, 0.25, 0.25))
    assert [len(task.splits.finite(split)) for split in ("train", "valid", "test")] == [100, 50, 50]
    assert (ids(task).diff() == 1).all()


@pytest.mark.parametrize(
    "given, match",
    [
        ({"source": "none.txt"}, "source must be a file, .* got 'none.txt', which is not in"),
        ({"source": "\0" * 9999}, "source must be a file"),
        ({"source": Path("/")}, "which is a folder"),
        ({"source": []}, "source must be a file"),
        ({}, "got both or neither"),
        ({"source": TEXT, "text": TEXT}, "got both or neither"),
        ({"source": "a\n"}, r"take 65 characters of each split, .* got {'train': 2, 'valid': 0, 'test': 0}"),
        ({"text": ""}, "source must be a longer text"),
        ({"source": TEXT, "length": 0}, "length must be at least 1, got 0"),
        ({"source": TEXT, "level": "words"}, "level must be one of"),
        ({"source": TEXT, "splits": (0.9, 0.2, 0.1)}, "splits must be three shares above 0 that sum to 1"),
    ],
)
def test_what_is_no_text(given, match):
    with pytest.raises(ValueError, match=match):
        TextTask(**given)


@pytest.mark.parametrize(
    "content, encoding, told",
    [
        (b"one\r\ntwo na\xefve" * 9, "utf-8", "mine.txt, .* utf-8: byte 0xef at place 11, in line 2; try .*cp1252"),
        (b"ab" * 2_000_000 + b"\xff", "utf-8", "byte 0xff at place 4000000, in line 1"),
        (TEXT.encode("utf-16"), "utf-8", "try encoding='utf-16', or level='bytes'"),
        (TEXT.encode(), "utf-16", "encoding must be that of mine.txt"),
        (TEXT.encode(), "ascii", "byte 0xe2 at place 0, in line 1"),
        (b"\x81" * 99, "cp1252", "byte 0x81 at place 0"),
    ],
)
def test_a_wrong_byte(tmp_path, content, encoding, told):
    with pytest.raises(ValueError, match=told):
        read(tmp_path, content, encoding=encoding)
    assert read(tmp_path, content, level="bytes").vocabulary == 256


def test_what_has_no_symbol():
    with pytest.raises(ValueError, match=r"text must keep to the \d+ characters of text-character-5: .*, got 'z'"):
        TextTask(TEXT, 5).encode("z")
    with pytest.raises(ValueError, match="text must keep to ascii, got 'é'"):
        TextTask("a\n" * 99, 5, "bytes", encoding="ascii").encode("né")
    with pytest.raises(ValueError, match=re.escape("ids must hold ids from 0 to 1, got 2")):
        TextTask("a\n" * 99, 5).decode([2])


def test_a_task_from_its_configuration_has_no_data():
    for level in LEVELS:
        task = TextTask(TEXT, 5, level)
        again = TextTask.from_configuration(task.configuration())
        assert again.decode(again.encode(TEXT)) == TEXT and again.vocabulary == task.vocabulary
        x, y = task.batch("valid", 3, torch.Generator().manual_seed(0))
        prediction = torch.zeros(*x.shape, task.vocabulary)
        assert again.metrics(prediction, y) == task.metrics(prediction, y) and again.start == task.start
        calls = [lambda t: t.batch("train", 3, None), lambda t: t.batches("test", 3), lambda t: t.stream("train", 1, 2)]
        for call in [*calls, TextTask.baselines]:
            with pytest.raises(ValueError, match=f"task must hold data for this, got 'text-{level}-5' as loaded"):
                call(again)
