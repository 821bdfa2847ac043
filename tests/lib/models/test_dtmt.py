"""DTMT equals the authors' equations gate by gate, at any sizes and depths.

Pieces, causality, padding and refusals are in test_contract.py, decoding is in test_decoding.py.
"""

import re

import numpy as np
import official
import pytest
import torch
from reference import dtmt_loops
from support.compare import draw, ids
from support.helpers import FIXTURES

from rtx_lib.layers import greedy
from rtx_lib.models.dtmt import DTMT

pytestmark = pytest.mark.usefixtures("double")

SOURCE = torch.tensor([[3, 1, 4, 1, 5], [5, 3, 5, 0, 0], [2, 0, 0, 0, 0]])
TARGET = ids(3, 6, vocabulary=7)


def committed():
    return {name: torch.from_numpy(array) for name, array in np.load(FIXTURES / "dtmt.npz").items()}


def arrays(vocabularies, width, hidden, heads, depths):
    """Inputs and random parameters as in the committed file, all of whose sizes differ, but of these sizes."""
    sizes = {12: width, 32: hidden, 64: 2 * hidden, 2: hidden // heads, 7: vocabularies[0], 6: vocabularies[1], 1: 1}
    made = {}
    for name, value in committed().items():
        transition = re.search(r"(encoder|gru_cell|gru_cell_1)/.*_l(\d)/", name)
        cell, k = transition.groups() if transition else ("encoder", -1)
        if name[:2] == "p/" and int(k) < depths[("encoder", "gru_cell", "gru_cell_1").index(cell)]:
            made[name] = draw(*(sizes[size] for size in value.shape), seed=len(made))
    made |= {"src": ids(4, 5, vocabulary=vocabularies[0]), "tgt": ids(4, 6, vocabulary=vocabularies[1])}
    return made | {"src_len": torch.tensor([5, 1, 3, 2]), "tgt_len": torch.tensor([2, 6, 1, 5])}


def test_the_loop_is_that_of_the_authors():
    theirs = dtmt_loops.outcomes(given := committed())
    assert {name for name in given if name[:2] != "p/"} - set(theirs) == official.INPUTS_OF["dtmt"]
    assert all((value - given[name]).abs().max() < 1e-12 for name, value in theirs.items())


OTHERS = [((7, 6), 4, 6, 1, (4, 4, 4)), ((3, 9), 6, 4, 2, (0, 1, 2)), ((5, 2), 4, 6, 6, (1, 0, 0))]


@pytest.mark.parametrize("sizes", [*OTHERS, ((2, 5), 8, 1, 1, (2, 3, 0))], ids=str)
def test_files_of_other_sizes(tmp_path, sizes):
    """Every outcome and gradient of a file as the authors' code would write it, at 1, 2 and H heads."""
    given = arrays(*sizes)
    whole = given | dtmt_loops.outcomes(given)
    np.savez(path := tmp_path / "dtmt_other.npz", **{name: value.numpy() for name, value in whole.items()})
    errors = official.check(path)
    assert set(errors) == set(whole) - set(given) and all(error < 1e-11 for error in errors.values())


def test_their_model_writes_no_padding():
    given = {name[2:]: value for name, value in arrays((8, 5), 4, 6, 2, (1, 1, 1)).items() if name[:2] == "p/"}
    model = DTMT.from_official(given)
    assert model((SOURCE, TARGET.clamp(max=5)))[0][..., 0].eq(-torch.inf).all()
    assert greedy(model, SOURCE, start=0, end=0, max_length=5).gt(0).all()
