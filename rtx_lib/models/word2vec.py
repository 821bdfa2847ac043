"""word2vec: one vector for each word, learned by telling the words that stood near it from words drawn at random.

T. Mikolov, K. Chen, G. Corrado and J. Dean, *Efficient Estimation of Word Representations in Vector Space* (2013, arXiv
1301.3781), which has skip-gram and CBOW, and T. Mikolov, I. Sutskever, K. Chen, G. Corrado and J. Dean, *Distributed
Representations of Words and Phrases and their Compositionality* (NIPS 2013, arXiv 1310.4546), which has negative
sampling and whose equation numbers stand here. Where their code does otherwise than the papers:

- A frequent word is kept with a probability above the paper's. See :func:`keep_probability`.
- The code feeds the word nearby and predicts the one in the middle. The set of pairs is that of the paper.
- A word drawn as noise that happens to be the right one is left out, not drawn again; its y is 0 here.
- CBOW takes the mean of the words around, but adds the error to each of them undivided. So does this file.
- The code reads the sigmoid from a table whose index is computed in whole numbers: 83 places a unit in place of 83.33,
  so that it takes sigmoid(0) for 0.494. Here the sigmoid is exact.
- Threads write to the same vectors without locks. Here is one thread.

Which words meet as pairs is drawn by :mod:`rtx_lib.tasks.skipgram`.
"""

import math
from collections.abc import Iterable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_lib.shapes import expect, expect_each, expect_ids, expect_no_state, expect_tuple

KINDS = ("skip-gram", "cbow")
RULES = ("code", "paper")
LARGEST = 2**31 - 1  # the end of the cumulative table, which holds integers
LEAST_RATE = 1e-4  # the share of the learning rate at which its fall ends


def noise_distribution(counts: Tensor, power: float = 0.75) -> Tensor:
    """P_n(w) = n(w)^(3/4) / sum_v n(v)^(3/4), from which noise is drawn (section 2.2): (V,) from counts n (V,)."""
    raised = _expect_counts(counts).double() ** power
    return raised / raised.cumsum(0)[-1]


def cumulative_table(counts: Tensor, power: float = 0.75) -> Tensor:
    """P_n summed up over the words, as integers from 0 to 2^31 - 1: (V,).

    Of a random whole number below the last entry, the first word with an entry above it is distributed as P_n. The
    authors' code has a table of 10^8 words for the same end; this one is gensim's.
    """
    raised = _expect_counts(counts).double() ** power
    upto = raised.cumsum(0)
    return (upto / upto[-1] * LARGEST).round().long()


def keep_probability(counts: Tensor, sample: float = 1e-3, rule: str = "code") -> Tensor:
    """With which probability each occurrence of a word stays in the text: (V,) from counts (V,).

    ::

        f(w) = n(w) / sum_v n(v)
        paper   sqrt(t / f(w))                                                                   eq. 5
        code    sqrt(t / f(w)) + t / f(w)                                                        both at most 1

    Parameters
    ----------
    counts
        How often each word stands in the text.
    sample
        t, above 0: what is rarer than this share is always kept.
    rule
        ``"code"`` or ``"paper"``.
    """
    expect_each(rule=(rule, RULES), sample=(sample, "(0, inf]"))
    counts = _expect_counts(counts).double()
    ratio = sample / (counts / counts.sum())
    return (ratio.sqrt() + (ratio if rule == "code" else 0)).clamp(max=1)


def negative_sampling_loss(scores: Tensor, y: Tensor) -> Tensor:
    """What each score costs in nats, of the shape of both.

    ::

        L = - log sigmoid(s_o) - sum_{i=1..k} log sigmoid(- s_i)          o stood there, i = 1, ..., k are noise; eq. 4

    y is 1 for a word that stood there, -1 for noise and 0 for what does not count; its absolute value is a weight.
    """
    return y.abs() * F.softplus(-y.sign() * scores)


class Word2Vec(nn.Module):
    """Skip-gram or CBOW with two tables of vectors, of which the first is kept.

    ::

        v_t   = W_in[w_t]                   skip-gram: the word in the middle, (D)
        v     = 1/C sum_c W_in[w_c]         CBOW: the C words around
        s_tj  = v_t . W_out[w_j]            how well word j fits there

    W_in starts from U(-1/(2D), 1/(2D)), W_out from 0, as in the authors' code.

    Parameters
    ----------
    vocabulary
        V, number of words.
    width
        D.
    kind
        ``"skip-gram"`` or ``"cbow"``.
    """

    def __init__(self, vocabulary: int, width: int, *, kind: str = "skip-gram") -> None:
        super().__init__()
        expect_each(vocabulary=vocabulary, width=width, kind=(kind, KINDS))
        self.vocabulary, self.width, self.kind = vocabulary, width, kind
        self.inputs = nn.Parameter(torch.empty(vocabulary, width).uniform_(-0.5, 0.5) / width)  # W_in
        self.outputs = nn.Parameter(torch.zeros(vocabulary, width))  # W_out

    def forward(self, x: tuple[Tensor, Tensor], state: None = None) -> tuple[Tensor, None]:
        """Score words by how well they fit to others.

        Parameters
        ----------
        x
            The pair (words (B, T), others (B, J)) of ids. Skip-gram asks for each of the T words how well the others
            fit to it, CBOW how well they fit to all T together.
        state
            None.

        Returns
        -------
        scores
            (B, T, J), of CBOW (B, 1, J).
        state
            None.
        """
        words, others = self._expect_pair(x)
        expect_no_state(state, "there is no order in time")
        return self._hidden(words) @ F.embedding(others, self.outputs).mT, None

    def sentences(self, texts: Sequence[Tensor]) -> Tensor:
        """A vector for each text, as :func:`mean_vectors` makes it of the table that is kept."""
        return mean_vectors(self.inputs, texts)

    @torch.no_grad()
    def update(self, x: tuple[Tensor, Tensor], y: Tensor, rate: float, limit: float | None = None) -> Tensor:
        """Change the vectors by one step down the summed loss of all pairs at once; that loss before it.

        ::

            g_tj = - dL/ds_tj = y_tj sigmoid(- sign(y_tj) s_tj)
            W_in[w_t]  += rate sum_j g_tj W_out[w_j]          CBOW: each of the words around gets the whole sum
            W_out[w_j] += rate sum_t g_tj v_t

        Only the rows that occur are touched, so that a step costs the same for any vocabulary. Sums, not means, as if
        all pairs came one by one: a word that occurs often in the batch takes a long step, and one too long for the
        loss to fall sends the vectors to infinity. The limit keeps them.

        Parameters
        ----------
        x
            As for ``forward``.
        y
            As for :func:`negative_sampling_loss`, of the shape of the scores.
        rate
            The learning rate.
        limit
            No vector moves further than this in one step; None: as far as it is sent.
        """
        words, others = self._expect_pair(x)
        v, u = self._hidden(words), F.embedding(others, self.outputs)  # (B, T, D), (B, J, D)
        scores = v @ u.mT
        expect(y, scores.shape, "y", like=scores)
        g = rate * y * torch.sigmoid(-y.sign() * scores)
        error = (g @ u).expand(*words.shape, -1)
        _move(self.inputs, words, error, limit)
        _move(self.outputs, others, g.mT @ v, limit)
        return negative_sampling_loss(scores, y).sum()

    def _hidden(self, words: Tensor) -> Tensor:
        """v (B, T, D), of CBOW (B, 1, D)."""
        v = F.embedding(words, self.inputs)
        return v.mean(1, keepdim=True) if self.kind == "cbow" else v

    def _expect_pair(self, x: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        words, others = expect_tuple(x, 2, "(words, others)", "x")
        expect_ids(words, self.vocabulary, "words")
        expect(expect_ids(others, self.vocabulary, "others"), (words.shape[0], "J"), "others")
        return words, others


def mean_vectors(table: Tensor, texts: Sequence[Tensor]) -> Tensor:
    """A vector for each text, the mean of the rows (V, D) of its words: (B, D) from B tensors of ids (T,).

    A text without words gets zeros.
    """
    lengths = torch.tensor([len(text) for text in texts])
    if not len(texts) or not lengths.any():
        return table.new_zeros(len(texts), table.shape[1])
    words = expect_ids(torch.cat(list(texts))[None], len(table), "texts")[0].long().to(table.device)
    begins = (lengths.cumsum(0) - lengths).to(words.device)
    return F.embedding_bag(words, table, begins, mode="mean")


def fit_word2vec(
    model: Word2Vec,
    batches: Iterable[tuple[float, tuple[Tensor, Tensor], Tensor]],
    lr: float = 0.025,
    limit: float | None = 0.5,
) -> list[tuple[float, float]]:
    """Train on batches as they come, with a rate that falls linearly to 1e-4 of itself, as in the authors' code.

    Parameters
    ----------
    model
        Changed in place, on whatever device it is.
    batches
        Triples (done, x, y): the share of the training that lies behind, and what ``Word2Vec.update`` reads. So
        ``SkipGrams.passes`` yields them.
    lr
        The rate at the start. The authors take 0.025 for skip-gram and 0.05 for CBOW.
    limit
        As for ``Word2Vec.update``. The authors' code, pair by pair, needs none.

    Returns
    -------
    curve
        For each batch the share done and its loss in nats for each pair of words that stood together.

    Raises
    ------
    ValueError
        If lr or the limit is not above 0.
    ArithmeticError
        As soon as a loss is not finite: without a limit, batches may be too large for the rate.
    """
    expect_each(lr=(lr, "(0, inf]"), limit=(limit, "None or (0, inf]"))
    curve: list[tuple[float, float]] = []
    for done, (words, others), y in batches:
        x, y = (words.to(model.inputs.device), others.to(model.inputs.device)), y.to(model.inputs)
        loss = float(model.update(x, y, lr * max(LEAST_RATE, 1 - done), limit) / (y > 0).sum().clamp(min=1))
        if not math.isfinite(loss):
            raise ArithmeticError(f"loss is {loss} after {len(curve)} batches; set a limit, or take smaller batches")
        curve.append((done, loss))
    return curve


def _move(table: Tensor, ids: Tensor, steps: Tensor, limit: float | None) -> None:
    """Add steps (B, T, D) to the rows ids (B, T) of a table, to each row their sum, of at most this length."""
    found, place = ids.unique(return_inverse=True)
    step = table.new_zeros(len(found), table.shape[1]).index_add_(0, place.flatten(), steps.flatten(0, 1))
    if limit is not None:
        step *= (limit / step.norm(dim=1, keepdim=True)).clamp(max=1)
    table.index_add_(0, found, step)


def _expect_counts(counts: Tensor) -> Tensor:
    if counts.ndim != 1 or not bool((counts >= 0).all()) or not bool((counts > 0).any()):
        raise ValueError(f"counts must be (V,), at least 0 and one above it, got {str(counts.tolist())!r:.60}")
    return counts
