"""ELMo: a word's vector is a mix of what the layers of a bidirectional language model say about its sentence.

M. Peters, M. Neumann, M. Iyyer, M. Gardner, C. Clark, K. Lee and L. Zettlemoyer, *Deep contextualized word
representations*, NAACL 2018 (arXiv 1802.05365). The language model (section 3.1), its LSTM, and the mix (section 3.2).

Where the authors' code (allenai/bilm-tf, and AllenNLP by the same group) says what the paper leaves out, or differs:

- It minimises half the sum of the mean losses of the two directions; the paper maximises a sum.
- Cells and projected states are clipped. A layer's input is added to its output outside of the recurrence.
- States are carried from sentence to sentence, in use too, and backward, where they come from the wrong side. So a
  sentence read twice has two sets of vectors. Here only a state that is handed on is carried.
- Its mix takes softmax(w + 1/n) of n layers. The 1/n changes nothing. The mix's layer norm has one mean and variance
  for all numbers of a batch, so that vectors depend on the batch. :class:`ScalarMix` has it so, if asked.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_lib.layers.blocks import normal_linear
from rtx_lib.layers.cells import LSTM
from rtx_lib.layers.characters import CharacterCNN
from rtx_lib.layers.classifier import turned
from rtx_lib.layers.embedding import table
from rtx_lib.layers.stacking import BACKENDS, draw_uniform
from rtx_lib.shapes import at_hand, expect, expect_each, expect_sentences, expect_state, expect_tuple

State = tuple[Tensor, Tensor]


class BidirectionalLM(nn.Module):
    """Two language models, one for each direction, with the same vectors of words and the same softmax (section 3.1)::

        e_t = E[x_t]                                            or from the word's characters
        f_1 ... f_T = forward LSTMs of e_1 ... e_T              f_t has seen x_1 ... x_t
        b_T ... b_1 = backward LSTMs of e_T ... e_1             b_t has seen x_t ... x_T
        P(x_{t+1} | x_1 ... x_t) = softmax(W f_t + c)           P(x_{t-1} | x_t ... x_T) = softmax(W b_t + c)

    The directions never meet: layer j of one reads layer j - 1 of the same. So no logit depends on the word that it is
    about, as it would from the second layer of a bidirectional LSTM on; and none depends on both sides of that word.
    :class:`rtx_lib.tasks.masked_text.BothWaysText` is a task for this output.

    The published model has D = 512, H = 4096, both clips 3, ``skip`` and dropout 0.1. E and W start from N(0, 1/D), c
    at 0, LSTMs by torch's rule with the biases of f at 1 and 0.

    Parameters
    ----------
    vocabulary
        V, number of words.
    width, layers
        D, of the words' vectors and of each layer's states, and L.
    hidden_size, cell_clip, projection_clip
        Of :class:`ProjectedLSTM`. Without a hidden_size the layers are plain LSTMs (D, D), and there are no clips.
    skip
        Whether layers but the first add their input to their output, which the recurrence does not see.
    dropout
        Share set to 0 in training of what a layer reads, which is also what it adds, and of what the softmax reads.
    characters
        A :class:`~rtx_lib.layers.characters.CharacterCNN` of that width in place of E. Then x holds characters' ids
        (B, T, C), and words of zeros are padding.
    padding
        The id that is no word and stands behind the words of a row; with None every id is a word.
    backend
        Of plain LSTMs: ``"loop"``, or ``"torch"``, whose fused kernel runs where no padding is possible or seen.
    """

    def __init__(
        self,
        vocabulary: int,
        *,
        width: int,
        layers: int = 2,
        hidden_size: int | None = None,
        cell_clip: float | None = None,
        projection_clip: float | None = None,
        skip: bool = False,
        dropout: float = 0.0,
        characters: CharacterCNN | None = None,
        padding: int | None = None,
        backend: str = "loop",
    ) -> None:
        super().__init__()
        backends = BACKENDS if hidden_size is None else ["loop", "auto"]
        expect_each(layers=layers, backend=(backend, backends))
        clips = {"cell_clip": cell_clip, "projection_clip": projection_clip}
        for name, clip in clips.items() if hidden_size is None else ():
            if clip is not None:
                raise ValueError(f"{name} must be None without a hidden_size, got {clip}")
        if characters is not None and characters.output_size != width:
            raise ValueError(f"characters must have the width {width}, got {characters.output_size}")

        def layer() -> nn.Module:
            if hidden_size is None:
                return LSTM(width, width, forget_bias=1.0, backend=backend)
            return ProjectedLSTM(width, hidden_size, width, **clips)

        self.input_size, self.output_size, self.padding = vocabulary, 2 * vocabulary, padding
        self.sizes, self.skip = (width, hidden_size or width), skip
        self.embedding = table(vocabulary, width, width**-0.5) if characters is None else characters
        self.forward_layers = nn.ModuleList(layer() for _ in range(layers))
        self.backward_layers = nn.ModuleList(layer() for _ in range(layers))
        self.dropout = nn.Dropout(dropout)
        self.softmax = normal_linear(width, vocabulary, width**-0.5)

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Map ids (B, T), or of characters (B, T, C), to logits (B, T, 2V): V of the word at t + 1, V of that at t - 1.

        The state is the pair (h (2L, B, D), c (2L, B, H)), forward and backward of the first layer, then of the second:
        after a row's last word and, backward, after its first. So a text in pieces is the text as a whole to the
        forward direction if they come in order, and to the backward one if the last comes first.
        """
        layers, state = self.read(x, state)
        return self.softmax(self.dropout(layers[-1].unflatten(-1, (2, -1)))).flatten(-2), state

    def read(self, x: Tensor, state: State | None = None) -> tuple[list[Tensor], State]:
        """The layers h_0 = [e; e], h_1 = [f; b], ..., h_L, each (B, T, 2D) and 0 at padding, and the state."""
        real = self.real(x)
        full = self.padding is None and isinstance(self.embedding, nn.Embedding)
        return self.run(self.embedding(x), state, None if full or (at_hand(real) and real.all()) else real)

    @torch.no_grad()
    def layers(self, x: Tensor) -> list[Tensor]:
        """The layers of :meth:`read` without gradients, for a probe or a task that leaves the model as it is."""
        return self.read(x)[0]

    def real(self, x: Tensor) -> Tensor:
        """Where words are, bool (B, T)."""
        if isinstance(self.embedding, CharacterCNN):
            return self.embedding.real(x)
        return expect_sentences(x, self.input_size, "x", self.padding)[1]

    def run(self, e: Tensor, state: State | None, real: Tensor | None) -> tuple[list[Tensor], State]:
        """What :meth:`read` gives for words' vectors e (B, T, D); with real None, all of them are words."""
        rows = 2 * len(self.forward_layers)
        h, c = expect_state(state, {name: (rows, e.shape[0], n) for name, n in zip("hc", self.sizes, strict=True)}, e)
        outputs, ends = [], []  # of both directions
        for d, layers in enumerate((self.forward_layers, self.backward_layers)):
            y = turned(e, real) if d else e
            stack = [y]
            for row, layer in enumerate(layers):
                x, own = self.dropout(y), slice(2 * row + d, 2 * row + d + 1)
                y, end = _run(layer, x, (h[own], c[own]), real)
                y = y + x if self.skip and row else y
                stack.append(y)
                ends.append(end)
            outputs.append([turned(y, real) for y in stack] if d else stack)
        joined = [torch.cat(pair, dim=-1) for pair in zip(*outputs, strict=True)]
        joined = joined if real is None else [y * real[..., None] for y in joined]
        ends = [end for row in range(len(layers)) for end in ends[row :: len(layers)]]  # both ways of a layer, then on
        return joined, (torch.cat([h for h, _ in ends]), torch.cat([c for _, c in ends]))


class ProjectedLSTM(nn.Module):
    """An LSTM of many cells and a small state, both clipped::

        i_t, f_t, g_t, o_t as in LSTM, from x_t and h_{t-1}                                             (H) each
        c_t = clip(f_t * c_{t-1} + i_t * g_t)           to [-cell_clip, cell_clip]                      (H)
        h_t = clip(W_hr (o_t * tanh(c_t)))              to [-projection_clip, projection_clip]          (P)

    Parameters are those of ``torch.nn.LSTM(D, H, proj_size=P)``. TensorFlow's blocks are i, g, f, o, with 1 added to f.

    Parameters
    ----------
    input_size, hidden_size, projection
        D, H and P.
    cell_clip, projection_clip
        Bounds above 0, or None.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        projection: int,
        *,
        cell_clip: float | None = None,
        projection_clip: float | None = None,
    ) -> None:
        super().__init__()
        rule = "None or (0, inf]"
        expect_each(cell_clip=(cell_clip, rule), projection_clip=(projection_clip, rule))
        self.input_size, self.hidden_size, self.output_size = input_size, hidden_size, projection
        self.cell_clip, self.projection_clip = (clip or math.inf for clip in (cell_clip, projection_clip))
        self.weight_ih_l0 = nn.Parameter(torch.empty(4 * hidden_size, input_size))
        self.weight_hh_l0 = nn.Parameter(torch.empty(4 * hidden_size, projection))
        self.bias_ih_l0 = nn.Parameter(torch.empty(4 * hidden_size))
        self.bias_hh_l0 = nn.Parameter(torch.empty(4 * hidden_size))
        self.weight_hr_l0 = nn.Parameter(torch.empty(projection, hidden_size))
        draw_uniform(self, hidden_size)
        self.bias_ih_l0.data.chunk(4)[1].fill_(1)
        self.bias_hh_l0.data.chunk(4)[1].fill_(0)
        self.tap, self.cell_tap = nn.Identity(), nn.Identity()  # for hooks, as in LSTM

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """The states (B, T, P) of x (B, T, D), and the last pair (h (1, B, P), c (1, B, H)); zeros before if None."""
        expect(x, ("B", "T", self.input_size), like=self.weight_ih_l0)
        shapes = {"h": (1, x.shape[0], self.output_size), "c": (1, x.shape[0], self.hidden_size)}
        h, c = (part[0] for part in expect_state(state, shapes, x))
        z = F.linear(x, self.weight_ih_l0, self.bias_ih_l0 + self.bias_hh_l0)  # (B, T, 4H)
        states, cells = [], []
        for z_t in z.unbind(1):
            i, f, g, o = torch.addmm(z_t, h, self.weight_hh_l0.T).chunk(4, dim=1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            c = c.clamp(-self.cell_clip, self.cell_clip)
            h = F.linear(torch.sigmoid(o) * torch.tanh(c), self.weight_hr_l0)
            h = h.clamp(-self.projection_clip, self.projection_clip)
            states.append(h)
            cells.append(c)
        cells, states = self.cell_tap(tuple(cells)), self.tap(tuple(states))
        return torch.stack(states, dim=1), (states[-1][None], cells[-1][None])


class ScalarMix(nn.Module):
    """One vector a word from the layers of a language model (section 3.2)::

        ELMo_t = gamma * sum_j s_j h_{t,j},     s = softmax(w)                                          eq. 1

    w (L + 1,) and gamma (1,) are learned by the task that uses the vectors; they start at 0 and 1.

    Parameters
    ----------
    layers
        L + 1, h_0 included.
    norm
        Whether each layer is brought to mean 0 and variance 1 first, over all words of the batch and all components.
    eps
        Added to the variance; 1e-12 in the authors' code.
    """

    def __init__(self, layers: int, *, norm: bool = False, eps: float = 1e-12) -> None:
        super().__init__()
        expect_each(eps=(eps, "[0, inf]"))
        self.norm, self.eps = norm, eps
        self.w, self.gamma = nn.Parameter(torch.zeros(layers)), nn.Parameter(torch.ones(1))

    def forward(self, layers: Sequence[Tensor], real: Tensor | None = None) -> Tensor:
        """The mix (B, T, C) of layers (B, T, C). Only the norm asks where words are, bool (B, T); None: everywhere."""
        layers = expect_tuple(tuple(layers), len(self.w), "one for each layer", "layers")
        shape = tuple(expect(layers[0], "B T C", "layers[0]").shape)
        expect_state(layers, len(layers) * [shape], layers[0], "layers")
        if self.norm:
            real = torch.ones_like(layers[0][..., 0]) if real is None else expect(real, shape[:2], "real")
            layers = [self._normed(h, real[..., None].to(h.dtype)) for h in layers]
        return self.gamma * sum(s * h for s, h in zip(self.w.softmax(0), layers, strict=True))

    def _normed(self, h: Tensor, real: Tensor) -> Tensor:
        """h (B, T, C) by the mean and variance of its words; padding, where real (B, T, 1) is 0, is moved along."""
        count = real.sum() * h.shape[-1]
        mean = (h * real).sum() / count
        variance = ((h - mean).square() * real).sum() / count
        return (h - mean) / (variance + self.eps).sqrt()


def _run(layer: Any, x: Tensor, state: State, real: Tensor | None) -> tuple[Tensor, State]:
    """One layer's states (B, T, D), and its state after each row's last word, for which a hook looks at the cells."""
    if real is None:
        return layer(x, state)
    seen: list[Tensor] = []
    with layer.cell_tap.register_forward_hook(lambda module, args, cells: seen.extend(cells)):
        y, _ = layer(x, state)
    rows, last = torch.arange(x.shape[0], device=x.device), real.sum(1) - 1
    return y, (y[rows, last][None], torch.stack(seen, dim=1)[rows, last][None])
