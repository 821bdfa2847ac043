"""GPT and GPT-2: a causal Transformer that first learns to continue text, and then a task, or is only asked.

A. Radford, K. Narasimhan, T. Salimans and I. Sutskever, *Improving Language Understanding by Generative Pre-Training*,
2018; A. Radford, J. Wu, R. Child, D. Luan, D. Amodei and I. Sutskever, *Language Models are Unsupervised Multitask
Learners*, 2019. In the order of the first paper: the model with its pre-training objective (section 3.1), which GPT-2
has too but for the places of its norms, and fine-tuning (section 3.2).

What the papers leave open is as in the authors' code (openai/finetune-transformer-lm, openai/gpt-2): GELU in its tanh
form, at most 5e-4 off, and how the auxiliary objective is averaged. Where this file does otherwise than the code:

- GPT's code keeps positions and words in one table, so that the auxiliary softmax runs over positions too. Here the
  positions have a table of their own.
- GPT's code drops entries of that whole table, the same ones where words come in and go out. Here dropout acts on the
  embedded sequence.
- GPT-2's code starts the matrices that lead into the residual stream like all others. Here they are smaller by
  1/sqrt(N), as its paper says (section 2.3).
"""

import math
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_lib.layers.blocks import Cache, Stack, normal_linear
from rtx_lib.layers.embedding import table
from rtx_lib.layers.official import load_official, reads_official, renamed
from rtx_lib.shapes import expect, expect_each, expect_ids, expect_no_state, expect_sentences

STD = 0.02
gelu = partial(F.gelu, approximate="tanh")
AVERAGES = ("sequence", "token")


class GPT(nn.Module):
    """A language model: each position sees itself and what is before it, and predicts what comes next.

    ::

        L_1    = sum_t log P(x_t | x_1, ..., x_{t-1})                                   eq. 1
        h^0    = E[x] + P                                                               eq. 2
        h      = LN(h + attention(h));    h = LN(h + W_2 f(W_1 h))                      each block of GPT, "post"
        h      = h + attention(LN(h));    h = h + W_2 f(W_1 LN(h))                      each block of GPT-2, "pre"
        logits = h^n E^T                  with GPT-2, LN(h^n) E^T                       eq. 2

    Sequences are at most ``length`` long, all pieces together, as each position has a vector P_t that is learned.

    Matrices and tables start from N(0, 0.02^2), biases at 0. In GPT-2, P starts from N(0, 0.01^2), and the last matrix
    of each of the N = 2 ``layers`` residual branches from N(0, 0.02^2 / N).

    Parameters
    ----------
    vocabulary
        V, number of words; the table E serves input and output.
    width, heads, layers
        D, H, which divides it, and the number of blocks; 768, 12 and 12 in the first paper.
    length
        Number of positions; 512 in GPT, 1024 in GPT-2.
    norm
        ``"post"`` for GPT, ``"pre"`` for GPT-2.
    inner
        Width inside the feed-forward networks; 4D if None.
    dropout
        Share of the values set to 0 in training: of the embedded sequence, of the attention's weights, and of what
        attention and feed-forward network add; 0.1 in GPT.
    key_heads
        Heads of keys and values, which divides H; H if None, as in both papers.
    """

    def __init__(
        self,
        vocabulary: int,
        *,
        width: int,
        heads: int,
        layers: int,
        length: int = 512,
        norm: str = "post",
        inner: int | None = None,
        dropout: float = 0.0,
        key_heads: int | None = None,
    ) -> None:
        super().__init__()
        self.input_size = self.output_size = vocabulary
        self.embedding = table(vocabulary, width, STD)
        options: dict[str, Any] = {"inner": inner, "activation": gelu, "dropout": dropout, "key_heads": key_heads}
        self.stack = Stack(width, heads, layers, positions="learned", length=length, norm=norm, causal=True, **options)
        block: Any
        for block in self.stack.blocks:
            block.feed_forward.dropout = nn.Identity()  # none between the two matrices
        self._draw(layers if norm == "pre" else None)

    @torch.no_grad()
    def _draw(self, layers: int | None) -> None:
        """Draw the stack's matrices; those of GPT-2, if it is told how many layers there are."""
        for name, parameter in self.stack.named_parameters():
            if parameter.ndim == 2:
                parameter.normal_(0, STD)
                if layers and name.startswith("positions"):
                    parameter.div_(2)
                if layers and name.endswith(("out_proj.weight", "linear2.weight")):
                    parameter.div_(math.sqrt(2 * layers))

    def encode(self, x: Tensor, state: tuple[Cache, ...] | None = None) -> tuple[Tensor, tuple[Cache, ...]]:
        """The last block's output h (B, T, D) for ids (B, T), in GPT-2 after the last norm, and the state."""
        return self.stack(self.embedding(expect_ids(x, self.input_size)), cache=state)

    def forward(self, x: Tensor, state: tuple[Cache, ...] | None = None) -> tuple[Tensor, tuple[Cache, ...]]:
        """Map ids (B, T) to logits (B, T, V) of what comes after each of them.

        The state is the key-value cache, a pair (B, G, M, K) for each block, of the M positions before x.
        """
        h, state = self.encode(x, state)
        return F.linear(h, self.embedding.weight), state

    @classmethod
    @reads_official
    def from_official(cls, arrays: Mapping[str, Tensor], *, heads: int, **options: Any) -> "GPT":
        """The model with the arrays of Hugging Face's GPT or GPT-2, by their names there; the heads are no array."""
        weights = official_weights(arrays)
        vocabulary, width = weights["embedding.weight"].shape
        options |= {"width": width, "heads": heads, "layers": sum(name.endswith("linear1.bias") for name in weights)}
        options |= {"inner": len(weights["stack.blocks.0.feed_forward.linear1.bias"])}
        options |= {"length": len(weights["stack.positions.weight"])}
        options |= {"norm": "pre" if "stack.norm.weight" in weights else "post"}
        return load_official(cls(vocabulary, **options), weights)


# What Hugging Face's names are here; the matrices called c_ are stored (inputs, outputs) there.
OFFICIAL = {
    r"^(lm_head\.weight|.*\.attn\.(masked_)?bias)$": "",  # the table once more, and masks
    r"^transformer\.": "",
    r"^(tokens_embed|wte)\.": "embedding.",
    r"^(positions_embed|wpe)\.": "stack.positions.",
    r"^ln_f\.": "stack.norm.",
    r"^h\.": "stack.blocks.",
    r"\.ln_1\.": ".norms.0.",
    r"\.ln_2\.": ".norms.1.",
    r"\.attn\.c_attn\.": ".self_attention.in_proj_",
    r"\.attn\.c_proj\.": ".self_attention.out_proj.",
    r"\.mlp\.c_fc\.": ".feed_forward.linear1.",
    r"\.mlp\.c_proj\.": ".feed_forward.linear2.",
}


def official_weights(arrays: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Parameters of Hugging Face's GPT or GPT-2 by our names."""
    turned = {name: value.T if re.search(r"\.c_\w+\.weight", name) else value for name, value in arrays.items()}
    return renamed(turned, OFFICIAL)


class GPTClassifier(nn.Module):
    """GPT fine-tuned: the class of a text is read from the last block's output at its last word (section 3.2).

    ::

        P(y | x_1, ..., x_m) = softmax(W h^n_m + b)         eq. 3

    The paper puts a start token before each text and an extract token behind it, which is x_m. Two texts of which the
    first may imply the second have a delimiter between them. For similarity the vectors h_m of both orders are added
    before W; of several answers each goes through by itself, and the softmax is over their scores (section 3.3).

    W starts from N(0, 0.02^2), b at 0.

    Parameters
    ----------
    gpt
        A :class:`GPT`, which is trained further.
    classes
        Number of classes C.
    auxiliary
        Whether the logits of the next words come out too, for :func:`fine_tuning_loss`.
    dropout
        Share of the values of h_m set to 0 in training; 0.1 in the paper.
    """

    def __init__(self, gpt: GPT, classes: int, *, auxiliary: bool = False, dropout: float = 0.0) -> None:
        super().__init__()
        self.gpt, self.dropout, self.auxiliary = gpt, nn.Dropout(dropout), auxiliary
        self.input_size, self.output_size = gpt.input_size, classes + (gpt.output_size if auxiliary else 0)
        self.readout = normal_linear(gpt.embedding.embedding_dim, classes, STD)

    def summary(self, h: Tensor, real: Tensor) -> Tensor:
        """h_m (B, D): of h (B, T, D), what stands at the last word; ``real`` (B, T) is True at words."""
        last = (real.sum(1) - 1)[:, None, None].expand(-1, 1, h.shape[2])
        return h.gather(1, last).squeeze(1)

    def forward(self, x: Tensor, state: None = None, *, real: Tensor | None = None) -> tuple[Tensor, None]:
        """Map texts to the logits of their classes.

        Parameters
        ----------
        x
            Ids (B, T), words first and then padding. What is behind the last word nothing else sees.
        state
            None: a text is read as a whole.
        real
            Bool (B, T), True at words; where the id is not 0 if None.

        Returns
        -------
        logits
            (B, 1, C). With ``auxiliary`` (B, T, V + C): at each position the V logits of the next word, and behind them
            the text's C, which are the same at all positions.
        state
            None.
        """
        expect_no_state(state)
        if real is None:
            _, real = expect_sentences(x, self.input_size, "x")
        expect(real, expect_ids(x, None).shape, "real")
        h, _ = self.gpt.encode(x)
        logits = self.readout(self.dropout(self.summary(h, real)))[:, None]  # (B, 1, C)
        if not self.auxiliary:
            return logits, None
        words = F.linear(h, self.gpt.embedding.weight)  # (B, T, V)
        return torch.cat([words, logits.expand(-1, x.shape[1], -1).to(words.dtype)], dim=-1), None


def language_loss(logits: Tensor, x: Tensor, real: Tensor | None = None, *, average: str = "token") -> Tensor:
    """-L_1 (eq. 1) per word: the mean of -log P(x_{t+1} | x_1, ..., x_t), start and other special tokens included.

    Parameters
    ----------
    logits
        (B, T, V), of what comes after each word.
    x
        Ids (B, T), T at least 2.
    real
        Bool (B, T), True at words; everywhere if None. A text without a second word counts 0.
    average
        ``"token"``, the mean over all words of the batch; or ``"sequence"``, the mean over each text and then over the
        texts, as in GPT's code, where a word counts the less the longer its text is.
    """
    expect_each(average=(average, AVERAGES))
    expect(logits, (*expect_ids(x, None).shape, "V"), "logits")
    expect_each(**{"positions of x": (x.shape[1], 2)})
    nll = F.cross_entropy(logits[:, :-1].transpose(1, 2), x[:, 1:].long(), reduction="none")  # (B, T - 1)
    counted = torch.ones_like(nll) if real is None else expect(real, x.shape, "real")[:, 1:].to(nll.dtype)
    axes = (0, 1) if average == "token" else (1,)
    return ((nll * counted).sum(axes) / counted.sum(axes).clamp(min=1)).mean()


def fine_tuning_loss(
    words: Tensor,
    classes: Tensor,
    x: Tensor,
    y: Tensor,
    *,
    real: Tensor | None = None,
    weight: float = 0.5,
    average: str = "sequence",
) -> Tensor:
    """The loss of fine-tuning, with the pre-training objective as an auxiliary one::

        L_2 = sum log P(y | x_1, ..., x_m)                   eq. 4
        L_3 = L_2 + lambda L_1                               eq. 5, to be maximised

    This is -L_3, with means for the sums.

    Parameters
    ----------
    words, classes
        Logits (B, T, V) and (B, C): of what :class:`GPTClassifier` gives, ``[..., :V]`` and ``[:, -1, V:]``.
    x, y
        Ids (B, T), padding (0) behind the words, and classes (B,).
    real, average
        As in :func:`language_loss`; ``real`` is where x is not 0 if None.
    weight
        lambda, 0.5 in the paper, whose mean score is higher with 0 (table 5).
    """
    real = x != 0 if real is None else real
    return F.cross_entropy(classes, y) + weight * language_loss(words, x, real, average=average)
