"""Figures with one look: colours and marks of the models, curves over seeds, attention as cells; plain matplotlib."""

from rtx_lib.plots.curves import bands, baseline, error_axes, evaluations, label_lines, provenance, record_bands, smooth
from rtx_lib.plots.heatmaps import (
    attention_heatmap,
    attention_panels,
    attention_stack,
    describe_alignment,
    draw_alignment,
    heatmap_size,
)
from rtx_lib.plots.style import CYCLE, DASHES, FAMILIES, INK, LOOKS, MARKERS, STYLE, look, style, use_style
