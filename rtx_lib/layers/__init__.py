"""Layers that more than one paper uses."""

from .attention import AdditiveAttention, MultiHeadAttention, causal_mask, dot_product_attention, padding_mask
from .cells import GRU, LSTM, RNN, convert_update_gate
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
    "Learned",
    "MultiHeadAttention",
    "Readout",
    "Rotary",
    "ShawRelative",
    "Sinusoidal",
    "XLRelative",
    "causal_mask",
    "convert_update_gate",
    "dot_product_attention",
    "make_positions",
    "padding_mask",
    "relative_shift",
]
