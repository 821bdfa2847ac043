"""Checks of the exercises on time series; each message names the likely slip."""

from collections.abc import Callable

import torch
from torch import Tensor

from rtx_book.checks.answers import as_tensor, compare, draw, exercise, numeric, of_chapter

solution, ask = of_chapter(__name__)
check_mase, check_windows = numeric(__name__)


@exercise("Right: each window loses its own level, and its newest values are all there.")
def check_patches(answer: Callable[[Tensor, int], Tensor]) -> None:
    """``answer(x, P)`` must cut windows x (B, L) into (B, L // P, P) up to the last value, which is taken out first."""
    (x,) = draw(0, (3, 14))
    x = x + 100 * torch.arange(3.0).double()[:, None]

    def cut(x: Tensor) -> Tensor:
        return x[:, x.shape[1] % 4 :].reshape(3, -1, 4)

    last = x[:, -1:]
    slips = {
        "the level is still in: subtract each window's last value": cut(x),
        "what does not fill a patch must go at the old end, not at the new one": (x - last)[:, :12].reshape(3, -1, 4),
        "subtract the last value, not the mean": cut(x - x.mean(1, keepdim=True)),
        "subtract the window's last value, not each patch's": cut(x) - cut(x)[..., -1:],
        "subtract each window's own last value": cut(x - last[:1]),
    }
    compare(as_tensor(answer(x.clone(), 4)), cut(x - last), slips)


@exercise("Right. With q = 0.5 it is half the absolute error, so its best forecast is the median.")
def check_pinball(answer: Callable[[Tensor, Tensor, float], Tensor]) -> None:
    """``answer(forecast, y, q)`` must be the pinball loss of the q-quantile, a mean over all values."""
    forecast, y = draw(1, (40,), (40,))
    off = y - forecast

    def pinball(off: Tensor, q: float) -> Tensor:
        return torch.maximum(q * off, (q - 1) * off)

    slips = {
        "q and 1 - q are the wrong way round: a high quantile must pay more for being too low": pinball(
            off, 0.1
        ).mean(),
        "that is the absolute error, whatever q is": off.abs().mean(),
        "a sum: take the mean": pinball(off, 0.9).sum(),
        "too high must cost something, too": (0.9 * off).clamp(min=0).mean(),
    }
    given = as_tensor(answer(forecast.clone(), y.clone(), 0.9))
    assert given.ndim == 0, "a mean over the values, not one loss for each"
    compare(given, pinball(off, 0.9).mean(), slips)
