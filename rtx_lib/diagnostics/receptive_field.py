"""Which inputs an output depends on: empirical receptive fields from gradients.

The influence of input s on output t is the Frobenius norm of the Jacobian ``d y_t / d x_s``. By the size of this
gradient Luo, Li, Urtasun and Zemel (2016) tell the *effective* receptive field of a convolution from the one that
its architecture allows. It says how much a small change of the input does, on the inputs it is measured on.

The model runs as it stands: call its ``eval`` first, so that no dropout adds noise and no batch norm mixes the
sequences. Gradients are added up in float64 and come back on the CPU; a model in float32 still loses those below about
1e-38.
"""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from rtx_lib.diagnostics.hooks import FirstFloats, embedded, leaf, output_of
from rtx_lib.shapes import expect, expect_each, expect_floats, expect_ids


def input_influence(
    model: nn.Module,
    x: Tensor,
    *,
    embedding: nn.Module | None = None,
    samples: int | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """``||d y_T / d x_s||_F`` of the last output for every input s, averaged over the batch: (T,).

    Parameters
    ----------
    model
        Maps x to y (B, T, O), or to a pair (y, state).
    x
        Floats (B, T, D), or ids (B, T), or with ``embedding`` whatever the model takes.
    embedding
        The module whose output (B, T, D) stands for the inputs; the model must call it exactly once. Nothing can be
        differentiated with respect to ids: without an ``embedding`` the first floats that are made of all of them
        stand for them, rows of a table or one-hot vectors.
    samples
        How many random directions of y are sent back for each sequence. If None, all O are, and the norm is exact.
        Otherwise v holds signs drawn at random, and the mean of ``||v^T dy/dx_s||^2`` estimates the square of the
        norm without bias (Hutchinson 1990); its root, which is returned, comes out slightly low.
    generator
        Draws the signs; torch's global one if None.
    """
    expect_each(samples=1 if samples is None else samples)
    output, inputs = _run(model, x, embedding)
    squares = torch.zeros(x.shape[:2], dtype=torch.float64)
    for v in _cotangents(output, samples, generator) if output.requires_grad else ():
        (gradient,) = torch.autograd.grad(output, inputs, v, retain_graph=True, allow_unused=True)
        if gradient is not None:  # else nothing depends on any input
            squares += gradient.detach().cpu().double().square().reshape(*x.shape[:2], -1).sum(-1)
    return (squares / (samples or 1)).sqrt().mean(0)


def reach(influence: Tensor, share: float = 0.95) -> int:
    """The smallest number of most recent inputs that hold this share of the total influence.

    Parameters
    ----------
    influence
        (T,), at least 0, the most recent input last, as :func:`input_influence` gives it.
    share
        Above 0 and at most 1; 1 counts up to the most distant input that has any influence.
    """
    expect(influence, "T", "influence")
    if not (influence.isfinite() & (influence >= 0)).all() or not influence.any():
        raise ValueError(f"influence must be finite, at least 0 and not all 0, got {influence.tolist()}")
    expect_each(share=(share, "(0, 1]"))
    recent = influence.detach().cpu().double().flip(0)
    if share == 1:  # a value that rounding swallows in the sum counts too
        return int(recent.nonzero().max()) + 1
    held = recent.cumsum(0)
    return int((held < share * held[-1]).sum()) + 1


@torch.enable_grad()
def _run(model: nn.Module, x: Tensor, embedding: nn.Module | None) -> tuple[Tensor, Tensor]:
    """The last output (B, O), and the leaf that stands for the inputs."""
    if embedding is None and not x.is_floating_point():
        with FirstFloats(expect_ids(x, None)) as first:
            y = output_of(model(x), x)
        if first.leaf is None:
            raise ValueError("embedding must be given, as the model makes no floats of all ids at once, got None")
        return y[:, -1], first.leaf
    if embedding is None:
        inputs = leaf(expect_floats(x, "B T D"))
        return output_of(model(inputs), x)[:, -1], inputs
    with embedded(embedding, leaf) as leaves:
        y = output_of(model(x), x)
    return y[:, -1], expect(leaves[0], (*x.shape[:2], "D"), "what embedding gives")


def _cotangents(outputs: Tensor, samples: int | None, generator: torch.Generator | None) -> Iterator[Tensor]:
    """Every direction of the outputs (B, O) in turn, or ``samples`` times random signs."""
    if samples is None:
        for direction in torch.eye(outputs.shape[-1], dtype=outputs.dtype, device=outputs.device):
            yield direction.expand_as(outputs)
        return
    device = outputs.device if generator is None else generator.device
    for _ in range(samples):
        bits = torch.randint(2, outputs.shape, generator=generator, device=device)
        yield (2 * bits - 1).to(outputs)
