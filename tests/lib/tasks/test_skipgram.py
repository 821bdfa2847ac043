"""Skip-gram's pairs: windows, subsampling and noise against loops, and what is refused."""

from collections import Counter

import pytest
import torch
from support.compare import generator
from support.helpers import refusals
from torch import tensor

from rtx_lib.tasks.skipgram import SkipGrams

TEXT = [[1, 2, 3, 4, 1, 5, 2, 6], [], [7], [6, 7], [0, 8, 1, 8, 2]]
V = 9


def together(text, window, radius=None):
    """How often each pair (centre, other) stands together, by a loop; the radius of all windows, or the largest."""
    pairs = Counter()
    for sentence in text:
        for i, centre in enumerate(sentence):
            for j, other in enumerate(sentence):
                if i != j and abs(i - j) <= (radius or window):
                    pairs[centre, other] += 1
    return pairs


def met(text, passes=1, size=2, seed=0):
    """The pairs with y = 1 in so many passes, with how often, and the centres that had a pair."""
    pairs = Counter()
    for _, (centres, others), y in text.passes(passes, size, generator=generator(seed)):
        for b, t, j in (y == 1).nonzero().tolist():
            pairs[centres[b, t].item(), others[b, j].item()] += 1
    return pairs


@pytest.mark.parametrize("length", [1, 3, 100])
def test_windows_of_one_word(length):
    """The same pairs in every pass, whatever rows the text is cut into, and none across two sentences."""
    text = SkipGrams(TEXT, V, window=1, length=length)
    for seed in range(3):
        assert met(text, seed=seed) == together(TEXT, 1)
    assert met(text, passes=4) == Counter({pair: 4 * count for pair, count in together(TEXT, 1).items()})


def test_near_words_count_more():
    """A pair d apart is met with probability (window - d + 1) / window."""
    text, passes = SkipGrams([[0, 1, 2, 3, 4, 5]], V, window=3, length=4), 1500
    found = met(text, passes, size=50)
    for (centre, other), count in found.items():
        expected = {1: 1, 2: 2 / 3, 3: 1 / 3}[abs(centre - other)]
        assert count / passes == pytest.approx(expected, abs=0.05)
    assert set(found) == set(together([[0, 1, 2, 3, 4, 5]], 3))


def test_a_window_is_as_wide_to_both_sides_and_drawn_for_each_word():
    text = SkipGrams([list(range(9))], V, window=4, length=9, shared=1)
    widths = set()
    for _, _, y in text.passes(200, generator=generator()):
        near = y[0, :, : 9 + 8] == 1
        for t, row in enumerate(near):
            distances = {j - 4 - t for j in row.nonzero()[:, 0].tolist()}
            radius = max(map(abs, distances))
            assert distances == {d for d in range(-radius, radius + 1) if d and 0 <= t + d < 9}
        widths.add(tuple(near.sum(1).tolist()))
    assert len(widths) > 150


def test_noise_counts_as_often_as_there_are_pairs():
    """Its weight is k / N for each word around; where it is the right word, that pair does not count."""
    text = SkipGrams(TEXT, V, window=3, negatives=5, shared=4, length=6)
    seen = False
    for _, (centres, others), y in text.passes(5, generator=generator()):
        assert centres.shape == (len(y), 6) and others.shape == (len(y), 6 + 2 * 3 + 4) and y.shape[2] == 16
        for b in range(len(y)):
            for t in range(6):
                around = [others[b, j].item() for j in range(12) if y[b, t, j] == 1]
                for j in range(12, 16):
                    counted = [word for word in around if word != others[b, j]]
                    seen |= len(counted) < len(around)
                    assert y[b, t, j].item() == pytest.approx(-5 / 4 * len(counted))
    assert seen


def test_noise_comes_from_the_table():
    table = tensor([0, 0, 10, 10, 40, 40, 40, 40, 100])
    drawn = Counter()
    text = SkipGrams(TEXT, V, noise=lambda counts: table, shared=50, length=4)
    for _, (_, others), _ in text.passes(200, generator=generator()):
        drawn.update(others[:, -50:].flatten().tolist())
    total = sum(drawn.values())
    assert {word: pytest.approx(count / total, abs=0.01) for word, count in drawn.items()} == {2: 0.1, 4: 0.3, 8: 0.6}
    assert SkipGrams(TEXT, V)._noise.tolist() == text.counts.cumsum(0).tolist()


def test_frequent_words_fall_out_and_windows_close():
    text = SkipGrams([[1, 0, 2], [3, 0, 0, 4]], V, window=1, keep=lambda counts: (counts < 3).float())
    assert met(text) == {(1, 2): 1, (2, 1): 1, (3, 4): 1, (4, 3): 1}
    half = SkipGrams([[0, 1]] * 500, V, window=1, keep=lambda counts: torch.full((V,), 0.5))
    assert sum(met(half, passes=4).values()) == pytest.approx(2 * 500 * 4 / 4, rel=0.1)
    gone = SkipGrams([[0, 1]], V, keep=lambda counts: torch.zeros(V))
    assert met(gone, passes=2) == {}


def test_what_is_no_word_is_left_out():
    text = SkipGrams([[1, 0, 2], [3, 8, 4, 0]], V, window=1, left_out=(0, 8))
    assert text.counts.tolist() == [0, 1, 1, 1, 1, 0, 0, 0, 0]
    assert met(text) == {(1, 2): 1, (2, 1): 1, (3, 4): 1, (4, 3): 1}
    assert not any((others[:, -16:] % 8 == 0).any() for _, (_, others), _ in text.passes(9, generator=generator()))


def test_passes_come_in_another_order_and_can_be_repeated():
    text = SkipGrams([[k, k + 1] for k in range(8)] * 3, V, length=4, window=2)
    runs = [list(text.passes(2, 5, generator=generator(seed))) for seed in (0, 0, 1)]
    first, *others = ([part for _, x, y in run for part in (*x, y)] for run in runs)
    same = [all(torch.equal(a, b) for a, b in zip(first, other, strict=True)) for other in others]
    assert same == [True, False]
    first, second = runs[0][:3], runs[0][3:]
    assert [len(y) for _, _, y in runs[0]] == [5, 5, 2] * 2
    assert not torch.equal(first[0][1][0], second[0][1][0])
    assert [done for done, *_ in runs[0]] == pytest.approx([0, 5 / 24, 10 / 24, 12 / 24, 17 / 24, 22 / 24])


test_bad_arguments = refusals(
    [
        (lambda: SkipGrams(TEXT, 8), "sentences must hold ids from 0 to 7, got 8"),
        (lambda: SkipGrams([[0, -1]], 8), "sentences must hold ids from 0 to 7, got -1"),
        (lambda: SkipGrams([[1], [2]], 8), "sentences must hold two words that stand together, got 2 words"),
        (lambda: SkipGrams([[1, 2, 1]], 8, left_out=(1,)), "sentences must hold two words .*, got 1 words"),
        (lambda: SkipGrams(TEXT, V, keep=lambda counts: counts[:3]), "keep must have shape \\(9,\\), got"),
        (lambda: SkipGrams(TEXT, V, noise=lambda counts: counts / 9), "noise must give whole numbers that rise"),
        (lambda: SkipGrams(TEXT, V, noise=lambda counts: -counts), "noise must give whole numbers that rise"),
        (lambda: next(SkipGrams(TEXT, V).passes(0, generator=generator())), "count must be at least 1"),
    ]
)
