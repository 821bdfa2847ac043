"""Training: the loop, evaluation, schedules, checkpoints, and several processes. What notebooks use."""

from rtx_lib.training.loop import History, TrainingDiverged, check_device, choose_device, evaluate, fit, parameter_count
from rtx_lib.training.processes import Processes
from rtx_lib.training.schedules import drop_on_plateau, inverse_sqrt, staircase, warmup_constant, warmup_cosine
from rtx_lib.training.side_by_side import Side, fit_side_by_side

__all__ = [
    "History",
    "Processes",
    "Side",
    "TrainingDiverged",
    "check_device",
    "choose_device",
    "drop_on_plateau",
    "evaluate",
    "fit",
    "fit_side_by_side",
    "inverse_sqrt",
    "parameter_count",
    "staircase",
    "warmup_constant",
    "warmup_cosine",
]
