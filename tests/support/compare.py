"""Random arrays and weights, and how far two ways of computing the same are apart."""

import torch
from torch import Tensor


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def draw(*shape, seed=0):
    return torch.randn(shape, generator=generator(seed))


def ids(*shape, vocabulary=6, first=0, seed=0):
    return torch.randint(first, vocabulary, shape, generator=generator(seed))


def random_parameters(model, seed=1):
    """No bias is 0 and no norm the identity, so that none can go missing unseen; scores are large."""
    source = generator(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=source) / 3)
    return model


def outcomes(outputs, inputs):
    """The outputs, one or several, and the gradients of a loss that weighs each of them."""
    outputs = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    loss = sum((k * y + k / 3).sin().sum() for k, y in enumerate(outputs, start=1))
    inputs = list(inputs)
    return [*outputs, *torch.autograd.grad(loss, inputs, retain_graph=True, materialize_grads=True)]


def worst(ours, theirs):
    """The largest relative error of an array; below 1e-3, where rounding may be all there is, that much less."""
    pairs = [(a.detach(), b.detach()) for a, b in zip(ours, theirs, strict=True) if b.numel()]
    assert all(a.shape == b.shape for a, b in pairs)
    # torch's maximum of what holds NaN is NaN; Python's may be any of the others.
    return float(torch.tensor([float((a - b).abs().max() / b.abs().max().clamp(min=1e-3)) for a, b in pairs]).max())


def furthest(ours, theirs, inputs, of_theirs=None):
    """The largest relative error of outputs and gradients; of the inputs, where the others have their own."""
    inputs = list(inputs)
    return worst(outcomes(ours, inputs), outcomes(theirs, inputs if of_theirs is None else of_theirs))


def in_pieces(model, x, cuts):
    state, pieces = None, []
    for piece in x.split(cuts, 1):
        y, state = model(piece, state)
        pieces.append(y)
    return torch.cat(pieces, 1), state
