"""Fast paths for recurrences: pure functions on tensors, each equal to a plain loop."""

from .recurrence import explain_backend, relu_recurrence

__all__ = ["explain_backend", "relu_recurrence"]
