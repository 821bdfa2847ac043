"""A language model that is told a picture: once, at every step, or by attention.

The first is O. Vinyals, A. Toshev, S. Bengio and D. Erhan, *Show and Tell: A Neural Image Caption Generator* (2015),
the last, with its soft attention, K. Xu et al., *Show, Attend and Tell: Neural Image Caption Generation with Visual
Attention* (2015). Between them stands the older way of conditioned generation, the same vector beside every word.
"""

from typing import Any

import torch
from torch import Tensor, nn

from rtx_lib.layers import LSTM, AdditiveAttention
from rtx_lib.layers.stacking import draw_uniform, watched
from rtx_lib.shapes import Form, expect, expect_each, expect_ids, expect_state, expect_tuple

WAYS = ("first", "every", "attention")


class Captioner(nn.Module):
    """A small convolutional network looks at a picture, and an LSTM writes about it.

    Three convolutions turn the picture (P, P) into annotations a_1..a_L, one vector (D) for each of its L = (P/4)^2
    cells, to which a learned vector of the cell's place is added. The LSTM reads the word before, E y_{t-1} (W)::

        "first"      x_{-1} = v                                  Vinyals et al. eq. 10: then never again
                     h_t = LSTM(E y_{t-1}, h_{t-1})              eq. 11-12
        "every"      h_t = LSTM([E y_{t-1}; v], h_{t-1})
        "attention"  e_ti = f_att(a_i, h_{t-1})                  Xu et al. eq. 4
                     w_ti = exp(e_ti) / sum_k exp(e_tk)          eq. 5
                     z_t = sum_i w_ti a_i                        eq. 6 and 13
                     h_t = LSTM([E y_{t-1}; z_t], h_{t-1})       eq. 1-3

        v = W_v [a_1; ...; a_L] + b_v                            one vector (W) of the whole picture
        logits_t = W_o h_t + b_o

    The LSTM starts from zeros, or under attention from tanh of a linear map of the annotations' mean (f_init of Xu et
    al.). f_att is :class:`~rtx_lib.layers.attention.AdditiveAttention` with W hidden units. What Xu et al. have more is
    left out, so that the three differ in what the LSTM is told and in nothing else: the readout of E y and z too (eq.
    7), the gate on z, and the doubly stochastic penalty (eq. 14).

    Parameters
    ----------
    picture
        P, pixels of a side, a multiple of 4.
    vocabulary
        V, number of words.
    told
        ``"first"``, ``"every"`` or ``"attention"``.
    width, hidden_size, channels
        W, of the embeddings and of v; H; D.
    """

    def __init__(
        self,
        picture: int,
        vocabulary: int,
        *,
        told: str = "attention",
        width: int = 32,
        hidden_size: int = 64,
        channels: int = 32,
    ) -> None:
        super().__init__()
        expect_each(picture=(picture, "multiple of 4"), told=(told, WAYS))
        self.input_size, self.output_size, self.told, self.cells = picture, vocabulary, told, (picture // 4) ** 2
        self.convolutions = nn.Sequential(
            *(nn.Conv2d(1, 16, 5, stride=2, padding=2), nn.ReLU()),
            *(nn.Conv2d(16, channels, 3, stride=2, padding=1), nn.ReLU()),
            *(nn.Conv2d(channels, channels, 3, padding=1), nn.ReLU()),
        )
        self.places = nn.Parameter(torch.randn(self.cells, channels))
        self.embedding = nn.Embedding(vocabulary, width)
        more = {"first": 0, "every": width, "attention": channels}[told]
        self.lstm = LSTM(width + more, hidden_size, backend="torch")
        self.readout = nn.Linear(hidden_size, vocabulary)
        self.attention: AdditiveAttention | None = None
        if told == "attention":
            self.first = nn.Linear(channels, 2 * hidden_size)
            self.attention = AdditiveAttention(hidden_size, channels, width)
        else:
            self.vector = nn.Linear(self.cells * channels, width)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")  # He et al. 2015
            elif isinstance(module, nn.Embedding):
                module.reset_parameters()
            elif isinstance(module, nn.Linear):
                draw_uniform(module, module.in_features)

    def forward(self, x: tuple[Tensor | None, Tensor], state: Any = None) -> tuple[Tensor, Any]:
        """Predict every word of a caption from those before it and the picture.

        Parameters
        ----------
        x
            The pair (picture (B, P, P), target_in (B, T) ids). target_in_t is the word before the one that step t
            predicts.
        state
            What an earlier piece of target_in ended in; the picture is then not looked at again and may be None.

        Returns
        -------
        logits
            (B, T, V).
        state
            (h, c), each (B, H); behind them v (B, W) for "every", or a (B, L, D) and f_att's U a (B, L, W).
        """
        picture, words = expect_tuple(x, 2, "(picture, target_in)", "x")
        e = self.embedding(expect_ids(words, self.output_size, "target_in"))  # (B, T, W)
        state = self.look(picture, len(words)) if state is None else state
        h, c, *memory = expect_state(state, self._state_form(len(words)), self.readout.weight)
        if self.attention is not None:
            y, h, c = self._attend(self.attention, e, h, c, *memory)
        else:
            y, h, c = self._run([e, *(v[:, None].expand(-1, e.shape[1], -1) for v in memory)], h, c)
        return self.readout(y), (h, c, *memory)

    def look(self, picture: Tensor | None, batch: int) -> tuple[Tensor, ...]:
        """The state before the first word, from pictures (B, P, P)."""
        x = expect(picture, (batch, self.input_size, self.input_size), "picture", like=self.readout.weight)
        a = self.convolutions(x[:, None]).flatten(2).mT + self.places  # (B, L, D)
        if self.attention is not None:
            h, c = torch.tanh(self.first(a.mean(1))).chunk(2, dim=-1)
            return h, c, a, self.attention.key(a)
        v = self.vector(a.flatten(1))
        h = v.new_zeros(batch, self.lstm.hidden_size)
        return self._run([v[:, None]], h, h)[1:] if self.told == "first" else (h, h, v)

    def _run(self, x: list[Tensor], h: Tensor, c: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The states (B, T, H) on inputs that are known beforehand, and the last h and c."""
        y, (h, c) = self.lstm(torch.cat(x, dim=-1), (h[None], c[None]))
        return y, h[0], c[0]

    def _attend(
        self, attention: AdditiveAttention, e: Tensor, h: Tensor, c: Tensor, a: Tensor, keys: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The states (B, T, H), where each look waits for the state before it, and the last h and c."""
        start, score, states, looks = (h, c), attention.scorer(keys), [], []
        weight_ih, weight_hh, bias_ih, bias_hh = self.lstm.all_weights[0]
        of_e, of_z = weight_ih.T.split([e.shape[-1], a.shape[-1]])
        for x in (e @ of_e + bias_ih + bias_hh).unbind(1):
            w = torch.softmax(score(h[:, None]), dim=-1)  # (B, 1, L)
            i, f, g, o = torch.addmm(torch.addmm(x, (w @ a).squeeze(1), of_z), h, weight_hh.T).chunk(4, dim=-1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            states.append(h)
            looks.append(w)
        if not watched(attention.weights_tap):
            return torch.stack(states, dim=1), h, c
        # Once the weights are known, so is all that the LSTM reads: it runs on what the tap hands back.
        return self._run([e, attention.weights_tap(torch.cat(looks, dim=1)) @ a], *start)

    def _state_form(self, batch: int) -> Form:
        """The shapes of what a call returns for such a batch."""
        size, d = self.lstm.hidden_size, self.places.shape[1]
        more: Form = {"every": {"v": (batch, self.embedding.embedding_dim)}}.get(self.told, {})
        if self.attention is not None:
            more = {"a": (batch, self.cells, d), "U a": (batch, self.cells, self.embedding.embedding_dim)}
        return {"h": (batch, size), "c": (batch, size), **more}
