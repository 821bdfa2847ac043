"""The Transformer (Vaswani et al. 2017): encoder, decoder, the two together, and the decoder alone as a language model.

A. Vaswani et al., *Attention Is All You Need*, NeurIPS 2017 (arXiv 1706.03762). The three attentions of the paper's
section 3.2.3 are: the encoder's, in which every source position sees every other; the decoder's own, in which a
target position sees those up to itself; and the decoder's look at the encoder's output, the memory.

Ids become sqrt(D) E[id] (section 3.4). Every table E starts from N(0, 1/D), as in the authors' Tensor2Tensor, so that
these have variance 1: under Xavier's rule, variance 2 / (V + D), the positions would drown them. Where E is tied, the
logits E y of a normalised y have variance 1 too, all but that of the id just read, which the residual stream still
holds; the first loss lies above ln V. All other matrices start Xavier-uniform, and biases at 0.
"""

from typing import Any

from torch import Tensor, nn

from rtx_lib.layers.attention import padding_mask
from rtx_lib.layers.blocks import Cache, Stack
from rtx_lib.layers.embedding import embed, input_layer, readout_layer
from rtx_lib.shapes import Pair, at_hand, expect, expect_ids, expect_pair, expect_tuple

# What a decoder continues from: the memory (B, S, D), its mask (B, 1, 1, S), and the caches of its blocks.
DecoderState = tuple[Tensor, Tensor, tuple[Cache, ...] | None]


class Encoder(nn.Module):
    """Blocks in which every position sees every other, between an input layer and a readout.

    Parameters
    ----------
    input_size
        Width of x, if no vocabulary is given.
    output_size
        Width of y; with None there is no readout, and y (B, T, D) is the last block's.
    width, heads, layers
        D, H and the number of blocks.
    vocabulary
        If given, x holds ids below it.
    positions, activation
        As in :class:`~rtx_lib.layers.blocks.Stack` and its blocks.
    bias
        Whether the linear maps and the norms have one.
    tied
        Whether the readout uses the table of the ids, which then needs output_size = vocabulary, and has no bias.
    options
        What is left of the :class:`~rtx_lib.layers.blocks.Stack`: inner, norm, length, clip, dropout, norm_layer and
        key_heads.
    """

    def __init__(
        self,
        input_size: int,
        output_size: int | None,
        *,
        width: int,
        heads: int,
        layers: int,
        positions: str = "sinusoidal",
        **options: Any,
    ) -> None:
        super().__init__()
        options |= {"positions": positions, "causal": False, "cross": False}
        self.embedding, self.stack, self.readout = _body(input_size, output_size, width, heads, layers, **options)
        self.input_size, self.output_size = input_size, output_size or width

    def forward(self, x: Tensor, state: None = None, *, mask: Tensor | None = None) -> tuple[Tensor, None]:
        """Map ids (B, T) or floats (B, T, input_size) to y (B, T, output_size); there is no state.

        ``mask``, broadcastable to (B, H, T, T), is True where a position may look.
        """
        y, _ = self.stack(embed(self.embedding, x), mask=mask)
        return self.readout(y), None


class CausalTransformer(nn.Module):
    """The decoder without a memory: no position sees a later one, so that y_t may predict x_{t+1}.

    Parameters
    ----------
    input_size, output_size, width, heads, layers, vocabulary, positions, activation, bias, tied, options
        As in :class:`Encoder`.
    """

    def __init__(
        self,
        input_size: int,
        output_size: int | None,
        *,
        width: int,
        heads: int,
        layers: int,
        positions: str = "rotary",
        **options: Any,
    ) -> None:
        super().__init__()
        options |= {"positions": positions, "causal": True, "cross": False}
        self.embedding, self.stack, self.readout = _body(input_size, output_size, width, heads, layers, **options)
        self.input_size, self.output_size = input_size, output_size or width

    def forward(self, x: Tensor, state: tuple[Cache, ...] | None = None) -> tuple[Tensor, tuple[Cache, ...]]:
        """Map ids (B, T) or floats (B, T, input_size) to y (B, T, output_size).

        The state is the key-value cache, a pair (B, G, M, K) for each block, of the M positions before x.
        """
        y, state = self.stack(embed(self.embedding, x), cache=state)
        return self.readout(y), state


class Decoder(nn.Module):
    """Blocks that also read a memory, between the target's embedding and the logits.

    Parameters
    ----------
    vocabulary
        V of the target.
    width, heads, layers, positions, activation, bias, tied, options
        As in :class:`Encoder`.
    """

    def __init__(
        self,
        vocabulary: int,
        *,
        width: int,
        heads: int,
        layers: int,
        positions: str = "sinusoidal",
        activation: str = "relu",
        **options: Any,
    ) -> None:
        super().__init__()
        options |= {"vocabulary": vocabulary, "positions": positions, "activation": activation}
        options |= {"causal": True, "cross": True}
        self.embedding, self.stack, self.readout = _body(width, vocabulary, width, heads, layers, **options)

    def forward(self, x: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Map target ids (B, T) to logits (B, T, V) and the state that continues the target.

        The state is (memory (B, S, D), mask (B, 1, 1, S) of what of it may be read, caches of the blocks), with
        None for the caches at the start.
        """
        memory, mask, cache = _expect_decoder_state(state, x)
        y, cache = self.stack(embed(self.embedding, x), memory=memory, memory_mask=mask, cache=cache)
        return self.readout(y), (memory, mask, cache)


class Transformer(nn.Module):
    """Encoder and decoder (Vaswani et al. 2017, figure 1).

    The paper has ``norm="post"``; ``"pre"``, the default, trains without warm-up.

    The source id 0 is padding: nothing sees it.

    Parameters
    ----------
    source_vocabulary, target_vocabulary
        Number of ids on either side.
    width, heads, layers, activation
        As in :class:`Encoder`, on either side; 512, 8, 6 and ``"relu"`` in the paper's base model.
    tied
        Whether the logits use the table of the target's ids.
    shared
        Whether source and target have one vocabulary and one table.
    options
        positions, bias and options as in :class:`Encoder`, on either side.
    """

    def __init__(
        self,
        source_vocabulary: int,
        target_vocabulary: int,
        *,
        width: int,
        heads: int,
        layers: int,
        activation: str = "relu",
        tied: bool = False,
        shared: bool = False,
        **options: Any,
    ) -> None:
        super().__init__()
        if shared and source_vocabulary != target_vocabulary:
            sizes = f"{source_vocabulary} and {target_vocabulary}"
            raise ValueError(f"shared must be False with different vocabularies, got {sizes}")
        self.input_size, self.output_size = source_vocabulary, target_vocabulary
        options |= {"width": width, "heads": heads, "layers": layers, "activation": activation}
        self.encoder = Encoder(source_vocabulary, None, vocabulary=source_vocabulary, **options)
        self.decoder = Decoder(target_vocabulary, tied=tied, **options)
        if shared:
            self.encoder.embedding.weight = self.decoder.embedding.weight

    def encode(self, source: Tensor, mask: Tensor | None = None) -> DecoderState:
        """The state in which the decoder starts on source ids (B, S).

        ``mask``, bool (B, 1, 1, S), is True where there is a token; where the id is not 0 if None.
        """
        expect_ids(source, self.input_size, "source")
        mask = padding_mask(source) if mask is None else mask
        if at_hand(source) and not mask.any(-1).all():
            raise ValueError("source must have at least one token that is not 0 in each row, got none in one")
        return self.encoder(source, mask=mask)[0], mask, None

    def forward(self, x: Pair, state: DecoderState | None = None) -> tuple[Tensor, DecoderState]:
        """Map (source (B, S), target in (B, T)) to logits (B, T, V) for what comes after each of the target's ids.

        With a state, the source is not read again and may be None, and the target continues.
        """
        source, target = expect_pair(x, self.output_size, state)
        if source is not None and state is None:
            state = self.encode(source)
        return self.decoder(target, state)


def _body(
    input_size: int,
    output_size: int | None,
    width: int,
    heads: int,
    layers: int,
    *,
    vocabulary: int | None = None,
    activation: str = "gelu",
    bias: bool = True,
    tied: bool = False,
    **options: Any,
) -> tuple[nn.Embedding | nn.Linear, Stack, nn.Module]:
    """Input layer, blocks and readout; the options are those of the stack."""
    embedding = input_layer(input_size, width, vocabulary=vocabulary, bias=bias)
    stack = Stack(width, heads, layers, activation=activation, bias=bias, **options)
    return embedding, stack, readout_layer(embedding, width, output_size, tied=tied, bias=bias)


def _expect_decoder_state(state: object, x: Tensor) -> DecoderState:
    memory, mask, caches = expect_tuple(state, 3, "(memory, mask, caches)")
    expect(mask, (*expect(memory, (x.shape[0], "S", "D"), "state[0]").shape[:1], 1, 1, memory.shape[1]), "state[1]")
    return memory, mask, caches
