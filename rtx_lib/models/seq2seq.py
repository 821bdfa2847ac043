"""Recurrent encoder-decoder, through one fixed vector or with attention.

The first form is that of Cho et al. (2014) and Sutskever, Vinyals and Le (2014), the second that of Bahdanau, Cho and
Bengio (2015). A first network reads the source sentence, a second one writes the target sentence symbol by symbol.
Between them stands one vector of fixed size, or a memory of all source positions that the decoder reads at every step.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from rtx_lib.layers import GRU, AdditiveAttention
from rtx_lib.layers.cells import gru_gates
from rtx_lib.layers.classifier import turned
from rtx_lib.layers.stacking import draw_uniform, watched
from rtx_lib.shapes import Form, expect_each, expect_pair, expect_sentences, expect_state

ATTENTIONS = (None, "additive", "dot")


class DotAttention(nn.Module):
    """The scaled dot product as the score of an alignment: e_ij = (W s_i) . (U h_j) / sqrt(width).

    W is ``query.weight``, U is ``key.weight``, as in :class:`~rtx_lib.layers.attention.AdditiveAttention`; the scale
    is that of Vaswani et al. (2017), eq. 1.
    """

    def __init__(self, query_size: int, key_size: int, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(query_size, width, bias=False)
        self.key = nn.Linear(key_size, width, bias=False)
        self.weights_tap = nn.Identity()  # the weights (B, T, S) of a pass go through here, once, for hooks

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """The contexts (B, T, D_k) of queries (B, T, D_q) and keys (B, S, D_k)."""
        return self.weights_tap(self.scorer(self.key(keys))(query).softmax(-1)) @ keys

    def scorer(self, projected: Tensor) -> Callable[[Tensor], Tensor]:
        """The function from queries (B, T, D_q) to their scores (B, T, S) with ``U h`` (B, S, width)."""
        scaled = projected.transpose(1, 2) / math.sqrt(projected.shape[-1])
        return lambda s: self.query(s) @ scaled


class Seq2Seq(nn.Module):
    """GRU encoder-decoder with a fixed vector or with attention.

    The encoder is a bidirectional GRU over the embedded source, S positions long without its padding::

        h_j = [forward h_j; backward h_j]                      annotation of source position j, (2H)

    The decoder is a GRU that reads the target symbol before and a context, and starts from what the backward
    encoder knows when it has come to the first word (Bahdanau et al. 2015, appendix A.2.2)::

        s_0 = tanh(W_s backward h_1)
        s_i = GRU(s_{i-1}, [E y_{i-1}; c_i])
        logits_i = W_o [s_i; c_i; E y_{i-1}] + b_o             the g of Bahdanau et al. (2015), eq. 4, here linear

    The three kinds of model differ in the context alone:

    - ``attention=None``: c_i = c = [forward h_S; backward h_1], one vector for all steps, as the decoder of
      Cho et al. (2014) has it. s_0 is a function of c, so that c is all that the decoder knows of the source.
    - ``"additive"`` and ``"dot"``: c_i = sum_j a_ij h_j with a_ij = softmax_j of the score e_ij between s_{i-1} and
      h_j (Bahdanau et al. 2015, eq. 5-6), which is v^T tanh(W s_{i-1} + U h_j) or
      (W s_{i-1}) . (U h_j) / sqrt(H).

    Embeddings start from N(0, 1), the GRUs by their own rule, all others from U(-1/sqrt(n), 1/sqrt(n)) with n inputs.

    Parameters
    ----------
    source_vocabulary, target_vocabulary
        Numbers of symbols; id 0 of the source is padding.
    width
        Of the embeddings, W.
    hidden_size
        H, of each direction of the encoder, of the decoder and of the hidden layer of the score.
    attention
        None, ``"additive"`` or ``"dot"``.
    """

    def __init__(
        self,
        source_vocabulary: int,
        target_vocabulary: int,
        *,
        width: int,
        hidden_size: int,
        attention: str | None = None,
    ) -> None:
        super().__init__()
        expect_each(attention=(attention, ATTENTIONS))
        self.input_size, self.output_size = source_vocabulary, target_vocabulary
        self.source_embedding = nn.Embedding(source_vocabulary, width)
        self.target_embedding = nn.Embedding(target_vocabulary, width)
        # One GRU for each direction, as each sentence is turned round at its own length.
        self.forward_encoder = GRU(width, hidden_size, backend="torch")
        self.backward_encoder = GRU(width, hidden_size, backend="torch")
        self.first = nn.Linear(hidden_size, hidden_size, bias=False)
        self.decoder = GRU(width + 2 * hidden_size, hidden_size, backend="torch")
        self.readout = nn.Linear(3 * hidden_size + width, target_vocabulary)
        self.attention: AdditiveAttention | DotAttention | None = None
        if attention is not None:
            kind = AdditiveAttention if attention == "additive" else DotAttention
            self.attention = kind(hidden_size, 2 * hidden_size, hidden_size)
        for module in self.modules():
            if isinstance(module, nn.Embedding | GRU):
                module.reset_parameters()
            elif isinstance(module, nn.Linear):
                draw_uniform(module, module.in_features)

    def forward(self, x: tuple[Tensor | None, Tensor], state: Any = None) -> tuple[Tensor, Any]:
        """Predict every target symbol from those before it and the source.

        Parameters
        ----------
        x
            The pair (source (B, S), target_in (B, T)) of ids. Each source holds at least one word, then padding (0)
            only; padding changes nothing. target_in_t is the symbol before the one that step t predicts.
        state
            What an earlier piece of target_in ended in; the source is then not read again and may be None.

        Returns
        -------
        logits
            (B, T, V).
        state
            Without attention (s_T, c), of shapes (B, H) and (B, 2H). With it (s_T, annotations (B, S, 2H),
            ``U h`` (B, S, H), bool (B, S): True where a word is).
        """
        source, target = expect_pair(x, self.output_size, state)
        state = self.encode(source) if state is None else state
        expect_state(state, self._state_form(target.shape[0]), self.first.weight)
        e = self.target_embedding(target)  # (B, T, W)
        s, *memory = state
        if self.attention is None:
            c = memory[0].unsqueeze(1).expand(-1, e.shape[1], -1)  # the same at every step
            h, last = self._run(e, c, s)
        else:
            h, c, last = self._align(self.attention, e, s, *memory)
        return self.readout(torch.cat([h, c, e], dim=-1)), (last, *memory)

    def encode(self, source: Tensor | None) -> tuple[Tensor, ...]:
        """The state before the first target symbol, from ids (B, S)."""
        source, real = expect_sentences(source, self.input_size, "source")
        x = self.source_embedding(source)  # (B, S, W)
        forward, _ = self.forward_encoder(x)
        backward, _ = self.backward_encoder(turned(x, real))
        backward = turned(backward, real)
        s = torch.tanh(self.first(backward[:, 0]))
        if self.attention is None:
            end = (real.sum(1) - 1)[:, None, None].expand(-1, 1, forward.shape[-1])
            return s, torch.cat([forward.gather(1, end).squeeze(1), backward[:, 0]], dim=-1)
        annotations = torch.cat([forward, backward], dim=-1)
        return s, annotations, self.attention.key(annotations), real

    def _run(self, e: Tensor, c: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        """The decoder's states (B, T, H) on contexts (B, T, 2H) that are known beforehand, and the last one (B, H)."""
        states, last = self.decoder(torch.cat([e, c], dim=-1), s.unsqueeze(0))
        return states, last.squeeze(0)

    def _align(
        self, attention: AdditiveAttention | DotAttention, e: Tensor, s: Tensor, h: Tensor, keys: Tensor, real: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """States (B, T, H) and contexts (B, T, 2H), where each context waits for the state before it, and s_T."""
        start, score = s, attention.scorer(keys)
        padding = torch.zeros_like(real, dtype=s.dtype).masked_fill(~real, -math.inf)[:, None]  # (B, 1, S)
        weight_ih, weight_hh, bias_ih, bias_hh = self.decoder.all_weights[0]
        of_e, of_c = weight_ih.T.split([e.shape[-1], h.shape[-1]])
        size = s.shape[-1]
        states, contexts, alignment = [], [], []
        for z in (e @ of_e + bias_ih).unbind(1):
            a = torch.softmax(score(s[:, None]) + padding, dim=-1)  # (B, 1, S)
            c = (a @ h).squeeze(1)  # (B, 2H)
            a_rz, a_n = torch.addmm(z, c, of_c).split([2 * size, size], dim=-1)
            _, update, n = gru_gates(a_rz, a_n, torch.addmm(bias_hh, s, weight_hh.T))
            s = torch.lerp(n, s, update)
            states.append(s)
            contexts.append(c)
            alignment.append(a)
        if not watched(attention.weights_tap):
            return torch.stack(states, dim=1), torch.stack(contexts, dim=1), s
        # Once the weights are known, so are all contexts. The tap gets the weights of all steps at once, and the
        # decoder runs on what it hands back.
        c = attention.weights_tap(torch.cat(alignment, dim=1)) @ h  # (B, T, 2H)
        states_given, s = self._run(e, c, start)
        return states_given, c, s

    def _state_form(self, batch: int) -> Form:
        """The shapes of what a call returns for such a batch."""
        size = self.decoder.hidden_size
        if self.attention is None:
            return {"s": (batch, size), "c": (batch, 2 * size)}
        words = {"annotations": (batch, "S", 2 * size), "U h": (batch, "S", size), "real": (batch, "S", torch.bool)}
        return {"s": (batch, size), **words}
