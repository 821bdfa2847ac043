"""word2vec: the updates, one by one and all at once, what is drawn how often, and what it refuses.

That it computes what the authors' code computes is tested in tests/reference/test_official.py.
"""

import copy
import math
from functools import partial

import numpy as np
import pytest
import torch
from reference.official_word2vec import update_one_by_one
from support.far_device import FAR, assert_equal, run, run_far
from support.helpers import drawn, refusals, relative_error
from torch import tensor

from rtx_lib.models import word2vec
from rtx_lib.tasks.skipgram import SkipGrams

pytestmark = pytest.mark.usefixtures("double")

V, D = 9, 4
WORDS = tensor([[1, 2, 3], [4, 1, 0]])  # (B, T)
OTHERS = tensor([[5, 1, 7, 5], [0, 8, 2, 6]])  # (B, J)
Y = tensor([[[1, 0, -0.5, 1], [0, 1, -1, -1], [0, 0, 0, 0]], [[2, -1, 0, 1], [1, 1, 1, -3], [0, 1, -1, 0.0]]]).double()
KINDS = pytest.mark.parametrize("kind", ["skip-gram", "cbow"])


def build(kind="skip-gram", seed=0, vocabulary=V, width=D):
    model = drawn(seed, partial(word2vec.Word2Vec, kind=kind), vocabulary, width)
    with torch.no_grad():
        model.outputs.normal_()
        model.inputs.normal_()
    return model


def labels(kind):
    return Y if kind == "skip-gram" else Y[:, :1]


@KINDS
def test_all_at_once_is_a_step_down_the_gradient(kind):
    """Of the summed loss; in CBOW the words around get what the mean gets, three times the gradient here."""
    model = build(kind)
    before = copy.deepcopy(model)
    loss = word2vec.negative_sampling_loss(before((WORDS, OTHERS))[0], labels(kind)).sum()
    of_in, of_out = torch.autograd.grad(loss, [before.inputs, before.outputs])
    assert model.update((WORDS, OTHERS), labels(kind), 0.1).item() == pytest.approx(loss.item(), rel=1e-12)
    times = 3 if kind == "cbow" else 1
    assert relative_error(model.inputs, before.inputs - 0.1 * times * of_in) < 1e-12
    assert relative_error(model.outputs, before.outputs - 0.1 * of_out) < 1e-12


@KINDS
def test_where_no_word_comes_twice_both_ways_are_one(kind):
    """For several pairs, too."""
    words, others = tensor([[0], [1]]), tensor([[2, 3, 4], [5, 6, 7]])
    y = tensor([1.0, -1, -1]).expand(2, 1, 3)
    once, loop = build(kind), build(kind)
    once.update((words, others), y, 0.5)
    update_one_by_one(loop, (words, others), y, 0.5)
    assert relative_error(once.inputs, loop.inputs) < 1e-14 and relative_error(once.outputs, loop.outputs) < 1e-14


@KINDS
def test_what_does_not_count_changes_nothing(kind):
    """A score whose y is 0, another one besides it, and a row of them; twice the weight is the pair twice."""
    model = build(kind)
    many, y = copy.deepcopy(model), labels(kind)
    model.update((WORDS, OTHERS), y, 0.1)
    words = torch.cat([WORDS, WORDS[:1]])
    others = torch.cat([torch.cat([OTHERS, OTHERS[:1]]), torch.zeros(3, 2, dtype=torch.int64)], 1)
    wide = torch.zeros(3, y.shape[1], 6)
    wide[:2, :, :4] = y
    many.update((words, others), wide, 0.1)
    assert relative_error(many.inputs, model.inputs) < 1e-14 and relative_error(many.outputs, model.outputs) < 1e-14
    double, twice = build(kind), build(kind)
    double.update((WORDS, OTHERS), 2 * y, 0.1)
    twice.update((WORDS.repeat(2, 1), OTHERS.repeat(2, 1)), y.repeat(2, 1, 1), 0.1)
    assert relative_error(double.inputs, twice.inputs) < 1e-12


def test_start_and_seed():
    one, same, other = (drawn(seed, word2vec.Word2Vec, 500, 8) for seed in (1, 1, 2))
    assert torch.equal(one.inputs, same.inputs) and not torch.equal(one.inputs, other.inputs)
    assert 0.49 / 8 < one.inputs.max() <= 0.5 / 8 and -0.5 / 8 <= one.inputs.min() < -0.49 / 8
    assert not one.outputs.any()
    # So that a pair with five noise words costs six coins at first.
    scores = one((WORDS, OTHERS))[0]
    assert word2vec.negative_sampling_loss(scores, torch.ones_like(scores)).mean().item() == pytest.approx(math.log(2))


@KINDS
def test_shapes_types_and_devices(kind):
    model, steps = build(kind), 3 if kind == "skip-gram" else 1
    y, state = model((WORDS, OTHERS))
    assert y.shape == (2, steps, 4) and y.dtype == torch.float64 and state is None
    assert relative_error(model((WORDS[1:], OTHERS[1:]))[0], y[1:]) < 1e-14
    assert torch.equal(model((WORDS.int(), OTHERS.int()))[0], y)
    for dtype, bound in ((torch.float32, 1e-5), (torch.bfloat16, 0.1)):
        low = copy.deepcopy(model).to(dtype)
        assert low((WORDS, OTHERS))[0].dtype == dtype and relative_error(low((WORDS, OTHERS))[0].double(), y) < bound
        low.update((WORDS, OTHERS), labels(kind).to(dtype), 0.1)
    single = copy.deepcopy(model).float()
    with torch.autocast("cpu", torch.bfloat16):
        assert relative_error(single((WORDS, OTHERS))[0].double(), y) < 0.1
    assert_equal(run_far(single, (WORDS, OTHERS)), run(single, (WORDS, OTHERS)))
    assert copy.deepcopy(model).to(FAR)((WORDS.to(FAR), OTHERS.to(FAR)))[0].shape == (2, steps, 4)


def test_a_sentence_is_the_mean_of_its_words():
    model = build()
    found = model.sentences([tensor([1, 2, 2]), tensor([], dtype=torch.int64), tensor([8])])
    expected = [(model.inputs[1] + 2 * model.inputs[2]) / 3, torch.zeros(D), model.inputs[8]]
    assert relative_error(found, torch.stack(expected)) < 1e-14
    assert model.sentences([tensor([], dtype=torch.int64)]).tolist() == [[0.0] * D]
    assert model.sentences([]).shape == (0, D)


COUNTS = tensor([500, 300, 150, 49, 1])


def test_the_table_draws_the_noise():
    table = word2vec.cumulative_table(COUNTS)
    assert table[-1] == 2**31 - 1 and table.dtype == torch.int64
    share = table.diff(prepend=tensor([0])) / table[-1]
    assert (share - word2vec.noise_distribution(COUNTS)).abs().max() < 1e-9
    assert word2vec.cumulative_table(tensor([1, 0, 3, 0])).diff().tolist()[::2] == [0, 0]  # never drawn


PAIRS = [[2 * k, 2 * k + 1] * 3 for k in range(10)] * 20  # ten pairs of words that stand together only


def fitted(seed=0, size=2, passes=6, **how):
    text = SkipGrams(PAIRS, 20, window=1, noise=word2vec.cumulative_table, length=16)
    model = drawn(seed, word2vec.Word2Vec, 20, 8).float()
    return model, word2vec.fit_word2vec(
        model, text.passes(passes, size, generator=torch.Generator().manual_seed(seed)), **how
    )


def test_the_same_seed_trains_the_same():
    (one, curve), (same, again), (other, _) = fitted(1, passes=1), fitted(1, passes=1), fitted(2, passes=1)
    assert torch.equal(one.inputs, same.inputs) and curve == again and not torch.equal(one.inputs, other.inputs)


def test_the_rate_falls_to_a_ten_thousandth():
    """As the step on a pair that costs the same each time."""
    sizes = []
    for done in (0.0, 0.5, 0.99999, 1.0):
        model, before = build(), build()
        word2vec.fit_word2vec(model, [(done, (WORDS, OTHERS), Y)], 0.1)
        sizes.append((model.outputs - before.outputs).abs().max().item())
    assert np.array(sizes) / sizes[0] == pytest.approx([1, 0.5, 1e-4, 1e-4])


def test_no_vector_moves_further_than_the_limit():
    """One that would not is not held up, and the direction stays."""
    free, held, before = build(), build(), build()
    free.update((WORDS, OTHERS), Y, 0.1)
    held.update((WORDS, OTHERS), Y, 0.1, limit=0.15)
    for ours, theirs, start in zip(held.parameters(), free.parameters(), before.parameters(), strict=True):
        moved, wanted = ours - start, theirs - start
        long = wanted.norm(dim=1) > 0.15
        assert long.any() and not long.all()
        assert relative_error(moved[~long], wanted[~long]) < 1e-14
        assert relative_error(moved[long], 0.15 * torch.nn.functional.normalize(wanted[long], dim=1)) < 1e-12


def test_too_long_steps_are_held_or_named():
    """Batches of 3,200 words of a vocabulary of 20, which without a limit diverge."""
    _, curve = fitted(size=200, lr=1.0)
    assert np.isfinite([loss for _, loss in curve]).all()
    with pytest.raises(ArithmeticError, match=r"loss is (nan|inf) after \d+ batches; set a limit"):
        fitted(size=200, lr=1e6, passes=9, limit=None)


REFUSED = {
    "words must hold ids from 0 to 8, got -1": lambda m: m.update((WORDS - 1, OTHERS), Y, 0.1),
    r"others must have shape \(1, J\), got \(2, 4\)": lambda m: m((WORDS[:1], OTHERS)),
    "state must be None.* got tuple": lambda m: m((WORDS, OTHERS), (None,)),
    r"y must have shape \(2, 3, 4\), got \(2, 1, 4\)": lambda m: m.update((WORDS, OTHERS), Y[:, :1], 0.1),
    "limit must be above 0 or None, got -1.0": lambda m: word2vec.fit_word2vec(m, [], limit=-1.0),
    "rule must be one of .* got 'gensim'": lambda m: word2vec.keep_probability(COUNTS, rule="gensim"),
    "counts must be": lambda m: word2vec.cumulative_table(COUNTS * 0),
    r"counts must be .* got '\[-500": lambda m: word2vec.noise_distribution(-COUNTS),
}


test_what_is_refused = refusals(REFUSED, build)
