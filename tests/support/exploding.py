"""A task whose loss stops being finite."""

import math

from rtx_lib.tasks import AddingProblem


class Exploding(AddingProblem):
    """A loss that is not finite at its sixth call, or whose gradient is not."""

    def __init__(self, factor=math.nan):
        super().__init__(6)
        self.calls, self.factor = 0, factor

    def loss(self, prediction, y):
        self.calls += 1
        if self.calls < 6:
            return super().loss(prediction, y)
        return super().loss(prediction, y) * self.factor if self.factor else (prediction * 0).sum().sqrt()
