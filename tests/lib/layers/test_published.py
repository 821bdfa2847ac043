"""Published weights: what is wrong with the arrays is named, and what a file holds twice is left out."""

import numpy as np
import pytest
import torch
from support.helpers import FIXTURES

from rtx_lib.models.bert import BERT
from rtx_lib.models.gpt import GPT
from rtx_lib.models.lru import LRU
from rtx_lib.models.xlnet import XLNet


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"nu_log": None}, "must hold 'nu_log'"),
        ({"B_re": None}, "Missing key.*B_re"),
        ({"other": torch.zeros(2)}, "Unexpected key.*other"),
        ({"C_re": torch.zeros(3, 1)}, "size mismatch for C_re"),
    ],
)
def test_wrong_arrays_are_named(changes, message):
    arrays = {name: value.double() for name, value in LRU(3, 2).state_dict().items()}
    assert LRU.from_official(arrays).D.dtype == torch.double
    with pytest.raises(ValueError, match=message):
        LRU.from_official({name: value for name, value in (arrays | changes).items() if value is not None})


@pytest.mark.parametrize(
    "kind, stem, twice",
    [
        (GPT, "gpt2_lm", ["lm_head.weight", "transformer.h.0.attn.bias", "transformer.h.1.attn.masked_bias"]),
        (BERT, "bert_pretrain", ["bert.embeddings.position_ids", "cls.predictions.decoder.weight"]),
        (XLNet, "xlnet_identity", ["lm_loss.weight"]),
    ],
)
def test_what_a_file_holds_twice_is_left_out(kind, stem, twice):
    file = np.load(FIXTURES / f"{stem}.npz")
    arrays = {name[2:]: torch.from_numpy(file[name]) for name in file.files if name.startswith("p/")}
    how = {} if kind is XLNet else {"heads": int(file["n_head"])}
    plain, more = (kind.from_official(given, **how) for given in (arrays, arrays | dict.fromkeys(twice, torch.ones(1))))
    assert all(torch.equal(*pair) for pair in zip(plain.parameters(), more.parameters(), strict=True))
