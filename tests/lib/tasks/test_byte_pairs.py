"""Byte pairs: there and back, and the same merges, words and ids as in Hugging Face's `tokenizers`."""

import json
import re
import unicodedata

import numpy as np
import pytest

from rtx_lib.tasks import BytePairs, CharacterText, GPTPieces, byte_pairs
from rtx_lib.tasks.files import fetch

tokenizers = pytest.importorskip("tokenizers")
LEVEL = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
SHOWN = {piece[0]: sign for piece, sign in zip(byte_pairs.BYTES, sorted(LEVEL.alphabet()), strict=True)}
TANGLED = ["a", "ab", "abc", "a b", "aé1", "x' \n"]  # alphabets with many ties, and pairs of equal pieces


def shown(piece):
    """A piece as `tokenizers` writes it: a character for each byte."""
    return "".join(SHOWN[byte] for byte in piece)


def theirs(text, merges):
    """A byte-level BPE of theirs, trained on the text."""
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = LEVEL
    given = {"initial_alphabet": LEVEL.alphabet(), "show_progress": False}
    made.train_from_iterator([text], tokenizers.trainers.BpeTrainer(vocab_size=256 + merges, **given))
    return made


def same(text, merges):
    """Whether merges, pieces of the text and ids of its beginning are theirs."""
    ours, made = BytePairs.learn(text, merges), theirs(text, merges)
    learned = [tuple(pair) for pair in json.loads(made.to_str())["model"]["merges"]]
    return (
        [(shown(first), shown(second)) for first, second in ours.merges] == learned
        and [*map(shown, ours.pieces(text))] == made.encode(text).tokens
        and ours.encode(text[:5000]) == made.encode(text[:5000]).ids
    )


def whole(source):
    task = CharacterText(source)
    return "".join(task.decode(task.splits.finite(split)) for split in ("train", "valid"))


@pytest.mark.slow
@pytest.mark.parametrize("source", [pytest.param("shakespeare", marks=pytest.mark.data("shakespeare")), "pydoc"])
def test_merges_and_pieces_of_two_texts_are_theirs(source):
    assert same(whole(source), 1000)


def tangles(count):
    draw = np.random.default_rng(0)
    for _ in range(count):
        letters = [*draw.choice(TANGLED)]
        yield "".join(draw.choice(letters, draw.integers(2, 200))), int(draw.integers(1, 40))


def test_ties_and_runs_of_one_letter_are_broken_as_theirs():
    assert all(same(*case) for case in tangles(60))


@pytest.mark.slow
def test_words_are_cut_as_theirs_behind_every_assigned_character():
    every = [sign for sign in map(chr, range(0x110000)) if unicodedata.category(sign) not in ("Cn", "Cs", "Co")]
    for start in range(0, len(every), 20_000):
        text = "".join(f"a{sign}1{sign}.{sign}  {sign}" for sign in every[start : start + 20_000])
        ends = np.cumsum([*map(len, byte_pairs.split(text))]).tolist()
        assert ends == [end for _, (_, end) in LEVEL.pre_tokenize_str(text)] and ends[-1] == len(text)


def test_a_hundred_thousand_texts_of_all_scripts_come_back():
    draw = np.random.default_rng(1)
    points = np.r_[0:0xD800, 0xE000:0x110000]
    near = draw.choice(points[:0x2000], (50_000, 1)), draw.choice(points, (50_000, 1))
    signs = np.concatenate(near) + draw.integers(-40, 40, (100_000, 8))
    signs = np.where(draw.random(signs.shape) < 0.3, draw.integers(9, 127, signs.shape), signs)
    signs = np.where(np.isin(signs, points), signs, 0x1F600)
    pairs = BytePairs.learn("наш 你好 'll ll  1984 déjà\n" * 3, 40)
    for row, length in zip(signs, draw.integers(0, 9, 100_000), strict=True):
        text = "".join(map(chr, row[:length]))
        assert pairs.decode(pairs.encode(text)) == text


def test_what_is_no_character_is_shown_as_such_and_no_more_is_learned_than_there_is():
    pairs = BytePairs.learn({"abab": 2, "ab": 0}, 9)
    assert pairs.merges == [(b"a", b"b"), (b"ab", b"ab")] and pairs.decode(pairs.encode("é")[:1]) == "�"
    with pytest.raises(ValueError, match="merges must be"):
        BytePairs.learn("ab", 0)


@pytest.mark.data("gpt_bpe", "shakespeare")
def test_ids_of_gpt_are_theirs():
    lines = fetch("tinyshakespeare.txt").read_text().lower().split("\n")
    lines = [" ".join(re.findall(r"[a-z]+|[^\sa-z]+", line)) for line in lines if line][:1000]
    ours = GPTPieces()
    ids = {piece: number for number, piece in enumerate(ours.vocabulary)}
    bpe = tokenizers.models.BPE(ids, ours.merges, unk_token="<unk>", end_of_word_suffix="</w>")
    made = tokenizers.Tokenizer(bpe)
    made.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    assert [ours.encode(line) for line in lines] == [made.encode(line).ids for line in lines]
    assert all(ours.decode(ours.encode(line)) == line for line in lines) and len(ours.vocabulary) == 40_478
    assert ours.encode("中") == [0]
