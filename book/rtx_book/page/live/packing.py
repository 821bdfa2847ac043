"""Weights as a script: half precision or 8 bits, base64, each tensor once, named by a hash of what it holds."""

import base64
import hashlib
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

LIMIT = 750_000
"""Most bytes of weights in one figure, as the page loads them."""

FORMS = ("float16", "int8")
"""How a weight is kept: two bytes, or one byte and a scale for each tensor. Vectors always take two."""


def pack(name: str, model: Any, form: str = "float16") -> tuple[str, str]:
    """The weights of ``model`` as a classic script, and the hash by which the page finds them.

    The script puts ``{tensors: {name: {shape, at, scale?}}, data}`` under ``RTX.weights[hash]``: ``data`` is base64,
    ``at`` a tensor's first byte in it; where there is a ``scale`` a weight is a signed byte times it, otherwise a
    half-precision number, low byte first. Tied tensors have the same place. Equal weights have the same hash.

    Parameters
    ----------
    name
        What the model is called, for messages.
    model
        A module, or a mapping from names to arrays. A module's integers and booleans (counters, masks) stay out.
    form
        One of :data:`FORMS`.

    Returns
    -------
    tuple of str
        The hash and the script.
    """
    if form not in FORMS:
        raise ValueError(f"form must be one of {list(FORMS)}, got {form!r}")
    tensors: dict[str, dict[str, Any]] = {}
    data, places = bytearray(), dict[Any, dict[str, Any]]()
    for key, identity, array in _arrays(model):
        if identity not in places:
            entry, raw = _packed(f"{name}: {key}", array, form)
            places[identity] = {"shape": list(array.shape), "at": len(data), **entry}
            data += raw
        tensors[key] = places[identity]
    packed = {"tensors": tensors, "data": base64.b64encode(data).decode()}
    body = json.dumps(packed, separators=(",", ":"), allow_nan=False)
    digest = hashlib.sha256(body.encode()).hexdigest()[:16]
    return digest, f'(globalThis.RTX.weights||={{}})["{digest}"]={body}'


def pack_merges(made: Any) -> dict[str, Any]:
    """A `rtx_lib.tasks.BytePairs` or `GPTPieces` as the widget of pieces reads it: bytes are written as Latin-1.

    ``merges`` has two characters for each merge, 256 above the ids of its pieces: no quote and no sign of HTML.
    """
    ids = {piece: number for number, piece in enumerate(made.vocabulary)}
    smallest = made.vocabulary[: min(ids[first + second] for first, second in made.merges)]
    merges = "".join(chr(256 + ids[piece]) for pair in made.merges for piece in pair)
    if isinstance(smallest[0], bytes):
        return {"alphabet": [piece.decode("latin-1") for piece in smallest], "merges": merges}
    return {"alphabet": smallest, "merges": merges, "end": "</w>"}


def _arrays(model: Any) -> Iterator[tuple[str, Any, np.ndarray]]:
    """Name, identity (equal for tied tensors) and values of every weight."""
    if hasattr(model, "state_dict"):
        for key, tensor in model.state_dict().items():
            if tensor.is_floating_point():
                place = (tensor.data_ptr(), tuple(tensor.shape), tensor.stride()) if tensor.numel() else key
                yield key, place, tensor.detach().cpu().double().numpy()
        return
    items = list(model.items())  # kept, so that no two have one id
    for key, given in items:
        yield key, id(given), np.asarray(given.detach().cpu() if hasattr(given, "detach") else given, dtype=np.float64)


def _packed(name: str, array: np.ndarray, form: str) -> tuple[dict[str, float], bytes]:
    """What to say about a tensor, and its bytes."""
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got {array[~np.isfinite(array)][0]}")
    if form == "int8" and array.ndim > 1:
        scale = float(np.abs(array).max(initial=0) / 127) or 1.0
        return {"scale": scale}, np.round(array / scale).astype("i1").tobytes()
    largest = np.abs(array).max(initial=0)
    if largest > np.finfo(np.float16).max:
        raise ValueError(f"{name} must be below 65504 to fit half precision, got {largest:.6g}")
    return {}, array.astype("<f2").tobytes()
