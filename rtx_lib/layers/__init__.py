"""Layers that more than one paper uses."""

from .cells import RNN
from .readout import Readout

__all__ = ["RNN", "Readout"]
