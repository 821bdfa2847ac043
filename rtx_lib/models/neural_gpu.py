"""The Neural GPU: a small image that gated convolutions change step by step, as many steps as there are symbols.

Ł. Kaiser and I. Sutskever, *Neural GPUs Learn Algorithms*, ICLR 2016 (arXiv 1511.08228), section 2. The symbols lie in
the first column of an image s of n positions, w columns and m maps. A convolutional gated recurrent unit, CGRU,
computes all of its cells at once,

    u  = cut(U' * s + B')    r = cut(U'' * s + B'')    cut(a) = max(0, min(1, 1.2 sigmoid(a) - 0.1))
    s' = u s + (1 - u) tanh(U * (r s) + B)

with convolutions * over positions and columns. One step is l such units, one after the other, n symbols take n steps,
and the answer stands in the first column of the last image. All cells change at once, but there are n steps: no fewer
than in a recurrent network. What it has more of is work, O(n^2) instead of O(n).

Where the authors' code (tensorflow/models, 2016) does otherwise than the paper, this file follows the code:

- The embedding goes through a tanh and a linear map before it enters the image.
- The gates' biases start at 1: they are 0 and have 1 added. Padding is set to 0 after every unit.
- Dropout has the rate 0.15 * 8 / n, before every step.

Left out are six sets of parameters that are slowly pulled together (relaxation), and gradient noise, which that code
adds to a variable that it never uses.
"""

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_lib.shapes import expect, expect_each, expect_ids, expect_no_state

DROPOUT_LENGTH = 8


def cut(a: Tensor, cutoff: float = 1.2) -> Tensor:
    """The hard gate max(0, min(1, c sigmoid(a) - (c - 1) / 2)): fully open or shut from a finite ``a`` on.

    With a cutoff c of 1 it is the sigmoid.
    """
    return (cutoff * torch.sigmoid(a) - (cutoff - 1) / 2).clamp(0, 1)


class CGRU(nn.Module):
    """A gated recurrent unit whose state is an image and whose matrices are convolutions.

    ``gates`` gives u and r, in this order, and ``candidate`` what is written where u is below 1.

    Parameters
    ----------
    channels
        m, the number of maps.
    kernel_size
        k, an odd number: each convolution sees k x k cells, zeros around the image.
    cutoff
        c of :func:`cut`; the paper's is 1.2.
    """

    def __init__(self, channels: int, *, kernel_size: int = 3, cutoff: float = 1.2) -> None:
        super().__init__()
        expect_each(kernel_size=(kernel_size, "odd"), cutoff=(cutoff, "[1, inf]"))
        self.channels, self.cutoff = channels, cutoff
        self.gates = nn.Conv2d(channels, 2 * channels, kernel_size, padding="same")
        self.candidate = nn.Conv2d(channels, channels, kernel_size, padding="same")
        for name, parameter in self.named_parameters():
            if name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(self, s: Tensor) -> Tensor:
        """Map the image s (B, m, n, w), channels first, to s' of the same shape."""
        expect(s, ("B", self.channels, "n", "w"), "s", like=self.gates.weight)
        u, r = cut(self.gates(s) + 1, self.cutoff).chunk(2, dim=1)
        return u * s + (1 - u) * torch.tanh(self.candidate(r * s))


class NeuralGPU(nn.Module):
    """n steps of CGRUs on an image whose first column holds the n symbols; an answer at every position.

    Id 0 is padding, at the end of a row: its cells stay 0, and a row of l symbols is read after step l, so that
    neither the padding nor the rest of the batch changes its answer. All steps share one set of parameters, whatever n.
    A signal moves at most l (k-1) cells in a step: (k-1)/2 for each of two convolutions, r s and its candidate, of l
    units.

    Parameters
    ----------
    vocabulary, output_size
        Number of ids V, padding included; width of y.
    width, channels
        w and m, the image's columns and maps; the paper has 4 and 24.
    layers
        l, the number of CGRUs in a step.
    kernel_size, cutoff
        As in :class:`CGRU`.
    dropout
        Probability with which a value of the image is dropped before a step in training, for up to 8 positions; for n
        positions it is 8/n of that, as n steps drop n times.
    """

    def __init__(
        self,
        vocabulary: int,
        output_size: int,
        *,
        width: int = 4,
        channels: int = 24,
        layers: int = 2,
        kernel_size: int = 3,
        cutoff: float = 1.2,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        expect_each(width=width, layers=layers, dropout=(dropout, "[0, 1)"))
        self.output_size, self.width, self.dropout = output_size, width, dropout
        self.embedding = nn.Embedding(vocabulary, channels)
        self.input = nn.Linear(channels, channels)
        self.cgrus = nn.ModuleList(CGRU(channels, kernel_size=kernel_size, cutoff=cutoff) for _ in range(layers))
        self.readout = nn.Linear(channels, output_size)

    def forward(self, x: Tensor, state: None = None) -> tuple[Tensor, None]:
        """Map ids (B, T) to y (B, T, output_size); there is no state."""
        expect_no_state(state, "as the image starts anew")
        columns = torch.stack([image[..., 0] for image in self._steps(x)])  # (T + 1, B, m, T)
        lengths = (x != 0).sum(1)
        read = columns[lengths, torch.arange(x.shape[0], device=x.device)]  # (B, m, T)
        return self.readout(read.transpose(1, 2)), None

    def images(self, x: Tensor) -> Tensor:
        """The image before the first step and after each, (T + 1, B, T, w, m), from ids (B, T).

        A row of l symbols is read from image l; what comes later is left over.
        """
        return torch.stack(list(self._steps(x))).permute(0, 1, 3, 4, 2)

    def _steps(self, x: Tensor) -> Iterator[Tensor]:
        """The images (B, m, T, w), T + 1 of them."""
        mask = (expect_ids(x, self.embedding.num_embeddings) != 0)[:, None, :, None]
        column = self.input(torch.tanh(self.embedding(x))).transpose(1, 2)  # (B, m, T)
        image = F.pad(column[..., None], (0, self.width - 1)) * mask
        yield image
        for _ in range(x.shape[1]):
            image = F.dropout(image, self.dropout * DROPOUT_LENGTH / max(x.shape[1], DROPOUT_LENGTH), self.training)
            for cgru in self.cgrus:
                image = cgru(image) * mask
            yield image
