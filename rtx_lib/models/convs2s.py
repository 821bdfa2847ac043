"""ConvS2S: gated convolutions on either side, and every layer of the decoder attends to the source.

J. Gehring, M. Auli, D. Grangier, D. Yarats and Y. N. Dauphin, *Convolutional Sequence to Sequence Learning*, ICML 2017
(arXiv 1705.03122). It is computed here as in the authors' fairseq (models/fconv.py), which differs from the paper:

- The paper adds the context to a layer's output, after the way around. The code adds it before, to the gated
  convolution alone, with a factor sqrt(1/2) of its own, so that what the convolution gives is halved in all.
- The query, a sum of two terms, gets sqrt(1/2) too: eq. 1 has none.
- The encoder's gradients are divided by 2n, not by the number n of attentions (section 3.4).
- The code's mean of the attentions divides by the number of all layers, also those that do not attend.
- Padding is made 0 before each convolution of the encoder, but what the ways around carry there only at its end.
- When it decodes, fairseq keeps each convolution's last inputs and passes no gradient through them. Here it passes.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_lib.layers.embedding import table
from rtx_lib.shapes import Form, Pair, at_hand, expect_each, expect_ids, expect_pair, expect_state

PAD = 0
STD = 0.1  # of the embeddings
SQRT_HALF = math.sqrt(1 / 2)  # keeps the variance of a sum of two terms (section 3.4)

Memory = tuple[Tensor, Tensor, Tensor]  # keys and values (B, S, D), and where a word is (B, S)


class NormedLinear(nn.Module):
    """A linear map, also of a convolution's taps side by side, with its weight normalised: w = g v / ||v||.

    Each row has its norm. ``weight_v`` (D_out, D_in) starts from N(0, gain / D_in), ``weight_g`` (D_out, 1) as the
    norms, so that w = v, and ``bias`` (D_out,) at 0 (Salimans and Kingma 2016, eq. 2; gains: section 3.5).

    Parameters
    ----------
    inputs, outputs
        D_in and D_out.
    gain
        The share of the inputs that dropout keeps, and 4 times this where half of the outputs become the gates of a
        GLU: what comes out of these would else have about a quarter of the variance.
    """

    def __init__(self, inputs: int, outputs: int, *, gain: float = 1.0) -> None:
        super().__init__()
        v = torch.empty(outputs, inputs).normal_(0, math.sqrt(gain / inputs))
        self.weight_g = nn.Parameter(v.norm(dim=1, keepdim=True))
        self.weight_v = nn.Parameter(v)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x: Tensor) -> Tensor:
        """Map x (B, T, D_in) to (B, T, D_out)."""
        return F.linear(x, self.weight_v * (self.weight_g / self.weight_v.norm(dim=1, keepdim=True)), self.bias)


class Embedding(nn.Module):
    """Words and their learned positions, e = w + p (section 3.1); padding (id 0) is 0 and has no position."""

    def __init__(self, vocabulary: int, width: int, length: int) -> None:
        super().__init__()
        self.words, self.positions = table(vocabulary, width, STD), table(length, width, STD)

    def forward(self, ids: Tensor, read: Tensor | int = 0, *, name: str) -> Tensor:
        """e (B, T, D) of ids (B, T) that come after ``read`` words (B,)."""
        real, length = ids != PAD, self.positions.num_embeddings
        counted = real.cumsum(1) + (read.unsqueeze(1) if isinstance(read, Tensor) else read)  # from 1
        if at_hand(ids) and (end := int(counted.max())) > length:
            raise ValueError(f"{name} must end within the table of {length} positions, got {end} words")
        return (self.words(ids) + self.positions((counted - 1).clamp(min=0))) * real.unsqueeze(-1)


class Attention(nn.Module):
    """What a layer of the decoder reads of the source (section 3.3).

    ::

        d_i = sqrt(1/2) (W_d h_i + b_d + g_i)               g_i: embedding of the target symbol before
        a_ij = softmax_j(d_i . z_j)
        c_i = sqrt(m) sum_j a_ij sqrt(1/2) (z_j + e_j)      m words: the variance, if all a_ij are 1/m
        y_i = sqrt(1/2) (W_c c_i + b_c + h_i)
    """

    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        self.query, self.out = NormedLinear(channels, width), NormedLinear(width, channels)
        self.weights_tap = nn.Identity()  # the weights (B, T, S) go through here, for hooks

    def forward(self, h: Tensor, g: Tensor, memory: Memory) -> Tensor:
        """y (B, T, C) of h (B, T, C) and g (B, T, D)."""
        keys, values, real = memory
        d = SQRT_HALF * (self.query(h) + g)
        scores = (d @ keys.transpose(1, 2)).masked_fill(~real.unsqueeze(1), -math.inf)
        c = self.weights_tap(scores.softmax(-1)) @ values  # (B, T, D)
        m = real.sum(1).to(c.dtype).view(-1, 1, 1)
        return SQRT_HALF * (self.out(m.sqrt() * c) + h)


class GatedConv(nn.Module):
    """A convolution with gated linear units, of which a layer of either side is made (section 3.2)::

        [A B] = W x + b
        v([A B]) = A sigmoid(B)

    with a way around it: ``projection``, a linear map where the numbers of channels C_in and C differ.
    """

    def __init__(self, inputs: int, channels: int, kernel_size: int, keep: float) -> None:
        super().__init__()
        self.reach, self.dropout = kernel_size - 1, nn.Dropout(1 - keep)
        self.convolution = NormedLinear(kernel_size * inputs, 2 * channels, gain=4 * keep)
        self.projection = nn.Identity() if inputs == channels else NormedLinear(inputs, channels)

    def forward(self, x: Tensor) -> Tensor:
        """v (B, T - k + 1, C) of x (B, T, C_in)."""
        T = x.shape[1] - self.reach
        taps = [x[:, start : start + T] for start in range(self.reach + 1)]
        return F.glu(self.convolution(torch.cat(taps, dim=-1)), dim=-1)


class EncoderLayer(nn.Module):
    """y = sqrt(1/2) (v(conv x) + x), where the convolution reads k positions around its own, of an even k one more
    behind it than before it."""

    def __init__(self, *gated: Any) -> None:
        super().__init__()
        self.gated = GatedConv(*gated)

    def forward(self, x: Tensor, real: Tensor) -> Tensor:
        """Map x (B, S, C_in) to y (B, S, C); ``real``, bool (B, S), is False where zeros are read."""
        reach = self.gated.reach
        read = F.pad(self.gated.dropout(x) * real.unsqueeze(-1), (0, 0, reach // 2, reach - reach // 2))
        return SQRT_HALF * (self.gated(read) + self.gated.projection(x))


class DecoderLayer(nn.Module):
    """y = sqrt(1/2) (attend(v(conv x)) + x), where the convolution reads the last k positions."""

    def __init__(self, *gated: Any, attention: Attention | None) -> None:
        super().__init__()
        self.gated, self.attention = GatedConv(*gated), attention

    def forward(self, x: Tensor, g: Tensor, memory: Memory, past: Tensor) -> tuple[Tensor, Tensor]:
        """Map x (B, T, C_in) to y (B, T, C). ``past`` (B, k - 1, C_in) is what the convolution read before x; what the
        next piece needs comes back with y.
        """
        read = torch.cat([past, self.gated.dropout(x)], dim=1)
        y = self.gated(read)
        y = y if self.attention is None else self.attention(y, g, memory)
        return SQRT_HALF * (y + self.gated.projection(x)), read[:, x.shape[1] :].clone()


class ConvS2S(nn.Module):
    """Convolutional encoder-decoder with multi-step attention.

    ::

        encoder   x = W_1 e + b_1,  x <- sqrt(1/2) (v(conv x) + x) in each layer,  z = W_2 x + b_2
        decoder   h = W_3 g + b_3,  h <- sqrt(1/2) (attend(v(conv h)) + h) in each layer
        logits = W_5 (W_4 h + b_4) + b_5

    Scaling and first weights are those of sections 3.4 and 3.5. Some gradients are scaled too, so that what autograd
    gives is not the derivative of the output: second and forward-mode derivatives do not agree with it.

    Parameters
    ----------
    source_vocabulary, target_vocabulary
        Numbers of symbols; id 0 is padding on either side.
    width
        D, of the embeddings, keys and values.
    encoder, decoder
        The layers of either side, each a pair (channels, k). Both are
        9 x (512, 3), 4 x (1024, 3), 2 x (2048, 1) in the authors' code for English to German.
    attention
        For each layer of the decoder whether it attends; all of them if None, as in the paper.
    out_width
        Width of W_4's output; ``width`` if None.
    length
        Number of learned positions on either side, counted in words.
    dropout
        Probability with which a value is dropped in training: of the embeddings, the convolutions' inputs and the
        last layer's input.
    """

    def __init__(
        self,
        source_vocabulary: int,
        target_vocabulary: int,
        *,
        width: int,
        encoder: Sequence[tuple[int, int]],
        decoder: Sequence[tuple[int, int]],
        attention: Sequence[bool] | None = None,
        out_width: int | None = None,
        length: int = 1024,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        out_width = width if out_width is None else out_width
        sizes = "pairs of sizes"
        expect_each(encoder=(encoder, sizes), decoder=(decoder, sizes), dropout=(dropout, "[0, 1)"))
        attention = [True] * len(decoder) if attention is None else attention
        if len(attention) != len(decoder) or not any(attention):
            raise ValueError(f"attention must have an entry for each layer and be true in one, got {attention}")
        self.input_size, self.output_size = source_vocabulary, target_vocabulary
        keep, self.dropout = 1 - dropout, nn.Dropout(dropout)
        self.source_embedding = Embedding(source_vocabulary, width, length)
        self.target_embedding = Embedding(target_vocabulary, width, length)
        self.encoder_in = NormedLinear(width, encoder[0][0], gain=keep)
        self.encoder = nn.ModuleList(EncoderLayer(inputs, *size, keep) for inputs, size in _stacked(encoder))
        self.encoder_out = NormedLinear(encoder[-1][0], width)
        self.decoder_in = NormedLinear(width, decoder[0][0], gain=keep)
        self.decoder = nn.ModuleList(
            DecoderLayer(inputs, *size, keep, attention=Attention(size[0], width) if attends else None)
            for (inputs, size), attends in zip(_stacked(decoder), attention, strict=True)
        )
        self.decoder_out = NormedLinear(decoder[-1][0], out_width)
        self.readout = NormedLinear(out_width, target_vocabulary, gain=keep)
        self.attentions = sum(map(bool, attention))
        self.pasts = [(kernel_size - 1, inputs) for inputs, (_, kernel_size) in _stacked(decoder)]

    def forward(self, x: Pair, state: tuple[Tensor, ...] | None = None) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Predict every target symbol from those before it and the source.

        Parameters
        ----------
        x
            The pair (source (B, S), target_in (B, T)) of ids. target_in_t is the symbol before the one that step t
            predicts. Padding of the source changes nothing; in the target it is read as the vector 0.
        state
            What an earlier piece of target_in ended in; the source is then not read again and may be None.

        Returns
        -------
        logits
            (B, T, V).
        state
            (keys z (B, S, D), values sqrt(1/2) (z + e) (B, S, D), bool (B, S): True where a word is, number of symbols
            read (B,) int64, and for each layer of the decoder the last inputs of its convolution, (B, k - 1, C_in)).
        """
        source, target = expect_pair(x, self.output_size, state)
        state = self.encode(source) if state is None else state
        expect_state(state, self._state_form(target.shape[0]), self.encoder_out.weight_v)
        keys, values, real, read, *pasts = state
        g = self.dropout(self.target_embedding(target, read, name="target_in"))  # (B, T, D)
        h, after = self.decoder_in(g), []
        for layer, past in zip(self.decoder, pasts, strict=True):
            h, last = layer(h, g, (keys, values, real), past)
            after.append(last)
        logits = self.readout(self.dropout(self.decoder_out(h)))
        return logits, (keys, values, real, read + (target != PAD).sum(1), *after)

    def encode(self, source: Tensor | None) -> tuple[Tensor, ...]:
        """The state before the first target symbol, from ids (B, S)."""
        source = expect_ids(source, self.input_size, "source")
        real = source != PAD
        if at_hand(source) and not real.any(1).all():
            raise ValueError("source must have at least one word that is not 0 in each row, got none in one")
        e = self.dropout(self.source_embedding(source, name="source"))
        x = self.encoder_in(e)
        for layer in self.encoder:
            x = layer(x, real)
        z = self.encoder_out(x) * real.unsqueeze(-1)
        # The same z, through which the encoder gets the sum of what all n attentions send back over 2n.
        z = z.detach() + (z - z.detach()) / (2 * self.attentions)
        pasts = (z.new_zeros(z.shape[0], *past) for past in self.pasts)
        return z, SQRT_HALF * (z + e), real, torch.zeros_like(source[:, 0], dtype=torch.int64), *pasts

    def _state_form(self, batch: int) -> Form:
        """The shapes of what a call returns for such a batch: the memory, the symbols read and each layer's inputs."""
        memory = (batch, "S", len(self.encoder_out.weight_v))
        form: dict[str, Form] = {"keys": memory, "values": memory, "real": (batch, "S", torch.bool)}
        return form | {"read": (batch, torch.int64)} | {f"past {i}": (batch, *s) for i, s in enumerate(self.pasts)}


def _stacked(layers: Sequence[tuple[int, int]]) -> Iterator[tuple[int, tuple[int, int]]]:
    """Each layer's C_in, and its pair (channels, k); the first has as many channels below it as it has itself."""
    return zip((channels for channels, _ in (layers[0], *layers)), layers, strict=False)
