"""What forecasters share: the window that they read, and their outputs in the units of the series.

Of every value a forecast may say more than one number. ``outputs`` says what::

    1           the value
    Q           Q quantiles, the lowest first; none is below the one before
    "normal"    the mean m and a raw scale r of a normal distribution, whose deviation is softplus(r) (Salinas et al.
                2020, DeepAR, arXiv 1704.04110, eq. 3)
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from rtx_lib.shapes import expect, expect_each, expect_no_state

Outputs = int | str


def output_count(outputs: Outputs) -> int:
    """Q, how many numbers are said of one value."""
    if isinstance(outputs, str):
        expect_each(outputs=(outputs, ("normal",)))
        return 2
    expect_each(outputs=outputs)
    return outputs


def expect_window(x: Tensor, state: object, lookback: int, channels: int, like: Tensor) -> Tensor:
    """The first columns (B, L, C) of x (B, L, D), D at least C: the series; no state goes with them."""
    expect_no_state(state, "a window is read as a whole")
    if expect(x, ("B", lookback, "D"), like=like).shape[2] < channels:
        raise ValueError(f"x must have at least {channels} columns, one a channel, got {x.shape[2]}")
    return x[..., :channels]


def forecast(y: Tensor, outputs: Outputs, level: Tensor | float = 0.0, scale: Tensor | float = 1.0) -> Tensor:
    """What a last linear map says, y (B, C, H Q), as outputs (B, H, C Q) in the units of the series.

    The series was (series - level) / scale when it was read; both are numbers or (B, 1, C, 1).
    """
    y = y.unflatten(2, (-1, output_count(outputs))).transpose(1, 2)  # (B, H, C, Q)
    if outputs == "normal":
        mean, raw = y.split(1, dim=-1)
        # The raw scale whose softplus is the deviation times the scale: s = ln(e^d - 1) = d + ln(1 - e^-d).
        deviation = (F.softplus(raw) * scale).clamp(min=torch.finfo(y.dtype).tiny)
        return torch.cat([mean * scale + level, deviation + torch.log(-torch.expm1(-deviation))], -1).flatten(2)
    steps = torch.cat([y[..., :1], F.softplus(y[..., 1:])], -1)
    return (steps.cumsum(-1) * scale + level).flatten(2)
