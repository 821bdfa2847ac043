"""Pre-training on text: the same rows for both tasks, what is hidden in them, and what it costs to know nothing."""

import math
import re
from collections import Counter

import pytest
import torch
from support import small_corpora as small
from support import small_tasks
from support.compare import generator
from torch import nn

from rtx_lib.tasks.masked_text import CausalText, MaskedText, TextRows
from rtx_lib.tasks.vocabulary import SPECIAL, Vocabulary
from rtx_lib.training import evaluate

SPLITS = ("train", "valid", "test")


@pytest.fixture(scope="module")
def masked() -> MaskedText:
    return MaskedText("small_world", length=24, size=500)


@pytest.fixture(scope="module")
def causal() -> CausalText:
    return CausalText("small_world", length=24, size=500)


def rows_of(text: list[list[str]], length: int, place, **more: str) -> list[str]:
    """The training rows of one document."""
    files = small_tasks.ptb(train="\n".join(map(" ".join, text)), **more)
    made = place(files, TextRows, "ptb", length=length, size=100)
    return [made.words.decode(row) for row in made.ids["train"]]


def test_rows_hold_whole_sentences_as_long_as_they_fit(place) -> None:
    text = [["a", "b", "c"], ["d", "e"], ["f"], ["g", "h", "i", "j", "k"], ["l"]]
    assert rows_of(text, 8, place) == ["[CLS] a b c d e f [SEP]", "[CLS] g h i j k l [SEP]"]
    rows = ["[CLS] a b c d e [SEP]", "[CLS] f [SEP]", "[CLS] g h i j k [SEP]", "[CLS] l [SEP]"]
    assert rows_of(text, 7, place) == rows
    assert rows_of(text, 5, place)[2:] == ["[CLS] g h i [SEP]", "[CLS] j k l [SEP]"]  # a long sentence is cut


def test_no_row_holds_two_documents(place) -> None:
    place(small.corpora(), lambda: None)
    made = TextRows("wikitext2", length=40, size=200)
    assert [made.words.decode(row).count("number") for row in made.ids["train"] if "number" in made.words.words] == [
        made.words.decode(row).count("is a number") * 2 for row in made.ids["train"]
    ]


def test_phrases_begin_where_their_first_word_stands(place) -> None:
    place(small.corpora(), lambda: None)
    made = TextRows("conll2000", length=8, size=100)
    assert made.begins["test"][0].tolist() == [True, True, True, False, True, True, True, True]
    assert made.ids["test"].shape == (2, 8) and made.begins["train"].shape == made.ids["train"].shape


def test_both_tasks_have_the_same_rows(masked: MaskedText, causal: CausalText) -> None:
    assert masked.words == causal.words
    for split in SPLITS:
        assert torch.equal(masked.rows.ids[split], causal.rows.ids[split])


@pytest.mark.parametrize("how", [{}, {"share": 0.4}, {"rule": "units"}])
def test_labels_are_the_words_that_were_there(how: dict, masked: MaskedText) -> None:
    task = MaskedText("small_world", length=24, words=masked.words, **how) if how else masked
    for split in SPLITS:
        x, y = next(task.batches(split, 100_000))
        ids = task.rows.ids[split].long()
        assert torch.equal(x[y < 0], ids[y < 0]) and torch.equal(y[y >= 0], ids[y >= 0])
        assert not torch.isin(y, torch.tensor([0, 2, 3])).any() and (y >= 0).any(1).all()
    counts = (y >= 0).sum(1)
    wanted = ((ids > 0).sum(1).double() * how.get("share", 0.15)).round().clamp(min=1)
    assert torch.equal(counts.double(), wanted) if "rule" not in how else (counts <= 24).all()
    begins = task.rows.begins[split]
    if "rule" in how:  # a name is chosen whole, but where nothing else was
        inside = ~begins[:, 1:] & (counts > 1)[:, None]
        assert inside.any() and torch.equal((y[:, 1:] >= 0)[inside], (y[:, :-1] >= 0)[inside])


def test_training_rows_have_a_new_mask_each_time(masked: MaskedText) -> None:
    rows = Counter(map(tuple, masked.rows.ids["train"].tolist()))
    masks: dict[tuple, set] = {}
    source = generator(3)
    for _ in range(60):
        x, y = masked.batch("train", 500, source)
        full = torch.where(y >= 0, y, x).tolist()
        for row, mask in zip(map(tuple, full), (y >= 0).tolist(), strict=True):
            if rows[row] == 1:  # few words have an id here, so that some rows stand there twice
                masks.setdefault(row, set()).add(tuple(mask))
    assert max(map(len, masks.values())) > 4


def test_the_next_word_by_hand(place) -> None:
    task = place(small_tasks.ptb(train="a b c\nd\n", valid="b\n", test="b a zz"), CausalText, "ptb", length=7, size=20)
    x, y = next(task.batches("train", 9))
    assert [task.words.decode(row) for row in x] == ["[CLS] a b c d"]
    assert y[0].tolist() == [*task.words.ids("abcd"), 3, -100] and x[0].tolist()[5] == 0
    x, y = next(task.batches("test", 9))
    assert y.tolist() == [[*task.words.ids(["b", "a"]), 1, 3, -100, -100]]
    assert task.weight(y) == 4


class Constant(nn.Module):
    """The same logits whatever is read, or `seen` for each id that is."""

    def __init__(self, logits: torch.Tensor, seen: torch.Tensor | None = None) -> None:
        super().__init__()
        self.logits, self.seen = logits, seen

    def forward(self, x, state=None):
        return (self.logits.expand(*x.shape, -1) if self.seen is None else self.seen[x]), None


def test_what_a_model_without_context_reaches(masked: MaskedText) -> None:
    """The baselines are what `evaluate` finds for tables that hold these probabilities."""
    found, size, p = masked.baselines(), masked.vocabulary, masked.unigram()
    assert p.sum().item() == pytest.approx(1) and p.shape == (size,)
    flat = evaluate(Constant(torch.zeros(size).double()), masked, "test")["loss"]
    assert flat == pytest.approx(found["uniform guess loss"], rel=1e-12) and flat == pytest.approx(math.log(size))
    assert evaluate(Constant(p.log()), masked, "test")["loss"] == pytest.approx(found["unigram loss"], rel=1e-12)
    itself = p / (p + 1 / size)
    table = (1 - itself)[:, None] * p + itself.diag()
    table[masked.mask] = p
    best = evaluate(Constant(p, table.log()), masked, "test")["loss"]
    assert best == pytest.approx(found["no context loss"], rel=1e-12) and best < found["unigram loss"] - 0.1


def test_the_unigram_loss_of_the_next_word(causal: CausalText) -> None:
    found = causal.baselines()
    counts = torch.ones(causal.vocabulary, dtype=torch.float64)
    for x, y in causal.batches("train", 1_000):
        assert x.shape == y.shape and x.shape[1] == 23
        counts += y[y >= 0].bincount(minlength=causal.vocabulary)
    best = evaluate(Constant((counts / counts.sum()).log()), causal, "test")["loss"]
    assert best == pytest.approx(found["unigram loss"], rel=1e-12) and best < found["uniform guess loss"]


def test_what_is_held_for_a_test_is_left_out(place) -> None:
    place(small.corpora(), lambda: None)
    texts = [MaskedText("subj", length=16, size=300, without=without) for without in ((), ("sst2",))]
    said = [{task.words.decode(row) for row in task.rows.ids["train"]} for task in texts]
    assert said[0] - said[1] != set() and len(texts[0].rows.ids["train"]) == len(texts[1].rows.ids["train"]) + 1


def test_a_shared_vocabulary(place) -> None:
    words = Vocabulary((*SPECIAL, "film", "good"))
    place(small.corpora(), lambda: None)
    task = MaskedText("sst2", length=8, words=words)
    assert task.vocabulary == 7 and task.words is words
    assert task.words.decode(task.rows.ids["train"][0]) == "[CLS] [UNK] good film [UNK] [SEP]"


REFUSED = [
    ({"sources": ()}, "rows of text for 'train' in  must be at least 1, got 0"),
    ({}, "rows of text for 'valid' in ptb must be at least 1, got 0"),
    ({"size": 5}, "size must be at least 6, got 5"),
    ({"words": Vocabulary(SPECIAL[:3])}, "words must hold '[SEP]', which is needed here"),
    ({"without": ("ptb",)}, "without must be one of"),
]
MASKLESS = {"words": Vocabulary(SPECIAL[:4])}, "words must hold '[MASK]', which is needed here; the 4 given do not"


@pytest.mark.parametrize(
    ("task", "how", "message"),
    [*((task, *case) for task in (MaskedText, CausalText) for case in REFUSED), (MaskedText, *MASKLESS)],
)
def test_arguments_that_are_not_allowed(place, task, how: dict, message: str) -> None:
    place(small_tasks.ptb(**{} if how else {"valid": " \n "}), lambda: None)
    with pytest.raises(ValueError, match=re.escape(message)):
        task(**{"sources": "ptb"} | how)
