"""The context-dependent RNN: a recurrent net that is told, beside the last word, what the text is about.

T. Mikolov and G. Zweig, *Context Dependent Recurrent Neural Network Language Model*, IEEE SLT 2012
(DOI 10.1109/SLT.2012.6424228). An RNN forgets a topic within some sentences. So a topic model, LDA, is fitted to the
training text before, and what it says of the last words is an input of two layers. In their first form this is LDA's
answer to a block of the last words; here it is their fast one, in which every word has a topic vector of its own and
the context fades, so that it is a state like any other.

Otherwise than there: f is tanh, as in this library's RNN, or the cell may have gates; a word comes in through an
embedding as wide as the hidden layer; the output layer has a bias.
"""

from typing import Any

import torch
from torch import Tensor, nn

from rtx_lib.layers import GRU, LSTM, RNN
from rtx_lib.shapes import expect, expect_each, expect_ids, expect_state, expect_tuple

CELLS: dict[str, Any] = {"rnn": RNN, "lstm": LSTM, "gru": GRU}


class ContextRNN(nn.Module):
    """A language model with a context c of K topics in its hidden and in its output layer::

        s_t = f(U w_t + W s_{t-1} + F c_t)                     w_t the word at t, s_t (B, H)
        y_t = V s_t + G c_t                                    logits of the next word, (B, V)
        c_t = c_{t-1}^gamma * t_{w_t}^(1 - gamma) / Z          (B, K), a distribution over topics

    t_w (K,) is what a topic model says of a word alone: p(topic | w), from :meth:`tell_`; uniform until then. c_0 is
    uniform. F and G read K c_t, which is 1 on average whatever K is.

    Parameters
    ----------
    vocabulary, topics, hidden_size
        V, K and H.
    decay
        gamma, how much of the context a word leaves.
    cell
        "rnn", "lstm" or "gru".
    """

    word_topics: Tensor

    def __init__(
        self, vocabulary: int, topics: int, hidden_size: int, *, decay: float = 0.95, cell: str = "rnn"
    ) -> None:
        super().__init__()
        expect_each(decay=(decay, "[0, 1)"), cell=(cell, sorted(CELLS)))
        self.input_size = self.output_size = vocabulary
        self.topics, self.decay = topics, decay
        self.embedding = nn.Embedding(vocabulary, hidden_size)
        self.core = CELLS[cell](hidden_size + topics, hidden_size)  # U and F side by side
        self.readout = nn.Linear(hidden_size + topics, vocabulary)  # V and G
        self.register_buffer("word_topics", torch.zeros(vocabulary, topics))  # log t_w

    def tell_(self, word_topics: Tensor) -> "ContextRNN":
        """Take over t (V, K), the topics of each word, all above 0; returns the model."""
        self.word_topics.copy_(expect(word_topics, self.word_topics.shape, "word_topics").log())
        return self

    def context(self, x: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
        """c (B, T, K) behind each word of x (B, T), and log c_T up to Z (B, K); ``before`` is log c_0, likewise."""
        logs = []
        for log_t in self.word_topics[x].unbind(1):
            before = self.decay * before + (1 - self.decay) * log_t
            logs.append(before)
        return torch.stack(logs, 1).softmax(-1), before

    def forward(self, x: Tensor, state: tuple[Any, Tensor] | None = None) -> tuple[Tensor, tuple[Any, Tensor]]:
        """Map ids (B, T) to logits (B, T, V) and the state: that of the cell, and log c (B, K)."""
        expect_ids(x, self.input_size)
        inner, context = (None, None) if state is None else expect_tuple(state, 2, "(state, context)")
        context = expect_state(context, (x.shape[0], self.topics), self.word_topics, "state[1]")
        told, context = self.context(x, context)
        told = self.topics * told
        s, inner = self.core(torch.cat([self.embedding(x), told], -1), inner)
        return self.readout(torch.cat([s, told], -1)), (inner, context)
