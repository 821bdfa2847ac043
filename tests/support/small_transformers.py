"""Small Transformers with generic weights, and what they read."""

from support.compare import ids, random_parameters
from support.helpers import drawn

from rtx_lib.models.transformer import CausalTransformer, Transformer
from rtx_lib.models.transformer_xl import TransformerXL
from rtx_lib.models.transformer_xl_variants import PositionedTransformerXL


def causal(seed=0, width=8, heads=2, layers=2, **options):
    options = {"vocabulary": 6, "clip": 3, "width": width, "heads": heads, "layers": layers, **options}
    return random_parameters(drawn(seed, CausalTransformer, 6, 5, **options), seed)


def translator(seed=0, width=8, heads=2, layers=2, **options):
    options |= {"width": width, "heads": heads, "layers": layers, "clip": 3}
    return random_parameters(drawn(seed, Transformer, 7, 6, **options), seed)


def sentences(batch=2, size=5, seed=0):
    """Source ids whose last row is padded behind its second token."""
    source = ids(batch, size, vocabulary=7, first=1, seed=seed)
    source[-1, 2:] = 0
    return source


def small_xl(seed=1, memory=4, **options):
    options = {"width": 8, "heads": 2, "layers": 2, "memory": memory, **options}
    kind = PositionedTransformerXL if "positions" in options else TransformerXL
    return random_parameters(drawn(seed, kind, 6, 6, **{"vocabulary": 6} | options), seed)
