"""A sentence classifier out of anything that reads words, two such readers, and a pooling that looks several times.

The readers and the model of :mod:`rtx_lib.models.self_attention_classifier` have one form: ``reader(x, real) -> h``
from embedded words x (B, T, D) and the mask ``real`` (B, T), True where a word is, to h (B, T, C), with C the attribute
``output_size``. At padding x is 0, and what h holds there does not count.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_lib.shapes import expect, expect_each, expect_fits, expect_sentences

from .attention import masked_softmax
from .blocks import undrawn, uniform_linear, xavier_linear
from .embedding import table
from .stacking import draw_uniform

PAD = 0
STD = 0.1  # deviation of the first embeddings
POOLS = ("mean", "max")


class SentenceClassifier(nn.Module):
    """Embed the words, read them, pool over the sentence, and map to one logit a class::

        e_t = E[x_t]
        h   = reader(e)                         or e itself without a reader
        y   = W pool_t h_t + b                  over the words, padding left out

    Without a reader and with the mean, y is the mean over the words of one number each, W E[x_t] + b: a bag of words
    in which no word can change what another one means.

    W and b start from U(-1/sqrt(C), 1/sqrt(C)).

    Parameters
    ----------
    vocabulary, output_size
        Numbers of words, of which id 0 is padding, and of classes.
    width
        D, of the embeddings; they start from N(0, 0.1^2).
    reader
        A module of the form above, or None.
    pool
        ``"mean"``, ``"max"``: of each of the C numbers the largest in the sentence; or a module ``pool(h, real)``, such
        as :class:`StructuredAttention`, that returns (B, output_size) numbers or several rows of them.
    dropout
        Share of the embeddings' numbers set to 0 in training.
    """

    def __init__(
        self,
        vocabulary: int,
        output_size: int,
        *,
        width: int,
        reader: nn.Module | None = None,
        pool: str | nn.Module = "mean",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if not isinstance(pool, nn.Module):
            expect_each(pool=(pool, POOLS))
        self.input_size, self.output_size, self.pool = vocabulary, output_size, pool
        self.embedding, self.dropout, self.reader = table(vocabulary, width, STD), nn.Dropout(dropout), reader
        last = pool if isinstance(pool, nn.Module) else reader
        size = width if last is None else int(last.output_size)  # type: ignore[arg-type]
        self.readout = uniform_linear(size, output_size)

    def forward(self, x: Tensor, state: None = None) -> tuple[Tensor, None]:
        """Map ids (B, T), words first and then padding (0), to logits (B, 1, classes); there is no state."""
        real = expect_sentences(x, self.input_size, "x")[1]
        h = embed_words(self.embedding, self.dropout, x, real)
        if self.reader is not None:
            h = self.reader(h, real)
        pool = {"mean": masked_mean, "max": masked_max}[self.pool] if isinstance(self.pool, str) else self.pool
        return self.readout(pool(h, real).flatten(1))[:, None], None


def turned(x: Tensor, real: Tensor | None) -> Tensor:
    """x (B, T, C) from each sentence's last word on; the padding stays where it is, behind. Twice is the identity.

    ``real`` (B, T) is True at words; None: everywhere.
    """
    if real is None:
        return x.flip(1)
    position, lengths = torch.arange(x.shape[1], device=x.device), real.sum(1, keepdim=True)
    places = torch.where(real, lengths - 1 - position, position)
    return x.gather(1, places[..., None].expand_as(x))


class BothWays(nn.Module):
    """Two recurrent cores, of which the second reads each sentence from its own last word (Schuster and Paliwal 1997).

    h_t = [forward h_t; backward h_t]. A core is a module ``x -> (h, state)`` with ``output_size``, such as
    :class:`~rtx_lib.layers.cells.LSTM`. A bidirectional layer would begin with the padding behind a short sentence.

    Parameters
    ----------
    forward_core, backward_core
        The second may be None: then the forward states are all there is.
    """

    def __init__(self, forward_core: nn.Module, backward_core: nn.Module | None = None) -> None:
        super().__init__()
        self.forward_core, self.backward_core = forward_core, backward_core
        cores: list[Any] = [core for core in (forward_core, backward_core) if core is not None]
        self.output_size = sum(core.output_size for core in cores)

    def forward(self, x: Tensor, real: Tensor) -> Tensor:
        """The states (B, T, C) of embedded words x (B, T, D)."""
        h, _ = self.forward_core(x)
        if self.backward_core is None:
            return h
        backward, _ = self.backward_core(turned(x, real))
        return torch.cat([h, turned(backward, real)], dim=-1)


class WordConvolution(nn.Module):
    """Filters over a few neighbouring words, ReLU behind them (Kim 2014, eq. 2); Kim takes their maximum over time.

    Filters and biases start from torch's default rule, U(-1/sqrt(D k), 1/sqrt(D k)).

    Parameters
    ----------
    width, channels
        D, and the number of filters of each size.
    kernel_sizes
        Numbers of words that a filter sees; Kim has 3, 4 and 5. Beyond the sentence there are zeros.
    """

    def __init__(self, width: int, channels: int, kernel_sizes: Sequence[int] = (3, 4, 5)) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(undrawn(nn.Conv1d, width, channels, size) for size in kernel_sizes)
        for convolution, size in zip(self.convolutions, kernel_sizes, strict=True):
            draw_uniform(convolution, width * size)
        self.output_size = channels * len(kernel_sizes)

    def forward(self, x: Tensor, real: Tensor) -> Tensor:
        """The features (B, T, C) of embedded words x (B, T, D): size k sees (k-1)//2 words before and k//2 behind."""
        x = x.transpose(1, 2)  # (B, D, T)
        features = []
        for convolution in self.convolutions:
            (size,) = convolution.kernel_size  # type: ignore[misc]
            features.append(convolution(F.pad(x, ((size - 1) // 2, size // 2))))
        return torch.cat(features, dim=1).relu().transpose(1, 2)


class StructuredAttention(nn.Module):
    """Several weighted means of one sentence (Lin et al. 2017, section 2.1)::

        A = softmax(W_2 tanh(W_1 H^T))          (r, T), over the words of each row
        M = A H                                 (r, C)

    Z. Lin et al., *A Structured Self-Attentive Sentence Embedding*, ICLR 2017 (arXiv 1703.03130). What the rows ask for
    is learned and the same for every sentence, r queries in all, where a layer of self-attention has one for each word.
    The paper's H are the states of a BiLSTM, and a ReLU layer stands between M and the classes. The authors' code gives
    both maps a bias; b_2, the same at all words, would change nothing. A hook on ``weights_tap`` sees A, (B, r, T).

    W_1 and W_2 start Xavier-uniform.

    Parameters
    ----------
    width, inner, hops
        C; the rows of W_1; and r.
    """

    def __init__(self, width: int, inner: int, hops: int) -> None:
        super().__init__()
        expect_each(width=width, inner=inner, hops=hops)
        self.hidden, self.score = xavier_linear(width, inner, bias=False), xavier_linear(inner, hops, bias=False)
        self.weights_tap, self.output_size = nn.Identity(), hops * width

    def forward(self, h: Tensor, real: Tensor) -> Tensor:
        """M (B, r, C) of the states h (B, T, C) at the words, where the mask ``real`` (B, T) is True."""
        expect(h, ("B", "T", self.hidden.in_features), "h", like=self.hidden.weight)
        expect_fits("real", real, h.shape[:2])
        scores = self.score(self.hidden(h).tanh()).mT  # (B, r, T)
        pooled: Tensor = self.weights_tap(masked_softmax(scores, real[:, None])) @ h
        return pooled


def overlap_penalty(weights: Tensor) -> Tensor:
    """``||A A^T - I||_F^2`` (B,) of weights A (B, r, T) (Lin et al. 2017, section 2.2), at least 0.

    With rows that sum to 1 it is 0 only if each looks at one word and no two at the same. The paper adds it to the loss
    with a factor; the authors' code takes the mean of the r^2 squares in place of their sum.
    """
    rows = expect(weights, "B r T", "weights") @ weights.mT
    return (rows - torch.eye(rows.shape[1], dtype=rows.dtype, device=rows.device)).square().sum((1, 2))


def embed_words(embedding: nn.Embedding, dropout: Callable[[Tensor], Tensor], x: Tensor, real: Tensor) -> Tensor:
    """The embeddings (B, T, D) of ids (B, T), after dropout, and 0 at padding."""
    return dropout(embedding(x)) * real[..., None]


def masked_mean(h: Tensor, real: Tensor) -> Tensor:
    """The mean (B, C) of h (B, T, C) over the words."""
    return (h * real[..., None]).sum(1) / real.sum(1, keepdim=True)


def masked_max(h: Tensor, real: Tensor) -> Tensor:
    """The largest of each of the C numbers of h (B, T, C) among the words, (B, C)."""
    return h.masked_fill(~real[..., None], -math.inf).amax(1)
