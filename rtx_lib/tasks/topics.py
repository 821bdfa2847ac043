"""Words of a text whose documents are about something: stop words by a rule, their topics by LDA, counted baselines."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from rtx_lib.shapes import expect_each
from rtx_lib.tasks.corpora import SOURCES, TEXTS, documents
from rtx_lib.tasks.splits import SPLITS, draw_batch, perplexity, run_through
from rtx_lib.tasks.vocabulary import SPECIAL, Vocabulary, text_of
from rtx_lib.tasks.windows import Windows, symbol_count, symbol_loss, symbol_metrics

SENTENCES = 10  # in a document, as Mikolov and Zweig (2012) cut PTB
STOPS = 0.2  # of the documents hold a stop word
RECENT = 200  # words in the cache
Gram = tuple[int, ...]


class TopicText:
    """Name the next word of a text, at every position, with what a model of topics needs to know of it.

    ::

        text    the court said [SEP] the judge ...           [SEP] ends a sentence
        x       the court said [SEP]                         y, one word later: court said [SEP] the
        stop     *          *    *                           stop words

    x and y (B, T) int64, read as a stream (or in windows). Documents are runs of ten sentences. `stop_words` are the
    ids that stand in a fifth of the training documents or more, and the special ones: no list is needed.
    `word_topics` gives LDA's p(topic | word).

    Metrics are "loss", "accuracy" and the mean losses of "stop words" and "other words", and of the words `watched`;
    `finish` adds "perplexity". Baselines, losses in nats on "test": "uniform guess loss", ln V; "unigram loss";
    "trigram loss", counts with back-off as :func:`witten_bell` defines them; and "trigram and cache loss", mixed with
    the shares of the last 200 words, in the proportion that does best on "valid".

    Parameters
    ----------
    source
        One of `rtx_lib.tasks.corpora.TEXTS`; its readers say how it is split.
    words, length
        V at most, and the length of a window.
    told
        Whether x is a pair in training, of the ids and the next ids, as `rtx_lib.models.topic_rnn.TopicRNN` needs it
        for its ELBO, the terms of which the loss then takes.
    watched
        How many words have a loss of their own: the commonest of "test", as many stop words as others.
    """

    files = SOURCES
    batch, batches, weight, decode = draw_batch, run_through, symbol_count, text_of

    def __init__(
        self, source: str = "pydoc", *, words: int = 3_000, length: int = 128, told: bool = False, watched: int = 0
    ) -> None:
        expect_each(source=(source, TEXTS), words=(words, len(SPECIAL) + 1), length=length, watched=(watched, 0))
        self.length, self.told, self.name = length, told, f"topics-{source}-{words}"
        self._read = (source, words)
        self.words, self.documents, self.stop_words = _read(*self._read)
        self.vocabulary = self.input_size = self.output_size = len(self.words)
        self.ids = {split: torch.tensor([*chain(*rows)]) for split, rows in self.documents.items()}
        self.splits = Windows(self.ids, length)
        stop = torch.zeros(self.vocabulary, dtype=torch.bool)
        stop[self.stop_words] = True
        self.groups: dict[str, Tensor] = {"stop words": stop, "other words": ~stop}
        common = self.ids["test"].bincount(minlength=self.vocabulary).argsort(descending=True, stable=True)
        for kind in (stop, ~stop):
            own = [number for number in common.tolist() if kind[number] and number >= len(SPECIAL)][: watched // 2]
            self.groups |= {f"word {self.words[number]}": torch.tensor([number]) for number in own}

    def word_topics(self, topics: int = 20, seed: int = 0) -> Tensor:
        """p(topic | word) (V, K) by LDA of the training documents, their stop words left out: for these uniform."""
        return _word_topics(*self._read, topics, seed)

    def stream(self, split: str, size: int, length: int) -> Iterator[tuple[Any, Tensor]]:
        """Pieces x, y (size, length) of parallel streams; x is the pair of both in training, if it is `told`."""
        pieces = self.splits.stream(split, size, length)
        return (((x, y), y) for x, y in pieces) if self.told and split == "train" else pieces

    def loss(self, prediction: Tensor, y: Tensor) -> Tensor:
        """Mean cross-entropy in nats; of the terms (B, T) of an ELBO, minus their mean."""
        return -prediction.mean() if self.told and prediction.shape == y.shape else symbol_loss(self, prediction, y)

    def metrics(self, prediction: Tensor, y: Tensor) -> dict[str, float]:
        """{"loss", "accuracy"}, and for each group of words what it adds to the loss, and its share of them."""
        found, flat = symbol_metrics(self, prediction, y), y.flatten()
        losses = F.cross_entropy(prediction.detach().flatten(0, 1), flat, reduction="none").double()
        sums = losses.new_zeros(self.vocabulary).index_add_(0, flat, losses) / len(flat)
        shares = flat.bincount(minlength=self.vocabulary).double() / len(flat)
        for name, ids in self.groups.items():
            found |= {name: sums[ids].sum().item(), f"share of {name}": shares[ids].sum().item()}
        return found

    def finish(self, metrics: dict[str, float]) -> dict[str, float]:
        """`metrics` of a whole split with "perplexity", e to the mean loss, and each group's mean loss if it occurs."""
        means = {name: metrics[name] / share for name in self.groups if (share := metrics[f"share of {name}"])}
        return metrics | means | {"perplexity": perplexity(metrics["loss"])}

    def baselines(self) -> dict[str, float]:
        """{"uniform guess loss", "unigram loss", "trigram loss", "trigram and cache loss"} (defined above)."""
        return dict(_baselines(*self._read))


@lru_cache
def _read(source: str, words: int) -> tuple[tuple[str, ...], dict[str, list[list[int]]], list[int]]:
    """The words by id, the documents as ids by split, and the ids of the stop words."""
    read = documents(source)
    vocabulary = Vocabulary.of(chain(*read["train"]), words)
    (end,) = vocabulary.require("[SEP]")
    ids: dict[str, list[list[int]]] = {split: [] for split in SPLITS}
    for split in SPLITS:
        for rows in read[split]:
            said = [[*vocabulary.ids(row), end] for row in rows]
            ids[split] += [[*chain(*said[at : at + SENTENCES])] for at in range(0, len(said), SENTENCES)]
    counts = Counter(chain(*map(set, ids["train"])))
    least = STOPS * len(ids["train"])
    return vocabulary.words, ids, [n for n in range(len(vocabulary)) if n < len(SPECIAL) or counts[n] >= least]


@lru_cache
def _word_topics(source: str, words: int, topics: int, seed: int) -> Tensor:
    from scipy.sparse import csr_matrix
    from sklearn.decomposition import LatentDirichletAllocation

    known, documents, stop = _read(source, words)
    left_out = {*stop}
    places = [(n, number) for n, own in enumerate(documents["train"]) for number in own if number not in left_out]
    rows, numbers = zip(*places, strict=True)
    table = csr_matrix(([1] * len(rows), (rows, numbers)), (len(documents["train"]), len(known)))  # adds up
    lda = LatentDirichletAllocation(topics, learning_method="online", max_iter=10, random_state=seed).fit(table)
    found = torch.from_numpy(lda.components_.T.copy())  # how often each word came from each topic, and a prior
    found[stop] = 1.0
    return (found / found.sum(1, keepdim=True)).float()


def witten_bell(train: Sequence[int], text: Sequence[int], vocabulary: int, order: int = 3) -> list[float]:
    """p of each id of a text but its first, after at most order - 1 ids, counted in `train` with back-off.

    p(w | h) = (n(h w) + d(h) p(w | h')) / (n(h) + d(h)), where d(h) is how many different ids follow h, and h' is h
    without its first id; below the empty h stands 1 / V (Witten and Bell 1991, method C, interpolated).
    """
    grams: Counter[Gram] = Counter()
    for n in range(1, order + 1):
        grams.update(zip(*(train[i:] for i in range(n)), strict=False))
    total: Counter[Gram] = Counter()
    followers: Counter[Gram] = Counter()
    for gram, many in grams.items():
        total[gram[:-1]] += many
        followers[gram[:-1]] += 1

    found = []
    for t in range(1, len(text)):
        p = 1 / vocabulary
        for n in range(min(order, t + 1)):
            gram = tuple(text[t - n : t + 1])
            if (h := gram[:-1]) in total:
                p = (grams[gram] + followers[h] * p) / (total[h] + followers[h])
        found.append(p)
    return found


def recent_shares(text: Sequence[int], recent: int = RECENT) -> list[float]:
    """Each id's share of the `recent` ids before it, for all but the first: a cache (Kuhn and De Mori 1990)."""
    counts: Counter[int] = Counter()
    found = []
    for t, number in enumerate(text):
        if t:
            found.append(counts[number] / min(t, recent))
        if t >= recent:
            counts[text[t - recent]] -= 1
        counts[number] += 1
    return found


@lru_cache
def _baselines(source: str, words: int) -> dict[str, float]:
    known, documents, _ = _read(source, words)
    train, valid, test = ([*chain(*documents[split])] for split in SPLITS)

    def losses(text: list[int], order: int) -> list[float]:
        """With the cache in the proportions 0, 1/20, ..., 19/20."""
        chances = witten_bell(train, text, len(known), order), recent_shares(text)
        p, q = (torch.tensor(own).double() for own in chances)
        return [-torch.lerp(p, q, share / 20).log().mean().item() for share in range(20)]

    tried, counted = losses(valid, 3), losses(test, 3)
    found = {"uniform guess loss": math.log(len(known)), "unigram loss": losses(test, 1)[0]}
    return found | {"trigram loss": counted[0], "trigram and cache loss": counted[tried.index(min(tried))]}
