"""Scenes: captions read off the layout a second way, splits that share neither handwriting nor layout, metrics."""

import pytest
import torch
from support.helpers import refusals

from rtx_lib.tasks import Scenes
from rtx_lib.tasks.scenes import MARGIN, PICTURE, SIDES


@pytest.fixture(scope="module")
def task():
    return Scenes()


def said(digits):
    """The caption of [(value, side, left, top)], by pairs: who comes before all others is named first."""
    centres = {one: (one[2] + one[1] / 2, one[3] + one[1] / 2) for one in digits}
    left, words = list(digits), []
    while left:
        one = next(o for o in left if all(sum(centres[o]) <= sum(centres[p]) for p in left))
        left.remove(one)
        words += ["a", "small" if one[1] == SIDES[0] else "big", Scenes.words[8 + one[0]]]
        if left:
            after = min(left, key=lambda p: sum(centres[p]))
            across, down = (b - a for a, b in zip(centres[one], centres[after], strict=True))
            words.append("left of" if across > down else "above")
    return " ".join(words)


def rows(task, split, count=400):
    if split == "train":
        return task._draw(count, torch.Generator().manual_seed(0))
    return tuple(part[:count] for part in task.splits.finite(split))


@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_captions_say_what_lies_where(task, split):
    images, sizes, places, counts = rows(task, split)
    (_, target), y = task._lay_out(images, sizes, places, counts)
    assert (target[:, 0] == task.start).all() and target[:, 1:].equal(y[:, :-1])
    for i in range(100):
        lie = zip(images[i], sizes[i], places[i].tolist(), strict=True)
        digits = [(int(task._digits[image]), SIDES[size], *place) for image, size, place in [*lie][: counts[i]]]
        assert task.decode(y[i]) == said(digits)
        boxes = torch.zeros(PICTURE, PICTURE)
        for _, side, x, top in digits:
            boxes[top : top + side, x : x + side] += 1
        assert boxes.max() == 1 and boxes.sum() == sum(side**2 for _, side, *_ in digits)


def test_no_handwriting_and_no_layout_is_in_two_splits(task):
    parts = {split: rows(task, split) for split in ("train", "valid", "test")}
    pairs = (zip(images, counts, strict=True) for images, _, _, counts in parts.values())
    used = [{int(image) for row, count in own for image in row[:count]} for own in pairs]
    assert len(set.union(*used)) == sum(map(len, used))
    for split, (_, _, places, counts) in parts.items():
        sums = [int(places[i, : counts[i]].sum()) % 5 for i in range(len(counts))]
        assert all((rest == 0) == (split != "train") for rest in sums)


def test_a_scene_of_ones_own(task):
    (picture, target), y = task.scene([(7, "big", 15, 2), (3, "small", 2, 4), (2, "big", 14, 16)])
    assert task.decode(y[0]) == "a small three left of a big seven above a big two" and picture.shape == (1, 28, 28)
    assert (picture[0, 4:12, 2:10] > 0).any() and not (picture[0, 12:, :14] > 0).any() and target.shape == y.shape
    one, _ = task.scene([(3, "small", 2, 4)])
    assert (picture[0, 4:12, 2:10]).equal(one[0][0, 4:12, 2:10]) and one[0].sum() == one[0][0, 4:12, 2:10].sum()


def test_metrics_count_words_and_whole_captions(task):
    _, y = next(task.batches("valid", 40))
    logits = torch.nn.functional.one_hot(y, task.output_size).double() * 20
    assert task.metrics(logits, y) == {"loss": pytest.approx(0, abs=1e-6), "accuracy": 1, "exact": 1}
    logits[:, 2] = 0  # the first digit's value: then padding is likeliest
    length = (y != 0).sum(1)
    found = task.metrics(logits, y)
    assert found["exact"] == 0 and found["accuracy"] == pytest.approx((1 - 1 / length).mean().item())
    assert task.loss(logits, y) > 0 and task.loss_weight(y) == length.sum()


def test_each_word_apart_where_the_number_is_fixed():
    task = Scenes((3, 3))
    (x, _), y = next(task.batches("test", 50))
    logits = torch.nn.functional.one_hot(torch.full_like(y, 3), task.output_size).double()  # always "a"
    found = task.metrics(logits, y)
    assert [found[f"word {t}"] for t in range(1, 13)] == [1, 0, 0, 0] * 3 and found["accuracy"] == 0.25
    told = task.baselines()
    assert told["commonest word word 1"] == 1 and told["commonest word exact"] < 0.01 < MARGIN
    assert 0.5 < told["commonest word"] < 0.6 and x.shape == (50, PICTURE, PICTURE)


test_refusals = refusals(
    {
        r"count\[1\] must be .*got 4": lambda: Scenes((2, 4)),
        r"count\[0\] must be .*got 0": lambda: Scenes((0, 3)),
        "digits must .*got 10": lambda: Scenes().scene([(10, "big", 0, 0)]),
    }
)
