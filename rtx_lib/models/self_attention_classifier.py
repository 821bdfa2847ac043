"""The self-attention network for sentiment: one layer of attention and hardly anything else.

A. Ambartsoumian and F. Popowich, *Self-Attention: A Better Building Block for Sentiment Analysis Neural Network
Classifiers*, WASSA 2018 (arXiv 1812.07860). Their network, SSAN, is the attention of Vaswani et al. (2017) without what
a Transformer puts around it: no residual connection, no norm, no feed-forward network, one layer, and in the end the
mean over the words. Queries, keys and values pass a ReLU. Positions are none, sinusoids or Shaw's distances.

Where the authors' code does otherwise than a reader of the paper expects:

- Padding is masked nowhere: every word attends to it, and the mean counts it. Sentences are padded to the longest of
  training, validation and test set, so that what a sentence is told to be depends on other sentences. This file masks
  it; ``padding=None`` computes what the code does.
- A fifth of what comes out of attention stays dropped out in tests: the code keeps a share of ``keep - 0.2`` of it,
  and ``keep`` is 1 there. This file drops nothing in evaluation.
- The sinusoids of feature i have the exponent 2i/D where Vaswani et al. have 2i/D for the pair of features 2i and
  2i + 1, so that half of the frequencies are below 1/10,000. This file has the published ones.
"""

from typing import Any

import torch
from torch import Tensor, nn

from rtx_lib.layers.attention import MultiHeadAttention
from rtx_lib.layers.blocks import xavier_linear
from rtx_lib.layers.classifier import PAD, STD, embed_words, masked_mean
from rtx_lib.layers.embedding import table
from rtx_lib.layers.positions import make_schemes
from rtx_lib.shapes import expect_each, expect_sentences

POSITIONS = ("none", "sinusoidal", "shaw")


class ReluAttention(MultiHeadAttention):
    """Multi-head self-attention with a ReLU on queries, keys and values, and on what comes out::

        q, k, v = relu(W_Q x + b_Q), relu(W_K x + b_K), relu(W_V x + b_V)
        y = relu(W_O [head_1; ...; head_H] + b_O)

    Without Shaw's distances no score can be below 0. Parameters, options and errors are those of
    :class:`~rtx_lib.layers.attention.MultiHeadAttention`.
    """

    def forward(self, x: Tensor, *arguments: Any, **options: Any) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Attend; arguments and results are those of multi-head attention."""
        y, cache = super().forward(x, *arguments, **options)
        return y.relu(), cache

    def _heads(self, z: Tensor, *counts: int) -> tuple[Tensor, ...]:
        return super()._heads(z.relu(), *counts)


class SelfAttentionClassifier(nn.Module):
    """SSAN, the self-attention network for sentiment (Ambartsoumian and Popowich 2018)::

        x_t = E[id_t]                           plus the sinusoid of t, if asked for
        h_t = relu attention of x_t to all words
        s   = relu(W_s mean_t h_t + b_s)        the sentence
        y   = W_y s                             one logit a class

    Without positions the network sees a bag of words: any order of them gives the same answer. But it is no sum over
    single words, as the weight of each depends on the others.

    The embeddings start from N(0, 0.1^2), the attention by its own rule, W_s and W_y by Glorot's uniform one, b_s at 0.

    Parameters
    ----------
    vocabulary, output_size
        Numbers of words and of classes.
    width, heads
        D and H, which divides it.
    positions
        ``"none"``, ``"sinusoidal"`` or ``"shaw"``.
    clip
        With ``"shaw"``, the distance c from which on all look alike; 10 in the paper.
    dropout
        Share of the embeddings' numbers set to 0 in training.
    padding
        The id that is no word. With None every id is one.
    """

    def __init__(
        self,
        vocabulary: int,
        output_size: int,
        *,
        width: int,
        heads: int = 1,
        positions: str = "none",
        clip: int = 10,
        dropout: float = 0.0,
        padding: int | None = PAD,
    ) -> None:
        super().__init__()
        expect_each(positions=(positions, POSITIONS))
        self.input_size, self.output_size, self.padding = vocabulary, output_size, padding
        self.positions: Any
        self.positions, (of_layer,) = make_schemes(positions, 1, width=width, heads=heads, clip=clip)
        self.embedding, self.dropout = table(vocabulary, width, STD), nn.Dropout(dropout)
        self.attention = ReluAttention(width, heads, positions=of_layer)
        self.sentence = xavier_linear(width, width)
        self.readout = xavier_linear(width, output_size, bias=False)

    def forward(self, x: Tensor, state: None = None) -> tuple[Tensor, None]:
        """Map ids (B, T), words first and then padding, to logits (B, 1, classes); there is no state."""
        real = expect_sentences(x, self.input_size, "x", self.padding)[1]
        e = embed_words(self.embedding, self.dropout, x, real)
        if self.positions is not None:
            e = self.positions.embed(e)
        h, _ = self.attention(e, mask=None if self.padding is None else real[:, None, None])
        return self.readout(torch.relu(self.sentence(masked_mean(h, real))))[:, None], None
