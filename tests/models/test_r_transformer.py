"""R-Transformer: a layer is equation 8, pieces equal the whole, nothing leaks, and how weights start."""

import pytest
import torch
from reference.plain_loops import layer_norm, sample_norm
from reference.r_transformer_loops import layer
from support.helpers import drawn, relative_error
from support.small_transformers import ids, random_parameters
from torch import nn

from rtx_lib.diagnostics.attention import record_attention
from rtx_lib.layers import SampleStdNorm
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


def test_a_state_without_its_windows_is_not_enough():
    model, x = small(), draw(2, 9, 3)
    state = model(x[:, :5])[1]
    state = tuple((tuple(torch.zeros_like(w) for w in windows), cache) for windows, cache in state)
    assert relative_error(model(x[:, 5:], state)[0], model(x)[0][:, 5:]) > 1e-3
    words, tokens = small(vocabulary=6, inputs=6), ids(2, 9)
    assert relative_error(in_pieces(words, tokens, [4, 5])[0], words(tokens)[0]) < 1e-12


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


def test_bad_dropout():
    with pytest.raises(ValueError, match="dropout"):
        small(embedding_dropout=-1.0)


def test_an_unknown_option_is_refused():
    with pytest.raises(TypeError, match="windows"):
        small(windows=3)


def test_bad_forms_of_state():
    """Of two layers; what all models refuse is in test_contract.py."""
    model, x = small(), draw(2, 3, 3)
    windows, (k, v) = (torch.zeros(2, 2, 8),), (torch.zeros(2, 2, 4, 4),) * 2
    good = (windows, (k, v))
    assert model(x, (good, good))[0].shape == (2, 3, 5)
    for bad, message in [
        ((good, None), r"state\[1\] must be .* got NoneType"),
        ((good, (k, v)), r"state\[1\].* must be .* got"),
        ((good, (windows * 2, (k, v))), r"state\[1\].* must be"),
        ((good, (windows, (k,))), r"state\[1\].* must be"),
        (((windows, (k, v[:, :, 1:])), good), r"state\[0\]\[1\]\[1\] must have shape"),
        ((good, (windows, (k[:, :, 1:], v[:, :, 1:]))), r"state.* must have (shape|as many steps)"),
    ]:
        with pytest.raises(ValueError, match=message):
            model(x, bad)
    with pytest.raises(ValueError, match=r"state.* must be"):
        block()(draw(2, 3, 8), (None, None))
    _, state = block()(draw(2, 3, 8))
    for wrong, before in ((draw(3, 8), None), (draw(3, 8), state), (draw(2, 3, 5), None), (draw(2, 3, 5), state)):
        with pytest.raises(ValueError, match=r"x must have shape \(B, T, 8\), got"):
            block()(wrong, before)


def test_holds_no_module_that_would_not_be_compiled():
    kinds = {type(module) for module in small().modules()}
    assert LocalRNN in kinds and not any(issubclass(kind, nn.RNNBase) for kind in kinds)
