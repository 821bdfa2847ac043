"""Tasks: data with a loss, a metric and a baseline (see `rtx_lib.tasks.protocol.Task`)."""

from rtx_lib.tasks.adding import AddingProblem
from rtx_lib.tasks.digits import SequentialDigits
from rtx_lib.tasks.protocol import StreamTask, Task

__all__ = ["AddingProblem", "SequentialDigits", "StreamTask", "Task"]
