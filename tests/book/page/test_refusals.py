"""Arguments that do not fit: every drawing names them, and what is allowed, before anything is drawn."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from rtx_book.page.tables import plain_table, sortable_table
from rtx_book.pictures.gates import describe_cell, draw_cell
from rtx_book.pictures.indrnn import draw_composition, draw_decay, draw_half_lives
from rtx_book.pictures.positions import draw_bias, draw_position_table, draw_rotations, length_heatmap
from rtx_book.pictures.r_transformer import describe_reach, draw_reach
from rtx_book.pictures.recurrence import (
    draw_beliefs,
    draw_distance_bars,
    draw_image_rows,
    draw_weights_by_distance,
    influence_curves,
    influence_frames,
    piano_roll,
)
from rtx_book.pictures.transformer import describe_transformer, draw_transformer
from rtx_book.pictures.transformer_xl import (
    describe_segments,
    describe_shift,
    draw_context_use,
    draw_costs,
    draw_position_losses,
    draw_segments,
    draw_shift,
    draw_test_memory,
    shifted_cells,
)
from rtx_book.pictures.vanishing_gradients import gradient_frames, gradient_panels
from rtx_lib.plots import (
    CYCLE,
    attention_heatmap,
    attention_panels,
    attention_stack,
    bands,
    baseline,
    describe_alignment,
    draw_alignment,
    evaluations,
    provenance,
    smooth,
)

NAN, HIDDEN = np.nan, -np.inf
ONES = np.ones((2, 2))
FIELD = np.array([0.0] * 5 + [1.0, 2.0, 5.0])
FILM = np.ones((2, 6)), np.ones((2, 2)), ["a", "b"], ([1, 2], [0.2, 0.1])
CONTEXT = {"plain": ([1, 2], [1.0, 0.5])}, {"plain": [2.0, 1.0, 1.0]}, (16, 32, 48), {"plain": 2}
MAP, KEYS = np.array([[0.1, 0.9], [0.6, 0.4], [0.0, 0.2]]), (["fifty", "four"], ["vier", "und", "fünfzig"])
RUNS = {"a": {"h": np.ones((2, 6))}}


def context(place, value):
    return draw_context_use(*(value if i == place else given for i, given in enumerate(CONTEXT)))


def panels(runs, **changes):
    given = {"titles": {"a": ["1", "2"]}, "errors": {"a": [1, 2]}, "steps": [1, 2], "chance": 0.2} | changes
    return gradient_panels(runs, **given)


def rotations(ax, vectors):
    draw_rotations(ax, vectors, "ab", CYCLE[:2])


def losses(ax, given, repeats=2):
    draw_position_losses(given, repeats=repeats)


CASES = [
    # diagrams
    (lambda ax: draw_cell("peephole"), r"stage must be one of .*'forget gate'.*, got 'peephole'"),
    (lambda ax: describe_cell("peephole"), r"stage must be one of .*, got 'peephole'"),
    (lambda ax: draw_transformer("convolution"), r"stage must be one of .*, got 'convolution'"),
    (lambda ax: describe_transformer("convolution"), r"stage must be one of .*, got 'convolution'"),
    (lambda ax: draw_reach(-1), "window must be at least 1, got -1"),
    (lambda ax: describe_reach(3, 0), "layers must be at least 1, got 0"),
    (lambda ax: draw_segments(layers=0), "layers must be at least 1, got 0"),
    (lambda ax: describe_segments(memory=-1), "memory must be at least 0, got -1"),
    (lambda ax: draw_shift("first"), "stage must be one of .*got 'first'"),
    (lambda ax: describe_shift("first"), "stage must be one of .*got 'first'"),
    (lambda ax: shifted_cells(0, 3), "queries must be from 1 to keys = 3, got 0"),
    (lambda ax: shifted_cells(4, 3), "queries must be from 1 to keys = 3, got 4"),
    # cells of a grid
    (lambda ax: draw_position_table(ax, np.ones(3)), r"table must have shape \(T, D\), got \(3,\)"),
    (lambda ax: draw_position_table(ax, np.ones((0, 3))), r"table must have shape \(T, D\), got \(0, 3\)"),
    (lambda ax: draw_position_table(ax, NAN * ONES), "table must be finite"),
    (lambda ax: draw_bias(ax, np.ones((2, 2, 2))), r"bias must have shape \(T, T\), got \(2, 2, 2\)"),
    (lambda ax: draw_bias(ax, HIDDEN * ONES), "bias must hold finite values"),
    (lambda ax: draw_bias(ax, -HIDDEN * ONES), "bias must hold finite values"),
    (lambda ax: draw_bias(ax, ONES, diagonals=(2,)), r"diagonals must be from 0 to 1, got \(2,\)"),
    (lambda ax: rotations(ax, np.ones((2, 3))), r"vectors must have shape \(2, 2\), got \(2, 3\)"),
    (lambda ax: rotations(ax, NAN * ONES), "vectors must be finite"),
    (lambda ax: rotations(ax, 0 * ONES), "vectors must not all be 0"),
    (lambda ax: length_heatmap(ax, np.ones((2, 3)), ["a"], [1, 2, 3]), r"shape \(\[seeds\], 1, 3\), got \(2, 3\)"),
    (lambda ax: length_heatmap(ax, [[1.5]], ["a"], [1]), "values must be from 0 to 1, or NaN"),
    (lambda ax: length_heatmap(ax, [[1, 1]], ["a"], [64, 32]), "lengths must rise"),
    (lambda ax: length_heatmap(ax, [[1, 1]], ["a"], [65, 132]), "begin at or below trained = 64"),
    (lambda ax: attention_heatmap(ax, np.ones((2, 3)), "ab", "cd"), r"weights must have shape \(2, 2\), got \(2, 3\)"),
    (lambda ax: attention_heatmap(ax, -ONES, "ab", "cd"), "weights must be finite and at least 0, got values from -1"),
    (lambda ax: attention_heatmap(ax, NAN * ONES, "ab", "cd"), "weights must be finite and at least 0"),
    (lambda ax: attention_stack({}, "ab", "cd", border=1), "maps must hold at least one map, got none"),
    (lambda ax: attention_panels({}, xlabel="x", ylabel="y"), "maps must hold at least one map, got none"),
    (lambda ax: piano_roll(ax, np.ones((3, 87)), 1), r"frames must have shape \(T, 88\), got \(3, 87\)"),
    (lambda ax: piano_roll(ax, np.ones(88), 1), r"frames must have shape \(T, 88\), got \(88,\)"),
    (lambda ax: piano_roll(ax, np.zeros((3, 88)), 1), "frames must hold 0 and 1, and a note"),
    (lambda ax: piano_roll(ax, -np.ones((3, 88)), 1), "frames must hold 0 and 1"),
    (lambda ax: piano_roll(ax, np.full((3, 88), NAN), 1), "frames must hold 0 and 1"),
    (lambda ax: piano_roll(ax, np.ones((3, 88)), np.ones((2, 88))), r"prediction must have shape \(3, 88\), got \(2,"),
    (lambda ax: piano_roll(ax, np.ones((3, 88)), np.full((3, 88), 1.5)), "prediction must be finite and from 0 to 1"),
    (lambda ax: piano_roll(ax, np.ones((3, 88)), np.full((3, 88), NAN)), "prediction must be finite and from 0 to 1"),
    (lambda ax: draw_beliefs(np.ones((2, 5, 3)), np.ones((2, 4, 9))), r"beliefs must have shape \(2, 5, C\), got"),
    (lambda ax: draw_beliefs(np.ones((5, 3)), np.ones((5, 9))), r"images must have shape \(N, T, W\), got"),
    (lambda ax: draw_image_rows({}, line=4), "rows must hold at least one array, got none"),
    (lambda ax: draw_image_rows({"a": np.ones((2, 3))}, line=4), r"rows\['a'\] must have shape \(N, H, W\), got"),
    (
        lambda ax: draw_image_rows({"a": np.ones((2, 3, 3)), "b": np.ones((1, 3, 3))}, line=4),
        r"rows\['b'\] .* \(2, 3, 3\)",
    ),
    # influence, attention by distance, alignment
    (lambda ax: influence_curves({}), "curves must hold at least one array, got none"),
    (lambda ax: influence_curves({"a": np.ones((2, 2, 2))}), r"curves\['a'\] must have shape \(\[runs\], T\)"),
    (lambda ax: influence_curves({"a": [1, -1]}), r"curves\['a'\] must be finite and at least 0"),
    (lambda ax: influence_curves({"a": [1, NAN]}), r"curves\['a'\] must be finite"),
    (lambda ax: influence_curves({"a": [[1, 1], [0, 0]]}), "no run that is all 0, got one in 'a'"),
    (lambda ax: influence_curves({"a": FIELD}, reaches={"b": 3}), r"out of \['a'\], got 'b': 3"),
    (lambda ax: influence_curves({"a": FIELD}, reaches={"a": 0}), "at least 1 .* got 'a': 0"),
    (lambda ax: influence_frames({}), "sizes must hold at least one array"),
    (lambda ax: influence_frames({"a": np.ones((2, 3))}), r"sizes\['a'\] must have shape \(T, T\), got \(2, 3\)"),
    (lambda ax: influence_frames({"a": ONES, "b": np.ones((3, 3))}), r"sizes\['b'\] .* \(2, 2\), got \(3, 3\)"),
    *(
        (lambda ax, w=w, like=like: draw_weights_by_distance(w, 0.25, like, unit="frame"), message)
        for w, like, message in (
            ({}, [0.5], "weights must hold at least one"),
            ({"a": [0.5, 0.5]}, [0.5], r"weights\['a'\] must have shape \(heads, N\), got \(2,\)"),
            ({"a": [[0.5, 0.5]]}, [0.5] * 3, r"at most as many entries as a head \(2\), got 3"),
            ({"a": [[0.5, -0.5]]}, [0.5], "must be finite and at least 0"),
            ({"a": [[0.5, NAN]]}, [0.5], "must be finite"),
        )
    ),
    *(
        (lambda ax, weights=weights: draw_distance_bars(weights, 2, shown=4), "weights.* must")
        for weights in ({}, {"a": [[0.5]]}, {"a": []}, {"a": [-0.1]}, {"a": [NAN]})
    ),
    (lambda ax: describe_alignment(["fifty"], ["vier"], MAP), r"weights must have shape \(1, 1\), got \(3, 2\)"),
    *((lambda ax, w=w: draw_alignment(*KEYS, w, marked=[], rows=0), "weights must") for w in (MAP.T, -MAP, MAP * NAN)),
    (lambda ax: draw_alignment(*KEYS, MAP, marked=[3], rows=0), r"marked must hold rows from 0 to 2, got \[3\]"),
    # curves over seeds, losses and costs
    (lambda ax: bands(ax, [[1.0, 2.0]], "x", steps=[1]), r"steps must have shape \(2,\) .*, got \(1,\)"),
    (lambda ax: bands(ax, [[NAN]], "x"), "curves must be .* and hold a finite value"),
    (lambda ax: baseline(ax, NAN, "x"), "value must be finite, got nan"),
    (lambda ax: smooth([1], 0), "width must be at least 1, got 0"),
    (lambda ax: provenance([]), "records must hold at least one record, got none"),
    (lambda ax: evaluations([{"evaluations": [{"step": 1, "loss": 2}]}], "bits"), "metric must be one .* got 'bits'"),
    (lambda ax: losses(ax, {}), "losses must hold at least one"),
    (lambda ax: losses(ax, {"a": np.ones(4), "b": np.ones(5)}), r"\['b'\] .* \(\[seeds\], 4\), got \(5,\)"),
    (lambda ax: losses(ax, {"a": np.ones((2, 3, 4))}), r"losses\['a'\] .*, got \(2, 3, 4\)"),
    (lambda ax: losses(ax, {"a": np.ones(0)}), r"losses\['a'\] .*, got \(0,\)"),
    (lambda ax: losses(ax, {"a": [1.0, NAN]}), r"losses\['a'\] must be finite"),
    (lambda ax: losses(ax, {"a": np.ones(4)}, repeats=0), "repeats must be at least 1, got 0"),
    (lambda ax: draw_costs([], {"a": []}, {5: 1.0}), "lengths must be above 0 and rise"),
    (lambda ax: draw_costs([2, 1], {"a": [1, 2]}, {5: 1.0}), "lengths must be above 0 and rise"),
    (lambda ax: draw_costs([0, 1], {"a": [1, 2]}, {5: 1.0}), "lengths must be above 0 and rise"),
    (lambda ax: draw_costs([1, 2], {}, {5: 1.0}), "ratios must hold at least one"),
    (lambda ax: draw_costs([1, 2], {"a": [1, 2, 3]}, {5: 1.0}), r"ratios\['a'\] .* \(\[runs\], 2\), got \(3,\)"),
    (lambda ax: draw_costs([1, 2], {"a": [1, 0]}, {5: 1.0}), "must hold values above 0"),
    (lambda ax: draw_costs([1, 2], {"a": [1, np.inf]}, {5: 1.0}), r"ratios\['a'\] must be finite"),
    (lambda ax: draw_costs([1, 2], {"a": [1, 2]}, {5: 0.0}), "must hold values above 0"),
    (lambda ax: draw_costs([1, 2], {"a": [1, 2]}, {}), "must hold values above 0, got .* and {}"),
    *(
        (lambda ax, x=x, trained=trained: draw_test_memory(x, (0, 64, 1024), trained=trained), message)
        for x, trained, message in (
            ({"A": [1.0, 2.0]}, {"A": 64}, r"losses\['A'\] .* \(\[seeds\], 3\), got \(2,\)"),
            ({"A": [1.0, 2.0, 3.0]}, {}, "'A', got None"),
            ({"A": [1.0, 2.0, 3.0]}, {"A": 32}, "trained must be one of .*, got 32"),
            ({"A": [1.0, NAN, 3.0]}, {"A": 64}, "finite"),
            ({}, {}, "at least one"),
        )
    ),
    (lambda ax: context(0, {"plain": ([1, 2], [1.0])}), r"effects\['plain'\] must have shape \(2,\), got \(1,\)"),
    (lambda ax: context(0, {"plain": ([1, 2], [1.0, np.inf])}), r"effects\['plain'\] must be finite"),
    (lambda ax: context(2, (16, 32)), r"losses\['plain'\] must have shape \(\[seeds\], 2\), got \(3,\)"),
    (lambda ax: context(3, {"GRU": 3}), r"reach must name only \['plain'\], got \['GRU'\]"),
    # gradients and neurons
    (lambda ax: gradient_frames(*FILM[:2], ["a"], curve=FILM[3]), r"norms must have shape \(1, T\), got \(2, 6\)"),
    (lambda ax: gradient_frames(FILM[0][0], *FILM[1:3], curve=FILM[3]), r"norms must have shape \(2, T\), got \(6,\)"),
    (
        lambda ax: gradient_frames(FILM[0][:0], FILM[1][:0], [], curve=FILM[3]),
        r"norms must have shape \(0, T\), got \(0, 6\)",
    ),
    (
        lambda ax: gradient_frames(FILM[0], FILM[1][:1], FILM[2], curve=FILM[3]),
        r"eigenvalues must have shape \(2, H\), got \(1, 2\)",
    ),
    (lambda ax: panels({}), "titles must name the networks of runs, at least one"),
    (lambda ax: panels({"b": RUNS["a"]}), r"of runs, .* \['b'\], got \['a'\]"),
    (lambda ax: panels({"a": {"h": FILM[0][0]}}), r"shape \(F, T\), got \(6,\)"),
    (lambda ax: panels({"a": {"h": FILM[0], "c": FILM[0][:1]}}), r"runs.*'c'.* must have shape \(2, 6\), got \(1, 6\)"),
    (lambda ax: panels(RUNS, titles={"a": ["1"]}), "titles must hold 2 texts"),
    (lambda ax: panels(RUNS, errors={"b": [1, 2]}), r"errors must name the networks of runs, \['a'\], got \['b'\]"),
    (lambda ax: panels(RUNS, errors={"a": [1]}), r"errors of 'a' must have shape \(2,\), got \(1,\)"),
    (lambda ax: panels(RUNS, steps=[1, 2, 3]), r"steps must have shape \(2,\), got \(3,\)"),
    (lambda ax: draw_decay(0.5, [1, 0.5, 0.25], [1, 0.5]), r"resting must have shape \(3,\), got \(2,\)"),
    (lambda ax: draw_composition(np.ones(5), lambda h: h[1:], lambda h: h, {}, "u"), r"first.* shape \(5,\), got \(4,"),
    (lambda ax: draw_half_lives({}, 90), "panels must hold at least one, got none"),
    (lambda ax: draw_half_lives({"a": [([1, 2], [1])]}, 90), r"half-lives of 'a' must have shape \(2,\), got \(1,\)"),
    (lambda ax: draw_half_lives({"a": [([1], [91])]}, 90), "'a' must be finite and from 1 to 90, got values from 91"),
    (lambda ax: draw_half_lives({"a": [([0.5], [1])]}, 90), "'a' must be finite and from 1 to 90, got values from 0.5"),
    # what a page shows
    (lambda ax: sortable_table([], [], "t"), "columns must hold at least one head, got none"),
    (lambda ax: sortable_table(["a"], [], " "), "caption must be a text"),
    (lambda ax: sortable_table(["a", "b"], [["x"]], "t"), r"every row must have 2 cells, got 1: \['x'\]"),
    (lambda ax: sortable_table(["a"], [[("x", "x", "javascript:a()")]], "t"), "a link must be relative"),
    (lambda ax: sortable_table(["a"], [["x" * 700_000]], "t"), r"the table takes 140\d kB, allowed are 600 kB"),
    (lambda ax: plain_table(["a", "b"], [["x"]]), "every row must have 2 cells, at least one, got 1"),
    *(
        (lambda ax, c=c: sortable_table(["model", "MSE"], [], "t", choose=c), f"choose must be one of .*, got '{c}'")
        for c in ("median", "model", "")
    ),
]


@pytest.mark.parametrize(("call", "message"), CASES, ids=range(len(CASES)))
def test_what_does_not_fit_is_refused_before_anything_is_drawn(ax, call, message):
    with pytest.raises(ValueError, match=message):
        call(ax)
    assert not ax.has_data() and not ax.texts and not ax.patches
    assert plt.get_fignums() == [ax.figure.number]
