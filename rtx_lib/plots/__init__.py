"""Figures, explorers and films that read in light and dark, by keyboard, on a phone, with a kernel and without."""

from rtx_lib.plots.answer import ask
from rtx_lib.plots.attention import attention_view
from rtx_lib.plots.cells import CELL_STAGES, describe_cell, draw_cell, draw_unrolled
from rtx_lib.plots.curves import bands, baseline, error_axes, evaluations, label_lines, provenance, record_bands, smooth
from rtx_lib.plots.explorer import explorer, slider
from rtx_lib.plots.figure import show, to_svg
from rtx_lib.plots.fillings import describe_fillings, draw_fillings
from rtx_lib.plots.film import at_frame, film
from rtx_lib.plots.gradients import draw_layer_gradients, error_by_length, gradient_frames, gradient_panels
from rtx_lib.plots.heatmaps import (
    attention_heatmap,
    attention_panels,
    attention_stack,
    describe_alignment,
    draw_alignment,
    heatmap_size,
)
from rtx_lib.plots.hops import describe_hops, draw_hops, hops_explorer
from rtx_lib.plots.image_film import image_frames
from rtx_lib.plots.images import draw_beliefs, draw_image_rows, one_of_each, piano_roll
from rtx_lib.plots.influence import draw_distance_bars, draw_weights_by_distance, influence_curves, influence_frames
from rtx_lib.plots.lanes import draw_lane, draw_looks
from rtx_lib.plots.live import play
from rtx_lib.plots.live_runs import describe_live_runs, draw_live_runs
from rtx_lib.plots.local import describe_reach, draw_reach, draw_windows
from rtx_lib.plots.memory import draw_context_use, draw_costs, draw_position_losses, draw_test_memory
from rtx_lib.plots.neurons import describe_decay, draw_composition, draw_decay, draw_half_lives, draw_scan, draw_wiring
from rtx_lib.plots.orders import describe_order, draw_order, order_explorer
from rtx_lib.plots.positions import draw_bias, draw_position_table, draw_rotations, length_heatmap
from rtx_lib.plots.race import describe_ranking, draw_controls, draw_ranking
from rtx_lib.plots.race_board import describe_board, draw_board
from rtx_lib.plots.race_explorer import race_explorer
from rtx_lib.plots.race_lengths import draw_lengths
from rtx_lib.plots.race_two_tasks import describe_two_tasks, draw_two_tasks
from rtx_lib.plots.ranks import describe_ranks, draw_ranks, rank_explorer
from rtx_lib.plots.receptive import describe_field, draw_field, field_explorer
from rtx_lib.plots.runs import draw_runs, draw_side_by_side, draw_strips
from rtx_lib.plots.scores import draw_exact, draw_scaling, draw_softmax
from rtx_lib.plots.segments import describe_segments, draw_clash, draw_segments
from rtx_lib.plots.shift import SHIFT_STEPS, describe_shift, draw_shift, shifted_cells
from rtx_lib.plots.states import describe_recall, describe_states, draw_recall, draw_states, states_explorer
from rtx_lib.plots.style import CYCLE, DASHES, FAMILIES, INK, LOOKS, MARKERS, STYLE, look, style, use_style
from rtx_lib.plots.tables import plain_table, sortable_table
from rtx_lib.plots.tracking import describe_spectra, draw_tracking, spectrum_frames
from rtx_lib.plots.transformer import TRANSFORMER_STAGES, describe_transformer, draw_transformer
from rtx_lib.plots.writing import TEXTS, draw_expected, draw_saved
