"""Number words: both languages read back by parsers of their own, the layout, and metrics whatever the batches."""

import math
import random
import re
from collections.abc import Callable

import pytest
import torch
from support.compare import generator
from support.helpers import refusals

from rtx_lib.tasks import NumberWords

BOTH = ("digits", "german")
EDGES = [999, 1_000, 1_001, 1_011, 1_100, 2_021, 11_000, 20_000, 21_000, 99_999, 100_000, 100_001, 101_000, 101_101]
EDGES += [110_000, 201_001, 300_012, 999_000, 999_999]


# A grammar and a value for each language, written a second time; what does not follow the grammar is a ValueError.

SMALL = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
KLEIN = "null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn"
SMALL, KLEIN = f"{SMALL} seventeen eighteen nineteen".split(), f"{KLEIN} siebzehn achtzehn neunzehn".split()
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
ZEHNER = ["zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"]
VALUES = {word: value for words in (SMALL, KLEIN) for value, word in enumerate(words)} | {"eins": 1, "und": 0}
VALUES |= {word: 10 * tens for words in (TENS, ZEHNER) for tens, word in enumerate(words, start=2)}


def either(*rules: str) -> str:
    return f"(?:{'|'.join(rules)})"


def below_thousand(hundred: str, unit: str, below_hundred: str) -> str:
    return either(f"{unit} {hundred}(?: {below_hundred})?", below_hundred)


def english() -> str:
    unit = either(*SMALL[1:10])
    part = below_thousand("hundred", unit, either(*SMALL[1:], f"{either(*TENS)}(?: {unit})?"))
    return either("zero", part, f"{part} thousand(?: {part})?")


def german() -> str:
    unit = either(*KLEIN[1:10])
    parts = {}
    for one in ("ein", "eins"):  # what 1 is called where it comes last
        rest = either(one, *KLEIN[2:], f"(?:{unit} und )?{either(*ZEHNER)}")
        parts[one] = below_thousand("hundert", unit, rest)
    return either("null", parts["eins"], f"{parts['ein']} tausend(?: {parts['eins']})?")


def reader(grammar: str) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not re.fullmatch(grammar, text):
            raise ValueError(f"{text!r} is no number")
        thousands = part = 0
        for word in text.split():
            if word in ("thousand", "tausend"):
                thousands, part = 1000 * part, 0
            else:
                part = 100 * part if word in ("hundred", "hundert") else part + VALUES[word]
        return thousands + part

    return read


read_english = reader(english())
READ: dict[str, Callable[[str], int]] = {"digits": int, "german": reader(german())}


def check_round_trip(task: NumberWords, numbers: list[int]) -> None:
    """Both sides of every number, alone in its sentence, are read back as that number."""
    (source, target_in), y = task.sentences([[number] for number in numbers])
    for number, *rows in zip(numbers, source, target_in, y, strict=True):
        assert read_english(task.decode(rows[0], "source")) == number
        assert READ[task.to](task.decode(rows[1])) == READ[task.to](task.decode(rows[2])) == number


# The two languages


@pytest.mark.parametrize("to", BOTH)
def test_every_number_is_read_back(to: str) -> None:
    draw = random.Random(0)
    check_round_trip(NumberWords(to=to), [*range(1_000), *EDGES, *(draw.randrange(1_000_000) for _ in range(2_000))])


# The layout


@pytest.mark.parametrize("to", BOTH)
@pytest.mark.parametrize("largest", [9, 999, 123_456])
def test_layout_of_drawn_sentences(to: str, largest: int) -> None:
    task = NumberWords(largest=largest, to=to)
    (source, target_in), y = task.batch("train", 300, generator(1))
    for ids, vocabulary in ((source, task.vocabulary), (target_in, task.output_size), (y, task.output_size)):
        assert ids.dtype == torch.int64 and ids.shape[0] == 300 and ids.min() == 0 and ids.max() < vocabulary
        padding = ids == task.pad
        assert torch.equal(padding, padding.cummax(1).values)  # behind the tokens only
        assert not padding[:, -1].all()  # the longest row has none
    assert target_in.shape == y.shape and torch.equal(target_in == 0, y == 0)
    assert (target_in[:, 0] == task.start).all() and (target_in == task.start).sum() == 300
    assert (y == task.end).sum() == 300 and not (y == task.start).any() and not (target_in == task.end).any()
    assert torch.equal(target_in[:, 1:], y[:, :-1] * (y[:, :-1] != task.end))  # one step behind y
    counts = set()
    for english, other in zip(source, y, strict=True):
        numbers = [read_english(part) for part in task.decode(english, "source").split(", ")]
        assert numbers == [READ[to](part.strip()) for part in task.decode(other).split(",")]
        assert max(numbers) <= largest
        counts.add(len(numbers))
    assert counts == {1, 2, 3, 4, 5, 6}


def test_both_targets_come_with_the_same_sentences() -> None:
    digits, german = NumberWords(), NumberWords(to="german")
    for split in ("train", "valid", "test"):
        (source, _), _ = digits.batch(split, 20, generator(4))
        (again, _), _ = german.batch(split, 20, generator(4))
        assert torch.equal(source, again)


# Loss and metrics


TABLE = torch.randn(80, 36, 36, generator=generator(8), dtype=torch.float64) + 4 * torch.eye(36)


def predict(task: NumberWords, y: torch.Tensor) -> torch.Tensor:
    """Logits in float64 that depend on the label and its place, and are often right."""
    return TABLE[torch.arange(y.shape[1]), y, : task.output_size]


def test_loss_is_the_mean_over_all_tokens_and_metrics_over_sentences() -> None:
    task = NumberWords()
    _, y = task.sentences([[412, 7], [3]])  # 6 tokens and 2
    prediction = predict(task, y)
    nats = -prediction.log_softmax(-1).gather(-1, y[..., None]).squeeze(-1)
    assert task.loss(prediction, y).item() == pytest.approx((nats[0].sum() + nats[1, :2].sum()).item() / 8)
    metrics = task.metrics(prediction, y)
    assert metrics["loss"] == pytest.approx((nats[0].mean() + nats[1, :2].mean()).item() / 2)
    perfect = 100.0 * torch.nn.functional.one_hot(y, task.output_size)
    assert task.metrics(perfect, y) == {"loss": pytest.approx(0, abs=1e-6), "accuracy": 1.0, "exact": 1.0}
    perfect[1, 1] = 0.0  # the end of the second sentence is not foreseen
    assert task.metrics(perfect, y) == {"loss": pytest.approx(math.log(14) / 4), "accuracy": 0.75, "exact": 0.5}


def test_label_smoothing_mixes_the_training_loss_with_the_uniform_distribution() -> None:
    plain, smooth = NumberWords((1, 2)), NumberWords((1, 2), label_smoothing=0.1)
    _, y = plain.batch("train", 5, generator())
    prediction = predict(plain, y)
    uniform = -prediction.log_softmax(-1).mean(-1)[y != plain.pad].mean()
    assert smooth.loss(prediction, y).item() == pytest.approx((0.9 * plain.loss(prediction, y) + 0.1 * uniform).item())
    assert smooth.metrics(prediction, y) == plain.metrics(prediction, y)


@pytest.mark.parametrize("to", BOTH)
def test_baselines_are_what_their_strategies_reach(to: str) -> None:
    task = NumberWords(to=to)
    baselines, accuracy = task.baselines(), 0.0
    frequent = torch.cat([y[y > 0] for _, y in task.batches("test", 1_000)]).bincount().argmax()
    for _, y in task.batches("test", 1_000):
        constant = torch.nn.functional.one_hot(frequent, task.output_size).expand(*y.shape, -1).float()
        accuracy += task.metrics(constant, y)["accuracy"] / 10
    assert accuracy == pytest.approx(baselines["most frequent token"], rel=1e-12)
    logits = torch.zeros(*y.shape, task.output_size, dtype=torch.float64)
    logits[..., [task.pad, task.start]] = -1e9  # never a label
    assert task.loss(logits, y).item() == pytest.approx(baselines["uniform guess loss"], rel=1e-12)


# Reading and writing


def test_decode_stops_at_the_end_and_hides_nothing_before_it() -> None:
    task = NumberWords()
    four, one = (task.words["target"].index(digit) for digit in "41")
    assert task.decode([task.start, four, one, task.end, one, task.pad]) == "41"
    assert task.decode([four, one, task.pad, task.pad]) == "41"
    assert task.decode([four, task.start, one, task.pad, one]) == "4<start>1<pad>1"
    assert task.decode([task.end]) == task.decode([task.start]) == task.decode([]) == ""


test_ids_and_numbers_that_are_not_allowed = refusals(
    [
        (lambda task: task.decode([3, 14]), "ids must hold ids from 0 to 13, got 14"),
        (lambda task: task.decode([3], "left"), "side must be one of ['source', 'target'], got 'left'"),
        (lambda task: task.sentences([[1], []]), "numbers must hold ids of shape"),
        (lambda task: task.sentences([[3], [4, 1_000_000]]), "numbers must hold ids from 0 to 999999, got 1000000"),
    ],
    NumberWords,
    plain=True,
)
