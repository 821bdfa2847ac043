"""Attention with weights that can be seen: scaled dot-product, additive and multi-head, and the masks for all three.

A mask is a bool tensor in which True means "may attend", as in ``torch.nn.functional.scaled_dot_product_attention``;
the masks of ``torch.nn.MultiheadAttention`` mean the opposite. A query that may attend to nothing gets weights 0 and
output 0, and passes no gradient; what multi-head attention returns for it is the bias b_O of its last map.
"""

import contextlib
import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from rtx_lib.shapes import expect, expect_each, expect_fits, expect_like, expect_state, traced

from .stacking import draw_uniform, watched


def causal_mask(queries: int, keys: int | None = None, *, device: torch.device | str | None = None) -> Tensor:
    """The mask (T, S) under which no query sees a later key; the queries are the last T of the S positions.

    Parameters
    ----------
    queries, keys
        T and S, 1 <= T <= S; S = T if None.
    device
        Where the mask is made.
    """
    keys = queries if keys is None else keys
    if keys < queries:
        raise ValueError(f"keys must be at least queries = {queries}, got {keys}")
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)


def padding_mask(ids: Tensor, pad: int = 0) -> Tensor:
    """The mask (B, 1, 1, S) that is True where ids (B, S) hold a token and False where they hold ``pad``."""
    return (expect(ids, "B S", "ids") != pad)[:, None, None]


def dot_product_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    """``softmax(scale q k^T + bias) v`` (Vaswani et al. 2017, eq. 1), in the form to read.

    Parameters
    ----------
    q, k, v
        Queries (B, H, T, K), keys (B, H, S, K) and values (B, H, S, K_v).
    mask
        Bool, broadcastable to (B, H, T, S); True where a query may attend to a key.
    bias
        Floats, broadcastable to (B, H, T, S), added after scaling. It has to be finite: what is hidden, the mask hides.
    scale
        1 / sqrt(K) if None.

    Returns
    -------
    y
        (B, H, T, K_v).
    weights
        (B, H, T, S); each row sums to 1, or to 0 if all of it is masked.
    """
    expect(q, "B H T K", "q")
    batch, heads, queries, width = q.shape
    expect_like(q, exact=False, k=(k, (batch, heads, "S", width)), v=(v, (batch, heads, "S", "K_v")))
    shape = (batch, heads, queries, k.shape[2])
    expect_fits("mask", mask, shape)
    expect_fits("bias", bias, shape, "float")
    scores = q * (1 / math.sqrt(width) if scale is None else scale) @ k.mT
    weights = masked_softmax(scores if bias is None else scores + bias, mask)
    return weights @ v, weights


def masked_softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Softmax of scores (..., S) over what the mask lets through; 0 elsewhere, in whole rows too."""
    if mask is None:
        return scores.softmax(-1)
    # The least finite number, as -inf would make NaN of a row that is masked as a whole.
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1).masked_fill(~mask, 0)


def attend(
    q: Tensor, k: Tensor, v: Tensor, bias: Tensor, *, tap: nn.Module, dropout: float = 0.0, sees: Tensor | None = None
) -> Tensor:
    """``softmax(q k^T / sqrt K + bias) v``, by torch's fused kernel unless a hook on the tap wants to see the weights.

    q may be of another precision than k and v, as autocast leaves it. What ``sees`` (B, 1, T, 1) is False for gets 0.
    """
    scale = 1 / math.sqrt(q.shape[-1])
    if watched(tap):
        weights = (q * scale @ k.mT + bias).softmax(-1)
        weights = weights if sees is None else weights.masked_fill(~sees, 0)
        return F.dropout(tap(weights), dropout) @ v
    y = _kernel(q.to(v.dtype), k, v, bias.to(v.dtype), dropout, scale=scale)
    return y if sees is None else y.masked_fill(~sees, 0)


class AdditiveAttention(nn.Module):
    """Additive attention (Bahdanau, Cho and Bengio 2015, section 3.1 and appendix A.1.2).

    A small network compares the decoder's state s_i with each annotation h_j, and the context is their mean under
    the weights that come out::

        e_ij = v^T tanh(W s_i + U h_j)
        a_ij = exp(e_ij) / sum_k exp(e_ik)
        c_i  = sum_j a_ij h_j

    All three are drawn from U(-1/sqrt(n), 1/sqrt(n)) with n inputs.

    Parameters
    ----------
    query_size, key_size, width
        Sizes of s (D_q), of h (D_k) and of the hidden layer; each at least 1. W is ``query.weight``, U is
        ``key.weight``, v is ``score.weight``.
    """

    def __init__(self, query_size: int, key_size: int, width: int) -> None:
        super().__init__()
        self.query_size, self.key_size, self.width = query_size, key_size, width
        self.query = nn.Linear(query_size, width, bias=False)
        self.key = nn.Linear(key_size, width, bias=False)
        self.score = nn.Linear(width, 1, bias=False)
        self.weights_tap = nn.Identity()  # the weights (B, T, S) go through here, for hooks
        for linear in (self.query, self.key, self.score):
            draw_uniform(linear, linear.in_features)

    def forward(self, query: Tensor, keys: Tensor, *, mask: Tensor | None = None) -> Tensor:
        """The contexts (B, T, D_k).

        Parameters
        ----------
        query
            (B, T, D_q).
        keys
            (B, S, D_k), S at least 1.
        mask
            Bool, broadcastable to (B, T, S); True where a query may attend to a key.
        """
        expect(query, ("B", "T", self.query_size), "query", like=self.query.weight)
        expect(keys, (query.shape[0], "S", self.key_size), "keys", like=self.key.weight)
        expect_fits("mask", mask, (*query.shape[:2], keys.shape[1]))
        weights = self.weights_tap(masked_softmax(self.scorer(self.key(keys))(query), mask))  # (B, T, S)
        return weights @ keys

    def scorer(self, projected: Tensor) -> Callable[[Tensor], Tensor]:
        """The function from queries (B, T, D_q) to their scores (B, T, S) with ``U h`` (B, S, width), up to a constant.

        ``U h`` is the same for every step of a decoder, which computes it once by ``key``.
        tanh(u) = 2 sigmoid(2u) - 1. The 1 adds the same to all scores of s, which the softmax does not see, and on a
        CPU torch's sigmoid takes a sixth of the time of its tanh.
        """
        w, keys, v = 2 * self.query.weight, 2 * projected[:, None], 2 * self.score.weight
        return lambda s: F.linear(torch.sigmoid(F.linear(s, w)[:, :, None] + keys), v).squeeze(-1)


class MultiHeadAttention(nn.Module):
    """Multi-head attention (Vaswani et al. 2017, section 3.2.2), for self-attention and cross-attention::

        q, k, v = W_Q x + b_Q, W_K m + b_K, W_V m + b_V         cut into H heads of K = D / H numbers each
        head_h = softmax(q_h k_h^T / sqrt(K) + bias) v_h
        y = W_O [head_1; ...; head_H] + b_O

    where m is x itself (self-attention) or a memory (cross-attention). The parameters bear the names and the layout
    of ``torch.nn.MultiheadAttention``: W_Q, W_K and W_V lie on top of each other in ``in_proj_weight``.

    With G < H heads of keys and values, W_K and W_V have GK rows, and the queries' head h looks with k_g and v_g,
    g = floor(h G / H): grouped queries (Ainslie et al. 2023, section 2.2); G = 1 is multi-query attention (Shazeer
    2019, section 3). The cache is smaller by H / G. The scores cost what they did.

    While nobody looks at the weights, torch's fused kernel computes the heads and they are never stored. A forward
    hook on ``weights_tap`` sees them, (B, H, T, S), before dropout; if it returns other weights, those are used.
    The kernel has no second derivatives: they are had in float64, with such a hook, or within
    ``torch.nn.attention.sdpa_kernel(SDPBackend.MATH)``.

    They start as in torch.nn: Glorot's uniform rule for W_Q, W_K and W_V taken as one matrix, U(-1/sqrt(D), 1/sqrt(D))
    for W_O, biases 0.

    Parameters
    ----------
    width, heads
        D and H; H divides D.
    bias
        Whether the projections have biases.
    dropout
        Share of the weights set to 0 in training, from 0 to below 1.
    positions
        A position scheme; in self-attention, those of its methods ``rotate``, ``score_bias`` and ``value_bias`` that
        it has are asked, with the position of the first query as ``offset``. The last one needs
        the weights and therefore the slower form.
    key_heads
        G, which divides H; H if None.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        bias: bool = True,
        dropout: float = 0.0,
        positions: Any = None,
        key_heads: int | None = None,
    ) -> None:
        super().__init__()
        expect_each(width=width, heads=(heads, f"divisor of {width}"), dropout=(dropout, "[0, 1)"))
        self.width, self.heads, self.dropout, self.positions = width, heads, dropout, positions
        self.key_heads = heads if key_heads is None else key_heads
        expect_each(key_heads=(self.key_heads, f"divisor of {heads}"))
        rows = width + 2 * self.key_heads * (width // heads)
        self.in_proj_weight = nn.Parameter(torch.empty(rows, width))
        self.in_proj_bias = nn.Parameter(torch.zeros(rows)) if bias else None
        self.out_proj = nn.Linear(width, width, bias=bias)
        self.weights_tap = nn.Identity()
        nn.init.xavier_uniform_(self.in_proj_weight)
        bound = 1 / math.sqrt(width)
        nn.init.uniform_(self.out_proj.weight, -bound, bound)
        if bias:
            nn.init.zeros_(self.out_proj.bias)

    def forward(
        self,
        x: Tensor,
        memory: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        causal: bool = False,
        cache: tuple[Tensor, Tensor] | None = None,
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Attend from x to x and what the cache holds, or to the memory.

        Parameters
        ----------
        x
            (B, T, D), T at least 1.
        memory
            (B, S, D), S at least 1, for cross-attention.
        mask
            Bool, broadcastable to (B, H, T, S); True where a query may attend to a key. One mask for each sequence
            therefore is (B, 1, T, S).
        causal
            Whether a query sees no later key; in self-attention only. A mask hides more.
        cache
            Keys and values (B, G, M, K) of earlier steps, which stand before x: S = M + T. In cross-attention the
            memory's keys and values, M = S, from an earlier call: they are not computed again.

        Returns
        -------
        y
            (B, T, D).
        cache
            All S keys and values, each (B, G, S, K), for the next call; the keys without rotation.
        """
        past = self._expect(x, memory, mask, causal, cache)
        q, k, v = self._project(x, memory, cache)  # (B, H, T, K), and (B, G, S, K) twice
        cache, bias, value_bias = (k, v), None, None
        if self.key_heads < self.heads:
            k, v = (part.repeat_interleave(self.heads // self.key_heads, dim=1) for part in cache)  # (B, H, S, K)
        if memory is None and self.positions is not None:
            q, k, bias, value_bias = self._placed(q, k, past)

        if value_bias is None and not watched(self.weights_tap):
            y = fused_attention(q, k, v, mask, bias, causal, self.dropout if self.training else 0.0)
        else:
            scores = q * (1 / math.sqrt(q.shape[-1])) @ k.mT  # (B, H, T, S)
            scores = scores if bias is None else scores + bias
            weights = masked_softmax(scores, _with_causal(mask, causal, q, k))
            weights = F.dropout(self.weights_tap(weights), self.dropout, self.training)
            y = weights @ v if value_bias is None else weights @ v + value_bias(weights)  # (B, H, T, K)
        return self.out_proj(y.transpose(1, 2).reshape(x.shape)), cache

    def _expect(self, x: Tensor, memory: Tensor | None, mask: Tensor | None, causal: bool, cache: Any) -> int:
        """How many positions stand before x (M), if all of it fits."""
        expect(x, ("B", "T", self.width), like=self.in_proj_weight)
        expect_like(x, exact=False, optional=True, memory=(memory, (x.shape[0], "S", self.width)))
        if memory is not None and causal:
            raise ValueError("causal must be False in cross-attention, whose keys have their own time, got True")
        if cache is not None:
            shape = (x.shape[0], self.key_heads, "M" if memory is None else memory.shape[1], self.width // self.heads)
            expect_state(cache, {"k": shape, "v": shape}, x, "cache")
        past = 0 if cache is None else cache[0].shape[2]
        keys = past + x.shape[1] if memory is None else memory.shape[1]
        expect_fits("mask", mask, (x.shape[0], self.heads, x.shape[1], keys))
        return past

    def _placed(self, q: Tensor, k: Tensor, past: int) -> tuple[Tensor, Tensor, Tensor | None, Any]:
        """q and k turned, what is added to the scores, and what to the values, as far as the position scheme has it."""
        scheme, bias = self.positions, None
        if hasattr(scheme, "rotate"):
            q, k = scheme.rotate(q, k, past)
        if hasattr(scheme, "score_bias"):
            bias = scheme.score_bias(q, k, past).to(q.dtype)  # which under autocast has less precision
        return q, k, bias, getattr(scheme, "value_bias", None)

    def keys_and_values(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values (B, G, M, K) of a memory (B, M, D): the cache that puts these positions in front of x."""
        expect(memory, ("B", "M", self.width), "memory", like=self.in_proj_weight)
        bias = None if self.in_proj_bias is None else self.in_proj_bias[self.width :]
        k, v = self._heads(F.linear(memory, self.in_proj_weight[self.width :], bias), self.key_heads, self.key_heads)
        return k, v

    def _project(
        self, x: Tensor, memory: Tensor | None, cache: tuple[Tensor, Tensor] | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Queries (B, H, T, K), and keys and values (B, G, S, K)."""
        weight, bias = self.in_proj_weight, self.in_proj_bias
        if memory is None:
            q, k, v = self._heads(F.linear(x, weight, bias), self.heads, self.key_heads, self.key_heads)
            return (q, k, v) if cache is None else (q, torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2))
        (q,) = self._heads(F.linear(x, weight[: self.width], None if bias is None else bias[: self.width]), self.heads)
        k, v = self.keys_and_values(memory) if cache is None else cache
        return q, k, v

    def _heads(self, z: Tensor, *counts: int) -> tuple[Tensor, ...]:
        """Cut (B, T, n K) into its n heads (B, n, T, K), and these into parts of so many heads."""
        return z.unflatten(-1, (sum(counts), -1)).transpose(1, 2).split(counts, dim=1)


def _with_causal(mask: Tensor | None, causal: bool, q: Tensor, k: Tensor) -> Tensor | None:
    """The mask and, if asked for, the causal one in one; a single query is the last and sees all keys."""
    if not causal or q.shape[2] == 1:
        return mask
    past = causal_mask(q.shape[2], k.shape[2], device=q.device)
    return past if mask is None else mask & past


def fused_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bias: Tensor | None, causal: bool, dropout: float
) -> Tensor:
    """Softmax, dropout and the product with v (B, H, T, K) in torch's kernel, which keeps no weights."""
    if causal and mask is None and bias is None and q.shape[2] == k.shape[2]:
        return _kernel(q, k, v, dropout_p=dropout, is_causal=True)
    mask = _with_causal(mask, causal, q, k)
    if bias is not None:
        bias = _four_axes(bias)
    if mask is None:
        return _kernel(q, k, v, bias, dropout)
    # A row that is masked as a whole is NaN in some versions: it sees everything, and its output is set to 0.
    mask = _four_axes(mask)
    seen = mask.any(-1, keepdim=True)
    mask = mask | ~seen
    bias = mask if bias is None else bias.masked_fill(~mask, -math.inf)
    return _kernel(q, k, v, bias, dropout).masked_fill(~seen, 0)


def _kernel(q: Tensor, k: Tensor, v: Tensor, *options: Any, **more: Any) -> Tensor:
    """``F.scaled_dot_product_attention``, in float64 by its plain form, whose gradients can be differentiated."""
    with sdpa_kernel(SDPBackend.MATH) if q.dtype == torch.float64 else contextlib.nullcontext():
        y = F.scaled_dot_product_attention(q, k, v, *options, **more)
    if not traced() and "ScaledDotProduct" in type(y.grad_fn).__name__:
        y.register_hook(_refuse_second)
    return y


def _refuse_second(gradient: Tensor) -> None:
    """Gradients are enabled in a backward pass if it is to be differentiated in its turn, as the kernel's cannot be."""
    if torch.is_grad_enabled():
        raise RuntimeError(
            "torch's fused attention has no second derivatives: compute in float64, hook weights_tap, or run the model "
            "within torch.nn.attention.sdpa_kernel(SDPBackend.MATH)"
        )


def _four_axes(mask: Tensor) -> Tensor:
    """The fast kernels take no mask of three axes."""
    return mask[(None,) * (4 - mask.ndim)]
