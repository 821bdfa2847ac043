"""Sequence models in readable PyTorch: the library behind the book. What one names first stands here.

Wrong arguments raise ``ValueError``, which names the argument, what is allowed and what was given, before any work is
done: unknown choices, sizes that do not go together, tensors of another shape, type or device than the weights or the
other inputs, ids beyond the vocabulary, a state of another batch, an empty sequence. Docstrings mention what goes
beyond that. A size below 0 is left to torch, whose ``RuntimeError`` speaks of a negative dimension.
"""

from rtx_lib.layers import GRU, LSTM, RNN, MultiHeadAttention, Readout, beam_search, greedy, sample
from rtx_lib.models import (
    BERT,
    GPT,
    LRU,
    MLSTM,
    QRNN,
    RGLRU,
    S4D,
    SLSTM,
    TCN,
    DeltaNet,
    IndRNN,
    LinearAttention,
    Mamba,
    Mamba2,
    MinGRU,
    PlainGPT,
    RTransformer,
    Seq2Seq,
    Transformer,
    TransformerXL,
)
from rtx_lib.saving import load, save
from rtx_lib.tasks import AddingProblem, CharacterText, CopyMemory, SequentialDigits, SeriesTask, TableTask, TextTask
from rtx_lib.training import checkup, evaluate, fit, generate, parameter_count

__version__ = "0.1.0"
