"""Words in documents: stop words by their rule, topics of words, and counts with back-off and a cache."""

import pytest
import torch

from rtx_lib.tasks import topics
from rtx_lib.tasks.topics import TopicText, recent_shares, witten_bell


@pytest.fixture(scope="module")
def world():
    return TopicText("small_world", words=2_000, watched=6)


def test_a_stop_word_is_one_that_many_documents_hold(world):
    train = world.documents["train"]
    for number in range(5, 60):
        share = sum(number in {*document} for document in train) / len(train)
        assert (number in world.stop_words) == (share >= topics.STOPS)
    assert "the" in {world.words[number] for number in world.stop_words} and len(world.stop_words) < 12


def test_lda_finds_the_four_topics_of_the_generated_language(world):
    """Of test documents, of which it read none: those of one topic are told by one and the same."""
    t = world.word_topics(4)
    assert torch.equal(t, world.word_topics(4)) and torch.allclose(t.sum(1), torch.ones(len(t)))
    assert torch.equal(t[world.stop_words[0]], torch.full((4,), 0.25)) and (t > 0).all()
    sure = [t[document].log().sum(0).softmax(0).max() > 0.9 for document in world.documents["test"]]
    assert sum(sure) / len(sure) > 0.9


def test_in_training_it_is_told_the_next_words_and_elsewhere_not():
    told = TopicText("small_world", words=2_000, told=True)
    (x, y), label = next(told.stream("train", 2, 5))
    assert torch.equal(y, label) and torch.equal(x[:, 1:], y[:, :-1])
    assert isinstance(next(told.stream("valid", 2, 5))[0], torch.Tensor)
    assert told.loss(torch.arange(10.0).view(2, 5), label) == -4.5


def test_means_of_groups_add_up_to_the_loss(world):
    y = torch.arange(24).view(2, 12) % world.vocabulary
    rows = torch.randn(2, 12, world.vocabulary, generator=torch.Generator().manual_seed(0))
    found = world.finish(world.metrics(rows, y))
    total = sum(found[name] * found[f"share of {name}"] for name in ("stop words", "other words"))
    assert total == pytest.approx(found["loss"]) and found["perplexity"] == pytest.approx(torch.tensor(total).exp())
    assert sum(name.startswith("word ") for name in found) == 5  # there are but two stop words


def test_counts_with_back_off_by_hand():
    """Of a b a c a b: 2 of 3 a are followed by b, after 2 different ids."""
    p = witten_bell([0, 1, 0, 2, 0, 1], [0, 1], 4, order=2)
    below = (2 + 3 * 0.25) / (6 + 3)
    assert p == [pytest.approx((2 + 2 * below) / (3 + 2))]


def test_counts_with_back_off_are_a_distribution():
    train, text = torch.randint(6, (2, 40), generator=torch.Generator().manual_seed(0)).tolist()
    for before in (text[:1], text[:2], [7]):
        assert sum(witten_bell(train, [*before, w], 8, order=3)[-1] for w in range(8)) == pytest.approx(1)


def test_the_cache_holds_what_came_before_alone():
    assert recent_shares([3, 3, 1, 3, 1], recent=2) == [1, 0, 0.5, 0.5]


def test_baselines_rank_as_they_should(world):
    found = world.baselines()
    assert list(found) == sorted(found, key=found.get, reverse=True)
