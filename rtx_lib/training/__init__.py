"""Training: the loop, evaluation, schedules, checkpoints, and several processes. What notebooks use."""

from rtx_lib.training.checkup import Report, checkup
from rtx_lib.training.data import Pairs
from rtx_lib.training.evaluation import evaluate, parameter_count
from rtx_lib.training.generation import generate
from rtx_lib.training.history import History, TrainingDiverged
from rtx_lib.training.loop import fit
from rtx_lib.training.processes import Processes, check_device, choose_device
from rtx_lib.training.schedules import drop_on_plateau, staircase, warmup_constant, warmup_cosine
