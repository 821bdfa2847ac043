"""Sentences that are for something or against it: film reviews, and small ones whose answer a rule gives."""

import math
from collections import Counter
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from rtx_lib.shapes import expect_each
from rtx_lib.tasks import splits
from rtx_lib.tasks.files import GROUPS, fetch
from rtx_lib.tasks.vocabulary import PAD, UNKNOWN, ids_of, pad_rows, split_words, text_of, trim

# One list a line: things, what is good, what is bad, what turns a word round, what makes it stronger.
_WORDS = """
plot film story music acting script cast ending dialogue humour camera direction pace hero villain scenery
good great fine warm clever funny fresh moving charming honest lively brilliant
bad poor dull cold silly boring stale clumsy tedious false weak dreadful
not never hardly
very so truly
"""
_THINGS, _GOOD, _BAD, _TURNING, _STRONGER = map(str.split, _WORDS.strip().splitlines())
_GENERATED = ("<pad>", "<unknown>", "the", "is", "but", "although", *_THINGS, *_GOOD, *_BAD, *_TURNING, *_STRONGER)
_IDS = {word: number for number, word in enumerate(_GENERATED)}


def sentence_metrics(task: "Sentiment | GeneratedSentiment", prediction: Tensor, y: Tensor) -> dict[str, float]:
    """{"accuracy", "error", "loss"}: the share of sentences that are named right, 1 minus that, and nats."""
    metrics = splits.last_step_metrics(task, prediction, y)
    return {"accuracy": metrics["accuracy"], "error": 1 - metrics["accuracy"], "loss": metrics["loss"]}


class Sentiment:
    """Is a sentence of a film review for the film or against it? (SST-2, Socher et al. 2013)

    ::

        x    a stirring , funny and finally transporting re-imagining of beauty ...      y    1, for it
        x    apparently reassembled from the cutting-room floor of any given daytime ... y    0, against it

    x (B, T) int64 ids, one a word, rows padded to the longest of the batch; y (B,) int64. Only the model's output at
    the last step counts, and a model of whole sentences has one step.

    The sentences of the Stanford Sentiment Treebank without the neutral ones, as Kim (2014) has them: 6,920 to train,
    872 "valid", 1,821 "test". These are whole sentences; what goes by the name of SST-2 elsewhere (GLUE) trains on
    67,000 phrases of them. The finite splits are run through from the shortest sentence to the longest.

    The vocabulary is that of the training sentences, the attribute `words`: id 0 is padding, 1 is every word that is
    not there, then words by falling frequency. Text is split at spaces, as in the files, where "did n't" is two words
    and a full stop is one.

    Baselines on "test": "most frequent class", an accuracy, and "uniform guess loss", ln 2.

    The files come from `rtx_lib.tasks.fetch`, whose errors pass through.

    Parameters
    ----------
    least
        How often a word must stand in the training sentences to have an id of its own, at least 1. With the default
        of 2 there are 7,143 ids for 14,830 words.
    """

    files = GROUPS["sst2"]
    output_size, pad, unknown = 2, PAD, UNKNOWN
    batch, batches, loss = splits.draw_batch, splits.run_through, splits.last_step_loss  # methods
    metrics, baselines, decode = sentence_metrics, splits.class_baselines, text_of

    def __init__(self, least: int = 2) -> None:
        expect_each(least=least)
        self.least = least
        self.name = "sst2" + ("" if least == 2 else f"-least-{least}")
        # Some words hold spaces that do not break, at which `split()` would cut.
        texts = [fetch(name).read_bytes().decode().strip("\n").split("\n") for name in self.files]
        lines = dict(zip(splits.SPLITS, texts, strict=True))
        counts = Counter(word for line in lines["train"] for word in line[2:].split(" "))
        frequent = [word for word, count in counts.items() if count >= least]
        self.words = ("<pad>", "<unknown>", *sorted(frequent, key=lambda word: (-counts[word], word)))
        self.vocabulary = self.input_size = len(self.words)
        self._ids = {word: number for number, word in enumerate(self.words)}
        self.splits = splits.Rows({split: self._read(text) for split, text in lines.items()}, lay_out=trim)

    def encode(self, text: str) -> Tensor:
        """The ids (T,) of a text, in small letters; 1 for an unknown word. ValueError for a text without words."""
        return torch.tensor([self._ids.get(word, UNKNOWN) for word in split_words(text.lower())])

    def _read(self, lines: list[str]) -> tuple[Tensor, Tensor]:
        """Ids (N, T) and labels (N,) of lines of a label and words, the shortest first."""
        lines = sorted(lines, key=lambda line: line.count(" "))
        ids = [[self._ids.get(word, UNKNOWN) for word in line[2:].split(" ")] for line in lines]
        return pad_rows(ids), torch.tensor([int(line[0]) for line in lines])


class GeneratedSentiment:
    """Is a small sentence for what it speaks of or against it? Two clauses, and one of them decides.

    ::

        x    the plot is not very good                        y    0: turned round
        x    the plot is dull but the music is great          y    1: what stands behind "but" decides
        x    the plot is dull although the music is great     y    0: what stands before "although" decides
        x    the plot is not dull but the music is great      y    1
        x    the plot is dull but the music is not great      y    0: the same words as in the line above

    x (B, T) int64 ids, one a word, rows padded to the longest of the batch; y (B,) int64. Only the model's output at
    the last step counts, and a model of whole sentences has one step.

    Of three sentences, on average, one is a single clause, one has "but" and one "although". A clause has a thing and
    a good or a bad word. In half of the clauses "not", "never" or "hardly" turns that word round; in half of them
    "very", "so" or "truly" stands before it and changes nothing. All are drawn apart from each other. `words` lists
    the words by id: 0 is padding, and 1 is not used here. The clause that decides ends at "although" or with the
    sentence, so that windows of four words see enough.

    Baselines on "test": "uniform guess loss", ln 2, "most frequent class", an accuracy, and "best bag of words", the
    accuracy to be expected of whoever knows which words there are and not their order. A single clause is then clear.
    Of two clauses nobody can tell which word stands where: let s be the mean of the two words' signs, +1 if good and -1
    if bad, and g that of the clauses' signs, -1 if turned round. All ways to put them together are equally likely, so
    the answer is 1 with probability (1 + s g) / 2. s and g are each 0 in half of the sentences, else 1 or -1: the best
    guess is right in 1/4 + 3/4 * 1/2 = 5/8 of them, which makes 1/3 + 2/3 * 5/8 = 3/4 of all.

    Training sentences are drawn without end from the caller's generator. "valid" (1,000) and "test" (10,000) come from
    seeds of their own. A single clause in them may well have been trained on; two clauses hardly ever.
    """

    name, output_size, pad, unknown, words = "generated-sentiment", 2, PAD, UNKNOWN, _GENERATED
    vocabulary = input_size = len(_GENERATED)
    batch, batches, loss = splits.draw_batch, splits.run_through, splits.last_step_loss  # methods
    metrics, decode = sentence_metrics, text_of

    def __init__(self) -> None:
        self.splits = splits.Rows(draw=self._draw, lay_out=trim)

    def baselines(self) -> dict[str, float]:
        """{"most frequent class", "best bag of words", "uniform guess loss"} (the second is derived above)."""
        (_, valid), (_, test) = self.splits.finite("valid"), self.splits.finite("test")
        frequent = (test == valid.bincount().argmax()).double().mean().item()
        return {"most frequent class": frequent, "best bag of words": 3 / 4, "uniform guess loss": math.log(2)}

    def encode(self, text: str) -> Tensor:
        """The ids (T,) of a text; ValueError for a text without words or with a word that is not in `words`."""
        return ids_of(split_words(text.lower()), _IDS, f"the {len(_IDS) - 2} words of the generated sentences")

    def answers(self, ids: Tensor) -> Tensor:
        """The labels (B,) of sentences (B, T) of this form, by the rule."""
        place, (but, although) = torch.arange(ids.shape[1]), (ids == _IDS[word] for word in ("but", "although"))

        def first(where: Tensor, otherwise: int) -> Tensor:
            return torch.where(where.any(1), where.int().argmax(1), otherwise)[:, None]

        decides = (place > first(but, -1)) & (place < first(although, ids.shape[1]))
        turned = (_one_of(_TURNING)[ids] & decides).sum(1) % 2 == 1
        return ((_one_of(_GOOD)[ids] & decides).any(1) ^ turned).long()

    def _draw(self, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Ids (size, 13), words first, and labels (size,)."""

        def one_of(words: Sequence[str], share: float = 1.0) -> Tensor:
            which = torch.randint(len(words), (size,), generator=generator)
            drawn = torch.tensor([_IDS[word] for word in words])[which]
            return torch.where(torch.rand(size, generator=generator) < share, drawn, PAD)

        def clause() -> list[Tensor]:
            words = [one_of(["the"]), one_of(_THINGS), one_of(["is"]), one_of(_TURNING, 0.5), one_of(_STRONGER, 0.5)]
            return [*words, one_of([*_GOOD, *_BAD])]

        joint = one_of(["but", "although"], 2 / 3)
        second = [torch.where(joint == PAD, PAD, word) for word in clause()]
        ids = torch.stack([*clause(), joint, *second], dim=1)
        # Push the empty places behind the words; the sort is stable, so the words keep their order.
        ids = ids.gather(1, (ids == PAD).to(torch.uint8).argsort(dim=1, stable=True))
        return ids, self.answers(ids)


def _one_of(words: Sequence[str]) -> Tensor:
    """For each id (V,) whether it is one of these words."""
    return F.one_hot(torch.tensor([_IDS[word] for word in words]), len(_IDS)).sum(0).bool()
