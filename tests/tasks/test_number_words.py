"""Number words: both languages read back by parsers of their own, the layout, and metrics whatever the batches."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable

import pytest
import torch

from rtx_lib.tasks import NumberWords, StreamTask, Task, number_words

BOTH = ("digits", "german")
EDGES = [999, 1_000, 1_001, 1_011, 1_100, 2_021, 11_000, 20_000, 21_000, 99_999, 100_000, 100_001, 101_000, 101_101]
EDGES += [110_000, 201_001, 300_012, 999_000, 999_999]


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


# Parsers written against the rules of the two languages; what does not follow them is a ValueError.

ONES = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9}
TEENS = {"ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16}
TEENS |= {"seventeen": 17, "eighteen": 18, "nineteen": 19}
TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
EINER = {"zwei": 2, "drei": 3, "vier": 4, "fünf": 5, "sechs": 6, "sieben": 7, "acht": 8, "neun": 9}
UNTER_ZWANZIG = {"zehn": 10, "elf": 11, "zwölf": 12, "dreizehn": 13, "vierzehn": 14, "fünfzehn": 15, "sechzehn": 16}
UNTER_ZWANZIG |= {"siebzehn": 17, "achtzehn": 18, "neunzehn": 19}
ZEHNER = {"zwanzig": 20, "dreißig": 30, "vierzig": 40, "fünfzig": 50, "sechzig": 60, "siebzig": 70, "achtzig": 80}
ZEHNER |= {"neunzig": 90}


def look_up(word: str, *tables: dict[str, int]) -> int:
    for table in tables:
        if word in table:
            return table[word]
    raise ValueError(f"{word!r} is out of place")


def read_english(text: str) -> int:
    def below_thousand(words: list[str]) -> int:
        value = 0
        if words[1:2] == ["hundred"]:
            value, words = 100 * look_up(words[0], ONES), words[2:]
            if not words:
                return value
        if len(words) == 2:
            return value + look_up(words[0], TENS) + look_up(words[1], ONES)
        if len(words) != 1:
            raise ValueError(f"cannot read {words}")
        return value + look_up(words[0], ONES, TEENS, TENS)

    if text == "zero":
        return 0
    high, thousand, low = re.fullmatch(r"(?:(.+) (thousand)(?: |$))?(.*)", text).groups()
    if not thousand:
        return below_thousand(low.split())
    return 1000 * below_thousand(high.split()) + (below_thousand(low.split()) if low else 0)


def read_german(text: str) -> int:
    def below_thousand(text: str, one: str) -> int:
        hundreds, rest = re.fullmatch(r"(?:(\S+) hundert(?: |$))?(.*)", text).groups()
        value = 100 * look_up(hundreds, EINER, {"ein": 1}) if hundreds else 0
        if not rest and hundreds:
            return value
        if turned := re.fullmatch(r"(\S+) und (\S+)", rest):
            return value + look_up(turned[1], EINER, {"ein": 1}) + look_up(turned[2], ZEHNER)
        return value + look_up(rest, EINER, UNTER_ZWANZIG, ZEHNER, {one: 1})

    if text == "null":
        return 0
    high, thousand, low = re.fullmatch(r"(?:(.+) (tausend)(?: |$))?(.*)", text).groups()
    if not thousand:
        return below_thousand(low, "eins")
    return 1000 * below_thousand(high, "ein") + (below_thousand(low, "eins") if low else 0)


READ: dict[str, Callable[[str], int]] = {"digits": int, "german": read_german}


def check_round_trip(task: NumberWords, numbers: list[int]) -> None:
    """Both sides of every number, alone in its sentence, are read back as that number."""
    (source, target_in), y = task.sentences([[number] for number in numbers])
    for number, *rows in zip(numbers, source, target_in, y, strict=True):
        assert read_english(task.decode(rows[0], "source")) == number
        assert READ[task.to](task.decode(rows[1])) == READ[task.to](task.decode(rows[2])) == number


@pytest.mark.parametrize(
    "wrong", ["two and twenty", "four hundred and one", "hundred four", "one two", "twenty ten", ""]
)
def test_the_english_parser_refuses_what_is_no_number(wrong: str) -> None:
    with pytest.raises(ValueError):
        read_english(wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        "zwanzig und drei",
        "eins hundert",
        "eins und zwanzig",
        "ein",
        "hundert",
        "ein hundert ein",
        "eins tausend",
        "",
        "ein hundert eins tausend",
        "drei zehn",
        "zwanzig drei",
        "zehn und zwanzig",
    ],
)
def test_the_german_parser_refuses_what_is_no_number(wrong: str) -> None:
    with pytest.raises(ValueError):
        read_german(wrong)


# The two languages


@pytest.mark.parametrize(
    ("number", "english", "german"),
    [
        (0, "zero", "null"),
        (1, "one", "eins"),
        (12, "twelve", "zwölf"),
        (16, "sixteen", "sechzehn"),
        (17, "seventeen", "siebzehn"),
        (21, "twenty one", "ein und zwanzig"),
        (30, "thirty", "dreißig"),
        (100, "one hundred", "ein hundert"),
        (101, "one hundred one", "ein hundert eins"),
        (111, "one hundred eleven", "ein hundert elf"),
        (321, "three hundred twenty one", "drei hundert ein und zwanzig"),
        (1_000, "one thousand", "ein tausend"),
        (1_001, "one thousand one", "ein tausend eins"),
        (21_000, "twenty one thousand", "ein und zwanzig tausend"),
        (101_101, "one hundred one thousand one hundred one", "ein hundert ein tausend ein hundert eins"),
        (90_021, "ninety thousand twenty one", "neunzig tausend ein und zwanzig"),
    ],
)
def test_numbers_that_are_known(number: int, english: str, german: str) -> None:
    for to, expected in (("digits", str(number)), ("german", german)):
        task = NumberWords(to=to)
        (source, _), y = task.sentences([[number]])
        assert task.decode(source[0], "source") == english
        assert task.decode(y[0]) == expected


@pytest.mark.parametrize("to", BOTH)
def test_every_number_is_read_back(to: str) -> None:
    draw = random.Random(0)
    check_round_trip(NumberWords(to=to), [*range(1_000), *EDGES, *(draw.randrange(1_000_000) for _ in range(2_000))])


@pytest.mark.parametrize(
    "slip",
    [
        lambda words: [words[2], *words[3:], "und", words[0]] if words[1:2] == ["und"] else words,  # as in English
        lambda words: ["ein" if word == "eins" else word for word in words],
        lambda words: words[:-1] if words[-1:] == ["eins"] else words,
    ],
    ids=["tens first", "ein for eins", "eins lost"],
)
def test_a_slip_in_german_is_noticed(monkeypatch: pytest.MonkeyPatch, slip: Callable[[list[str]], list[str]]) -> None:
    right = number_words._german
    monkeypatch.setattr(number_words, "_german", lambda n: (right(n)[0], slip(right(n)[1])))
    with pytest.raises((AssertionError, ValueError)):
        check_round_trip(NumberWords(to="german"), list(range(1_000)))


# The layout


def test_layout_is_that_of_the_picture() -> None:
    task = NumberWords()
    (source, target_in), y = task.sentences([[412, 7], [30]])
    assert task.decode(source[0], "source") == "four hundred twelve, seven"
    words = [[task.words["target"][i] for i in row] for row in torch.stack([target_in, y], 1).flatten(0, 1).tolist()]
    assert words == [
        ["<start>", "4", "1", "2", ",", "7"],
        ["4", "1", "2", ",", "7", "<end>"],
        ["<start>", "3", "0", "<pad>", "<pad>", "<pad>"],
        ["3", "0", "<end>", "<pad>", "<pad>", "<pad>"],
    ]
    assert source.tolist()[1] == [task.encode("thirty").item(), 0, 0, 0, 0]


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


def test_numbers_and_their_count_are_drawn_uniformly() -> None:
    task = NumberWords((2, 4), largest=9)
    (source, _), _ = task.batch("train", 30_000, generator(2))
    commas = (source == task.encode(",")).sum(1)
    assert commas.min() == 1 and commas.max() == 3
    assert (commas.bincount()[1:] - 10_000).abs().max() < 410  # standard deviation 82
    seen = source.flatten().bincount(minlength=task.vocabulary)[task.encode("zero one two three four five six nine")]
    assert (seen - 9_000).abs().max() < 500  # of 90,000 numbers; standard deviation 95
    task = NumberWords((1, 1), largest=120)
    _, y = task.batch("train", 3_000, generator(3))
    assert {task.decode(row) for row in y} == {str(number) for number in range(121)}


def test_ids_do_not_depend_on_the_sentences_drawn() -> None:
    one, two = NumberWords(), NumberWords((30, 30), largest=500_000)
    assert one.words == two.words and one.output_size == two.output_size == 14 and one.input_size == 32
    assert NumberWords(to="german").words["source"] == one.words["source"]


def test_both_targets_come_with_the_same_sentences() -> None:
    digits, german = NumberWords(), NumberWords(to="german")
    for split in ("train", "valid", "test"):
        (source, _), _ = digits.batch(split, 20, generator(4))
        (again, _), _ = german.batch(split, 20, generator(4))
        assert torch.equal(source, again)


# Splits


@pytest.mark.parametrize("to", BOTH)
@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_same_generator_same_batch(to: str, split: str) -> None:
    task, one, two = NumberWords(to=to), generator(7), generator(7)
    for _ in range(2):
        torch.rand(3)  # the global generator does not matter
        (x, y), (x_again, y_again) = task.batch(split, 5, one), NumberWords(to=to).batch(split, 5, two)
        assert torch.equal(x[0], x_again[0]) and torch.equal(x[1], x_again[1]) and torch.equal(y, y_again)
    other = task.batch(split, 5, one)[0][0]
    assert other.shape != x[0].shape or not torch.equal(other, x[0])


def texts(task: NumberWords, split: str, size: int) -> list[tuple[str, str]]:
    return [
        (task.decode(english, "source"), task.decode(row))
        for (source, _), y in task.batches(split, size)
        for english, row in zip(source, y, strict=True)
    ]


@pytest.mark.parametrize(("split", "total"), [("valid", 1_000), ("test", 10_000)])
def test_finite_splits_are_the_same_whatever_the_batches(split: str, total: int) -> None:
    task = NumberWords()
    assert [len(y) for _, y in task.batches(split, 999)] == [999] * (total // 999) + [total % 999]
    torch.manual_seed(1)
    assert texts(task, split, 999) == texts(NumberWords(), split, total)


def test_batch_of_a_finite_split_is_some_of_it() -> None:
    task = NumberWords()
    (source, _), y = task.batch("valid", 30, generator(5))
    whole = set(texts(task, "valid", 1_000))
    assert {(task.decode(a, "source"), task.decode(b)) for a, b in zip(source, y, strict=True)} <= whole
    assert not whole & {row for row in texts(task, "test", 1_000) if row[1].count(",") > 1}


def test_the_finite_splits_have_known_numbers() -> None:
    """A record compares runs on the same test sentences: a change of these numbers is a change of the task."""
    rows = [row for _, row in texts(NumberWords(), "test", 1_000)]
    assert rows[:3] == ["613,291,198,836", "57,6,233,693,289,545", "737,202"]
    assert sum(int(number) for row in rows for number in row.split(",")) == 17_521_070
    rows = [row for _, row in texts(NumberWords((2, 2), largest=999_999), "valid", 1_000)]
    assert rows[:2] == ["648886,799173", "430949,231276"]
    assert sum(int(number) for row in rows for number in row.split(",")) == 1_011_191_986


# Loss and metrics


TABLE = torch.randn(80, 36, 36, generator=generator(8), dtype=torch.float64) + 4 * torch.eye(36)


def predict(task: NumberWords, y: torch.Tensor) -> torch.Tensor:
    """Logits in float64 that depend on the label and its place, and are often right."""
    return TABLE[torch.arange(y.shape[1]), y, : task.output_size]


def over_the_split(task: NumberWords, size: int, judge: Callable[..., dict[str, float]]) -> dict[str, float]:
    """As `rtx_lib.training.evaluate` does it: the mean over the batches, each weighted by its sentences."""
    total: dict[str, float] = {}
    for _, y in task.batches("valid", size):
        for name, value in judge(predict(task, y), y).items():
            total[name] = total.get(name, 0.0) + value * len(y) / 1_000
    return total


@pytest.mark.parametrize("to", BOTH)
def test_metrics_do_not_depend_on_the_batches(to: str) -> None:
    task = NumberWords(to=to)
    whole = over_the_split(task, 1_000, task.metrics)
    assert set(whole) == {"loss", "accuracy", "exact"} and 0 < whole["exact"] < whole["accuracy"] < 1
    for size in (1, 7, 250):
        assert over_the_split(task, size, task.metrics) == pytest.approx(whole, rel=1e-12)

    # The mean over all tokens of a batch, which training takes, would depend on them.
    def by_token(prediction: torch.Tensor, y: torch.Tensor) -> dict[str, float]:
        return {"loss": task.loss(prediction, y).item()}

    assert over_the_split(task, 7, by_token) != pytest.approx(over_the_split(task, 1_000, by_token), rel=1e-4)


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


def test_padding_does_not_count() -> None:
    task = NumberWords(to="german")
    _, y = task.batch("train", 20, generator())
    prediction = predict(task, y).requires_grad_()
    task.loss(prediction, y).backward()
    assert (prediction.grad[y == 0] == 0).all() and (prediction.grad[y != 0].abs().sum(-1) > 0).all()
    other = prediction.detach().clone()
    other[y == 0] = 50 * torch.randn(int((y == 0).sum()), task.output_size, generator=generator(), dtype=torch.float64)
    wider = torch.cat([other, torch.randn(20, 3, task.output_size, generator=generator(), dtype=torch.float64)], 1)
    for changed, labels in ((other, y), (wider, torch.nn.functional.pad(y, (0, 3)))):
        assert task.loss(changed, labels).item() == pytest.approx(task.loss(prediction, y).item(), rel=1e-12)
        assert task.metrics(changed, labels) == pytest.approx(task.metrics(prediction, y), rel=1e-12)


@pytest.mark.parametrize("to", BOTH)
def test_exact_is_what_greedy_decoding_reaches(to: str) -> None:
    """A toy that knows the row and what it wrote so far, and errs at about one place in twenty."""
    task = NumberWords(to=to)
    (_, target_in), y = task.batch("valid", 200, generator(6))

    def following(row: int, written: list[int]) -> int:
        truth = y[row].tolist()
        if written[1:] == truth[: len(written) - 1] and hash((row, *written)) % 20:
            return truth[len(written) - 1]
        return hash((*written, row)) % task.output_size

    prediction, same = torch.zeros(*y.shape, task.output_size), 0
    for row, given in enumerate(target_in.tolist()):
        for at in range(y.shape[1]):
            prediction[row, at, following(row, given[: at + 1])] = 1.0
        written = [task.start]
        while written[-1] != task.end and len(written) <= y.shape[1]:
            written.append(following(row, written))
        same += task.decode(torch.tensor(written)) == task.decode(y[row]) and written[-1] == task.end
    assert 0 < same < 200
    assert task.metrics(prediction, y)["exact"] == same / 200


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


# What every task promises


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({}, "numbers-digits"),
        ({"to": "german"}, "numbers-german"),
        ({"count": (12, 12)}, "numbers-digits-12"),
        ({"count": (2, 4), "largest": 99_999}, "numbers-digits-2to4-up-to-99999"),
    ],
)
def test_is_a_task_and_no_stream(arguments: dict, name: str) -> None:
    task = NumberWords(**arguments)
    assert isinstance(task, Task) and not isinstance(task, StreamTask)
    assert task.name == name and task.vocabulary == task.input_size
    metrics = task.metrics(torch.zeros(*task.sentences([[1]])[1].shape, task.output_size), task.sentences([[1]])[1])
    for values in (metrics, task.baselines()):
        assert values and all(type(value) is float for value in values.values())


def test_splits_and_sizes_that_are_not_allowed() -> None:
    task = NumberWords()
    for call in (lambda split: task.batch(split, 4, generator()), lambda split: task.batches(split, 4)):
        with pytest.raises(ValueError, match="split is 'dev'; it must be one of"):
            call("dev")
    with pytest.raises(ValueError, match=r"split is 'train'.*use batch"):
        task.batches("train", 4)
    for size in (0, 1.5, True):
        with pytest.raises(ValueError, match=f"size is {size!r}"):
            task.batch("train", size, generator())
        with pytest.raises(ValueError, match=f"size is {size!r}"):
            task.batches("test", size)


def test_prediction_of_wrong_shape() -> None:
    task = NumberWords()
    _, y = task.sentences([[412, 7], [3]])
    for shape in [(2, 14), (1, 6, 14), (2, 5, 14), (2, 7, 14), (2, 6, 13)]:
        for judge in (task.loss, task.metrics):
            with pytest.raises(ValueError, match=r"prediction has shape \(.*whole output \(2, 6, 14\)"):
                judge(torch.zeros(shape), y)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"count": 3}, "count is 3; it must be a pair"),
        ({"count": (1, 2, 3)}, r"count is \(1, 2, 3\); it must be a pair"),
        ({"count": (0, 2)}, r"count\[0\] is 0; .* at least 1"),
        ({"count": (4, 2)}, r"count\[1\] is 2; .* at least 4"),
        ({"count": "12"}, r"count\[0\] is '1'; .* at least 1"),
        ({"largest": 0}, "largest is 0; .* at least 1"),
        ({"largest": 1_000_000}, "largest is 1000000; it must be at most 999999"),
        ({"to": "french"}, "to is 'french'; it must be one of 'digits', 'german'"),
    ],
)
def test_arguments_that_are_not_allowed(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NumberWords(**arguments)


def test_sentences_that_cannot_be_said() -> None:
    task = NumberWords()
    for numbers in ([], [[1], []]):
        with pytest.raises(ValueError, match="every sentence a number"):
            task.sentences(numbers)
    with pytest.raises(ValueError, match="number is 1000000; it must be at most 999999"):
        task.sentences([[3], [4, 1_000_000]])
    with pytest.raises(ValueError, match=r"number is -1; .* at least 0"):
        task.sentences([[-1]])


# Reading and writing


@pytest.mark.parametrize(
    ("to", "side", "text"),
    [
        ("digits", "source", "four hundred twelve, seven"),
        ("digits", "target", "412,7"),
        ("german", "target", "vier hundert zwölf, sieben"),
    ],
)
def test_encode_and_decode(to: str, side: str, text: str) -> None:
    task = NumberWords(to=to)
    ids = task.encode(text, side)
    assert ids.dtype == torch.int64 and ids.ndim == 1 and task.decode(ids, side) == text
    assert task.decode(ids.tolist(), side) == text
    (source, _), y = task.sentences([[412, 7]])
    assert torch.equal(ids, source[0] if side == "source" else y[0, :-1])


def test_decode_stops_at_the_end_and_hides_nothing_before_it() -> None:
    task = NumberWords()
    four, one = task.encode("41", "target").tolist()
    assert task.decode([task.start, four, one, task.end, one, task.pad]) == "41"
    assert task.decode([four, one, task.pad, task.pad]) == "41"
    assert task.decode([four, task.start, one, task.pad, one]) == "4<start>1<pad>1"
    assert task.decode([task.end]) == task.decode([task.start]) == task.decode([]) == ""


def test_words_and_ids_that_are_not_known() -> None:
    task = NumberWords()
    for text, word in (("four hundert", "hundert"), ("<pad>", "<pad>"), ("Four", "Four")):
        with pytest.raises(ValueError, match=f"text holds '{word}'; the source knows , zero one"):
            task.encode(text)
    with pytest.raises(ValueError, match="text holds 'x'; the target knows , 0 1 2"):
        task.encode("4x", "target")
    for wrong in (-1, 14):
        with pytest.raises(ValueError, match=rf"ids holds {wrong}; every id must be in 0\.\.13"):
            task.decode([3, wrong])
    with pytest.raises(ValueError, match=r"ids has shape \(2, 3\); it must be one sentence"):
        task.decode(torch.zeros(2, 3, dtype=torch.int64))
    for call in (task.encode, task.decode):
        with pytest.raises(ValueError, match="side is 'left'; it must be one of 'source', 'target'"):
            call("", "left")


def test_label_smoothing_mixes_the_training_loss_with_the_uniform_distribution():
    plain, smooth = NumberWords((1, 2)), NumberWords((1, 2), label_smoothing=0.1)
    _, y = plain.batch("train", 5, torch.Generator().manual_seed(0))
    prediction = torch.randn(5, y.shape[1], plain.output_size, generator=torch.Generator().manual_seed(1)).double()
    counts = y != plain.pad
    uniform = -prediction.log_softmax(-1).mean(-1)[counts].mean()
    assert smooth.loss(prediction, y).item() == pytest.approx((0.9 * plain.loss(prediction, y) + 0.1 * uniform).item())
    assert smooth.metrics(prediction, y) == plain.metrics(prediction, y)
    for wrong in (-0.1, 1.0):
        with pytest.raises(ValueError, match="label_smoothing is"):
            NumberWords(label_smoothing=wrong)
