"""Losses against context, position and memory: against closed forms and loops, on models whose reach is known."""

import math
from functools import partial

import pytest
import torch
from support.helpers import refusals, relative_error
from support.small_transformers import small_xl
from torch import nn

from rtx_lib.diagnostics.context import (
    context_losses,
    gain_per_position,
    loss_against_memory,
    loss_by_position,
    relative_effective_context_length,
    relative_gain,
    stream_losses,
)
from rtx_lib.layers import LSTM, Readout
from rtx_lib.models.transformer import CausalTransformer
from rtx_lib.tasks.windows import streams

pytestmark = pytest.mark.usefixtures("double")
V = 6


class Bigram(nn.Module):
    """p(b | a) from a table (V, V); gives log-probabilities and no state, and notes how it was called."""

    def __init__(self, table):
        super().__init__()
        self.log_p, self.calls = nn.Parameter(table.log()), []

    def forward(self, x, state=None):
        self.calls.append((tuple(x.shape), self.training, torch.is_grad_enabled()))
        return self.log_p[x], None


class Reach(nn.Module):
    """Its certainty grows with every token it sees, up to `reach` of them: p(id 0) = floor + step * min(seen, reach).

    The state, if it keeps one, is how many tokens it has seen before.
    """

    def __init__(self, reach, *, keeps=True, floor=0.2, step=0.05):
        super().__init__()
        self.reach, self.keeps, self.floor, self.step = reach, keeps, floor, step

    def p(self, seen):
        return self.floor + self.step * min(seen, self.reach)

    def forward(self, x, state=None):
        before = state or 0
        p = torch.tensor([self.p(before + 1 + s) for s in range(x.shape[1])])
        y = torch.stack([p, *[(1 - p) / (V - 1)] * (V - 1)], dim=-1).log()
        return y.expand(len(x), -1, -1), before + x.shape[1] if self.keeps else None


def make(name, memory=64):
    torch.manual_seed(0)
    if name == "lstm":
        return Readout(LSTM(6, 8), V, vocabulary=V)
    if name == "transformer":
        return CausalTransformer(V, V, width=8, heads=2, layers=2, dropout=0.5, vocabulary=V)
    return small_xl(vocabulary=V, memory=memory, dropout=0.5)


def text(length=80, seed=1):
    return torch.randint(V, (length,), generator=torch.Generator().manual_seed(seed))


def table():
    return torch.rand(V, V, generator=torch.Generator().manual_seed(2)).add(0.1).softmax(1)


@torch.no_grad()
def loop_losses(model, ids, contexts, targets):
    """One window at a time, in one pass."""
    model.eval()
    y = [[model(ids[t - c : t][None])[0][0, -1].log_softmax(-1)[ids[t]] for t in targets.tolist()] for c in contexts]
    model.train()
    return -torch.tensor(y)


def loop_gains(losses, c, wider, share):
    """The definition in plain Python: name -> g."""
    names, tokens = list(losses), range(len(next(iter(losses.values()))[0]))
    l = {name: losses[name].tolist() for name in names}  # noqa: E741
    b = [min(l[name][c][t] for name in names) for t in tokens]
    chosen = sorted(tokens, key=lambda t: (-b[t], t))[: max(1, round(share * len(b)))]

    def perplexity(name, row):
        return math.exp(sum(min(b[t], l[name][row][t]) for t in chosen) / len(chosen))

    return {name: (perplexity(name, c) - perplexity(name, wider)) / perplexity(name, c) for name in names}


# ---- context_losses


def test_a_bigram_model_loses_what_its_table_says_with_any_context():
    p, ids, targets = table(), text(), torch.tensor([30, 12, 79, 12, 41])
    targets = targets.repeat(14)  # more than are done at once
    model = Bigram(p)
    losses = context_losses(model, ids, [1, 5, 12], targets)
    expected = [-math.log(p[ids[t - 1], ids[t]]) for t in targets.tolist()]
    assert losses.dtype == torch.float64
    assert relative_error(losses, torch.tensor([expected] * 3)) < 1e-14
    assert [shape for shape, _, _ in model.calls[:3]] == [(64, 1), (6, 1), (64, 5)]


@pytest.mark.parametrize("name", ["lstm", "transformer", "xl"])
def test_the_window_is_exactly_the_context_and_pieces_give_what_the_whole_gives(name):
    model, ids, contexts = make(name), text(), [7, 1, 16]
    targets = torch.tensor([16, 79, 33])
    expected = loop_losses(model, ids, contexts, targets)
    assert (expected[0] - expected[2]).abs().max() > 1e-6  # the context matters
    for options in ({}, {"segment": 4}, {"segment": 5}, {"segment": 1}, {"segment": 99}):
        assert relative_error(context_losses(model, ids, contexts, targets, **options), expected) < 1e-10
    assert model.training


def test_ids_of_another_type_and_a_model_of_another_precision_are_taken():
    ids, targets, model = text(), torch.arange(20, 30), Bigram(table()).float()
    expected = context_losses(Bigram(model.log_p.detach().double().softmax(1)), ids, [2], targets)
    got = context_losses(model, ids.to(torch.uint8), (2,), targets.int())
    assert got.dtype == torch.float64 and relative_error(got, expected) < 1e-14  # float64 from the logits on


def test_the_model_runs_in_eval_mode_without_gradients_and_each_part_gets_its_mode_back():
    model = nn.Module()
    bigram = Bigram(table())
    model.bigram, model.still = bigram, nn.Dropout().eval()
    model.forward = bigram.forward
    context_losses(model, text(), [3], torch.tensor([9]))
    loss_by_position(model, streams(text(), 2, 5, "test"))
    assert model.training and bigram.training and not model.still.training
    assert not any(training or gradient for _, training, gradient in bigram.calls)
    with pytest.raises(IndexError):
        context_losses(model, torch.tensor([0, 9, 1]), [2], torch.tensor([2]))  # the table has no row 9
    assert model.training and bigram.training and not model.still.training and torch.is_grad_enabled()


# ---- loss_by_position and loss_against_memory


def test_loss_by_position_of_a_bigram_model_in_closed_form():
    p, ids = table(), text(61)
    model, rows = Bigram(p), ids[:60].view(3, 20)
    follows = ids[1:].view(3, 20)
    losses = -p[rows, follows].log().view(3, 4, 5)  # rows, pieces, places
    for skip in (0, 1, 3):
        got = loss_by_position(model, streams(ids, 3, 5, "test"), skip=skip)
        assert relative_error(got, losses[:, skip:].mean((0, 1))) < 1e-14


def test_the_state_is_carried_from_the_first_piece_on_even_where_it_is_not_counted():
    model, pieces = Reach(7), [(torch.zeros(2, 3).long(),) * 2] * 3

    def expected(*seen):
        return torch.tensor([[-math.log(model.p(n)) for n in row] for row in seen]).mean(0)

    assert relative_error(loss_by_position(model, pieces), expected([1, 2, 3], [4, 5, 6], [7, 8, 9])) < 1e-12
    assert relative_error(loss_by_position(model, pieces, skip=1), expected([4, 5, 6], [7, 8, 9])) < 1e-12
    assert relative_error(loss_by_position(Reach(7, keeps=False), pieces), expected([1, 2, 3])) < 1e-12


def test_loss_against_memory_runs_a_model_of_each_memory_and_puts_its_own_back():
    ids, model = text(81), make("xl", memory=3)
    losses = loss_against_memory(model, lambda: streams(ids, 2, 8, "test"), [0, 5, 40], skip=1)
    expected = [loss_by_position(make("xl", m), streams(ids, 2, 8, "test"), skip=1).mean() for m in (0, 5, 40)]
    assert relative_error(losses, torch.stack(expected)) < 1e-12
    assert len({round(loss, 9) for loss in losses.tolist()}) == 3
    assert model.memory == 3 and model.training


def test_the_memory_and_the_mode_are_restored_after_an_error():
    model = make("xl", memory=3)

    def pieces():
        yield from list(streams(text(), 2, 8, "test"))[:2]
        raise RuntimeError("the disk is gone")

    with pytest.raises(RuntimeError, match="the disk is gone"):
        loss_against_memory(model, pieces, [7, 9])
    assert model.memory == 3 and model.training and torch.is_grad_enabled()
    model.same_length = True
    with pytest.raises(ValueError, match="memory must be at least 1, got 0"):
        loss_against_memory(model, lambda: streams(text(), 2, 8, "test"), [2, 0])
    assert model.memory == 3


def test_gain_per_position():
    losses = torch.tensor([[3.0, 2.0, 1.5, 1.6], [3.0, 3.0, 3.0, 2.0]])
    expected = torch.tensor([[0.25, 0.0625, -0.005], [0.0, 0.0, 0.05]])
    assert relative_error(gain_per_position(losses, [0, 4, 12, 32]), expected) < 1e-14
    assert relative_error(gain_per_position(losses[0], range(0, 16, 4)), torch.tensor([0.25, 0.125, -0.025])) < 1e-14


# ---- relative gain and effective context length


def group(seed=3, names=("a", "b", "c"), contexts=4, tokens=40):
    generator = torch.Generator().manual_seed(seed)
    return {name: 3 * torch.rand(contexts, tokens, generator=generator) for name in names}


@pytest.mark.parametrize("share", [1.0, 0.5, 0.1, 0.001])
def test_relative_gain_is_the_definition_by_loops(share):
    losses = group()
    for c, wider in ((0, 1), (1, 3), (2, 2)):
        expected = loop_gains(losses, c, wider, share)
        got = relative_gain(losses, c, wider, share=share)
        assert list(got) == list(expected)
        assert got == pytest.approx(expected, rel=1e-12, abs=1e-15)
    if share == 1:
        others = [relative_gain(losses, 0, 1, share=0.1), relative_gain({"a": losses["a"]}, 0, 1)]
        assert all(abs(gains["a"] - relative_gain(losses, 0, 1)["a"]) > 1e-2 for gains in others)


def test_of_equally_hard_tokens_the_earlier_are_taken():
    short, wide = torch.ones(20), torch.ones(20)
    wide[:2] = 0.25
    assert relative_gain({"a": torch.stack([short, wide])}, 0, 1, share=0.1)["a"] == pytest.approx(1 - math.exp(-0.75))
    late = {"a": torch.stack([short, wide.flip(0)])}
    assert relative_gain(late, 0, 1, share=0.1)["a"] == 0


def test_a_wider_context_that_hurts_gains_nothing():
    (gain,) = relative_gain({"a": torch.stack([torch.ones(6), torch.full((6,), 2.0)])}, 0, 1).values()
    assert gain == 0 and math.copysign(1, gain) == 1  # no -0.0 on a page


@pytest.mark.parametrize(("reach", "expected"), [(6, 6), (7, 8), (2, 2), (1, 2), (30, 12)])
def test_a_model_that_looks_so_far_back_has_that_effective_context(reach, expected):
    ids, targets, contexts = torch.zeros(40).long(), torch.arange(12, 40), [2, 4, 6, 8, 10, 12]
    losses = context_losses(Reach(reach, step=0.02), ids, contexts, targets, segment=5)
    assert relative_effective_context_length({"toy": losses}, contexts) == {"toy": expected}


def ramp(*values):
    return torch.tensor(values)[:, None].expand(-1, 10)


def test_the_effective_context_length_stops_at_the_first_step_below_the_threshold():
    step = -math.log(1 - 0.01)  # whose gain is 0.01
    losses = {"a": ramp(2.0, 2 - 1.01 * step, 2 - 2.0 * step, 1.0)}
    assert relative_effective_context_length(losses, [10, 20, 30, 40]) == {"a": 20}  # though 30 to 40 gains again


def test_the_effective_context_length_belongs_to_the_group():
    slow, strong = ramp(3.0, 2.5, 2.0, 1.5), ramp(1.9, 1.9, 1.9, 1.9)
    contexts = [100, 200, 300, 400]
    assert relative_effective_context_length({"slow": slow}, contexts) == {"slow": 400}
    assert relative_effective_context_length({"slow": slow, "strong": strong}, contexts) == {"slow": 100, "strong": 100}
    later = {"slow": slow[2:], "strong": strong[2:]}  # from where slow beats the other
    assert relative_effective_context_length(later, [300, 400]) == {"slow": 400, "strong": 300}


def test_the_share_can_lengthen_the_effective_context():
    short = torch.ones(3, 20) * 0.5
    short[:, :2] = torch.tensor([3.0, 2.9, 2.8])[:, None]  # two hard tokens, which alone gain
    assert relative_effective_context_length({"a": short}, [5, 10, 15]) == {"a": 5}
    assert relative_effective_context_length({"a": short}, [5, 10, 15], share=0.1) == {"a": 15}


GOOD = {"ids": text(), "contexts": [2, 4], "targets": torch.tensor([9, 12])}
BAD = [  # refused before the model runs, which would raise a TypeError
    ({"ids": torch.zeros(2, 9).long()}, "ids must hold ids of shape"),
    ({"targets": torch.tensor([3, 9])}, "targets must not be before the longest of contexts, 4, got 3"),
    ({"targets": torch.tensor([12, 80])}, "targets must hold ids from 0 to 79, got 80"),
    ({"contexts": [4, 0]}, "contexts must be at least 1, got 0"),
    ({"segment": 0}, "segment must be at least 1, got 0"),
]


class Wrong(nn.Module):
    def __init__(self, result):
        super().__init__()
        self.forward = lambda x, state=None: result(x)


ODD = [
    (lambda x: torch.zeros(*x.shape, V), "the model's y must have shape"),
    (lambda x: (torch.zeros(len(x), 1, V), None), r"the model's y must have shape \(2, 4, V\), got \(2, 1, 6\)"),
    (lambda x: (torch.zeros(*x.shape, 2), None), "the symbols must hold ids from 0 to 1, got 4"),
]
ASKED = (
    lambda model: context_losses(model, torch.tensor([0, 1, 0, 1, 4, 4]), [4], torch.tensor([4, 5])),
    lambda model: loss_by_position(model, [(torch.zeros(2, 4).long(), torch.full((2, 4), 4))]),
)
GROUPS = [
    (group() | {"a": torch.ones(4)}, r"losses must have shape \(C, N\), got \(4,\)"),
    (group() | {"b": torch.full((4, 40), math.inf)}, "losses must be finite"),
]
GAINS = (lambda l: relative_gain(l, 0, 1), lambda l: relative_effective_context_length(l, [1, 2, 3, 4]))  # noqa: E741
PIECE, OTHER = (text(8).view(2, 4),) * 2, (text(6).view(2, 3),) * 2
STEPS = "contexts must be at least two lengths in equal steps upwards, one for each of the 4"

test_what_is_refused = refusals(
    [
        *((partial(ask, Wrong(result)), message) for ask in ASKED for result, message in ODD),
        *((partial(gain, losses), message) for gain in GAINS for losses, message in GROUPS),
        *((partial(context_losses, Wrong(None), **GOOD | change), message) for change, message in BAD),
        (lambda: loss_by_position(Bigram(table()), [(PIECE[0], OTHER[0])]), r"the symbols must have shape \(2, 4\)"),
        (lambda: loss_against_memory(make("xl"), lambda: [PIECE], [3, -1]), "memory must be at least 0, got -1"),
        (lambda: gain_per_position(torch.ones(2), [4, 4]), "memories must be at least two increasing lengths"),
        *((partial(relative_gain, group(), 0, c), "wider must be at least 0 and below 4") for c in (4, -1)),
        *((partial(relative_gain, group(), 0, 1, share=s), "share must be above 0 and at") for s in (0, 1.5, math.nan)),
        *((partial(relative_effective_context_length, group(), c), STEPS) for c in ([1, 2, 3], [1, 2, 4, 8])),
        (lambda: stream_losses(make("xl"), text(9)[:0], segment=3), "ids must hold ids of shape"),
        (lambda: stream_losses(make("xl"), text(9), segment=3, memory=-1), "memory must be at least 0, got -1"),
    ]
)


# ---- stream_losses


def test_losses_of_a_stream_are_those_of_its_pieces():
    model, ids = make("xl", memory=3), text(17)
    state, rows = None, []
    with torch.no_grad():
        for piece in ids[None].split(5, dim=1):
            y, state = model.eval()(piece, state)
            rows.append(y)
    wanted = nn.functional.cross_entropy(torch.cat(rows, 1)[0, :-1], ids[1:], reduction="none")
    found = stream_losses(model.train(), ids, segment=5)
    assert found[0] == 0 and relative_error(found[1:], wanted) < 1e-12 and model.training
    alone = [stream_losses(model, piece, segment=5)[1:] for piece in ids.split(5)]
    none = stream_losses(model, ids, segment=5, memory=0)
    assert all(relative_error(none[5 * n + 1 : 5 * n + 5], piece) < 1e-12 for n, piece in enumerate(alone))
    assert model.memory == 3
