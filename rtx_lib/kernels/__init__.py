"""Recurrences as pure functions on tensors: each as a plain loop, and fast forms that are equal to it."""

from .linear import explain_linear_backend, gated_recurrence, linear_recurrence, linear_recurrence_loop
from .matrix_state import explain_matrix_backend, matrix_recurrence, matrix_recurrence_loop
from .recurrence import explain_backend, relu_recurrence, relu_recurrence_loop
from .scan import ClampMap, compose, scan_maps, step_maps
from .selective import selective_scan, selective_scan_loop
from .xlstm import mlstm, mlstm_loop, slstm, slstm_loop
