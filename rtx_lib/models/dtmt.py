"""DTMT: a translator whose states pass through several transitions before the next word is read.

F. Meng and J. Zhang, *DTMT: A Novel Deep Transition Architecture for Neural Machine Translation*, AAAI 2019
(arXiv 1812.07807), as in the authors' code (github.com/fandongmeng/DTMT_InDec), without dropout and label smoothing.
The L-GRU, the T-GRU and the chain of both are in :mod:`rtx_lib.models.deep_transition`.
"""

import math
from collections.abc import Callable, Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_lib.layers.blocks import uniform_linear
from rtx_lib.layers.classifier import BothWays, masked_mean
from rtx_lib.layers.embedding import table
from rtx_lib.layers.official import load_official, reads_official
from rtx_lib.layers.positions import wave_angles
from rtx_lib.layers.stacking import watched
from rtx_lib.shapes import Form, Pair, expect_each, expect_pair, expect_sentences, expect_state

from .deep_transition import DeepTransitionGRU

PAD = 0
OFFICIAL = {  # our transitions by their names in the authors' code
    "encoder.forward_core": "encoder/forward/gru_cell",
    "encoder.backward_core": "encoder/backward/gru_cell",
    "query_transition": "decoder/gru_cell",
    "decoder_transition": "decoder/gru_cell_1",
}


class Embedding(nn.Module):
    """Words, a bias and their positions, e = E[id] + b + p, and 0 for id 0, which is no word and has no position.

    p holds sines in its first half and cosines in the second, of the angles j 10000^(-i/(W/2 - 1)) at the word j,
    counted from 0, all times W^-0.5. The table starts from N(0, 1/W), as large as the positions; b starts at 0.
    """

    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__()
        self.words = table(vocabulary, width, 1 / math.sqrt(width))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, ids: Tensor, read: Tensor | int = 0) -> Tensor:
        """e (B, T, W) of ids (B, T) that come after ``read`` words (B, 1)."""
        real, width = ids != PAD, len(self.bias)
        angles = wave_angles(real.cumsum(1) - 1 + read, width, 2 * (width // 2) - 2)  # (B, T, W/2)
        p = F.pad(torch.cat([angles.sin(), angles.cos()], dim=-1), (0, width % 2)) / math.sqrt(width)
        return (self.words(ids) + self.bias + p.to(self.bias.dtype)) * real.unsqueeze(-1)


class AdditiveHeads(nn.Module):
    """Additive attention of many heads from q to annotations h, of which every head i has its part::

        e^i_j = v . tanh((W_q q)^i + (W_k h_j)^i)               one v for all heads
        c = W_c [sum_j softmax_j(e^1_j) h^1_j; ...] + b_c       the heads side by side

    All are drawn from U(-1/sqrt(n), 1/sqrt(n)) with n inputs.
    """

    def __init__(self, hidden_size: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = uniform_linear(hidden_size, hidden_size, bias=False)
        self.key = uniform_linear(2 * hidden_size, hidden_size, bias=False)
        self.score = uniform_linear(hidden_size // heads, 1, bias=False)
        self.out = uniform_linear(2 * hidden_size, hidden_size)
        self.weights_tap = nn.Identity()  # the weights (B, heads, T, S) of all steps go through here, for hooks

    def look(self, q: Tensor, keys: Tensor, real: Tensor) -> Tensor:
        """The weights (B, heads, 1, S) of one step, from q (B, H), keys W_k h (B, S, H) and where words are (B, S)."""
        a = self.query(q).unflatten(-1, (self.heads, 1, -1)) + self._parts(keys)  # (B, heads, S, H/heads)
        return self.score(torch.tanh(a)).mT.masked_fill(~real[:, None, None], -math.inf).softmax(-1)

    def read(self, weights: Tensor, annotations: Tensor) -> Tensor:
        """The contexts (B, T, H) under weights (B, heads, T, S) of annotations (B, S, 2H)."""
        return self.out((weights @ self._parts(annotations)).transpose(1, 2).flatten(2))

    def _parts(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)


class DTMT(nn.Module):
    """Deep transition on both sides of a translation.

    A transition is an L-GRU and a chain of T-GRUs with their gates' sums normalised, L_s of them in the encoder, L_q
    and L_d in the decoder's two::

        h_j = [forward transition(x_j, h_{j-1}); backward transition(x_j, h_{j+1})]         annotations (2H)
        s_0 = tanh(W_0 mean_j h_j + b_0)
        q_t = query transition(y_{t-1}, s_{t-1})                                            asks the source
        c_t = attention(q_t, h_1..h_S)                                                      AdditiveHeads
        s_t = decoder transition(c_t, q_t)
        logits_t = W_v tanh(W [y_{t-1}; s_t; c_t] + b) + b_v

    with the embedded words x_j and y_t. Nothing stands before the first word: y_0 = 0, which is what id 0 is read as.
    Another id at that place is a word like any other. The loss is the cross-entropy, and the task's.

    Transitions start by their own rule, the linear maps from U(-1/sqrt(n), 1/sqrt(n)) with n inputs.

    Parameters
    ----------
    source_vocabulary, target_vocabulary
        Numbers of symbols; id 0 is padding on either side.
    width
        Of the embeddings, W.
    hidden_size
        H, of each direction of the encoder, of the decoder, of the attention and behind the last tanh.
    heads
        Of the attention, a divisor of H.
    encoder_depth, query_depth, decoder_depth
        L_s, L_q and L_d, numbers of T-GRUs, at least 0; 4 each in the authors' code.
    """

    def __init__(
        self,
        source_vocabulary: int,
        target_vocabulary: int,
        *,
        width: int,
        hidden_size: int,
        heads: int,
        encoder_depth: int = 4,
        query_depth: int = 4,
        decoder_depth: int = 4,
    ) -> None:
        super().__init__()
        expect_each(source_vocabulary=source_vocabulary, target_vocabulary=target_vocabulary, width=width)
        expect_each(hidden_size=hidden_size, heads=(heads, f"divisor of {hidden_size}"))
        expect_each(encoder_depth=(encoder_depth, 0), query_depth=(query_depth, 0), decoder_depth=(decoder_depth, 0))

        def transition(inputs: int, depth: int) -> DeepTransitionGRU:
            return DeepTransitionGRU(inputs, hidden_size, depth, layer_norm=True)

        self.input_size, self.output_size = source_vocabulary, target_vocabulary
        self.source_embedding = Embedding(source_vocabulary, width)
        self.encoder = BothWays(transition(width, encoder_depth), transition(width, encoder_depth))
        self.first = uniform_linear(2 * hidden_size, hidden_size)
        self.target_embedding = Embedding(target_vocabulary, width)
        self.query_transition = transition(width, query_depth)
        self.attention = AdditiveHeads(hidden_size, heads)
        self.decoder_transition = transition(hidden_size, decoder_depth)
        self.hidden = uniform_linear(width + 2 * hidden_size, hidden_size)
        self.output = uniform_linear(hidden_size, target_vocabulary)

    def forward(self, x: Pair, state: tuple[Tensor, ...] | None = None) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Predict every target symbol from those before it and the source.

        Parameters
        ----------
        x, state
            As in :meth:`rtx_lib.models.seq2seq.Seq2Seq.forward`.

        Returns
        -------
        logits
            (B, T, V).
        state
            (s_T (B, H), annotations h (B, S, 2H), keys W_k h (B, S, H), bool (B, S): True where a word is, number of
            words of the target read (B,) int64).
        """
        source, target = expect_pair(x, self.output_size, state)
        state = self.encode(source) if state is None else state
        s, h, keys, real, read = expect_state(state, self._state_form(target.shape[0]), self.first.weight)
        y = self.target_embedding(target, read.unsqueeze(1))  # (B, T, W), of the words before
        weights, contexts = [], []

        def attend(t: int, q: Tensor) -> Tensor:
            weights.append(self.attention.look(q, keys, real))
            contexts.append(self.attention.read(weights[t], h))
            return contexts[t].squeeze(1)

        states, c = self._decode(y, s, attend), torch.cat(contexts, dim=1)
        if watched(self.attention.weights_tap):  # it gets the weights of all steps, and what it hands back counts
            c = self.attention.read(self.attention.weights_tap(torch.cat(weights, dim=2)), h)
            states = self._decode(y, s, lambda t, q: c[:, t])
        return self.readout(y, states, c), (states[:, -1].clone(), h, keys, real, read + (target != PAD).sum(1))

    def encode(self, source: Tensor | None) -> tuple[Tensor, ...]:
        """The state before the first target symbol, from ids (B, S)."""
        source, real = expect_sentences(source, self.input_size, "source")
        h = self.encoder(self.source_embedding(source), real) * real.unsqueeze(-1)
        s = torch.tanh(self.first(masked_mean(h, real)))
        return s, h, self.attention.key(h), real, torch.zeros_like(source[:, 0], dtype=torch.int64)

    def _decode(self, y: Tensor, s: Tensor, context: Callable[[int, Tensor], Tensor]) -> Tensor:
        """The states s_1..s_T (B, T, H), with ``context(t, q_t)`` for c_t (B, H)."""
        states = []
        for t, a in enumerate(self.query_transition.lgru.project(y).unbind(1)):
            q = self.query_transition.step(a, s)
            s = self.decoder_transition.step(self.decoder_transition.lgru.project(context(t, q)), q)
            states.append(s)
        return torch.stack(states, dim=1)

    def readout(self, y: Tensor, states: Tensor, contexts: Tensor) -> Tensor:
        """The logits (B, T, V) from the words before (B, T, W), states (B, T, H) and contexts (B, T, H)."""
        return self.output(torch.tanh(self.hidden(torch.cat([y, states, contexts], dim=-1))))

    def _state_form(self, batch: int) -> Form:
        """The shapes of what a call returns for such a batch."""
        size = self.attention.query.in_features
        words = {"annotations": (batch, "S", 2 * size), "keys": (batch, "S", size), "real": (batch, "S", torch.bool)}
        return {"s": (batch, size), **words, "read": (batch, torch.int64)}

    @classmethod
    @reads_official
    def from_official(cls, arrays: Mapping[str, Tensor]) -> "DTMT":
        """The model with the arrays of the authors' code, by their names there, of any sizes and depths.

        Their id i is i + 1 here: 0 is the vector before their first word, and padding. It is never written, as its
        logit is -inf.
        """
        (sources, width), targets = arrays["source_embedding/embedding"].shape, len(arrays["softmax/bias"])
        hidden_size, head = len(arrays["s_transform/bias"]), len(arrays["decoder/attention_mhead/logits/matrix_0"])
        encoder, _, query, decoder = (_depth(arrays, at) for at in OFFICIAL.values())
        depths = {"encoder_depth": encoder, "query_depth": query, "decoder_depth": decoder}
        sizes = {"width": width, "hidden_size": hidden_size, "heads": hidden_size // head}
        return load_official(cls(sources + 1, targets + 1, **sizes, **depths), official_weights(arrays))


def official_weights(arrays: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The model's parameters from the authors' arrays, whose matrices stand to the right of what they map."""
    ours = {}
    for side in ("source_embedding", "target_embedding"):
        ours[f"{side}.words.weight"] = F.pad(arrays[f"{side}/embedding"], (0, 0, 1, 0))
        ours[f"{side}.bias"] = arrays[f"{side}/bias"]
    for name, at in OFFICIAL.items():
        ours |= {f"{name}.{part}": value for part, value in _transition(arrays, at).items()}
    ours |= {"first.weight": arrays["s_transform/matrix_0"].T, "first.bias": arrays["s_transform/bias"]}
    for part, theirs in {"query": "q_transform", "key": "k_transform", "score": "logits"}.items():
        ours[f"attention.{part}.weight"] = arrays[f"decoder/attention_mhead/{theirs}/matrix_0"].T
    ours["attention.out.weight"] = arrays["decoder/attention_mhead/output_transform/matrix"].T
    ours["attention.out.bias"] = arrays["decoder/attention_mhead/output_transform/bias"]
    ours["hidden.weight"] = torch.cat([arrays[f"maxout/matrix_{i}"] for i in range(3)]).T
    ours |= {"hidden.bias": arrays["maxout/bias"], "output.weight": F.pad(arrays["softmax/matrix_0"], (1, 0)).T}
    return ours | {"output.bias": F.pad(arrays["softmax/bias"], (1, 0), value=-math.inf)}


def _transition(arrays: Mapping[str, Tensor], at: str) -> dict[str, Tensor]:
    """The parameters of one transition, whose names begin with ``at``."""

    def joined(*names: str) -> Tensor:
        return torch.cat([arrays[f"{at}/{name}"].T for name in names])

    def normed(gates: Sequence[str], ln: str, n: str) -> dict[str, Tensor]:
        """The biases of the gates and of n, and the gains."""
        gains = [arrays[f"{at}/{gate}{ln}/scale"] for gate in gates]
        biases = [arrays[f"{at}/{gate}{ln}/offset"] for gate in gates]
        return {"gain": torch.cat(gains), "bias_hh": torch.cat([*biases, arrays[f"{at}/{n}/bias"]])}

    gates, chained = ("reset_gate", "update_gate", "reset_gate2"), ("trans_reset_gate", "trans_update_gate")
    of_x, of_h = ([f"{gate}/matrix_{i}" for gate in gates] for i in range(2))
    cells = {"lgru": normed(gates, "_ln", "linear_state")}
    cells["lgru"]["weight_ih"] = joined(*of_x, "linear_inputs/matrix_0", "linear_inputs_transform/matrix_0")
    cells["lgru"]["weight_hh"] = joined(*of_h, "linear_state/matrix_0")
    for k in range(_depth(arrays, at)):
        cells[f"transitions.{k}"] = normed(chained, f"_ln_l{k}", f"trans_candidate_l{k}")
        matrices = [f"{part}_l{k}/matrix_0" for part in (*chained, "trans_candidate")]
        cells[f"transitions.{k}"]["weight_hh"] = joined(*matrices)
    return {f"{cell}.{name}": value for cell, named in cells.items() for name, value in named.items()}


def _depth(arrays: Mapping[str, Tensor], at: str) -> int:
    """How many T-GRUs a transition has."""
    return sum(name.startswith(f"{at}/trans_candidate_l") and name.endswith("/bias") for name in arrays)
