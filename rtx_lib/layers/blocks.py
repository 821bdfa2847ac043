"""The Transformer's blocks: attention, a feed-forward network, residual connections and norms (Vaswani et al. 2017).

A. Vaswani et al., *Attention Is All You Need*, NeurIPS 2017 (arXiv 1706.03762), sections 3.1 and 3.3. Matrices start
Xavier-uniform and biases at 0, as in the authors' Tensor2Tensor and in ``torch.nn.Transformer``.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_lib.shapes import Form, expect, expect_each, expect_state

from .attention import MultiHeadAttention
from .positions import make_schemes
from .stacking import draw_uniform

Activation = Callable[[Tensor], Tensor]
ACTIVATIONS: dict[str, Activation] = {"relu": F.relu, "gelu": F.gelu}
NORMS = ("pre", "post")
# What a block remembers: the keys and values (B, G, S, K) of its self-attention; with cross-attention two such pairs.
Cache = tuple[Any, Any]


def undrawn(kind: type[nn.Module], *sizes: int, **options: Any) -> Any:
    """A module whose weights are still to be drawn, so that torch's default for them takes nothing from the seed."""
    return nn.utils.skip_init(kind, *sizes, **options, device=torch.get_default_device())


def xavier_linear(inputs: int, outputs: int, *, bias: bool = True, gain: float = 1.0) -> nn.Linear:
    """A linear map with Xavier-uniform weights, bias 0."""
    layer: nn.Linear = undrawn(nn.Linear, inputs, outputs, bias=bias)
    nn.init.xavier_uniform_(layer.weight, gain)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer


def uniform_linear(inputs: int, outputs: int, *, bias: bool = True) -> nn.Linear:
    """A linear map with all weights from U(-1/sqrt(n), 1/sqrt(n)) for n inputs, torch.nn's rule."""
    layer: nn.Linear = undrawn(nn.Linear, inputs, outputs, bias=bias)
    draw_uniform(layer, inputs)
    return layer


def normal_linear(inputs: int, outputs: int, std: float) -> nn.Linear:
    """A linear map with weights from N(0, std^2), bias 0."""
    layer: nn.Linear = undrawn(nn.Linear, inputs, outputs)
    nn.init.normal_(layer.weight, 0, std)
    nn.init.zeros_(layer.bias)
    return layer


class FeedForward(nn.Module):
    """``W_2 f(W_1 x + b_1) + b_2`` at every position alike (Vaswani et al. 2017, eq. 2).

    Parameters
    ----------
    width
        D, at least 1.
    inner
        Width between the two maps; 4D if None.
    activation
        f: ``"relu"`` as in the paper, ``"gelu"``, x times the normal distribution function, or a function.
    bias
        Whether there are b_1 and b_2.
    dropout
        Probability with which an inner value is dropped in training.
    """

    def __init__(
        self,
        width: int,
        inner: int | None = None,
        *,
        activation: str | Activation = "relu",
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        inner = 4 * width if inner is None else inner
        if not callable(activation):
            expect_each(activation=(activation, sorted(ACTIVATIONS)))
        self.activation = activation
        self.linear1 = xavier_linear(width, inner, bias=bias)
        self.linear2 = xavier_linear(inner, width, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Map x (..., D) to (..., D)."""
        f = ACTIVATIONS[self.activation] if isinstance(self.activation, str) else self.activation
        return self.linear2(self.dropout(f(self.linear1(x))))


class SampleStdNorm(nn.Module):
    """``a (x - mean) / (std + eps) + b`` over the last axis, std with the divisor D - 1.

    The norm of *The Annotated Transformer* (Rush et al.) and of R-Transformer's code. ``nn.LayerNorm`` (Ba, Kiros
    and Hinton 2016, eq. 4) divides by D, and has eps under the root. a is called ``weight`` and b ``bias``.

    Parameters
    ----------
    width
        D, at least 2: one number has no sample deviation.
    eps
        Keeps a constant x from dividing by 0.
    bias
        Whether there is b.
    """

    def __init__(self, width: int, eps: float = 1e-6, *, bias: bool = True) -> None:
        super().__init__()
        expect_each(width=(width, 2))
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """Normalise x (..., D)."""
        std, mean = torch.std_mean(x, dim=-1, keepdim=True)
        y = self.weight * (x - mean) / (std + self.eps)
        return y if self.bias is None else y + self.bias


class Block(nn.Module):
    """Self-attention, attention to a memory if ``cross``, and the feed-forward network, each with a way around it::

        "post"    x = LN(x + f(x))        Vaswani et al. (2017), section 3.1
        "pre"     x = x + f(LN(x))        most of what came after; x itself is never normalised

    Dropout acts on every f (section 5.4 of the paper), and, as in most code, inside the attention and the
    feed-forward network too.

    Parameters
    ----------
    width, heads
        D and H, which must divide it.
    inner, activation, bias
        Of the :class:`FeedForward`; without ``bias`` the attention and the norms have none either.
    norm
        ``"pre"`` or ``"post"``.
    causal
        Whether a position sees only itself and those before it.
    cross
        Whether there is attention to a memory, which makes it a block of a decoder.
    positions
        What the self-attention asks for the positions (:mod:`rtx_lib.layers.positions`); nothing if None.
    dropout
        Probability with which a value is dropped in training.
    norm_layer
        Called with the width and ``bias``, e.g. :class:`SampleStdNorm`.
    key_heads
        G, heads of keys and values of the self-attention; H if None.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        inner: int | None = None,
        norm: str = "pre",
        causal: bool = False,
        cross: bool = False,
        positions: nn.Module | None = None,
        activation: str | Activation = "relu",
        bias: bool = True,
        dropout: float = 0.0,
        norm_layer: Callable[..., nn.Module] = nn.LayerNorm,
        key_heads: int | None = None,
    ) -> None:
        super().__init__()
        expect_each(norm=(norm, NORMS))
        self.norm, self.causal, self.cross = norm, causal, cross
        options: dict[str, Any] = {"bias": bias, "dropout": dropout}
        self.self_attention = _attention(width, heads, positions=positions, key_heads=key_heads, **options)
        if cross:
            self.cross_attention = _attention(width, heads, **options)
        self.feed_forward = FeedForward(width, inner, activation=activation, **options)
        self.norms = nn.ModuleList(norm_layer(width, bias=bias) for _ in range(2 + cross))
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Tensor,
        *,
        mask: Tensor | None = None,
        memory: Tensor | None = None,
        memory_mask: Tensor | None = None,
        cache: Cache | None = None,
    ) -> tuple[Tensor, Cache]:
        """Run all positions at once, or those that follow a cache.

        Parameters
        ----------
        x
            (B, T, D).
        mask
            Broadcastable to (B, H, T, M + T), True where a position may look; ``causal`` holds besides.
        memory
            (B, S, D), what the cross-attention reads.
        memory_mask
            Broadcastable to (B, H, T, S), True where the memory may be read.
        cache
            What the last call returned: the keys and values (B, G, M, K) of the positions before x; with ``cross``
            the pair of these and of the memory's (B, H, S, K), which are then not computed again.

        Returns
        -------
        y
            (B, T, D).
        cache
            The keys and values with those of x behind.
        """
        expect(x, ("B", "T", self.self_attention.width), like=self.self_attention.in_proj_weight)
        if self.cross != (memory is not None):
            got = "None" if memory is None else "a memory"
            raise ValueError(f"memory must be given if and only if cross is True, got {got} with cross={self.cross}")
        own, theirs = cache if self.cross and cache is not None else (cache, None)
        y, own = self.self_attention(self._enter(0, x), mask=mask, causal=self.causal, cache=own)
        x = self._leave(0, x, y)
        if self.cross:
            y, theirs = self.cross_attention(self._enter(1, x), memory, mask=memory_mask, cache=theirs)
            x = self._leave(1, x, y)
        x = self._leave(-1, x, self.feed_forward(self._enter(-1, x)))
        return x, (own, theirs) if self.cross else own

    def _enter(self, i: int, x: Tensor) -> Tensor:
        return self.norms[i](x) if self.norm == "pre" else x

    def _leave(self, i: int, x: Tensor, y: Tensor) -> Tensor:
        x = x + self.dropout(y)
        return x if self.norm == "pre" else self.norms[i](x)


def _attention(width: int, heads: int, **options: Any) -> MultiHeadAttention:
    """Multi-head attention whose last matrix starts Xavier-uniform too, as in ``torch.nn.Transformer``."""
    attention = MultiHeadAttention(width, heads, **options)
    nn.init.xavier_uniform_(attention.out_proj.weight)
    return attention


class Stack(nn.Module):
    """Blocks one on another, with positions; under ``norm="pre"`` one more norm follows the last.

    Without that norm the output of a pre-norm stack would be a bare sum of all blocks' outputs. Under ``"post"``
    every block ends in a norm already.

    Parameters
    ----------
    width, heads, layers
        D, H and the number of blocks; each at least 1.
    positions
        One of ``rtx_lib.layers.positions.SCHEMES``. A scheme that embeds acts once, on x; of the others each block
        has its own, so that their tables are not shared by the blocks.
    length, clip
        The length of the learned table and the clipping distance of Shaw's, as in
        :func:`~rtx_lib.layers.positions.make_positions`.
    norm, causal, bias, dropout, norm_layer
        As in :class:`Block`; the dropout acts on the embedded x as well.
    options
        Of every :class:`Block` besides: inner, cross, activation and key_heads.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        layers: int,
        *,
        positions: str = "none",
        length: int = 1024,
        clip: int = 16,
        norm: str = "pre",
        causal: bool = False,
        bias: bool = True,
        dropout: float = 0.0,
        norm_layer: Callable[..., nn.Module] = nn.LayerNorm,
        **options: Any,
    ) -> None:
        super().__init__()
        self.positions, schemes = make_schemes(
            positions, layers, width=width, heads=heads, length=length, clip=clip, causal=causal
        )
        options |= {"norm": norm, "causal": causal, "bias": bias, "dropout": dropout, "norm_layer": norm_layer}
        self.blocks = nn.ModuleList(Block(width, heads, positions=own, **options) for own in schemes)
        self.norm = norm_layer(width, bias=bias) if norm == "pre" else None
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Tensor, *, cache: tuple[Cache, ...] | None = None, **context: Any
    ) -> tuple[Tensor, tuple[Cache, ...]]:
        """Run x (B, T, D) through all blocks; mask, memory and memory_mask as in :meth:`Block.forward`.

        ``cache`` has one entry a block.
        """
        first: Any = self.blocks[0]
        expect(x, ("B", "T", first.self_attention.width), like=first.self_attention.in_proj_weight)
        past = 0
        if cache is not None:
            cache = expect_state(cache, self.cache_shapes(x.shape[0]), x, "cache")
            past = (cache[0][0] if first.cross else cache[0])[0].shape[2]
        if self.positions is not None:
            x = self.positions.embed(x, past)  # type: ignore[operator]
        x = self.dropout(x)
        after = []
        for i, block in enumerate(self.blocks):
            x, entry = block(x, cache=None if cache is None else cache[i], **context)
            after.append(entry)
        return x if self.norm is None else self.norm(x), tuple(after)

    def cache_shapes(self, batch: int) -> list[Form]:
        """Keys and values of every block, M positions in all; with ``cross`` the pair of these and of the memory's."""
        attention: Any = self.blocks[0].self_attention
        size = attention.width // attention.heads
        heads = (attention.key_heads, "M"), (attention.heads, "S")  # the memory's keys have all heads
        own, theirs = ({"k": shape, "v": shape} for shape in ((batch, *form, size) for form in heads))
        return len(self.blocks) * [{"own": own, "memory": theirs} if self.blocks[0].cross else own]
