"""Layers that more than one paper uses."""

from .attention import AdditiveAttention, MultiHeadAttention, causal_mask, dot_product_attention, padding_mask
from .blocks import Block, FeedForward, SampleStdNorm, Stack
from .cells import GRU, LSTM, RNN, convert_update_gate
from .decoding import beam_search, greedy, sample
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
from .readout import Readout

__all__ = [
    "GRU",
    "LSTM",
    "RNN",
    "SCHEMES",
    "ALiBi",
    "AdditiveAttention",
    "Block",
    "FeedForward",
    "Learned",
    "MultiHeadAttention",
    "Readout",
    "Rotary",
    "SampleStdNorm",
    "ShawRelative",
    "Sinusoidal",
    "Stack",
    "XLRelative",
    "beam_search",
    "causal_mask",
    "convert_update_gate",
    "dot_product_attention",
    "greedy",
    "make_positions",
    "padding_mask",
    "relative_shift",
    "sample",
]
