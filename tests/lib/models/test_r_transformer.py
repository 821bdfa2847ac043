"""R-Transformer: a layer is equation 8, the model its layers, and how weights start."""

import pytest
import torch
from reference.plain_loops import layer_norm, sample_norm
from reference.r_transformer_loops import layer
from support.compare import draw, furthest, ids, random_parameters
from support.helpers import drawn, relative_error

from rtx_lib.layers import SampleStdNorm
from rtx_lib.models.r_transformer import CELLS, RTransformer, RTransformerBlock
from rtx_lib.models.r_transformer_variants import ClonedRTransformer, PositionedRTransformer

pytestmark = pytest.mark.usefixtures("double")

NORMS = ("pre", "post")


def block(**options):
    return random_parameters(drawn(1, RTransformerBlock, 8, 2, 3, **options))


def small(inputs=3, outputs=5, **options):
    options = {"width": 8, "heads": 2, "layers": 2, "window": 3, **options}
    kind = PositionedRTransformer if "positions" in options else RTransformer
    return random_parameters(drawn(1, kind, inputs, outputs, **options))


def error(ours, x, cell, order, norm=layer_norm):
    """Of the output and the gradients of x and of all parameters."""
    parameters = dict(ours.named_parameters())
    loop = layer(cell, parameters, x, ours.local_rnns[0].window, 2, order, norm)
    return furthest(ours(x)[0], loop, [x, *parameters.values()])


@pytest.mark.parametrize("local_layers", [1, 2])
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("cell", CELLS)
def test_a_layer_is_equation_8(cell, norm, local_layers):
    x, options = draw(2, 6, 8).requires_grad_(), {"cell": cell, "norm": norm, "local_layers": local_layers, "inner": 7}
    assert error(block(**options), x, cell, norm) < 1e-11
    ours = block(**options, norm_layer=SampleStdNorm)
    assert error(ours, x, cell, norm, sample_norm) < 1e-11
    assert error(ours, x, cell, norm) > 1e-3, "the two norms are told apart"


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


def matrices_of(model, i):
    """The four square matrices of a layer's attention, all its biases, and its LocalRNNs."""
    attention = model.blocks[i].block.self_attention
    matrices = [*attention.in_proj_weight.chunk(3), attention.out_proj.weight]
    biases = [*attention.in_proj_bias.chunk(3), attention.out_proj.bias]
    return [m.detach() for m in matrices], [b.detach() for b in biases], model.blocks[i].local_rnns


def same(tensors):
    return [torch.equal(tensor, tensors[0]) for tensor in tensors]


def test_clones_start_equal_and_part_in_training():
    options = {"width": 64, "heads": 2, "layers": 2, "window": 3, "local_layers": 3}
    model = drawn(0, ClonedRTransformer, 3, 5, **options)
    for i in range(2):
        matrices, biases, locals_ = matrices_of(model, i)
        assert all(same(matrices)) and all(same(biases))
        for tensor in (matrices[0], biases[0]):  # torch.nn.Linear's U(-1/8, 1/8)
            assert 0.11 < float(tensor.abs().max()) <= 0.125
            assert float(tensor.std()) == pytest.approx(0.125 / 3**0.5, rel=0.25)
        for name, _ in locals_[0].named_parameters():
            assert all(same([local.get_parameter(name) for local in locals_])), name
        assert locals_[0].weight_hh_l0 is not locals_[1].weight_hh_l0
    assert not torch.equal(matrices_of(model, 0)[0][0], matrices_of(model, 1)[0][0]), "layers differ"
    (model(draw(4, 6, 3))[0] - draw(4, 6, 5, seed=1)).square().sum().backward()
    torch.optim.SGD(model.parameters(), lr=0.01).step()
    for i in range(2):
        matrices, _, locals_ = matrices_of(model, i)
        assert not any(same(matrices)[1:]) and not any(same([local.weight_hh_l0 for local in locals_])[1:])


def test_independent_weights_start_apart():
    model = RTransformer(3, 5, width=8, heads=2, layers=2, window=3, local_layers=2)
    for i in range(2):
        matrices, biases, locals_ = matrices_of(model, i)
        assert same(matrices) == [True, False, False, False] and not torch.cat(biases).any()
        assert not torch.equal(locals_[0].weight_hh_l0, locals_[1].weight_hh_l0)


def test_where_dropout_acts():
    model = small(embedding_dropout=0.5)
    assert not torch.equal(model(draw(2, 6, 3))[0], model(draw(2, 6, 3))[0])
    dropped, z = RTransformerBlock(8, 2, 3, dropout=1 - 1e-9).double(), draw(2, 6, 8)
    assert torch.equal(dropped(z)[0], z), "with every sub-layer's output dropped, only the ways around are left"
