"""xLSTM: gates that are exponentials, in a cell with scalar memories (sLSTM) and in one with a matrix (mLSTM).

M. Beck et al., *xLSTM: Extended Long Short-Term Memory*, NeurIPS 2024 (arXiv 2405.04517). The sLSTM has, in each unit,

    c_t = f_t c_{t-1} + i_t z_t,   n_t = f_t n_{t-1} + i_t,   h_t = o_t c_t / n_t                       (eq. 8-10)
    z_t = tanh(a^z_t),   i_t = exp(a^i_t),   f_t = sigmoid(a^f_t) or exp(a^f_t),   o_t = sigmoid(a^o_t) (eq. 11-14)

where a_t = W x_t + R h_{t-1} + b, and a head, a block of units, sees the h of its own units alone: "memory mixing". The
mLSTM keeps what it is told to under keys, in a matrix, and its gates see no h:

    C_t = f_t C_{t-1} + i_t k_t v_t^T,   n_t = f_t n_{t-1} + i_t k_t,                                  (eq. 19-20)
    h_t = C_t^T q_t / max(abs(n_t . q_t), 1), k_t scaled by 1/sqrt(K)                                   (eq. 21-23)

with our C the paper's transposed. An exponential overflows, its share in a mean does not. So one divides c, n and C by
e^m, where m_t is the larger of the two exponents that meet,

    m_t = max(log f_t + m_{t-1}, log i_t),  log i'_t = log i_t - m_t,  log f'_t = log f_t + m_{t-1} - m_t  (eq. 15-17)

The quotients stay as they were, if the 1 in the maximum is divided too and becomes e^-m. No output depends on m.

Two consequences are used here. (1) In the sLSTM only r = c / n and L = log n, with m in it, matter. They step by

    L_t = log(f_t e^L_{t-1} + i_t),   p_t = i_t e^-L_t,   r_t = r_{t-1} + p_t (z_t - r_{t-1}),   h_t = o_t r_t

a running mean of the candidates, whose gate p knows how much has been written before. So h stays between -1 and 1. (2)
In the mLSTM m is known without a loop. Let F_t be the sum of log f up to t, and M_t the largest of m_0 and all
log i_s - F_s up to t. Then m_t = F_t + M_t, log f'_t = M_{t-1} - M_t and log i'_t = log i_t - F_t - M_t. The last two
are at most 0, so this is :func:`rtx_lib.kernels.matrix_state.matrix_recurrence` with a scalar decay, in which n is one
more column of C, under values of 1.

Where the authors' code (NX-AI/xlstm) does otherwise than the paper:

- It adds 1e-6 to the denominator of the mLSTM after the division by e^m, so that the output does depend on m. Its forms
  then agree to 1e-8 only, as m starts at 0 in the recurrent and the chunked one and at minus infinity in the parallel
  one. Here ``eps`` is 0, and a state may hold m = -inf.
- In the sLSTM's layer the weights called ``fgate`` make i and those called ``igate`` make f.
- Whether anything has been written, n > 0, is asked of the whole batch at once. Here each number is on its own.
- The gates of the mLSTM see [q; k; v], not x. Their weights start at 0.
- The weights of norms are stored as their distance from 1.
- The mLSTM's inner width is rounded up to a multiple of 64.
- With heads of one unit, the first forget biases of the sLSTM are 0/0.
"""

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_lib.kernels import matrix_recurrence
from rtx_lib.layers.blocks import undrawn
from rtx_lib.layers.short_convolution import ShortConvolution
from rtx_lib.shapes import expect, expect_all, expect_choice, expect_sizes

FORGET = ("sigmoid", "exp")
FORMS = ("chunked", "recurrent", "parallel")
State = tuple[Tensor, ...]


def slstm(
    a: Tensor, weight: Tensor, state: State | None = None, *, forget: str = "sigmoid", stabilised: bool = True
) -> tuple[Tensor, State]:
    """The sLSTM cell over a sequence (Beck et al. 2024, eq. 8-17).

    Parameters
    ----------
    a
        (B, T, H, 4 K), what the input says to the gates, W x + b: in each head the blocks i, f, z, o.
    weight
        R (H, 4 K, K), what h says to them.
    state
        (h, c, n, m), each (B, H K), c and n divided by e^m; zeros if None. Where n is 0 nothing has been written, and m
        means nothing.
    forget
        ``"sigmoid"`` or ``"exp"``.
    stabilised
        If False, i and f are computed as they are written, m is 0, and large gates give NaN.

    Returns
    -------
    h, state
        (B, T, H K), and (h, c, n, m) after the last step. The gradient takes m as given, which is exact for all that
        depends on c and n through c / n and n e^m.

    Raises
    ------
    ValueError
        For a tensor of the wrong shape or type, an empty sequence, or an unknown forget.
    """
    expect_choice("forget", forget, FORGET)
    expect(weight, ("H", "4K", "K"), "weight")
    heads, gates, size = weight.shape
    expect(weight, ("H", 4 * size, size), "weight")
    batch = len(expect(a, ("B", "T", heads, gates), "a", like=weight))
    shape = (batch, heads * size)
    parts = 4 * (a.new_zeros(shape),) if state is None else expect_all(state, 4 * [shape], "(h, c, n, m)", like=a)
    h, c, n, m = (part.to(weight.dtype).view(batch, heads, size).transpose(0, 1) for part in parts)  # (H, B, K)
    inputs, recurrent = a.permute(1, 2, 0, 3).contiguous(), weight.mT  # (T, H, B, 4 K): a head is a matrix product
    states = []
    if stabilised:
        written = n > 0
        mass = torch.where(written, n, 1)  # so that no gradient is 0/0
        level = torch.where(written, m + mass.log(), -math.inf)  # L = log n, m included
        m, r = torch.where(written, m, -math.inf), c / mass
    else:
        c, n, m = c * m.exp(), n * m.exp(), torch.zeros_like(m)
    for a_t in inputs.unbind(0):
        i, f, z, o = torch.baddbmm(a_t, h, recurrent).to(weight.dtype).chunk(4, -1)
        if not stabilised:
            i, f = i.exp(), f.exp() if forget == "exp" else f.sigmoid()
            c, n = f * c + i * z.tanh(), f * n + i
            h = o.sigmoid() * c / n
        else:
            f = f if forget == "exp" else F.logsigmoid(f)
            with torch.no_grad():
                m = torch.maximum(f + m, i)
            kept = f + level
            level = torch.logaddexp(kept, i)
            r = torch.lerp(r, z.tanh(), torch.sigmoid(i - kept))  # p = i / (f n + i) is a sigmoid
            h = o.sigmoid() * r
        states.append(h)
    if stabilised:
        n = torch.exp(level - m)
        c = r * n
    y = torch.stack(states, 2).permute(1, 2, 0, 3)  # (B, T, H, K)
    return y.flatten(2), tuple(part.transpose(0, 1).reshape(shape) for part in (h, c, n, m))


def mlstm(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    log_i: Tensor,
    log_f: Tensor,
    state: State | None = None,
    *,
    form: str = "chunked",
    eps: float = 0.0,
    chunk: int | None = None,
    stabilised: bool = True,
) -> tuple[Tensor, State]:
    """The mLSTM cell over a sequence (Beck et al. 2024, eq. 15-27), in three forms that are one function.

    Parameters
    ----------
    q, k
        (B, H, T, K); k is scaled here.
    v
        (B, H, T, V).
    log_i, log_f
        (B, H, T), the logarithms of the gates, finite: of i the preactivation, of f that or its log-sigmoid.
    state
        (C (B, H, K, V), n (B, H, K), m (B, H)), C and n divided by e^m; zeros if None. Where m is -inf nothing has been
        written.
    form
        ``"recurrent"``: step by step. ``"parallel"``: all pairs of steps at once, (B, H, T, T) numbers. ``"chunked"``:
        by the kernel of matrix states, parallel within chunks and recurrent from chunk to chunk.
    eps
        Added to the denominator, which has been divided by e^m. With 0 the result does not depend on m.
    chunk
        Steps in a chunk; the kernel's choice if None.
    stabilised
        If False, m is 0, and large gates give NaN.

    Returns
    -------
    h, state
        (B, H, T, V), and (C, n, m) after the last step.

    Raises
    ------
    ValueError
        For a tensor of the wrong shape or type, an empty sequence, an unknown form, or a negative eps.
    """
    expect_choice("form", form, FORMS)
    if not eps >= 0:
        raise ValueError(f"eps must be at least 0, got {eps}")
    batch, heads, steps, size = expect(q, "B H T K", "q").shape
    expect(k, q.shape, "k", like=q)
    width = expect(v, (batch, heads, steps, "V"), "v", like=q).shape[3]
    for name, gate in (("log_i", log_i), ("log_f", log_f)):
        expect(gate, (batch, heads, steps), name, like=q)
    shapes = [(batch, heads, size, width), (batch, heads, size), (batch, heads)]
    if state is None:
        state = tuple(map(q.new_zeros, shapes))
    c, n, m = expect_all(state, shapes, "(C, n, m)", like=q)
    memory = torch.cat([c, n[..., None]], 3)  # n is the column under values of 1
    if not stabilised:
        memory, m = memory * m.exp()[..., None, None], torch.zeros_like(m)
    k, v = k / math.sqrt(size), torch.cat([v, torch.ones_like(v[..., :1])], 3)
    precise = torch.float32 if q.device.type == "mps" else torch.float64  # sums over all steps lose small differences
    log_i, log_f, m = log_i.to(precise), log_f.to(precise), m.to(precise)
    if form == "recurrent":
        o, memory, levels = _recurrent(q, k, v, log_i, log_f, m, memory, stabilised)
    else:
        total, first = log_f.cumsum(2), m[..., None]
        entries = log_i - total  # what each step writes, as it was before anything faded
        most = torch.maximum(first, entries.cummax(2).values) if stabilised else -total  # M
        if stabilised and not eps:
            most = most.detach()  # the result does not depend on it
        levels = total + most
        if form == "chunked":
            fade, write = torch.cat([first, most[..., :-1]], 2) - most, torch.exp(entries - most).to(q.dtype)
            k = write[..., None] * k
            o, memory = matrix_recurrence(q, k, v, log_decay=fade.to(q.dtype), state=memory, chunk=chunk)
        else:
            later = torch.ones(steps, steps, dtype=torch.bool, device=q.device).triu(1)
            shares = (entries[:, :, None] - most[..., None]).masked_fill(later, -math.inf).exp().to(q.dtype)
            left = torch.exp(first - most).to(q.dtype)[..., None]  # of the state before
            o = (shares * (q @ k.mT)) @ v + left * (q @ memory)
            memory = (shares[:, :, -1:] * k.mT) @ v + left[:, :, -1:] * memory
    wide = torch.promote_types(q.dtype, torch.float32)
    levels, own, o = levels[..., None], torch.where(levels < 0, levels, 0)[..., None], o.to(wide)
    small, bound = own.exp().to(wide), (own - levels).exp().to(wide)  # both divided by e^-m where that is large
    below = torch.maximum(small * o[..., -1:].abs(), bound) + eps * small
    h = small * o[..., :-1] / below.clamp(min=torch.finfo(wide).tiny ** 0.5)  # of k = 0 under a large m it is 0/0
    return h.to(q.dtype), (memory[..., :-1], memory[..., -1], levels[:, :, -1, 0].to(q.dtype))


def _recurrent(
    q: Tensor, k: Tensor, v: Tensor, log_i: Tensor, log_f: Tensor, m: Tensor, memory: Tensor, stabilised: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """What is read of C and n in every step, C and n after the last, and every m: the equations as they stand."""
    reads, levels = [], []
    for q_t, k_t, v_t, i_t, f_t in zip(*(x.unbind(2) for x in (q, k, v, log_i, log_f)), strict=True):
        kept = f_t + m
        m = torch.maximum(kept, i_t) if stabilised else torch.zeros_like(m)
        f, i = (torch.exp(gate - m).to(v.dtype)[..., None, None] for gate in (kept, i_t))
        memory = f * memory + i * k_t[..., None] * v_t[..., None, :]
        reads.append((q_t[..., None, :] @ memory).squeeze(2))
        levels.append(m)
    return torch.stack(reads, 2), memory, torch.stack(levels, 2)


class SLSTM(nn.Module):
    """The sLSTM layer: a short convolution for i and f if asked for, the cell, and a norm over each head.

    ``weight_ih`` and ``weight_hh`` (H, 4 K, K) and ``bias`` (H, 4 K) hold the blocks i, f, z, o of each head. As in the
    authors' code, R starts at 0, W from N(0, 2 / (5 D)), and of the biases only those of f are not 0: over the units
    j = 0..K-1 of a head they fall from 5 to -7, 5 - 12 (j / (K - 1))^(0.3 + 1.3 s) with s = block / (blocks - 1), or 0
    if there is one block.

    Parameters
    ----------
    width, heads
        D, at least 2, and H, which leaves at least 2 units to a head: the norm makes one number 0.
    kernel_size
        Steps that a convolution shows to i and f, with a SiLU behind it; no convolution if None. The authors have 4.
    forget
        ``"sigmoid"`` or ``"exp"``.
    block, blocks
        Which of how many such layers in a stack this is, from 0.

    Raises
    ------
    ValueError
        For sizes below these, heads that do not divide the width, an unknown forget, or a block that is none of the
        blocks; in ``forward`` for an empty sequence, or an x or a state of the wrong shape or type.
    """

    def __init__(
        self,
        width: int,
        heads: int = 1,
        kernel_size: int | None = None,
        *,
        forget: str = "sigmoid",
        block: int = 0,
        blocks: int = 1,
    ) -> None:
        super().__init__()
        size = _expect_head(width, heads)
        expect_choice("forget", forget, FORGET)
        expect_sizes(blocks=blocks)
        if not 0 <= block < blocks:
            raise ValueError(f"block must be from 0 to blocks - 1 = {blocks - 1}, got {block}")
        self.input_size = self.output_size = width
        self.heads, self.forget = heads, forget
        self.conv = None if kernel_size is None else ShortConvolution(width, kernel_size)
        self.weight_ih = nn.Parameter(torch.empty(heads, 4 * size, size).normal_(0, math.sqrt(2 / (5 * width))))
        self.weight_hh = nn.Parameter(torch.zeros(heads, 4 * size, size))
        self.bias = nn.Parameter(torch.zeros(heads, 4 * size))
        power = 0.3 + 1.3 * block / max(1, blocks - 1)
        self.bias.data[:, size : 2 * size] = 5 - 12 * torch.linspace(0, 1, size) ** power
        self.norm = HeadNorm(width)

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Map x (B, T, D) to y (B, T, D).

        The state is (h, c, n, m), each (B, D), and with a convolution the last k - 1 inputs (B, k - 1, D) behind them;
        zeros if None.
        """
        expect(x, ("B", "T", self.input_size), like=self.weight_ih)
        memory, past = _split(state, 4 * [(len(x), self.input_size)], "(h, c, n, m", self.conv, x)
        if self.conv is None:
            a, after = blockwise(x, self.weight_ih), ()
        else:
            seen, *after = self.conv(x, past)
            gates, others = self.weight_ih.chunk(2, 1)
            a = torch.cat([blockwise(F.silu(seen), gates), blockwise(x, others)], -1)
        a = (a + self.bias).to(self.bias.dtype)  # after autocast too
        y, memory = slstm(a, self.weight_hh, memory, forget=self.forget)
        return self.norm(y.unflatten(2, (self.heads, -1))), (*memory, *after)


class MLSTM(nn.Module):
    """The mLSTM layer: up, a short convolution for q and k, the cell, a norm over each head, an output gate, and down.

    With [x'; z] = U x, x'' = silu(conv(x')), and q and k of x'', v of x', by blocks of a few features, the layer is
    y = W (silu(z) * (norm(h) + skip * x'')). The gates of all heads see [q; k; v].

    As in the authors' code, U and the maps to q, k and v start from N(0, 2 / (5 D)), W from N(0, 4 / (D blocks^2)), the
    skip at 1, and the gates at their biases: i from N(0, 0.01), f from 3 to 6 over the heads.

    Parameters
    ----------
    width, heads
        D and H.
    expand
        E / D, where E, a whole number, is the width within, of which H leaves at least 2 numbers to a head.
    kernel_size
        Steps that q and k see; no convolution and no SiLU if None.
    block_size
        Features of x'' and x' that a feature of q, k or v sees; divides E.
    bias
        Whether the maps have biases, but for the gates, which always have them.
    form, eps, chunk
        As in :func:`mlstm`.
    blocks
        How many such layers stand on one another.

    Raises
    ------
    ValueError
        For sizes below 1, an expand of 0 or less, heads or a block_size that do not divide E, an unknown form, or a
        negative eps; in ``forward`` for an empty sequence, or an x or a state of the wrong shape or type.
    """

    def __init__(
        self,
        width: int,
        heads: int = 4,
        expand: float = 2.0,
        kernel_size: int | None = 4,
        *,
        block_size: int = 4,
        bias: bool = False,
        form: str = "chunked",
        eps: float = 0.0,
        chunk: int | None = None,
        blocks: int = 1,
    ) -> None:
        super().__init__()
        expect_sizes(
            width=width, heads=heads, block_size=block_size, blocks=blocks, chunk=1 if chunk is None else chunk
        )
        inner = round(expand * width)
        if inner < 1:
            raise ValueError(f"expand must leave at least 1 of width = {width}, got {expand}")
        _expect_head(inner, heads, f"round(expand * width) = {inner}")
        if inner % block_size:
            raise ValueError(f"block_size must divide round(expand * width) = {inner}, got {block_size}")
        expect_choice("form", form, FORMS)
        if not eps >= 0:
            raise ValueError(f"eps must be at least 0, got {eps}")
        self.input_size = self.output_size = width
        self.heads, self.inner, self.form, self.eps, self.chunk = heads, inner, form, eps, chunk
        self.up = undrawn(nn.Linear, width, 2 * inner, bias=bias)
        self.conv = None if kernel_size is None else ShortConvolution(inner, kernel_size)
        self.qkv_weight = nn.Parameter(torch.empty(3, inner // block_size, block_size, block_size))
        self.qkv_bias = nn.Parameter(torch.zeros(3, inner)) if bias else None
        self.gates = undrawn(nn.Linear, 3 * inner, 2 * heads)  # of i, then of f
        self.norm = HeadNorm(inner)
        self.skip = nn.Parameter(torch.ones(inner))
        self.down = undrawn(nn.Linear, inner, width, bias=bias)
        for weight in (self.up.weight, self.qkv_weight):
            nn.init.normal_(weight, 0, math.sqrt(2 / (5 * width)))
        nn.init.normal_(self.down.weight, 0, 2 / (blocks * math.sqrt(width)))
        nn.init.zeros_(self.gates.weight)
        for module in (self.up, self.down) if bias else ():
            nn.init.zeros_(module.bias)
        self.gates.bias.data[:heads].normal_(0, 0.1)
        self.gates.bias.data[heads:] = torch.linspace(3, 6, heads)

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Map x (B, T, D) to y (B, T, D).

        The state is C (B, H, K, K), n (B, H, K) and m (B, H), K = E / H, and with a convolution its last k - 1 inputs
        (B, k - 1, E) behind them; zeros if None.
        """
        expect(x, ("B", "T", self.input_size), like=self.up.weight)
        size = self.inner // self.heads
        shapes = [(len(x), self.heads, size, size), (len(x), self.heads, size), (len(x), self.heads)]
        memory, past = _split(state, shapes, "(C, n, m", self.conv, x)
        inner, z = self.up(x).chunk(2, -1)
        seen, after = inner, ()
        if self.conv is not None:
            seen, *after = self.conv(inner, past)
            seen = F.silu(seen)
        qkv = [blockwise(y, w).flatten(2) for y, w in zip((seen, seen, inner), self.qkv_weight, strict=True)]
        if self.qkv_bias is not None:
            qkv = [y + b for y, b in zip(qkv, self.qkv_bias, strict=True)]
        log_i, f = self.gates(torch.cat(qkv, -1)).to(self.skip.dtype).mT.chunk(2, 1)  # each (B, H, T)
        q, k, v = (y.to(self.skip.dtype).unflatten(2, (self.heads, size)).transpose(1, 2) for y in qkv)
        h, memory = mlstm(q, k, v, log_i, F.logsigmoid(f), memory, form=self.form, eps=self.eps, chunk=self.chunk)
        y = self.norm(h.transpose(1, 2)) + self.skip * seen
        return self.down(y * F.silu(z)), (*memory, *after)


class HeadNorm(nn.Module):
    """Each head's numbers to mean 0 and variance 1, then ``weight`` (D,), which starts at 1; no bias."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        """Map x (B, T, H, K) to (B, T, H K)."""
        return F.layer_norm(x, x.shape[-1:]).flatten(2) * self.weight


def blockwise(x: Tensor, weight: Tensor) -> Tensor:
    """A block-diagonal linear map with weight (N, O, I), of x (B, T, N I) to (B, T, N, O)."""
    return torch.einsum("btni,noi->btno", x.unflatten(2, (len(weight), -1)), weight)


def _expect_head(width: int, heads: int, name: str = "width") -> int:
    """The width of a head, if heads divide the width and leave 2 at least."""
    expect_sizes(width=width, heads=heads)
    if width % heads or width < 2 * heads:
        name = name if "=" in name else f"{name} = {width}"
        raise ValueError(f"heads must divide {name} and leave at least 2 to each, got {heads}")
    return width // heads


def _split(
    state: State | None, shapes: Sequence[tuple[int, ...]], names: str, conv: ShortConvolution | None, x: Tensor
) -> tuple[State | None, Tensor | None]:
    """The state of the cell, and that of the convolution if there is one."""
    if state is None:
        return None, None
    if conv is None:
        return expect_all(state, shapes, f"{names})", like=x), None
    shapes = [*shapes, (len(x), conv.kernel_size - 1, conv.width)]
    *memory, past = expect_all(state, shapes, f"{names}, last inputs)", like=x)
    return tuple(memory), past
