"""Numbers from torch to a page and back, and how far apart they are."""

from pathlib import Path

import torch
from support.helpers import ROOT
from torch import nn

PARTS = ROOT / "book" / "rtx_book" / "page" / "live"
BAR = 1e-10  # of the largest entry; both sides compute in float64

# What every page of these tests has besides the parts: weights as Matrix objects, from what `arrays` makes of a module.
IN_THE_PAGE = Path(__file__).with_name("parity-in-the-page.js").read_text()


def script(name):
    """What a test runs in a page, from a file of this folder."""
    return Path(__file__).with_name(f"{name}.js").read_text()


def flat(tensor):
    """A tensor's numbers as one list."""
    return tensor.detach().double().reshape(-1).tolist()


def arrays(module):
    """The weights of a module (or a mapping of tensors) as `matrices` in the page reads them; tied ones each time."""
    named = module.state_dict() if isinstance(module, nn.Module) else module
    return {name: {"shape": list(value.shape), "v": flat(value)} for name, value in named.items()}


def disturb(module, size, seed=0):
    """Move every weight by N(0, size^2), in float64, so that none stays at a special value."""
    generator = torch.Generator().manual_seed(seed)
    module.double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += size * torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    return module


def error(found, wanted):
    """The largest difference of two arrays of numbers, relative to the largest entry of the one wanted."""
    found, wanted = (torch.as_tensor(one, dtype=torch.float64).detach().reshape(-1) for one in (found, wanted))
    if found.shape != wanted.shape:
        raise AssertionError(f"{len(found)} numbers where {len(wanted)} are wanted")
    if not found.isfinite().all():
        return float("inf")
    return float((found - wanted).abs().max() / wanted.abs().max().clamp(min=1e-300))


def errors(found, wanted):
    """`error` of every array of a mapping; both must have the same names."""
    assert found.keys() == wanted.keys(), (sorted(found), sorted(wanted))
    return {name: error(found[name], wanted[name]) for name in wanted}
