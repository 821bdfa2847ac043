"""Every task keeps the contract of `rtx_lib.tasks.protocol.Task`, and says what it cannot do."""

import inspect
import pickle
import re
import typing
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from support import small_corpora
from support import small_tasks as small
from support.compare import generator
from support.far_device import FAR, FarDevice
from torch import Tensor

from rtx_book.runs import TASKS
from rtx_lib import tasks
from rtx_lib.tasks.files import DownloadError, files_of
from rtx_lib.tasks.masked_text import BothWaysText, CausalText, MaskedText
from rtx_lib.tasks.next_symbol import LookUp, NextSymbol
from rtx_lib.tasks.on_off import OnOff
from rtx_lib.tasks.sentence_classes import SentenceClasses
from rtx_lib.tasks.sentence_pairs import SentencePairs
from rtx_lib.tasks.tagging import PartsOfSpeech, WordSense
from rtx_lib.training import evaluate

SPLITS = ("train", "valid", "test")
GENERATED = {
    "adding-12": lambda place: tasks.AddingProblem(12),
    "addition-9": lambda place: tasks.BinaryAddition(9),
    "addition-9-carry-5": lambda place: tasks.BinaryAddition(9, carry=5),
    "copy-12": lambda place: tasks.CopyMemory(12),
    "copy-12-8x4": lambda place: tasks.CopyMemory(12, length=4),
    "lag-12": lambda place: tasks.Lag(12),
    "lag-12-3x16": lambda place: tasks.Lag(12, lag=3),
    "window-product-12": lambda place: tasks.WindowOrder(12),
    "window-last-12-3": lambda place: tasks.WindowOrder(12, window=3, question="last"),
    "numbers-digits": lambda place: tasks.NumberWords(),
    "numbers-german-2to4-up-to-99999": lambda place: tasks.NumberWords((2, 4), largest=99_999, to="german"),
    "numbers-digits-3": lambda place: tasks.NumberWords((3, 3)),
    "generated-sentiment": lambda place: tasks.GeneratedSentiment(),
    "symbol-next-9x8": lambda place: NextSymbol(9),
    "symbol-both-5x3": lambda place: NextSymbol(5, symbols=3, side="both"),
    "look-up-4-4-of-16x16": lambda place: LookUp(),
    "look-up-2-1-of-5x5": lambda place: LookUp(2, questions=1, keys=5, values=5),
    "parity-12": lambda place: tasks.Parity(12),
    "words-S3-12": lambda place: tasks.GroupWords(12),
    "words-S5-5": lambda place: tasks.GroupWords(5, group="S5"),
    "recall-12-3-of-8x5": lambda place: tasks.AssociativeRecall(3, keys=8, values=5, length=12),
    "recall-48-8-of-32x32": lambda place: tasks.AssociativeRecall(),
    "selective-copying-3-in-9-of-5": lambda place: tasks.SelectiveCopying(3, places=9, symbols=5),
    "on-off": lambda place: OnOff(),
    "atlas-pieces": lambda place: tasks.Atlas(),
    "atlas-units": lambda place: tasks.Atlas("units"),
    "instructions-trained": lambda place: tasks.Instructions(),
    "instructions-sorted-same-unnamed": lambda place: tasks.Instructions("sorted same", named=False, length=5),
    "stories-one-fact": lambda place: tasks.Stories("one fact"),
    "stories-two-facts-3to5": lambda place: tasks.Stories(sentences=(3, 5)),
    "stories-two-facts-flat": lambda place: tasks.Stories(flat=True),
    "stories-deduction-8": lambda place: tasks.Stories("deduction", sentences=(8, 8)),
}
READ = {
    "digits-pixels": lambda place: tasks.SequentialDigits(),
    "digits-rows": lambda place: tasks.SequentialDigits(rows=True),
    "digits-drawn": lambda place: tasks.DrawnDigits(),
    "mnist-pixels": lambda place: place(small.mnist(), tasks.MNIST),
    "mnist-rows": lambda place: place(small.mnist(), tasks.MNIST, rows=True),
    "mnist-pixels-valid-10": lambda place: place(small.mnist(), tasks.MNIST, valid=10),
    "sst2": lambda place: place(small.sst2(), tasks.Sentiment),
    "sst2-least-1": lambda place: place(small.sst2(), tasks.Sentiment, 1),
    "masked-wikitext2-12": lambda place: place(CORPORA, MaskedText, length=12, size=60),
    "masked-wikitext2-conll2000-12-units-0.4": lambda place: place(
        CORPORA, MaskedText, ("wikitext2", "conll2000"), length=12, size=60, rule="units", share=0.4
    ),
    "causal-wikitext2-12": lambda place: place(CORPORA, CausalText, length=12, size=60),
    "both-ways-wikitext2-12": lambda place: place(CORPORA, BothWaysText, length=12, size=60),
    "pairs-next-wikitext2-15": lambda place: place(CORPORA, SentencePairs, length=15, size=60),
    "pairs-order-wikitext2-15": lambda place: place(CORPORA, SentencePairs, "order", length=15, size=60),
    "classes-subj": lambda place: place(CORPORA, SentenceClasses),
    "classes-trec-12-of-0": lambda place: place(CORPORA, SentenceClasses, "trec", labels=12, framed=True),
    "tags-ud_ewt": lambda place: place(CORPORA, PartsOfSpeech),
    "tags-conll2000": lambda place: place(CORPORA, PartsOfSpeech, "conll2000", framed=True),
    "senses-interest": lambda place: place(CORPORA, WordSense, size=90),
    "table-classes": lambda place: tasks.TableTask(
        [ROWS[: 3 + n % 4, n : n + 2] for n in range(90)], [n % 3 for n in range(90)]
    ),
    "series-6-6": lambda place: tasks.SeriesTask(ROWS.T.repeat(2, 1)[:, :1], 6, 6),
    "jsb": lambda place: place(small.music(), tasks.PolyphonicMusic, "jsb"),
    "jsb-3": lambda place: place(small.music(), tasks.PolyphonicMusic, "jsb", length=3),
    "jsb-summed": lambda place: place(small.music(), tasks.PolyphonicMusic, "jsb", summed=True),
}
PROSE = "".join(f"{n * n % 11} men went to mow,\nwent to mow a meadow; " for n in range(30))
LEVELS = ("character", "word", "bytes")
STREAMED = {
    "shakespeare-5": lambda place: place(small.shakespeare(), tasks.CharacterText, length=5),
    "ptb-characters-6-context-2": lambda place: place(small.ptb(), tasks.PennTreebank, length=6, context=2),
    "ptb-words-6": lambda place: place(small.ptb(), tasks.PennTreebank, "words", length=6),
    "topics-wikitext2-60": lambda place: place(CORPORA, tasks.TopicText, "wikitext2", words=60, length=6),
}
STREAMED |= {f"text-{level}-6": lambda place, level=level: tasks.TextTask(PROSE, 6, level) for level in LEVELS}
CORPORA = small_corpora.corpora()
ROWS = torch.rand(6, 91, generator=generator())
SMALL = {"on-off"}  # all sentences that there are
SERIES = {"series-6-6"}  # whose labels may be below 0, and whose predictions may begin earlier
MAKERS = GENERATED | READ | STREAMED


@pytest.fixture(params=MAKERS)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    """Every task, made once: nothing that a test asks of one may change it."""
    return {}


@pytest.fixture
def task(name: str, place, made: dict[str, Any]) -> Any:
    if name not in made:
        made[name] = MAKERS[name](place)
    return made[name]


def tensors(x: Any, y: Tensor) -> tuple[Tensor, ...]:
    return (*x, y) if isinstance(x, tuple) else (x, y)


def equal(one: tuple[Any, Tensor], two: tuple[Any, Tensor]) -> bool:
    return all(map(torch.equal, tensors(*one), tensors(*two)))


def rows(*batches: tuple[Any, Tensor]) -> list[Any]:
    """The rows of batches, each without the padding at its end, which depends on the others."""

    def bare(row: Any) -> Any:
        while isinstance(row, list) and row and row[-1] in (0, -1, -100, [0.0] * 2, [0.0] * 88, [-1.0] * 88):
            row.pop()
        return row

    return [[bare(row.tolist()) for row in group] for x, y in batches for group in zip(*tensors(x, y), strict=True)]


class Model(torch.nn.Module):
    """Some model in float64 that knows only what it reads now; of a whole sentence, the sum over its words."""

    def __init__(self, task: Any) -> None:
        super().__init__()
        draw = torch.randn(100, task.output_size, generator=generator(3), dtype=torch.float64)
        self.ids, self.table = task.vocabulary is not None, draw.repeat(3, 1)
        self.whole = isinstance(task, tasks.Sentiment | tasks.GeneratedSentiment)

    def forward(self, x: Any, state: None = None) -> tuple[Tensor, None]:
        x = x[-1] if isinstance(x, tuple) else x  # a target is read by its model
        if self.whole:
            return (self.table[x] * (x > 0)[..., None]).sum(1, keepdim=True), None
        return (self.table[x] if self.ids else x.double() @ self.table[: x.shape[-1]]), None


# What every task is and gives


def test_is_a_task_and_a_stream_where_it_can_be_one(name: str, task: Any) -> None:
    assert isinstance(task, tasks.Task) and hasattr(task, "stream") == (name in STREAMED) and task.name == name
    assert task.vocabulary in (None, task.input_size)
    assert name not in ("adding-12", "parity-12") or pickle.loads(pickle.dumps(task)).name == name
    x, y = task.batch("test", 3, generator())
    for values in (task.metrics(Model(task)(x)[0], y), task.baselines()):
        assert values and all(type(value) is float for value in values.values())


def test_protocol_notices_what_is_missing() -> None:
    assert not isinstance(type("Half", (), {"name": "half", "batch": None})(), tasks.Task)


def test_shapes_and_types(task: Any) -> None:
    for x, y in (task.batch(split, 5, generator()) for split in SPLITS):
        for one in tensors(x, y)[:-1]:
            assert len(one) == 5
            if task.vocabulary is None:
                assert one.ndim == 3 and one.shape[-1] == task.input_size and one.dtype == torch.float32
                assert torch.isfinite(one).all()
            else:
                assert one.ndim in (2, 3) and one.dtype == torch.int64 and one.min() >= 0
        assert len(y) == 5 and tensors(x, y)[0].max() < (task.vocabulary or 2)
        if not y.is_floating_point():
            assert y.dtype == torch.int64 and y.max() < task.output_size
        if y.ndim > 1 and y.shape[1] > 1:  # a label at every step
            assert y.shape[1] == tensors(x, y)[-2].shape[1]


def test_same_generator_same_batch(name: str, task: Any, place) -> None:
    again = MAKERS[name](place)
    for split in SPLITS:
        one, two = generator(7), generator(7)
        for _ in range(2):  # the second batch follows from the state too
            torch.rand(3)  # the global generator does not matter
            batch, same = task.batch(split, 9, one), again.batch(split, 9, two)
            assert equal(batch, same)
        assert rows(task.batch(split, 9, one)) != rows(batch)


def finite(name: str) -> tuple[str, ...]:
    return SPLITS[1:] if name in GENERATED else SPLITS


def test_finite_splits_are_run_through_once_in_order_whatever_the_batches(name: str, task: Any, place) -> None:
    again = MAKERS[name](place)
    for split in finite(name):
        torch.manual_seed(len(split))  # the global generator must not matter
        whole = list(task.batches(split, 100_000))
        sizes = {"valid": 1_000, "test": 10_000} if name in GENERATED and name not in SMALL else {}
        assert sum(len(y) for _, y in whole) == sizes.get(split, sum(len(y) for _, y in whole))
        size = 999 if sizes and split == "test" else 7
        pieces = list(again.batches(split, size))
        assert all(len(y) == size for _, y in pieces[: -1 - (name in STREAMED)])
        assert rows(*pieces) == rows(*whole)
    if not name.startswith("shakespeare") and name not in SMALL:  # there "valid" is "test"
        assert rows(next(task.batches("valid", 100))) != rows(next(task.batches("test", 100)))


def test_a_batch_of_a_finite_split_is_rows_of_it(name: str, task: Any) -> None:
    if name not in STREAMED and name != "jsb-3":  # those draw windows from anywhere
        whole = rows(*task.batches("valid", 100_000))
        assert all(row in whole for row in rows(task.batch("valid", 20, generator(5))))


# Loss and metrics


def scored(name: str, task: Any, y: Tensor, steps: int) -> Tensor:
    """Which positions (B, T) count."""
    if name == "digits-drawn":  # asked after every row
        return torch.ones(len(y), steps, dtype=torch.bool)
    if y.ndim == 1 or y.shape[1] == 1:  # the last step only
        return (torch.arange(steps) == steps - 1).expand(len(y), steps)
    labels = y.amax(-1) if y.ndim == 3 else y
    counts = labels > 0 if name.startswith("numbers") else labels >= (-9 if name in SERIES else 0)
    return counts & (torch.arange(steps) >= getattr(task, "context", 0))


def test_the_loss_is_that_of_the_metrics_and_of_the_positions_that_count(name: str, task: Any) -> None:
    x, y = task.batch("test", 4, generator())
    prediction = Model(task)(x)[0].requires_grad_()
    loss = task.loss(prediction, y)
    loss.backward()
    counts = scored(name, task, y, prediction.shape[1])
    assert loss.shape == () and torch.equal(prediction.grad.abs().sum(-1) > 0, counts)
    metrics = task.metrics(prediction, y)
    if not name.startswith("numbers") and name != "jsb-summed":  # a mean over sentences, and a sum
        assert loss.item() == pytest.approx(metrics.get("loss", metrics.get("mse")), rel=1e-12)
    others = torch.randn(prediction.shape, generator=generator(1)).double()
    assert task.metrics(torch.where(counts[..., None], prediction, others), y) == metrics
    labels = int((y >= 0).sum()) if name.startswith("both-ways") else int(counts.sum())
    assert getattr(task, "weight", len)(y) in (len(y), labels)


def test_right_answers_cost_nothing_and_wrong_ones_much(name: str, task: Any) -> None:
    x, y = task.batch("test", 4, generator())
    steps = Model(task)(x)[0].shape[1]
    if y.is_floating_point():
        right = y if name in SERIES else 100.0 * (2 * y - 1) if y.ndim == 3 else y[:, None].expand(-1, steps, -1)
    else:
        labels = (y if y.ndim > 1 else y[:, None].expand(-1, steps)).clamp(min=0)
        classes = task.output_size // (y.shape[2] if y.ndim == 3 else 1)
        right = 100.0 * torch.nn.functional.one_hot(labels, classes).flatten(2)
    found = {key: value for key, value in task.metrics(right, y).items() if not key.startswith("share of")}
    assert all(found.pop(share, 1) == 1 for share in ("accuracy", "exact", "last quarter"))
    assert found == pytest.approx(dict.fromkeys(found, 0), abs=1e-6)
    wrong = task.metrics(right.roll(1, -1) if y.ndim < 3 and task.output_size > 1 else 1 - right, y)
    assert wrong.get("accuracy", 0) == wrong.get("exact", 0) == 0 and wrong.get("loss", wrong.get("mse")) > 0.2


def test_metrics_do_not_depend_on_the_batches(name: str, task: Any) -> None:
    whole = evaluate(Model(task), task, "valid", batch_size=1_000)
    for size in (7, 250):
        assert evaluate(Model(task), task, "valid", batch_size=size) == pytest.approx(whole, rel=1e-12)


def test_a_uniform_guess_costs_what_the_baselines_say(name: str, task: Any) -> None:
    expected = task.baselines().get("uniform guess loss")
    if expected is not None and not name.startswith("numbers"):  # of these not all tokens can be a label
        x, y = task.batch("test", 30, generator())
        flat = torch.zeros_like(Model(task)(x)[0])
        assert task.metrics(flat, y)["loss"] == pytest.approx(expected, rel=1e-12)
        assert task.metrics(flat, y).get("bpc", 0) in (0, pytest.approx(expected / torch.tensor(2.0).log().item()))


def test_loss_and_metrics_mix_no_devices(task: Any) -> None:
    x, y = task.batch("test", 4, generator())
    prediction = Model(task)(x)[0].float()
    with FarDevice():
        far, labels = prediction.to(FAR), y.to(FAR)
        assert task.loss(far, labels).item() == task.loss(prediction, y).item()
        assert task.metrics(far, labels) == task.metrics(prediction, y)


# What is not allowed


def calls(name: str, task: Any) -> Iterator[Any]:
    yield lambda split, size: task.batch(split, size, generator())
    yield task.batches
    if name in STREAMED and not getattr(task, "context", 0):
        yield lambda split, size: task.stream(split, size, 2)


def test_splits_and_sizes_that_are_not_allowed(name: str, task: Any) -> None:
    """At the call, not at the first batch."""
    for call in calls(name, task):
        for split in ("dev", "", "Train", None):
            with pytest.raises(ValueError, match=f"split must be one of .*, got {split!r}"):
                call(split, 4)
        for size in (0, -1, 1.5, True):
            with pytest.raises(ValueError, match=f"size must be .*at least 1, got {size!r}"):
                call("test", size)
    if name in GENERATED:
        with pytest.raises(ValueError, match=r"split must be 'valid' or 'test'.*use batch.*got 'train'"):
            task.batches("train", 4)


def test_streams_that_do_not_fit(name: str, task: Any) -> None:
    if name in STREAMED and not getattr(task, "context", 0):
        longest = sum(y.numel() for _, y in task.stream("test", 1, 1))
        assert len(list(task.stream("test", 1, longest))) == 1
        for size, most in ((1, longest), (3, longest // 3), (longest + 1, 0)):
            message = f"length must be at most {most}, a stream of 'test' with size {size},"
            with pytest.raises(ValueError, match=message):
                task.stream("test", size, most + 1)
        with pytest.raises(ValueError, match="length must be at least 1, got 0"):
            task.stream("test", 1, 0)


def test_predictions_of_wrong_shape(name: str, task: Any) -> None:
    x, y = task.batch("train", 4, generator())
    _, steps, width = Model(task)(x)[0].shape
    wrong = [(4, width), (3, steps, width), (4, steps, width + 1), (4, 0, width), (width,)]
    if y.ndim > 1 and y.shape[1] > 1:
        wrong += [(4, steps - 1, width), (4, steps + 1, width)][: 1 if name in SERIES else 2]
    for shape in wrong:
        for judge in (task.loss, task.metrics):
            with pytest.raises(ValueError, match=r"prediction must have shape \(4, .*, got \("):
                judge(torch.zeros(shape), y)


KINDS = [*filter(inspect.isclass, TASKS.values()), SentenceClasses, SentencePairs, tasks.DrawnDigits, OnOff]
AFTER_READING = {"size", "most", "valid"}


@pytest.fixture
def no_files(monkeypatch, tmp_path) -> None:
    """Whoever works before a refusal finds no file to read."""
    monkeypatch.setenv("RTX_DATA", str(tmp_path))


@pytest.mark.parametrize("kind", KINDS)
def test_sizes_and_choices_that_are_not_allowed(no_files, kind) -> None:
    """A wrong value for each that the constructor's signature names."""
    good = {"length": 5} if kind is tasks.PennTreebank else {}
    good |= {"bits": 8} if kind is tasks.BinaryAddition else {"delay": 8} if kind is tasks.CopyMemory else {}
    if kind in (tasks.AddingProblem, tasks.Lag, tasks.WindowOrder, tasks.Parity, tasks.GroupWords):
        good |= {"length": 9}
    for name, hint in typing.get_type_hints(kind.__init__).items():
        wrong = {int: -1, int | None: -1, str: "nonsense", str | None: "nonsense"}.get(hint)
        if wrong is not None and name not in AFTER_READING:
            with pytest.raises(ValueError, match=rf"^{name}\b.* must be .* got {wrong!r}"):
                kind(**good | {name: wrong})


WHOLE = "must be at least"
REFUSED = {  # what no signature tells: bounds by other arguments, pairs, and shares
    f"length {WHOLE} 2, got 1": lambda: tasks.AddingProblem(1),
    "length must be a whole number of at least 2, got 2.5": lambda: tasks.AddingProblem(2.5),
    "length must be a whole number of at least 2, got True": lambda: tasks.AddingProblem(True),
    "carry must be at least 1 and below 8 or None, got 8": lambda: tasks.BinaryAddition(8, carry=8),
    f"length {WHOLE} 6, got 5": lambda: tasks.Lag(5),
    f"length {WHOLE} 5, got 4": lambda: tasks.WindowOrder(4),
    "count[0] must be at least 1, got 0": lambda: tasks.NumberWords((0, 2)),
    "count[1] must be at least 4, got 2": lambda: tasks.NumberWords((4, 2)),
    "largest must be at least 1 and at most 999999, got 1000000": lambda: tasks.NumberWords(largest=1_000_000),
    "label_smoothing must be at least 0 and below 1, got 1.0": lambda: tasks.NumberWords(label_smoothing=1.0),
    "sentences must be .*, from 1 to 100, got (4, 3)": lambda: tasks.Stories("one fact", sentences=(4, 3)),
    "sentences must be .*, from 5 to 8, got (5, 9)": lambda: tasks.Stories("deduction", sentences=(5, 9)),
    "context must be at least 0 and below 5, got 5": lambda: tasks.PennTreebank(length=5, context=5),
    "length must be odd, got 8": lambda: NextSymbol(8),
    f"keys {WHOLE} 3, got 2": lambda: LookUp(3, keys=2),
    f"values {WHOLE} 3, got 2": lambda: LookUp(3, values=2),
    f"keys {WHOLE} 9, got 8": lambda: tasks.AssociativeRecall(9, keys=8),
    f"values {WHOLE} 9, got 8": lambda: tasks.AssociativeRecall(9, values=8),
    f"length {WHOLE} 12, got 11": lambda: tasks.AssociativeRecall(4, length=11),
    f"places {WHOLE} 5, got 4": lambda: tasks.SelectiveCopying(5, places=4),
    f"symbols {WHOLE} 2, got 1": lambda: tasks.SelectiveCopying(symbols=1),
    f"length {WHOLE} 9, got 8": lambda: SentencePairs(length=8),
}


@pytest.mark.parametrize("message", REFUSED)
def test_arguments_that_are_not_allowed(no_files, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message).replace(r"\.\*", ".*")):
        REFUSED[message]()


@pytest.mark.parametrize(
    ("files", "task", "settings", "longest"),
    [(small.shakespeare(), tasks.CharacterText, {}, 11), (small.ptb(), tasks.PennTreebank, {"level": "words"}, 12)],
)
def test_every_split_must_hold_a_window(place, files, task, settings, longest: int) -> None:
    assert place(files, task, length=longest, **settings).length == longest
    with pytest.raises(ValueError, match=f"length must be at most {longest}, .* got {longest + 1}"):
        task(length=longest + 1, **settings)


ALL = small_corpora.corpora() | small.ptb() | small.mnist() | small.music() | small.shakespeare()
ALL["ett/ETTh2.csv"] = "\n".join(["a,b", *(f"{n % 7},{n % 5}" for n in range(14_400))]).encode()


@pytest.mark.parametrize(
    ("task", "settings", "count"),
    [
        (tasks.MNIST, {"rows": True}, 4),
        (tasks.CharacterText, {"length": 5}, 1),
        (tasks.CharacterText, {"source": "pydoc"}, 0),
        (tasks.PennTreebank, {"length": 3}, 3),
        (tasks.PolyphonicMusic, {"source": "jsb"}, 1),
        (tasks.Sentiment, {}, 3),
        (SentenceClasses, {"source": "trec"}, 2),
        (MaskedText, {"sources": "wikitext2"}, 2),
        (CausalText, {"sources": ["ptb", "small_world", "masc"]}, 4),
        (BothWaysText, {"sources": ["subj", "conll2000"], "without": ["sst2", "interest"]}, 6),
        (SentencePairs, {"source": "small_world"}, 0),
        (PartsOfSpeech, {}, 2),
        (WordSense, {}, 1),
        (TASKS["few-labels"], {"weights": "bert-small", "source": "sst2"}, 3),
        (tasks.AddingProblem, {"length": 5}, 0),
        (tasks.ETT, {"source": "ETTh2", "lookback": 5}, 1),
    ],
)
def test_a_task_reads_the_files_that_it_names(place, tmp_path, task, settings, count: int) -> None:
    """All of them, and no others."""
    names = files_of(task, **settings)
    assert len(names) == count
    place({name: ALL[name] for name in names}, task, **settings)
    for name in names:
        (tmp_path / name).rename(tmp_path / "away")
        with pytest.raises(DownloadError, match=f"{re.escape(name)} is not there"):
            task(**settings)
        (tmp_path / "away").rename(tmp_path / name)
