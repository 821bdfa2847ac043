"""Linear forecasters: from the last L values of a series to its next H by one matrix.

A. Zeng, M. Chen, L. Zhang and Q. Xu, *Are Transformers Effective for Time Series Forecasting?*, AAAI 2023 (arXiv
2205.13504), section 4. Every channel x (L) of a window is a series of its own, and W is (H, L)::

    Linear      y = W x + b
    NLinear     y = W (x - x_L) + b + x_L                    x_L the last value of the window
    DLinear     y = W_s (x - m) + b_s + W_t m + b_t          m the moving average of x, its trend

All channels share the maps, or each has its own (``individual``). Weights start by torch's rule, as in the authors'
code (cure-lab/LTSF-Linear), where as here no gradient goes through the x_L that is added and subtracted.
"""

import re
from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_lib.layers.forecast import Outputs, expect_window, forecast, output_count
from rtx_lib.layers.official import load_official, reads_official, renamed
from rtx_lib.shapes import expect_each


class ChannelMaps(nn.Module):
    """Linear maps of the time axis, (B, C, L) to (B, C, outputs): one for all channels, or one a channel."""

    def __init__(self, inputs: int, outputs: int, count: int) -> None:
        super().__init__()
        self.maps = nn.ModuleList(nn.Linear(inputs, outputs) for _ in range(count))

    def forward(self, x: Tensor) -> Tensor:
        """Map every channel."""
        if len(self.maps) == 1:
            return self.maps[0](x)
        return torch.stack([one(channel) for one, channel in zip(self.maps, x.unbind(1), strict=True)], 1)


class Linear(nn.Module):
    """y = W x + b, of every channel.

    Parameters
    ----------
    lookback, horizon, channels
        L, H and C.
    individual
        Whether each channel has a W and a b of its own.
    outputs
        What is said of every value, as in :mod:`rtx_lib.layers.forecast`.
    """

    def __init__(
        self, lookback: int, horizon: int, channels: int, *, individual: bool = False, outputs: Outputs = 1
    ) -> None:
        super().__init__()
        expect_each(lookback=lookback, horizon=horizon, channels=channels)
        self.lookback, self.horizon, self.outputs = lookback, horizon, outputs
        self.input_size, self.output_size = channels, channels * output_count(outputs)
        self.linear = ChannelMaps(lookback, horizon * output_count(outputs), channels if individual else 1)

    def forward(self, x: Tensor, state: None = None) -> tuple[Tensor, None]:
        """Map the first C columns of x (B, L, at least C) to y (B, H, C Q); there is no state."""
        x = expect_window(x, state, self.lookback, self.input_size, like=next(self.parameters()))
        return forecast(self.linear(x.mT), self.outputs), None

    @classmethod
    @reads_official
    def from_official(cls, arrays: Mapping[str, Tensor], channels: int = 1, **options: Any) -> Any:
        """The model with the authors' arrays, by their names; of a shared map, ``channels`` says how many share it."""
        weights = official_weights(arrays)
        individual = any(".0." in name for name in arrays)
        count = len({name for name in weights if re.match(r"linear.*weight", name)}) if individual else channels
        horizon, lookback = weights["linear.maps.0.weight"].shape
        return load_official(cls(lookback, horizon, count, individual=individual, **options), weights)


class NLinear(Linear):
    """y = W (x - x_L) + b + x_L, of every channel: a window that lies higher is forecast as much higher.

    The arguments are those of :class:`Linear`. Every quantile is moved by x_L, and of a normal distribution the mean.
    """

    def forward(self, x: Tensor, state: None = None) -> tuple[Tensor, None]:
        """Map the first C columns of x (B, L, at least C) to y (B, H, C Q); there is no state."""
        x = expect_window(x, state, self.lookback, self.input_size, like=next(self.parameters()))
        last = x[:, -1:].detach()
        return forecast(self.linear((x - last).mT), self.outputs, last.unsqueeze(-1)), None


class DLinear(Linear):
    """y = W_s (x - m) + b_s + W_t m + b_t, of every channel: what is left of the trend and the trend, apart.

    Parameters
    ----------
    lookback, horizon, channels, individual, outputs
        As in :class:`Linear`.
    kernel
        How many values the moving average m takes, an odd number; 25 in the paper. Before its start and behind its end
        the window holds its first and its last value.
    """

    def __init__(self, lookback: int, horizon: int, channels: int, *, kernel: int = 25, **options: Any) -> None:
        super().__init__(lookback, horizon, channels, **options)
        expect_each(kernel=(kernel, "odd"))
        self.kernel = kernel
        first: Any = self.linear.maps[0]
        self.trend = ChannelMaps(lookback, first.out_features, len(self.linear.maps))

    def forward(self, x: Tensor, state: None = None) -> tuple[Tensor, None]:
        """Map the first C columns of x (B, L, at least C) to y (B, H, C Q); there is no state."""
        x = expect_window(x, state, self.lookback, self.input_size, like=next(self.parameters()))
        trend, rest = self.parts(x)
        return forecast(self.linear(rest.mT) + self.trend(trend.mT), self.outputs), None

    def parts(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The trend m of x (B, L, C) and what is left, each (B, L, C)."""
        before, behind = (end.expand(-1, self.kernel // 2, -1) for end in (x[:, :1], x[:, -1:]))
        trend = F.avg_pool1d(torch.cat([before, x, behind], 1).mT, self.kernel, stride=1).mT
        return trend, x - trend


def official_weights(arrays: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Parameters of cure-lab/LTSF-Linear by our names."""
    shared = {r"^(Linear\w*)\.(weight|bias)$": r"\1.0.\2"}
    parts = {r"^Linear(_Seasonal)?\.": "linear.maps.", r"^Linear_Trend\.": "trend.maps."}
    return renamed(arrays, shared | parts)
