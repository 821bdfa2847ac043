"""TopicRNN: an RNN for what stands next to what, and beside it a topic for what the text is about.

A. B. Dieng, C. Wang, J. Gao and J. Paisley, *TopicRNN: A Recurrent Neural Network with Long-Range Semantic Dependency*,
ICLR 2017 (arXiv 1611.01702), section 3. A document of T words is made so:

    theta ~ N(0, I)                                                     one topic vector for all words
    h_t = f(x_t, h_{t-1}),  x_t = y_{t-1}                               the RNN sees no topic
    l_t ~ Bernoulli(sigmoid(Gamma^T h_t))                               1: a stop word comes
    p(y_t = i) ~ exp(v_i^T h_t + (1 - l_t) b_i^T theta)                 only other words hear of the topic

The integral over theta (their eq. 2) is bounded from below, with a Gaussian q whose mean and deviation an inference
network reads off the counts X_c of the document's words that are no stop words:

    ELBO = E_q[sum_t log p(y_t | h_t, l_t, theta) + log p(l_t | h_t)] - KL(q(theta | X_c) || N(0, I))
    q(theta | X_c) = N(mu, diag(sigma^2)),  mu = W_1 g(X_c) + a_1,  log sigma = W_2 g(X_c) + a_2

Perplexity needs p(y_t | y_1..y_{t-1}): X_c is then counted in a window of the last words alone, theta is mu, and l_t,
which nobody knows before the word is there, is summed over. The authors do not move theirs at every word, since g is
dear. Its first layer is linear in the counts, so here a running sum gives it at every word.

Otherwise than there: the logits v_i^T h have a bias, as every readout of this library has.
"""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_lib.models.context_rnn import CELLS
from rtx_lib.shapes import expect, expect_each, expect_ids, expect_tuple


def kl(mean: Tensor, log_std: Tensor) -> Tensor:
    """KL(N(mean, diag(std^2)) || N(0, I)) in nats: (..., K) twice to (...)."""
    return 0.5 * ((2 * log_std).exp() + mean.square() - 1 - 2 * log_std).sum(-1)


class TopicRNN(nn.Module):
    """A language model whose logits get a topic, behind a switch for stop words::

        p(y_t) = sum_l p(y_t | h_t, mu_t, l) p(l | h_t)        mu_t (B, T, K), from the window that ends with x_t
        y_t = log p(y_t)                                       (B, T, V), which serve as logits

    In training mode theta is drawn from q, else it is mu.

    Parameters
    ----------
    vocabulary, stop_words, topics, hidden_size
        V, the ids of the stop words, K and H.
    window
        How many of the last words the topic is read off.
    inference_size
        Width of both layers of g.
    cell
        "rnn", "lstm" or "gru".
    """

    stop: Tensor

    def __init__(
        self,
        vocabulary: int,
        stop_words: Sequence[int],
        topics: int,
        hidden_size: int,
        *,
        window: int = 100,
        inference_size: int = 64,
        cell: str = "rnn",
    ) -> None:
        super().__init__()
        expect_each(window=window, cell=(cell, sorted(CELLS)))
        self.input_size = self.output_size = vocabulary
        self.window = window
        self.embedding = nn.Embedding(vocabulary, hidden_size)
        self.core = CELLS[cell](hidden_size, hidden_size)
        self.readout, self.switch = nn.Linear(hidden_size, vocabulary), nn.Linear(hidden_size, 1)  # v and Gamma
        self.topic_words = nn.Linear(topics, vocabulary, bias=False)  # b
        self.counts = nn.Linear(vocabulary, inference_size)  # the first layer of g, of X_c
        self.inference = nn.Sequential(nn.ReLU(), nn.Linear(inference_size, inference_size), nn.ReLU())
        self.mean, self.log_std = nn.Linear(inference_size, topics), nn.Linear(inference_size, topics)  # W_1 and W_2
        self.register_buffer("stop", torch.zeros(vocabulary, dtype=torch.bool), persistent=False)
        self.stop[list(stop_words)] = True

    def posterior(self, summed: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """theta, mu and log sigma, each (..., K), of what the words counted add up to in the first layer of g."""
        g = self.inference(summed + self.counts.bias)
        mean, log_std = self.mean(g), self.log_std(g)
        theta = mean + log_std.exp() * torch.randn_like(mean) if self.training else mean
        return theta, mean, log_std

    def counted(self, words: Tensor) -> Tensor:
        """What each word (B, T) adds to the first layer of g, (B, T, inference_size); a stop word adds nothing."""
        return self.counts.weight.T[words] * ~self.stop[words][..., None]

    def elbo(self, x: Tensor, y: Tensor, state: Any = None) -> tuple[Tensor, Any]:
        """The terms (B, T) whose sum bounds log p(y, l | h) for the document y (B, T), x one word earlier; the state.

        Each has its share KL / T of what q costs.
        """
        h, state = self._run(x, state)[::2]
        theta, mean, log_std = self.posterior(self.counted(expect_ids(y, self.input_size, "y")).sum(1))
        stop, switch = self.stop[y], self.switch(h)[..., 0]
        logits = self.readout(h) + ~stop[..., None] * self.topic_words(theta)[:, None]
        said = -F.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="none").view_as(switch)
        return said + F.logsigmoid(torch.where(stop, switch, -switch)) - kl(mean, log_std)[:, None] / y.shape[1], state

    def forward(self, x: Tensor | tuple[Tensor, Tensor], state: Any = None) -> tuple[Tensor, Any]:
        """Map ids (B, T) to log-probabilities (B, T, V) and the state: that of the cell, and the window's ids (B, M).

        A pair (x, y) of ids is mapped to the terms of its :meth:`elbo` (B, T): so ``fit`` trains it.
        """
        if isinstance(x, tuple):
            return self.elbo(*x, state)
        h, words, state = self._run(x, state)
        sums = F.pad(self.counted(words).cumsum(1), (0, 0, 1, 0))
        ends = torch.arange(words.shape[1] - x.shape[1], words.shape[1], device=x.device) + 1
        theta, *_ = self.posterior(sums[:, ends] - sums[:, (ends - self.window).clamp(min=0)])
        plain, switch = self.readout(h), self.switch(h)
        told = (plain + self.topic_words(theta)).log_softmax(-1)
        return torch.logaddexp(F.logsigmoid(switch) + plain.log_softmax(-1), F.logsigmoid(-switch) + told), state

    def _run(self, x: Tensor, state: Any) -> tuple[Tensor, Tensor, Any]:
        """h (B, T, H), the words before and at each step (B, M + T), and the state behind the last."""
        expect_ids(x, self.input_size)
        inner, words = (None, x[:, :0]) if state is None else expect_tuple(state, 2, "(state, words)")
        h, inner = self.core(self.embedding(x), inner)
        words = torch.cat([expect(words, (x.shape[0], "M"), "state[1]", like=x), x], 1)
        return h, words, (inner, words[:, max(0, words.shape[1] - self.window + 1) :].clone())
