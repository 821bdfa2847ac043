"""What becomes of a model that reads the same few inputs over and over: does its output repeat itself as they do?

Call a unit *monotone* if its step h_t = F(h_{t-1}), where F depends on the input and on the units below, never puts two
states in the other order: a gated mean, h_t = f_t h_{t-1} + (1 - f_t) z_t, or any a_t h_{t-1} + b_t with a_t >= 0.
Rounding to nearest never puts two numbers in the other order either. So over a period of inputs the computed step is
one nondecreasing map G of the floating-point numbers, and h, G(h), G(G(h)), ... goes only up or only down. There are
finitely many such numbers, so it comes to a stop: from some step on the unit repeats itself with the period of its
input, to the last bit, and layer by layer so does everything above. A ReLU IndRNN's step h_t = relu(z_t + u h_{t-1})
is nonincreasing if u < 0, but two such steps are nondecreasing together: with it the same holds for even periods.

Parity does not repeat itself like that. On 1 0 1 0 ... the input has period 2 and parity period 4.
"""

import torch
from torch import Tensor, nn

from rtx_lib.shapes import expect, expect_each


@torch.no_grad()
def changes(model: nn.Module, period: Tensor, steps: int) -> Tensor:
    """``max |y_t - y_{t-P}|`` for t = P + 1..steps, where the inputs repeat themselves every P steps: (steps - P,).

    The steps are made one by one, with the state carried over, as the theorem above asks: what computes many at once
    rounds otherwise, and not in the same way at every step. Call the model's ``eval`` first.

    Parameters
    ----------
    model
        Maps x and a state to (y (B, T, O), state).
    period
        One period of inputs, floats (B, P, D) or ids (B, P).
    steps
        How many inputs are read, more than P.
    """
    expect_each(steps=(steps, period.shape[1] + 1))
    inputs, state = period.split(1, dim=1), None
    outputs: list[Tensor] = []
    for step in range(steps):
        y, state = model(inputs[step % len(inputs)], state)
        outputs.append(expect(y, (len(period), 1, "O"), "the model's y"))
    y = torch.cat(outputs, dim=1)  # (B, steps, O)
    if y.isnan().any():  # which would pass for what repeats itself
        raise ValueError(f"model must give numbers, got NaN at step {int(y.isnan().any(-1).any(0).nonzero()[0]) + 1}")
    before, after = y[:, : -len(inputs)], y[:, len(inputs) :]
    return (after - before).masked_fill(after == before, 0).abs().amax((0, 2))  # inf - inf is no difference


def settles(model: nn.Module, period: Tensor, steps: int) -> int:
    """The last step, counted from 1, whose output differs in any bit from that of a period earlier; 0 if none does.

    What is still ``steps``, or a little less, has not settled. Arguments and errors are those of :func:`changes`.
    """
    differ = changes(model, period, steps).nonzero()
    return int(differ.max()) + 1 + period.shape[1] if len(differ) else 0
