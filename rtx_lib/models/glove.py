"""GloVe: vectors whose products are the logarithms of how often two words stood together.

J. Pennington, R. Socher and C. D. Manning, *GloVe: Global Vectors for Word Representation* (EMNLP 2014), in the order
of its section 3; how it is trained is in section 4.2. Where this file does otherwise than the authors' code (glove.c):

- The code takes its pairs one by one; here some thousand of them make one step, with the sum of their gradients.
- The code's sums of squares start from 1, and what they add is the square of rate times gradient, after the step: in a
  few passes hardly more than plain descent. Here is AdaGrad as it was published, from sums of 0.
- The code starts biases as it starts vectors; here they start from 0.
"""

from collections.abc import Iterable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_lib.models.word2vec import mean_vectors
from rtx_lib.shapes import expect, expect_each, expect_ids

LEAST = 1e-9  # stands for a count of 0, whose logarithm weighs nothing


def cooccurrences(
    sentences: Iterable[Sequence[int]], vocabulary: int, window: int = 10, left_out: Sequence[int] = ()
) -> Tensor:
    """X (V, V): how often two words stood together in a sentence, d places apart counting 1/d.

    Parameters
    ----------
    sentences
        The ids of the words of each sentence.
    vocabulary
        V. The table is dense: a vocabulary of 10,000 takes 400 MB.
    window
        The largest d; 10 in the paper.
    left_out
        Ids that are no words: they are taken out of the text before all else.
    """
    expect_each(vocabulary=vocabulary, window=window)
    texts = [torch.tensor(list(sentence), dtype=torch.int64) for sentence in sentences]
    ids = expect_ids(torch.cat(texts)[None], vocabulary, "sentences")[0]
    of = torch.arange(len(texts)).repeat_interleave(torch.tensor([len(text) for text in texts]))
    words = ~torch.isin(ids, torch.tensor(list(left_out), dtype=torch.int64))
    ids, of = ids[words], of[words]  # each word and the number of its sentence
    after = torch.zeros(vocabulary**2)
    for d in range(1, window + 1):
        same = of[d:] == of[:-d]
        after += (ids[:-d][same] * vocabulary + ids[d:][same]).bincount(minlength=vocabulary**2) / d
    return after.view(vocabulary, vocabulary) + after.view(vocabulary, vocabulary).T


def pair_weight(counts: Tensor, x_max: float = 100.0) -> Tensor:
    """f(x) = min(1, (x / x_max)^(3/4)), 0 for a pair that never occurred; of any shape."""
    return (counts / x_max).clamp(max=1) ** 0.75


class GloVe(nn.Module):
    """Two tables of vectors and two of biases, fitted to log counts::

        s_ij = w_i . u_j + b_i + c_j
        J    = 1/2 sum_ij f(X_ij) (s_ij - log X_ij)^2          over the pairs that occurred

    The paper's J is twice this; the half is the code's. X is symmetric, so that w and u differ by their start alone;
    their sum is what is used. Vectors start from U(-1/(2D), 1/(2D)), biases from 0.

    Parameters
    ----------
    vocabulary
        V, number of words.
    width
        D.
    """

    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__()
        expect_each(vocabulary=vocabulary, width=width)
        self.vocabulary = vocabulary
        self.inputs, self.outputs = (
            nn.Parameter(torch.empty(vocabulary, width).uniform_(-0.5, 0.5) / width) for _ in range(2)
        )
        self.in_bias, self.out_bias = (nn.Parameter(torch.zeros(vocabulary, 1)) for _ in range(2))

    def forward(self, words: Tensor, others: Tensor) -> Tensor:
        """s (N,): how words (N,) go with others (N,), each with its own."""
        i, j = expect_ids(torch.stack([words, others]), self.vocabulary, "words").long()
        products = F.embedding(i, self.inputs) * F.embedding(j, self.outputs)
        return products.sum(1) + F.embedding(i, self.in_bias)[:, 0] + F.embedding(j, self.out_bias)[:, 0]

    def loss(self, words: Tensor, others: Tensor, counts: Tensor, x_max: float = 100.0) -> Tensor:
        """What pairs of words (N,) and others (N,) add to J, given how often they stood together (N,)."""
        off = self(words, others) - expect(counts, words.shape, "counts").clamp(min=LEAST).log()
        return (pair_weight(counts, x_max) * off**2).sum() / 2

    def sentences(self, texts: Sequence[Tensor]) -> Tensor:
        """The mean of the vectors w + u of the words of each text: (B, D) from B tensors of ids (T,)."""
        return mean_vectors(self.inputs + self.outputs, texts)


def fit_glove(
    model: GloVe,
    counts: Tensor,
    passes: int = 25,
    *,
    size: int = 4096,
    lr: float = 0.05,
    x_max: float = 100.0,
    generator: torch.Generator,
) -> list[float]:
    """Train on all pairs that occurred, in a new order in each pass; the loss of each pass, for each of them.

    Parameters
    ----------
    model
        Changed in place.
    counts
        X (V, V), as of :func:`cooccurrences`, on the model's device.
    passes, size
        How often each pair comes, and how many of them make a step.
    lr, x_max
        The rate of AdaGrad, and the count from which on all pairs weigh the same; 0.05 and 100 in the paper.
    generator
        Draws the order, on the CPU.
    """
    expect_each(passes=passes, size=size, lr=(lr, "(0, inf)"), x_max=(x_max, "(0, inf)"))
    optimizer, curve = torch.optim.Adagrad(model.parameters(), lr=lr), []
    words, others = counts.nonzero(as_tuple=True)
    for _ in range(passes):
        total = 0.0
        for pairs in torch.randperm(len(words), generator=generator).to(counts.device).split(size):
            i, j = words[pairs], others[pairs]
            optimizer.zero_grad()
            loss = model.loss(i, j, counts[i, j], x_max)
            loss.backward()
            optimizer.step()
            total += loss.item()
        curve.append(total / len(words))
    return curve
