"""The tests of the second assignment, beside `decoder.py`."""

import ast
import inspect
import random
from collections import Counter
from itertools import pairwise

import decoder
import pytest
import torch
import torch.nn.functional as F

from rtx_book.checks.grading import limited, seeds
from rtx_lib.tasks.byte_pairs import join


@pytest.fixture(params=seeds())
def text(request):
    """A text in which some pairs are frequent, with letters of one to four bytes."""
    rng = random.Random(request.param)
    words = ["".join(rng.choices("aabcdé☃𝄞", k=rng.randint(1, 6))) for _ in range(9)]
    return " ".join(rng.choices(words, k=80))


def test_each_merge_is_the_most_frequent_pair_of_its_turn(text):
    with limited():
        merges = decoder.learn(text, 30)
    pieces = [bytes([byte]) for byte in text.encode()]
    for pair in merges:
        counts = Counter(pairwise(pieces))
        assert pair == min(counts, key=lambda one: (-counts[one], one)), (
            f"after {len(pieces)} pieces"
        )
        pieces = join(pieces, pair)
    assert len(merges) == 30
    with limited():
        assert decoder.encode(text, merges) == pieces
        assert decoder.learn("aab", 9) == [(b"a", b"a"), (b"aa", b"b")]


def test_every_text_comes_back(text):
    with limited():
        merges = decoder.learn(text, 20)
        for other in ("", "x", text, text[::-1], "never seen: ½ 猫 \x00\n"):
            pieces = decoder.encode(other, merges)
            assert (
                b"".join(pieces) == other.encode() and decoder.decode(pieces) == other
            )
        assert (
            len(decoder.encode(text, merges))
            < len(decoder.encode(text, merges[:5]))
            < len(text.encode())
        )


@pytest.fixture(params=seeds())
def model(request):
    """A decoder in float64 with weights that are no start's, and ids for it."""
    names = {
        getattr(node, "attr", getattr(node, "id", ""))
        for node in ast.walk(ast.parse(inspect.getsource(decoder)))
    }
    banned = {
        name
        for name in names
        if "Transformer" in name
        or name.lower() in ("multiheadattention", "scaled_dot_product_attention")
    }
    assert not banned and "rtx_lib" not in inspect.getsource(decoder), (
        f"to be written, not taken: {banned}"
    )
    assert len(inspect.getsource(decoder).splitlines()) < 250
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(request.param)
        model = decoder.Decoder(13, 24, 3, 2, 40).double().eval()
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter, std=0.3)
        return model, torch.randint(13, (2, 17))


@torch.no_grad()
def test_three_pieces_with_the_cache_give_what_the_whole_gives(model):
    model, ids = model
    whole, cache, out = model(ids)[0], None, []
    for piece in ids.split([9, 1, 7], 1):
        logits, cache = model(piece, cache)
        out.append(logits)
    assert whole.shape == (2, 17, 13)
    torch.testing.assert_close(torch.cat(out, 1), whole, rtol=1e-9, atol=1e-9)


@torch.no_grad()
def test_no_place_hears_of_a_later_one_and_the_last_hears_of_all_in_their_order(model):
    model, ids = model
    whole = model(ids)[0]
    for place in range(17):
        other = ids.clone()
        other[:, place] = (ids[:, place] + 1) % 13
        changed = (model(other)[0] - whole).abs().amax((0, 2)) > 1e-9
        assert not changed[:place].any() and changed[place] and changed[-1], (
            f"where the id at {place} is another"
        )
    ids[:, :2] = torch.tensor([3, 5])
    assert not torch.allclose(
        model(ids)[0][:, -1],
        model(torch.cat([ids[:, :2].flip(1), ids[:, 2:]], 1))[0][:, -1],
    )


@pytest.mark.parametrize("seed", seeds()[-1:])
def test_it_learns_to_copy_from_ten_places_back(seed):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = decoder.Decoder(8, 32, 2, 2, 20)
        optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
        for _ in range(200):
            ids = torch.randint(8, (32, 10)).repeat(1, 2)
            loss = F.cross_entropy(
                model(ids[:, :-1])[0][:, 9:].flatten(0, 1), ids[:, 10:].flatten()
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert loss < 0.2, f"{loss:.2f} nats, and guessing costs 2.08"
