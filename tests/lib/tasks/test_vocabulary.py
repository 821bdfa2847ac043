"""Words as ids."""

import torch
from support.helpers import refusals

from rtx_lib.tasks.vocabulary import SPECIAL, Vocabulary, expect_rows, pad_rows, trim

SENTENCES = [["The", "cat", "saw", "the", "<unk>"], ["a", "CAT", "[MASK]", "<unk>", "<unk>"]]


def test_the_most_frequent_words_come_first_and_equal_ones_in_the_order_of_the_alphabet() -> None:
    words = Vocabulary.of(SENTENCES, 100)
    assert words.words == (*SPECIAL, "cat", "the", "[mask]", "a", "saw")
    assert Vocabulary.of(SENTENCES, 7).words == (*SPECIAL, "cat", "the") and len(words) == 10
    assert words == Vocabulary.of(SENTENCES[::-1], 100) != Vocabulary.of(SENTENCES, 7)
    assert hash(words) == hash(Vocabulary(words.words))


def test_words_become_ids_and_back() -> None:
    words = Vocabulary.of(SENTENCES, 100)
    assert words.ids(["THE", "dog", "<unk>", "[MASK]"]) == [6, 1, 1, 7]  # a text has no mask, whatever is written there
    assert words.encode("the [MASK] saw <unk>").tolist() == [6, 4, 9, 1] and words.encode("x").dtype == torch.int64
    assert words.decode([2, 6, 5, 3, 0, 0]) == "[CLS] the cat [SEP]"
    assert (words.pad, words.unknown) == (0, 1) and words.require("[CLS]", "[SEP]", "[MASK]") == (2, 3, 4)


def test_rows_are_padded_and_trimmed() -> None:
    x = pad_rows([[5, 6, 7], [8]])
    assert x.tolist() == [[5, 6, 7], [8, 0, 0]] and x.dtype == torch.int32
    assert pad_rows([[1]], -100, 3).tolist() == [[1, -100, -100]]
    short, y = trim(x[1:], torch.tensor([[1, -100, -100]]))
    assert (short.tolist(), y.tolist()) == ([[8]], [[1]]) and short.dtype == y.dtype == torch.int64
    assert trim(x[1:], torch.tensor([4]))[1].tolist() == [4]


test_what_is_not_allowed = refusals(
    [
        (lambda: Vocabulary(["the"]), "words must begin with '[PAD]', '[UNK]', got ['the']"),
        (lambda: Vocabulary([*SPECIAL, "a", "b", "a"]), "words must differ, got 1 that stand there before"),
        (lambda: Vocabulary(SPECIAL).encode(" "), "text must hold a word, got ' '"),
        (lambda: Vocabulary(SPECIAL).decode([5]), "ids must hold ids from 0 to 4, got 5"),
        (lambda: expect_rows("rows", [[1], []], 5), "rows must hold ids of shape"),
        (lambda: expect_rows("rows", [[1, -1]], 5), "rows must hold ids from 0 to 4, got -1"),
    ],
    plain=True,
)
