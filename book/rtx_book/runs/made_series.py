"""Made series, on which the forecasters of the page are trained, and these forecasters."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from rtx_lib import models
from rtx_lib.layers import GRU
from rtx_lib.tasks import naive, splits

LOOKBACK, HORIZON, LEVELS = 96, 24, (0.1, 0.5, 0.9)


class MadeSeries:
    """Go on with a series of seasons, a trend, a jump, a walk and noise, each in an amount by chance, or left out.

    x is (B, 96, 1). y is (B, 24, 2): what follows, and the deviation of x, by which errors are divided. A prediction
    (B, 24, 3) holds the quantiles 0.1, 0.5 and 0.9 of each value.
    """

    name, input_size, output_size, vocabulary = "made-series", 1, len(LEVELS), None
    batch, batches = splits.draw_batch, splits.run_through

    def __init__(self) -> None:
        self.splits = splits.Rows(draw=_draw)

    def loss(self, prediction: Tensor, y: Tensor) -> Tensor:
        """The pinball loss, the mean of the three, of the last 24 steps of a prediction."""
        prediction = prediction[:, -HORIZON:]
        error, levels = (y[..., :1] - prediction) / y[..., 1:], torch.tensor(LEVELS).to(prediction)
        return torch.maximum(levels * error, (levels - 1) * error).mean()

    def metrics(self, prediction: Tensor, y: Tensor) -> dict[str, float]:
        """The loss, the mean absolute error of the median, and the share of values between the outer two."""
        prediction = prediction[:, -HORIZON:]
        inside = (prediction[..., 0] <= y[..., 0]) & (y[..., 0] <= prediction[..., 2])
        error = (prediction[..., 1] - y[..., 0]).abs() / y[..., 1]
        found = {"pinball": self.loss(prediction, y), "mae": error.mean(), "coverage": inside.double().mean()}
        return {name: value.item() for name, value in found.items()}

    def baselines(self) -> dict[str, float]:
        """The mean absolute error of the last value, again and again."""
        x, y = self.splits.finite("test")
        return {"last value": self.metrics(naive.last_value(x, HORIZON).expand(-1, -1, 3), y)["mae"]}


def forecaster(task: MadeSeries, core: str, norm: str | None = "last") -> nn.Module:
    """NLinear, or a GRU or a Transformer that reads patches of eight values."""
    sizes = (LOOKBACK, HORIZON, task.input_size)
    if core == "nlinear":
        return models.NLinear(*sizes, outputs=task.output_size)
    how: dict[str, Any] = {"width": 64, "heads": 4, "layers": 2, "inner": 128, "length": 12}
    how |= {"positions": "learned", "activation": "gelu"}
    reader = GRU(64, 64, backend="torch") if core == "gru" else models.transformer.Encoder(8, None, **how)
    return models.Patched(reader, *sizes, 8, norm=norm, outputs=task.output_size)


def _draw(size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    def draw(low: float, high: float, *shape: int) -> Tensor:
        return low + (high - low) * torch.rand(size, *(shape or (1,)), generator=generator)

    def amount(low: float, high: float, share: float = 1.0) -> Tensor:
        """As often below as above the geometric mean, in this share of the series, and 0 in the rest."""
        return draw(math.log(low), math.log(high)).exp() * (draw(0, 1) < share)

    steps, order = torch.arange(LOOKBACK + HORIZON), torch.arange(1, 5)[:, None]
    at = steps / len(steps)

    def season(share: float) -> Tensor:
        """Four harmonics, some with their tops cut, some with an amplitude that grows or shrinks."""
        period = amount(4, 40)
        period = torch.where(draw(0, 1) < 0.6, period.round(), period)[..., None]
        heights = draw(-1, 1, 4, 1) * order ** -draw(0.3, 2.5, 1, 1)
        wave = (heights * torch.sin(math.tau * (order * steps / period + draw(0, 1, 4, 1)))).sum(1)
        wave, cut = wave / wave.std(1, keepdim=True), draw(-2, 3)
        wave = torch.where(cut > 0.5, torch.tanh(cut * wave), wave)
        return amount(0.1, 2, share) * wave * (1 + (draw(0, 1) < 0.3) * draw(-0.8, 1.5) * at)

    noise, walk = torch.randn(2, size, len(steps), generator=generator)
    x = season(0.85) + season(0.35) + draw(-3, 3) * (draw(0, 1) < 0.7) * at
    x = x + draw(-6, 6) * (draw(0, 1) < 0.4) * (at - draw(0, 1)).clamp(min=0)  # the trend bends
    x = x + draw(-2, 2) * (draw(0, 1) < 0.3) * (at > draw(0, 1))  # the level jumps
    x = x + amount(0.02, 0.4, 0.4) * walk.cumsum(1) + amount(0.02, 0.6) * noise
    padded = nn.functional.pad(x[:, None], (2, 2), mode="replicate")
    smooth = nn.functional.avg_pool1d(padded, 5, 1).squeeze(1)  # as by a hand
    x = amount(0.1, 1.5) * torch.where(draw(0, 1) < 0.3, smooth, x) + draw(-2, 2)
    x, y = x.split([LOOKBACK, HORIZON], 1)
    return x.unsqueeze(-1), torch.stack([y, x.std(1, keepdim=True).clamp(min=0.01).expand_as(y)], -1)
