"""DTMT among the reference values: a batch of sentences of several lengths on either side, and the loss."""

import torch
import torch.nn.functional as F
from torch import Tensor

from rtx_lib.models.dtmt import DTMT, official_weights

from .leaves import gradients, parameters

Arrays = dict[str, Tensor]


def dtmt(arrays: Arrays) -> Arrays:
    """Their ids are ours less 1. At padding of the target, theirs reads out the word before alone."""
    given = parameters(arrays)
    model = DTMT.from_official(given)
    source, target = ((arrays[name] + 1) * _real(arrays, name) for name in ("src", "tgt"))
    target_in = F.pad(arrays["tgt"] + 1, (1, -1))
    s, annotations, *_ = model.encode(source)
    logits, _ = model((source, target_in))
    y = model.target_embedding(target_in)
    nothing = annotations.new_zeros(*y.shape[:2], 2 * s.shape[1]).chunk(2, dim=-1)
    logits = torch.where(target.unsqueeze(-1) > 0, logits, model.readout(y, *nothing))
    loss = F.cross_entropy(logits.mT, target, ignore_index=0)
    outcomes = {"annotation": annotations, "init_state": s, "logits": logits[..., 1:], "loss": loss}
    return outcomes | gradients(loss, model, given, official_weights(given))


def _real(arrays: Arrays, name: str) -> Tensor:
    return torch.arange(arrays[name].shape[1]) < arrays[f"{name}_len"].unsqueeze(1)


FAMILIES = {"dtmt": dtmt}
INPUTS = {"dtmt": {"src", "tgt", "src_len", "tgt_len"}}
