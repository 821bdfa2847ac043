"""How attention learns where a token stands: seven schemes behind four optional methods.

Attention by itself sees a set. Each scheme here has those of the following methods that it needs, and attention
asks for what is there. Queries q (B, H, T, K) stand at positions offset..offset + T - 1, keys k (B, H, S, K) at
0..S - 1, so that with M cached keys the offset is M.

- ``embed(x, offset=0)``: x (B, T, D) plus one vector for each position, once, below the first layer;
- ``rotate(q, k, offset)``: q and k turned by their positions, in every layer;
- ``score_bias(q, k, offset)``: what is added to the scores after their scaling, broadcastable to (B, H, T, S);
- ``value_bias(weights)``: what is added to ``weights @ v``, (B, H, T, K), from weights (B, H, T, S), where the queries
  are the last T of the S positions.

No scheme keeps a buffer of a fixed length: tables of sines are computed for the positions at hand, in double
precision (single on a device that has no other), and then take the dtype of the input.
"""

import math
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_lib.shapes import expect_each, expect_floats, expect_heads

SCHEMES = ("none", "sinusoidal", "learned", "shaw", "xl", "rotary", "alibi")
LAYOUTS = ("interleaved", "halves")


class Sinusoidal(nn.Module):
    """Sines and cosines of the position, added to the embedding (Vaswani et al. 2017, section 3.5).

    Position p becomes sin(p w_i) and cos(p w_i), i = 0..D/2 - 1, with frequencies w_i = 10000^(-2i/D) in radians a
    position. The encoding of p + k is a fixed linear function of that of p: see :meth:`shift_matrix`.

    Parameters
    ----------
    width
        D, even.
    layout
        Order of the D entries: ``"interleaved"``: sin w_0, cos w_0, sin w_1, ... (the paper's); ``"halves"``: all
        sines, then all cosines (Transformer-XL's code).
    """

    def __init__(self, width: int, *, layout: str = "interleaved") -> None:
        super().__init__()
        expect_each(width=(width, "multiple of 2"), layout=(layout, LAYOUTS))
        self.width, self.layout = width, layout

    def encode(self, positions: Tensor, dtype: torch.dtype | None = None) -> Tensor:
        """Encode positions (N,), whole or not, of either sign: (N, D) of the dtype, torch's default one if None."""
        angles = wave_angles(positions, self.width)  # (N, D/2)
        return self._join(angles.sin(), angles.cos()).to(dtype or torch.get_default_dtype())

    def embed(self, x: Tensor, offset: int = 0) -> Tensor:
        """Add the encodings of positions offset..offset + T - 1 to x (B, T, D)."""
        expect_floats(x, ("B", "T", self.width))
        positions = torch.arange(offset, offset + x.shape[1], device=x.device)
        return x + self.encode(positions, x.dtype)

    def shift_matrix(self, k: float, *, dtype: torch.dtype | None = None) -> Tensor:
        """The matrix (D, D) that takes the encoding of any p to that of p + k: it turns each pair by k w_i."""
        angles = wave_angles(torch.tensor([k]), self.width)[0]  # (D/2,)
        cos, sin = angles.cos().diag(), angles.sin().diag()
        # sin(a + b) = cos b sin a + sin b cos a;  cos(a + b) = -sin b sin a + cos b cos a
        matrix = torch.cat([torch.cat([cos, sin], dim=1), torch.cat([-sin, cos], dim=1)])  # in the order of "halves"
        order = self._join(*torch.arange(self.width).chunk(2))
        return matrix[order][:, order].to(dtype or torch.get_default_dtype())

    def _join(self, sines: Tensor, cosines: Tensor) -> Tensor:
        if self.layout == "halves":
            return torch.cat([sines, cosines], dim=-1)
        return torch.stack([sines, cosines], dim=-1).flatten(-2)


class Learned(nn.Module):
    """One learned vector for each position, added to the embedding (Gehring et al. 2017; Vaswani et al. 2017).

    Parameters
    ----------
    length, width
        Number of positions and D. ``weight`` (length, D) is drawn from N(0, 0.02^2).
    """

    def __init__(self, length: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(length, width).normal_(0, 0.02))

    def embed(self, x: Tensor, offset: int = 0) -> Tensor:
        """Add the vectors of positions offset..offset + T - 1 to x (B, T, D)."""
        length, width = self.weight.shape
        expect_floats(x, ("B", "T", width))
        end = offset + x.shape[1]
        if end > length:
            raise ValueError(f"x must end within the table of {length} positions, got {end} positions")
        return x + self.weight[offset:end].to(x.dtype)


class ShawRelative(nn.Module):
    """Learned vectors for the clipped distance, for keys and for values (Shaw, Uszkoreit and Vaswani 2018).

    With a_ij = table[clip(j - i, -c, c) + c], equations 4 and 3 of the paper are

        e_ij = q_i . (k_j + a^K_ij) / sqrt(K),    z_i = sum_j weight_ij (v_j + a^V_ij)

    so that all distances of c and beyond look alike. The tables are shared by the heads, and no (T, S, K) array is
    made: q meets each of the 2c + 1 vectors once, and the weights are summed by distance before they meet theirs.

    Parameters
    ----------
    head_width, clip
        K and c; each at least 1. The tables ``keys`` and ``values`` are (2c + 1, K); row 0 is for keys that stand c or
        more before the query.
    """

    def __init__(self, head_width: int, clip: int) -> None:
        super().__init__()
        self.head_width, self.clip = head_width, clip
        self.keys = nn.Parameter(torch.empty(2 * clip + 1, head_width))
        self.values = nn.Parameter(torch.empty(2 * clip + 1, head_width))
        for table in (self.keys, self.values):
            nn.init.xavier_uniform_(table)

    def score_bias(self, q: Tensor, k: Tensor, offset: int) -> Tensor:
        """q_i . a^K_ij / sqrt(K), (B, H, T, S)."""
        by_distance = q @ (self.keys.T / math.sqrt(self.head_width))  # (B, H, T, 2c+1)
        index = self._index(q.shape[-2], k.shape[-2], offset, q.device)
        return by_distance.gather(-1, index.expand(*q.shape[:-1], -1))

    def value_bias(self, weights: Tensor) -> Tensor:
        """sum_j weight_ij a^V_ij, (B, H, T, K)."""
        queries, keys = weights.shape[2:]
        index = self._index(queries, keys, keys - queries, weights.device)
        by_distance = weights.new_zeros(*weights.shape[:-1], len(self.values))  # (B, H, T, 2c+1)
        return by_distance.scatter_add(-1, index.expand_as(weights), weights) @ self.values

    def _index(self, queries: int, keys: int, offset: int, device: torch.device) -> Tensor:
        return self.clip - _distances(queries, keys, offset, device).clamp(-self.clip, self.clip)  # (T, S)


class XLRelative(nn.Module):
    """Transformer-XL's relative positions (Dai et al. 2019, section 3.3).

    For the query at position i and the key at position j the scores become

        (q_i . k_j + q_i . W_r R_{i-j} + u . k_j + v . W_r R_{i-j}) / sqrt(K)

    with R the sinusoidal encoding of the distance, sines first; ``score_bias`` holds all but the first term. The terms
    with R are computed once for each distance and then moved to their keys by :func:`relative_shift`.

    u and v (H, K) are drawn from N(0, 0.02^2).

    Parameters
    ----------
    width, heads
        D, even, and H, which divides it. ``r_proj_weight`` W_r (D, D), without bias, is drawn by Glorot's uniform rule.
    causal
        True: only the distances 0..S - 1 are computed; where a key stands after the query the bias means nothing, and
        the mask has to hide it. False: the distances of either sign.
    """

    def __init__(self, width: int, heads: int, *, causal: bool = True) -> None:
        super().__init__()
        shape = (heads, expect_heads(width, heads))
        self.causal = causal
        self.encoding = Sinusoidal(width, layout="halves")
        self.r_proj_weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(width, width)))
        self.u, self.v = (nn.Parameter(torch.empty(shape).normal_(0, 0.02)) for _ in range(2))

    def score_bias(self, q: Tensor, k: Tensor, offset: int) -> Tensor:
        """(u . k_j + (q_i + v) . W_r R_{i-j}) / sqrt(K), (B, H, T, S)."""
        queries, keys = q.shape[-2], k.shape[-2]
        if self.causal and offset != keys - queries:
            raise ValueError(f"offset must be S - T = {keys - queries} if causal, got {offset}")
        nearest = 0 if self.causal else offset - keys + 1
        distances = torch.arange(offset + queries - 1, nearest - 1, -1, device=q.device)  # (N,), falling
        r = self.encoding.encode(distances, self.r_proj_weight.dtype)  # (N, D)
        of_keys = (k @ (self.u * (1 / math.sqrt(q.shape[-1])))[:, :, None]).mT  # (B, H, 1, S)
        return distance_scores(q, self.v, r, self.r_proj_weight)[..., :keys] + of_keys


def distance_scores(q: Tensor, v: Tensor, r: Tensor, r_proj_weight: Tensor, columns: Tensor | None = None) -> Tensor:
    """(q_i + v) . W_r R_{i-j} / sqrt(K), Transformer-XL's terms with the distance (Dai et al. 2019, section 3.3).

    They are computed once for each of N distances and then moved to their keys.

    Parameters
    ----------
    q, v, r_proj_weight
        Queries (B, H, T, K), v (H, K) and W_r (HK, D).
    r
        (N, D), the encodings of the distances, or (B, N, D) if each sequence has its own.
    columns
        Whole numbers, broadcastable to (B, H, T, S): which of the N distances lies between query and key. If None,
        the distances fall by 1, the T queries stand one behind another, and :func:`relative_shift` does it.

    Returns
    -------
    scores
        (B, H, T, S); without columns (B, H, T, N), as the shift leaves them.
    """
    heads, head_width = v.shape
    r = F.linear(r, r_proj_weight).unflatten(-1, (heads, head_width)).movedim(-3, -1)  # (H, K, N) or (B, H, K, N)
    scores = (q + v[:, None]) @ (r * (1 / math.sqrt(head_width)))  # few factors scaled, not all scores
    if columns is None:
        return relative_shift(scores)
    return scores.gather(-1, columns.expand(*scores.shape[:-1], -1))


def relative_shift(x: Tensor) -> Tensor:
    """Move row i of x (..., T, N) by T - 1 - i to the left: y[i, j] = x[i, j + T - 1 - i] where that column exists.

    A column of zeros is put in front and the same memory is read with rows one shorter (Dai et al. 2019, appendix B).
    Beyond the end of its row y holds a zero and then parts of the next row: a mask has to hide that.
    """
    rows, columns = x.shape[-2:]
    return F.pad(x, (1, 0)).flatten(-2)[..., rows:].unflatten(-1, (rows, columns))


class Rotary(nn.Module):
    """Rotary position embedding (Su et al. 2021): queries and keys are turned by their position.

    The pair (2i, 2i + 1) of a head at position p turns by p 10000^(-2i/K) radians (section 3.2.2), so that
    the product of a query and a key depends on their positions through the distance alone. Values stay as they are.

    Parameters
    ----------
    head_width
        K, even.
    """

    def __init__(self, head_width: int) -> None:
        super().__init__()
        expect_each(head_width=(head_width, "multiple of 2"))
        self.head_width = head_width

    def rotate(self, q: Tensor, k: Tensor, offset: int) -> tuple[Tensor, Tensor]:
        """Turn q (B, H, T, K) from position offset on and k (B, H, S, K) from 0 on."""
        return self._turn(q, offset), self._turn(k, 0)

    def _turn(self, x: Tensor, start: int) -> Tensor:
        positions = torch.arange(start, start + x.shape[-2], device=x.device)
        angles = wave_angles(positions, self.head_width)  # (T, K/2)
        # Half-precision inputs are turned in single precision: rounded sines would spoil the distance.
        wide = torch.promote_types(x.dtype, torch.float32)
        cos, sin = angles.cos().to(wide), angles.sin().to(wide)
        even, odd = x[..., 0::2], x[..., 1::2]
        return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2).to(x.dtype)


class ALiBi(nn.Module):
    """Attention with linear biases (Press, Smith and Lewis 2022): nothing is learned, scores fall with the distance.

    Head h adds -m_h ``|i - j|`` to the scores. With H a power of two, m_h = 2^(-8h/H), h = 1..H. Otherwise, by the rule
    of the paper's code, the slopes are those of the power of two below H, then every other one of twice that many.

    Parameters
    ----------
    heads
        H, at least 1.
    """

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.heads = heads

    def slopes(self, device: torch.device | None = None) -> Tensor:
        """m_h, (H,), double precision where the device has it."""
        power = 2 ** (self.heads.bit_length() - 1)
        first = torch.arange(1, power + 1, device=device) / power
        others = torch.arange(self.heads - power, device=device) / power + 1 / (2 * power)
        return torch.exp2(-8 * _precise(torch.cat([first, others])))

    def score_bias(self, q: Tensor, k: Tensor, offset: int) -> Tensor:
        """-m_h ``|i - j|``, (H, T, S)."""
        wide = torch.promote_types(q.dtype, torch.float32)
        distances = _distances(q.shape[-2], k.shape[-2], offset, q.device).abs().to(wide)
        return (-self.slopes(q.device).to(wide)[:, None, None] * distances).to(q.dtype)


def make_positions(
    scheme: str, *, width: int, heads: int, length: int = 1024, clip: int = 16, causal: bool = True
) -> nn.Module | None:
    """The scheme of that name for attention of a width D and H heads; None for ``"none"``.

    Parameters
    ----------
    scheme
        One of ``SCHEMES``. Those with ``embed`` serve the model once, the others each attention layer.
    width, heads
        D and H, which divides it.
    length, clip, causal
        For ``"learned"``, ``"shaw"`` and ``"xl"``; the other schemes ignore them.
    """
    expect_each(scheme=(scheme, SCHEMES))
    head_width = expect_heads(width, heads)
    makers: dict[str, Callable[[], nn.Module | None]] = {
        "none": lambda: None,
        "sinusoidal": lambda: Sinusoidal(width),
        "learned": lambda: Learned(length, width),
        "shaw": lambda: ShawRelative(head_width, clip),
        "xl": lambda: XLRelative(width, heads, causal=causal),
        "rotary": lambda: Rotary(head_width),
        "alibi": lambda: ALiBi(heads),
    }
    return makers[scheme]()


def make_schemes(
    positions: str, layers: int, *, width: int, heads: int, length: int = 1024, clip: int = 16, causal: bool = True
) -> tuple[nn.Module | None, list[nn.Module | None]]:
    """What acts once on the embedded input, and what acts in the attention of each layer: one of the two is there.

    A scheme that embeds serves the model once. Of the others each layer has its own, so that tables are not shared.
    Sizes and errors are those of :func:`make_positions`.
    """
    expect_each(layers=layers, positions=(positions, SCHEMES))
    make = partial(make_positions, positions, width=width, heads=heads, length=length, clip=clip, causal=causal)
    first = make()
    if hasattr(first, "embed"):
        return first, [None] * layers
    return None, [first, *(make() for _ in range(layers - 1))]


def _precise(x: Tensor) -> Tensor:
    return x.to(torch.float32 if x.device.type == "mps" else torch.float64)


def wave_angles(positions: Tensor, width: int, divisor: int | None = None) -> Tensor:
    """Angles p 10000^(-2i/divisor) in radians, i = 0..width/2 - 1, (..., width/2); the divisor is the width if None."""
    exponents = _precise(torch.arange(0, width - 1, 2, device=positions.device)) / (divisor or width)
    return _precise(positions)[..., None] * 10000.0**-exponents


def _distances(queries: int, keys: int, offset: int, device: torch.device) -> Tensor:
    """i - j for query positions i = offset.. and key positions j = 0.., (T, S)."""
    return torch.arange(offset, offset + queries, device=device)[:, None] - torch.arange(keys, device=device)
