"""Fast paths for recurrences: pure functions on tensors, each equal to a plain loop."""

from .linear import explain_linear_backend, gated_recurrence, linear_recurrence
from .matrix_state import explain_matrix_backend, matrix_recurrence
from .recurrence import explain_backend, relu_recurrence
from .scan import ClampMap, compose, scan_maps, step_maps
from .selective import selective_scan
