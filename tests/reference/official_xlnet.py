"""XLNet among the reference values: its parameters' names, its one or two segments, its classifier and its masks.

The files' masks say what may *not* be seen. Of the attention of the query stream they hold all positions; those without
a target have the query 0 in the authors' code, and its outcome is thrown away. A query that sees nothing has weights 0
in the files; only for ``official_logits`` and ``official_loss`` it attends to all alike, as in that code.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from reference.leaves import gradients, parameters, with_eps
from torch import Tensor, nn

from rtx_lib.diagnostics.attention import record_attention
from rtx_lib.layers import causal_mask
from rtx_lib.layers.official import load_official
from rtx_lib.models.xlnet import PADDING, XLNet, XLNetClassifier, official_weights
from rtx_lib.tasks.orders import rank_in_windows, rank_of, seen_under

Arrays = dict[str, Tensor]


class TwoWayXLNet(XLNet):
    """XLNet as the authors pre-train it, whose rows are read from both ends and overlap, and with their clamp.

    Of texts that are given from their end to their beginning, ``backwards`` (B,), all distances change their sign. Only
    the first ``reuse`` positions of a segment enter the memory. Distances beyond the clamp count as it.
    """

    clamp, reuse, backwards = 0, None, None

    def remember(self, memory: Tensor, content: Tensor) -> Tensor:
        """The last ``memory`` positions of [memory; content[:reuse]]."""
        return super().remember(memory, content[:, : self.reuse])

    def encodings(self, past: int, length: int) -> Tensor:
        """Of the distances, (., D), or (B, ., D) where some texts are given backwards."""
        distances = torch.arange(past + length, -length, -1, device=self.w.device)
        distances = distances.clamp(-self.clamp, self.clamp) if self.clamp > 0 else distances
        r, opposite = (self.encoding.encode(d, self.w.dtype) for d in (distances, -distances))
        return r if self.backwards is None else torch.where(self.backwards[:, None, None], opposite, r)


def build(arrays: Arrays) -> tuple[nn.Module, Arrays, Arrays]:
    """The file's model, its parameters by official names, and these as ours.

    A file with ``logits_proj`` is of a classifier, and may leave out the bias of the words, which nothing reads there.
    """
    given = parameters(arrays)
    heads = {"sequence_summary.summary": "summary", "logits_proj": "readout"}
    ends = {f"{theirs}.{kind}": f"{ours}.{kind}" for theirs, ours in heads.items() for kind in ("weight", "bias")}
    head = {ours: given[theirs] for theirs, ours in ends.items() if theirs in given}
    body = {name: value for name, value in given.items() if name not in ends}
    if head:
        body.setdefault("lm_loss.bias", torch.zeros_like(body["transformer.word_embedding.weight"][:, 0]))
    model: nn.Module = with_eps(arrays, TwoWayXLNet.from_official(body))
    ours = official_weights(body)
    if head:
        ours = {f"model.{name}": value for name, value in ours.items()} | head
        model = load_official(XLNetClassifier(model, len(head["readout.bias"])), ours)
    return model.eval(), given, ours


def with_gradients(arrays: Arrays, function: Callable[[Any], tuple[Arrays, Tensor]]) -> Arrays:
    """What the function of the model gives, and the gradients of the loss that it returns, by official names."""
    model, given, ours = build(arrays)
    outcomes, loss = function(model)
    return outcomes | gradients(loss, model, given, ours)


def streams_of(model: nn.Module, run: Any) -> tuple[list[Tensor], list[Tensor], Any]:
    """Both streams, one below the other, before the first layer and behind each; the weights of each; the result."""
    streams: list[Tensor] = []
    hooks = [model.blocks[0].register_forward_pre_hook(lambda _, args: streams.append(args[0]))]
    hooks += [block.register_forward_hook(lambda _, args, y: streams.append(y)) for block in model.blocks]
    with record_attention(model) as recorded:
        result = run()
    for hook in hooks:
        hook.remove()
    return streams, [weights for _, weights in recorded], result


def places_in(mapping: Tensor) -> Tensor:
    """The positions (B, N) in rows of one 1, -1 in rows of zeros; ``ValueError`` for other rows."""
    if not ((mapping == 0) | (mapping == 1)).all() or (mapping.sum(2) > 1).any() or (mapping.sum(1) > 1).any():
        raise ValueError("path must hold a target_mapping with at most one 1 in a row and in a column")
    return torch.where(mapping.sum(2) > 0, mapping.argmax(2), -1)


def of_all_positions(model: nn.Module, weights: list[Tensor], mapping: Tensor, run: Any) -> list[Tensor]:
    """The query stream's weights (B, H, T, S) of every layer: of a query of 0 where no target is."""
    batch, _, length = mapping.shape

    def idle(module: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        x, *rest = args
        return torch.cat([x[:, :length], torch.zeros_like(x[:, length:])], 1), *rest

    hooks = [block.attention.register_forward_pre_hook(idle) for block in model.blocks]
    everywhere = torch.arange(length).expand(batch, -1)
    with record_attention(model) as recorded:
        run(targets=everywhere)
    for hook in hooks:
        hook.remove()
    free = (mapping.sum(1) == 0)[:, None, :, None]
    rows = [each[:, :, length:] for _, each in recorded]
    filled = [torch.einsum("bnt,bhns->bhts", mapping, each[:, :, length:]) for each in weights]
    return [torch.where(free, row, fill) for row, fill in zip(rows, filled, strict=True)]


def masks_of(part: Arrays) -> Arrays:
    """Ranks and mask that follow from an order, and from which positions are targets."""
    rank = rank_of(part["order"])
    target = part["is_target"].bool() if "is_target" in part else None
    return {"rank": rank, "perm_mask": (~seen_under(rank, target)).double()}


def segment(model: nn.Module, part: Arrays, state: Any, both_ways: bool) -> tuple[Arrays, Any]:
    """All that a file claims of one segment, and the state behind it."""
    ids, labels, mapping = part["input_ids"], part["labels"], part["target_mapping"].double()
    length = ids.shape[1]
    seen = part["perm_mask"] == 0
    how = {"seen": seen, "targets": places_in(mapping), "segments": part.get("token_type_ids")}
    model.backwards = torch.arange(len(ids)) >= len(ids) // 2 if both_ways else None

    def run(**changes: Any) -> Any:
        return model.encode(ids, state, **how | changes)

    def loss_of(logits: Tensor) -> Arrays:
        nll = F.cross_entropy(logits.mT, labels, reduction="none")
        return {"logits": logits, "nll": nll, "loss": nll.sum() / (labels != -100).sum()}

    streams, weights, (_, g, after) = streams_of(model, run)
    outcomes = loss_of(model.readout(g)) | masks_of(part)
    query = of_all_positions(model, weights, mapping, run)
    for i, x in enumerate(streams):
        outcomes |= {f"h{i}": x[:, :length], f"g{i}": x[:, length:]}
    for i, (content, of_g) in enumerate(zip(weights, query, strict=True)):
        outcomes |= {f"attn_h{i}": content[:, :, :length], f"attn_g{i}": of_g}
    outcomes |= {f"new_mem{i}": memory.transpose(0, 1) for i, memory in enumerate(after or ())}
    if state is None:
        plain, _, _ = streams_of(model, lambda: run(seen=causal_mask(length), targets=None))
        outcomes |= {f"uni_h{i}": x for i, x in enumerate(plain)}
        leaking = loss_of(model.readout(leaky(model, run)[1]))
        outcomes |= {f"official_{name}": leaking[name] for name in ("logits", "loss")}
    return outcomes, after


def leaky(model: nn.Module, run: Any) -> Any:
    """The same, but a query that sees nothing attends to all alike, as in the authors' code."""

    def leak(module: nn.Module, args: tuple[Tensor, ...], weights: Tensor) -> Tensor:
        return torch.where(weights.any(-1, keepdim=True), weights, 1 / weights.shape[-1])

    hooks = [block.attention.weights_tap.register_forward_hook(leak) for block in model.blocks]
    result = run()
    for hook in hooks:
        hook.remove()
    return result


def xlnet(arrays: Arrays, half: bool = False) -> Arrays:
    """One segment, or several called ``seg0/``, ``seg1/``, ...; with ``half``, half of each becomes memory."""

    def run(model: nn.Module) -> tuple[Arrays, Tensor]:
        model.memory, model.clamp = int(arrays["mem_len"]), int(arrays["clamp_len"])
        outcomes, state, s = {}, None, 0
        while f"seg{s}/input_ids" in arrays or s == 0:
            at = f"seg{s}/" if "seg0/input_ids" in arrays else ""
            part = {name.removeprefix(at): value for name, value in arrays.items() if name.startswith(at)}
            model.reuse = max(1, part["input_ids"].shape[1] // 2) if half else None
            found, state = segment(model, part, state, bool(arrays["bi_data"]))
            loss, s = found["loss"], s + 1
            outcomes |= {f"{at}{name}": value for name, value in found.items()}
        return outcomes, loss

    return with_gradients(arrays, run)


def classify(arrays: Arrays) -> Arrays:
    """The content stream alone, with padding in front, and the head on its last token."""

    def run(model: nn.Module) -> tuple[Arrays, Tensor]:
        real, segments = arrays["attention_mask"] == 1, arrays["token_type_ids"]
        ids = arrays["input_ids"]
        how = {"seen": real[:, None], "segments": segments}
        streams, _, (h, _, _) = streams_of(model.model, lambda: model.model.encode(ids, **how))
        logits = model.readout(model.summary(h[:, -1]).tanh())
        if torch.equal(real, segments != PADDING):  # as everywhere so far
            logits = model((ids, segments))[0][:, 0]
        loss = F.cross_entropy(logits, arrays["labels"])
        return {"logits": logits, "loss": loss} | {f"h{i}": x for i, x in enumerate(streams)}, loss

    return with_gradients(arrays, run)


def local_perm(arrays: Arrays) -> Arrays:
    """The mask of partial prediction in windows, and what is predicted."""
    ids = arrays["inputs"]
    if arrays["shuffle"].shape[1] != int(arrays["perm_size"]):
        raise ValueError(f"path must hold a shuffle of perm_size = {int(arrays['perm_size'])} tokens")
    index = rank_in_windows(arrays["shuffle"], ids.shape[1])
    functional = (ids == arrays["sep_id"]) | (ids == arrays["cls_id"])
    target = arrays["is_masked"].bool() & ~functional
    mask = (~seen_under(index, target, functional)).double()
    return {"index": index, "perm_mask": mask, "targets": ids, "target_mask": target.double()}


FAMILIES = {
    "xlnet_local_perm": local_perm,
    "xlnet_classify": classify,
    "xlnet_reuse": partial(xlnet, half=True),
    "xlnet_": xlnet,
}
_SEGMENT = {"input_ids", "target_mapping", "labels", "token_type_ids", "is_target", "order"}
_SETTINGS = {"aliases", "n_head", "layer_norm_eps", "clamp_len", "bi_data", "mem_len"}
_TWO = _SETTINGS | _SEGMENT | {f"seg{s}/{name}" for s in range(9) for name in _SEGMENT}
INPUTS = {
    "xlnet_local_perm": {"inputs", "is_masked", "shuffle", "perm_size", "sep_id", "cls_id"},
    "xlnet_classify": _SETTINGS | {"input_ids", "attention_mask", "token_type_ids", "labels"},
    "xlnet_reuse": _TWO,
    "xlnet_": _TWO,
}
