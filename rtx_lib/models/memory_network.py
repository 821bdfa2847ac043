"""The end-to-end memory network: a question reads a story sentence by sentence, several times over.

S. Sukhbaatar, A. Szlam, J. Weston and R. Fergus, *End-To-End Memory Networks*, NIPS 2015 (arXiv 1503.08895), with
adjacent tying. Where the authors' code (facebook/MemNN, MemN2N-babi-matlab) does otherwise than the paper, this file
follows the code, but for the last three points:

- The position weights l are about twice the paper's l_kj = (1 - j/J) - (k/d)(1 - 2j/J). See
  :func:`position_encoding`.
- J is the longest sentence of the data and one place for the time, not the length of this sentence.
- Time is a word. The paper adds vectors T_A(i) and T_C(i); the code appends a word that says how old the sentence is,
  so that its vector is weighted by position as all are.
- An empty slot of the memory keeps the score 0 and takes its share of the softmax.
- The authors' random noise leaves out times; the paper speaks of empty memories. Here is none.
- The code clips each matrix by its largest singular value, where the paper says norm. Clipping belongs to
  :func:`rtx_lib.training.loop.fit` here.
- In the code the answer may be a time word, or no word. Here it is chosen among the words and no word.
"""

from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_lib.shapes import expect, expect_each, expect_no_state, expect_sentences, expect_tuple

ENCODINGS = ("position", "bag")
NIL = 0
PUBLISHED_STD = 0.1


def position_encoding(words: int, width: int, *, like: Tensor | None = None) -> Tensor:
    """The weights (J, d) of the J words of a sentence, each component with a slope of its own.

    ::

        l_jk = 1 + 4 (k - (d + 1)/2) (j - (J + 1)/2) / (d J)        j = 1, ..., J and k = 1, ..., d

    This is what the authors' code computes. The paper's formula (section 4.1) gives about half of it. The mean is 1.

    Parameters
    ----------
    words, width
        J and d.
    like
        Whose dtype and device the weights have.
    """
    like = torch.empty(0) if like is None else like
    j, k = (torch.arange(1, n + 1, dtype=like.dtype, device=like.device) - (n + 1) / 2 for n in (words, width))
    return 1 + 4 * torch.outer(j, k) / (width * words)


class MemoryNetwork(nn.Module):
    """Answer a question by reading a story of up to M sentences in K hops.

    A sentence is the sum of its words' vectors, weighted by their places; its last word tells how old it is::

        m^k_i = sum_j l_j * T^k x_ij         key of sentence i in hop k, (d)                     section 4.1
        c^k_i = m^{k+1}_i                    its value: the next hop's key (adjacent tying)      section 2.2
        u^1   = sum_j l_j * T^1 q_j          the question                                        section 2.2
        p^k_i = softmax_i(u^k . m^k_i)       which sentences hop k reads                         eq. 1
        u^{k+1} = u^k + sum_i p^k_i c^k_i                                                        eq. 2, 4
        logits  = T^{K+1} u^{K+1}                                                                eq. 3

    T^1, ..., T^{K+1} are tables of all words. Nothing else is learned.

    Weights start from N(0, 0.1^2).

    Parameters
    ----------
    vocabulary
        V, number of words; id 0 is no word, and its vector is 0.
    sentence_length
        J - 1, the longest sentence or question.
    memory_size
        M, the longest story; there are as many time words. Slots without a sentence take part in the softmax.
    width
        d.
    hops
        K.
    encoding
        ``"position"``, or ``"bag"``: all l = 1, the order of words is lost.
    linear_steps
        For so many training steps the hops work without softmax, p^k_i = u^k . m^k_i (linear start, section 4.2). They
        are counted in the buffer ``steps``, so that an interrupted training goes on with the right form.
    """

    def __init__(
        self,
        vocabulary: int,
        *,
        sentence_length: int,
        memory_size: int,
        width: int,
        hops: int = 3,
        encoding: str = "position",
        linear_steps: int = 0,
    ) -> None:
        super().__init__()
        expect_each(vocabulary=vocabulary, sentence_length=sentence_length, memory_size=memory_size, width=width)
        expect_each(hops=hops, encoding=(encoding, ENCODINGS), linear_steps=(linear_steps, 0))
        self.input_size = self.output_size = vocabulary
        self.sentence_length, self.memory_size = sentence_length, memory_size
        self.encoding, self.linear_steps = encoding, linear_steps
        # All words but that of id 0, time words last.
        self.words = nn.Parameter(torch.empty(hops + 1, vocabulary - 1 + memory_size, width).normal_(0, PUBLISHED_STD))
        self.steps: Tensor
        self.register_buffer("steps", torch.tensor(0))
        self.weights_tap = nn.Identity()  # through this go the weights (B, 1, M) of each hop, for hooks

    @property
    def tables(self) -> Tensor:
        """T (K + 1, V + M, d), the row of no word included."""
        return F.pad(self.words, (0, 0, 1, 0))

    def forward(self, x: tuple[Tensor, Tensor], state: None = None) -> tuple[Tensor, None]:
        """Answer each question from its story.

        Parameters
        ----------
        x
            The pair (story (B, up to M, up to J - 1), question (B, up to J - 1)) of ids: sentences from the oldest to
            the newest, then empty ones; words, then 0.
        state
            None: a story is read as a whole.

        Returns
        -------
        logits
            (B, 1, V), of every word as the answer.
        state
            None.
        """
        story, question = expect_tuple(x, 2, "(story, question)", "x")
        expect_no_state(state, "a story is read as a whole")
        _, sentences, words = expect(story, "B sentences words", "story").shape
        expect(question, (story.shape[0], "words"), "question")
        most = {"sentences of story": (sentences, f"[1, {self.memory_size}]")}
        longest = max(words, question.shape[1])
        expect_each(**most, **{"words of a sentence": (longest, f"[1, {self.sentence_length}]")})
        for name, ids in (("question", question), ("story", story[..., 0])):
            expect_sentences(ids, self.input_size, name)
        marked = F.pad(story, (1, 0), value=1)  # a slot of the memory may be empty, and its mark may not
        expect_sentences(marked.flatten(0, 1), self.input_size, "story, each sentence behind a mark,")
        question = F.pad(question, (0, self.sentence_length - question.shape[1]))
        logits = self.read(self.tables, self.with_time(story), question)
        if self.training:
            self.steps += 1
        return logits[:, None, : self.output_size], None

    def with_time(self, story: Tensor) -> Tensor:
        """The story in a memory of full size (B, M, J): empty slots, and the time word at the end of each sentence.

        The time word of the newest sentence is V, that of the one before it V + 1.
        """
        _, sentences, words = story.shape
        story = F.pad(story, (0, self.sentence_length - words, 0, self.memory_size - sentences))
        filled = story[..., 0] != NIL  # (B, M)
        younger = filled.sum(1, keepdim=True) - 1 - torch.arange(self.memory_size, device=story.device)
        return torch.cat([story, (filled * (self.input_size + younger)).unsqueeze(-1)], dim=-1)

    def read(self, tables: Tensor, story: Tensor, question: Tensor) -> Tensor:
        """Logits (B, V + M), time words last, by tables (K + 1, V + M, d) of a story (B, M, J) that tells the time.

        The question is (B, J - 1).
        """
        words = story.shape[2]
        by_place = torch.ones_like(tables[0, :words])  # (J, d)
        if self.encoding == "position":
            by_place = position_encoding(words, tables.shape[2], like=tables)
        u = (F.embedding(question, tables[0]) * by_place[:-1]).sum(1)  # (B, d)
        memories = [(F.embedding(story, table) * by_place).sum(2) for table in tables]  # (B, M, d) each
        linear = self.steps < self.linear_steps  # not asked for as a bool: a GPU would have to be waited for
        for m, c in pairwise(memories):
            score = u.unsqueeze(1) @ m.transpose(1, 2)  # (B, 1, M)
            p = self.weights_tap(torch.where(linear, score, score.softmax(-1)))
            u = u + (p @ c).squeeze(1)
        return u @ tables[-1].T
