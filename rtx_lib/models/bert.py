"""BERT: a Transformer that sees both sides of a gap and learns to fill it, and is then fine-tuned on anything.

J. Devlin, M.-W. Chang, K. Lee and K. Toutanova, *BERT: Pre-training of Deep Bidirectional Transformers for Language
Understanding*, NAACL 2019 (arXiv 1810.04805). In the paper's order: the model (section 3) with its input (figure 2),
pre-training by masked words and next sentences (3.1), and the heads of fine-tuning (3.2 and 4).

What the paper leaves open is as in the authors' code (google-research/bert): an LN behind the embeddings, 1e-12 under
the root of every LN, a layer with GELU and LN between the encoder and the masked words, and a tanh layer on the first
position, the pooler, which next-sentence prediction alone trains. GELU was exact in the first release and is its tanh
form since February 2019; ``activation`` has both.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_lib.layers.attention import causal_mask, padding_mask
from rtx_lib.layers.blocks import Activation, Stack, undrawn
from rtx_lib.layers.embedding import table
from rtx_lib.layers.official import joined, load_official, reads_official, renamed
from rtx_lib.layers.positions import Learned
from rtx_lib.shapes import at_hand, expect, expect_each, expect_fits, expect_ids, expect_no_state, expect_tuple

DIRECTIONS = ("both", "left-to-right", "right-to-left")
KINDS = ("sentence", "mean", "token", "span", "choice")
PAD, IGNORED = 0, -100
IS_NEXT, RANDOM = 0, 1  # the two classes of next-sentence prediction
STD, EPS = 0.02, 1e-12
GELU: dict[str, Activation] = {"gelu": F.gelu, "gelu_tanh": partial(F.gelu, approximate="tanh")}  # at most 5e-4 apart

Text = Tensor | tuple[Tensor, ...]  # ids (B, T), or ids and segments


def visible(direction: str, length: int, *, device: torch.device | str | None = None) -> Tensor:
    """The mask (T, T), True where a position may look: everywhere, at itself and what is left of it, or right of it."""
    expect_each(direction=(direction, DIRECTIONS))
    if direction == "both":
        return torch.ones(length, length, dtype=torch.bool, device=device)
    left = causal_mask(length, device=device)
    return left if direction == "left-to-right" else left.T


class BERTEncoder(nn.Module):
    """Embeddings and blocks (section 3)::

        h = LN(E[x_t] + S[segment_t] + P_t)                               figure 2
        h = LN(h + attention(h));    h = LN(h + W_2 f(W_1 h))             each block

    Matrices and tables start from N(0, 0.02^2), cut at two deviations and not rescaled; biases at 0.

    Parameters
    ----------
    vocabulary
        V, number of words; id 0 is padding, which no position sees.
    width, heads, layers
        D, H, which divides it, and the number of blocks; 768, 12 and 12 in the base model.
    length, segments
        Numbers of positions and of segments; 512 and 2 in the paper.
    inner
        Width inside the feed-forward networks; 4D if None.
    activation
        f: ``"gelu"``, exact, or ``"gelu_tanh"``.
    direction
        What a position sees: ``"both"`` sides, or itself and one side, ``"left-to-right"`` or ``"right-to-left"``.
    dropout
        Share of the values set to 0 in training: of the embedded text, of the attention's weights, and of what
        attention and feed-forward network add; 0.1 in the paper.
    """

    def __init__(
        self,
        vocabulary: int,
        *,
        width: int,
        heads: int,
        layers: int,
        length: int = 512,
        segments: int = 2,
        activation: str = "gelu",
        direction: str = "both",
        inner: int | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        expect_each(activation=(activation, list(GELU)), direction=(direction, DIRECTIONS))
        self.input_size, self.output_size, self.heads, self.direction = vocabulary, width, heads, direction
        norm = partial(nn.LayerNorm, eps=EPS)
        self.embedding, self.segments = table(vocabulary, width, STD), table(segments, width, STD)
        self.positions, self.norm = Learned(length, width), norm(width)
        options: dict[str, Any] = {"inner": inner, "activation": GELU[activation], "dropout": dropout}
        self.stack = Stack(width, heads, layers, norm="post", norm_layer=norm, **options)
        block: Any
        for block in self.stack.blocks:
            block.feed_forward.dropout = nn.Identity()  # none between the two matrices
        draw(self)

    def forward(self, x: Text, state: None = None, *, mask: Tensor | None = None) -> tuple[Tensor, None]:
        """The last block's output h (B, T, D) of a text; there is no state.

        Parameters
        ----------
        x
            Ids (B, T), all of segment 0; or the pair (ids (B, T), segments (B, T)).
        mask
            Bool, broadcastable to (B, H, T, T), True where a position may look, as far as ``direction`` allows; where
            the id is not 0 if None.
        """
        expect_no_state(state)
        pair = isinstance(x, tuple)
        ids, segments = expect_tuple(x, 2, "(ids, segments)", "x") if pair else (x, None)
        ids = expect_ids(ids, self.input_size, "ids" if pair else "x")
        if at_hand(ids) and mask is None and (empty := (ids == PAD).all(1)).any():
            raise ValueError(f"x must have a word in each row, got none in row {int(empty.nonzero()[0])}")
        segments = torch.zeros_like(ids) if segments is None else segments
        expect(expect_ids(segments, self.segments.num_embeddings, "segments"), ids.shape, "segments")
        mask = padding_mask(ids, PAD) if mask is None else mask
        expect_fits("mask", mask, (ids.shape[0], self.heads, ids.shape[1], ids.shape[1]))
        if self.direction != "both":
            mask = mask & visible(self.direction, ids.shape[1], device=ids.device)
        h = self.norm(self.positions.embed(self.embedding(ids) + self.segments(segments)))
        return self.stack(h, mask=mask)[0], None


class BERT(nn.Module):
    """The encoder in pre-training (section 3.1)::

        z_t    = LN(f(W h_t + b))
        logits = z_t E^T + c                            masked words: which word stood at t
        next   = W_n pool(h) + b_n                      next sentence: class 0 if B follows A, 1 if it is a random one
        pool(h) = tanh(W_p h_1 + b_p)                   of the first position, where [CLS] stands

    Words that are masked together are predicted apart: given what is left of the text, each has a distribution of its
    own, whatever the others are.

    Parameters
    ----------
    vocabulary, activation, options
        The encoder's, as in :class:`BERTEncoder`, with width, heads and layers.
    next_sentence
        Whether there are a pooler and the two classes, as in the paper.
    """

    def __init__(
        self, vocabulary: int, *, activation: str = "gelu", next_sentence: bool = False, **options: Any
    ) -> None:
        super().__init__()
        self.encoder, self.activation = BERTEncoder(vocabulary, activation=activation, **options), activation
        self.input_size, self.output_size = vocabulary, vocabulary + 2 * next_sentence
        width = self.encoder.output_size
        self.transform, self.norm = drawn_linear(width, width), nn.LayerNorm(width, eps=EPS)
        self.bias = nn.Parameter(torch.zeros(vocabulary))
        self.pooler = drawn_linear(width, width) if next_sentence else None
        self.next_sentence = drawn_linear(width, 2) if next_sentence else None

    @classmethod
    @reads_official
    def from_official(cls, arrays: Mapping[str, Tensor], *, heads: int, **options: Any) -> "BERT":
        """The model with the arrays of Hugging Face's, by their names there; the heads are no array."""
        weights = official_weights(arrays)
        options |= official_sizes(weights) | {"heads": heads, "next_sentence": "next_sentence.bias" in weights}
        return load_official(cls(**options), weights)

    def encode(self, x: Text, *, mask: Tensor | None = None) -> Tensor:
        """The hidden states h (B, T, D) of a text; x and mask as in :class:`BERTEncoder`."""
        return self.encoder(x, mask=mask)[0]

    @torch.no_grad()
    def layers(self, x: Text) -> list[Tensor]:
        """What the blocks read and give, each (B, T, D): the embedded text, then block by block, without gradients."""
        found: list[Tensor] = []
        blocks: Any = self.encoder.stack.blocks
        hooks = [blocks[0].register_forward_pre_hook(lambda block, args: found.append(args[0]))]
        hooks += [block.register_forward_hook(lambda block, args, out: found.append(out[0])) for block in blocks]
        try:
            self.encode(x)
        finally:
            for hook in hooks:
                hook.remove()
        return found

    def predict(self, h: Tensor) -> Tensor:
        """Logits (..., V) of the words that belong where h (..., D) is."""
        z = self.norm(GELU[self.activation](self.transform(h)))
        return F.linear(z, self.encoder.embedding.weight, self.bias)

    def forward(self, x: Text, state: None = None) -> tuple[Tensor, None]:
        """Map texts to logits of their words; there is no state.

        Parameters
        ----------
        x
            Ids (B, T), some of them those of a mask token; the pair (ids, segments); or (ids, segments, places), with
            the positions (B, N) that are asked for: with a large vocabulary the other logits take most of the time.

        Returns
        -------
        logits
            (B, T, V), or (B, N, V) at the places. With ``next_sentence`` two more at each: those of the next sentence,
            which are the same everywhere.
        """
        *text, places = x if isinstance(x, tuple) and len(x) == 3 else (x, None)
        h, _ = self.encoder(tuple(text) if len(text) == 2 else text[0], state)
        at = h
        if places is not None:
            expect(expect_ids(places, h.shape[1], "places"), (h.shape[0], "N"), "places")
            at = h.gather(1, places.long()[..., None].expand(-1, -1, h.shape[2]))  # (B, N, D)
        logits = self.predict(at)
        if self.pooler is None or self.next_sentence is None:
            return logits, None
        follows = self.next_sentence(pool(self.pooler, h))[:, None].expand(-1, at.shape[1], -1)
        return torch.cat([logits, follows], dim=-1), None


# What Hugging Face's names are here; the query, key and value of a layer lie in one matrix of ours.
OFFICIAL = {
    r"^((bert\.)?embeddings\.position_ids|cls\.predictions\.decoder\..*)$": "",  # numbers, and the table once more
    r"^bert\.": "",
    r"\.gamma$": ".weight",
    r"\.beta$": ".bias",
    r"^encoder\.layer\.": "encoder.stack.blocks.",
    r"\.attention\.self\.": ".self_attention.",
    r"\.attention\.output\.dense\.": ".self_attention.out_proj.",
    r"\.attention\.output\.LayerNorm\.": ".norms.0.",
    r"\.intermediate\.dense\.": ".feed_forward.linear1.",
    r"\.output\.dense\.": ".feed_forward.linear2.",
    r"\.output\.LayerNorm\.": ".norms.1.",
    r"^embeddings\.LayerNorm\.": "encoder.norm.",
    r"^embeddings\.word_embeddings\.": "encoder.embedding.",
    r"^embeddings\.position_embeddings\.": "encoder.positions.",
    r"^embeddings\.token_type_embeddings\.": "encoder.segments.",
    r"^pooler\.dense\.": "pooler.",
    r"^cls\.predictions\.(transform\.)?": "",
    r"^dense\.": "transform.",
    r"^LayerNorm\.": "norm.",
    r"^cls\.seq_relationship\.": "next_sentence.",
    r"^(classifier|qa_outputs)\.": "readout.",
}


def official_weights(arrays: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Parameters of Hugging Face's BERT, or of a classifier made of it, by our names."""
    return joined(renamed(arrays, OFFICIAL), [".query.", ".key.", ".value."], ".in_proj_")


def official_sizes(weights: Mapping[str, Tensor]) -> dict[str, int]:
    """The sizes of a :class:`BERT` with these weights, all but the heads."""
    tables = {"vocabulary": "embedding", "length": "positions", "segments": "segments"}
    sizes = {size: len(weights[f"encoder.{name}.weight"]) for size, name in tables.items()}
    inner, width = weights["encoder.stack.blocks.0.feed_forward.linear1.weight"].shape
    layers = sum(name.endswith("linear1.weight") for name in weights)
    return sizes | {"width": width, "inner": inner, "layers": layers}


class BERTClassifier(nn.Module):
    """The encoder in fine-tuning, with a matrix of its own for each kind of task (sections 3.2 and 4)::

        "sentence"   W pool(h) + b               a class of a sentence or of a pair                      4.1
        "mean"       W mean_t h_t + b            the same, from all words alike; not in the paper
        "token"      W h_t + b                   a class of each word                                    5.3
        "span"       W h_t + b, with 2 rows      whether the answer starts, and whether it ends, at t    4.2
        "choice"     w pool(h) + b               one number for each of C texts, a softmax over them     4.4

    Parameters
    ----------
    bert
        A :class:`BERT`, whose encoder is trained further, and its pooler if it has one; else a new one serves.
    output_size
        Number of classes; 2 for a span; the number of texts to choose from.
    kind
        One of these.
    dropout
        Share of the values in front of the matrix set to 0 in training, but for spans; 0.1 in the paper.
    """

    def __init__(self, bert: BERT, output_size: int, *, kind: str = "sentence", dropout: float = 0.0) -> None:
        super().__init__()
        expect_each(kind=(kind, KINDS))
        if kind == "span" and output_size != 2:
            raise ValueError(f"output_size must be 2 for a span, its start and its end, got {output_size}")
        self.encoder, self.kind, self.dropout = bert.encoder, kind, nn.Dropout(0.0 if kind == "span" else dropout)
        self.input_size, self.output_size, width = bert.input_size, output_size, bert.encoder.output_size
        self.pooler = (bert.pooler or drawn_linear(width, width)) if kind in ("sentence", "choice") else None
        self.readout = drawn_linear(width, 1 if kind == "choice" else output_size)

    def forward(self, x: Text, state: None = None, *, mask: Tensor | None = None) -> tuple[Tensor, None]:
        """Map texts to logits: (B, 1, C) of sentences, means and choices, (B, T, C) of tokens, (B, T, 2) of spans.

        x and mask as in :class:`BERTEncoder`; but to choose from C texts, ids and segments are (B, C, T), and the mask
        is one of B * C texts. For a mean it is broadcastable to (B, 1, 1, T) and says which words count. There is no
        state.
        """
        if self.kind == "choice":
            given = x if isinstance(x, tuple) else (x,)
            parts = [expect(part, ("B", self.output_size, "T")).flatten(0, 1) for part in given]
            x = tuple(parts) if isinstance(x, tuple) else parts[0]
        h, _ = self.encoder(x, state, mask=mask)
        if self.kind == "mean":
            real = _words(x[0] if isinstance(x, tuple) else x, mask).to(h.dtype)
            return self.readout(self.dropout(real @ h / real.sum(-1, keepdim=True))), None
        if self.pooler is None:
            return self.readout(self.dropout(h)), None
        logits = self.readout(self.dropout(pool(self.pooler, h)))  # (B, C), or (B * C, 1)
        return logits.view(-1, 1, self.output_size), None


def _words(ids: Tensor, mask: Tensor | None) -> Tensor:
    """Which words count, (B, 1, T): those of the mask (B, 1, 1, T), at least one in each row, or all but padding."""
    if mask is None:
        return (ids != PAD)[:, None]
    expect_fits("mask", mask, (ids.shape[0], 1, 1, ids.shape[1]))
    words = mask.expand(ids.shape[0], 1, 1, ids.shape[1])[:, 0]
    if at_hand(words) and (empty := ~words.any(-1)).any():
        raise ValueError(f"mask must show a word in each row, got none in row {int(empty.nonzero()[0, 0])}")
    return words


def pool(pooler: nn.Linear, h: Tensor) -> Tensor:
    """The vector (B, D) for a text as a whole."""
    return torch.tanh(pooler(h[:, 0]))


def masked_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """The mean of -log P(label) of logits (B, N, V) over the labels (B, N) that are not -100; 0 if all are."""
    total = F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=IGNORED, reduction="sum")
    return total / (labels != IGNORED).sum().clamp(min=1)


def pretraining_loss(logits: Tensor, labels: Tensor, follows: Tensor) -> Tensor:
    """The sum of both losses, of logits (B, N, V + 2), labels (B, N) and classes (B,): 0, is next, or 1, random."""
    return masked_loss(logits[..., :-2], labels) + F.cross_entropy(logits[:, 0, -2:], follows)


def span_loss(logits: Tensor, start: Tensor, end: Tensor) -> Tensor:
    """The mean of the losses of start and end (B,), over all T of logits (B, T, 2): padding takes its share."""
    return (F.cross_entropy(logits[..., 0], start) + F.cross_entropy(logits[..., 1], end)) / 2


@torch.no_grad()
def draw(module: nn.Module) -> None:
    """Draw matrices from N(0, 0.02^2), cut at two deviations."""
    for parameter in module.parameters():
        if parameter.ndim == 2:
            nn.init.trunc_normal_(parameter, std=STD, a=-2 * STD, b=2 * STD)


def drawn_linear(inputs: int, outputs: int) -> nn.Linear:
    """A linear map, drawn so, with bias 0."""
    linear: nn.Linear = undrawn(nn.Linear, inputs, outputs)
    draw(linear)
    nn.init.zeros_(linear.bias)
    return linear
