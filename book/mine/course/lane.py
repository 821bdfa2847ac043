"""A lane of the race: your model, the task it is for, and what you expect of it."""

from torch import nn

TASK = ""  # such as "parity"
RIVAL = ""  # the lane of the book that it has to beat, such as "gru"
PREDICTED = (0.0, "")  # your median over five seeds, and why


def make(input_size: int, size: int) -> nn.Module:
    """A module that maps x (B, T, input_size) and a state to y (B, T, W) and a state.

    The state is None at the start; a model without one returns None.
    """
    raise NotImplementedError
