"""Transformer-XL: segments that remember, and positions that are distances (Dai et al. 2019).

Z. Dai, Z. Yang, Y. Yang, J. Carbonell, Q. Le and R. Salakhutdinov, *Transformer-XL: Attentive Language Models Beyond a
Fixed-Length Context*, ACL 2019 (arXiv 1901.02860). In the paper's order: the relative attention (section 3.3) with the
shift of its appendix B (:func:`~rtx_lib.layers.positions.relative_shift`), a layer, and the model with its
segment-level recurrence (section 3.2). What the paper leaves open is as in the authors' code: the start, where dropout
acts, and u and v, which are the same in all layers unless ``untied_uv``.
"""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_lib.layers.attention import attend, causal_mask
from rtx_lib.layers.blocks import NORMS, FeedForward, undrawn
from rtx_lib.layers.embedding import embed, input_layer, readout_layer
from rtx_lib.layers.positions import Sinusoidal, distance_scores
from rtx_lib.shapes import Shapes, expect, expect_each, expect_fits, expect_heads, expect_state

# What the model continues from: of the embedding and of each layer the last outputs, (B, M, D).
Memory = tuple[Tensor, ...]


class RelativeAttention(nn.Module):
    """Multi-head attention to a memory and to the past, in which positions are distances (section 3.3).

    The query at position i and the key at position j, which stands i - j before it, score::

        A_ij = q_i . k_j  +  q_i . W_kR R_{i-j}  +  u . k_j  +  v . W_kR R_{i-j}         over sqrt(K)
                 (a)              (b)                (c)             (d)

    with q from x, k and the values from [memory; x], and R the sinusoidal encoding of the distance, all sines first.
    (a) and (c) are (q + u) . k, and (b) and (d) are (q + v) . W_kR R, which is computed once for each distance and then
    moved to its keys (:func:`~rtx_lib.layers.positions.distance_scores`). There are no biases.

    While nobody looks at the weights, torch's fused kernel takes (b) + (d) as its mask. A forward hook on
    ``weights_tap`` sees the weights (B, H, T, S); if it returns other weights, those are used.

    W_q, W_kE and W_v lie on top of each other in ``in_proj_weight`` (3HK, D); W_kR is ``r_proj_weight`` (HK, D). All
    weights start from N(0, 0.02^2).

    Parameters
    ----------
    width, heads
        D, even, and H.
    head_width
        K; D / H if None, and then H divides D.
    dropout
        Probability with which a value of the output is dropped in training, from 0 to below 1.
    shared
        Another layer, whose u and v (H, K) this one has too; new ones if None.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        head_width: int | None = None,
        dropout: float = 0.0,
        shared: "RelativeAttention | None" = None,
    ) -> None:
        super().__init__()
        head_width = expect_heads(width, heads) if head_width is None else head_width
        self.width, self.heads, self.head_width = width, heads, head_width
        self.encoding = Sinusoidal(width, layout="halves")
        self.in_proj_weight = _normal(3 * heads * head_width, width)
        self.r_proj_weight = _normal(heads * head_width, width)
        self.out_proj = undrawn(nn.Linear, heads * head_width, width, bias=False)
        self.out_proj.weight = _normal(width, heads * head_width)
        self.u: nn.Parameter = _normal(heads, head_width) if shared is None else shared.u
        self.v: nn.Parameter = _normal(heads, head_width) if shared is None else shared.v
        self.dropout = nn.Dropout(dropout)
        self.weights_tap = nn.Identity()

    def forward(
        self, x: Tensor, memory: Tensor | None = None, *, r: Tensor | None = None, mask: Tensor | None = None
    ) -> Tensor:
        """Attend from x to the memory and to x itself.

        Parameters
        ----------
        x
            (B, T, D), T at least 1.
        memory
            (B, M, D), what stands before x; M = 0 if None. S = M + T.
        r
            The encodings of the distances: S - 1, ..., 0, (S, D), and then no query sees a later key, whatever the mask
            says; or S - 1, ..., 1 - T, (S + T - 1, D). If None they are made here, the longer row if there is a mask.
        mask
            Bool, broadcastable to (T, S), True where a query may attend; a query that sees nothing gets zeros. The
            causal one if None.

        Returns
        -------
        y
            (B, T, D).
        """
        expect(x, ("B", "T", self.width), like=self.in_proj_weight)
        memory = expect_state(memory, (x.shape[0], "M", self.width), x, "memory")
        context = torch.cat([memory, x], dim=1)  # (B, S, D)
        r, mask = self._defaults(r, mask, x.shape[1], context.shape[1])
        sees = mask.any(-1, keepdim=True)  # a row of -inf alone would become NaN

        w_q, w_kv = self.in_proj_weight.tensor_split([self.heads * self.head_width])
        q = self._heads(F.linear(x, w_q))  # (B, H, T, K)
        k, v = (self._heads(half) for half in F.linear(context, w_kv).chunk(2, dim=-1))  # (B, H, S, K)
        position = distance_scores(q, self.v, r, self.r_proj_weight)[..., : mask.shape[-1]]  # (b) + (d), (B, H, T, S)
        position = position + torch.zeros_like(mask, dtype=q.dtype).masked_fill_(sees & ~mask, -math.inf)
        # (a) + (c); (B, H, T, K)
        y = attend(q + self.u[:, None], k, v, position, tap=self.weights_tap, sees=sees)
        return self.dropout(self.out_proj(y.transpose(1, 2).flatten(2)))

    def _defaults(self, r: Tensor | None, mask: Tensor | None, queries: int, keys: int) -> tuple[Tensor, Tensor]:
        """The distances' encodings, of both signs where a mask may show what stands behind a query, and the mask."""
        weight = self.r_proj_weight
        expect_fits("mask", mask, (queries, keys))
        if r is None:
            nearest = 0 if mask is None else 1 - queries
            r = self.encoding.encode(torch.arange(keys - 1, nearest - 1, -1, device=weight.device), weight.dtype)
        behind = queries - 1 if expect(r, ("S", self.width), "r").shape[0] > keys else 0
        expect(r, (keys + behind, self.width), "r")
        if mask is None or not behind:
            past = causal_mask(queries, keys, device=weight.device)
            mask = past if mask is None else mask & past
        return r, mask.expand(queries, keys)

    def _heads(self, z: Tensor) -> Tensor:
        """(B, N, H K) as (B, H, N, K)."""
        return z.unflatten(-1, (self.heads, self.head_width)).transpose(1, 2)


class TransformerXLBlock(nn.Module):
    """A layer: relative attention that also reads the layer's memory, and the feed-forward network (section 3.3)::

        "post"    h = LN(h + attention([SG(m); h]));     h = LN(h + feed_forward(h))
        "pre"     h = h + attention(LN([SG(m); h]));     h = h + feed_forward(LN(h))

    m holds the earlier outputs of the layer below, and SG stops the gradient. The paper's layer is ``"post"``.

    Parameters
    ----------
    attention, inner, norm, dropout
        As in :class:`TransformerXL`, which makes the attention.
    """

    def __init__(self, attention: Any, *, inner: int | None, norm: str, dropout: float) -> None:
        super().__init__()
        expect_each(norm=(norm, NORMS))
        self.norm, self.attention = norm, attention
        self.feed_forward = FeedForward(attention.width, inner, dropout=dropout)
        self.norms = nn.ModuleList(nn.LayerNorm(attention.width) for _ in range(2))
        self.dropout = nn.Dropout(dropout)

    def forward(self, h: Tensor, memory: Tensor, **positions: Tensor) -> Tensor:
        """Map h (B, T, D), with a memory (B, M, D) before it, to (B, T, D); what else comes is for the attention."""
        memory = memory.detach()  # SG
        if self.norm == "pre":
            h = h + self.attention(self.norms[0](h), self.norms[0](memory), **positions)
        else:
            h = self.norms[0](h + self.attention(h, memory, **positions))
        y: Tensor = h + self.dropout(self.feed_forward(self.norms[1](h) if self.norm == "pre" else h))
        return y if self.norm == "pre" else self.norms[1](y)


class TransformerXL(nn.Module):
    """A language model that reads a text in segments and keeps what each layer computed for the last ones.

    The keys and values of layer n come from [SG(m^{n-1}); h^{n-1}], the outputs of the layer below for the last M
    positions before the segment and for the segment (section 3.2). Information so travels up to M positions further
    with every layer, and none is computed twice. Positions are distances: no segment needs to know where it stands.

    ``memory``, ``same_length`` and ``clamp`` are attributes that may be changed between calls: the papers' models are
    tested with more memory than they were trained with.

    Weights start from N(0, 0.02^2), the weights of norms from N(1, 0.02^2), biases at 0, and the input layer of floats
    by Xavier's rule. What single experiments change, stands in :mod:`~rtx_lib.models.transformer_xl_variants`.

    Parameters
    ----------
    input_size, output_size
        Width of x, if no vocabulary is given, and of y.
    width, heads, layers
        D, even, H, and the number of layers.
    memory
        Most positions kept, at least 0; then there is no state.
    vocabulary
        If given, x holds ids below it; they become sqrt(D) times their rows of the table.
    inner
        Width inside the feed-forward networks; 4D if None.
    norm
        ``"post"``, or ``"pre"``, which normalises the memory anew in every segment and has no last norm.
    same_length
        Whether a query sees no more than ``memory`` keys, itself included, wherever in its segment it stands.
    clamp
        Distances beyond it count as it; 0 or less: no limit.
    dropout
        Probability with which a value is dropped in training: of the embedding, of R, of what attention and
        feed-forward network add, inside the latter, and of the last layer's output.
    tied
        Whether the readout uses the table of the ids, with a bias; None: where output_size = vocabulary.
    untied_uv
        Whether every layer has its own u and v.
    attention
        ``head_width`` of every :class:`RelativeAttention`.
    """

    def __init__(
        self,
        input_size: int,
        output_size: int,
        *,
        width: int,
        heads: int,
        layers: int,
        memory: int,
        vocabulary: int | None = None,
        inner: int | None = None,
        norm: str = "post",
        same_length: bool = False,
        clamp: int = 0,
        dropout: float = 0.0,
        tied: bool | None = None,
        **attention: Any,
    ) -> None:
        super().__init__()
        expect_each(layers=layers, memory=(memory, int(same_length)))  # with same_length, one position at least
        self.input_size, self.output_size, self.width = input_size, output_size, width
        self.memory, self.same_length, self.clamp = memory, same_length, clamp
        each = self.attentions(heads, layers, dropout=dropout, **attention)
        self.blocks = nn.ModuleList(TransformerXLBlock(a, inner=inner, norm=norm, dropout=dropout) for a in each)
        self.encoding = Sinusoidal(width, layout="halves")
        self.dropout = nn.Dropout(dropout)
        tied = vocabulary == output_size if tied is None else tied
        self.embedding: Any = input_layer(input_size, width, vocabulary=vocabulary)
        self.readout: Any = readout_layer(self.embedding, width, output_size, tied=tied)
        if tied:
            self.readout.bias = nn.Parameter(torch.zeros(output_size))
        self._start()

    def attentions(self, heads: int, layers: int, *, untied_uv: bool = False, **options: Any) -> list[Any]:
        """The attention of each layer."""
        first = RelativeAttention(self.width, heads, **options)
        options["shared"] = None if untied_uv else first
        return [first, *(RelativeAttention(self.width, heads, **options) for _ in range(layers - 1))]

    def state_shapes(self, batch: int) -> Shapes:
        """Of the embedding and of each layer the last outputs, M of them."""
        names = ["embedding", *(f"layer {n}" for n in range(1, len(self.blocks) + 1))]
        return dict.fromkeys(names, (batch, "M", self.width))

    def forward(self, x: Tensor, state: Memory | None = None) -> tuple[Tensor, Memory | None]:
        """Map ids (B, T) or floats (B, T, input_size) to y (B, T, output_size) and the state that continues them."""
        h, state = self.encode(x, state)
        return self.readout(h), state

    def encode(self, x: Tensor, state: Memory | None = None) -> tuple[Tensor, Memory | None]:
        """What the readout reads, (B, T, D), and the state that continues x: the memories, or None without memory."""
        expect_each(memory=(self.memory, int(self.same_length)))
        h = self.dropout(self.embed(x))
        before = expect_state(state, self.state_shapes(h.shape[0]), h)
        positions = self.positions(h, keys=before[0].shape[1] + h.shape[1])
        outputs = [h]
        for block, memory in zip(self.blocks, before, strict=False):  # nobody reads the last layer's memory
            outputs.append(block(outputs[-1], memory, **positions))
        after = tuple(map(self._remember, before, outputs)) if self.memory else None
        return self.dropout(outputs[-1]), after

    def embed(self, x: Tensor) -> Tensor:
        """The first layer's input (B, T, D)."""
        return embed(self.embedding, x)

    def _remember(self, memory: Tensor, h: Tensor) -> Tensor:
        """The last ``memory`` positions of [memory; h], from which no gradient goes back."""
        return torch.cat([memory, h], dim=1)[:, -self.memory :].detach().clone()  # a view would keep all of it

    def positions(self, h: Tensor, keys: int) -> dict[str, Tensor]:
        """What the attention of all layers asks for: the encodings r (S, D) of the distances, and the mask (T, S)."""
        mask = causal_mask(h.shape[1], keys, device=h.device)
        if self.same_length:
            mask = mask.triu(keys - h.shape[1] - self.memory + 1)  # the first key of query i is M + i - memory + 1
        distances = torch.arange(keys - 1, -1, -1, device=h.device)
        if self.clamp > 0:
            distances = distances.clamp(max=self.clamp)
        return {"mask": mask, "r": self.dropout(self.encoding.encode(distances, h.dtype))}

    @torch.no_grad()
    def _start(self) -> None:
        """Draw all weights by the rules of the authors' code."""
        for name, parameter in self.named_parameters():
            if name.startswith("embedding.") and isinstance(self.embedding, nn.Linear):
                continue
            if "bias" in name:
                parameter.zero_()
            elif "norms" in name:
                parameter.normal_(1, 0.02)
            else:
                parameter.normal_(0, 0.02)


def _normal(*shape: int) -> nn.Parameter:
    return nn.Parameter(torch.empty(shape).normal_(0, 0.02))
