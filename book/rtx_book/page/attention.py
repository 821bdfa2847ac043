"""Attention weights in bertviz's view, with its page-level faults cured.

bertviz (Vig, *A Multiscale Visualization of Attention in the Transformer Model*, 2019) writes scripts into the page
that wait for a loader from the network, repeat ids, and hold every weight twice at full precision. Here its view
lives in a page of its own inside an ``<iframe srcdoc>``: the same output works in Jupyter, in Colab and on the site.
Its words answer to mouse and keyboard, its heads to the mouse alone, so always give
:func:`~rtx_lib.plots.heatmaps.attention_heatmap` and a sentence next to it.
"""

import html
import re
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from IPython.display import HTML

from rtx_book.page.figure import beside, in_figure

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


def _weights(attention: Any, queries: int, keys: int) -> np.ndarray:
    """The weights as (layers, heads, queries, keys), with three decimals."""
    layers = [np.asarray(layer.detach().cpu() if hasattr(layer, "detach") else layer) for layer in attention]
    weights = np.stack([layer[0] if layer.ndim == 4 else layer for layer in layers])
    if weights.shape[2:] != (queries, keys):
        raise ValueError(f"attention must be of T = {queries} and S = {keys} tokens, got {weights.shape}")
    return weights.astype(np.float64).round(3)


def attention_view(
    attention: Any, tokens: Sequence[str], *, source: Sequence[str], title: str, caption: str = "", layer: Any = None
) -> HTML:
    """bertviz's head view as a notebook output that needs no kernel and no script loader.

    One layer is seen at a time, its heads as colours.

    Parameters
    ----------
    attention
        L layers of shape (1, H, T, S) or (H, T, S), or one array (L, H, T, S); tensors or arrays.
    tokens
        The T tokens that attend, on the left.
    source
        The S tokens that are attended to, on the right.
    title
        What is shown: the line above, and the frame's accessible name.
    caption
        Line below, as HTML.
    layer
        Which is shown at first; else the first.
    """
    weights = _weights(attention, len(tokens), len(source))

    # bertviz stacks with torch and so takes nothing but tensors; float64, since float32 writes 0.1 as 0.10000000149.
    import torch
    from bertviz import head_view

    given = {"decoder_tokens": list(tokens), "encoder_tokens": list(source), "html_action": "return", "layer": layer}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # bertviz leaves closing its script's file to the interpreter
        body = _tame(head_view(cross_attention=list(torch.from_numpy(weights)[:, None]), **given).data, len(weights))
    page = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f"<style>body{{margin:4px;background:#fff;color:#111}}</style></head><body>"
        + "".join(f'<script src="{address}"></script>' for address in LIBRARIES)
        + f"<script>{_REQUIRE}</script>{body}</body></html>"
    )
    name, height = html.escape(title), 90 + 23 * max(weights.shape[2:])
    frame = (
        f'<iframe class="bertviz-frame" title="{name}" style="width:100%;height:{height}px;background:#fff" '
        f'onload="{html.escape(_FIT)}" srcdoc="{html.escape(page)}"></iframe>'
    )
    return HTML(in_figure(frame, caption, name))


def _tame(body: str, layers: int) -> str:
    """bertviz's HTML without the loader's tag and settings, the second copy of the weights, and the random id."""
    body = body[body.index("</script>") + len("</script>") :]
    markup, script_tag, script = body.partition("<script")
    script, _, _ = script.rpartition("</script>")
    script = re.sub(r"require\.config\(\{.*?\}\s*\);", "", script, count=1, flags=re.S)
    script = re.sub(r"; // HACK:.*", ";", script, count=1)  # bertviz fills in the weights in this comment as well
    script = script.replace("</", r"<\/")  # a token such as </s> must not end the script
    drawn = "drawCheckboxes(0, svg, layerAttention);"
    assert drawn in script
    script = script.replace(drawn, f"({beside('attention.js')})(svg);if(config.headVis.length>1){drawn}")
    script = re.sub(r"console\.log\(.*?\);?\n", "\n", script)
    markup = markup.replace('<select id="layer"', '<select aria-label="layer" id="layer"')
    if layers == 1:  # nothing to choose
        markup = markup.replace('<span style="user-select:none"', '<span style="display:none"')
    return re.sub(r"bertviz-[0-9a-f]{32}", "bertviz-view", f"{markup}{script_tag}{script}</script>")
