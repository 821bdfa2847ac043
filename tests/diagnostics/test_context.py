"""Losses against context, position and memory: against closed forms and loops, on models whose reach is known."""

import math

import pytest
import torch
from support.helpers import relative_error
from support.small_transformers import small_xl
from torch import nn

from rtx_lib.diagnostics.context import (
    context_losses,
    gain_per_position,
    loss_against_memory,
    loss_by_position,
    relative_effective_context_length,
    relative_gain,
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


def loop_losses(model, ids, contexts, targets):
    """One window at a time in one pass, and -log of a softmax written out."""
    model.eval()
    rows = []
    for c in contexts:
        row = []
        for t in targets.tolist():
            y = model(ids[t - c : t][None])[0][0, -1].tolist()
            row.append(math.log(sum(math.exp(value) for value in y)) - y[ids[t]])
        rows.append(row)
    model.train()
    return torch.tensor(rows)


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
    model = Bigram(p)
    losses = context_losses(model, ids, [1, 5, 12], targets, batch=2)
    expected = [-math.log(p[ids[t - 1], ids[t]]) for t in targets.tolist()]
    assert losses.shape == (3, 5) and losses.dtype == torch.float64
    assert relative_error(losses, torch.tensor([expected] * 3)) < 1e-14
    assert [shape for shape, _, _ in model.calls[:3]] == [(2, 1), (2, 1), (1, 1)]


@pytest.mark.parametrize("name", ["lstm", "transformer", "xl"])
def test_the_window_is_exactly_the_context_and_pieces_give_what_the_whole_gives(name):
    model, ids, contexts = make(name), text(), [7, 1, 16]
    targets = torch.tensor([16, 79, 33])
    expected = loop_losses(model, ids, contexts, targets)
    assert (expected[0] - expected[2]).abs().max() > 1e-6  # the context matters
    for options in ({}, {"batch": 2}, {"segment": 4}, {"segment": 5, "batch": 3}, {"segment": 1}, {"segment": 99}):
        assert relative_error(context_losses(model, ids, contexts, targets, **options), expected) < 1e-10
    assert model.training


def test_a_model_without_state_sees_the_last_piece_alone():
    model, ids, targets = make("xl", memory=0), text(), torch.arange(20, 26)
    pieces = context_losses(model, ids, [3, 8, 11], targets, segment=4)
    expected = loop_losses(model, ids, [3, 4, 4], targets)
    assert relative_error(pieces, expected) < 1e-12


def test_the_first_piece_is_the_short_one_and_the_others_are_whole():
    model = Bigram(table())
    context_losses(model, text(), [8, 10], torch.tensor([40]), segment=4)
    assert [shape[1] for shape, _, _ in model.calls] == [4, 4, 2, 4, 4]


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
    for skip in (0, 1, 3):
        expected = [
            sum(-math.log(p[rows[b, s + i], follows[b, s + i]]) for b in range(3) for s in range(5 * skip, 20, 5))
            / (3 * (4 - skip))
            for i in range(5)
        ]
        for carry in (True, False):
            got = loss_by_position(model, streams(ids, 3, 5, "test"), carry=carry, skip=skip)
            assert got.shape == (5,) and relative_error(got, torch.tensor(expected)) < 1e-14


def test_the_state_is_carried_from_the_first_piece_on_even_where_it_is_not_counted():
    model, pieces = Reach(7), [(torch.zeros(2, 3).long(),) * 2] * 3

    def expected(*seen):
        return torch.tensor([[-math.log(model.p(n)) for n in row] for row in seen]).mean(0)

    assert relative_error(loss_by_position(model, pieces), expected([1, 2, 3], [4, 5, 6], [7, 8, 9])) < 1e-12
    assert relative_error(loss_by_position(model, pieces, skip=1), expected([4, 5, 6], [7, 8, 9])) < 1e-12
    alone = expected([1, 2, 3])
    assert relative_error(loss_by_position(model, pieces, carry=False), alone) < 1e-12
    assert relative_error(loss_by_position(Reach(7, keeps=False), pieces), alone) < 1e-12


def test_with_memory_for_the_whole_past_segments_lose_what_one_pass_loses():
    model, ids = make("xl", memory=40), text(81)
    whole = loss_by_position(model, streams(ids, 2, 40, "test"))  # (40,)
    segments = loss_by_position(model, streams(ids, 2, 8, "test"))
    assert relative_error(segments, whole.view(5, 8).mean(0)) < 1e-10
    assert (
        relative_error(loss_by_position(model, streams(ids, 2, 8, "test"), skip=3), whole[24:].view(2, 8).mean(0))
        < 1e-10
    )
    assert relative_error(loss_by_position(model, streams(ids, 2, 8, "test"), carry=False), segments) > 1e-4


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
    with pytest.raises(ValueError, match="memory must be a whole number from 1 on with same_length"):
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


def test_the_share_takes_the_tokens_that_are_hardest_for_the_best_model_with_the_short_context():
    short = torch.arange(10.0) / 10  # the last token is the hardest
    other = short.flip(0) + 0.55  # its hardest is the first, on which the group is good
    wide = short.clone()
    wide[9] -= 0.5
    losses = {"a": torch.stack([short, wide]), "b": torch.stack([other, other])}
    gains = relative_gain(losses, 0, 1, share=0.1)
    hardest = int(torch.minimum(short, other).argmax())
    assert hardest == 7 and gains == {"a": 0.0, "b": 0.0}
    del losses["b"]
    assert relative_gain(losses, 0, 1, share=0.1)["a"] == pytest.approx(1 - math.exp(-0.5), rel=1e-12)
    assert relative_gain(losses, 0, 1)["a"] == pytest.approx(1 - math.exp(-0.05), rel=1e-12)


def test_of_equally_hard_tokens_the_earlier_are_taken():
    short, wide = torch.ones(20), torch.ones(20)
    wide[:2] = 0.25
    assert relative_gain({"a": torch.stack([short, wide])}, 0, 1, share=0.1)["a"] == pytest.approx(1 - math.exp(-0.75))
    late = {"a": torch.stack([short, wide.flip(0)])}
    assert relative_gain(late, 0, 1, share=0.1)["a"] == 0


def test_a_wider_context_that_hurts_gains_nothing():
    losses = torch.stack([torch.ones(6), torch.full((6,), 2.0)])
    assert relative_gain({"a": losses}, 0, 1) == {"a": 0.0}
    assert math.copysign(1, relative_gain({"a": losses}, 0, 1)["a"]) == 1  # no -0.0 on a page


@pytest.mark.parametrize(("reach", "expected"), [(6, 6), (7, 8), (2, 2), (1, 2), (30, 12)])
def test_a_model_that_looks_so_far_back_has_that_effective_context(reach, expected):
    ids, targets, contexts = torch.zeros(40).long(), torch.arange(12, 40), [2, 4, 6, 8, 10, 12]
    losses = context_losses(Reach(reach, step=0.02), ids, contexts, targets, segment=5)
    assert relative_effective_context_length({"toy": losses}, contexts) == {"toy": expected}


def test_a_model_without_state_reaches_no_further_than_its_segment():
    ids, targets, contexts = torch.zeros(40).long(), torch.arange(12, 40), range(1, 13)
    losses = {
        name: context_losses(Reach(8, keeps=name == "memory", step=0.02), ids, contexts, targets, segment=3)
        for name in ("memory", "none")
    }
    assert relative_effective_context_length({"none": losses["none"]}, contexts) == {"none": 3}
    assert relative_effective_context_length(losses, contexts) == {"memory": 8, "none": 3}


def ramp(*values):
    return torch.tensor(values)[:, None].expand(-1, 10)


def test_the_effective_context_length_stops_at_the_first_step_below_the_threshold():
    step = -math.log(1 - 0.01)  # whose gain is 0.01
    losses = {"a": ramp(2.0, 2 - 1.01 * step, 2 - 2.0 * step, 1.0)}
    assert relative_effective_context_length(losses, [10, 20, 30, 40]) == {"a": 20}  # though 30 to 40 gains again
    assert relative_effective_context_length(losses, [10, 20, 30, 40], threshold=0.0098) == {"a": 40}
    assert relative_effective_context_length(losses, [10, 20, 30, 40], threshold=0.02) == {"a": 10}


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


# ---- bad input


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"ids": torch.zeros(2, 9).long()},
            r"ids must be whole numbers .* 1 axes, not empty, got torch.int64 of shape",
        ),
        ({"ids": torch.zeros(9)}, "ids must be whole numbers"),
        ({"ids": [1, 2]}, "ids must be whole numbers .* got list"),
        ({"targets": torch.zeros(0).long()}, "targets must be whole numbers .* not empty"),
        ({"targets": torch.ones(9).bool()}, "targets must be whole numbers"),
        ({"targets": torch.tensor([3, 9])}, "contexts .*targets not before the longest .* got targets from 3 to 9"),
        ({"targets": torch.tensor([12, 80])}, "below 80, the length of ids, got targets from 12 to 80"),
        ({"targets": torch.tensor([-1])}, "got targets from -1 to -1"),
        ({"contexts": []}, r"contexts \[\] must be at least one"),
        ({"contexts": [4, 0]}, "contexts must be whole numbers from 1 on, got 0"),
        ({"contexts": [4.0]}, "contexts must be whole numbers from 1 on, got 4.0"),
        ({"segment": 0}, "segment must be whole numbers from 1 on, got 0"),
        ({"batch": 0}, "batch must be whole numbers from 1 on, got 0"),
        ({"batch": True}, "batch must be"),
    ],
)
def test_bad_arguments_of_context_losses_are_refused_before_the_model_runs(change, message):
    model = Bigram(table())
    good = {"ids": text(), "contexts": [2, 4], "targets": torch.tensor([9, 12])}
    with pytest.raises(ValueError, match=message):
        context_losses(model, **(good | change))
    assert not model.calls


class Wrong(nn.Module):
    def __init__(self, result):
        super().__init__()
        self.result = result

    def forward(self, x, state=None):
        return self.result(x)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (lambda x: torch.zeros(*x.shape, V), r"model must give \(y, state\) .* got Tensor"),
        (lambda x: (torch.zeros(len(x), V), None), r"with y of shape \(2, 4, 'V'\), got \(2, 6\)"),
        (lambda x: (torch.zeros(len(x), 1, V), None), r"with y of shape \(2, 4, 'V'\), got \(2, 1, 6\)"),
        (lambda x: (torch.zeros(*x.shape, 2), None), "a y for every symbol, got 2 of them and the symbol"),
    ],
)
def test_a_model_that_gives_something_else_is_refused(result, message):
    with pytest.raises(ValueError, match=message):
        context_losses(Wrong(result), torch.tensor([0, 1, 0, 1, 4, 4]), [4], torch.tensor([4, 5]))
    with pytest.raises(ValueError, match=message):
        loss_by_position(Wrong(result), [(torch.zeros(2, 4).long(), torch.full((2, 4), 4))])


def test_bad_pieces_and_memories_are_refused():
    model, piece = Bigram(table()), (text(8).view(2, 4),) * 2
    other = (text(6).view(2, 3),) * 2
    for pieces, options, message in (
        ([piece, other], {}, r"pieces must all have the shape of the first y, \(2, 4\), got x \(2, 3\) and y \(2, 3\)"),
        ([(piece[0], other[0])], {}, r"first y, \(2, 3\), got x \(2, 4\) and y \(2, 3\)"),
        ([(piece[0], piece[1][0])], {}, "y must be whole numbers in a tensor with 2 axes"),
        ([(piece[0].double(), piece[1])], {}, "x must be whole numbers"),
        ([(piece[0], -piece[1] - 1)], {}, "a y for every symbol, got 6 of them and the symbol -"),
        ([piece] * 2, {"skip": 2}, "skip must leave one of 2 pieces to count, got 2"),
        ([], {}, "skip must leave one of 0 pieces"),
        ([piece], {"skip": -1}, "skip must be whole numbers from 0 on, got -1"),
    ):
        with pytest.raises(ValueError, match=message):
            loss_by_position(model, pieces, **options)
    with pytest.raises(ValueError, match="model must have an attribute memory, got Bigram without"):
        loss_against_memory(model, lambda: [piece], [1])
    with pytest.raises(ValueError, match="pieces must be a function that gives them anew, got list"):
        loss_against_memory(make("xl"), [piece], [1])
    for memories in ([3, -1], [2.5]):
        with pytest.raises(ValueError, match="memories must be whole numbers from 0 on"):
            loss_against_memory(make("xl"), lambda: [piece], memories)
    for losses, memories in (
        (torch.ones(2), [4, 4]),
        (torch.ones(2), [4, 2]),
        (torch.ones(1), [4]),
        (torch.ones(3), [1, 2]),
    ):
        with pytest.raises(ValueError, match="memories must be at least two increasing lengths, one for each loss"):
            gain_per_position(losses, memories)


def test_bad_groups_are_refused():
    good = group()
    for losses, message in (
        ({}, r"losses must hold tables of one shape \(C, N\), at least one, got shapes \[\]"),
        ({"a": torch.ones(4)}, r"got shapes \[\(4,\)\]"),
        ({"a": torch.ones(4, 0)}, "losses must hold tables"),
        (good | {"a": torch.ones(4, 3)}, "losses must hold tables of one shape"),
        (good | {"b": torch.full((4, 40), math.inf)}, "losses must be finite, got others in those of 'b'"),
        (good | {"c": torch.full((4, 40), math.nan)}, "losses must be finite, got others in those of 'c'"),
    ):
        with pytest.raises(ValueError, match=message):
            relative_gain(losses, 0, 1)
        with pytest.raises(ValueError, match=message):
            relative_effective_context_length(losses, [1, 2, 3, 4])
    for rows in ((0, 4), (4, 0)):
        with pytest.raises(ValueError, match="c and wider must be rows of losses, from 0 to 3"):
            relative_gain(good, *rows)
    with pytest.raises(ValueError, match="wider must be whole numbers from 0 on, got -1"):
        relative_gain(good, 0, -1)
    for share in (0, 1.5, -0.1, math.nan):
        with pytest.raises(ValueError, match="share must be above 0 and at most 1"):
            relative_gain(good, 0, 1, share=share)
    for contexts in ([1, 2, 3], [1, 2, 4, 8], [4, 3, 2, 1], [2, 2, 2, 2], []):
        with pytest.raises(
            ValueError, match="contexts must be at least two lengths in equal steps upwards, one for each of the 4"
        ):
            relative_effective_context_length(good, contexts)
    with pytest.raises(ValueError, match="contexts must be at least two"):
        relative_effective_context_length({"a": torch.ones(1, 4)}, [3])
    with pytest.raises(ValueError, match="contexts must be whole numbers from 1 on, got 0"):
        relative_effective_context_length(good, [0, 1, 2, 3])
    for threshold in (0, 1, -0.01, math.nan):
        with pytest.raises(ValueError, match="threshold must be above 0 and below 1"):
            relative_effective_context_length(good, [1, 2, 3, 4], threshold=threshold)
