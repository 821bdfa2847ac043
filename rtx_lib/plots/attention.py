"""Attention weights in bertviz's view, with its page-level faults cured.

bertviz (Vig, *A Multiscale Visualization of Attention in the Transformer Model*, 2019) writes scripts into the page
that wait for a loader from the network, repeat ids, and hold every weight twice at full precision. Here its view
lives in a page of its own inside an ``<iframe srcdoc>``: the same output works in Jupyter, in Colab and on the site.
Its heads answer to the mouse alone, so always give :func:`~rtx_lib.plots.heatmaps.attention_heatmap` and a sentence
next to it.
"""

import html
import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from IPython.display import HTML

from rtx_lib.plots.figure import figcaption

LIBRARIES = (
    "https://cdn.jsdelivr.net/npm/jquery@3.7.1/dist/jquery.min.js",
    "https://cdn.jsdelivr.net/npm/d3@5.7.0/dist/d3.min.js",
)
"""The two scripts the view loads; the site's extension points them at its own copies."""

_REQUIRE = (  # stands in for the script loader that bertviz expects
    "function requirejs(names,f){if(window.jQuery&&window.d3)f(...names.map(n=>({jquery:jQuery,d3})[n]));"
    "else document.body.textContent='This view could not load the scripts jquery and d3.'}"
)
_FIT = (  # after the view has drawn itself, and again when a map of another length is chosen
    "const f=this,d=f.contentDocument,fit=()=>f.style.height=Math.ceil(d.body.getBoundingClientRect().height)+28+'px';"
    "if(d){setTimeout(fit,150);d.addEventListener('change',()=>setTimeout(fit,50))}"
)
_MAPS = {  # kind of map: its shape, and its name in a lecture
    "self": ("T, T", "self-attention"),
    "encoder": ("S, S", "encoder self-attention"),
    "decoder": ("T, T", "masked decoder self-attention"),
    "cross": ("T, S", "encoder-decoder attention"),
}


def _maps(attention: Any, tokens: Sequence[str], source: Sequence[str] | None) -> dict[str, np.ndarray]:
    """Every map by its kind as (layers, heads, queries, keys), with three decimals, checked."""
    given = {"self" if source is None else "cross": attention}
    if isinstance(attention, Mapping):
        known = [name for name in _MAPS if name != "self"]
        if not attention or not set(attention) <= set(known):
            raise ValueError(f"attention must hold maps named {known}, got {list(attention)}")
        if source is None:
            raise ValueError("source must hold the encoder's tokens, got None")
        given = {name: attention[name] for name in known if name in attention}
    sizes = {"T": len(tokens), "S": len(source or ())}
    maps = {name: _weights(layers, name, sizes) for name, layers in given.items()}
    shapes = {name: weights.shape for name, weights in maps.items()}
    if len({shape[:2] for shape in shapes.values()}) > 1:
        # bertviz offers the layers and heads of the first map for all of them.
        raise ValueError(f"attention must have as many layers and heads in every map, got {shapes}")
    return maps


def _weights(attention: Any, name: str, sizes: dict[str, int]) -> np.ndarray:
    """One map."""
    what, shape = "attention" if name == "self" else f"{name} attention", _MAPS[name][0]
    sides = {letter: sizes[letter] for letter in shape.split(", ")}
    layers = [np.asarray(layer.detach().cpu() if hasattr(layer, "detach") else layer) for layer in attention]
    layers = [layer[0] if layer.ndim == 4 and layer.shape[0] == 1 else layer for layer in layers]
    for i, layer in enumerate(layers):
        if layer.ndim != 3 or layer.shape[1:] != tuple(sizes[letter] for letter in shape.split(", ")):
            counts = " and ".join(f"{letter} = {size} tokens" for letter, size in sides.items())
            allowed = f"layers of shape (1, H, {shape}) or (H, {shape}) with {counts}"
            raise ValueError(f"{what} must hold {allowed}, got {layer.shape} for layer {i}")
    if not layers or len({layer.shape for layer in layers}) != 1:
        raise ValueError(f"{what} must hold layers of one shape, got {[layer.shape for layer in layers]}")
    weights = np.stack(layers).astype(np.float64)
    if not np.isfinite(weights).all():
        raise ValueError(f"{what} must be finite, got NaN or infinity")
    return weights.round(3)


def attention_view(
    attention: Any,
    tokens: Sequence[str],
    kind: Literal["head", "model"] = "head",
    *,
    source: Sequence[str] | None = None,
    title: str,
    caption: str | None = None,
    height: int | None = None,
    zoom: float = 1.0,
    **options: Any,
) -> HTML:
    """bertviz's head view or model view as a notebook output that needs no kernel and no script loader.

    Parameters
    ----------
    attention
        L layers of shape (1, H, T, T) or (H, T, T), or one array (L, H, T, T); tensors or arrays. With
        ``source``, the attention of T tokens to S others, (H, T, S); or a mapping with any of the keys
        ``"encoder"`` (H, S, S), ``"decoder"`` (H, T, T) and ``"cross"`` (H, T, S), of as many layers and heads
        each, from which the reader chooses.
    tokens
        The T tokens; in an encoder-decoder model those that the decoder reads.
    kind
        ``"head"`` (one layer, its heads as colours) or ``"model"`` (all layers and heads as thumbnails).
    source
        The S tokens that the encoder reads.
    title
        What is shown, the frame's accessible name.
    caption
        Line below, as HTML.
    height
        Of the frame at first, in px; it then fits itself to its content.
    zoom
        Below 1 shrinks the view (the model view is 230 px wide per head).
    options
        Further arguments of bertviz, for example ``layer``, ``heads``, ``sentence_b_start``.

    Raises
    ------
    ValueError
        If ``kind`` is unknown, ``title`` is empty, a map is unknown, ``source`` is missing, a shape does
        not fit the tokens or the other maps, or a weight is not finite.
    """
    if kind not in ("head", "model"):
        raise ValueError(f"kind must be 'head' or 'model', got {kind!r}")
    if not title.strip():
        raise ValueError(f"title must say what is shown, got {title!r}")
    maps = _maps(attention, tokens, source)

    # bertviz stacks with torch and so takes nothing but tensors; float64, since float32 writes 0.1 as 0.10000000149.
    import torch
    from bertviz import head_view, model_view

    layers = {name: list(torch.from_numpy(weights)[:, None]) for name, weights in maps.items()}
    if "self" in layers:
        given: dict[str, Any] = {"attention": layers["self"], "tokens": list(tokens)}
    else:
        given = {f"{name}_attention": weights for name, weights in layers.items()}
        given |= {"decoder_tokens": list(tokens), "encoder_tokens": list(source or ())}
    if kind == "model":
        options.setdefault("display_mode", "light")
    view = {"head": head_view, "model": model_view}[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # bertviz leaves closing its script's file to the interpreter
        body = _tame(view(**given, html_action="return", **options).data)
    count, depth = max(len(tokens), len(source or ())), len(next(iter(maps.values())))
    height = height or (90 + 23 * count if kind == "head" else 80 + depth * max(160, 15 * count))
    page = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f"<style>body{{margin:4px;zoom:{zoom:g};background:#fff;color:#111}}</style></head><body>"
        + "".join(f'<script src="{address}"></script>' for address in LIBRARIES)
        + f"<script>{_REQUIRE}</script>{body}</body></html>"
    )
    return HTML(
        f'<figure class="book-fig"><iframe class="bertviz-frame" title="{html.escape(title)}" '
        f'style="width:100%;height:{height}px;background:#fff" onload="{html.escape(_FIT)}" '
        f'srcdoc="{html.escape(page)}"></iframe>{figcaption(caption)}</figure>'
    )


def _tame(body: str) -> str:
    """bertviz's HTML without the loader's tag and settings, the second copy of the weights, and the random id."""
    body = body[body.index("</script>") + len("</script>") :]
    markup, script_tag, script = body.partition("<script")
    script, _, _ = script.rpartition("</script>")
    script = re.sub(r"require\.config\(\{.*?\}\s*\);", "", script, count=1, flags=re.S)
    script = re.sub(r"; // HACK:.*", ";", script, count=1)  # bertviz fills in the weights in this comment as well
    script = script.replace("</", r"<\/")  # a token such as </s> must not end the script
    script = re.sub(r"console\.log\(.*?\);?\n", "\n", script)
    for name, words in (("layer", "layer"), ("filter", "attention map")):
        markup = markup.replace(f'<select id="{name}"', f'<select aria-label="{words}" id="{name}"')
    for map_, (_, words) in _MAPS.items():
        markup = markup.replace(f">{map_.title()}</option>", f">{words}</option>")
    return re.sub(r"bertviz-[0-9a-f]{32}", "bertviz-view", f"{markup}{script_tag}{script}</script>")
