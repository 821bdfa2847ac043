"""Forecasts by any sequence model that reads a series patch by patch, and PatchTST, where it is a Transformer.

Y. Nie, N. H. Nguyen, P. Sinthong and J. Kalagnanam, *A Time Series is Worth 64 Words: Long-term Forecasting with
Transformers*, ICLR 2023 (arXiv 2211.14730), section 3. Every channel of a window is a sequence of its own::

    x (L)  ->  normalised by its own window  ->  N patches of P values, S apart  ->  vectors (N, D)
           ->  core  ->  head: from the last vector, or from all of them, to H values  ->  denormalised

What the paper has a Transformer do, :class:`Patched` lets a GRU do as well.
"""

from typing import Any

import torch
from torch import Tensor, nn

from rtx_lib.layers.forecast import Outputs, expect_window, forecast, output_count
from rtx_lib.models.transformer import Encoder
from rtx_lib.shapes import expect_each

NORMS, HEADS = ("last", "instance", None), ("last", "flat")
EPS = 1e-5


class Patched(nn.Module):
    """A core that forecasts every channel of a window by itself, with the same weights.

    Parameters
    ----------
    core
        A module ``(x (B, T, D), state) -> (y (B, T, D'), state)`` with attributes ``input_size`` (D) and
        ``output_size`` (D'), as most of this library have. If D is the patch's length it reads patches as they are,
        else a linear map makes vectors of them first.
    lookback, horizon, channels
        L, H and C.
    patch, stride
        P and S, S = P if None: patches side by side. The last one ends in the last value. Where patches do not fill the
        window, its first value is repeated before it.
    norm
        What is taken out of a window before, and put back behind: ``"last"`` its last value; ``"instance"`` its mean,
        and its deviation sqrt(variance + 1e-5) divides (Kim et al. 2022, RevIN, without weights); or nothing, None. No
        gradient goes through them.
    head
        Where the linear map to the H values reads: ``"last"``, of the last vector, or ``"flat"``, of all N.
    outputs
        What is said of every value, as in :mod:`rtx_lib.layers.forecast`.
    width
        D and D' as a pair, of a core that does not tell them.
    """

    def __init__(
        self,
        core: nn.Module,
        lookback: int,
        horizon: int,
        channels: int,
        patch: int,
        stride: int | None = None,
        *,
        norm: str | None = "last",
        head: str = "last",
        outputs: Outputs = 1,
        width: tuple[int, int] | None = None,
    ) -> None:
        super().__init__()
        expect_each(lookback=lookback, horizon=horizon, channels=channels, patch=(patch, f"[1, {lookback}]"))
        stride = patch if stride is None else stride
        expect_each(stride=(stride, f"[1, {patch}]"), norm=(norm, NORMS), head=(head, HEADS))
        self.lookback, self.horizon, self.patch, self.stride = lookback, horizon, patch, stride
        self.norm, self.head, self.outputs = norm, head, outputs
        self.input_size, self.output_size = channels, channels * output_count(outputs)
        sizes: Any = width or [getattr(core, name, None) for name in ("input_size", "output_size")]
        expect_each(width=(sizes, "sizes"))
        inward, outward = sizes
        self.embedding = nn.Identity() if inward == patch else nn.Linear(patch, inward)
        self.core = core
        size = outward * (self.count if head == "flat" else 1)
        self.readout = nn.Linear(size, horizon * output_count(outputs))

    @property
    def count(self) -> int:
        """N, the number of patches."""
        return -(-(self.lookback - self.patch) // self.stride) + 1

    def forward(self, x: Tensor, state: None = None) -> tuple[Tensor, None]:
        """Map the first C columns of x (B, L, at least C) to y (B, H, C Q); there is no state."""
        x = expect_window(x, state, self.lookback, self.input_size, like=self.readout.weight)
        level, scale = self.window(x)
        patches = self.patches((x - level) / scale)  # (B, C, N, P)
        h, _ = self.core(self.embedding(patches.flatten(0, 1)))  # every channel a sequence of the batch
        y = self.readout(h[:, -1] if self.head == "last" else h.flatten(1)).unflatten(0, patches.shape[:2])
        return forecast(y, self.outputs, level.unsqueeze(-1), scale.unsqueeze(-1)), None

    def window(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Level and scale (B, 1, C) of each channel of x (B, L, C)."""
        x = x.detach()
        if self.norm == "instance":
            variance, mean = torch.var_mean(x, dim=1, keepdim=True, correction=0)
            return mean, (variance + EPS).sqrt()
        last = x[:, -1:]
        return last if self.norm == "last" else torch.zeros_like(last), torch.ones_like(last)

    def patches(self, x: Tensor) -> Tensor:
        """The patches (B, C, N, P) of x (B, L, C)."""
        missing = self.patch + (self.count - 1) * self.stride - self.lookback
        return torch.cat([x[:, :1].expand(-1, missing, -1), x], 1).mT.unfold(2, self.patch, self.stride)


class PatchTST(Patched):
    """The paper's model: patches that overlap by half, a Transformer's encoder, a flat head, instance norm.

    As in the paper, positions are learned, blocks are normalised behind their sum, and S times the last value stands
    behind the window, so that N = floor((L - P) / S) + 2. Where it has batch normalisation, here is layer
    normalisation: under the other, what a window is told depends on those beside it. The defaults are those of the
    paper for small series such as ETTh1; for large ones it has width 128, heads 16 and inner 256.

    Parameters
    ----------
    lookback, horizon, channels, outputs
        As in :class:`Patched`.
    patch
        P, an even number; S is half of it.
    width, heads, layers, inner, dropout
        Of the :class:`~rtx_lib.models.transformer.Encoder`.
    """

    def __init__(
        self,
        lookback: int,
        horizon: int,
        channels: int,
        *,
        patch: int = 16,
        width: int = 16,
        heads: int = 4,
        layers: int = 3,
        inner: int = 128,
        dropout: float = 0.2,
        outputs: Outputs = 1,
    ) -> None:
        expect_each(patch=(patch, "multiple of 2"), lookback=(lookback, patch))
        size: Any = {"width": width, "heads": heads, "layers": layers, "inner": inner, "dropout": dropout}
        count = (lookback - patch) // (patch // 2) + 2
        core = Encoder(patch, None, **size, positions="learned", length=count, norm="post", activation="gelu")
        sizes = (lookback, horizon, channels, patch, patch // 2)
        super().__init__(core, *sizes, norm="instance", head="flat", outputs=outputs)

    @property
    def count(self) -> int:
        """N, the number of patches."""
        return (self.lookback - self.patch) // self.stride + 2

    def patches(self, x: Tensor) -> Tensor:
        """The patches (B, C, N, P) of x (B, L, C)."""
        return torch.cat([x, x[:, -1:].expand(-1, self.stride, -1)], 1).mT.unfold(2, self.patch, self.stride)
