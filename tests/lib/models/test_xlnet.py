"""XLNet: who sees whom, orders as masks, memory, distances, segments, and what it refuses."""

import pytest
import torch
import torch.nn.functional as F
from reference.official_xlnet import TwoWayXLNet, leaky
from support.compare import furthest, ids, random_parameters, worst
from support.far_device import assert_equal, run, run_far
from support.helpers import drawn, refusals, relative_error

from rtx_lib.diagnostics.attention import record_attention
from rtx_lib.models.xlnet import PADDING, XLNet, XLNetClassifier
from rtx_lib.tasks.orders import draw_orders, rank_of, seen_under

pytestmark = pytest.mark.usefixtures("double")

V, T, B = 6, 7, 3
ORDERS = draw_orders(B, T, torch.Generator().manual_seed(4))
EVERYWHERE = torch.arange(T).repeat(B, 1)


def small(kind=XLNet, seed=1, **options):
    options = {"width": 8, "heads": 2, "layers": 2, **options}
    return random_parameters(drawn(seed, kind, V, **options), seed).eval()


def asked(order=ORDERS, **more):
    """A text with one order a row, and all of it to be predicted."""
    return {"seen": seen_under(rank_of(order)), "targets": EVERYWHERE[: len(order)], **more}


def segments_of(*lengths):
    return torch.cat([torch.full((B, n), s) for s, n in enumerate(lengths)], dim=1)


def gradients(model, which, run=lambda encode: encode(), **how):
    """Of each row of one stream the sum of its gradients with respect to each embedded word, (B, T, T)."""
    embedded = []
    hook = model.embedding.register_forward_hook(lambda _, args, y: embedded.append(y))
    found = run(lambda: model.encode(ids(B, T), **how))[which]
    hook.remove()
    rows = [torch.autograd.grad(found[:, i].sin().sum(), embedded[0], retain_graph=True)[0] for i in range(T)]
    return torch.stack([row.abs().sum(-1) for row in rows], dim=1)


@pytest.mark.parametrize("looked_at", [False, True])
def test_who_sees_whom(looked_at):
    """Through all layers exactly what the order says; a query never the word that it has to name."""
    model, before = small(layers=3), seen_under(rank_of(ORDERS))
    with record_attention(model) if looked_at else torch.enable_grad():
        query, content = gradients(model, 1, **asked()), gradients(model, 0, **asked())
    assert torch.equal(query > 0, before) and not query.diagonal(dim1=1, dim2=2).any()
    assert torch.equal(content > 0, before | torch.eye(T, dtype=torch.bool))


def test_the_fault_of_the_authors_code():
    """Its first query of an order without memory sees every word, its own among them; all others are right."""
    model, x, how = small(), ids(B, T), asked()
    before = seen_under(rank_of(ORDERS))

    query = gradients(model, 1, lambda encode: leaky(model, encode), **how) > 0
    for b, first in enumerate(ORDERS[:, 0]):
        before[b, first] = True
    assert torch.equal(query, before)
    right, wrong = model.encode(x, **how)[1], leaky(model, lambda: model.encode(x, **how))[1]
    assert torch.equal((wrong - right).abs().amax(-1) > 1e-6, rank_of(ORDERS) == 0)
    # A memory is seen by all, so that no row is empty: there the two do not differ.
    model.memory = 3
    state = model.encode(ids(B, 3, seed=5))[2]
    wrong = leaky(model, lambda: model.encode(x, state, **how))[1]
    assert relative_error(wrong, model.encode(x, state, **how)[1]) < 1e-13


def test_both_paths_are_one():
    """The fused kernel and the weights that are looked at, forward and every gradient, with all that there is."""
    model = small(TwoWayXLNet, memory=4)
    model.clamp = 3
    state = model(ids(B, T, seed=7))[1]
    target = rank_of(ORDERS) > 3
    how = {"seen": seen_under(rank_of(ORDERS), target), "targets": torch.tensor([[0, -1], [3, 4], [6, 2]])}
    how["segments"], model.backwards = segments_of(3, 4), torch.tensor([False, True, False])

    def run():
        h, g, _ = model.encode(ids(B, T), state, **how)
        return h, model.readout(g)

    plain = run()
    with record_attention(model) as seen:
        watched = run()
    assert furthest(watched, plain, list(model.parameters())) < 1e-12
    sums = seen[0][1].sum(-1)
    assert [name for name, _ in seen] == [f"blocks.{i}.attention" for i in (0, 1)]
    assert seen[0][1].shape == (B, 2, T + 2, T + 4)
    empty = torch.zeros(B, 2, T + 2, dtype=torch.bool)
    empty[0, :, T + 1] = True
    assert torch.allclose(sums, (~empty).double())


def test_ids_alone_are_the_order_of_reading():
    """y_t is what the query at t + 1 says under the identity order; the last one stands behind the text."""
    model, x = small(), ids(B, T)
    y, state = model(x)
    identity = asked(torch.arange(T).repeat(B, 1))
    full = model((x, identity["seen"], identity["targets"]))[0]
    assert state is None and relative_error(y[:, :-1], full[:, 1:]) < 1e-12
    longer = torch.cat([x, ids(B, 1, seed=3)], 1)
    behind = model((longer, seen_under(torch.arange(T + 1).repeat(B, 1)), torch.full((B, 1), T)))[0]
    assert relative_error(y[:, -1:], behind) < 1e-12


def test_only_targets_have_queries():
    """Any choice of them, in any order, gives the rows of all; those of no place are left out of nothing."""
    model, x, how = small(memory=4), ids(B, T), asked(segments=segments_of(2, 5))
    state = model(ids(B, T, seed=7))[1]
    whole = model.encode(x, state, **how)
    places = torch.tensor([[5, 0, -1], [1, -1, 2], [6, 3, 4]])
    h, g, after = model.encode(x, state, **how | {"targets": places})
    assert relative_error(h, whole[0]) < 1e-14 and worst(after, whole[2]) < 1e-14
    chosen = whole[1].gather(1, places.clamp(min=0)[..., None].expand(-1, -1, 8))
    assert relative_error(g[places >= 0], chosen[places >= 0]) < 1e-12
    h, none, after = model.encode(x, state, **how | {"targets": None})
    assert none is None and relative_error(h, whole[0]) < 1e-14 and worst(after, whole[2]) < 1e-14


def test_padding_changes_nothing():
    """In front of a text to be classified, of any id and however much; behind a text to be predicted, hidden."""
    model = small()
    head = random_parameters(drawn(3, XLNetClassifier, model, 4), 3).eval()
    x, segments = ids(B, T), segments_of(3, 3, 1)
    y, state = head((x, segments))
    assert y.shape == (B, 1, 4) and state is None and head.output_size == 4
    for word in (0, 5):
        padded = F.pad(x, (3, 0), value=word), F.pad(segments, (3, 0), value=PADDING)
        assert relative_error(head(padded)[0], y) < 1e-12
        visible = padded[0], F.pad(segments, (3, 0), value=3)
        assert relative_error(head(visible)[0], y) > 1e-3
    g = model.encode(x, **asked())[1]
    seen = F.pad(asked()["seen"], (0, 2, 0, 2))
    assert relative_error(model.encode(F.pad(x, (0, 2)), seen=seen, targets=EVERYWHERE)[1], g) < 1e-12
    weights = [head.summary.weight, head.readout.bias, model.blocks[0].attention.s]
    assert all(each.any() for each in torch.autograd.grad(head((x, segments))[0].sin().sum(), weights))


def test_all_see_the_memory_and_no_gradient_reaches_it():
    model, x = small(memory=5), ids(B, T)
    state = tuple(part.clone().requires_grad_() for part in model.encode(ids(B, T, seed=3))[2])
    h, g, after = model.encode(x, state, **asked())
    assert not any(part.requires_grad for part in after)
    assert torch.autograd.grad(g.sum() + h.sum(), state, allow_unused=True) == (None, None)
    moved = tuple(part.detach().clone() for part in state)
    moved[0][:, 0] += 1  # the oldest position of the first layer
    other = model.encode(x, moved, **asked())
    assert ((other[0] != h).any(-1)).all() and ((other[1] != g).any(-1)).all()
    assert all(part.untyped_storage().nbytes() == part.nbytes for part in after)


def test_the_first_weights():
    model = drawn(0, XLNet, 400, width=64, heads=4, layers=2)
    head = XLNetClassifier(model, 30)
    for name, parameter in head.named_parameters():
        if "bias" in name:
            assert not parameter.any(), name
        elif "norms" in name:
            assert (parameter == 1).all(), name
        else:
            assert parameter.std().item() == pytest.approx(0.02, rel=0.25), name
    assert all(norm.eps == 1e-12 for block in model.blocks for norm in block.norms)


def test_dropout_acts_on_both_streams():
    with torch.random.fork_rng():
        h, g, _ = small(dropout=1 - 1e-12).train().encode(ids(B, T), **asked())
    assert not h.any() and not g.any()


@pytest.mark.parametrize("kind", ["order", "classes"])
def test_on_a_device_nothing_is_mixed_and_nothing_waits(kind):
    model, x = small().float(), ids(B, T)
    if kind == "order":
        x = (x, *asked(segments=segments_of(3, 4)).values())
    if kind == "classes":
        model, x = drawn(0, XLNetClassifier, model, 3).float().eval(), (x, segments_of(3, 3, 1))
    assert_equal(run_far(model, x), run(model, x))


SEEN = torch.ones(B, T, T) > 0
BAD = {
    r"x must be \(ids, seen, targets.*got 3 entries": lambda m: m((ids(B, T), SEEN, None)),
    "seen must be a bool tensor, True = may attend, got torch.int64": lambda m: m((ids(B, T), SEEN.long(), EVERYWHERE)),
    r"targets \+ 1 must hold ids from 0 to 8, got 9": lambda m: m((ids(B, T), SEEN, EVERYWHERE + 2)),
    r"targets \+ 1 must hold ids from 0 to 8, got -1": lambda m: m((ids(B, T), SEEN, EVERYWHERE - 2)),
    r"segments must have shape \(3, 7\), got \(3, 6\)": lambda m: m((ids(B, T), SEEN, EVERYWHERE, EVERYWHERE[:, 1:])),
    "state must be None, a text is read as a whole, got tuple": lambda m: XLNetClassifier(m, 2)((ids(B, T),) * 2, ()),
}


test_bad_inputs = refusals(BAD, small)
