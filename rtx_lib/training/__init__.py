"""Training: the loop, evaluation, schedules, checkpoints, and several processes. What notebooks use."""

from rtx_lib.training.devices import check_device, choose_device
from rtx_lib.training.evaluation import evaluate, parameter_count
from rtx_lib.training.history import History, TrainingDiverged
from rtx_lib.training.loop import Trainer, fit
from rtx_lib.training.processes import Processes
from rtx_lib.training.schedules import drop_on_plateau, inverse_sqrt, staircase, warmup_constant, warmup_cosine
from rtx_lib.training.side_by_side import fit_side_by_side
