"""ByteNet: a decoder of dilated convolutions that stands on an encoder of dilated convolutions, position on position.

N. Kalchbrenner, L. Espeholt, K. Simonyan, A. van den Oord, A. Graves and K. Kavukcuoglu, *Neural Machine Translation
in Linear Time*, 2017 (arXiv 1610.10099). Nothing here attends. Target step t reads what the encoder says at position t
and whatever its convolutions reach: which word belongs to which symbol has to be carried there by fixed taps.

The paper leaves no code. Where it leaves a choice, or this file chooses otherwise:

- The encoder's output is added to the target's embedding, as in paarthneekhara/byteNet-tensorflow, a reimplementation.
- The order in a block is that of figure 3, left (ReLU); its norms have torch's epsilon of 1e-5.
- The published models have 30 blocks a side, 2d = 1600, and read characters.
"""

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_lib.shapes import Pair, Shape, expect_each, expect_pair, expect_sentences, expect_state


class ByteNetBlock(nn.Module):
    """The residual block with ReLUs (section 3.6, figure 3 left)::

        u = W_1 relu(LN(x)) + b_1                                     2d -> d
        v_t = b + sum_{j=0}^{k-1} W_j relu(LN(u))_{t - (k-1-j) r}     d -> d, with k taps that stand r apart
        y = x + W_2 relu(LN(v)) + b_2                                 d -> 2d

    This is the decoder's convolution, which reads no later step. In the encoder the taps lie on either side of t, the
    first of them floor((k-1) r / 2) steps before it. A tap that lies beyond the sequence reads zeros.

    Parameters
    ----------
    width
        2d, even.
    kernel_size, dilation
        k and r.
    causal
        Whether no output may depend on a later input.
    """

    def __init__(self, width: int, kernel_size: int, dilation: int, *, causal: bool) -> None:
        super().__init__()
        inner = width // 2
        self.causal, self.kernel_size, self.dilation = causal, kernel_size, dilation
        self.norms = nn.ModuleList(nn.LayerNorm(size) for size in (width, inner, inner))
        self.reduce = nn.Linear(width, inner)
        self.dilated = nn.Linear(kernel_size * inner, inner)  # of all taps side by side
        self.expand = nn.Linear(inner, width)

    def forward(self, x: Tensor, past: Tensor | None = None, *, real: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Map x (B, T, 2d) to y (B, T, 2d).

        ``past`` (B, (k-1) r, d) is what the dilated convolution of a causal block read before x, zeros if None; what
        the next piece needs comes back with y. ``real``, bool (B, T), is False where that convolution is to read
        zeros, as beyond the ends.
        """
        h = self.reduce(F.relu(self.norms[0](x)))
        h = F.relu(self.norms[1](h))
        h = h if real is None else h * real.unsqueeze(-1)
        reach, (_, T, _) = (self.kernel_size - 1) * self.dilation, h.shape
        before = reach if self.causal else reach // 2
        h = F.pad(h, (0, 0, before, reach - before)) if past is None else torch.cat([past, h], dim=1)
        taps = [h[:, start : start + T] for start in range(0, reach + 1, self.dilation)]  # (B, T, d) each
        y = self.dilated(torch.cat(taps, dim=-1))
        return x + self.expand(F.relu(self.norms[2](y))), h[:, T:].clone()


class ByteNet(nn.Module):
    """Encoder and decoder, one on the other (figure 1)::

        z = encoder(E_s source)                 blocks that read both ways, at positions 1..n of a sentence
        h = decoder(E_t y_{t-1} + z_t)          causal blocks; z_t = 0 for t > n
        logits = W_b relu(LN(W_a h + b_a)) + b_b

    How long the target will be is not known beforehand. The encoder is therefore run over ``n = ceil(a |s|)`` positions
    of a sentence of ``|s|`` words, of which those behind the words have no embedding, and the decoder is unfolded over
    these for as long as it likes; should the target turn out longer, it goes on without (dynamic unfolding,
    section 3.2). The time is linear in the lengths.

    Embeddings start from N(0, 1), all others by torch's own rule.

    Parameters
    ----------
    source_vocabulary, target_vocabulary
        Numbers of symbols; id 0 of the source is padding.
    width
        2d, the width of embeddings and blocks, even.
    kernel_size
        k of either side; 3 in the paper.
    dilations
        r of each block, on either side.
    unfold
        a, at least 1; 1.2 in the paper, from English to German.
    """

    def __init__(
        self,
        source_vocabulary: int,
        target_vocabulary: int,
        *,
        width: int,
        kernel_size: int = 3,
        dilations: Sequence[int] = (1, 2, 4, 8, 16),
        unfold: float = 1.2,
    ) -> None:
        super().__init__()
        expect_each(width=(width, "multiple of 2"), dilations=(dilations, "sizes"), unfold=(unfold, "[1, inf)"))
        self.reaches = [(kernel_size - 1) * dilation for dilation in dilations]
        self.input_size, self.output_size, self.unfold = source_vocabulary, target_vocabulary, unfold
        self.source_embedding = nn.Embedding(source_vocabulary, width)
        self.target_embedding = nn.Embedding(target_vocabulary, width)
        self.encoder, self.decoder = (
            nn.ModuleList(ByteNetBlock(width, kernel_size, dilation, causal=causal) for dilation in dilations)
            for causal in (False, True)
        )
        self.readout = nn.Sequential(
            nn.Linear(width, width), nn.LayerNorm(width), nn.ReLU(), nn.Linear(width, target_vocabulary)
        )

    def forward(self, x: Pair, state: tuple[Tensor, ...] | None = None) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Predict every target symbol from those before it and the source.

        Parameters
        ----------
        x
            The pair (source (B, S), target_in (B, T)) of ids. Each source holds at least one word, then padding (0)
            only; padding changes nothing. target_in_t is the symbol before the one that step t predicts.
        state
            What an earlier piece of target_in ended in; the source is then not read again and may be None.

        Returns
        -------
        logits
            (B, T, V).
        state
            What is left to read of z, (B, M, 2d), M falling to 0, and for each block of the decoder the last (k-1) r
            inputs of its dilated convolution, (B, (k-1) r, d).
        """
        source, target = expect_pair(x, self.output_size, state)
        h = self.target_embedding(target)  # (B, T, 2d)
        z, *pasts = self.encode(source) if state is None else expect_state(state, self.state_shapes(h.shape[0]), h)
        T, after = h.shape[1], []
        h = h + F.pad(z[:, :T], (0, 0, 0, max(T - z.shape[1], 0)))
        for block, past in zip(self.decoder, pasts, strict=True):
            h, last = block(h, past)
            after.append(last)
        return self.readout(h), (z[:, T:], *after)

    def encode(self, source: Tensor | None) -> tuple[Tensor, ...]:
        """The state before the first target symbol, from ids (B, S), where M = ceil(a S).

        z is 0 behind the positions over which a sentence is unfolded.
        """
        source, real = expect_sentences(source, self.input_size, "source")
        more = math.ceil(self.unfold * source.shape[1]) - source.shape[1]
        x = F.pad(self.source_embedding(source) * real.unsqueeze(-1), (0, 0, 0, more))
        position = torch.arange(x.shape[1], device=x.device)
        lengths = real.sum(1, keepdim=True).double()  # in which a |s| is what it is in Python
        unfolded = position < (self.unfold * lengths).ceil()  # (B, ceil(a S))
        for block in self.encoder:
            x, _ = block(x, real=unfolded)
        z = x * unfolded.unsqueeze(-1)
        return z, *(z.new_zeros(z.shape[0], reach, z.shape[2] // 2) for reach in self.reaches)

    def state_shapes(self, batch: int) -> list[Shape]:
        """What is to come of z, and each block's last inputs."""
        width = self.target_embedding.embedding_dim
        return [(batch, "M", width), *((batch, reach, width // 2) for reach in self.reaches)]
