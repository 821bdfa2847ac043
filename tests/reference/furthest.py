"""Of several routes to one outcome, the one that a file's numbers refute most."""

import math
from collections.abc import Sequence

from torch import Tensor

Arrays = dict[str, Tensor]


def furthest(runs: Sequence[Arrays], arrays: Arrays) -> Arrays:
    """Each outcome of the run whose own is furthest from the file's; NaN is further than any number."""

    def error(ours: Tensor, name: str) -> float:
        if name not in arrays or ours.shape != arrays[name].shape or not ours.numel():
            return 0.0
        return float((ours.detach() - arrays[name]).abs().nan_to_num(nan=math.inf).max())

    return {name: max((run[name] for run in runs), key=lambda ours: error(ours, name)) for name in runs[0]}
