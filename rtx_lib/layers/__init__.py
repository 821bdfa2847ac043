"""Layers that more than one paper uses."""

from .cells import GRU, LSTM, RNN, convert_update_gate
from .readout import Readout

__all__ = ["GRU", "LSTM", "RNN", "Readout", "convert_update_gate"]
