"""ELMo: a word's vector is a mix of what the layers of a bidirectional language model say about its sentence.

M. Peters, M. Neumann, M. Iyyer, M. Gardner, C. Clark, K. Lee and L. Zettlemoyer, *Deep contextualized word
representations*, NAACL 2018 (arXiv 1802.05365). The language model (section 3.1), its LSTM, and the mix (section 3.2).

Where the authors' code (allenai/bilm-tf, and AllenNLP by the same group) says what the paper leaves out, or differs:

- It minimises half the sum of the mean losses of the two directions; the paper maximises a sum.
- A layer's input is added to its output outside of the recurrence. A word's vector is read from its characters, and
  4096 cells, clipped, are projected to the 512 numbers of a state; here both are as wide as the words' own vectors.
- States are carried from sentence to sentence, in use too, and backward, where they come from the wrong side. So a
  sentence read twice has two sets of vectors. Here only a state that is handed on is carried.
- Its mix takes softmax(w + 1/n) of n layers. The 1/n changes nothing. Its layer norm, an option that is left out here,
  has one mean and variance for all numbers of a batch, so that vectors depend on the batch.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from rtx_lib.layers.blocks import normal_linear
from rtx_lib.layers.cells import LSTM
from rtx_lib.layers.classifier import turned
from rtx_lib.layers.embedding import table
from rtx_lib.shapes import at_hand, expect, expect_each, expect_sentences, expect_state, expect_tuple

State = tuple[Tensor, Tensor]


class BidirectionalLM(nn.Module):
    """Two language models, one for each direction, with the same vectors of words and the same softmax (section 3.1)::

        e_t = E[x_t]
        f_1 ... f_T = forward LSTMs of e_1 ... e_T              f_t has seen x_1 ... x_t
        b_T ... b_1 = backward LSTMs of e_T ... e_1             b_t has seen x_t ... x_T
        P(x_{t+1} | x_1 ... x_t) = softmax(W f_t + c)           P(x_{t-1} | x_t ... x_T) = softmax(W b_t + c)

    The directions never meet: layer j of one reads layer j - 1 of the same. So no logit depends on the word that it is
    about, as it would from the second layer of a bidirectional LSTM on; and none depends on both sides of that word.
    :class:`rtx_lib.tasks.masked_text.BothWaysText` is a task for this output.

    The published model has D = 512, ``skip`` and dropout 0.1. E and W start from N(0, 1/D), c at 0, LSTMs by torch's
    rule with the biases of f at 1 and 0.

    Parameters
    ----------
    vocabulary
        V, number of words.
    width, layers
        D, of the words' vectors and of each layer's states, and L.
    skip
        Whether layers but the first add their input to their output, which the recurrence does not see.
    dropout
        Share set to 0 in training of what a layer reads, which is also what it adds, and of what the softmax reads.
    padding
        The id that is no word and stands behind the words of a row; with None every id is a word.
    backend
        ``"loop"``, or ``"torch"``, whose fused kernel runs where no padding is possible or seen.
    """

    def __init__(
        self,
        vocabulary: int,
        *,
        width: int,
        layers: int = 2,
        skip: bool = False,
        dropout: float = 0.0,
        padding: int | None = None,
        backend: str = "loop",
    ) -> None:
        super().__init__()
        expect_each(layers=layers)
        self.input_size, self.output_size, self.padding, self.skip = vocabulary, 2 * vocabulary, padding, skip
        self.embedding = table(vocabulary, width, width**-0.5)

        def stack() -> nn.ModuleList:
            return nn.ModuleList(LSTM(width, width, forget_bias=1.0, backend=backend) for _ in range(layers))

        self.forward_layers, self.backward_layers = stack(), stack()
        self.dropout = nn.Dropout(dropout)
        self.softmax = normal_linear(width, vocabulary, width**-0.5)

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Map ids (B, T) to logits (B, T, 2V): V of the word at t + 1, V of that at t - 1.

        The state is the pair (h, c), each (2L, B, D), forward and backward of the first layer, then of the second:
        after a row's last word and, backward, after its first. So a text in pieces is the text as a whole to the
        forward direction if they come in order, and to the backward one if the last comes first.
        """
        layers, state = self.read(x, state)
        return self.softmax(self.dropout(layers[-1].unflatten(-1, (2, -1)))).flatten(-2), state

    def read(self, x: Tensor, state: State | None = None) -> tuple[list[Tensor], State]:
        """The layers h_0 = [e; e], h_1 = [f; b], ..., h_L, each (B, T, 2D) and 0 at padding, and the state."""
        words = expect_sentences(x, self.input_size, "x", self.padding)[1]
        real = None if self.padding is None or (at_hand(words) and words.all()) else words
        e, depth = self.embedding(x), len(self.forward_layers)
        h, c = expect_state(state, dict.fromkeys("hc", (2 * depth, *e[:, 0].shape)), e)
        outputs, ends = [], []  # of both directions
        for d, layers in enumerate((self.forward_layers, self.backward_layers)):
            y = turned(e, real) if d else e
            stack = [y]
            for row, layer in enumerate(layers):
                below, own = self.dropout(y), slice(2 * row + d, 2 * row + d + 1)
                y, end = _run(layer, below, (h[own], c[own]), real)
                y = y + below if self.skip and row else y
                stack.append(y)
                ends.append(end)
            outputs.append([turned(y, real) for y in stack] if d else stack)
        joined = [torch.cat(pair, dim=-1) for pair in zip(*outputs, strict=True)]
        joined = joined if real is None else [y * real[..., None] for y in joined]
        ends = [end for row in range(depth) for end in ends[row::depth]]  # both ways of a layer, then on
        return joined, (torch.cat([h for h, _ in ends]), torch.cat([c for _, c in ends]))

    @torch.no_grad()
    def layers(self, x: Tensor) -> list[Tensor]:
        """The layers of :meth:`read` without gradients, for a probe or a task that leaves the model as it is."""
        return self.read(x)[0]


class ScalarMix(nn.Module):
    """One vector a word from the layers of a language model (section 3.2)::

        ELMo_t = gamma * sum_j s_j h_{t,j},     s = softmax(w)                                          eq. 1

    w (L + 1,) and gamma (1,) are learned by the task that uses the vectors; they start at 0 and 1.

    Parameters
    ----------
    layers
        L + 1, h_0 included.
    """

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.w, self.gamma = nn.Parameter(torch.zeros(layers)), nn.Parameter(torch.ones(1))

    def forward(self, layers: Sequence[Tensor]) -> Tensor:
        """The mix (B, T, C) of layers (B, T, C)."""
        layers = expect_tuple(tuple(layers), len(self.w), "one for each layer", "layers")
        shape = tuple(expect(layers[0], "B T C", "layers[0]").shape)
        expect_state(layers, len(layers) * [shape], layers[0], "layers")
        return self.gamma * sum(s * h for s, h in zip(self.w.softmax(0), layers, strict=True))


def _run(layer: Any, x: Tensor, state: State, real: Tensor | None) -> tuple[Tensor, State]:
    """One layer's states (B, T, D), and its state after each row's last word, for which a hook looks at the cells."""
    if real is None:
        return layer(x, state)
    seen: list[Tensor] = []
    with layer.cell_tap.register_forward_hook(lambda module, args, cells: seen.extend(cells)):
        y, _ = layer(x, state)
    rows, last = torch.arange(x.shape[0], device=x.device), real.sum(1) - 1
    return y, (y[rows, last][None], torch.stack(seen, dim=1)[rows, last][None])
