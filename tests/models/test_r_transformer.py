"""R-Transformer: a layer is equation 8, pieces equal the whole, nothing leaks, and how weights start."""

import pytest
import torch
from reference.local_loops import layer, layer_norm, sample_norm
from support.helpers import drawn, relative_error
from support.small_transformers import ids, random_parameters
from torch import nn

from rtx_lib.diagnostics.attention import record_attention
from rtx_lib.layers import SCHEMES, SampleStdNorm
from rtx_lib.models.r_transformer import CELLS, LocalRNN, RTransformer, RTransformerBlock

pytestmark = pytest.mark.usefixtures("double")

NORMS = ("pre", "post")


def block(seed=1, window=3, **options):
    return random_parameters(drawn(seed, RTransformerBlock, 8, 2, window, **options), seed)


def small(seed=1, inputs=3, outputs=5, window=3, **options):
    options = {"width": 8, "heads": 2, "layers": 2, "clip": 3, **options}
    return random_parameters(drawn(seed, RTransformer, inputs, outputs, window=window, **options), seed)


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def errors(ours, x, cell, order, norm=layer_norm):
    """Of the output and the gradients of x and of all parameters, by name."""
    parameters = dict(ours.named_parameters())
    both = [ours(x)[0], layer(cell, parameters, x, ours.local_rnns[0].window, 2, order, norm)]
    found = [[y, *torch.autograd.grad(y.sin().sum(), [x, *parameters.values()])] for y in both]
    return {name: relative_error(a, b) for name, a, b in zip(["y", "x", *parameters], *found, strict=True)}


@pytest.mark.parametrize("local_layers", [1, 2])
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("cell", CELLS)
def test_a_layer_is_equation_8(cell, norm, local_layers):
    ours = block(cell=cell, norm=norm, local_layers=local_layers, inner=7)
    found = errors(ours, draw(2, 6, 8).requires_grad_(), cell, norm)
    assert max(found.values()) < 1e-11 and len(found) == 2 + 14 - 2 + 6 * local_layers


@pytest.mark.parametrize("norm", NORMS)
def test_a_layer_with_the_norm_of_the_authors_code(norm):
    ours, x = block(norm=norm, norm_layer=SampleStdNorm), draw(2, 5, 8).requires_grad_()
    assert max(errors(ours, x, "gru", norm, sample_norm).values()) < 1e-11
    assert errors(ours, x, "gru", norm)["y"] > 1e-3, "the two norms are told apart"


def test_a_layer_in_the_wrong_order_is_seen():
    x = draw(2, 5, 8).requires_grad_()
    assert errors(block(norm="pre"), x, "gru", "post")["y"] > 1e-3
    assert errors(block(norm="post"), x, "gru", "pre")["y"] > 1e-3
    both = block(local_layers=2)
    both.local_rnns.insert(0, both.local_rnns.pop(1))
    before = block(local_layers=2)(x)[0]
    assert relative_error(both(x)[0], before) > 1e-3, "the LocalRNNs follow one another"


@pytest.mark.parametrize("final_norm", [False, True])
def test_the_model_is_its_layers_between_two_maps(final_norm):
    model, x = small(final_norm=final_norm), draw(2, 6, 3)
    y = model.embedding(x)
    for one in model.blocks:
        y = one(y)[0]
    y = layer_norm(y, model.norm.weight, model.norm.bias) if final_norm else y
    assert relative_error(model(x)[0], y @ model.readout.weight.T + model.readout.bias) < 1e-12
    assert (model.norm is not None) == final_norm and (model.input_size, model.output_size) == (3, 5)


def test_ids_are_scaled_and_may_share_their_table():
    model, x = small(vocabulary=6, inputs=6, outputs=6, tied=True, norm="post"), ids(2, 6)
    y = model.embedding.weight[x] * 8**0.5
    for one in model.blocks:
        y = one(y)[0]
    assert relative_error(model(x)[0], y @ model.embedding.weight.T) < 1e-12
    assert model.readout.weight is model.embedding.weight and model.readout.bias is None


def in_pieces(model, x, cuts):
    state, pieces = None, []
    for piece in x.split(cuts, 1):
        y, state = model(piece, state)
        pieces.append(y)
    return torch.cat(pieces, 1), state


@pytest.mark.parametrize(
    "options",
    [{"norm": "post"}, {"window": 5, "cell": "lstm"}, {"window": 1, "cell": "rnn"}, {"local_layers": 2}],
    ids=str,
)
@pytest.mark.parametrize("positions", SCHEMES)
@torch.no_grad()
def test_pieces_equal_the_whole(positions, options):
    model, x = small(positions=positions, **options), draw(2, 9, 3)
    y, end = model(x)
    for cuts in ([5, 4], [1] * 9, [1, 6, 2]):
        joined, state = in_pieces(model, x, cuts)
        assert relative_error(joined, y) < 1e-12
        for (windows, cache), (others, other) in zip(state, end, strict=True):
            for a, b in zip((*windows, *cache), (*others, *other), strict=True):
                assert a.shape == b.shape and (not b.numel() or relative_error(a, b) < 1e-12)


def test_a_state_without_its_windows_is_not_enough():
    model, x = small(), draw(2, 9, 3)
    state = model(x[:, :5])[1]
    state = tuple((tuple(torch.zeros_like(w) for w in windows), cache) for windows, cache in state)
    assert relative_error(model(x[:, 5:], state)[0], model(x)[0][:, 5:]) > 1e-3
    words, tokens = small(vocabulary=6, inputs=6), ids(2, 9)
    assert relative_error(in_pieces(words, tokens, [4, 5])[0], words(tokens)[0]) < 1e-12


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("positions", SCHEMES)
def test_no_position_sees_a_later_one(positions, norm):
    model, x = small(positions=positions, norm=norm, local_layers=2), draw(2, 7, 3).requires_grad_()

    def reached():
        y = model(x)[0]
        for t in range(7):
            (gradient,) = torch.autograd.grad(y[:, t].sum(), x, retain_graph=True)
            yield gradient.any(-1).any(0)

    for t, row in enumerate(reached()):
        assert row[: t + 1].all() and not row[t + 1 :].any()
    with record_attention(model):  # the form that keeps its weights
        for t, row in enumerate(reached()):
            assert row[: t + 1].all() and not row[t + 1 :].any()
    changed = x.detach().clone()
    changed[:, 4] += 1
    assert torch.equal(model(changed)[0][:, :4], model(x)[0][:, :4])


def test_attention_without_its_mask_is_seen():
    model, x = small(), draw(2, 7, 3).requires_grad_()
    for one in model.blocks:
        one.block.causal = False
    (gradient,) = torch.autograd.grad(model(x)[0][:, 2].sum(), x)
    assert gradient[:, 3:].any(-1).all()


def test_the_weights_are_there_for_who_looks():
    model, x = small(), draw(2, 6, 3)
    y = model(x)[0]
    with record_attention(model) as recorded:
        looked_at = model(x)[0]
    assert relative_error(looked_at, y) < 1e-12
    assert [name for name, _ in recorded] == [f"blocks.{i}.block.self_attention" for i in range(2)]
    for _, weights in recorded:
        assert weights.shape == (2, 2, 6, 6) and not weights.triu(1).any()
        assert relative_error(weights.sum(-1), torch.ones(2, 2, 6)) < 1e-12


def one_layer(model, i):
    attention = model.blocks[i].block.self_attention
    matrices = [*attention.in_proj_weight.chunk(3), attention.out_proj.weight]
    return matrices, [*attention.in_proj_bias.chunk(3), attention.out_proj.bias], model.blocks[i].local_rnns


def same(tensors):
    return [torch.equal(tensor, tensors[0]) for tensor in tensors]


def test_clones_start_equal_and_part_in_training():
    options = {"width": 64, "heads": 2, "layers": 2, "window": 3, "local_layers": 3, "start": "clones"}
    model = drawn(0, RTransformer, 3, 5, **options)
    for i in range(2):
        matrices, biases, locals_ = one_layer(model, i)
        assert all(same(matrices)) and all(same(biases))
        for tensor in (matrices[0].detach(), biases[0].detach()):  # torch.nn.Linear's U(-1/8, 1/8)
            assert 0.11 < float(tensor.abs().max()) <= 0.125
            assert float(tensor.std()) == pytest.approx(0.125 / 3**0.5, rel=0.25)
        for name, _ in locals_[0].named_parameters():
            assert all(same([local.get_parameter(name) for local in locals_])), name
        assert locals_[0].weight_hh_l0 is not locals_[1].weight_hh_l0
    assert not torch.equal(one_layer(model, 0)[0][0], one_layer(model, 1)[0][0]), "layers differ"
    x, y = draw(4, 6, 3), draw(4, 6, 5, seed=1)
    (model(x)[0] - y).square().sum().backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= 0.01 * parameter.grad
    for i in range(2):
        matrices, _, locals_ = one_layer(model, i)
        assert not any(same(matrices)[1:]) and not any(same([local.weight_hh_l0 for local in locals_])[1:])


def test_independent_weights_start_apart():
    model = RTransformer(3, 5, width=8, heads=2, layers=2, window=3, local_layers=2)
    for i in range(2):
        matrices, biases, locals_ = one_layer(model, i)
        assert same(matrices) == [True, False, False, False] and not torch.cat(biases).any()
        assert not torch.equal(locals_[0].weight_hh_l0, locals_[1].weight_hh_l0)


@pytest.mark.parametrize("start", ["independent", "clones"])
@pytest.mark.parametrize("positions", SCHEMES)
def test_weights_come_from_the_seed(positions, start):
    options = {"vocabulary": 6, "width": 8, "heads": 2, "layers": 2, "window": 3, "local_layers": 2}
    options |= {"positions": positions, "start": start}
    a, b, c = (drawn(seed, RTransformer, 6, 6, **options).state_dict() for seed in (0, 0, 1))
    assert all(torch.equal(a[name], b[name]) for name in a)
    assert not torch.equal(a["blocks.1.local_rnns.1.weight_hh_l0"], c["blocks.1.local_rnns.1.weight_hh_l0"])
    weights = [name for name in a if "weight" in name and "norm" not in name and a[name].dim() > 1]
    assert len(weights) >= 14 and not any(torch.equal(a[name], c[name]) for name in weights)


def test_dropout_acts_in_training_alone():
    x = draw(2, 6, 3)
    for options in ({"dropout": 0.5}, {"embedding_dropout": 0.5}):
        model = small(**options)
        assert not torch.equal(model(x)[0], model(x)[0])
        assert torch.equal(model.eval()(x)[0], small()(x)[0])
    dropped = RTransformerBlock(8, 2, 3, dropout=1 - 1e-9).double()
    z = draw(2, 6, 8)
    assert torch.equal(dropped(z)[0], z), "with every sub-layer's output dropped, only the ways around are left"


def test_learned_positions_end_with_their_table():
    model = small(positions="learned", length=5)
    state = model(draw(2, 3, 3))[1]
    with pytest.raises(ValueError, match="table of 5 positions, got 6"):
        model(draw(2, 3, 3), state)
    assert isinstance(model.positions, nn.Module)
    relative = small(positions="shaw")
    tables = [one.block.self_attention.positions for one in relative.blocks]
    assert relative.positions is None and tables[0] is not tables[1]


@torch.no_grad()
def test_ten_thousand_steps():
    model, x = small(heads=1, layers=1, width=4).float(), draw(1, 10_000, 3).float()
    y, state = model(x)
    assert y.shape == (1, 10_000, 5) and y.isfinite().all() and state[0][1][0].shape == (1, 1, 10_000, 4)
    assert relative_error(model(x[:, :50])[0], y[:, :50]) < 1e-4


@pytest.mark.parametrize("norm", NORMS)
def test_single_and_half_precision(norm):
    model, x = small(norm=norm), draw(2, 6, 3)
    y = model(x)[0]
    narrow = small(norm=norm).float()
    assert relative_error(narrow(x.float())[0].double(), y) < 1e-4
    with torch.autocast("cpu", torch.bfloat16):
        joined, _ = in_pieces(narrow, x.float(), [4, 2])
        joined.float().sum().backward()
    assert relative_error(joined.double(), y) < 0.1
    assert all(parameter.grad.isfinite().all() for parameter in narrow.parameters())


@torch.no_grad()
def test_compiles_as_one_graph():
    model, x = small(layers=1), draw(2, 5, 3)
    state = model(x)[1]
    compiled = torch.compile(model, fullgraph=True, backend="eager")
    assert torch.equal(compiled(x, state)[0], model(x, state)[0])
    torch.compiler.reset()


@pytest.mark.parametrize(
    "options, message",
    [
        ({"window": 0}, "window must be at least 1, got 0"),
        ({"window": 2.5}, r"window must .* got 2\.5"),
        ({"cell": "mgu"}, r"cell must be one of \['rnn', 'gru', 'lstm'\], got 'mgu'"),
        ({"local_layers": 0}, "local_layers must be at least 1, got 0"),
        ({"layers": 0}, "layers must be at least 1, got 0"),
        ({"width": 0}, "width must be at least 1, got 0"),
        ({"heads": 3}, "heads must divide width = 8, got 3"),
        ({"positions": "gps"}, "positions must be one of .* got 'gps'"),
        ({"start": "same"}, r"start must be one of \['independent', 'clones'\], got 'same'"),
        ({"norm": "middle"}, "norm must be one of .* got 'middle'"),
        ({"activation": "sine"}, "activation must be one of .* got 'sine'"),
        ({"dropout": 1.5}, r"dropout must be from 0 to below 1, got 1\.5"),
        ({"embedding_dropout": -1.0}, "dropout"),
        ({"final_norm": True, "norm": "post"}, "final_norm must be False with norm='post'"),
        ({"tied": True}, "tied must be False unless vocabulary = output_size = 5"),
        ({"vocabulary": 0}, "vocabulary must be at least 1, got 0"),
        ({"inputs": 0}, "input_size must be at least 1, got 0"),
        ({"outputs": 0}, "output_size must be at least 1, got 0"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        small(**options)


def test_an_unknown_option_is_refused():
    with pytest.raises(TypeError, match="windows"):
        small(windows=3)


def bad_states():
    """Each with the message it has to have, from a good one of two layers."""
    windows, (k, v) = (torch.zeros(2, 2, 8, dtype=torch.double),), (torch.zeros(2, 2, 4, 4, dtype=torch.double),) * 2
    good = (windows, (k, v))
    return [
        ((good,), "state must be a tuple of 2 entries, one for each layer, got 1 entries"),
        ([good, good], "state must be a tuple of 2 entries, one for each layer, got list"),
        (k, "state must be a tuple .* got Tensor"),
        ((good, None), r"state\[1\] must be a tuple of 2 entries, \(inputs of the LocalRNNs, \(k, v\)\), got NoneType"),
        ((good, (k, v)), r"state\[1\]\[0\] must be a tuple of 1 entries, one for each LocalRNN, got Tensor"),
        ((good, (windows * 2, (k, v))), r"state\[1\]\[0\] must be a tuple of 1 entries"),
        ((good, (windows, (k,))), r"state\[1\]\[1\] must be a tuple of 2 entries"),
        ((((windows[0][:, 1:],), (k, v)), good), r"state\[0\]\[0\]\[0\] must have shape \(2, 2, 8\), got \(2, 1, 8\)"),
        (((windows, (k, v[:, :1])), good), r"state\[0\]\[1\]\[1\] must have shape \(2, 2, 4, 4\), got \(2, 1, 4, 4\)"),
        (((windows, (k, v[:, :, 1:])), good), r"state\[0\]\[1\]\[1\] must have shape"),
        (((windows, (k[0], v)), good), r"state\[0\]\[1\]\[0\] must have shape"),
        ((((windows[0].float(),), (k, v)), good), r"state\[0\]\[0\]\[0\] must be of torch.float64"),
        ((good, (windows, (k[:, :, 1:], v[:, :, 1:]))), r"state\[1\]\[1\]\[0\] must have shape \(2, 2, 4, 4\), got"),
    ]


@pytest.mark.parametrize("number", range(13))
def test_bad_states(number):
    state, message = bad_states()[number]
    with pytest.raises(ValueError, match=message):
        small()(draw(2, 3, 3), state)


def test_bad_inputs():
    good = bad_states()[0][0] * 2
    assert small()(draw(2, 3, 3), good)[0].shape == (2, 3, 5)
    with pytest.raises(ValueError, match=r"state\[0\]\[0\]\[0\] must have shape \(1, 2, 8\)"):
        small()(draw(1, 3, 3), good)
    with pytest.raises(ValueError, match=r"x must have shape \(B, T, 3\), got \(2, 3, 4\)"):
        small()(draw(2, 3, 4))
    with pytest.raises(ValueError, match="x must hold ids"):
        small(vocabulary=6, inputs=6)(draw(2, 3))
    with pytest.raises(ValueError, match="x must hold ids from 0 to 5, got 6"):
        small(vocabulary=6, inputs=6)(torch.full((2, 3), 6))
    with pytest.raises(ValueError, match="x must be a tensor"):
        small()([1.0])
    with pytest.raises(ValueError, match=r"state\[0\] must be a tuple of 1 entries"):
        block()(draw(2, 3, 8), (None, None))
    _, state = block()(draw(2, 3, 8))
    for x, before in ((draw(3, 8), None), (draw(3, 8), state), (draw(2, 3, 5), None), (draw(2, 3, 5), state)):
        with pytest.raises(ValueError, match=r"x must have shape \(B, T, 8\), got"):
            block()(x, before)


def test_holds_no_module_that_would_not_be_compiled():
    kinds = {type(module) for module in small().modules()}
    assert LocalRNN in kinds and not any(issubclass(kind, nn.RNNBase) for kind in kinds)
