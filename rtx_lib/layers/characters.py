"""A word's vector from its spelling: filters over the bytes, their maxima, highway layers, and a map to the width.

Y. Kim, Y. Jernite, D. Sontag and A. Rush, *Character-Aware Neural Language Models*, AAAI 2016 (arXiv 1508.06615), in
the form and with the numbering of ELMo's code (allenai/bilm-tf).

A word is ``<begins>``, its bytes in UTF-8, ``<ends>``, and padding behind. Bytes have the ids 1 to 256; 0 stands in all
places of what is no word. The authors train without that id and read with it: their file has one row less than the
table, so that the option ``n_characters`` is 261 in training and 262 afterwards.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from rtx_lib.shapes import expect, expect_each, expect_ids, expect_sentences

from .blocks import normal_linear, undrawn

SENTENCE_BEGINS, SENTENCE_ENDS, WORD_BEGINS, WORD_ENDS, PADDING = range(257, 262)
CHARACTERS = 262  # rows of the table, that of no word included
ACTIVATIONS = {"relu": torch.relu, "tanh": torch.tanh}


def spell(sentences: Sequence[Sequence[str]], length: int = 50) -> Tensor:
    """The ids (B, T, C) of sentences, each in a word ``<sentence begins>`` and a word ``<sentence ends>``.

    T is that of the longest sentence with these two. Behind shorter ones are words of zeros.

    Parameters
    ----------
    sentences
        Lists of words.
    length
        C, at least 3. Of a word, as many bytes are kept as find room between its two marks.
    """
    ids = torch.zeros(len(sentences), max(map(len, sentences)) + 2, length, dtype=torch.int64)
    for row, sentence in zip(ids, sentences, strict=True):
        words = [[byte + 1 for byte in word.encode()[: length - 2]] for word in sentence]
        for place, word in zip(row, [[SENTENCE_BEGINS], *words, [SENTENCE_ENDS]], strict=False):
            spelled = [WORD_BEGINS, *word, WORD_ENDS]
            place[:] = torch.tensor(spelled + [PADDING] * (length - len(spelled)))
    return ids


class CharacterCNN(nn.Module):
    """Vectors of words from their characters::

        y_k = f(max_i (w_k * C)_i + b_k)            filter k over n neighbouring characters; i = 1, ..., C - n + 1
        t   = sigmoid(W_t y + b_t)                  highway layers, from y to y
        y   = t * relu(W_h y + b_h) + (1 - t) * y
        e   = W_p y + b_p                           left out where there are as many filters as the width

    The authors' code calls t the carry gate; it is what Srivastava et al. (2015) call the transform gate.

    Characters start from U(-1, 1), but 0 at id 0, which stays; filters with ReLU from U(-0.05, 0.05), else from
    N(0, 1/(n character_width)); matrices from N(0, 1/inputs), b_t at -2 and other biases at 0.

    Parameters
    ----------
    width
        D, of the result.
    filters
        Pairs (n, number of filters).
    character_width
        Of the characters' vectors; 16 in the published model.
    highways
        Number of highway layers, at least 0.
    activation
        f, ``"relu"`` or ``"tanh"``.
    """

    def __init__(
        self,
        width: int,
        filters: Sequence[tuple[int, int]],
        *,
        character_width: int = 16,
        highways: int = 2,
        activation: str = "relu",
    ) -> None:
        super().__init__()
        expect_each(activation=(activation, list(ACTIVATIONS)), highways=(highways, 0))
        expect_each(filters=(filters, "pairs of sizes"))
        self.output_size, self.activation = width, activation
        channels = sum(number for _, number in filters)
        rows = torch.empty(CHARACTERS, character_width).uniform_(-1, 1)
        rows[0] = 0
        self.characters = nn.Embedding.from_pretrained(rows, freeze=False, padding_idx=0)
        self.convolutions = nn.ModuleList(
            _filters(character_width, number, reach, activation) for reach, number in filters
        )
        self.highways = nn.ModuleList(_highway(channels) for _ in range(highways))
        self.projection = (
            nn.Identity() if channels == width else normal_linear(channels, width, 1 / math.sqrt(channels))
        )

    def forward(self, x: Tensor) -> Tensor:
        """The vectors (B, T, D) of words spelled in ids (B, T, C)."""
        self.real(x)
        c = self.characters(x.flatten(0, 1)).transpose(1, 2)  # (BT, character_width, C)
        maxima = torch.cat([convolution(c).amax(2) for convolution in self.convolutions], dim=1)
        y = ACTIVATIONS[self.activation](maxima)
        for highway in self.highways:
            t, h = highway(y).chunk(2, dim=1)  # W_t lies on W_h
            t = torch.sigmoid(t)
            y = t * torch.relu(h) + (1 - t) * y
        return self.projection(y).unflatten(0, x.shape[:2])

    def real(self, x: object) -> Tensor:
        """Where words are, bool (B, T), a word of zeros being none; ``ValueError`` for what :meth:`forward` refuses."""
        x = expect(x, "B T C")
        expect_ids(x.flatten(1), CHARACTERS)
        return expect_sentences((x != 0).any(2).long(), 2, "x")[1]


def _filters(inputs: int, number: int, reach: int, activation: str) -> nn.Conv1d:
    layer: nn.Conv1d = undrawn(nn.Conv1d, inputs, number, reach)
    if activation == "relu":
        nn.init.uniform_(layer.weight, -0.05, 0.05)
    else:
        nn.init.normal_(layer.weight, 0, 1 / math.sqrt(reach * inputs))
    nn.init.zeros_(layer.bias)  # type: ignore[arg-type]
    return layer


def _highway(width: int) -> nn.Linear:
    """W_t on W_h."""
    layer = normal_linear(width, 2 * width, 1 / math.sqrt(width))
    nn.init.constant_(layer.bias[:width], -2)
    return layer
