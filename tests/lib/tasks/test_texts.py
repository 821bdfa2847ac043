"""The three texts: what is cut where, their vocabularies, what is named, and the true files where they are there."""

import hashlib
import math
import pydoc_data.topics
from typing import Any

import pytest
import torch
from support import small_tasks as small
from support.compare import generator
from support.data import reads

from rtx_lib.tasks import CharacterText, PennTreebank
from rtx_lib.tasks.files import FILES
from rtx_lib.training import evaluate

NAME = "tinyshakespeare.txt"


def whole(task: Any, split: str, total: int) -> Any:
    """The `total` symbols of a split, as one stream reads them, with its last label; there must not be more."""
    ((x, y),) = task.stream(split, 1, total - 1)
    with pytest.raises(ValueError, match=f"at most {total - 1}"):
        task.stream(split, 1, total)
    symbols = task.characters if isinstance(task, CharacterText) else task.symbols
    return "".join(symbols[number] for number in torch.cat([x[0], y[0, -1:]]).tolist())


# Characters of a text


def text(place, content: str = small.SHAKESPEARE, length: int = 5) -> CharacterText:
    return place(small.shakespeare(content), CharacterText, length=length)


def test_vocabulary_is_the_sorted_characters_of_the_whole_text(place) -> None:
    content = "b" * 95 + "\na9 é"  # the last five are in "valid" only
    task = text(place, content, 3)
    assert task.characters == "\n 9abé" and task.vocabulary == task.input_size == task.output_size == 6
    assert task.encode("\n é").tolist() == [0, 1, 5]
    assert task.digest == hashlib.sha256(content.encode()).hexdigest()


@pytest.mark.parametrize("total", [100, 109, 120])
def test_the_split_is_that_of_nanogpt(place, total: int) -> None:
    content, cut = small.SHAKESPEARE[:total], int(0.9 * total)
    task = text(place, content, 3)
    assert whole(task, "train", cut) == content[:cut]
    assert whole(task, "valid", total - cut) == whole(task, "test", total - cut) == content[cut:]


def test_a_test_may_be_held_out(place) -> None:
    content, cut = small.SHAKESPEARE[:120], 108
    task = place(small.shakespeare(content), CharacterText, length=3, held_out=True)
    middle = 114
    assert whole(task, "train", cut) == content[:cut]
    assert whole(task, "valid", middle - cut) == content[cut:middle]
    assert whole(task, "test", 6) == content[middle:]


def test_pydoc_needs_no_file(monkeypatch) -> None:
    monkeypatch.setenv("RTX_DATA", "/nowhere")
    task = CharacterText("pydoc")
    assert (task.name, task.source, task.length) == ("pydoc-64", "pydoc", 64)
    content = "\n\n".join(pydoc_data.topics.topics[name] for name in sorted(pydoc_data.topics.topics))
    assert task.digest == hashlib.sha256(content.encode()).hexdigest()
    assert set("abcdefghijklmnopqrstuvwxyz_\n") <= set(task.characters)
    x, y = task.batch("train", 4, generator())
    assert x.shape == y.shape == (4, 64) and x.dtype == y.dtype == torch.int64
    baselines = task.baselines()
    assert 1.5 < baselines["bigram loss"] < baselines["unigram loss"] < baselines["uniform guess loss"]


@reads(CharacterText)
def test_true_shakespeare() -> None:
    task = CharacterText()
    assert task.name == "shakespeare-64" and task.digest == FILES[NAME].sha256
    assert task.vocabulary == 65 and task.characters.startswith("\n !$&',-.3:;?ABC") and task.characters[-1] == "z"
    train, valid = whole(task, "train", 1_003_854), whole(task, "valid", 111_540)
    assert train.startswith("First Citizen:\nBefore we proceed any further, hear me speak.")
    assert hashlib.sha256((train + valid).encode()).hexdigest() == task.digest
    # Every prediction of the valid split but those of a last window that is not whole.
    assert [y.shape for _, y in task.batches("valid", 1_000)] == [(1_000, 64), (742, 64)]
    assert tuple(task.baselines().values()) == pytest.approx((math.log(65), 3.3473, 2.4819), abs=1e-4)


def test_characters_are_read_and_written(place) -> None:
    task = text(place)
    assert task.encode("dab").tolist() == [3, 0, 1] and task.encode("dab").dtype == torch.int64
    assert task.decode(task.encode("dab")) == task.decode([3, 0, 1]) == "dab"
    assert task.encode("").shape == (0,) and task.decode(task.encode("")) == ""
    with pytest.raises(ValueError, match="text must keep to the 4 characters of shakespeare: 'abcd', got 'x'"):
        task.encode("abx")
    for wrong in (-1, 4):
        with pytest.raises(ValueError, match=rf"ids must hold ids from 0 to 3, got {wrong}"):
            task.decode([0, wrong])
    with pytest.raises(ValueError, match=r"ids must have shape \(T,\), got \(1, 3\)"):
        task.decode(torch.zeros(1, 3, dtype=torch.int64))


# The Penn Treebank

WORDS = ("<eos>", "the", "sat", "<unk>", "N", "a", "cat", "end", "mat", "on", "times")  # 9, 9, 6 and then 3 times


def penn(place, level: str = "characters", length: int = 6, context: int = 0, **texts: str) -> PennTreebank:
    return place(small.ptb(**texts), PennTreebank, level, length=length, context=context)


def test_words_are_numbered_by_their_frequency(place) -> None:
    task = penn(place, "words")
    assert task.symbols == WORDS and task.vocabulary == task.input_size == task.output_size == 11
    assert task.encode("the cat\n").tolist() == [1, 6, 0] and task.encode("<unk>").tolist() == [3]


def test_characters_are_sorted_and_without_ends_of_lines(place) -> None:
    task = penn(place)
    assert task.symbols == tuple(sorted(set(small.PTB["train"]) - {"\n"})) and task.vocabulary == len(task.symbols)
    assert [task.symbols[number] for number in task.encode(" <unk> cat")] == list(" <unk> cat")


@reads(PennTreebank)
@pytest.mark.parametrize(
    ("level", "vocabulary", "sizes", "baselines"),
    [
        ("characters", 49, (5_059_550, 396_412, 446_184), (2.9675, 2.3155)),
        ("words", 10_000, (929_589, 73_760, 82_430), (6.4611,)),
    ],
)
def test_true_treebank(level: str, vocabulary: int, sizes: tuple[int, ...], baselines: tuple[float, ...]) -> None:
    task = PennTreebank(level, length=80, context=40)
    assert task.vocabulary == vocabulary and task.name == f"ptb-{level}-80-context-40"
    for split, size in zip(("train", "valid", "test"), sizes, strict=True):
        assert sum(task.weight(y) for _, y in task.batches(split, 1_000)) == size - 41
    # The values depend on the protocol by what the first 40 labels are worth.
    assert tuple(task.baselines().values()) == pytest.approx((math.log(vocabulary), *baselines), abs=1e-3)
    line = "no it was n't black monday"
    start = task.encode(f" {line} " if level == "characters" else f"{line}\n")
    x, _ = next(task.batches("test", 1))
    assert torch.equal(x[0, : len(start)], start)
    if level == "characters":
        assert "".join(task.symbols) == " #$&'*-./0123456789<>N\\abcdefghijklmnopqrstuvwxyz"
    else:
        assert task.symbols[:5] == ("the", "<unk>", "<eos>", "N", "of")


def test_windows_count_by_their_symbols_and_perplexity_is_that_of_the_mean(place) -> None:
    for level, more in (("words", ("perplexity", math.exp)), ("characters", ("bpc", lambda nats: nats / math.log(2)))):
        task = penn(place, level, 6, 2)
        table = torch.randn(task.vocabulary, task.vocabulary, generator=generator(3), dtype=torch.float64)
        # One long window, which a shorter last window that counts like a whole one would not give.
        ids = task.encode(small.PTB["test"] if level == "words" else small.PTB["test"].replace("\n", ""))
        loss = -table.log_softmax(-1)[ids[2:-1], ids[3:]].mean().item()

        class Model(torch.nn.Module):
            def forward(self, x, state=None, table=table):
                return table[x], None

        found = evaluate(Model(), task, "test", batch_size=2)
        assert found["loss"] == pytest.approx(loss, rel=1e-12) and found[more[0]] == pytest.approx(more[1](loss))
        assert set(found) == {"loss", "accuracy", more[0]}


@pytest.mark.parametrize(("line", "wrong"), [("cat\n", r"'\\n'"), ("caté", "'é'")])
def test_unknown_characters_of_the_treebank(place, line: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=f"text must keep to the [0-9]+ characters of PTB, got {wrong}"):
        penn(place).encode(line)


def test_unknown_words_of_the_treebank(place) -> None:
    with pytest.raises(ValueError, match="text must keep to the 11 words of PTB, got 'dog'"):
        penn(place, "words", valid=" the cat sat on the dog " * 3)
