"""How far two arrays that ought to be equal are apart."""

import torch
from torch import Tensor

from rtx_lib.shapes import expect


def error(ours: Tensor, theirs: Tensor) -> float:
    """max|ours - theirs| / max|theirs| over the whole arrays: the largest difference, relative to the reference.

    Both are compared without their gradients, on the device of ``theirs``. An entry that is not a number makes it
    infinite, so that the largest of several errors tells of it.

    Parameters
    ----------
    ours
        Any shape.
    theirs
        The reference, of the same shape; not 0 everywhere.
    """
    theirs = theirs.detach()
    ours = expect(ours, tuple(theirs.shape), "ours").detach().to(theirs.device)
    if not (largest := theirs.abs().max()):
        raise ValueError("theirs must not be 0 everywhere: there is nothing to relate a difference to")
    return float(((ours - theirs).abs().max() / largest).nan_to_num(nan=torch.inf, posinf=torch.inf))
