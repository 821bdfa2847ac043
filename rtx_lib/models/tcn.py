"""The temporal convolutional network: causal convolutions whose reach doubles from level to level.

S. Bai, J. Z. Kolter and V. Koltun, *An Empirical Evaluation of Generic Convolutional and Recurrent Networks for
Sequence Modeling*, 2018 (arXiv 1803.01271), the baseline that the R-Transformer's authors compare with. The paper's
dilated convolution (section 3.3) counts the filter's taps f(0), ..., f(k-1) backwards in time,

    F(s) = sum_{i=0}^{k-1} f(i) x_{s - d i}                        x = 0 before the start

Where the authors' code (locuslab/TCN) does otherwise than the paper:

- The paper draws weights from N(0, 0.01), 0.01 being the deviation. The code does so too, but its weight
  normalisation computes the weight again from g and v at the first forward pass, and these still hold torch's
  default. Only the 1x1 convolutions, which are not normalised, start as published. See ``init`` of :class:`TCN`.
- The paper drops whole channels; the code drops single values, and so does this file.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_lib.layers.blocks import undrawn, uniform_linear
from rtx_lib.layers.official import load_official, reads_official, renamed
from rtx_lib.shapes import Shape, expect, expect_each, expect_ids, expect_state

INITS = ("effective", "published")
PUBLISHED_STD = 0.01


class CausalConv(nn.Module):
    """A dilated convolution that sees no later input, with its weight normalised (section 3.4).

    The filter of every output channel is w = g v / ||v||, the norm over input channels and taps (Salimans and Kingma
    2016, eq. 2). ``weight_v`` (C_out, C_in, k), ``weight_g`` (C_out, 1, 1) and ``bias`` (C_out,) have the names of
    the authors' code; the last tap is the present.

    Parameters
    ----------
    inputs, outputs
        C_in and C_out.
    kernel_size, dilation
        k, and the distance d between taps.
    std
        Deviation of a normal distribution of the first weights; U(-b, b), b = 1 / sqrt(C_in k), torch's default, if
        None. The biases start with the latter in either case, as in the authors' code.
    """

    def __init__(self, inputs: int, outputs: int, kernel_size: int, dilation: int, *, std: float | None = None) -> None:
        super().__init__()
        self.dilation, self.padding = dilation, (kernel_size - 1) * dilation
        v = torch.empty(outputs, inputs, kernel_size)
        bound = 1 / math.sqrt(inputs * kernel_size)
        v = v.uniform_(-bound, bound) if std is None else v.normal_(0, std)
        self.weight_g = nn.Parameter(v.norm(dim=(1, 2), keepdim=True))
        self.weight_v = nn.Parameter(v)
        self.bias = nn.Parameter(torch.empty(outputs).uniform_(-bound, bound))

    @property
    def weight(self) -> Tensor:
        """The effective filters w (C_out, C_in, k)."""
        return self.weight_v * (self.weight_g / self.weight_v.norm(dim=(1, 2), keepdim=True))

    def forward(self, x: Tensor, past: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Map x (B, C_in, T) to y (B, C_out, T).

        ``past`` (B, C_in, (k-1) d) are the inputs before x, zeros if None; the last ones come back with y.
        """
        x = F.pad(x, (self.padding, 0)) if past is None else torch.cat([past, x], dim=2)
        y = F.conv1d(x, self.weight, self.bias, dilation=self.dilation)
        return y, x[:, :, x.shape[2] - self.padding :].clone()  # a view would keep all of x


class TemporalBlock(nn.Module):
    """One level (figure 1b): twice convolution, ReLU and dropout, and a way around, with a ReLU on the sum.

    The way around is a 1x1 convolution, ``downsample``, where the numbers of channels differ.

    Parameters
    ----------
    inputs, outputs, kernel_size, dilation, std
        As in :class:`CausalConv`.
    dropout
        Probability with which a value is dropped in training.
    """

    def __init__(
        self, inputs: int, outputs: int, kernel_size: int, dilation: int, *, dropout: float, std: float | None = None
    ) -> None:
        super().__init__()
        self.conv1 = CausalConv(inputs, outputs, kernel_size, dilation, std=std)
        self.conv2 = CausalConv(outputs, outputs, kernel_size, dilation, std=std)
        self.downsample = None
        if inputs != outputs:
            self.downsample = undrawn(nn.Conv1d, inputs, outputs, 1)
            nn.init.normal_(self.downsample.weight, std=PUBLISHED_STD)
            bound = 1 / math.sqrt(inputs)
            nn.init.uniform_(self.downsample.bias, -bound, bound)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, past: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Map x (B, C_in, T) to y (B, C_out, T), with the inputs that either convolution continues from."""
        first, second = (None, None) if past is None else past
        y, first = self.conv1(x, first)
        y, second = self.conv2(self.dropout(F.relu(y)), second)
        around = x if self.downsample is None else self.downsample(x)
        return F.relu(self.dropout(F.relu(y)) + around), (first, second)


class TCN(nn.Module):
    """Levels of causal convolutions with dilations 1, 2, 4, ..., and a readout at every step.

    Parameters
    ----------
    input_size, output_size
        Widths of x, if no vocabulary is given, and of y.
    channels
        Number of channels of each level.
    kernel_size
        k, the number of taps; the paper has 2 to 8.
    vocabulary
        If given, x holds ids below it, and a table comes first, as wide as the last level. It starts from
        U(-0.1, 0.1), as in the authors' code for characters.
    dropout
        Probability with which a value is dropped in training after each convolution.
    init
        ``"effective"``: what the authors' code starts from. The convolutions' weights and the readout have torch's
        default rule, and only the 1x1 convolutions N(0, 0.01). ``"published"``: N(0, 0.01) takes effect in all of
        them, as the paper says; the biases keep torch's default.
    """

    def __init__(
        self,
        input_size: int,
        output_size: int,
        channels: Sequence[int],
        kernel_size: int,
        *,
        vocabulary: int | None = None,
        dropout: float = 0.0,
        init: str = "effective",
    ) -> None:
        super().__init__()
        expect_each(channels=(channels, "sizes"), init=(init, INITS))
        self.input_size, self.output_size, self.channels = input_size, output_size, tuple(channels)
        self.kernel_size, self.init = kernel_size, init
        self.embedding: nn.Embedding | None = None
        if vocabulary is not None:
            rows = torch.empty(vocabulary, channels[-1]).uniform_(-0.1, 0.1)
            self.embedding = nn.Embedding.from_pretrained(rows, freeze=False)
        std = PUBLISHED_STD if init == "published" else None
        sizes = [input_size if vocabulary is None else channels[-1], *channels]
        blocks = ((sizes[i], sizes[i + 1], kernel_size, 2**i) for i in range(len(channels)))
        self.network = nn.ModuleList(TemporalBlock(*own, dropout=dropout, std=std) for own in blocks)
        self.readout = uniform_linear(channels[-1], output_size)
        if std is not None:
            nn.init.normal_(self.readout.weight, std=std)

    @property
    def receptive_field(self) -> int:
        """How many of the last inputs an output depends on: 1 + 2 (k-1) (2^L - 1) for L levels."""
        return 1 + 2 * (self.kernel_size - 1) * (2 ** len(self.channels) - 1)

    def forward(self, x: Tensor, state: tuple[Tensor, ...] | None = None) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Map floats (B, T, input_size) or ids (B, T) to y (B, T, output_size).

        The state has for each convolution its last (k-1) d inputs, (B, C_in, (k-1) d); zeros if None.
        """
        if self.embedding is None:
            expect(x, ("B", "T", self.input_size), like=self.readout.weight)
        else:
            x = self.embedding(expect_ids(x, self.embedding.num_embeddings))
        state = expect_state(state, self.state_shapes(x.shape[0]), x)
        h, after = x.transpose(1, 2), []  # (B, C, T)
        for i, level in enumerate(self.network):
            h, pasts = level(h, state[2 * i : 2 * i + 2])
            after += pasts
        return self.readout(h.transpose(1, 2)), tuple(after)

    @classmethod
    @reads_official
    def from_official(cls, arrays: Mapping[str, Tensor], **options: Any) -> "TCN":
        """The model with the arrays of locuslab/TCN's for sequences of numbers, by their names there."""
        weights = official_weights(arrays)
        depth = sum(name.endswith("conv1.bias") for name in weights)
        channels = [len(weights[f"network.{level}.conv1.bias"]) for level in range(depth)]
        _, inputs, taps = weights["network.0.conv1.weight_v"].shape
        return load_official(cls(inputs, len(weights["readout.bias"]), channels, taps, **options), weights)

    def state_shapes(self, batch: int) -> list[Shape]:
        """Each convolution's last inputs."""
        convolutions = [module for module in self.modules() if isinstance(module, CausalConv)]
        return [(batch, conv.weight_v.shape[1], conv.padding) for conv in convolutions]


def official_weights(arrays: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Parameters of locuslab/TCN by our names; what a level calls ``net`` is the same once more."""
    return renamed(arrays, {r"^.*\.net\..*$": "", r"^tcn\.": "", r"^linear\.": "readout."})
