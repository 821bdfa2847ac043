"""Layers that more than one paper uses."""

from .arguments import keep_arguments
from .attention import AdditiveAttention, MultiHeadAttention, causal_mask, dot_product_attention, padding_mask
from .bag import Bag
from .blocks import Block, FeedForward, SampleStdNorm, Stack
from .cells import GRU, LSTM, RNN, Readout, convert_update_gate
from .classifier import BothWays, SentenceClassifier, StructuredAttention, WordConvolution, overlap_penalty
from .decoding import beam_search, greedy, sample
from .mixing import AttentionMixer, MixerStack
from .positions import (
    SCHEMES,
    ALiBi,
    Learned,
    Rotary,
    ShawRelative,
    Sinusoidal,
    XLRelative,
    make_positions,
    relative_shift,
)
from .selective import SelectiveRecurrence
from .short_convolution import ShortConvolution
from .speculative import speculate

keep_arguments(list(vars().values()))  # so that save() can write them down, and load() make them again
