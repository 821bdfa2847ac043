"""XLNet: a language model that may be asked for the words in any order (Yang et al. 2019).

Z. Yang, Z. Dai, Y. Yang, J. Carbonell, R. Salakhutdinov and Q. Le, *XLNet: Generalized Autoregressive Pretraining for
Language Understanding*, NeurIPS 2019 (arXiv 1906.08237): the two streams of attention (section 2.3), which is
Transformer-XL's with relative segments (2.5), and the model with its memory (2.4) and partial prediction (eq. 5). An
order is a mask and never shuffles the input; :mod:`rtx_lib.tasks.orders` makes such masks. Fine-tuning has no order, no
memory and one stream: :class:`XLNetClassifier`.

Where the authors' code (zihangdai/xlnet) does otherwise than this file:

- A query that sees nothing, the first of an order without a memory, attends there to all tokens alike, and so sees the
  word that it has to name. Here the attention gives it 0.
- There the query stream attends from all positions, and what has no target is thrown away. Here only targets do.
- The released models have the tanh form of gelu. Here, as in other implementations, it is gelu itself.
- u, v and b are each layer's own, as in the published command; without its flag ``untie_r`` all layers share them.
"""

import math
import re
from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_lib import shapes
from rtx_lib.layers.attention import attend, causal_mask
from rtx_lib.layers.blocks import ACTIVATIONS, normal_linear
from rtx_lib.layers.embedding import readout_layer, table
from rtx_lib.layers.official import joined, load_official, reads_official, renamed
from rtx_lib.layers.positions import Sinusoidal, distance_scores
from rtx_lib.models.transformer_xl import RelativeAttention, TransformerXLBlock

# What the model continues from: the last inputs of each layer's content stream, (B, M, D).
Memory = tuple[Tensor, ...]
PUBLISHED_STD, PUBLISHED_EPS = 0.02, 1e-12
PADDING = 4  # the segment of padding; the authors call the sentences of a pair 0 and 1, and the last token 2


class TwoStreamAttention(RelativeAttention):
    """Transformer-XL's attention for two streams at once, with relative segments (sections 2.3 to 2.5).

    Content h_i has read the word at position i, query g_i has not, and both attend to content::

        h_i = attention(query h_i, keys and values [memory; h] of i and of those before i in the order)
        g_i = attention(query g_i, keys and values [memory; h] of those before i in the order)

    All weights are the same, so that the streams are rows of one x = [h; g]: all rows are queries, and the first T are
    keys and values too. A query at position i and a key at position j score, where the mask lets them::

        A_ij = (q_i + u) . k_j  +  (q_i + v) . W_kR R_{i-j}  +  (q_i + b) . s_ij         over sqrt(K)

    i - j may be of either sign. s_ij is s[0] for two tokens of one segment and s[1] for others: no segment has a vector
    of its own, and there may be any number of them. What may see nothing gets weights 0 and the outcome 0.

    Parameters are those of :class:`~rtx_lib.models.transformer_xl.RelativeAttention`, b (H, K) and s (2, H, K).
    """

    def __init__(self, width: int, heads: int, **options: Any) -> None:
        super().__init__(width, heads, **options)
        self.b = nn.Parameter(torch.empty_like(self.u).normal_(0, PUBLISHED_STD))
        self.s = nn.Parameter(torch.empty(2, *self.u.shape).normal_(0, PUBLISHED_STD))

    def forward(  # type: ignore[override]
        self, x: Tensor, memory: Tensor, *, length: int, r: Tensor, columns: Tensor, mask: Tensor, other: Tensor | None
    ) -> Tensor:
        """Attend from both streams x (B, T + N, D) to the memory (B, M, D) and to the content; S = M + T.

        Parameters
        ----------
        length
            T, how many rows of x are content.
        r, columns
            Encodings of distances, (., D) or (B, ., D), and which of them lies between query and key (B, 1, T + N, S).
        mask, other
            Bool (B, 1, T + N, S), True where a query may attend, and where the key is of another segment, if there are
            segments.
        """
        context = torch.cat([memory, x[:, :length]], dim=1)  # (B, S, D)
        size = self.heads * self.head_width
        w_q, w_kv = self.in_proj_weight.split([size, 2 * size])
        q = self._heads(F.linear(x, w_q))  # (B, H, T + N, K)
        k, v = (self._heads(half) for half in F.linear(context, w_kv).chunk(2, dim=-1))  # (B, H, S, K)
        scale = 1 / math.sqrt(self.head_width)
        scores = distance_scores(q, self.v, r, self.r_proj_weight, columns)  # (B, H, T + N, S)
        if other is not None:
            same, different = ((q + self.b[:, None]) @ (self.s * scale).permute(1, 2, 0)).split(1, dim=-1)
            scores = scores + torch.where(other, different, same)
        sees = mask.any(-1, keepdim=True)  # a row of -inf alone would become NaN
        scores = scores.masked_fill(sees & ~mask, -math.inf)
        y = attend(q + self.u[:, None], k, v, scores, tap=self.weights_tap, sees=sees)
        return self.dropout(self.out_proj(y.transpose(1, 2).flatten(2)))


class XLNet(nn.Module):
    """Predict words in any order, each from those before it in the order, wherever they stand.

    For an order z of the positions the model maximises (eq. 3; by eq. 5, only the last part of z counts)::

        sum_k log p(x_{z_k} | x_{z_1}, ..., x_{z_{k-1}})         p = softmax(E g^L + bias)          eq. 4
        h^0_i = E[x_i],   g^0_i = w                              one vector wherever a word is asked for

    The layers are Transformer-XL's, with :class:`TwoStreamAttention`. The memory holds the content stream in the order
    of the text, so that nobody need know in which order an earlier segment was predicted.

    Weights start from N(0, 0.02^2), biases at 0, norms at the identity. ``ValueError`` is raised for settings out of
    range; in ``forward`` and ``encode`` for inputs or a state of the wrong form, shape or type, and for ids or targets
    out of range.

    Parameters
    ----------
    vocabulary, width, heads, layers
        V, D, even, H, and the number of layers. The readout shares the table E (V, D) of the ids.
    memory
        Most positions kept, at least 0; then there is no state. An attribute that may be changed between calls.
    activation
        Of the feed-forward networks, ``"gelu"`` or ``"relu"``.
    inner, head_width, dropout
        As in :class:`~rtx_lib.models.transformer_xl.TransformerXL`.
    """

    def __init__(
        self,
        vocabulary: int,
        *,
        width: int,
        heads: int,
        layers: int,
        memory: int = 0,
        inner: int | None = None,
        activation: str = "gelu",
        dropout: float = 0.0,
        **attention: Any,
    ) -> None:
        super().__init__()
        shapes.expect_each(layers=layers, memory=(memory, 0), activation=(activation, sorted(ACTIVATIONS)))
        self.input_size = self.output_size = vocabulary
        self.width, self.memory = width, memory
        attentions = [TwoStreamAttention(width, heads, dropout=dropout, **attention) for _ in range(layers)]
        blocks: list[Any] = [TransformerXLBlock(each, inner=inner, norm="post", dropout=dropout) for each in attentions]
        for block in blocks:
            inside, block.feed_forward.activation = block.feed_forward, activation
            for norm, linear in zip(block.norms, (inside.linear1, inside.linear2), strict=True):
                norm.eps = PUBLISHED_EPS
                nn.init.normal_(linear.weight, 0, PUBLISHED_STD)
        self.blocks = nn.ModuleList(blocks)
        self.encoding, self.dropout = Sinusoidal(width, layout="halves"), nn.Dropout(dropout)
        self.embedding = table(vocabulary, width, PUBLISHED_STD)
        self.w = nn.Parameter(torch.empty(width).normal_(0, PUBLISHED_STD))
        self.readout: Any = readout_layer(self.embedding, width, vocabulary, tied=True)
        self.readout.bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, x: Tensor | tuple[Any, ...], state: Memory | None = None) -> tuple[Tensor, Memory | None]:
        """Logits (B, N, V) of what is asked for, and the state that continues the text, None without memory.

        Parameters
        ----------
        x
            (ids, seen, targets), with segments behind if there are any, as in :meth:`encode`. Or ids
            (B, T) alone, which are predicted in the order of reading: y_t, N = T, is for the word behind x_t.
        state
            The memories (B, M, D), one for each layer.
        """
        if isinstance(x, tuple):
            if not 3 <= len(x) <= 4 or x[2] is None:
                raise ValueError(f"x must be (ids, seen, targets) or with segments behind, got {len(x)} entries")
            ids, how = x[0], dict(zip(("seen", "targets", "segments"), x[1:], strict=False))
        else:
            ids = shapes.expect_ids(x, self.input_size)
            before = causal_mask(ids.shape[1], device=ids.device).tril(-1)
            following = torch.arange(1, ids.shape[1] + 1, device=ids.device).expand(ids.shape[0], -1)
            how = {"seen": before, "targets": following}
        _, g, state = self.encode(ids, state, **how)
        return self.readout(g), state

    @classmethod
    @reads_official
    def from_official(cls, arrays: Mapping[str, Tensor], **options: Any) -> "XLNet":
        """The model with the arrays of Hugging Face's, by their names there."""
        weights = official_weights(arrays)
        (vocabulary, width), (heads, size) = weights["embedding.weight"].shape, weights["blocks.0.attention.u"].shape
        options |= {"width": width, "heads": heads, "head_width": size}
        options |= {"inner": len(weights["blocks.0.feed_forward.linear1.bias"])}
        options |= {"layers": sum(name.endswith("linear1.bias") for name in weights)}
        return load_official(cls(vocabulary, **options), weights)

    def encode(
        self,
        ids: Tensor,
        state: Memory | None = None,
        *,
        seen: Tensor | None = None,
        targets: Tensor | None = None,
        segments: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None, Memory | None]:
        """The content h (B, T, D), the query stream g (B, N, D), None without targets, and the state as in ``forward``.

        Parameters
        ----------
        ids, state
            (B, T), and the memories, which all see, and whose segment is 0.
        seen
            Bool, broadcastable to (B, T, T), True where the query at a position may see another: one that stands before
            it in the order. Content sees itself besides. All see all if None.
        targets
            Positions (B, N) that have a query: 0..T - 1; or T, behind the text, which sees all; or -1, none.
        segments
            Whole numbers (B, T), of which only counts whether two are equal.
        """
        shapes.expect_each(memory=(self.memory, 0))
        batch, length = (ids := shapes.expect_ids(ids, self.input_size, "ids").long()).shape
        shapes.expect_fits("seen", seen, (batch, length, length))
        shapes.expect_like(ids, optional=True, segments=(segments, ids.shape), targets=(targets, (batch, "N")))
        h, places = self.embedding(ids), torch.arange(length, device=ids.device).expand(batch, -1)
        memories = shapes.expect_state(state, len(self.blocks) * [(batch, "M", self.width)], h)
        past = memories[0].shape[1]  # M

        seen = torch.ones_like(ids[:1, :1], dtype=torch.bool) if seen is None else seen
        seen = seen.expand(batch, length, length)
        mask = seen | torch.eye(length, dtype=torch.bool, device=ids.device)
        if targets is not None:
            shapes.expect_ids(targets + 1, length + 2, "targets + 1")  # a target of -1 is none
            places = torch.cat([places, targets], dim=1)  # (B, T + N)
            rows = F.pad(seen, (0, 0, 0, 1), value=True)  # that of position T is the last
            rows = rows.gather(1, targets.clamp(min=0)[..., None].expand(-1, -1, length))
            mask = torch.cat([mask, rows], dim=1)
            h = torch.cat([h, self.w.expand(*targets.shape, -1)], dim=1)
        mask = F.pad(mask, (past, 0), value=True) & (places >= 0)[..., None]  # (B, T + N, S)
        where = self.positions(places.clamp(min=0), past, length)
        where |= {"length": length, "mask": mask[:, None], "other": None}
        if segments is not None:
            own, keys = segments.gather(1, places.clamp(0, length - 1)), F.pad(segments, (past, 0))
            where["other"] = (own[:, :, None] != keys[:, None])[:, None]

        x, after = self.dropout(h), []
        for block, memory in zip(self.blocks, memories, strict=True):
            after.append(self.remember(memory, x[:, :length]))
            x = block(x, memory, **where)
        x = self.dropout(x)
        return x[:, :length], None if targets is None else x[:, length:], tuple(after) if self.memory else None

    def remember(self, memory: Tensor, content: Tensor) -> Tensor:
        """The last ``memory`` positions of [memory; content], from which no gradient goes back."""
        kept = torch.cat([memory, content], dim=1)
        return kept[:, max(0, kept.shape[1] - self.memory) :].detach().clone()  # a view would keep all of it

    def positions(self, places: Tensor, past: int, length: int) -> dict[str, Any]:
        """Encodings of the distances M + T, ..., 1 - T, and which of them lies between pairs, (B, 1, T + N, S)."""
        columns = length - places[..., None] + torch.arange(past + length, device=places.device)  # M + T - (M + i - j)
        return {"r": self.dropout(self.encodings(past, length)), "columns": columns[:, None]}

    def encodings(self, past: int, length: int) -> Tensor:
        """Encodings of the distances M + T, ..., 1 - T, (., D)."""
        distances = torch.arange(past + length, -length, -1, device=self.w.device)
        return self.encoding.encode(distances, self.w.dtype)


# What Hugging Face's names are here.
OFFICIAL = {
    r"^lm_loss\.weight$": "",  # the table once more
    r"^lm_loss\.": "readout.",
    r"^transformer\.mask_emb$": "w",
    r"^transformer\.word_embedding\.": "embedding.",
    r"^transformer\.layer\.": "blocks.",
    r"\.rel_attn\.layer_norm\.": ".norms.0.",
    r"\.ff\.layer_norm\.": ".norms.1.",
    r"\.ff\.layer_": ".feed_forward.linear",
    r"\.rel_attn\.r$": ".attention.r_proj_weight",
    r"\.rel_attn\.o$": ".attention.out_proj.weight",
    r"\.rel_attn\.r_w_bias$": ".attention.u",
    r"\.rel_attn\.r_r_bias$": ".attention.v",
    r"\.rel_attn\.r_s_bias$": ".attention.b",
    r"\.rel_attn\.seg_embed$": ".attention.s",
}


def official_weights(arrays: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Parameters of Hugging Face's XLNet by our names; its maps to and from heads are (D, H, K)."""
    matrices = {name: value.flatten(1) for name, value in arrays.items() if re.search(r"\.rel_attn\.[qkvro]$", name)}
    turned = {name: value if name.endswith("o") else value.T for name, value in matrices.items()}
    weights = renamed({**arrays, **turned}, OFFICIAL)
    weights = joined(weights, [f".rel_attn.{part}" for part in "qkv"], ".attention.in_proj_weight")
    return weights | {"w": weights["w"].flatten(), "readout.weight": weights["embedding.weight"]}


class Denoising(nn.Module):
    """The rival of the paper's ablation: XLNet's network, trained as BERT is (table 6, row 2)::

        logits_i = E h^L_i + bias           h^0 = E[x], with mask tokens in x, and every token sees every other

    Only the content stream runs, so that w has no gradient. ``ValueError`` is raised as by the model, and for a state.
    """

    def __init__(self, model: XLNet) -> None:
        super().__init__()
        self.input_size, self.output_size, self.model = model.input_size, model.output_size, model

    def forward(self, x: Tensor, state: None = None) -> tuple[Tensor, None]:
        """Map ids (B, T), some of them those of a mask token, to logits (B, T, V); there is no state."""
        shapes.expect_no_state(state)
        return self.model.readout(self.model.encode(x)[0]), None


class XLNetClassifier(nn.Module):
    """Name the class of a text in which every token sees every other, as in the authors' fine-tuning::

        y = W_y tanh(W_s h^L_last + b_s) + b_y

    The last token stands for the text, so that padding goes in front: segment 4, which nobody sees but itself. Query
    stream and memory of the model are not used. ``dropout`` acts on the tanh. W_s and W_y start from N(0, 0.02^2), b_s
    and b_y at 0. ``ValueError`` is raised in ``forward`` for a state and for what the model refuses.
    """

    def __init__(self, model: XLNet, output_size: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.input_size, self.output_size, self.model = model.input_size, output_size, model
        sizes = (model.width, output_size)
        self.summary, self.readout = (normal_linear(model.width, size, PUBLISHED_STD) for size in sizes)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: tuple[Tensor, Tensor], state: None = None) -> tuple[Tensor, None]:
        """Map the pair of ids and segments, both (B, T), to logits (B, 1, classes); there is no state."""
        shapes.expect_no_state(state)
        ids, segments = shapes.expect_tuple(x, 2, "(ids, segments)", "x")
        real = shapes.expect(segments, shapes.expect_ids(ids, self.input_size, "ids").shape, "segments") != PADDING
        h, _, _ = self.model.encode(ids, seen=real[:, None], segments=segments)
        return self.readout(self.dropout(self.summary(h[:, -1:]).tanh())), None
