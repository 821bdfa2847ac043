"""Which words word2vec's skip-gram meets together: subsampled text, windows of random radius, words drawn as noise.

It has no splits and no metric, so it is no `rtx_lib.tasks.Task`: word2vec is judged by what its vectors are good for.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from rtx_lib.shapes import expect, expect_each, expect_ids

Rows = tuple[Tensor, Tensor, Tensor]
_NOWHERE = -1  # the sentence to which what lies beyond the text belongs


class SkipGrams:
    """Passes through a text in which each word asks for the words around it, and not for words drawn at random.

    ::

        text      the old | man sat on the mat | ...        length=4, window=2
        centres           man sat on  the                   T words of the text: each asks, with radius 1 or 2
        others    the old man sat on  the mat ...           T + 2 window words: who may be asked for
                  ... tree, is, seven                       N words drawn as noise, for all T together
        y         "man", radius 2:  0 0 0 1 1 0 0 0  -2k/N -2k/N -2k/N
                  "sat", radius 1:  0 0 1 0 1 0 0 0  -2k/N -2k/N -2k/N

    In each pass every sentence comes once, in a new order. As in the authors' code, each occurrence of a word stays
    with a probability of its own, and the windows close over what falls out; the radius of each window is drawn from 1,
    ..., window; windows end with their sentence. What stays is cut into rows of T centres.

    Their code draws k noise words for each pair. Here N words are drawn for a row, and each centre meets all of them,
    with a weight of k/N for each word that stood around it. In expectation that is the same; it is faster, because the
    scores of a row are one product of two small matrices (compare Ji et al. 2016, arXiv 1604.04661). A noise word that
    is the right one counts for nothing in this pair.

    The attribute `counts` (V,) holds how often each word stands in the text, and is 0 for what was left out.

    Parameters
    ----------
    sentences
        The ids of the words of each sentence, which may be empty.
    vocabulary
        V.
    window
        The largest radius, 5 in the authors' code.
    negatives
        k. The paper has 5 to 20 for small data (section 2.2).
    keep
        From the counts (V,) of the words to the probabilities (V,) with which they stay in the text, such as
        `keep_probability` of the model's file; None: all stay.
    noise
        From the counts to a table (V,) that sums up from word to word how probable each is as noise, such as
        `cumulative_table` of the model's file; None: as frequent as in the text.
    left_out
        Ids that are no words: they are taken out of the text before all else.
    length
        T.
    shared
        N.
    """

    def __init__(
        self,
        sentences: Iterable[Sequence[int]],
        vocabulary: int,
        *,
        window: int = 5,
        negatives: int = 5,
        keep: Callable[[Tensor], Tensor] | None = None,
        noise: Callable[[Tensor], Tensor] | None = None,
        left_out: Sequence[int] = (),
        length: int = 32,
        shared: int = 16,
    ) -> None:
        expect_each(vocabulary=vocabulary, window=window, negatives=negatives, length=length, shared=shared)
        self.vocabulary, self.window, self.negatives = vocabulary, window, negatives
        self.length, self.shared = length, shared
        texts = [list(sentence) for sentence in sentences]
        ids = torch.tensor([number for text in texts for number in text], dtype=torch.int64)
        expect_ids(ids[None], self.vocabulary, "sentences")
        of = torch.arange(len(texts)).repeat_interleave(torch.tensor([len(text) for text in texts], dtype=torch.int64))
        words = ~torch.isin(ids, torch.tensor(list(left_out), dtype=torch.int64))
        self._ids, self._of = ids[words], of[words]  # each word and the number of its sentence
        if not (self._of[1:] == self._of[:-1]).any():
            raise ValueError(f"sentences must hold two words that stand together, got {len(self._ids)} words")
        self._sentences = len(texts)
        self.counts = self._ids.bincount(minlength=self.vocabulary)
        self._keep = torch.ones(self.vocabulary) if keep is None else keep(self.counts)
        self._noise = self.counts.cumsum(0) if noise is None else noise(self.counts)
        expect(self._keep, (vocabulary,), "keep")
        expect(self._noise, (vocabulary,), "noise")
        if self._noise.is_floating_point() or (self._noise.diff() < 0).any() or self._noise[-1] < 1:
            raise ValueError(f"noise must give whole numbers that rise, got {self._noise[:4].tolist()}, ...")

    def passes(
        self, count: int = 3, size: int = 32, *, generator: torch.Generator
    ) -> Iterator[tuple[float, tuple[Tensor, Tensor], Tensor]]:
        """So many passes through the text, in batches of ``size`` rows, the last of a pass may be smaller.

        Yields
        ------
        done
            The share of all passes that lies behind, from 0 to below 1.
        x
            The pair centres (B, T), others (B, T + 2 window + N) of ids.
        y
            (B, T, T + 2 window + N): 1 for each pair of words that stand together, minus the weight of each word drawn
            as noise, and 0 for the rest.
        """
        expect_each(count=count, size=size)
        for number in range(count):
            rows = self._rows(generator)
            pieces = zip(*(part.split(size) for part in rows), strict=True)
            for at, (around, of, radius) in enumerate(pieces):
                done = (number + at * size / len(rows[0])) / count
                yield done, *self._batch(around, of, radius, generator)

    def _rows(self, generator: torch.Generator) -> Rows:
        """One pass: words (R, S) and their sentences (R, S), S = T + 2 window, and the radius of each centre (R, T)."""
        order = torch.randperm(self._sentences, generator=generator)[self._of].argsort(stable=True)
        order = order[torch.rand(len(order), generator=generator) < self._keep[self._ids[order]]]
        rest, w = -len(order) % self.length if len(order) else self.length, self.window
        radius = F.pad(torch.randint(1, w + 1, (len(order),), generator=generator), (0, rest))
        ids, of = (part[order] for part in (self._ids, self._of))
        padded = F.pad(ids, (w, rest + w)), F.pad(of, (w, rest + w), value=_NOWHERE)
        around, of = (part.unfold(0, self.length + 2 * w, self.length) for part in padded)
        return around, of, radius.view(-1, self.length)

    def _batch(
        self, around: Tensor, of: Tensor, radius: Tensor, generator: torch.Generator
    ) -> tuple[tuple[Tensor, Tensor], Tensor]:
        """x and y of some rows, with noise."""
        w = self.window
        away = (torch.arange(around.shape[1]) - w - torch.arange(self.length)[:, None]).abs()  # (T, S)
        together = (away > 0) & (away <= radius[..., None]) & (of[:, w:-w, None] == of[:, None])
        near = together.float()  # (B, T, S)
        at = torch.randint(int(self._noise[-1]), (len(around), self.shared), generator=generator)
        noise = torch.searchsorted(self._noise, at, right=True)  # (B, N)
        other = (around[..., None] != noise[:, None]).float()  # (B, S, N): 0 where noise is the right word
        y = torch.cat([near, near @ other * (-self.negatives / self.shared)], dim=-1)
        return (around[:, w:-w], torch.cat([around, noise], dim=-1)), y
