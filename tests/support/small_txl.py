"""Small Transformer-XLs with generic weights, and how they are run."""

from support.compare import random_parameters
from support.helpers import drawn

from rtx_lib.models.transformer_xl import TransformerXL

NORMS = ("post", "pre")
KINDS = [
    {},
    {"norm": "pre"},
    {"same_length": True},
    {"clamp": 2},
    {"head_width": 3, "untied_uv": True},
    {"cutoffs": (2, 4), "divide": 2},
]
# Other schemes in attention; those that are added to the embedding are tested on their own.
KINDS += [{"positions": scheme} for scheme in ("none", "shaw", "rotary", "alibi")]


def small(seed=1, memory=4, **options):
    options = {"vocabulary": 6, "width": 8, "heads": 2, "layers": 2, **options}
    return random_parameters(drawn(seed, TransformerXL, 6, 6, memory=memory, **options), seed)
